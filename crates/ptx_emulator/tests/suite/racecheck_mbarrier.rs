//! Races where barrier objects (`mbarrier`) order the threads.

use crate::common::{limits, module, shape};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, Limits, Rule};

/// Warp 0 fills a tile for warp 1, twice, with a barrier object for "full" and one for "empty".
///
/// Lines 20 and 28 are the producer's store and the consumer's load.
const PRODUCER_CONSUMER: &str = ".shared .align 4 .b8 tile[128];
.shared .align 8 .b8 objects[16];
.visible .entry k(.param .u64 buffer) {
.reg .b64 %at, %s<3>; .reg .b32 %t, %w, %a, %full, %empty, %round, %parity, %v, %lane; .reg .pred %p, %q, %first;
ld.param.u64 %at, [buffer]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %lane, %t, 31;
mad.lo.u32 %a, %lane, 4, 0; mov.u32 %v, tile; add.u32 %a, %a, %v;
mov.u32 %full, objects; add.u32 %empty, %full, 8; mov.u32 %round, 0;
setp.eq.u32 %first, %t, 0;
@%first mbarrier.init.shared.b64 [%full], 32;
@%first mbarrier.init.shared.b64 [%empty], 32;
bar.sync 0; // initialised
setp.ne.u32 %p, %w, 0; @%p bra CONSUME;
PRODUCE: and.b32 %parity, %round, 1; xor.b32 %parity, %parity, 1;
WAIT_EMPTY: mbarrier.try_wait.parity.shared.b64 %q, [%empty], %parity;
@!%q bra WAIT_EMPTY;
add.u32 %v, %t, %round;
st.shared.u32 [%a], %v;
mbarrier.arrive.shared.b64 %s0, [%full];
add.u32 %round, %round, 1; setp.lt.u32 %p, %round, 2; @%p bra PRODUCE;
ret;
CONSUME: and.b32 %parity, %round, 1;
WAIT_FULL: mbarrier.try_wait.parity.shared.b64 %q, [%full], %parity;
@!%q bra WAIT_FULL;
xor.b32 %v, %a, 124;
ld.shared.u32 %v, [%v];
mbarrier.arrive.shared.b64 %s0, [%empty];
add.u32 %round, %round, 1; setp.lt.u32 %p, %round, 2; @%p bra CONSUME;
ret;
}";

/// The races on shared memory between the store and the load, and how many findings there are
/// beside.
fn found(text: &str) -> (Vec<Rule>, CheckReport) {
    // In the emulator's own order a barrier may happen to be complete for a thread that does not
    // wait.
    found_in(text, 64, 12)
}

fn found_in(text: &str, threads: u32, schedules: u32) -> (Vec<Rule>, CheckReport) {
    let options = CheckOptions {
        init: false,
        schedules,
        ..CheckOptions::default()
    };
    let emulator = Emulator::new(Limits {
        warp_instructions: 20_000,
        ..limits()
    });
    let loaded = emulator.load(&module(text)).expect("the module loads");
    let buffer = emulator.alloc(16).expect("memory is there");
    let args = [&buffer.to_le_bytes()[..]];
    let report = emulator.check(&loaded, "k", shape(1, threads, 0), &args, &options);
    let report = report.expect("it is launched");
    let rules = report.findings.iter().map(|finding| finding.rule);
    (rules.collect(), report)
}

#[test]
fn a_phase_orders_what_came_before_its_arrivals() {
    let (rules, report) = found(PRODUCER_CONSUMER);
    assert!(rules.is_empty(), "{:#?}", report.findings);
    let with_states = PRODUCER_CONSUMER.replace("try_wait", "test_wait");
    assert!(found(&with_states).0.is_empty());
}

#[test]
fn without_the_wait_for_full_the_load_races() {
    // One round: the second would wait for ever.
    let broken = PRODUCER_CONSUMER.replace("@!%q bra WAIT_FULL;", "");
    let broken = broken.replace("%round, 2;", "%round, 1;");
    // In this order the phase is complete when the second warp asks, and no thread uses the answer.
    let (rules, report) = found_in(&broken, 64, 0);
    assert_eq!(rules, [Rule::ReadAfterWrite], "{:#?}", report.findings);
    // Nor when it is overwritten on every way to a use.
    let broken = broken.replace(
        "xor.b32 %v, %a, 124;",
        "setp.eq.u32 %q, %t, 0; @%q bra ALL; ALL: xor.b32 %v, %a, 124;",
    );
    assert_eq!(found_in(&broken, 64, 0).0, [Rule::ReadAfterWrite]);
}

#[test]
fn a_store_behind_the_arrival_races() {
    let arrival = "mbarrier.arrive.shared.b64 %s0, [%full];";
    let late = format!("{arrival} st.shared.u32 [%a], %v;");
    let (rules, report) = found(&PRODUCER_CONSUMER.replace(arrival, &late));
    let load = |rule: &Rule| matches!(rule, Rule::ReadAfterWrite | Rule::WriteAfterRead);
    assert!(rules.iter().any(load), "{:#?}", report.findings);
}

#[test]
fn a_relaxed_arrival_or_wait_orders_nothing() {
    let arrival = "mbarrier.arrive.relaxed.cta.shared.b64 %s0, [%full];";
    let relaxed = PRODUCER_CONSUMER.replace("mbarrier.arrive.shared.b64 %s0, [%full];", arrival);
    assert!(found(&relaxed).0.contains(&Rule::ReadAfterWrite));
    let wait = "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %q, [%full]";
    let relaxed =
        PRODUCER_CONSUMER.replace("mbarrier.try_wait.parity.shared.b64 %q, [%full]", wait);
    assert!(found(&relaxed).0.contains(&Rule::ReadAfterWrite));
}

#[test]
fn an_object_must_be_made_before_others_use_it() {
    let broken = PRODUCER_CONSUMER.replace("bar.sync 0; // initialised", "");
    let (rules, report) = found(&broken);
    assert!(!rules.is_empty(), "{:#?}", report.findings);
}

/// Thread 0 copies; all threads wait for the object and read what was copied.
const COPY: &str = ".shared .align 16 .b8 tile[128];
.shared .align 8 .b8 object[8];
.visible .entry k(.param .u64 buffer) {
.reg .b64 %at, %s<3>; .reg .b32 %t, %a, %o, %v; .reg .pred %p, %q;
ld.param.u64 %at, [buffer]; mov.u32 %t, %tid.x; mov.u32 %o, object; mov.u32 %a, tile;
setp.ne.u32 %p, %t, 0;
@!%p mbarrier.init.shared.b64 [%o], 1;
bar.sync 0;
@%p bra WAIT;
cp.async.ca.shared.global [%a], [%at], 16;
cp.async.mbarrier.arrive.noinc.shared.b64 [%o];
WAIT: mbarrier.test_wait.parity.shared.b64 %q, [%o], 0;
@!%q bra WAIT;
ld.shared.u32 %v, [%a];
ret;
}";

#[test]
fn a_phase_may_wait_for_copies() {
    let (rules, report) = found(COPY);
    assert!(rules.is_empty(), "{:#?}", report.findings);
    let broken = COPY.replace("@!%q bra WAIT;", "");
    assert!(!found(&broken).0.is_empty());
    // An arrival of the thread is not one of its copies.
    let plain = "mbarrier.arrive.shared.b64 %s0, [%o];";
    let broken = COPY.replace("cp.async.mbarrier.arrive.noinc.shared.b64 [%o];", plain);
    assert!(found(&broken).0.contains(&Rule::AsyncCopy));
}

#[test]
fn a_later_phase_answers_for_the_copies_of_the_one_before() {
    // Thread 0 ends a second phase, and all ask for that one only.
    let later = COPY.replace(
        "[%o];\nWAIT:",
        "[%o];\nmbarrier.arrive.shared.b64 %s0, [%o];\nWAIT: bar.sync 0;\nAGAIN:",
    );
    let later = later.replace(
        "%q, [%o], 0;\n@!%q bra WAIT;",
        "%q, [%o], 1;\n@!%q bra AGAIN;",
    );
    assert!(later.contains("WAIT: bar.sync 0;") && later.contains("@!%q bra AGAIN;"));
    let (rules, report) = found(&later);
    assert!(rules.is_empty(), "{:#?}", report.findings);
    // The barrier alone does not wait for copies.
    let broken = later.replace("@!%q bra AGAIN;", "");
    assert_eq!(found_in(&broken, 64, 0).0, [Rule::AsyncCopy]);
}

#[test]
fn a_phase_that_is_not_complete_orders_nothing() {
    // No other arrival is visible yet, not even the first warp's.
    let broken = PRODUCER_CONSUMER.replace("[%full], 32;", "[%full], 64;");
    let broken = broken.replace("@!%q bra WAIT_FULL;", "selp.u32 %parity, 1, 0, %q;");
    let broken = broken.replace("%round, 2;", "%round, 1;");
    // In this order the first warp has stored and arrived before the second asks.
    let (rules, report) = found_in(&broken, 64, 0);
    assert_eq!(rules, [Rule::ReadAfterWrite], "{:#?}", report.findings);
}

/// Warp 0 stores and completes the first phase, halves of warps 1 and 2 the second; all wait for
/// both, and load.
const TWO_PHASES: &str = ".shared .align 4 .b8 tile[128];
.shared .align 8 .b8 object[8];
.visible .entry k(.param .u64 buffer) {
.reg .b64 %s0; .reg .b32 %t, %w, %a, %o, %v; .reg .pred %p, %q, %first;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %o, object; mov.u32 %a, tile;
setp.eq.u32 %first, %t, 0;
@%first mbarrier.init.shared.b64 [%o], 32;
bar.sync 0;
setp.ne.u32 %p, %w, 0; @%p bra HALF;
@%first st.shared.u32 [%a], %t;
mbarrier.arrive.shared.b64 %s0, [%o];
ret;
HALF: and.b32 %v, %t, 16; setp.ne.u32 %p, %v, 0; @%p exit;
WAIT: mbarrier.test_wait.parity.relaxed.cta.shared.b64 %q, [%o], 0;
@!%q bra WAIT;
mbarrier.arrive.relaxed.cta.shared.b64 %s0, [%o];
LAST: mbarrier.test_wait.parity.acquire.cta.shared.b64 %q, [%o], 1;
@!%q bra LAST;
ld.shared.u32 %v, [%a];
ret;
}";

#[test]
fn a_phase_tells_what_the_phases_before_it_told() {
    let (rules, report) = found_in(TWO_PHASES, 96, 12);
    assert!(rules.is_empty(), "{:#?}", report.findings);
    let relaxed = TWO_PHASES.replace("acquire.cta", "relaxed.cta");
    assert!(found_in(&relaxed, 96, 12).0.contains(&Rule::ReadAfterWrite));
}
