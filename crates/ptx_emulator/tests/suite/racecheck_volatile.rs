//! `volatile` orders nothing. Flags that a thread waits for may be `volatile`; data under a lock
//! or a flag, and counters that others change with atomics, are found whether they are `volatile`
//! or not.

use crate::common::{races, shape};
use ptx_emulator::{CheckReport, Rule, Severity};

/// The buffer is in `%at`, the thread in `%t`, the block in `%b`.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %mine, %w<8>; .reg .b32 %t, %b, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.wide.u32 %mine, %t, 4, %at;
{body}
    ret;
}}"
    )
}

fn check(body: &str, grid: u32, threads: u32) -> CheckReport {
    races(&kernel(body), shape(grid, threads, 0))
}

#[track_caller]
fn clean(body: &str, grid: u32, threads: u32) {
    let report = check(body, grid, threads);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// Only warnings, which say that `volatile` does not order: on the machines of today the values are
/// whole.
#[track_caller]
fn unordered(body: &str, grid: u32, threads: u32) -> CheckReport {
    let report = check(body, grid, threads);
    assert!(report.count(Severity::Warning) > 0, "{body}\n{report:#?}");
    for finding in &report.findings {
        assert_eq!(finding.severity, Severity::Warning, "{finding:#?}");
        assert!(finding.message.contains("`volatile`"), "{finding:#?}");
        assert_eq!(finding.others.len(), 1);
    }
    report
}

/// Each thread adds one to a counter under a lock; `.volatile` or nothing stands in the place of
/// `HOW`.
fn lock(take: &str, acquire: &str, release: &str) -> String {
    format!(
        "setp.ne.u32 %p1, %t, 0; @%p1 bra done;
try: {take} setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
    {acquire}
    ldHOW.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; stHOW.global.u32 [%at+4], %r1;
    {release}
    atom.global.exch.b32 %r2, [%at], 0;
done:"
    )
}

#[test]
fn data_behind_a_lock() {
    let take = "atom.global.cas.b32 %r0, [%at], 0, 1;";
    let volatile = |text: String| text.replace("HOW", ".volatile");
    clean(&volatile(lock(take, "membar.gl;", "membar.gl;")), 3, 64);
    for (acquire, release) in [
        ("", ""),
        ("membar.gl;", ""),
        ("", "membar.gl;"),
        ("membar.cta;", "membar.cta;"),
    ] {
        unordered(&volatile(lock(take, acquire, release)), 3, 64);
        // The same without `volatile` is an error.
        let plain = lock(take, acquire, release).replace("HOW", "");
        assert!(
            check(&plain, 3, 64).count(Severity::Error) > 0,
            "{acquire} {release}"
        );
    }
    // A lock of one block's scope.
    let narrow = lock(
        "atom.relaxed.cta.global.cas.b32 %r0, [%at], 0, 1;",
        "membar.gl;",
        "membar.gl;",
    );
    let narrow = narrow.replace("atom.global.exch", "atom.relaxed.cta.global.exch");
    assert!(!check(&volatile(narrow), 3, 64).is_clean());
}

/// Block 0 writes a word and raises a flag, block 1 waits for it.
const FLAG: &str = "setp.ne.u32 %p0, %b, 0; @%p0 bra wait;
    st.volatile.global.u32 [%at+64], 42;
    RELEASE
    RAISE
    ret;
wait: LOOK setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;
    ACQUIRE
    ld.volatile.global.u32 %r1, [%at+64];";

fn flag(raise: &str, look: &str, release: &str, acquire: &str) -> String {
    let text = FLAG.replace("RAISE", raise).replace("LOOK", look);
    text.replace("RELEASE", release).replace("ACQUIRE", acquire)
}

#[test]
fn data_behind_a_flag() {
    let raises = [
        "st.volatile.global.u32 [%at], 1;",
        "atom.global.exch.b32 %r2, [%at], 1;",
    ];
    let looks = [
        "ld.volatile.global.u32 %r0, [%at];",
        "atom.global.or.b32 %r0, [%at], 0;",
        // The address is made anew in every round.
        "add.u64 %w0, %at, 64; sub.u64 %w1, %w0, 64; ld.volatile.global.u32 %r0, [%w1];",
    ];
    for raise in raises {
        for look in looks {
            clean(&flag(raise, look, "membar.gl;", "membar.gl;"), 2, 1);
            for (release, acquire) in [("", ""), ("membar.gl;", ""), ("", "membar.gl;")] {
                let report = unordered(&flag(raise, look, release, acquire), 2, 1);
                // The data, not the flag.
                let [finding] = report.findings.as_slice() else {
                    panic!("{report:#?}");
                };
                assert_eq!(finding.rule, Rule::ReadAfterWrite);
                let address = finding.site.target.expect("an access").address;
                assert_eq!(address % 4096, 64);
            }
        }
    }
}

#[test]
fn code_that_was_not_optimised_waits_too() {
    // The address and what was found lie in local memory.
    let look = "ld.local.u64 %w0, [frame]; ld.volatile.global.u32 %r3, [%w0]; st.local.u32 [frame+8], %r3; ld.local.u32 %r0, [frame+8];";
    let before = ".local .align 8 .b8 frame[16]; st.local.u64 [frame], %at;\n";
    let raise = "st.volatile.global.u32 [%at], 1;";
    let text = |fence| before.to_owned() + &flag(raise, look, fence, fence);
    clean(&text("membar.gl;"), 2, 1);
    unordered(&text(""), 2, 1);
}

#[test]
fn only_a_loop_that_asks_one_place_waits() {
    let reader = |loop_body: &str| {
        format!(
            "setp.ne.u32 %p0, %b, 0; @%p0 bra read;
    st.volatile.global.u32 [%mine], %t;
    ret;
read: mov.u32 %r3, 0; mov.u64 %w0, %at;
again: {loop_body}"
        )
    };
    // A search goes from place to place.
    unordered(
        &reader(
            "ld.volatile.global.u32 %r0, [%w0]; add.u64 %w0, %w0, 4; setp.eq.u32 %p1, %r0, 99; setp.ge.u64 %p2, %w0, 0x10000000080; or.pred %p1, %p1, %p2; @!%p1 bra again;",
        ),
        2,
        32,
    );
    // What is found does not end the loop.
    unordered(
        &reader(
            "ld.volatile.global.u32 %r0, [%w0]; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 4; @%p1 bra again;",
        ),
        2,
        32,
    );
    // There is no loop.
    unordered(&reader("ld.volatile.global.u32 %r0, [%w0];"), 2, 32);
}

#[test]
fn counters_that_are_atomic_here_and_volatile_there() {
    let mixed = |other: &str| format!("red.global.add.u32 [%at], 1; {other}");
    unordered(&mixed("ld.volatile.global.u32 %r0, [%at];"), 2, 1);
    unordered(
        &mixed(
            "ld.volatile.global.u32 %r0, [%at]; add.u32 %r0, %r0, 1; st.volatile.global.u32 [%at], %r0;",
        ),
        2,
        32,
    );
    // A barrier orders them.
    clean(
        "red.global.add.u32 [%at], 1; bar.sync 0; ld.volatile.global.u32 %r0, [%at];",
        1,
        64,
    );
    // A `volatile` write that is ordered before one atomic is not so before another.
    let body = "setp.eq.u32 %p0, %b, 0; setp.eq.u32 %p1, %t, 0; @!%p0 bra other; @%p1 st.volatile.global.u32 [%at], 7; bar.sync 0;
    setp.eq.u32 %p2, %t, 32; @%p2 red.global.add.u32 [%at], 1; bra done;
other: @%p1 red.global.add.u32 [%at], 1;
done:";
    unordered(body, 2, 64);
}

#[test]
fn a_grid_that_waits_for_all_its_blocks() {
    // One thread of each block adds to a counter and waits; what was `volatile` before is ordered
    // after it.
    let body = "mad.wide.u32 %w0, %b, 4, %at; setp.ne.u32 %p0, %t, 0;
    @!%p0 st.volatile.global.u32 [%w0+64], %b;
    bar.sync 0;
    @%p0 bra meet;
    FENCE
    atom.global.add.u32 %r0, [%at], 1;
wait: ld.volatile.global.u32 %r1, [%at]; setp.lt.u32 %p1, %r1, 4; @%p1 bra wait;
    FENCE
meet: bar.sync 0;
    setp.lt.u32 %p2, %t, 4; @%p2 ld.volatile.global.u32 %r2, [%mine+64];";
    clean(&body.replace("FENCE", "membar.gl;"), 4, 64);
    unordered(&body.replace("FENCE", ""), 4, 64);
}

#[test]
fn threads_that_raise_one_flag_write_the_same() {
    let report = check("st.volatile.global.u32 [%at], 1;", 2, 64);
    assert!(report.is_clean());
    assert_eq!(report.count(Severity::Information), 1);
}

#[test]
fn lanes_of_a_warp_that_pass_values_without_a_barrier() {
    let body = ".shared .align 4 .b8 tile[128]; mov.u32 %r0, tile; mad.lo.u32 %r1, %t, 4, %r0; xor.b32 %r2, %t, 1; mad.lo.u32 %r3, %r2, 4, %r0;
    st.volatile.shared.u32 [%r1], %t;
    BARRIER
    ld.volatile.shared.u32 %r4, [%r3];";
    unordered(&body.replace("BARRIER", ""), 1, 32);
    clean(&body.replace("BARRIER", "bar.warp.sync -1;"), 1, 32);
}
