//! The mistakes of scoped synchronisation: each is found without options, and its twin, which
//! differs in one word or one fence, is clean.

use crate::common::{races, shape};
use ptx_emulator::{CheckReport, Severity};

/// A mistake: the program with `HERE` in place of what is wrong or right.
struct Case {
    name: &'static str,
    grid: u32,
    threads: u32,
    body: &'static str,
    wrong: &'static str,
    right: &'static str,
}

/// The buffer is in `%at`, the thread in `%t`, the block in `%b`; the thread's own word is at
/// `%mine`.
fn check(case: &Case, here: &str) -> CheckReport {
    let text = format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %mine, %w<8>; .reg .b32 %t, %b, %r<16>; .reg .pred %p<8>; .shared .align 8 .b8 s[256];
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.wide.u32 %mine, %t, 4, %at;
{}
done:
    ret;
}}",
        case.body.replace("HERE", here)
    );
    races(&text, shape(case.grid, case.threads, 0))
}

#[test]
fn mistakes_are_found_and_their_twins_are_clean() {
    let mut missed = Vec::new();
    for case in CASES {
        let wrong = check(case, case.wrong);
        if wrong.count(Severity::Error) + wrong.count(Severity::Warning) == 0 {
            missed.push(case.name);
        }
        let right = check(case, case.right);
        assert!(right.is_clean(), "{}: {:#?}", case.name, right.findings);
    }
    assert!(missed.is_empty(), "{missed:?} of {}", CASES.len());
}

const CASES: &[Case] = &[
    Case {
        name: "a lock that is taken for one block only",
        grid: 2,
        threads: 1,
        body: "try: atom.relaxed.HERE.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            membar.gl; ld.volatile.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%at+4], %r1;
            membar.gl; atom.relaxed.HERE.global.exch.b32 %r2, [%at], 0;",
        wrong: "cta",
        right: "gpu",
    },
    Case {
        name: "a lock that is released without a fence",
        grid: 3,
        threads: 1,
        body: "try: atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            membar.gl; ld.volatile.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%at+4], %r1;
            HERE atom.global.exch.b32 %r2, [%at], 0;",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "a lock that is taken without a fence",
        grid: 3,
        threads: 1,
        body: "try: atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            HERE ld.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.global.u32 [%at+4], %r1;
            membar.gl; atom.global.exch.b32 %r2, [%at], 0;",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "a lock with a fence of the block",
        grid: 2,
        threads: 1,
        body: "try: atom.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            fence.acq_rel.HERE; ld.volatile.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%at+4], %r1;
            fence.acq_rel.HERE; atom.global.exch.b32 %r2, [%at], 0;",
        wrong: "cta",
        right: "gpu",
    },
    Case {
        name: "a lock that a plain store releases",
        grid: 2,
        threads: 1,
        body: "try: atom.acquire.gpu.global.cas.b32 %r0, [%at], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            ld.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.global.u32 [%at+4], %r1;
            stHERE.global.u32 [%at], 0;",
        wrong: "",
        right: ".release.gpu",
    },
    Case {
        name: "two locks for one datum",
        grid: 2,
        threads: 1,
        body: "HERE
            try: atom.acquire.gpu.global.cas.b32 %r0, [%w0], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
            ld.volatile.global.u32 %r1, [%at+64]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%at+64], %r1;
            atom.release.gpu.global.exch.b32 %r2, [%w0], 0;",
        wrong: "mad.wide.u32 %w0, %b, 4, %at;",
        right: "mov.u64 %w0, %at;",
    },
    Case {
        name: "a flag raised without a fence",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra wait;
            st.volatile.global.u32 [%at+64], 42; HERE st.volatile.global.u32 [%at], 1; bra done;
            wait: ld.volatile.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;
            membar.gl; ld.volatile.global.u32 %r1, [%at+64];",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "a flag seen without a fence",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra wait;
            st.global.u32 [%at+64], 42; membar.gl; st.volatile.global.u32 [%at], 1; bra done;
            wait: ld.volatile.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;
            HERE ld.global.u32 %r1, [%at+64];",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "release and acquire of one block between two",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra wait;
            st.global.u32 [%at+64], 42; st.release.HERE.global.u32 [%at], 1; bra done;
            wait: ld.acquire.HERE.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra wait;
            ld.global.u32 %r1, [%at+64];",
        wrong: "cta",
        right: "gpu",
    },
    Case {
        name: "a flag that is read once",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra look;
            st.volatile.global.u32 [%at+64], 42; membar.gl; st.volatile.global.u32 [%at], 1; bra done;
            look: ld.volatile.global.u32 %r0, [%at]; setp.eq.u32 %p1, %r0, 0; @%p1 bra HERE;
            membar.gl; ld.volatile.global.u32 %r1, [%at+64]; bra done;
            on: ld.volatile.global.u32 %r1, [%at+64];",
        wrong: "on",
        right: "look",
    },
    Case {
        name: "a counter of one block that two blocks add to",
        grid: 2,
        threads: 32,
        body: "atom.relaxed.HERE.global.add.u32 %r0, [%at], 1;",
        wrong: "cta",
        right: "gpu",
    },
    Case {
        name: "a counter that is added to and stored",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra other;
            red.global.add.u32 [%at], 1; bra done;
            other: HERE",
        wrong: "st.volatile.global.u32 [%at], 7;",
        right: "atom.global.exch.b32 %r0, [%at], 7;",
    },
    Case {
        name: "a counter that is added to and read",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra other;
            red.global.add.u32 [%at], 1; bra done;
            other: ldHERE.global.u32 %r0, [%at];",
        wrong: "",
        right: ".relaxed.gpu",
    },
    Case {
        name: "partial sums that the last block reads without a fence",
        grid: 4,
        threads: 1,
        body: "mad.wide.u32 %w0, %b, 4, %at; st.volatile.global.u32 [%w0+64], %b; HERE
            atom.global.inc.u32 %r0, [%at], 3; setp.ne.u32 %p0, %r0, 3; @%p0 bra done;
            HERE ld.volatile.global.u32 %r1, [%at+64]; ld.volatile.global.u32 %r2, [%at+68]; ld.volatile.global.u32 %r3, [%at+72];",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "partial sums of warps that are read without a barrier",
        grid: 1,
        threads: 64,
        body: "mov.u32 %r0, s; shr.u32 %r1, %t, 5; mad.lo.u32 %r1, %r1, 4, %r0; and.b32 %r2, %t, 31; setp.ne.u32 %p0, %r2, 0;
            @!%p0 st.volatile.shared.u32 [%r1], %t; HERE setp.ne.u32 %p1, %t, 0; @%p1 bra done; ld.volatile.shared.u32 %r3, [%r0+4];",
        wrong: "",
        right: "bar.sync 0;",
    },
    Case {
        name: "an item that is stolen before it is whole",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra thief;
            st.volatile.global.u32 [%at+64], 5; HERE atom.global.add.u32 %r0, [%at], 1; bra done;
            thief: atom.global.cas.b32 %r0, [%at], 1, 0; setp.ne.u32 %p1, %r0, 1; @%p1 bra thief;
            HERE ld.volatile.global.u32 %r1, [%at+64];",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "a queue's head that thieves of other blocks move for their own",
        grid: 4,
        threads: 1,
        body: "atom.acq_rel.HERE.global.add.u32 %r0, [%at], 1; mad.wide.u32 %w0, %r0, 4, %at; ld.global.u32 %r1, [%w0+64];
            add.u32 %r1, %r1, 1; st.global.u32 [%w0+64], %r1;",
        wrong: "cta",
        right: "gpu",
    },
    Case {
        name: "a queue's tail that its owner moves with a plain store",
        grid: 2,
        threads: 1,
        body: "setp.ne.u32 %p0, %b, 0; @%p0 bra thief;
            st.global.u32 [%at+64], 5; membar.gl; HERE bra done;
            thief: ld.volatile.global.u32 %r0, [%at]; setp.ne.u32 %p1, %r0, 1; @%p1 bra thief;
            membar.gl; ld.global.u32 %r1, [%at+64];",
        wrong: "st.global.u32 [%at], 1;",
        right: "st.volatile.global.u32 [%at], 1;",
    },
    Case {
        name: "a barrier of the grid without fences",
        grid: 3,
        threads: 32,
        body: "mad.wide.u32 %w0, %b, 4, %at; setp.ne.u32 %p0, %t, 0; @!%p0 st.volatile.global.u32 [%w0+64], %b;
            bar.sync 0; @%p0 bra meet; HERE atom.global.add.u32 %r0, [%at], 1;
            wait: ld.volatile.global.u32 %r1, [%at]; setp.lt.u32 %p1, %r1, 3; @%p1 bra wait; HERE
            meet: bar.sync 0; setp.lt.u32 %p2, %t, 3; @%p2 ld.volatile.global.u32 %r2, [%mine+64];",
        wrong: "",
        right: "membar.gl;",
    },
    Case {
        name: "a flag between the warps of a block",
        grid: 1,
        threads: 64,
        body: "and.b32 %r5, %t, 31; setp.ne.u32 %p0, %r5, 0; @%p0 bra done; mov.u32 %r0, s; bra HERE;
            fence: setp.ne.u32 %p1, %t, 0; @%p1 bra wait;
            st.shared.u32 [%r0], 42; membar.cta; atom.shared.exch.b32 %r3, [%r0+64], 1; bra done;
            wait: atom.shared.or.b32 %r1, [%r0+64], 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra wait; membar.cta; ld.shared.u32 %r2, [%r0]; bra done;
            none: setp.ne.u32 %p1, %t, 0; @%p1 bra look;
            st.shared.u32 [%r0], 42; atom.shared.exch.b32 %r3, [%r0+64], 1; bra done;
            look: atom.shared.or.b32 %r1, [%r0+64], 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra look; ld.shared.u32 %r2, [%r0];",
        wrong: "none",
        right: "fence",
    },
];
