//! Atomics, fences and their scopes between blocks.

use super::{clean, racy, rules};
use ptx_emulator::Rule;

#[test]
fn blocks_race_on_global_memory() {
    let report = racy("st.global.u32 [%mine], %b;", 2, 32);
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    assert_eq!(finding.rule, Rule::WriteAfterWrite);
    assert_eq!((finding.others[0].block[0], finding.site.block[0]), (0, 1));
    assert_eq!(finding.count, 32);
    assert!(
        finding
            .hint
            .as_ref()
            .is_some_and(|hint| hint.contains("second launch"))
    );
    // A block reads what another one writes, in both orders of the blocks.
    for writer in [0, 1] {
        let body = format!(
            "setp.eq.u32 %p0, %b, {writer}; @%p0 st.global.u32 [%mine], 1; @!%p0 ld.global.u32 %r0, [%mine];"
        );
        let expected = [Rule::ReadAfterWrite, Rule::WriteAfterRead][writer];
        assert_eq!(rules(&racy(&body, 2, 32)), [expected]);
    }
    clean(
        "mad.wide.u32 %mine, %b, 128, %mine; st.global.u32 [%mine], %b;",
        4,
        32,
    );
    clean("ld.global.u32 %r0, [%mine];", 4, 64);
}

#[test]
fn warps_race_on_global_memory() {
    let body = "xor.b32 %r0, %t, 32; mad.wide.u32 %w0, %r0, 4, %at; st.global.u32 [%mine], %t;
    BARRIER
    ld.global.u32 %r1, [%w0];";
    racy(&body.replace("BARRIER", ""), 1, 64);
    // A fence alone orders nothing between threads.
    racy(&body.replace("BARRIER", "membar.gl;"), 1, 64);
    clean(&body.replace("BARRIER", "bar.sync 0;"), 1, 64);
}

#[test]
fn atomics_do_not_race_with_each_other() {
    clean(
        "red.global.add.u32 [%at], 1; atom.global.max.u32 %r0, [%at+4], %t;",
        3,
        96,
    );
    clean(
        "st.relaxed.gpu.global.u32 [%at], %t; ld.relaxed.gpu.global.u32 %r0, [%at];",
        3,
        64,
    );
    // With plain accesses they do.
    assert_eq!(
        rules(&racy(
            "red.global.add.u32 [%at], 1; ld.global.u32 %r0, [%at];",
            2,
            32
        )),
        [Rule::ReadAfterWrite, Rule::WriteAfterRead]
    );
    racy(
        "setp.eq.u32 %p0, %t, 0; @%p0 st.global.u32 [%at], 0; red.global.add.u32 [%at], 1;",
        2,
        32,
    );
    // What a barrier orders before the atomics of its own block is not ordered before those of
    // another one.
    let body = "setp.eq.u32 %p0, %b, 0; setp.eq.u32 %p1, %t, 0; and.pred %p0, %p0, %p1; @%p0 st.global.u32 [%at], 7;
    bar.sync 0;
    red.global.add.u32 [%at], 1;";
    racy(body, 2, 64);
    clean(body, 1, 64);
    // Of another size they touch only a part of each other.
    racy(
        "setp.eq.u32 %p0, %b, 0; @%p0 red.global.add.u64 [%at], 1; @!%p0 red.global.add.u32 [%at], 1;",
        2,
        32,
    );
}

#[test]
fn a_compare_and_swap_that_finds_something_else_is_a_read() {
    for order in [0, 1] {
        let body = |expected: &str| {
            format!(
                "setp.eq.u32 %p0, %b, {order}; @%p0 ld.global.u32 %r0, [%at]; mov.u32 %r1, {expected};
                @!%p0 atom.global.cas.b32 %r2, [%at], %r1, 77; setp.eq.u32 %p1, %r0, 1;"
            )
        };
        clean(&body("0xdeadbeef"), 2, 32);
    }
    // One that swaps is a write.
    racy(
        "setp.eq.u32 %p0, %b, 0; @%p0 ld.global.u32 %r0, [%at]; mov.u32 %r1, 0;
        @!%p0 atom.global.cas.b32 %r2, [%at], %r1, 77;",
        2,
        32,
    );
}

#[test]
fn the_scope_of_an_atomic_must_hold_both() {
    clean("red.relaxed.cta.global.add.u32 [%at], 1;", 1, 96);
    let report = racy("red.relaxed.cta.global.add.u32 [%at], 1;", 2, 32);
    let hint = report.findings[0].hint.as_deref().expect("it has one");
    assert!(hint.contains(".cta") && hint.contains(".gpu"), "{hint}");
}

#[test]
fn a_histogram_in_shared_memory() {
    let body = "and.b32 %r0, %t, 7; mad.lo.u32 %r1, %r0, 4, %tile; atom.shared.add.u32 %r2, [%r1], 1;
    BARRIER
    setp.lt.u32 %p0, %t, 8; mad.lo.u32 %r3, %t, 4, %tile; @%p0 ld.shared.u32 %r4, [%r3]; @%p0 red.global.add.u32 [%mine], %r4;";
    clean(&body.replace("BARRIER", "bar.sync 0;"), 4, 128);
    assert_eq!(
        rules(&racy(&body.replace("BARRIER", ""), 4, 128)),
        [Rule::ReadAfterWrite, Rule::WriteAfterRead]
    );
}

#[test]
fn a_compare_and_swap_loop() {
    clean(
        "ld.relaxed.gpu.global.u32 %r0, [%at];
again: add.u32 %r1, %r0, 3; atom.global.cas.b32 %r2, [%at], %r0, %r1;
    setp.ne.u32 %p0, %r2, %r0; mov.u32 %r0, %r2; @%p0 bra again;",
        3,
        64,
    );
}

#[test]
fn atomics_of_whole_warps() {
    // One lane adds for its warp and hands the old value to the others.
    clean(
        "setp.eq.u32 %p0, %lane, 0; mov.u32 %r1, 0; @%p0 atom.global.add.u32 %r1, [%at], 32;
    shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff; add.u32 %r3, %r2, %lane;
    mad.wide.u32 %w0, %r3, 4, %at; st.global.u32 [%w0+256], %t;",
        3,
        96,
    );
}

/// Every block leaves a sum; the last one to finish reads them all.
const LAST_BLOCK: &str = "setp.eq.u32 %p0, %t, 0; mad.wide.u32 %w0, %b, 4, %at; mov.u32 %r1, 0;
    BEFORE
    @%p0 st.global.u32 [%w0+64], %b;
    FENCE
    @%p0 atom.global.inc.u32 %r1, [%at], 1000;
    @%p0 st.shared.u32 [tile], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [tile]; mov.u32 %r3, %nctaid.x; sub.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r2, %r3;
    @%p1 bra done;
    AFTER
    setp.ge.u32 %p2, %t, %r3; @!%p2 ld.global.u32 %r4, [%mine+64];
done:";

fn last_block(before: &str, fence: &str, after: &str) -> String {
    let text = LAST_BLOCK.replace("BEFORE", before);
    text.replace("FENCE", fence).replace("AFTER", after)
}

#[test]
fn the_last_block_reads_what_the_others_left() {
    for after in ["", "membar.gl;"] {
        clean(&last_block("", "membar.gl;", after), 8, 64);
        clean(
            &last_block("bar.sync 0;", "fence.acq_rel.gpu;", after),
            8,
            64,
        );
        clean(&last_block("", "membar.gl; bar.sync 0;", after), 8, 64);
    }
    let report = racy(&last_block("", "", ""), 8, 64);
    assert_eq!(rules(&report), [Rule::ReadAfterWrite]);
    // A fence for the block does not reach the others.
    racy(&last_block("", "membar.cta;", "membar.gl;"), 8, 64);
}

#[test]
fn the_last_block_when_every_thread_leaves_something() {
    let body = "mov.u32 %r5, %ntid.x; mad.lo.u32 %r6, %b, %r5, %t; mad.wide.u32 %w1, %r6, 4, %at; st.global.u32 [%w1+64], %t;
    FENCE
    bar.sync 0;
    setp.eq.u32 %p0, %t, 0; mov.u32 %r1, 0; @%p0 atom.global.inc.u32 %r1, [%at], 1000; @%p0 st.shared.u32 [tile], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [tile]; setp.ne.u32 %p1, %r2, 3; @%p1 bra done;
    membar.gl;
    ld.global.u32 %r4, [%mine+64]; ld.global.u32 %r4, [%mine+192]; ld.global.u32 %r4, [%mine+448];
done:";
    clean(&body.replace("FENCE", "membar.gl;"), 4, 64);
    racy(&body.replace("FENCE", ""), 4, 64);
    // Only thread 0 has a fence: what the others wrote is not before it.
    racy(
        &body.replace("FENCE", "setp.eq.u32 %p0, %t, 0; @%p0 membar.gl;"),
        4,
        64,
    );
}
