//! What orders accesses beside barriers of the block: barriers of some threads, fences, atomics and
//! their scopes.

mod atomics;
mod flags;

use crate::common::{races, shape};
use ptx_emulator::{CheckReport, Rule, Severity};

/// A kernel with a shared array `tile` and the buffer in `%at`. The body has its thread in `%t`,
/// its block in `%b`, the lane in `%lane`; its first line is line 11 of the PTX.
fn kernel(body: &str) -> String {
    format!(
        ".shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %mine, %w<8>; .reg .b32 %t, %b, %lane, %warp, %tile, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [out];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %lane, %laneid; mov.u32 %tile, tile; shr.u32 %warp, %t, 5;
    mad.wide.u32 %mine, %t, 4, %at;

{body}
    ret;
}}"
    )
}

#[track_caller]
fn clean(body: &str, grid: u32, threads: u32) {
    let report = races(&kernel(body), shape(grid, threads, 0));
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[track_caller]
fn racy(body: &str, grid: u32, threads: u32) -> CheckReport {
    let report = races(&kernel(body), shape(grid, threads, 0));
    assert!(report.count(Severity::Error) > 0, "{:#?}", report.findings);
    report
}

fn rules(report: &CheckReport) -> Vec<Rule> {
    let mut rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}
