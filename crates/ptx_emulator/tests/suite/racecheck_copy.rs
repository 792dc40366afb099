//! Asynchronous copies: races with what they write and read before a thread has waited for them.

use crate::common::{races, shape};
use ptx_emulator::{CheckReport, Rule, Severity};

/// Each thread copies 16 bytes into its part of `tile`, whose address is in `%mine`; a neighbour's
/// in the next warp is in `%their`, the source in `%from`. The copy is line 9 of the PTX, the body
/// begins with line 10.
fn report(body: &str, threads: u32) -> CheckReport {
    let text = format!(
        ".shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %from; .reg .b32 %t, %tile, %mine, %their, %r<8>; .reg .pred %p<4>;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %tile, tile; mad.lo.u32 %mine, %t, 16, %tile;
    xor.b32 %their, %t, 32; mad.lo.u32 %their, %their, 16, %tile; mad.wide.u32 %from, %t, 16, %at;
    cp.async.cg.shared.global [%mine], [%from], 16;
{body}
    ret;
}}"
    );
    races(&text, shape(1, threads, 0))
}

#[track_caller]
fn clean(body: &str) {
    let report = report(body, 64);
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[track_caller]
fn rule(body: &str) -> Rule {
    let report = report(body, 64);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    assert_eq!(report.findings[0].severity, Severity::Error);
    assert_eq!(report.findings[0].others[0].place.ptx_line, 9);
    report.findings[0].rule
}

#[test]
fn its_own_thread_must_wait() {
    assert_eq!(rule("ld.shared.u32 %r0, [%mine+4];"), Rule::AsyncCopy);
    assert_eq!(
        rule("cp.async.commit_group; ld.shared.u32 %r0, [%mine];"),
        Rule::AsyncCopy
    );
    assert_eq!(rule("st.shared.u32 [%mine+12], 0;"), Rule::AsyncCopy);
    // A wait for committed groups does not wait for what is not committed.
    assert_eq!(
        rule("cp.async.wait_group 0; ld.shared.u32 %r0, [%mine];"),
        Rule::AsyncCopy
    );
    // A barrier is no wait.
    assert_eq!(
        rule("bar.sync 0; ld.shared.u32 %r0, [%mine];"),
        Rule::AsyncCopy
    );
    clean("cp.async.wait_all; ld.shared.u32 %r0, [%mine];");
    clean(
        "cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r0, [%mine]; st.shared.u32 [%mine], 1;",
    );
}

#[test]
fn others_need_a_barrier_behind_the_wait() {
    let read = "ld.shared.u32 %r0, [%their];";
    clean(&format!("cp.async.wait_all; bar.sync 0; {read}"));
    // The barrier before the wait orders nothing.
    let report = report(&format!("bar.sync 0; cp.async.wait_all; {read}"), 64);
    let rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    assert!(
        rules.contains(&Rule::AsyncCopy) || rules.contains(&Rule::ReadAfterWrite),
        "{rules:?}"
    );
    assert!(report.count(Severity::Error) > 0);
}

#[test]
fn a_wait_may_leave_groups_under_way() {
    let second = "cp.async.commit_group; add.u32 %r1, %mine, 1024; cp.async.ca.shared.global [%r1], [%from], 4; cp.async.commit_group; cp.async.wait_group 1;";
    clean(&format!("{second} ld.shared.u32 %r0, [%mine];"));
    let report = report(&format!("{second} ld.shared.u32 %r0, [%r1];"), 64);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    assert_eq!(report.findings[0].rule, Rule::AsyncCopy);
}

#[test]
fn the_source_must_stay_until_the_wait() {
    assert_eq!(rule("st.global.u32 [%from+8], 1;"), Rule::AsyncCopy);
    assert_eq!(
        rule("bar.sync 0; setp.eq.u32 %p0, %t, 40; @%p0 st.global.u32 [%at], 1;"),
        Rule::AsyncCopy
    );
    clean("ld.global.u32 %r0, [%from];");
    clean("cp.async.wait_all; st.global.u32 [%from+8], 1;");
    clean("cp.async.wait_all; bar.sync 0; setp.eq.u32 %p0, %t, 40; @%p0 st.global.u32 [%at], 1;");
    // After the wait it was a read like any other.
    assert_eq!(
        rule("cp.async.wait_all; setp.eq.u32 %p0, %t, 40; @%p0 st.global.u32 [%at], 1;"),
        Rule::WriteAfterRead
    );
}
