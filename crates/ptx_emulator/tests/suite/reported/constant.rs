//! Reads through the non-coherent path.

use super::{Launch, clean, with};
use ptx_emulator::{CheckReport, Rule, Severity};

const OWN: &str = include_str!("nc_load.ptx");

fn check(text: &str, (grid, threads): (u32, u32)) -> CheckReport {
    let launch = Launch {
        text,
        grid,
        threads,
        buffers: &[256, 256],
        schedules: 0,
    };
    launch.check()
}

/// Only this, and with this severity.
#[track_caller]
fn found(report: &CheckReport, severity: Severity) {
    let of = report
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::NonCoherent);
    let severities: Vec<Severity> = of.map(|finding| finding.severity).collect();
    assert_eq!(severities, [severity], "{:#?}", report.findings);
    assert!(!report.is_clean());
}

#[test]
fn a_thread_reads_what_it_has_written() {
    let report = check(OWN, (1, 32));
    found(&report, Severity::Error);
    let finding = &report.findings[0];
    assert_eq!(
        (
            finding.others[0].place.ptx_line,
            finding.site.place.ptx_line
        ),
        (13, 14)
    );
    assert!(
        finding.site.what.contains("non-coherent")
            && finding.site.what.contains("element 0 of `buf`"),
        "{finding:#?}"
    );
    let hint = finding.hint.as_deref().unwrap_or_default();
    assert!(
        hint.contains("no barrier") && hint.contains("without `.nc`"),
        "{hint}"
    );
    clean(&check(&with(OWN, "ld.global.nc", "ld.global"), (1, 32)));
    // No thread writes what is read.
    clean(&check(&with(OWN, "st.global.u32 [%d4], %r1;", ""), (1, 32)));
    let beside = with(
        OWN,
        "st.global.u32 [%d4], %r1;",
        "st.global.u32 [%d4+512], %r1;",
    );
    clean(&check(&beside, (1, 32)));
}

#[test]
fn other_threads_write_it_before_or_after() {
    let write = "st.global.u32 [%d4], %r1;\n  ld.global.nc.u32 %r2, [%d4];";
    // A neighbour, with a barrier between.
    let before = "st.global.u32 [%d4], %r1; bar.sync 0; xor.b32 %r3, %r1, 33; mul.wide.u32 %d6, %r3, 4; add.s64 %d6, %d1, %d6; ld.global.nc.u32 %r2, [%d6];";
    found(&check(&with(OWN, write, before), (1, 64)), Severity::Error);
    let after = "xor.b32 %r3, %r1, 33; mul.wide.u32 %d6, %r3, 4; add.s64 %d6, %d1, %d6; ld.global.nc.u32 %r2, [%d6]; bar.sync 0; st.global.u32 [%d4], %r1;";
    found(&check(&with(OWN, write, after), (1, 64)), Severity::Error);
    // The same thread, in place: the compiler may exchange the two.
    let place = "ld.global.nc.u32 %r2, [%d4]; st.global.u32 [%d4], %r2;";
    found(&check(&with(OWN, write, place), (1, 32)), Severity::Warning);
    // An atomic.
    let atomic = "red.global.add.u32 [%d1], 1; bar.sync 0; ld.global.nc.u32 %r2, [%d1];";
    found(&check(&with(OWN, write, atomic), (1, 64)), Severity::Error);
    // Another block.
    let block = "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p, %r3, 0; @!%p st.global.u32 [%d4], %r1; @%p ld.global.nc.u32 %r2, [%d4];";
    let block = with(
        &with(OWN, write, block),
        ".reg .b32 %r<8>;",
        ".reg .b32 %r<8>; .reg .pred %p;",
    );
    assert!(
        check(&block, (2, 32))
            .findings
            .iter()
            .any(|finding| finding.rule == Rule::NonCoherent)
    );
}

#[test]
fn forms_and_sizes() {
    for load in [
        "ld.global.nc.L1::no_allocate.u32 %r2, [%d4];",
        "ldu.global.u32 %r2, [%d4];",
        "ld.global.nc.u8 %r2, [%d4+3];",
        "and.b64 %d6, %d4, -16; ld.global.nc.v4.u32 {%r2, %r3, %r4, %r5}, [%d6];",
        "and.b64 %d6, %d4, -8; ld.global.nc.u64 %d7, [%d6];",
    ] {
        found(
            &check(&with(OWN, "ld.global.nc.u32 %r2, [%d4];", load), (1, 32)),
            Severity::Error,
        );
    }
    // Bytes beside each other.
    let bytes = with(OWN, "st.global.u32 [%d4], %r1;", "st.global.u8 [%d4], %r1;");
    clean(&check(
        &with(
            &bytes,
            "ld.global.nc.u32 %r2, [%d4];",
            "ld.global.nc.u8 %r2, [%d4+1];",
        ),
        (1, 32),
    ));
    found(
        &check(
            &with(
                &bytes,
                "ld.global.nc.u32 %r2, [%d4];",
                "ld.global.nc.u16 %r2, [%d4];",
            ),
            (1, 32),
        ),
        Severity::Error,
    );
}

/// `out[i] = in[i] + in[i + 1]`, where both may be one buffer.
const SUM: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<8>; .reg .b64 %d<8>;
  ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; SAME
  mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.nc.u32 %r2, [%d4]; ld.global.nc.u32 %r3, [%d4+4];
  bar.sync 0;
  add.u32 %r2, %r2, %r3; st.global.u32 [%d5], %r2;
  ret;
}";

#[test]
fn two_parameters_for_one_buffer() {
    clean(&check(&with(SUM, "SAME", ""), (1, 64)));
    for same in [
        "mov.u64 %d2, %d1;",
        "add.u64 %d2, %d1, 64;",
        "add.u64 %d2, %d1, 252;",
    ] {
        assert!(
            !check(&with(SUM, "SAME", same), (1, 64)).is_clean(),
            "{same}"
        );
    }
    clean(&check(
        &with(SUM, "SAME", "add.u64 %d2, %d1, 260;"),
        (1, 64),
    ));
}
