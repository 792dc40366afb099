//! Small launches whose counts follow by hand.

use crate::common::{limits, module, shape};
use ptx_emulator::metrics::{Counters, GlobalTraffic, InstructionClass, Profile, SharedTraffic};
use ptx_emulator::{Emulator, LaunchConfig, Limits};

/// Runs `body`, which finds a buffer of 64 KiB in `%buffer`, the thread's number in `%t` and `%T`,
/// and 16 KiB of shared memory in `tile`.
#[track_caller]
fn profile_with(limits: Limits, config: LaunchConfig, body: &str) -> Profile {
    let text = format!(
        ".visible .entry k(.param .u64 buffer_param) {{
    .reg .b64 %buffer, %T, %at, %to; .reg .b64 %rd<8>;
    .reg .b32 %t, %a, %b; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %fd<4>; .reg .pred %p, %q;
    .shared .align 16 .b8 tile[16384];
    .local .align 4 .b8 stack[16];
    ld.param.u64 %buffer, [buffer_param];
    mov.u32 %t, %tid.x;
    cvt.u64.u32 %T, %t;
    {body}
}}"
    );
    let emulator = Emulator::new(limits);
    let loaded = emulator.load(&module(&text)).expect("the module loads");
    let buffer = emulator.alloc(1 << 16).expect("memory is there");
    emulator
        .profile(&loaded, "k", config, &[&buffer.to_le_bytes()])
        .unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn profile(threads: u32, body: &str) -> Profile {
    profile_with(limits(), shape(1, threads, 0), body)
}

#[track_caller]
fn total(threads: u32, body: &str) -> Counters {
    profile(threads, body).total()
}

fn shared(requests: u64, wavefronts: u64, needed: u64) -> SharedTraffic {
    SharedTraffic {
        requests,
        wavefronts,
        needed,
    }
}

fn global(requests: u64, sectors: u64, needed: u64, bytes: u64) -> GlobalTraffic {
    GlobalTraffic {
        requests,
        sectors,
        needed,
        bytes,
    }
}

#[test]
fn a_column_of_a_tile_conflicts_and_a_padded_one_does_not() {
    let column = |pitch: u32| {
        format!(
            "mad.lo.u32 %a, %t, {}, 0; mov.u32 %b, tile; add.u32 %a, %a, %b;
             st.shared.b32 [%a], %t; ld.shared.b32 %b, [%a+4]; ret;",
            4 * pitch
        )
    };
    let tiled = total(32, &column(32));
    assert_eq!(
        (tiled.shared_stores, tiled.shared_loads),
        (shared(1, 32, 1), shared(1, 32, 1))
    );
    assert_eq!(tiled.shared().conflict_degree(), Some(32.0));
    let padded = total(32, &column(33));
    assert_eq!(
        (padded.shared_stores, padded.shared_loads),
        (shared(1, 1, 1), shared(1, 1, 1))
    );
}

#[test]
fn global_requests_by_stride_width_and_base() {
    let access = |scale: u32, offset: u32, instruction: &str| {
        total(
            32,
            &format!(
                "mad.lo.u64 %at, %T, {scale}, %buffer; add.u64 %at, %at, {offset}; {instruction} ret;"
            ),
        )
    };
    let load = |scale, offset| access(scale, offset, "ld.global.f32 %f1, [%at];").global_loads;
    assert_eq!(load(4, 0), global(1, 4, 4, 128));
    assert_eq!(load(4, 4), global(1, 5, 4, 128));
    assert_eq!(load(128, 0), global(1, 32, 4, 128));
    assert_eq!(load(128, 0).efficiency(), Some(0.125));
    assert_eq!(load(0, 0), global(1, 1, 1, 4));
    let vector = access(16, 0, "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%at];");
    assert_eq!(vector.global_loads, global(1, 16, 16, 512));
    assert_eq!(vector.of_class(InstructionClass::Load), 1);
    let store = access(8, 0, "st.global.u64 [%at], %T;");
    assert_eq!(
        (store.global_stores, store.global_loads),
        (global(1, 8, 8, 256), global(0, 0, 0, 0))
    );
    // One word for all lanes: its sector once for each of them.
    let atomic = access(0, 0, "atom.global.add.u32 %a, [%at], %t;");
    assert_eq!(
        (atomic.global_atomics, atomic.global_loads),
        (global(1, 32, 1, 4), global(0, 0, 0, 0))
    );
}

#[test]
fn a_memory_that_is_touched_twice_counts_once_in_the_footprint() {
    let body = "mad.lo.u64 %at, %T, 4, %buffer;
        ld.global.f32 %f1, [%at]; ld.global.f32 %f1, [%at+4]; st.global.f32 [%at], %f1; ret;";
    let profile = profile(64, body);
    // 65 floats are read: 9 sectors; 64 are written: 8.
    assert_eq!(
        (
            profile.footprint.read_bytes,
            profile.footprint.written_bytes
        ),
        (9 * 32, 8 * 32)
    );
    assert_eq!(
        profile.total().global_loads,
        global(4, 4 + 5 + 4 + 5, 16, 512)
    );
}

#[test]
fn the_last_warp_of_a_block_is_partial() {
    let counters = total(
        40,
        "mad.lo.u64 %at, %T, 4, %buffer; st.global.u32 [%at], %t; ret;",
    );
    // The second warp has eight lanes: one sector.
    assert_eq!(counters.global_stores, global(2, 5, 5, 160));
    assert_eq!(
        (counters.warp_instructions, counters.lane_instructions),
        (2 * 6, 6 * 40)
    );
    assert_eq!(counters.active_lanes(), Some(20.0));
}

#[test]
fn divergence() {
    // Lanes 0..8 go one way, the others another way; both meet at the end.
    let body = "setp.lt.u32 %p, %t, 8;
        @%p bra LESS;
        add.u32 %a, %t, 1; add.u32 %a, %a, 1; bra.uni END;
        LESS: sub.u32 %a, %t, 1;
        END: ret;";
    let counters = total(32, body);
    assert_eq!((counters.branches, counters.divergent_branches), (2, 1));
    assert_eq!(counters.of_class(InstructionClass::Integer), 3);
    // Three instructions of the prologue, setp, bra and ret have all 32 lanes; two adds and a
    // branch 24; one sub 8.
    assert_eq!(counters.lane_instructions, 6 * 32 + 3 * 24 + 8);
    // A branch that all lanes take, and one that none takes, are uniform; both are executed.
    let uniform = total(
        32,
        "setp.lt.u32 %p, %t, 99; @%p bra NEXT; NEXT: @!%p bra END; add.u32 %a, %t, 1; END: ret;",
    );
    assert_eq!((uniform.branches, uniform.divergent_branches), (2, 0));
}

#[test]
fn an_instruction_that_the_guard_holds_back_is_executed_by_no_lane() {
    let counters = total(
        32,
        "setp.gt.u32 %p, %t, 99; @%p ld.shared.b32 %a, [tile]; @!%p ld.shared.b32 %a, [tile]; ret;",
    );
    assert_eq!(
        (counters.warp_instructions, counters.lane_instructions),
        (7, 6 * 32)
    );
    assert_eq!(counters.shared_loads, shared(1, 1, 1));
}

#[test]
fn flops_barriers_and_local_memory() {
    let counters = total(
        64,
        "fma.rn.f32 %f1, %f1, %f2, %f3; add.f32 %f1, %f1, %f2; max.f32 %f1, %f1, %f2;
         mul.f64 %fd1, %fd1, %fd2; bar.sync 0; bar.warp.sync -1;
         st.local.f32 [stack], %f1; ld.local.f32 %f2, [stack]; ret;",
    );
    assert_eq!(counters.flops, [0, 3 * 64, 64, 0]);
    assert_eq!((counters.barriers, counters.local_requests), (4, 4));
    assert_eq!(
        counters.global(),
        GlobalTraffic::default(),
        "local memory is counted by itself"
    );
}

#[test]
fn an_asynchronous_copy_is_one_request_at_each_end() {
    let counters = total(
        32,
        "mad.lo.u64 %at, %T, 16, %buffer; mul.lo.u32 %a, %t, 16; mov.u32 %b, tile; add.u32 %a, %a, %b;
         cp.async.ca.shared.global [%a], [%at], 16; cp.async.wait_all; ret;",
    );
    assert_eq!(counters.global_loads, global(1, 16, 16, 512));
    assert_eq!(counters.shared_stores, shared(1, 4, 4));
    assert_eq!(counters.of_class(InstructionClass::Copy), 2);
}

#[test]
fn generic_addresses_count_where_they_lead() {
    let counters = total(
        32,
        "cvta.shared.u64 %at, tile; mad.lo.u64 %at, %T, 8, %at; st.f32 [%at], %f1; ret;",
    );
    assert_eq!(counters.shared_stores, shared(1, 2, 1));
}

#[test]
fn lines_are_those_of_the_source_or_of_the_text() {
    let body = ".loc 1 7 3
        add.u32 %a, %t, 1; add.u32 %a, %t, 2;
        .loc 1 9 5
        add.u32 %a, %t, 3;
        .loc 1 7 9
        add.u32 %a, %t, 4;
        ret;";
    let profile = profile(32, body);
    let lines: Vec<_> = profile
        .lines()
        .map(|line| {
            (
                line.file.is_some(),
                line.line,
                line.counters.warp_instructions,
            )
        })
        .collect();
    // The three instructions of the prologue stand on lines 9 to 11 of the text and have no source
    // line.
    assert_eq!(
        lines,
        [
            (false, 9, 1),
            (false, 10, 1),
            (false, 11, 1),
            (true, 7, 4),
            (true, 9, 1)
        ]
    );
}

#[test]
fn the_workers_do_not_change_the_counts() {
    let body = "mov.u32 %a, %ctaid.x; mad.lo.u32 %b, %a, 64, %t; mul.wide.u32 %at, %b, 8; add.u64 %at, %at, %buffer;
        ld.global.u64 %rd1, [%at]; setp.lt.u32 %p, %t, %a; @%p bra END; st.global.u64 [%at], %rd1; END: ret;";
    let run = |workers| {
        let limits = Limits {
            workers: Some(workers),
            ..limits()
        };
        let profile = profile_with(limits, shape(40, 64, 0), body);
        (profile.total(), profile.footprint)
    };
    assert_eq!(run(1), run(3));
}

/// Half of the warp is at the shuffle first, and waits for the others.
#[test]
fn an_instruction_that_waits_for_its_members_counts_once() {
    let body = "setp.lt.u32 %p, %t, 16; @%p bra LATER;
        MEET: shfl.sync.idx.b32 %a, %t, 0, 31, -1; ret;
        LATER: add.u32 %b, %t, 1; bra.uni MEET;";
    let counters = total(32, body);
    assert_eq!(counters.of_class(InstructionClass::Exchange), 1);
    // The prologue's three, the comparison, the branch, the addition, the branch, the shuffle and
    // the return.
    assert_eq!(counters.warp_instructions, 9);
}

/// LLVM sometimes puts the last block of a loop before its body. Lanes that skip a part of a round
/// meet there again.
#[test]
fn lanes_meet_in_a_loop_whose_last_block_stands_first() {
    let body = "mov.u32 %a, 0; bra.uni BODY;
        LATCH: ld.shared.u32 %r1, [tile]; add.u32 %a, %a, 1; setp.ge.u32 %p, %a, 4; @%p bra END;
        BODY: add.u32 %b, %t, %a; and.b32 %b, %b, 1; setp.eq.u32 %q, %b, 0; @%q bra LATCH;
        ld.shared.u32 %r2, [tile+4]; bra.uni LATCH;
        END: ret;";
    let counters = total(32, body);
    // Each round: one load by half of the lanes, one by all.
    assert_eq!(counters.shared_loads, shared(8, 8, 8));
    // The branch that the new order needs belongs to no instruction of the text.
    assert_eq!(counters.of_class(InstructionClass::Branch), 1 + 4 + 4 + 4);
}
