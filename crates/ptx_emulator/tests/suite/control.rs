//! Branches, divergence, calls and special registers.

use crate::common::{launch, module, shape};
use ptx_emulator::{Emulator, LaunchConfig, Limits};

fn kernel(module_scope: &str, body: &str) -> String {
    format!(
        "{module_scope}
.visible .entry k(.param .u64 buffer) {{
    .reg .b64 %at, %mine, %rd<16>; .reg .b32 %t, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [buffer];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %mine, %t, 8, %at;
    {body}
}}"
    )
}

#[track_caller]
fn words(text: &str, threads: u32) -> Vec<u64> {
    launch(text, shape(1, threads, 0), &[], threads as usize)
        .unwrap_or_else(|fault| panic!("{fault}"))
        .0
}

#[test]
fn branches_part_and_meet() {
    let text = kernel(
        "",
        "setp.lt.u32 %p0, %t, 10; @%p0 bra less; mov.u32 %r0, 100; setp.gt.u32 %p1, %t, 20; @!%p1 bra join;
         mov.u32 %r0, 200; bra.uni join;
         less: mov.u32 %r0, 300;
         join: activemask.b32 %r1; mov.b64 %rd0, {%r0, %r1}; st.global.u64 [%mine], %rd0; ret;",
    );
    // All 32 lanes are together again after the branches.
    let value = |lane: u64| {
        if lane < 10 {
            300
        } else if lane > 20 {
            200
        } else {
            100
        }
    };
    assert_eq!(
        words(&text, 32),
        (0..32)
            .map(|lane| 0xffff_ffff << 32 | value(lane))
            .collect::<Vec<u64>>()
    );
}

#[test]
fn two_calls_of_one_function_wait_for_nobody_in_the_other() {
    // One half yields in the loop before the other half reaches it: neither may stop for the
    // other there.
    let text = kernel(
        ".func (.param .b32 sum) f(.param .b32 n) {
    .reg .b32 %s, %i, %n; .reg .pred %p;
    ld.param.u32 %n, [n]; mov.u32 %s, 0; mov.u32 %i, 0;
    again: add.u32 %s, %s, %i; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra again;
    st.param.b32 [sum], %s; ret; }",
        "setp.lt.u32 %p0, %t, 16; @%p0 bra low;
         { .param .b32 n; .param .b32 sum; st.param.b32 [n], 3000; call (sum), f, (n); ld.param.u32 %r0, [sum]; }
         bra join;
         low: { .param .b32 n; .param .b32 sum; st.param.b32 [n], 2500; call (sum), f, (n); ld.param.u32 %r0, [sum]; }
         join: cvt.u64.u32 %rd0, %r0; st.global.u64 [%mine], %rd0; ret;",
    );
    let sum = |n: u64| n * (n - 1) / 2;
    assert_eq!(
        words(&text, 32),
        [[sum(2500); 16], [sum(3000); 16]].concat()
    );
}

#[test]
fn a_call_by_some_lanes_leaves_the_predicates_of_others_alone() {
    // The frames of `h` and of what `f` calls share rows; the lanes that do not branch are the
    // first to run, so `h` has written its predicates when the others come.
    let text = kernel(
        ".func leaf() { ret; }
.func (.param .b32 result) h() {
    .reg .b32 %x; .reg .pred %p, %q, %r;
    mov.u32 %x, %laneid; setp.gt.u32 %p, %x, 99; setp.gt.u32 %q, %x, 99; setp.gt.u32 %r, %x, 99;
    bar.warp.sync 0xffffffff;
    selp.u32 %x, 100, 200, %p; @%q add.u32 %x, %x, 10; @%r add.u32 %x, %x, 1;
    st.param.b32 [result], %x; ret; }
.func (.param .b32 result) f() {
    call leaf; bar.warp.sync 0xffffffff;
    st.param.b32 [result], 300; ret; }",
        "setp.ge.u32 %p0, %t, 16; @%p0 bra high;
         { .param .b32 result; call (result), h; ld.param.u32 %r0, [result]; }
         bra join;
         high: { .param .b32 result; call (result), f; ld.param.u32 %r0, [result]; }
         join: cvt.u64.u32 %rd0, %r0; st.global.u64 [%mine], %rd0; ret;",
    );
    assert_eq!(words(&text, 32), [[200; 16], [300; 16]].concat());
}

#[test]
fn loops_run_each_lane_its_own_number_of_times() {
    let text = kernel(
        "",
        "mov.u32 %r0, 0; mov.u32 %r1, 0;
         again: add.u32 %r1, %r1, %r0; add.u32 %r0, %r0, 1; setp.le.u32 %p0, %r0, %t; @%p0 bra again;
         activemask.b32 %r2; mov.b64 %rd0, {%r1, %r2}; st.global.u64 [%mine], %rd0; ret;",
    );
    let sum = |n: u64| n * (n + 1) / 2;
    assert_eq!(
        words(&text, 32),
        (0..32)
            .map(|lane| 0xffff_ffff << 32 | sum(lane))
            .collect::<Vec<u64>>()
    );
}

#[test]
fn tables_of_branches() {
    let text = kernel(
        "",
        "rem.u32 %r0, %t, 3; table: .branchtargets one, two, one; brx.idx %r0, table;
         one: mov.u32 %r1, 11; bra done;
         two: mov.u32 %r1, 22;
         done: cvt.u64.u32 %rd0, %r1; st.global.u64 [%mine], %rd0; ret;",
    );
    assert_eq!(
        words(&text, 32),
        (0..32)
            .map(|lane| if lane % 3 == 1 { 22 } else { 11 })
            .collect::<Vec<u64>>()
    );
}

#[test]
fn tables_of_branches_lead_to_blocks_that_were_sorted() {
    // `late` stands before the blocks that lead to it, so the emulator puts it after them.
    let text = kernel(
        "",
        "rem.u32 %r0, %t, 3; mov.u32 %r1, 0; bra start;
         late: add.u32 %r1, %r1, 1000; activemask.b32 %r2; mov.b64 %rd0, {%r1, %r2}; st.global.u64 [%mine], %rd0; ret;
         one: add.u32 %r1, %r1, 11; bra late;
         two: add.u32 %r1, %r1, 22; bra late;
         three: add.u32 %r1, %r1, 33; bra late;
         start: table: .branchtargets one, two, three; brx.idx %r0, table;",
    );
    // They meet there before any of them goes on.
    let value = |lane: u64| 0xffff_ffff << 32 | (1011 + 11 * (lane % 3));
    assert_eq!(words(&text, 32), (0..32).map(value).collect::<Vec<u64>>());
}

#[test]
fn scopes_hide_names_and_labels() {
    let text = kernel(
        "",
        "mov.u32 %r0, 1;
         { .reg .b32 %r0; .reg .pred p; mov.u32 %r0, 50; setp.eq.u32 p, %t, 0; @p bra end; add.u32 %t, %t, %r0; end: }
         { .reg .b32 x; mov.u32 x, %r0; add.u32 %t, %t, x; bra end; end: }
         cvt.u64.u32 %rd0, %t; st.global.u64 [%mine], %rd0; ret;",
    );
    assert_eq!(words(&text, 3), [1, 52, 53]);
}

#[test]
fn calls_pass_structures() {
    let text = kernel(
        ".func (.param .align 8 .b8 sum[16]) add_pairs(.param .align 8 .b8 a[16], .param .b32 b) {
            .reg .b64 %rd<8>; .reg .b32 %r0;
            ld.param.v2.u64 {%rd0, %rd1}, [a]; ld.param.u32 %r0, [b]; cvt.u64.u32 %rd2, %r0;
            add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd0; st.param.u64 [sum], %rd0; st.param.u64 [sum+8], %rd1; ret; }",
        "cvt.u64.u32 %rd0, %t;
         { .param .align 8 .b8 p0[16]; .param .b32 p1; .param .align 8 .b8 r[16];
           st.param.u64 [p0], %rd0; st.param.u64 [p0+8], 1000; st.param.u32 [p1], 7;
           call.uni (r), add_pairs, (p0, p1); ld.param.u64 %rd1, [r+8]; }
         st.global.u64 [%mine], %rd1; ret;",
    );
    assert_eq!(
        words(&text, 40),
        (0..40).map(|lane| 1007 + lane).collect::<Vec<u64>>()
    );
}

/// Each lane calls itself to its own depth, with local memory and registers of each call kept
/// apart.
#[test]
fn recursion_keeps_frames_apart() {
    let text = kernel(
        ".func (.param .b32 result) sum_to(.param .b32 n) {
            .local .align 4 .b8 keep[4]; .reg .b32 %r<4>; .reg .pred %p; .reg .b64 %SPL; mov.b64 %SPL, keep;
            ld.param.u32 %r0, [n]; st.local.u32 [%SPL], %r0; mov.u32 %r1, 0; setp.eq.u32 %p, %r0, 0; @%p bra done;
            sub.u32 %r2, %r0, 1;
            { .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; call.uni (r), sum_to, (a); ld.param.b32 %r1, [r]; }
            ld.local.u32 %r3, [%SPL]; add.u32 %r1, %r1, %r3;
            done: st.param.b32 [result], %r1; ret; }",
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %t; call.uni (r), sum_to, (a); ld.param.b32 %r1, [r]; }
         activemask.b32 %r2; mov.b64 %rd0, {%r1, %r2}; st.global.u64 [%mine], %rd0; ret;",
    );
    let expected: Vec<u64> = (0..32)
        .map(|n| 0xffff_ffff << 32 | (n * (n + 1) / 2))
        .collect();
    assert_eq!(words(&text, 32), expected);
}

#[test]
fn functions_are_called_through_pointers() {
    let functions = ".func (.param .b32 r) double(.param .b32 a) { .reg .b32 %r0; ld.param.b32 %r0, [a]; add.u32 %r0, %r0, %r0;
                       st.param.b32 [r], %r0; ret; }
                     .func (.param .b32 r) square(.param .b32 a) { .reg .b32 %r0; ld.param.b32 %r0, [a]; mul.lo.u32 %r0, %r0, %r0;
                       st.param.b32 [r], %r0; ret; }
                     .global .align 8 .u64 table[2] = {double, square};";
    let body = "and.b32 %r0, %t, 1; mul.wide.u32 %rd0, %r0, 8; mov.u64 %rd1, table; add.u64 %rd1, %rd1, %rd0;
                ld.global.u64 %rd2, [%rd1];
                { .param .b32 a; .param .b32 r; st.param.b32 [a], %t;
                  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
                  call (r), %rd2, (a), proto; ld.param.b32 %r1, [r]; }
                cvt.u64.u32 %rd3, %r1; st.global.u64 [%mine], %rd3; ret;";
    let expected: Vec<u64> = (0..32)
        .map(|t| if t % 2 == 0 { 2 * t } else { t * t })
        .collect();
    assert_eq!(words(&kernel(functions, body), 32), expected);
}

#[test]
fn special_registers() {
    let text = ".visible .entry k(.param .u64 buffer) {
        .reg .b64 %at, %rd<4>; .reg .b32 %r<32>;
        mov.u32 %r0, %tid.z; mov.u32 %r1, %ntid.y; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r0, %r1, %tid.y;
        mad.lo.u32 %r3, %r3, %r2, %tid.x;
        mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x; mad.lo.u32 %r6, %r4, %r5, %ctaid.x;
        mul.lo.u32 %r7, %r1, %r2; mov.u32 %r8, %ntid.z; mul.lo.u32 %r7, %r7, %r8; mad.lo.u32 %r9, %r6, %r7, %r3;
        ld.param.u64 %at, [buffer]; mad.wide.u32 %at, %r9, 8, %at;
        mov.u32 %r10, %laneid; mov.u32 %r11, %warpid; mov.u32 %r12, %lanemask_lt; popc.b32 %r12, %r12;
        mov.u32 %r13, %lanemask_ge; popc.b32 %r13, %r13; add.u32 %r12, %r12, %r13;
        shl.b32 %r11, %r11, 8; or.b32 %r10, %r10, %r11; mov.b64 %rd0, {%r10, %r12}; st.global.u64 [%at], %rd0; ret; }";
    let emulator = Emulator::new(Limits::default());
    let loaded = emulator.load(&module(text)).expect("it loads");
    let threads = 5 * 4 * 3 * 2 * 2;
    let out = emulator.alloc(8 * threads).expect("memory is there");
    let config = LaunchConfig {
        grid: [2, 2, 1],
        block: [5, 4, 3],
        dynamic_shared_bytes: 0,
    };
    emulator
        .launch(&loaded, "k", config, &[&out.to_le_bytes()])
        .expect("it runs");
    let mut bytes = vec![0; 8 * threads as usize];
    emulator.read(out, &mut bytes).expect("it can be read");
    for (index, word) in bytes.chunks_exact(8).enumerate() {
        let thread = index as u64 % 60;
        let expected = (32 << 32) | ((thread / 32) << 8) | (thread % 32);
        assert_eq!(
            u64::from_le_bytes(word.try_into().expect("8 bytes")),
            expected,
            "thread {index}"
        );
    }
}

/// A lock that every thread of two warps takes in turn: lanes that wait must not keep the holder
/// from going on.
#[test]
fn spin_locks_make_progress() {
    let text = kernel(
        ".global .align 4 .b32 lock; .global .align 4 .b32 count;",
        "take: atom.global.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra take;
         ld.volatile.global.u32 %r1, [count]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [count], %r1;
         membar.gl; st.volatile.global.u32 [lock], 0;
         cvt.u64.u32 %rd0, %r1; st.global.u64 [%mine], %rd0; ret;",
    );
    let mut taken = words(&text, 64);
    taken.sort_unstable();
    assert_eq!(taken, (1..=64).collect::<Vec<u64>>());
}

/// Every block waits until all have come, as many as run together on an H200: they must run by
/// turns even on one worker.
#[test]
fn blocks_may_wait_for_each_other() {
    let text = ".global .align 4 .b32 arrived;
.visible .entry k(.param .u64 buffer) {
    .reg .b64 %at; .reg .b32 %r<4>; .reg .pred %p;
    atom.global.add.u32 %r0, [arrived], 1; mov.u32 %r3, %nctaid.x;
    wait: ld.volatile.global.u32 %r1, [arrived]; setp.lt.u32 %p, %r1, %r3; @%p bra wait;
    ld.param.u64 %at, [buffer]; mov.u32 %r2, %ctaid.x; mad.wide.u32 %at, %r2, 8, %at; st.global.u32 [%at], %r1; ret; }";
    for blocks in [8, 132] {
        let (words, statistics) = launch(text, shape(blocks, 1, 0), &[], blocks as usize)
            .unwrap_or_else(|fault| panic!("{fault}"));
        let all = u64::from(blocks);
        assert_eq!(
            (words, statistics.blocks),
            (vec![all; blocks as usize], all)
        );
    }
}

/// Each block waits for the one after it: only the last one can end first.
#[test]
fn blocks_may_end_in_the_reverse_of_their_order() {
    let text = ".visible .entry k(.param .u64 buffer) {
    .reg .b64 %at; .reg .b32 %r<4>; .reg .pred %p, %last;
    ld.param.u64 %at, [buffer]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; sub.u32 %r1, %r1, 1;
    mad.wide.u32 %at, %r0, 8, %at; setp.eq.u32 %last, %r0, %r1; mov.u32 %r2, 0; @%last bra tell;
    wait: ld.acquire.gpu.global.u32 %r2, [%at+8]; setp.eq.u32 %p, %r2, 0; @%p bra wait;
    tell: add.u32 %r2, %r2, 1; st.release.gpu.global.u32 [%at], %r2; ret; }";
    let (words, _) =
        launch(text, shape(60, 32, 0), &[], 60).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(words, (1..=60).rev().collect::<Vec<u64>>());
}

#[test]
fn the_clock_goes_on_over_calls_and_barriers() {
    let text = "
.version 7.0
.target sm_80
.address_size 64
.func (.param .b64 now) read() {
    .reg .b64 %rd<2>;
    mov.u64 %rd1, %clock64;
    st.param.b64 [now], %rd1;
    ret;
}
.visible .entry k(.param .u64 out) {
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    { .param .b64 now; call (now), read, (); ld.param.b64 %rd2, [now]; }
    bar.sync 0;
    { .param .b64 now; call (now), read, (); ld.param.b64 %rd3, [now]; }
    st.global.u64 [%rd1], %rd2;
    st.global.u64 [%rd1+8], %rd3;
    ret;
}";
    let emulator = ptx_emulator::Emulator::new(ptx_emulator::Limits::default());
    let module = ptx_emulator::Module::parse(text).expect("it parses");
    let module = emulator.load(&module).expect("it loads");
    let out = emulator.alloc(16).expect("memory");
    let config = ptx_emulator::LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let launched = emulator.launch(&module, "k", config, &[&out.to_le_bytes()]);
    launched.expect("no fault");
    let mut bytes = [0; 16];
    emulator.read(out, &mut bytes).expect("the output");
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    assert!(word(8) > word(0), "{} and then {}", word(0), word(8));
}
