//! Release and acquire by many threads: what they order is followed to the end of the launch, races
//! beside it are found, and where chains of releases are too many to be distinguished a notice says
//! so.

use crate::common::{races, shape};
use ptx_emulator::{CheckReport, Rule};

/// The buffer is in `%at`, the thread's number in the grid in `%g`.
fn check(body: &str, grid: u32, threads: u32) -> CheckReport {
    let text = format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %w<8>; .reg .b32 %t, %b, %n, %g, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %g, %b, %n, %t;
{body}
    ret;
}}"
    );
    races(&text, shape(grid, threads, 0))
}

/// How `cuda::atomic` adds to a counter, with its default order and with one that says so.
const ADDS: [&str; 2] = [
    "fence.sc.gpu; atom.acquire.gpu.global.add.u32 %r0, [%at], 1;",
    "atom.acq_rel.gpu.global.add.u32 %r0, [%at], 1;",
];

#[test]
fn a_counter_that_all_threads_add_to() {
    for add in ADDS {
        // Whoever comes last reads what the others wrote before they came.
        let ordered = format!(
            "and.b32 %r1, %g, 2047; mad.wide.u32 %w0, %r1, 4, %at; setp.lt.u32 %p0, %g, 2048; @%p0 st.global.u32 [%w0+64], %g;
    {add} {add} {add}
    setp.eq.u32 %p1, %r0, 24575; @%p1 ld.global.u32 %r2, [%at+64]; @%p1 ld.global.u32 %r2, [%at+4096];"
        );
        let report = check(&ordered, 32, 256);
        assert!(report.is_clean(), "{:#?}", report.findings);
        assert_eq!(report.notices, [""; 0]);
        // What a thread writes after it came is ordered before nothing.
        let late = format!(
            "{add} {add} {add}
    setp.eq.u32 %p0, %g, 5; @%p0 st.global.u32 [%at+64], 1; setp.eq.u32 %p1, %g, 8000; @%p1 st.global.u32 [%at+64], 2;"
        );
        let report = check(&late, 32, 256);
        let [finding] = report.findings.as_slice() else {
            panic!("{add}: {:#?}", report.findings);
        };
        assert_eq!(finding.rule, Rule::WriteAfterWrite);
        assert_eq!(report.notices, [""; 0]);
    }
}

#[test]
fn locks_that_threads_take_in_turn() {
    // Eight counters, each under its lock.
    let body = "and.b32 %r0, %g, 7; mad.wide.u32 %w0, %r0, 8, %at;
try: atom.acquire.gpu.global.cas.b32 %r1, [%w0], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra try;
    ld.global.u32 %r2, [%w0+4]; add.u32 %r2, %r2, 1; st.global.u32 [%w0+4], %r2;
    st.release.gpu.global.u32 [%w0], 0;";
    let report = check(body, 8, 64);
    assert!(report.is_clean(), "{:#?}", report.findings);
    // Each block takes the locks of the block's number, for the counters of all.
    let wrong = body.replace("[%w0+4]", "[%w1+4]").replace(
        "and.b32 %r0, %g, 7;",
        "and.b32 %r0, %g, 7; mad.wide.u32 %w1, %r0, 8, %at; and.b32 %r0, %b, 7;",
    );
    let report = check(&wrong, 8, 64);
    assert!(!report.is_clean());
    assert_eq!(report.notices, [""; 0]);
}

#[test]
fn threads_that_never_hear_of_each_other_are_too_many_at_some_time() {
    let body = "membar.gl; red.global.add.u32 [%at], 1;
    setp.eq.u32 %p0, %g, 5; @%p0 st.global.u32 [%at+64], 1;
    setp.eq.u32 %p1, %g, LAST; @!%p1 bra done;
    ld.acquire.gpu.global.u32 %r0, [%at]; st.global.u32 [%at+64], 2;
done:";
    for (grid, notices) in [(2, 0), (8, 1)] {
        let body = body.replace("LAST", &(grid * 256 - 1).to_string());
        let report = check(&body, grid, 256);
        assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
        assert_eq!(report.notices.len(), notices, "{:?}", report.notices);
        assert!(
            report
                .notices
                .iter()
                .all(|text| text.contains("can be missed"))
        );
    }
    // What they order stays ordered.
    let ordered = "setp.eq.u32 %p0, %g, 5; @%p0 st.global.u32 [%at+64], 1;
    membar.gl; red.global.add.u32 [%at], 1;
    setp.eq.u32 %p1, %g, 2047; @!%p1 bra done;
    ld.acquire.gpu.global.u32 %r0, [%at]; st.global.u32 [%at+64], 2;
done:";
    let report = check(ordered, 8, 256);
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn many_releases_of_one_warp() {
    // More than are kept: what came before those counts as known.
    let body = "mov.u32 %r1, 0; setp.eq.u32 %p0, %g, 0; @%p0 st.global.u32 [%at+64], 1;
again: red.release.gpu.global.add.u32 [%at], 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 300; @%p1 bra again;
    setp.eq.u32 %p2, %g, 1; @%p2 st.global.u32 [%at+68], 1;
    setp.ne.u32 %p3, %b, 1; @%p3 bra done;
    st.global.u32 [%at+68], 2;
done:";
    let report = check(body, 2, 32);
    assert!(!report.is_clean());
    assert_eq!(report.notices.len(), 1, "{:?}", report.notices);
    assert!(report.notices[0].contains("can be missed"));
}
