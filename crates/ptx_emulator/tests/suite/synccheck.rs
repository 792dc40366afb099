//! Barriers and warp-level instructions that some threads miss, or reach with other operands: the
//! rule, the places and a hint.

use crate::common::{limits, module, shape, thread};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Finding, Limits, Rule, Severity};

/// The line of the first instruction of a body.
const BODY: u32 = 9;

fn check(body: &str, threads: u32) -> CheckReport {
    let text = format!(
        ".shared .align 4 .b8 tile[1024];
.visible .entry k(.param .u64 out) {{
.reg .b64 %out, %rd<9>; .reg .b32 %t, %lane, %warp, %r<9>; .reg .pred %p<8>;
mov.u32 %t, %tid.x; mov.u32 %lane, %laneid; shr.u32 %warp, %t, 5;
ld.param.u64 %out, [out]; setp.lt.u32 %p0, %t, 16; setp.eq.u32 %p1, %warp, 0;
{body}
ret;
}}"
    );
    let emulator = Emulator::new(Limits {
        warp_instructions: 100_000,
        ..limits()
    });
    let loaded = emulator.load(&module(&text)).expect("it loads");
    let out = emulator.alloc(4096).expect("memory is there");
    // Barriers are always looked at.
    let options = CheckOptions {
        race: false,
        init: false,
        ..CheckOptions::default()
    };
    emulator
        .check(
            &loaded,
            "k",
            shape(1, threads, 0),
            &[&out.to_le_bytes()],
            &options,
        )
        .expect("it is launched")
}

/// The only finding: its rule, its line and those of the other places, as lines of the body from 0,
/// and words of its message, the others or the hint.
#[track_caller]
fn wrong(
    body: &str,
    threads: u32,
    rule: Rule,
    line: u32,
    others: &[u32],
    words: &[&str],
) -> Finding {
    let [finding] = check(body, threads)
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{body}\n{all:#?}"));
    assert_eq!(finding.rule, rule, "{body}\n{finding:#?}");
    assert_eq!(
        finding.site.place.ptx_line,
        BODY + line,
        "{body}\n{finding:#?}"
    );
    let lines: Vec<u32> = finding
        .others
        .iter()
        .map(|site| site.place.ptx_line - BODY)
        .collect();
    assert_eq!(lines, others, "{body}\n{finding:#?}");
    let what = finding.others.iter().map(|site| site.what.as_str());
    let hint = finding.hint.as_deref();
    let said: Vec<&str> = what.chain(hint).chain([finding.message.as_str()]).collect();
    let said = said.join("\n");
    for word in words {
        assert!(said.contains(word), "`{word}` is missing: {said}");
    }
    finding
}

#[track_caller]
fn clean(body: &str, threads: u32) {
    let report = check(body, threads);
    assert!(report.is_clean(), "{body}\n{:#?}", report.findings);
}

const DIVERGENT: Rule = Rule::DivergentBarrier;
const HINT: &str = "every thread of the block must reach the same barrier";

#[test]
fn a_barrier_in_divergent_code() {
    let body = "@!%p0 bra $skip;\nbar.sync 0;\n$skip:\nadd.u32 %r0, %t, 1;\nbar.sync 0;";
    let words = [HINT, "16 threads of the same warp wait"];
    let finding = wrong(body, 32, DIVERGENT, 1, &[4], &words);
    assert_eq!(
        (finding.site.thread, finding.site.epoch),
        (Some([0, 0, 0]), 0)
    );
    // Two warps at two barriers.
    let body = "@!%p1 bra $other;\nbar.sync 0;\nbra $end;\n$other:\nbar.sync 0;\n$end:";
    wrong(
        body,
        64,
        DIVERGENT,
        1,
        &[4],
        &[HINT, "32 threads wait at another one"],
    );
    // By number they are different ones.
    let body = body.replace("$other:\nbar.sync 0", "$other:\nbar.sync 1");
    wrong(&body, 64, DIVERGENT, 1, &[4], &[HINT, "32 threads wait"]);
}

#[test]
fn threads_that_left_before_a_barrier() {
    wrong(
        "@!%p0 ret;\nbar.sync 0;",
        32,
        DIVERGENT,
        1,
        &[0],
        &[HINT, "16 threads exited before"],
    );
    let second = "bar.sync 0;\n@%p1 exit;\nbar.sync 0;";
    let finding = wrong(
        second,
        96,
        DIVERGENT,
        2,
        &[1],
        &[HINT, "32 threads exited before"],
    );
    assert_eq!(
        (finding.site.thread, finding.site.epoch),
        (Some([32, 0, 0]), 1)
    );
    wrong(
        "@%p1 exit;\nbarrier.sync 0;",
        64,
        DIVERGENT,
        1,
        &[0],
        &[HINT],
    );
    wrong(
        "@!%p1 bar.red.popc.u32 %r0, 0, %p0;",
        64,
        DIVERGENT,
        0,
        &[1],
        &[HINT],
    );
}

#[test]
fn a_loop_with_a_barrier_that_some_leave_early() {
    let body = "mov.u32 %r0, 0;\n$loop:\nbar.sync 0;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p2, %r0, %warp;\n@%p2 bra $loop;";
    let finding = wrong(
        body,
        96,
        DIVERGENT,
        2,
        &[6],
        &[HINT, "64 threads exited before"],
    );
    assert_eq!(
        (finding.site.thread, finding.site.epoch),
        (Some([64, 0, 0]), 1)
    );
}

#[test]
fn barriers_for_some_threads() {
    let two = "@!%p1 bra $other;\nbar.sync 1, FIRST;\nbra $end;\n$other:\nbar.sync SECOND;\n$end:";
    let body = |first: &str, second: &str| two.replace("FIRST", first).replace("SECOND", second);
    let words = [
        "no thread of the block can go on",
        "32 threads wait",
        "thread count of a barrier",
    ];
    wrong(&body("96", "2, 96"), 64, Rule::Deadlock, 1, &[1, 4], &words);
    wrong(
        &body("128", "1, 128"),
        64,
        Rule::Deadlock,
        1,
        &[1, 4],
        &words,
    );
    let words = ["different thread counts", "must give the same thread count"];
    wrong(
        &body("64", "1, 96"),
        64,
        Rule::InvalidOperand,
        4,
        &[],
        &words,
    );
    wrong(
        "bar.sync 1, 48;",
        64,
        Rule::InvalidOperand,
        0,
        &[],
        &["48 threads", "a multiple of 32"],
    );
    wrong(
        "bar.sync 16;",
        64,
        Rule::InvalidOperand,
        0,
        &[],
        &["barriers 0 to 15"],
    );
    wrong(
        "bar.sync %t;",
        64,
        Rule::InvalidOperand,
        0,
        &[],
        &["lanes 0 and 1 give different numbers"],
    );
    // A warp has left that the count needs.
    let gone = "@!%p1 exit;\nbar.sync 1, 64;";
    wrong(
        gone,
        64,
        Rule::Deadlock,
        1,
        &[1],
        &["no thread of the block can go on"],
    );
    // One warp waits, the other only announces itself.
    clean(&body("64", "1, 64"), 64);
    clean(
        &body("64", "1, 64").replace("bar.sync 1, 64;\n$end", "bar.arrive 1, 64;\n$end"),
        64,
    );
    clean(&body("32", "2, 32"), 64);
    // Three arrivals of 20 threads are too few, four too many, although no thread waits.
    let arrivals = "setp.lt.u32 %p2, %t, 20;\n@!%p2 bra DONE;\nAGAIN: barrier.arrive 1, 64;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p3, %r0, TIMES;\n@%p3 bra AGAIN;\nDONE:";
    clean(&arrivals.replace("TIMES", "3"), 32);
    wrong(
        &arrivals.replace("TIMES", "4"),
        32,
        Rule::InvalidOperand,
        2,
        &[],
        &["80 threads arrive together at barrier 1, which is for 64"],
    );
    // Whole warps complete it as often as they come.
    let warps = "AGAIN: bar.arrive 1, 64;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p3, %r0, 3000;\n@%p3 bra AGAIN;\nbar.sync 0;\nbar.sync 1, 64;";
    clean(warps, 64);
    wrong(
        "@%p0 bar.arrive 1, 64;",
        64,
        Rule::InvalidOperand,
        0,
        &[],
        &["by a part of a warp"],
    );
}

const MEMBERS: Rule = Rule::InvalidMembers;

#[test]
fn lanes_that_are_not_members_of_what_they_execute() {
    let words = [
        "without being a member",
        "must name the lanes that execute the instruction",
    ];
    for instruction in [
        "shfl.sync.idx.b32 %r0, %t, 0, 31, MEMBERS;",
        "vote.sync.any.pred %p2, %p0, MEMBERS;",
        "vote.sync.ballot.b32 %r0, %p0, MEMBERS;",
        "match.any.sync.b32 %r0, %t, MEMBERS;",
        "redux.sync.add.u32 %r0, %t, MEMBERS;",
        "elect.sync %r0|%p2, MEMBERS;",
        "bar.warp.sync MEMBERS;",
    ] {
        let finding = wrong(
            &instruction.replace("MEMBERS", "0x0000ffff"),
            32,
            MEMBERS,
            0,
            &[],
            &words,
        );
        assert_eq!(finding.site.thread, Some([16, 0, 0]), "{instruction}");
        // The others are elsewhere.
        let apart = format!("@%p0 bra $end;\n{instruction}\n$end:");
        wrong(
            &apart.replace("MEMBERS", "0x0000ffff"),
            32,
            MEMBERS,
            1,
            &[],
            &words,
        );
        clean(
            &apart
                .replace("MEMBERS", "0xffff0000")
                .replace("%t, 0, 31", "%t, 16, 31"),
            32,
        );
        clean(&instruction.replace("MEMBERS", "-1"), 32);
    }
}

#[test]
fn members_that_never_come() {
    // The others wait at a barrier of the block.
    let body = "@!%p0 bra $end;\nshfl.sync.idx.b32 %r0, %t, 0, 31, -1;\n$end:\nbar.sync 0;";
    let words = [
        "members never come",
        "0xffff0000",
        "PTX line 12",
        "must name the lanes",
    ];
    wrong(body, 32, MEMBERS, 1, &[], &words);
    let body = body.replace("shfl.sync.idx.b32 %r0, %t, 0, 31, -1", "bar.warp.sync -1");
    wrong(&body, 32, MEMBERS, 1, &[], &words);
    // Each half waits for lanes that name others.
    let body = "selp.b32 %r1, -1, 0xfffffff0, %p0;\nvote.sync.any.pred %p2, %p0, %r1;";
    wrong(
        body,
        32,
        MEMBERS,
        1,
        &[],
        &["its lanes name different members"],
    );
    // Members that have left need not come, as PTX has it; but nothing can be read from them.
    clean(
        "@!%p0 exit;\nvote.sync.ballot.b32 %r0, %p0, -1;\nbar.warp.sync -1;",
        32,
    );
    let words = ["lane 0 reads from lane 16, which does not take part"];
    let finding = wrong(
        "@!%p0 exit;\nshfl.sync.down.b32 %r0, %t, 16, 31, -1;",
        32,
        MEMBERS,
        1,
        &[],
        &words,
    );
    assert_eq!((finding.severity, finding.count), (Severity::Error, 16));
    // The launch goes on: what comes later is found too.
    let report = check(
        "@!%p0 exit;\nshfl.sync.down.b32 %r0, %t, 16, 31, -1;\nst.global.u32 [%out+4096], %r0;",
        32,
    );
    let rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [MEMBERS, Rule::OutOfBounds]);
    wrong(
        "shfl.sync.idx.b32 %r0, %t, 5, 31, 1;",
        1,
        MEMBERS,
        0,
        &[],
        &["lane 0 reads from lane 5"],
    );
    wrong(
        "@!%p0 exit;\nmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1, %r2, %r3};",
        32,
        MEMBERS,
        1,
        &[],
        &["all 32 lanes"],
    );
}

#[test]
fn members_that_pass_by_and_leave() {
    for instruction in [
        "shfl.sync.idx.b32 %r0, %t, 0, 31, -1;",
        "vote.sync.ballot.b32 %r0, %p0, -1;",
        "redux.sync.add.u32 %r0, %t, -1;",
        "bar.warp.sync -1;",
    ] {
        let report = check(&format!("@!%p0 bra $end;\n{instruction}\n$end:"), 32);
        let [finding] = &report.findings[..] else {
            panic!("{instruction}: {:#?}", report.findings);
        };
        assert_eq!(
            (finding.rule, finding.severity),
            (MEMBERS, Severity::Warning),
            "{instruction}"
        );
        let form = instruction.split(' ').next().unwrap_or_default();
        let words = format!("`{form}` names lanes 0xffff0000, which leave");
        assert!(finding.message.contains(&words), "{}", finding.message);
        assert_eq!((thread(&finding.site), thread(&finding.others[0])), (0, 16));
        // The low lanes reach it, but with another mask.
        let body =
            "selp.b32 %r1, 0xffff, -1, %p0;\n".to_owned() + &instruction.replace("-1;", "%r1;");
        let report = check(&body, 32);
        assert_eq!(report.count(Severity::Warning), 1, "{:#?}", report.findings);
        // Who left before it may be named.
        clean(&format!("@!%p0 exit;\n{instruction}"), 32);
    }
}

#[test]
fn a_loop_that_waits_for_ever_is_named() {
    let body = "mov.u32 %r0, tile;\n@%p1 bra $end;\n$loop:\nld.volatile.shared.u32 %r1, [%r0];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra $loop;\n$end:";
    let finding = wrong(
        body,
        64,
        Rule::EndlessLoop,
        3,
        &[3],
        &["the loop begins", "a value that no thread writes any more"],
    );
    assert_eq!(thread(&finding.site) / 32, 1);
}

#[test]
fn what_is_allowed() {
    // Lanes part and meet again before the barrier; both sides may use warp-level instructions of
    // their own.
    clean(
        "@%p0 bra $low;\nvote.sync.ballot.b32 %r0, %p0, 0xffff0000;\nbra $join;\n$low:\nvote.sync.ballot.b32 %r0, %p0, 0x0000ffff;\n$join:\nbar.sync 0;",
        32,
    );
    // What activemask says is only true for now.
    clean(
        "@!%p0 bra $end;\nactivemask.b32 %r0;\nbar.warp.sync %r0;\n$end:\nbar.sync 0;",
        64,
    );
    // Threads of a warp at a barrier that is not aligned, at two instructions.
    clean(
        "@%p0 bra $low;\nbarrier.sync 0;\nbra $join;\n$low:\nbarrier.sync 0;\n$join:",
        64,
    );
    // The halves of a warp meet at two instructions.
    clean(
        "@%p0 bra $low;\nbar.warp.sync -1;\nbra $join;\n$low:\nbar.warp.sync -1;\n$join:",
        32,
    );
    // The last warp has fewer lanes.
    clean(
        "shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xff;\nbar.sync 0;\nbar.red.popc.u32 %r0, 0, %p0;",
        8,
    );
}
