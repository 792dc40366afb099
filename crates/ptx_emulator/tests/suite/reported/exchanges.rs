//! Orders that NVIDIA's own headers expect of shuffles, votes and matches, and PTX does not
//! promise.

use super::{Launch, clean, silent, with, wrong};
use ptx_emulator::{CheckReport, Rule, Severity};

const MATCH: &str = include_str!("match_then_inval.ptx");
const SYNCWARP: &str = include_str!("syncwarp_then_inval.ptx");
const SHUFFLE: &str = include_str!("shfl_after_acquire.ptx");

fn check(text: &str, (grid, threads): (u32, u32), buffers: &[usize]) -> CheckReport {
    let launch = Launch {
        text,
        grid,
        threads,
        buffers,
        schedules: 16,
    };
    launch.check()
}

#[test]
fn an_object_ends_after_each_warp_has_gathered() {
    let check = |text: &str| check(text, (1, 64), &[]);
    silent(&check(SYNCWARP));
    silent(&check(MATCH));
    let gathers = "match.any.sync.b32 %r3, %r2, 0xffffffff;";
    for other in [
        "match.all.sync.b32 %r3, %r2, 0xffffffff;",
        "vote.sync.ballot.b32 %r3, %p1, 0xffffffff;",
        "shfl.sync.idx.b32 %r3, %r2, 0, 31, 0xffffffff;",
        "redux.sync.add.s32 %r3, %r2, 0xffffffff;",
        "vote.sync.any.pred %p2, %p1, 0xffffffff;",
    ] {
        silent(&check(&with(MATCH, gathers, other)));
    }
    // Three warps, of which any may be the last.
    let three = with(&with(MATCH, ", 64;", ", 96;"), "%r5, 32;", "%r5, 32;");
    let launch = Launch {
        text: &three,
        grid: 1,
        threads: 96,
        buffers: &[],
        schedules: 16,
    };
    silent(&launch.check());
    // Nothing gathers the warp, or only an instruction that does not wait.
    wrong(&check(&with(MATCH, gathers, "")));
    wrong(&check(&with(MATCH, gathers, "activemask.b32 %r3;")));
    // A relaxed count does not order one warp after another.
    wrong(&check(&with(MATCH, "atom.acq_rel.cta", "atom.relaxed.cta")));
    // A lane arrives after its warp has gathered.
    let arrives = "mbarrier.arrive.shared.b64 %d1, [bar];";
    let late = with(
        &with(MATCH, arrives, ""),
        gathers,
        &format!("{gathers} {arrives}"),
    );
    wrong(&check(&late));
}

#[test]
fn data_of_lanes_that_only_gather_still_races() {
    // Each lane leaves a word, and the last warp's first lane reads all of them.
    let data = with(
        MATCH,
        ".shared .align 4 .b32 n;",
        ".shared .align 4 .b32 n; .shared .align 4 .b8 s[256];",
    );
    let data = with(
        &data,
        "mbarrier.arrive.shared.b64 %d1, [bar];",
        "mov.u32 %r6, s; mad.lo.u32 %r6, %r1, 4, %r6; st.shared.u32 [%r6], %r1;",
    );
    let data = with(
        &data,
        "mbarrier.inval.shared.b64 [bar];",
        "ld.shared.u32 %r7, [s+20]; ld.shared.u32 %r7, [s+200];",
    );
    wrong(&check(&data, (1, 64), &[]));
    clean(&check(
        &with(
            &data,
            "match.any.sync.b32 %r3, %r2, 0xffffffff;",
            "bar.warp.sync -1;",
        ),
        (1, 64),
        &[],
    ));
}

/// Expects one note, with its reason, besides those about the order of the warps.
#[track_caller]
fn noted(report: &CheckReport) {
    clean(report);
    let races = report.findings.iter();
    let mut races = races.filter(|finding| finding.rule != Rule::OrderDependent);
    let (Some(finding), None) = (races.next(), races.next()) else {
        panic!("{:#?}", report.findings);
    };
    assert_eq!(finding.severity, Severity::Information);
    let hint = finding.hint.as_deref().unwrap_or_default();
    assert!(finding.message.contains("by the letter"), "{finding:#?}");
    assert!(
        hint.contains("cooperative groups") && hint.contains("bar.warp.sync"),
        "{hint}"
    );
}

#[test]
fn an_acquire_that_a_shuffle_hands_on() {
    let check = |text: &str| check(text, (1, 64), &[32]);
    noted(&check(SHUFFLE));
    let shuffle = "shfl.sync.idx.b32 %r8, %r7, 0, 31, -1;\n  setp.ne.s32 %p3, %r8, 1;";
    for other in [
        "setp.eq.s32 %p4, %r7, 1; vote.sync.any.pred %p5, %p4, -1; not.pred %p3, %p5;",
        "setp.eq.s32 %p4, %r7, 1; vote.sync.ballot.b32 %r8, %p4, -1; setp.eq.u32 %p3, %r8, 0;",
        "redux.sync.or.b32 %r8, %r7, -1; setp.ne.s32 %p3, %r8, 1;",
        "shfl.sync.up.b32 %r8, %r7, 31, 0, -1; shfl.sync.idx.b32 %r8, %r8, 0, 31, -1; setp.ne.s32 %p3, %r8, 1;",
    ] {
        noted(&check(&with(SHUFFLE, shuffle, other)));
    }
    // A barrier of the warp orders it by the letter.
    let said = check(&with(SHUFFLE, "@%p3 ret;", "@%p3 ret; bar.warp.sync -1;"));
    clean(&said);
    assert!(
        said.findings
            .iter()
            .all(|finding| finding.rule == Rule::OrderDependent)
    );
}

#[test]
fn what_no_acquire_was_handed_on_for_is_an_error() {
    let check = |text: &str| check(text, (1, 64), &[32]);
    // The atomic acquires nothing.
    wrong(&check(&with(
        SHUFFLE,
        "atom.acq_rel.cta",
        "atom.release.cta",
    )));
    // Nor did the other warp release.
    wrong(&check(&with(
        SHUFFLE,
        "atom.acq_rel.cta",
        "atom.acquire.cta",
    )));
    // Each lane of the other warp writes a word, and no barrier orders these writes before the
    // release by its first lane.
    let each = with(SHUFFLE, ".b8 s[8]", ".b8 s[256]");
    let each = with(&each, "shl.b32 %r4, %r3, 2;", "shl.b32 %r4, %r1, 2;");
    let each = with(
        &each,
        "@!%p2 st.shared.u32 [%r6], %r1;\n  bar.warp.sync -1;",
        "st.shared.u32 [%r6], %r1;",
    );
    let each = with(&each, "xor.b32 %r9, %r4, 4;", "xor.b32 %r9, %r4, 128;");
    wrong(&check(&each));
    noted(&check(&with(
        &each,
        "st.shared.u32 [%r6], %r1;",
        "st.shared.u32 [%r6], %r1;\n  bar.warp.sync -1;",
    )));
    // The shuffle passes another value.
    let other = with(
        SHUFFLE,
        "shfl.sync.idx.b32 %r8, %r7, 0, 31, -1;",
        "shfl.sync.idx.b32 %r8, %r1, 0, 31, -1; mov.u32 %r8, 1;",
    );
    wrong(&check(&other));
    // No shuffle at all.
    wrong(&check(&with(
        SHUFFLE,
        "shfl.sync.idx.b32 %r8, %r7, 0, 31, -1;",
        "mov.u32 %r8, 1;",
    )));
}

/// The first lane of block 1 waits for a flag of block 0, and passes it to the others by a shuffle.
const FLAG: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<6>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;
  setp.ne.u32 %p1, %r2, 0; setp.ne.u32 %p2, %r1, 0; @%p1 bra wait;
  st.global.u32 [%d3+64], %r1;
  bar.warp.sync -1;
  @!%p2 st.release.gpu.global.u32 [%d1], 1;
  ret;
wait:
  mov.u32 %r3, 1; @%p2 bra tell;
look:
  ld.acquire.gpu.global.u32 %r3, [%d1]; setp.eq.u32 %p3, %r3, 0; @%p3 bra look;
tell:
  shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;
  ld.global.u32 %r5, [%d3+64];
  ret;
}";

#[test]
fn a_flag_that_one_lane_waits_for() {
    let check = |text: &str| check(text, (2, 32), &[64]);
    noted(&check(FLAG));
    wrong(&check(&with(FLAG, "ld.acquire.gpu", "ld.relaxed.gpu")));
    wrong(&check(&with(FLAG, "ld.acquire.gpu", "ld.acquire.cta")));
    silent(&check(&with(
        FLAG,
        "shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;",
        "bar.warp.sync -1;",
    )));
}

#[test]
fn within_a_warp_a_shuffle_orders_nothing() {
    // Between lanes of one warp, the race stays a warning.
    let text = with(SHUFFLE, "xor.b32 %r9, %r4, 4;", "mov.u32 %r9, %r4;");
    let text = with(&text, "bar.warp.sync -1;", "");
    let report = check(&text, (1, 64), &[32]);
    assert!(
        report.count(Severity::Warning) > 0,
        "{:#?}",
        report.findings
    );
}
