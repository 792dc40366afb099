//! Time travel: any moment of a launch is the state of a run that was stopped there.

use crate::common::{limits, module, shape};
use ptx_emulator::replay::{Direction, Event, Replay, Status, Word};
use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Rule, Space};

/// Two warps exchange through shared memory across a barrier, a shuffle, a branch and an atomic;
/// two rounds.
const MIXED: &str = ".shared .align 4 .b8 tile[256];
.visible .entry k(.param .u64 buffer) {
    .reg .b64 %at, %rd<8>; .reg .b32 %r<16>; .reg .pred %p<4>;
    ld.param.u64 %at, [buffer];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r9, 0;
again:
    mad.lo.u32 %r3, %r1, 4, %r2;
    add.u32 %r4, %r1, %r9;
    st.shared.u32 [%r3], %r4;
    bar.sync 0;
    xor.b32 %r5, %r1, 63; mad.lo.u32 %r6, %r5, 4, %r2;
    ld.shared.u32 %r7, [%r6];
    setp.lt.u32 %p1, %r1, 40; @%p1 bra skip;
    atom.global.add.u32 %r8, [%at], %r7;
skip:
    shfl.sync.bfly.b32 %r10, %r7, 1, 31, -1;
    mad.wide.u32 %rd1, %r1, 4, %at;
    st.global.u32 [%rd1+4], %r10;
    bar.sync 0;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 2; @%p2 bra again;
    ret;
}";

/// Lanes call a function with local memory, in several blocks.
const CALLS: &str = ".func (.param .u32 out) twice(.param .u32 x) {
    .local .align 4 .b8 depot[8]; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u32 %r1, [x]; st.local.u32 [depot], %r1; ld.local.u32 %r2, [depot];
    add.u32 %r3, %r1, %r2; st.param.u32 [out], %r3; ret;
}
.visible .entry k(.param .u64 buffer) {
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p;
    ld.param.u64 %at, [buffer]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r5, %ntid.x;
    and.b32 %r3, %r1, 1; setp.eq.u32 %p, %r3, 0; @%p bra even;
    { .param .u32 a; .param .u32 b; st.param.u32 [a], %r1; call (b), twice, (a); ld.param.u32 %r1, [b]; }
even:
    mad.lo.u32 %r4, %r2, %r5, %r1; red.global.add.u32 [%at], %r4;
    mov.u32 %r6, %tid.x; mad.lo.u32 %r6, %r2, %r5, %r6; mad.wide.u32 %at, %r6, 4, %at;
    st.global.u32 [%at+4], %r1; ret;
}";

const WORDS: u64 = 260;

fn launch(text: &str, config: LaunchConfig, seed: Option<u64>) -> (Replay, u64) {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(4 * WORDS).expect("memory is there");
    emulator
        .write(buffer, &[0; 4 * WORDS as usize])
        .expect("it fits");
    let args = [&buffer.to_le_bytes()[..]];
    let replay = Replay::new(emulator, loaded, "k", config, &args, seed).expect("it is launched");
    (replay, buffer)
}

/// Everything that can be seen at a moment, word by word.
#[derive(Debug, PartialEq)]
struct Seen {
    at: u64,
    next: String,
    done: String,
    global: Vec<u8>,
    blocks: Vec<(u64, Vec<u8>, String)>,
    registers: Vec<String>,
}

fn look(replay: &Replay, buffer: u64) -> Seen {
    let mut global = vec![0; 4 * WORDS as usize];
    replay.read(buffer, &mut global).expect("it can be read");
    let shared = replay
        .arrays()
        .into_iter()
        .filter(|array| array.space == Space::Shared);
    let bytes = shared
        .map(|array| array.address + array.size)
        .max()
        .unwrap_or(0);
    let mut registers = Vec::new();
    let blocks = replay.running().into_iter().map(|block| {
        let mut shared = vec![0; bytes as usize];
        assert!(replay.read_shared(block, 0, &mut shared));
        let warps = replay.warps(block);
        for warp in &warps {
            for lane in 0..32 {
                for call in 0..2 {
                    let of_lane = replay.registers(block, warp.warp, lane, call);
                    registers.push(format!("{:?}", of_lane));
                }
            }
        }
        (block, shared, format!("{warps:?}"))
    });
    let blocks = blocks.collect();
    Seen {
        at: replay.at(),
        next: format!("{:?}", replay.next()),
        done: format!("{:?}", replay.done()),
        global,
        blocks,
        registers,
    }
}

fn cases() -> Vec<(&'static str, LaunchConfig, Option<u64>)> {
    let orders = [None, Some(3), Some(17)];
    let mixed = orders.map(|seed| (MIXED, shape(2, 64, 0), seed));
    let calls = orders.map(|seed| (CALLS, shape(3, 50, 0), seed));
    mixed.into_iter().chain(calls).collect()
}

#[test]
fn every_step_back_gives_the_state_before() {
    for (text, config, seed) in cases() {
        let (mut replay, buffer) = launch(text, config, seed);
        let count = replay.count();
        assert!(count > 100, "{count}");
        let mut states = vec![look(&replay, buffer)];
        while replay.step() {
            states.push(look(&replay, buffer));
        }
        assert_eq!(states.len() as u64, count + 1);
        // A run that stops there, never having gone further.
        for at in (0..=count).step_by(7) {
            let (mut stopped, buffer) = launch(text, config, seed);
            while stopped.at() < at {
                assert!(stopped.step());
            }
            assert_eq!(look(&stopped, buffer), states[at as usize], "seed {seed:?}");
        }
        for expected in states.iter().rev().skip(1) {
            assert!(replay.back());
            assert_eq!(look(&replay, buffer), *expected, "seed {seed:?}");
        }
        assert!(!replay.back());
        // And here and there.
        for jump in 0..60 {
            let at = jump * 0x9e37 % (count + 1);
            assert_eq!(replay.seek(at), at);
            assert_eq!(look(&replay, buffer), states[at as usize]);
        }
    }
}

#[test]
fn a_replay_is_the_launch_that_check_runs() {
    for (text, config, _) in cases() {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(text)).expect("it loads");
        let buffer = emulator.alloc(4 * WORDS).expect("memory is there");
        emulator
            .write(buffer, &[0; 4 * WORDS as usize])
            .expect("it fits");
        let args = [&buffer.to_le_bytes()[..]];
        let options = CheckOptions::default();
        let report = emulator
            .check(&loaded, "k", config, &args, &options)
            .expect("it runs");
        let mut global = vec![0; 4 * WORDS as usize];
        emulator.read(buffer, &mut global).expect("it can be read");
        let (mut replay, buffer) = launch(text, config, None);
        replay.seek(u64::MAX);
        assert_eq!(replay.statistics(), report.statistics);
        assert_eq!(look(&replay, buffer).global, global);
    }
}

#[test]
fn the_last_writer_is_found_backwards() {
    let (mut replay, buffer) = launch(MIXED, shape(1, 64, 0), None);
    replay.seek(u64::MAX);
    let end = replay.at();
    let word = |address| Word {
        block: None,
        address,
        size: 4,
    };
    // Thread 50 is lane 18 of warp 1: it wrote its word in each of the two rounds.
    let second = replay
        .last_write(word(buffer + 4 + 4 * 50))
        .expect("somebody wrote it");
    assert_eq!(replay.at(), end);
    replay.seek(second + 1);
    let (instruction, touched) = replay.done().expect("a step was made");
    assert_eq!(instruction.warp, 1);
    let lane = touched[0]
        .lanes
        .iter()
        .find(|lane| lane.lane == 18)
        .expect("it takes part");
    assert_eq!(lane.address, buffer + 4 + 4 * 50);
    assert_ne!(lane.before, lane.after);
    let mut bytes = [0; 4];
    replay
        .read(lane.address, &mut bytes)
        .expect("it can be read");
    assert_eq!(lane.after, bytes);
    replay.seek(second);
    let first = replay
        .last_write(word(buffer + 4 + 4 * 50))
        .expect("there are two rounds");
    assert!(first < second);
    replay.seek(first);
    assert_eq!(replay.last_write(word(buffer + 4 + 4 * 50)), None);
    // Shared memory belongs to a block.
    replay.seek(second);
    let tile = Word {
        block: Some(0),
        address: 0,
        size: 4,
    };
    let writer = replay.last_write(tile).expect("lane 0 wrote it");
    replay.seek(writer);
    assert_eq!(replay.next().map(|next| next.warp), Some(0));
    assert_eq!(
        replay.last_write(Word {
            block: Some(1),
            ..tile
        }),
        None
    );
}

#[test]
fn what_is_found_forwards_is_found_backwards() {
    for (text, config, seed) in cases() {
        let (mut replay, _) = launch(text, config, seed);
        let global = |_, event: &Event<'_>| matches!(event, Event::Access(_, accesses) if accesses.space == Space::Global);
        let mut forwards = Vec::new();
        while let Some(step) = replay.find(Direction::Forwards, &mut { global }) {
            assert_eq!(replay.at(), step);
            forwards.push(step);
        }
        assert!(replay.has_ended());
        let mut backwards = Vec::new();
        while let Some(step) = replay.find(Direction::Backwards, &mut { global }) {
            assert_eq!(replay.at(), step);
            backwards.push(step);
        }
        assert_eq!(replay.at(), 0);
        backwards.reverse();
        assert!(forwards.len() > 5);
        assert_eq!(forwards, backwards);
    }
}

#[test]
fn warps_are_seen_at_barriers_and_gone() {
    let (mut replay, _) = launch(MIXED, shape(1, 64, 0), None);
    let mut waited = 0;
    while replay.step() {
        for warp in replay.warps(0) {
            let waits = |status: &Status| {
                *status
                    == Status::Barrier {
                        id: 0,
                        threads: None,
                    }
            };
            waited += u64::from(warp.groups.iter().any(|group| waits(&group.status)));
        }
    }
    assert!(waited > 10, "{waited}");
    assert!(replay.running().is_empty());
}

#[test]
fn few_checkpoints_only_cost_time() {
    let (mut replay, buffer) = launch(MIXED, shape(64, 64, 0), Some(5));
    let count = replay.count();
    assert!(count > 5000, "{count}");
    replay.seek(count / 2);
    let middle = look(&replay, buffer);
    replay.set_budget(0);
    replay.seek(u64::MAX);
    replay.seek(count / 2);
    assert_eq!(look(&replay, buffer), middle);
}

/// A read of what others write with no barrier between, and a store past the buffer in the last
/// block.
const WRONG: &str = ".shared .align 4 .b8 tile[512];
.visible .entry k(.param .u64 buffer) {
    .reg .b64 %at, %rd<8>; .reg .b32 %r<16>;
    ld.param.u64 %at, [buffer];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r9, %ctaid.x;
    mad.lo.u32 %r3, %r1, 4, %r2;
    st.shared.u32 [%r3], %r1;
    xor.b32 %r5, %r1, 127; mad.lo.u32 %r6, %r5, 4, %r2;
    ld.shared.u32 %r7, [%r6];
    mad.lo.u32 %r8, %r9, 128, %r1;
    mad.wide.u32 %rd1, %r8, 4, %at;
    st.global.u32 [%rd1], %r7;
    ret;
}";

/// The last block to run leaves its number.
const LAST: &str = ".visible .entry k(.param .u64 buffer) {
    .reg .b64 %at; .reg .b32 %r<4>;
    ld.param.u64 %at, [buffer]; mov.u32 %r1, %ctaid.x;
    st.global.u32 [%at], %r1;
    ret;
}";

#[test]
fn the_step_of_a_finding_is_the_instruction_at_fault() {
    for (text, config) in [(WRONG, shape(3, 128, 0)), (LAST, shape(8, 1, 0))] {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(text)).expect("it loads");
        let buffer = emulator.alloc(4 * WORDS).expect("memory is there");
        let options = CheckOptions {
            schedules: 3,
            ..CheckOptions::default()
        };
        let args = [&buffer.to_le_bytes()[..]];
        let report = emulator.check(&loaded, "k", config, &args, &options);
        let findings = report.expect("it runs").findings;
        assert!(findings.len() >= 2, "{findings:?}");
        let seeded = findings.iter().any(|finding| finding.seed.is_some());
        assert_eq!(seeded, text == LAST, "{findings:?}");
        for finding in &findings {
            let (mut replay, _) = launch(text, config, finding.seed);
            replay.seek(finding.step);
            let next = replay.next().expect("the launch goes on there");
            let site = &finding.site;
            let line = replay.location(next.pc).ptx_line;
            assert_eq!(line, site.place.ptx_line, "{finding:?}");
            assert_eq!(replay.block_index(next.block), site.block);
            let thread = crate::common::thread(site);
            assert_eq!(next.warp, thread / 32);
            assert!(next.lanes >> (thread % 32) & 1 == 1);
            if finding.rule == Rule::OutOfBounds {
                // Past the fault nothing runs any more: the last step is the one at fault.
                replay.seek(u64::MAX);
                assert!(replay.fault().is_some());
                assert_eq!(replay.at(), finding.step + 1);
            }
        }
    }
}
