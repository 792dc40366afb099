//! Sums of floats in the order of the threads.

use super::{Launch, clean, silent, with};
use ptx_emulator::{CheckReport, Rule, Severity};

const SUM: &str = include_str!("float_atomic.ptx");

/// Numbers whose sum depends on the order in its last bits, of both signs if `mixed`.
fn numbers(mixed: bool) -> Vec<u32> {
    let number = |at: u32| {
        let scale = at.wrapping_mul(2_654_435_761) >> 8;
        let value = scale as f32 / 3e6 + 0.1;
        if mixed && at % 2 == 1 { -value } else { value }
    };
    (0..256).map(|at| number(at).to_bits()).collect()
}

fn check_with(text: &str, threads: u32, numbers: &[u32]) -> CheckReport {
    let launch = Launch {
        text,
        grid: 1,
        threads,
        buffers: &[256, 64],
        schedules: 8,
    };
    launch.check_with(&[numbers])
}

fn check(text: &str) -> CheckReport {
    check_with(text, 128, &numbers(false))
}

#[track_caller]
fn noted(report: &CheckReport) {
    clean(report);
    assert!(!report.findings.is_empty(), "no order gives another sum");
    for finding in &report.findings {
        assert_eq!(
            (finding.rule, finding.severity),
            (Rule::OrderDependent, Severity::Information)
        );
        assert!(finding.message.contains("rounding"), "{finding:#?}");
        assert!(finding.site.what.contains(" of `out`"), "{finding:#?}");
    }
    // Whoever wants to know of it can.
    assert!(!report.passes(Severity::Information));
}

#[track_caller]
fn warned(report: &CheckReport) {
    assert_eq!(report.count(Severity::Warning), 1, "{:#?}", report.findings);
}

#[test]
fn atomics_on_floats() {
    noted(&check(SUM));
    noted(&check_with(SUM, 128, &numbers(true)));
    let double = with(
        SUM,
        "red.global.add.f32 [%d2], %f1;",
        "cvt.f64.f32 %d5, %f1; div.rn.f64 %d5, %d5, 0d4008000000000000; atom.global.add.f64 %d5, [%d2], %d5;",
    );
    noted(&check(&with(
        &double,
        ".reg .b64 %d<6>;",
        ".reg .b64 %d<5>; .reg .f64 %d5;",
    )));
    let half = with(
        SUM,
        "red.global.add.f32 [%d2], %f1;",
        "cvt.rn.f16x2.f32 %r2, %f1, %f1; red.global.add.noftz.f16x2 [%d2], %r2;",
    );
    noted(&check(&half));
    // Each warp adds first.
    let warps = with(
        SUM,
        "red.global",
        "and.b32 %r2, %r1, 7; setp.ne.u32 %p, %r2, 0; @%p ret; red.global",
    );
    noted(&check_with(
        &with(
            &warps,
            ".reg .b32 %r<4>;",
            ".reg .b32 %r<4>; .reg .pred %p;",
        ),
        256,
        &numbers(false),
    ));
    // One thread: one order.
    silent(&check_with(SUM, 1, &numbers(false)));
}

/// Sums in shared memory that one thread stores.
const SHARED: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<6>; .reg .pred %p<3>;
  .shared .align 4 .b32 sum;
  ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;
  @!%p1 st.shared.u32 [sum], 0;
  bar.sync 0;
  mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; ld.global.f32 %f1, [%d4];
  red.shared.add.f32 [sum], %f1;
  bar.sync 0;
  @%p1 ret;
  ld.shared.f32 %f2, [sum]; SCALE
  st.global.f32 [%d2], %f2;
  ret;
}";

#[test]
fn sums_that_are_stored_later() {
    noted(&check(&with(SHARED, "SCALE", "")));
    noted(&check(&with(
        SHARED,
        "SCALE",
        "mul.f32 %f2, %f2, 0f3EAAAAAB; sqrt.rn.f32 %f2, %f2;",
    )));
    // A count is none: it is the order itself.
    let order = with(
        SHARED,
        "red.shared.add.f32 [sum], %f1;",
        "atom.shared.inc.u32 %r2, [sum], 1000; mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d2, %d3; st.global.u32 [%d4], %r1;",
    );
    let order = with(
        &with(&order, "ld.shared.f32 %f2, [sum]; SCALE", ""),
        "st.global.f32 [%d2], %f2;",
        "",
    );
    warned(&check_with(&order, 64, &numbers(false)));
}

/// An addition by compare-and-swap, and one under a lock.
const SWAP: &str = "ld.global.u32 %r2, [%d2];
again: mov.b32 %f2, %r2; add.f32 %f3, %f2, %f1; mov.b32 %r3, %f3; atom.global.cas.b32 %r4, [%d2], %r2, %r3;
  setp.ne.u32 %p, %r4, %r2; mov.u32 %r2, %r4; @%p bra again;";
const LOCK: &str = "again: atom.acquire.gpu.global.cas.b32 %r2, [%d2+64], 0, 1; setp.ne.u32 %p, %r2, 0; @%p bra again;
  ld.global.f32 %f2, [%d2]; add.f32 %f3, %f2, %f1; st.global.f32 [%d2], %f3; st.release.gpu.global.u32 [%d2+64], 0;";

#[test]
fn additions_without_an_atomic_for_them() {
    for add in [SWAP, LOCK] {
        let add = add.replace(
            "ld.global.u32 %r2, [%d2]",
            "ld.relaxed.gpu.global.u32 %r2, [%d2]",
        );
        let text = with(SUM, "red.global.add.f32 [%d2], %f1;", &add);
        noted(&check(&with(
            &text,
            ".reg .b32 %r<4>;",
            ".reg .b32 %r<6>; .reg .pred %p;",
        )));
    }
}

#[test]
fn what_is_more_than_rounding_is_a_warning() {
    // One large number among small ones: its last bits are coarse.
    let mut large = numbers(false);
    large[5] = 1e6_f32.to_bits();
    noted(&check_with(SUM, 128, &large));
    // Infinite in one order only.
    let mut huge = vec![0; 128];
    (huge[3], huge[50], huge[90]) = (
        f32::MAX.to_bits(),
        f32::MAX.to_bits(),
        (-f32::MAX).to_bits(),
    );
    warned(&check_with(SUM, 128, &huge));
    // Who stores last.
    let last = with(
        SUM,
        "red.global.add.f32 [%d2], %f1;",
        "st.global.f32 [%d2], %f1;",
    );
    let report = check(&last);
    assert!(
        report.count(Severity::Error) > 0 && report.count(Severity::Warning) > 0,
        "{:#?}",
        report.findings
    );
    // An integer that the order decides, beside a sum.
    let both = with(
        SUM,
        "red.global.add.f32",
        "atom.global.exch.b32 %r2, [%d2+8], %r1; red.global.add.f32",
    );
    let report = check(&both);
    assert_eq!(
        (
            report.count(Severity::Warning),
            report.count(Severity::Information)
        ),
        (1, 1),
        "{:#?}",
        report.findings
    );
}

/// Who comes last stores what it has.
const LAST: &str = "atom.global.add.u32 %r2, [%d2+64], 1; setp.ne.u32 %p, %r2, 127; @%p ret; st.global.f32 [%d2], %f1;";

#[test]
fn who_comes_last_is_a_note_but_no_more() {
    let with_predicate = |store: &str| {
        let text = with(SUM, "red.global.add.f32 [%d2], %f1;", store);
        with(&text, ".reg .b32 %r<4>;", ".reg .b32 %r<6>; .reg .pred %p;")
    };
    let report = check(&with_predicate(LAST));
    clean(&report);
    assert!(report.findings[0].message.contains("first or last"));
    // What it stores, or where, is the order itself.
    let value =
        "atom.global.add.u32 %r2, [%d2+64], 1; add.u32 %r2, %r2, %r1; st.global.u32 [%d4], %r2;";
    warned(&check(&with_predicate(value)));
    // Under a lock each stores in its turn.
    let lock = "again: atom.acquire.gpu.global.cas.b32 %r2, [%d2+64], 0, 1; setp.ne.u32 %p, %r2, 0; @%p bra again;
  ld.global.u32 %r3, [%d2]; mad.lo.u32 %r3, %r3, 3, %r1; st.global.u32 [%d2], %r3; st.release.gpu.global.u32 [%d2+64], 0;";
    warned(&check(&with_predicate(lock)));
}

#[test]
fn a_race_within_a_warp_is_not_lost_for_it() {
    let race = with(
        SUM,
        "red.global.add.f32 [%d2], %f1;",
        "st.global.f32 [%d2+128], %f1;\n  and.b32 %r2, %r1, 31; red.global.add.f32 [%d2], %f1;",
    );
    let report = check_with(&race, 32, &numbers(false));
    assert!(
        !report.is_clean() && !report.passes(Severity::Warning),
        "{:#?}",
        report.findings
    );
}
