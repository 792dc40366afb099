//! `grid.sync` of CUDA's cooperative groups, whose workspace two registers of the environment point
//! to.

use crate::common::{launch, limits, module, shape, unsupported_or_wrong};
use ptx_emulator::{CheckOptions, Emulator, InvalidLaunch, LaunchError};

/// Each block stores its number, waits for all others as CUDA does, and adds that of the last but
/// its own.
const SUM: &str = ".visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %p, %w, %o, %m; .reg .pred %t, %wait;
    ld.param.u64 %p, [p];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %tid.x;
    cvt.u64.u32 %o, %r0; mad.lo.u64 %m, %o, 8, %p;
    setp.ne.u32 %t, %r2, 0;
    @!%t st.global.u64 [%m], %o;
    mov.u32 %r3, %envreg2; mov.u32 %r4, %envreg1; mov.b64 %w, {%r3, %r4};
    setp.eq.u64 %wait, %w, 0; @%wait trap;
    barrier.sync 0;
    @%t bra met;
    setp.eq.u32 %wait, %r0, 0; sub.s32 %r5, -2147483647, %r1; selp.b32 %r5, %r5, 1, %wait;
    fence.acq_rel.gpu;
    atom.add.release.gpu.u32 %r6, [%w+4], %r5;
again: ld.acquire.gpu.u32 %r7, [%w+4]; xor.b32 %r7, %r7, %r6; setp.gt.s32 %wait, %r7, -1; @%wait bra again;
met: barrier.sync 0;
    @%t ret;
    sub.s32 %r8, %r1, %r0; sub.s32 %r8, %r8, 1; mul.wide.u32 %o, %r8, 8; add.s64 %o, %o, %p;
    ld.global.u64 %w, [%o];
    mad.lo.u64 %w, %w, 1000, 7;
    st.global.u64 [%m+8192], %w; ret; }";

#[test]
fn blocks_wait_for_the_whole_grid() {
    let (found, _) = launch(SUM, shape(1000, 64, 0), &[], 2048).expect("they meet");
    let expected: Vec<u64> = (0..1000).rev().map(|block| 1000 * block + 7).collect();
    assert_eq!(found[1024..2024], expected);
}

#[test]
fn a_sound_one_is_clean_and_the_wait_is_needed() {
    let check = |text: &str| {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(text)).expect("it loads");
        let buffer = emulator.alloc(8 * 2048).expect("memory");
        let options = CheckOptions::default();
        let report = emulator.check(
            &loaded,
            "k",
            shape(8, 64, 0),
            &[&buffer.to_le_bytes()],
            &options,
        );
        report.expect("it runs")
    };
    let report = check(SUM);
    assert!(report.is_clean(), "{:?}", report.findings);
    assert!(!check(&SUM.replace("@%wait bra again;", "")).is_clean());
}

#[test]
fn a_grid_that_does_not_fit_is_refused() {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(SUM)).expect("it loads");
    let launch = |grid, threads| {
        emulator.launch(
            &loaded,
            "k",
            shape(grid, threads, 0),
            &[&0_u64.to_le_bytes()],
        )
    };
    let refused = launch(265, 1024).expect_err("264 fit");
    assert_eq!(
        refused.to_string(),
        "launch refused: kernel `k` waits for its whole grid (`grid.sync`): 265 blocks, of which an H200 holds 264 at once"
    );
    let fits = launch(264, 1024).expect_err("the buffer is not there");
    assert!(matches!(fits, LaunchError::Fault(_)), "{fits}");
    let refused = launch(5000, 32);
    assert!(matches!(
        refused,
        Err(LaunchError::Invalid(InvalidLaunch::Cooperative { .. }))
    ));
}

#[test]
fn the_workspace_is_fresh_after_a_fault() {
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(SUM)).expect("it loads");
    let buffer = emulator.alloc(8 * 2048).expect("memory");
    // One block has no memory to write to, the others are at the barrier already.
    let late = buffer + 8 * 2000;
    assert!(
        emulator
            .launch(&loaded, "k", shape(64, 32, 0), &[&late.to_le_bytes()])
            .is_err()
    );
    let again = emulator.launch(&loaded, "k", shape(64, 32, 0), &[&buffer.to_le_bytes()]);
    again.expect("they meet");
}

/// Warps that add their sums in the shared memory that belongs to system software, as CUDA's tiles
/// of more than a warp do; `START` is where it begins.
const TILE: &str = ".visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %p, %s; .reg .pred %first;
    .shared .align 4 .b8 own[64];
    ld.param.u64 %p, [p]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31;
    mov.u32 %r3, START; cvt.u64.u32 %s, %r3; cvta.shared.u64 %s, %s;
    setp.eq.u32 %first, %r2, 0;
    mov.u32 %r4, own; @%first st.shared.u32 [%r4+60], %r0;
    shl.b32 %r4, -2, %r1; @%first red.and.b32 [%s+4], %r4;
    bar.sync 0;
    mad.lo.u32 %r4, %r1, 8, %r3; @%first st.shared.u32 [%r4+32], %r0;
    bar.sync 0;
    ld.u32 %r5, [%s+32]; ld.u32 %r6, [%s+40]; add.u32 %r5, %r5, %r6;
    mul.wide.u32 %s, %r0, 8; add.u64 %p, %p, %s; cvt.u64.u32 %s, %r5; st.global.u64 [%p], %s; ret; }";

#[test]
fn blocks_have_shared_memory_for_system_software() {
    let text = TILE.replace("START", "%reserved_smem_offset_1");
    let emulator = Emulator::new(limits());
    let loaded = emulator.load(&module(&text)).expect("it loads");
    let buffer = emulator.alloc(8 * 64).expect("memory");
    let args = [&buffer.to_le_bytes()[..]];
    let options = CheckOptions::default();
    let check = |shape| emulator.check(&loaded, "k", shape, &args, &options);
    let report = check(shape(1, 64, 0)).expect("it is launched");
    // Its atomic changes memory that only the driver has written.
    let races = report.findings.iter().map(|finding| finding.rule.name());
    assert_eq!(races.collect::<Vec<_>>(), ["race-write-after-write"]);
    let (found, _) = launch(&text, shape(1, 64, 0), &[], 64).expect("it runs");
    assert_eq!(found, [32; 64]);
    // It ends before the kernel's own arrays, and its parts are those of an sm_90.
    let part = |name: &str| {
        let body = format!("mov.u32 %r0, %reserved_smem_offset_{name};");
        let text = format!(
            ".visible .entry k(.param .u64 p) {{ .reg .b32 %r0; .reg .b64 %p; ld.param.u64 %p, [p];
             {body} st.global.u32 [%p], %r0; ret; }}"
        );
        let (found, _) = launch(&text, shape(1, 1, 0), &[], 1).expect("it runs");
        found[0]
    };
    let begin = part("begin");
    assert_eq!(part("cap"), 1024);
    assert_eq!(part("end"), begin + 1024);
    assert_eq!(part("0"), begin);
    assert!(part("1") >= begin && part("1") + 288 <= part("end"));
    let text = TILE.replace("START", "%reserved_smem_offset_2");
    assert!(unsupported_or_wrong(&text).is_some());
}
