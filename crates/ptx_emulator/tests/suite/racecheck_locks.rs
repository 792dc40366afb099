//! Locks that do not protect: each kind of mistake is found in the emulator's own order of threads,
//! whichever of the two sides comes first, and its twin is clean.

use crate::common::{races_in, shape};
use ptx_emulator::{CheckReport, Severity};

/// What the two sides are.
#[derive(Clone, Copy, Debug)]
enum Between {
    Blocks,
    Warps,
}
use Between::{Blocks, Warps};

/// One side takes the lock as `take` says, then `acquire`, then the access, then `release`, then
/// opens it as `open` says. `TRY` is a label of the side's own.
#[derive(Clone, Copy)]
struct Side<'a> {
    take: &'a str,
    acquire: &'a str,
    access: &'a str,
    release: &'a str,
    open: &'a str,
}

const CAS: &str =
    "TRY: atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra TRY;";
const BLOCK_CAS: &str =
    "TRY: atom.cta.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra TRY;";
const EXCH: &str =
    "TRY: atom.global.exch.b32 %r0, [%at], 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra TRY;";
const OPEN: &str = "atom.global.exch.b32 %r2, [%at], 0;";
const BLOCK_OPEN: &str = "atom.cta.global.exch.b32 %r2, [%at], 0;";
const FENCE: &str = "membar.gl;";
const BLOCK_FENCE: &str = "membar.cta;";
const WRITE: &str = "st.volatile.global.u32 [%at+64], %g;";
const ADD: &str = "ld.global.u32 %r1, [%at+64]; add.u32 %r1, %r1, 1; st.global.u32 [%at+64], %r1;";

const RIGHT: Side<'_> = Side {
    take: CAS,
    acquire: FENCE,
    access: WRITE,
    release: FENCE,
    open: OPEN,
};
const RIGHT_IN_BLOCK: Side<'_> = Side {
    take: BLOCK_CAS,
    acquire: BLOCK_FENCE,
    access: WRITE,
    release: BLOCK_FENCE,
    open: BLOCK_OPEN,
};

impl Side<'_> {
    fn text(&self) -> String {
        [
            self.take,
            self.acquire,
            self.access,
            self.release,
            self.open,
        ]
        .join("\n    ")
    }
}

/// The two sides as a kernel, in the order in which they run.
fn check(between: Between, sides: [&str; 2]) -> CheckReport {
    check_orders(between, sides, 0)
}

/// The same, and in that many other orders.
fn check_orders(between: Between, [first, second]: [&str; 2], schedules: u32) -> CheckReport {
    let [first, second] =
        [(first, "try0"), (second, "try1")].map(|(side, label)| side.replace("TRY", label));
    let (choice, config) = match between {
        Blocks => ("setp.ne.u32 %p0, %b, 0;", shape(2, 1, 0)),
        Warps => ("setp.ge.u32 %p0, %t, 32;", shape(1, 33, 0)),
    };
    let text = format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %w<8>; .reg .b32 %t, %b, %g, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %g, %b, 8, %t; add.u32 %g, %g, 5;
    setp.ne.u32 %p7, %t, 0; setp.ne.u32 %p6, %t, 32; and.pred %p7, %p7, %p6; @%p7 bra done;
    {choice} @%p0 bra other;
    {first}
    bra done;
other:
    {second}
done:
    ret;
}}"
    );
    races_in(&text, config, schedules)
}

fn is_seen(report: &CheckReport) -> bool {
    report.count(Severity::Error) + report.count(Severity::Warning) > 0
}

/// Both orders find it.
#[track_caller]
fn racy(name: &str, between: Between, sides: [&str; 2]) {
    for order in [sides, [sides[1], sides[0]]] {
        let report = check(between, order);
        assert!(is_seen(&report), "{name}: {order:#?}");
    }
}

/// The order in which the mistake comes first does.
#[track_caller]
fn racy_at_first(name: &str, between: Between, sides: [&str; 2]) {
    assert!(is_seen(&check(between, sides)), "{name}: {sides:#?}");
}

/// Neither order does.
#[track_caller]
fn clean(name: &str, between: Between, sides: [&str; 2]) {
    for order in [sides, [sides[1], sides[0]]] {
        let report = check(between, order);
        assert!(
            !is_seen(&report),
            "{name}: {order:#?} {:#?}",
            report.findings
        );
    }
}

/// A mistake of one side beside a side that is right, then two that are.
#[track_caller]
fn one_side(name: &str, between: Between, wrong: Side<'_>, right: Side<'_>) {
    let [wrong, right] = [wrong.text(), right.text()];
    racy(name, between, [&wrong, &right]);
    clean(name, between, [&right, &right]);
}

#[test]
fn a_lock_that_one_side_takes_without_acquire() {
    for take in [CAS, EXCH] {
        let right = Side { take, ..RIGHT };
        for access in [WRITE, ADD] {
            let right = Side { access, ..right };
            for acquire in [
                "",
                BLOCK_FENCE,
                "fence.acq_rel.cta;",
                "fence.acq_rel.cluster;",
            ] {
                one_side("blocks", Blocks, Side { acquire, ..right }, right);
            }
            one_side(
                "warps",
                Warps,
                Side {
                    acquire: "",
                    ..right
                },
                right,
            );
            // Between warps the fence of the block is enough.
            let narrow = Side {
                acquire: BLOCK_FENCE,
                ..right
            };
            clean("warps", Warps, [&narrow.text(), &right.text()]);
        }
    }
    let right = RIGHT_IN_BLOCK;
    one_side(
        "of the block",
        Warps,
        Side {
            acquire: "",
            ..right
        },
        right,
    );
    // One side for the device, one for the block.
    let wrong = Side {
        acquire: "",
        ..RIGHT
    };
    racy("mixed", Warps, [&wrong.text(), &right.text()]);
    clean("mixed", Warps, [&RIGHT.text(), &right.text()]);
}

#[test]
fn a_lock_whose_own_order_or_scope_is_too_weak() {
    let take = |order: &str| CAS.replace("atom.", &format!("atom.{order}."));
    let open = |order: &str| OPEN.replace("atom.", &format!("atom.{order}."));
    let [acquire, release] = [take("acquire.gpu"), open("release.gpu")];
    let right = Side {
        take: &acquire,
        acquire: "",
        release: "",
        open: &release,
        access: ADD,
    };
    for order in ["relaxed.gpu", "acquire.cta", "release.gpu", "acq_rel.cta"] {
        let take = take(order);
        one_side(
            order,
            Blocks,
            Side {
                take: &take,
                ..right
            },
            right,
        );
    }
    for order in ["relaxed.gpu", "release.cta", "acquire.gpu"] {
        let open = open(order);
        let wrong = Side {
            open: &open,
            ..right
        };
        racy_at_first(order, Blocks, [&wrong.text(), &right.text()]);
    }
    let wrong = Side {
        open: "st.global.u32 [%at], 0;",
        ..right
    };
    racy_at_first("plain", Blocks, [&wrong.text(), &right.text()]);
    let stored = "st.release.gpu.global.u32 [%at], 0;";
    clean(
        "stored",
        Blocks,
        [
            &Side {
                open: stored,
                ..right
            }
            .text(),
            &right.text(),
        ],
    );
    let wrong = Side {
        open: stored,
        take: CAS,
        ..right
    };
    one_side(
        "stored",
        Blocks,
        wrong,
        Side {
            open: stored,
            ..right
        },
    );
}

#[test]
fn a_lock_that_one_side_opens_without_release_or_does_not_take() {
    for between in [Blocks, Warps] {
        let wrong = Side {
            release: "",
            ..RIGHT
        };
        racy_at_first("no release", between, [&wrong.text(), &RIGHT.text()]);
        racy("no release", between, [&wrong.text(), &wrong.text()]);
        racy("no lock", between, [&RIGHT.text(), WRITE]);
        racy("no lock", between, [&RIGHT.text(), ADD]);
        let late = format!("{}\n{WRITE}", RIGHT.text());
        racy_at_first("after the lock", between, [&late, &RIGHT.text()]);
        let early = Side { open: "", ..RIGHT }.text() + OPEN + WRITE;
        racy_at_first("opened too early", between, [&early, &RIGHT.text()]);
        racy(
            "an atomic",
            between,
            ["atom.global.exch.b32 %r0, [%at+64], 1;", WRITE],
        );
        racy(
            "an atomic",
            between,
            ["atom.cta.global.exch.b32 %r0, [%at+64], 1;", WRITE],
        );
    }
    let block = RIGHT_IN_BLOCK.text();
    racy("of the block", Blocks, [&block, &block]);
    racy("of the block", Blocks, [&block, &RIGHT.text()]);
    clean("of the block", Warps, [&block, &block]);
    let half = Side {
        release: BLOCK_FENCE,
        ..RIGHT
    };
    racy_at_first("half a release", Blocks, [&half.text(), &RIGHT.text()]);
    let atomic = "atom.cta.global.exch.b32 %r0, [%at], 1;";
    racy("atomics", Blocks, [atomic, atomic]);
    clean("atomics", Warps, [atomic, atomic]);
    // A lock of its own for each side.
    let other = RIGHT.text().replace("[%at]", "[%at+4]");
    racy("two locks", Blocks, [&RIGHT.text(), &other]);
}

#[test]
fn a_lock_that_may_not_be_taken() {
    let tried = "atom.global.cas.b32 %r0, [%at], 0, 1;";
    // No thread reads whether it was taken.
    one_side(
        "unread",
        Blocks,
        Side {
            take: tried,
            ..RIGHT
        },
        RIGHT,
    );
    let both = Side {
        take: tried,
        ..RIGHT
    }
    .text();
    racy("unread", Blocks, [&both, &both]);
    // Who fails goes on all the same, and only leaves the lock alone.
    let goes_on = |access: &str| {
        format!("{tried} setp.ne.u32 %p1, %r0, 0; {FENCE} {access} {FENCE} @%p1 bra done; {OPEN}")
    };
    racy("goes on", Blocks, [&goes_on(WRITE), &RIGHT.text()]);
    let skips =
        format!("{tried} setp.ne.u32 %p1, %r0, 0; @%p1 bra on; {FENCE} on: {WRITE} {FENCE} {OPEN}");
    racy("skips", Blocks, [&skips, &RIGHT.text()]);
    // Who fails leaves.
    let leaves =
        format!("{tried} setp.ne.u32 %p1, %r0, 0; @%p1 bra done; {FENCE} {WRITE} {FENCE} {OPEN}");
    clean("leaves", Blocks, [&leaves, &RIGHT.text()]);
    let guarded = format!(
        "{tried} setp.eq.u32 %p1, %r0, 0; {FENCE} @%p1 st.volatile.global.u32 [%at+64], %g; {FENCE} @%p1 {OPEN}"
    );
    clean("guarded", Blocks, [&guarded, &RIGHT.text()]);
}

#[test]
fn a_bit_of_a_word_as_a_lock() {
    let take = "TRY: atom.global.or.b32 %r0, [%at], 4; and.b32 %r3, %r0, 4; setp.ne.u32 %p1, %r3, 0; @%p1 bra TRY;";
    let open = "atom.global.and.b32 %r2, [%at], 0xfffffffb;";
    let right = Side {
        take,
        open,
        ..RIGHT
    };
    one_side(
        "bit",
        Blocks,
        Side {
            acquire: "",
            ..right
        },
        right,
    );
}

#[test]
fn what_is_no_lock_orders_as_before() {
    // The second to come needs what the first did before it came.
    let meet = format!(
        "st.global.u32 [%w1+64], %g; {FENCE} atom.global.cas.b32 %r0, [%at], 0, 1; setp.eq.u32 %p1, %r0, 0; @%p1 bra done;
    {FENCE} ld.global.u32 %r1, [%at+64]; ld.global.u32 %r1, [%at+68];"
    );
    let meet = format!("mad.wide.u32 %w1, %b, 4, %at; {meet}");
    clean("meet", Blocks, [&meet, &meet]);
    // A slot that is claimed without acquire, filled, and then declared full.
    let fill = format!(
        "atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra done;
    {WRITE} {FENCE} atom.global.exch.b32 %r2, [%at], 2;"
    );
    let take = format!(
        "TRY: atom.global.cas.b32 %r0, [%at], 2, 3; setp.ne.u32 %p1, %r0, 2; @%p1 bra TRY; {FENCE} ld.volatile.global.u32 %r1, [%at+64];"
    );
    clean("slot", Blocks, [&fill, &take]);
    // A flag that a compare-and-swap only reads.
    let look = format!(
        "TRY: atom.global.cas.b32 %r0, [%at], 0, 0; setp.eq.u32 %p1, %r0, 0; @%p1 bra TRY; {FENCE} ld.global.u32 %r1, [%at+64];"
    );
    let raise = format!(
        "st.global.u32 [%at+64], 7; {FENCE} {}",
        OPEN.replace("], 0", "], 1")
    );
    clean("flag", Blocks, [&raise, &look]);
    racy("flag", Blocks, [&raise.replace(FENCE, ""), &look]);
    racy("flag", Blocks, [&raise, &look.replace(FENCE, "")]);
    // A counter that a compare-and-swap adds to, twice, after what it counts.
    let add = |label: &str| {
        format!(
            "{WRITE} {FENCE} {label}: ld.relaxed.gpu.global.u32 %r3, [%at]; add.u32 %r4, %r3, 1;
    atom.global.cas.b32 %r0, [%at], %r3, %r4; setp.ne.u32 %p1, %r0, %r3; @%p1 bra {label};"
        )
    };
    let count = [add("TRY_a"), add("TRY_b"), add("TRY_c")].join("\n    ");
    let wait = format!(
        "TRY: ld.volatile.global.u32 %r0, [%at]; setp.lt.u32 %p1, %r0, 3; @%p1 bra TRY; {FENCE} ld.global.u32 %r1, [%at+64];"
    );
    clean("counter", Blocks, [&count, &wait]);
    // A count of those at work, and one who waits until there are none.
    let work = format!(
        "atom.global.add.u32 %r0, [%at], 1; {WRITE} {FENCE} atom.global.add.u32 %r0, [%at], -1; atom.global.add.u32 %r0, [%at+4], 1;"
    );
    let wait = "TRY: ld.acquire.gpu.global.u32 %r0, [%at+4]; setp.eq.u32 %p1, %r0, 0; @%p1 bra TRY;
    ld.acquire.gpu.global.u32 %r0, [%at]; setp.ne.u32 %p1, %r0, 0; @%p1 bra done; ld.volatile.global.u32 %r1, [%at+64];";
    clean("work", Blocks, [&work, wait]);
}

/// Locks that let two in: nothing is wrong in an order in which the second comes when the first has
/// left.
#[test]
fn what_two_do_at_once_is_seen_in_eight_other_orders() {
    let two = format!(
        "TRY: atom.acquire.gpu.global.add.u32 %r5, [%at], 1; setp.le.u32 %p1, %r5, 1; @%p1 bra TRY_in;
    atom.relaxed.gpu.global.add.u32 %r6, [%at], -1; bra TRY;
TRY_in: {ADD} atom.release.gpu.global.add.u32 %r6, [%at], -1;"
    );
    let reader = format!(
        "TRY: atom.acquire.gpu.global.add.u32 %r5, [%at], 2; and.b32 %r6, %r5, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra TRY_in;
    atom.relaxed.gpu.global.add.u32 %r6, [%at], -2; bra TRY;
TRY_in: {ADD} atom.release.gpu.global.add.u32 %r6, [%at], -2;"
    );
    let once = "atom.acquire.gpu.global.cas.b32 %r5, [%at], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TRY;
    st.global.u32 [%at+64], 7; st.release.gpu.global.u32 [%at], 2;
TRY: ld.relaxed.gpu.global.u32 %r6, [%at]; setp.ne.u32 %p1, %r6, 2; @%p1 bra TRY; ld.global.u32 %r1, [%at+64];";
    let one = two.replace("setp.le.u32 %p1, %r5, 1", "setp.eq.u32 %p1, %r5, 0");
    let waits = once.replace("ld.relaxed", "ld.acquire");
    for (name, side, seen) in [
        ("a semaphore of two", &*two, true),
        ("a reader that writes", &reader, true),
        ("once, without acquire", once, true),
        ("a semaphore of one", &one, false),
        ("once", &waits, false),
    ] {
        let report = check_orders(Blocks, [side, side], 8);
        assert_eq!(is_seen(&report), seen, "{name}: {:#?}", report.findings);
    }
}
