//! Seeded orders of threads: programs whose result depends on the order are found without a race
//! detector, correct ones give one result in every order.

use crate::common::{limits, module, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, LaunchConfig, Rule, Severity};

const SCHEDULES: u32 = 64;

/// Runs `k`, whose parameter is a zeroed buffer of u32, with nothing but schedules; the report and
/// the buffer.
fn explore(text: &str, config: LaunchConfig, schedules: u32, seed: u64) -> (CheckReport, Vec<u32>) {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(text)).expect("it loads");
    let mut bytes = vec![0; 4 * 1024];
    let buffer = emulator.alloc(bytes.len() as u64).expect("memory is there");
    emulator.write(buffer, &bytes).expect("it fits");
    let options = CheckOptions {
        race: false,
        init: false,
        schedules,
        seed,
        ..CheckOptions::default()
    };
    let report = emulator
        .check(&loaded, "k", config, &[&buffer.to_le_bytes()], &options)
        .expect("it is launched");
    emulator.read(buffer, &mut bytes).expect("it can be read");
    let words = bytes.chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
    (report, words.collect())
}

#[track_caller]
fn clean(text: &str, config: LaunchConfig) -> Vec<u32> {
    let (report, words) = explore(text, config, SCHEDULES, 0);
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.schedules, SCHEDULES + 1);
    words
}

/// The block writes its indices to shared memory and reads them back reversed; `BARRIER` stands
/// between.
const REVERSE: &str = ".shared .align 4 .b8 tile[1024];
.visible .entry k(.param .u64 out) {
    .reg .b64 %at; .reg .b32 %r<8>;
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, tile; mad.lo.u32 %r3, %r0, 4, %r2;
    st.shared.u32 [%r3], %r0;
    BARRIER
    sub.u32 %r4, %r1, %r0; sub.u32 %r4, %r4, 1; mad.lo.u32 %r5, %r4, 4, %r2;
    ld.shared.u32 %r6, [%r5];
    ld.param.u64 %at, [out]; mad.wide.u32 %at, %r0, 4, %at; st.global.u32 [%at], %r6; ret;
}";

#[test]
fn a_missing_barrier_shows_in_the_result() {
    let (report, _) = explore(
        &REVERSE.replace("BARRIER", ""),
        shape(1, 256, 0),
        SCHEDULES,
        0,
    );
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    // Some programs are meant so: a warning. A fault of one order is an error, see below.
    assert_eq!(
        (finding.rule, finding.severity),
        (Rule::OrderDependent, Severity::Warning)
    );
    assert!(finding.count > 1);
    // The store that leaves the value, in both orders.
    assert_eq!(finding.site.place.ptx_line, 12);
    assert_eq!(finding.others[0].place.ptx_line, 12);
    let value = |site: &ptx_emulator::Site| site.target.expect("it is an access").value;
    assert_ne!(value(&finding.site), value(&finding.others[0]));
}

#[test]
fn with_its_barrier_the_result_is_one() {
    let words = clean(&REVERSE.replace("BARRIER", "bar.sync 0;"), shape(1, 256, 0));
    assert_eq!(words[..3], [255, 254, 253]);
}

#[test]
fn a_seed_replays_its_order() {
    let text = REVERSE.replace("BARRIER", "");
    let (report, _) = explore(&text, shape(1, 64, 0), SCHEDULES, 100);
    let seed = report.findings[0].seed.expect("a schedule showed it");
    assert!((100..100 + u64::from(SCHEDULES)).contains(&seed));
    let again = |_| explore(&text, shape(1, 64, 0), 1, seed).0.findings[0].clone();
    let [first, second] = [0, 1].map(again);
    assert_eq!(first, second);
    assert_eq!(first.site, report.findings[0].site);
    assert_eq!(first.others, report.findings[0].others);
}

#[test]
fn memory_is_left_as_the_own_order_leaves_it() {
    let text = REVERSE.replace("BARRIER", "");
    let (_, alone) = explore(&text, shape(1, 256, 0), 0, 0);
    let (_, explored) = explore(&text, shape(1, 256, 0), SCHEDULES, 0);
    assert_eq!(alone, explored);
}

/// Lane 0 of a warp hands a value to the others through shared memory, without and with a warp
/// barrier.
#[test]
fn lockstep_is_not_assumed() {
    let text = |barrier: &str| {
        format!(
            ".shared .align 4 .b8 slot[4];
.visible .entry k(.param .u64 out) {{
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p;
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra rest; st.shared.u32 [slot], 7;
rest: {barrier}
    ld.shared.u32 %r1, [slot];
    ld.param.u64 %at, [out]; mad.wide.u32 %at, %r0, 4, %at; st.global.u32 [%at], %r1; ret;
}}"
        )
    };
    let (report, _) = explore(&text(""), shape(1, 32, 0), SCHEDULES, 0);
    assert_eq!(report.findings[0].rule, Rule::OrderDependent);
    let words = clean(&text("bar.warp.sync 0xffffffff;"), shape(1, 32, 0));
    assert_eq!(words[..32], [7; 32]);
}

/// Block 0 reads what block 1 writes.
#[test]
fn blocks_run_in_other_orders() {
    let text = ".visible .entry k(.param .u64 out) {
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p;
    ld.param.u64 %at, [out]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 1; @%p bra one;
    ld.global.u32 %r1, [%at]; st.global.u32 [%at+4], %r1; ret;
one: st.global.u32 [%at], 5; ret;
}";
    let (report, _) = explore(text, shape(2, 1, 0), SCHEDULES, 0);
    assert_eq!(report.findings[0].rule, Rule::OrderDependent);
}

#[test]
fn atomics_and_shuffles_give_one_result() {
    // Each warp sums its indices by shuffles after lanes have parted and met; the blocks add up
    // atomically.
    let text = ".visible .entry k(.param .u64 out) {
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p, %q;
    mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 1; setp.eq.u32 %p, %r1, 0; @%p bra even; add.u32 %r0, %r0, 1000;
even: mov.u32 %r2, 16;
again: shfl.sync.bfly.b32 %r3, %r0, %r2, 31, 0xffffffff; add.u32 %r0, %r0, %r3; shr.u32 %r2, %r2, 1;
    setp.ne.u32 %q, %r2, 0; @%q bra again;
    ld.param.u64 %at, [out]; mov.u32 %r4, %laneid; setp.ne.u32 %q, %r4, 0; @%q bra done; red.global.add.u32 [%at], %r0;
done: ret;
}";
    let words = clean(text, shape(5, 96, 0));
    assert_eq!(words[0], 5 * (95 * 96 / 2 + 48 * 1000));
}

#[test]
fn lanes_that_announce_themselves_may_come_one_by_one() {
    // `bar.arrive` is for the whole warp, but nothing says that its lanes are together when they
    // come.
    let text = ".shared .align 4 .b8 tile[128];
.visible .entry k(.param .u64 out) {
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p;
    ld.param.u64 %at, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2;
    setp.lt.u32 %p, %r0, 32; @%p bra first;
    bar.sync 1, 64; ld.shared.u32 %r4, [%r3]; mad.wide.u32 %at, %r1, 4, %at; st.global.u32 [%at], %r4; ret;
first: add.u32 %r4, %r1, 7; st.shared.u32 [%r3], %r4; bar.arrive 1, 64; ret;
}";
    let words = clean(text, shape(1, 64, 0));
    assert_eq!(words[..32], (7..39).collect::<Vec<u32>>());
}

#[test]
fn spin_locks_come_to_an_end() {
    // Every thread takes the lock once and adds one to a plain counter under it.
    let text = ".visible .entry k(.param .u64 out) {
    .reg .b64 %at; .reg .b32 %r<8>; .reg .pred %p;
    ld.param.u64 %at, [out];
try: atom.acquire.gpu.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra try;
    ld.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.global.u32 [%at+4], %r1;
    st.release.gpu.global.u32 [%at], 0; ret;
}";
    let words = clean(text, shape(3, 64, 0));
    assert_eq!(words[..2], [0, 192]);
}

#[test]
fn a_fault_of_one_order_is_reported_with_its_seed() {
    // The last of two warps traps: in the own order that is warp 1, which does not trap.
    let text = ".shared .align 4 .b8 slot[4];
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<8>; .reg .pred %p, %q;
    mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; setp.ne.u32 %q, %r0, 32;
    @%p bra other; atom.shared.add.u32 %r1, [slot], 1; setp.eq.u32 %p, %r1, 1; @%p bra late; ret;
other: @%q bra done; atom.shared.add.u32 %r1, [slot], 1;
done: ret;
late: trap;
}";
    let (report, _) = explore(text, shape(1, 64, 0), SCHEDULES, 0);
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].rule, Rule::Trap);
    assert_eq!(report.findings[0].severity, Severity::Error);
    assert!(report.findings[0].seed.is_some());
}
