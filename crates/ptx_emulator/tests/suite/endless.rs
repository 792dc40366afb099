//! Loops without an end: those that can be shown to have none end the launch at once, the others at
//! the step limit, and both name the loop's lines. Meanwhile the listener hears of them.

use crate::common::{limits, module, shape};
use ptx_emulator::{
    CheckOptions, CheckReport, Emulator, FaultKind, Finding, LaunchError, Limits, Progress, Rule,
};
use std::sync::{Arc, Mutex};

/// The line of the first instruction of a body.
const BODY: u32 = 8;
const STEPS: u64 = 4_000_000;

fn text(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
.reg .b64 %out, %rd<9>; .reg .b32 %t, %b, %r<9>; .reg .pred %p<8>;
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; setp.eq.u32 %p0, %t, 0; setp.eq.u32 %p1, %b, 0;
ld.param.u64 %out, [out];
{body}
ret;
}}"
    )
}

fn emulator() -> Emulator {
    Emulator::new(Limits {
        warp_instructions: STEPS,
        ..limits()
    })
}

fn check(body: &str, blocks: u32, threads: u32, options: &CheckOptions) -> CheckReport {
    let emulator = emulator();
    let loaded = emulator.load(&module(&text(body))).expect("it loads");
    let out = emulator.alloc(4096).expect("memory is there");
    emulator.write(out, &[0; 4096]).expect("it fits");
    let args = [&out.to_le_bytes()[..]];
    let report = emulator.check(&loaded, "k", shape(blocks, threads, 0), &args, options);
    report.expect("it is launched")
}

/// What ends a launch of these threads.
#[track_caller]
fn ends(body: &str, blocks: u32, threads: u32) -> (Finding, u64) {
    let report = check(body, blocks, threads, &CheckOptions::default());
    let is_end = |finding: &&Finding| matches!(finding.rule, Rule::EndlessLoop | Rule::StepLimit);
    let end = report.findings.iter().find(is_end);
    let end = end.unwrap_or_else(|| panic!("{body}\n{:#?}", report.findings));
    (end.clone(), report.statistics.warp_instructions)
}

/// That a launch is shown to be endless, in the loop of these lines of its body.
#[track_caller]
fn endless(body: &str, blocks: u32, threads: u32, lines: &str) -> Finding {
    let (finding, steps) = ends(body, blocks, threads);
    assert_eq!(finding.rule, Rule::EndlessLoop, "{body}\n{finding:#?}");
    assert!(steps < STEPS / 4, "{body}\nonly after {steps}");
    assert!(finding.message.contains(lines), "{body}\n{finding:#?}");
    finding
}

#[track_caller]
fn limited(body: &str, blocks: u32, threads: u32, lines: &str) {
    let (finding, steps) = ends(body, blocks, threads);
    assert_eq!(finding.rule, Rule::StepLimit, "{body}\n{finding:#?}");
    assert!(steps >= STEPS, "{body}\nafter {steps}");
    assert!(finding.message.contains(lines), "{body}\n{finding:#?}");
}

const SPIN: &str =
    "wait:\nld.volatile.global.u32 %r0, [%out];\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra wait;";

#[test]
fn a_flag_that_nobody_sets() {
    let finding = endless(SPIN, 3, 64, "PTX lines 9-11");
    assert!(finding.message.contains(" rounds"), "{}", finding.message);
    let hint = finding.hint.unwrap_or_default();
    assert!(hint.contains("that no thread writes any more"), "{hint}");
}

#[test]
fn a_lock_that_nobody_opens() {
    let body =
        "lock:\natom.global.cas.b32 %r0, [%out], 0, 1;\nsetp.ne.u32 %p2, %r0, 0;\n@%p2 bra lock;";
    endless(body, 1, 32, "PTX lines 9-11");
    endless(body, 5, 96, "PTX lines 9-11");
    // The first block keeps it and ends.
    endless(body, 3, 1, "PTX lines 9-11");
    // With a pause that grows, and a fence.
    let pauses = "mov.u32 %r1, 8;\nlock:\nnanosleep.u32 %r1;\nshl.b32 %r1, %r1, 1;\nmin.u32 %r1, %r1, 256;\natom.acquire.gpu.global.cas.b32 %r0, [%out], 0, 1;\nsetp.ne.u32 %p2, %r0, 0;\n@%p2 bra lock;\nfence.acq_rel.gpu;";
    endless(pauses, 3, 64, "PTX lines 10-15");
}

#[test]
fn a_barrier_that_waits_for_a_loop() {
    let body = format!("@%p0 bra wait;\nbar.sync 0;\nbra end;\n{SPIN}\nbar.sync 0;\nend:");
    let finding = endless(&body, 1, 64, "PTX lines 12-14");
    assert!(
        finding.message.contains("threads wait at PTX line 9"),
        "{}",
        finding.message
    );
    assert_eq!(finding.site.thread, Some([0, 0, 0]));
}

#[test]
fn a_loop_with_a_barrier_inside() {
    let body = "head:\nbar.sync 0;\nld.volatile.global.u32 %r0, [%out];\nbar.sync 0;\nsetp.eq.u32 %p2, %r0, 0;\n@%p2 bra head;";
    endless(body, 1, 64, "PTX lines 9-13");
}

#[test]
fn blocks_that_wait_for_each_other() {
    // Each waits for the other one's flag before it sets its own.
    let body = "mul.wide.u32 %rd0, %b, 4; add.s64 %rd0, %out, %rd0;
sub.u32 %r1, 1, %b; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %out, %rd1;
wait:
ld.volatile.global.u32 %r0, [%rd1];
setp.eq.u32 %p2, %r0, 0;
@%p2 bra wait;
st.volatile.global.u32 [%rd0], 1;";
    endless(body, 2, 32, "PTX lines 11-13");
}

/// No endless loop is reported.
#[track_caller]
fn is_not_endless(body: &str, grid: u32, threads: u32) {
    let report = check(body, grid, threads, &CheckOptions::default());
    let loops = |finding: &&Finding| finding.rule.name().starts_with("sync");
    assert_eq!(report.findings.iter().find(loops), None);
}

/// Threads for which `first` holds wait for a flag; the others count to `count`, then set it.
fn set_late(first: &str, count: u32) -> String {
    format!(
        "@{first} bra wait;
mov.u32 %r1, 0;
count:
add.u32 %r1, %r1, 1;
setp.lt.u32 %p3, %r1, {count};
@%p3 bra count;
st.volatile.global.u32 [%out], 1;
bra end;
{SPIN}
end:"
    )
}

#[test]
fn a_flag_that_is_set_late_is_no_endless_loop() {
    // Block 0 waits while block 1 counts; and the other way round.
    for first in ["%p1", "!%p1"] {
        is_not_endless(&set_late(first, 400_000), 2, 32);
    }
}

#[test]
fn a_lane_that_is_late_is_no_endless_loop() {
    is_not_endless(&set_late("!%p0", 300_000), 1, 64);
}

#[test]
fn what_changes_something_is_stopped_by_the_limit() {
    // A counter; a lock that is opened and closed; a store; a clock.
    limited(
        "head:\nadd.u32 %r0, %r0, 1;\nbra head;",
        1,
        32,
        "PTX lines 9-10",
    );
    limited(
        "head:\natom.global.exch.b32 %r0, [%out], 1;\natom.global.exch.b32 %r0, [%out], 0;\nbra head;",
        1,
        1,
        "PTX lines 9-11",
    );
    limited(
        "head:\nst.volatile.global.u32 [%out], 1;\nbra head;",
        1,
        1,
        "PTX lines 9-10",
    );
    limited(
        "head:\nmov.u32 %r0, %clock;\nbra head;",
        1,
        32,
        "PTX lines 9-10",
    );
}

#[test]
fn the_outer_loop_is_the_endless_one() {
    let body = "outer:\nadd.u32 %r0, %r0, 1;\nmov.u32 %r1, 0;\ninner:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 1000;\n@%p2 bra inner;\nsetp.ne.u32 %p3, %r0, 0;\n@%p3 bra outer;";
    limited(body, 1, 32, "PTX lines 9-16");
    limited(body, 1, 32, "rounds of it and the loops inside");
}

#[test]
fn a_loop_is_named_by_its_source_lines() {
    let body = ".loc 1 12 5\nhead:\nadd.u32 %r0, %r0, 1;\n.loc 1 15 9\nsetp.ne.u32 %p2, %r1, 1;\n@%p2 bra head;\n.loc 1 99 1";
    let file = "\n.file 1 \"src/kernel.rs\"";
    let emulator = emulator();
    let loaded = emulator
        .load(&module(&(text(body) + file)))
        .expect("it loads");
    let result = emulator.launch(&loaded, "k", shape(1, 1, 0), &[&[0; 8]]);
    let Err(LaunchError::Fault(fault)) = result else {
        panic!("{result:?}")
    };
    assert!(matches!(fault.kind, FaultKind::StepLimit { .. }), "{fault}");
    let lines = "in the loop src/kernel.rs:12-15 (PTX lines 10-13), ";
    assert!(fault.to_string().contains(lines), "{fault}");
    assert_eq!(fault.ptx_line, BODY + 2);
}

#[test]
fn a_check_stops_at_the_order_that_does_not_end() {
    let options = CheckOptions {
        schedules: 4,
        ..CheckOptions::default()
    };
    let report = check(SPIN, 1, 32, &options);
    assert_eq!(report.schedules, 1);
    let notice = "only 1 of 5 orders of the threads were run: this one did not end";
    assert!(
        report.notices.iter().any(|text| text == notice),
        "{:?}",
        report.notices
    );
}

#[test]
fn who_listens_is_told_of_loops_and_orders() {
    let emulator = emulator();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reported);
    emulator.set_progress(move |progress| {
        let news = match progress {
            Progress::Order(order) => format!("order {order}"),
            Progress::Running(block) => match block.going_round() {
                Some((thread, inside)) => {
                    format!("{:?} {thread:?} {:?}", block.block(), inside.ptx_lines)
                }
                None => "no loop".to_owned(),
            },
            _ => "something else".to_owned(),
        };
        let mut reported = sink.lock().expect("nobody panics");
        if reported.last() != Some(&news) {
            reported.push(news);
        }
    });
    let body = "mov.u32 %r0, 0;\nhead:\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p2, %r0, 100000;\n@%p2 bra head;";
    let loaded = emulator.load(&module(&text(body))).expect("it loads");
    let options = CheckOptions {
        schedules: 2,
        ..CheckOptions::default()
    };
    let report = emulator.check(&loaded, "k", shape(1, 1, 0), &[&[0; 8]], &options);
    assert!(report.expect("it is launched").is_clean());
    let running = "[0, 0, 0] [0, 0, 0] (10, 12)";
    let reported = reported.lock().expect("nobody panics").clone();
    assert_eq!(reported, [running, "order 1", running, "order 2", running]);
}
