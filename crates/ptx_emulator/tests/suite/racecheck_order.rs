//! What orders accesses beside barriers of the block: barriers of some threads, fences, atomics and
//! their scopes.

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

/// Each thread adds one to a plain counter behind a lock.
fn lock(take: &str, give: &str) -> String {
    format!(
        "
try: {take} setp.ne.u32 %p0, %r0, 0; @%p0 bra try;
    ACQUIRE
    ld.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.global.u32 [%at+4], %r1;
    RELEASE
    {give}"
    )
}

#[test]
fn a_lock_of_acquire_and_release() {
    let take = "atom.acquire.gpu.global.cas.b32 %r0, [%at], 0, 1;";
    let plain = |text: String| text.replace("ACQUIRE", "").replace("RELEASE", "");
    clean(
        &plain(lock(take, "st.release.gpu.global.u32 [%at], 0;")),
        3,
        64,
    );
    clean(
        &plain(lock(
            take,
            "atom.release.gpu.global.exch.b32 %r2, [%at], 0;",
        )),
        3,
        64,
    );
    racy(
        &plain(lock(
            take,
            "atom.relaxed.gpu.global.exch.b32 %r2, [%at], 0;",
        )),
        3,
        64,
    );
    racy(
        &plain(lock(
            &take.replace("acquire", "relaxed"),
            "st.release.gpu.global.u32 [%at], 0;",
        )),
        3,
        64,
    );
    // The scope of the block is enough for one block only.
    let narrow = plain(lock(
        &take.replace("gpu", "cta"),
        "st.release.cta.global.u32 [%at], 0;",
    ));
    clean(&narrow, 1, 64);
    racy(&narrow, 2, 32);
}

#[test]
fn a_lock_of_atomics_and_fences() {
    let text = lock(
        "atom.global.cas.b32 %r0, [%at], 0, 1;",
        "atom.global.exch.b32 %r2, [%at], 0;",
    );
    let fences =
        |acquire: &str, release: &str| text.replace("ACQUIRE", acquire).replace("RELEASE", release);
    clean(&fences("membar.gl;", "membar.gl;"), 3, 32);
    racy(&fences("", "membar.gl;"), 3, 32);
    racy(&fences("membar.gl;", ""), 3, 32);
}

#[test]
fn a_flag_between_blocks() {
    // Block 0 writes and raises the flag, block 1 waits for it.
    let body = "setp.ne.u32 %p0, %b, 0; @%p0 bra consumer;
    st.global.u32 [%mine+64], %t;
    bar.sync 0;
    setp.eq.u32 %p1, %t, 0; @%p1 RAISE
    ret;
consumer: setp.ne.u32 %p1, %t, 0; @%p1 bra meet;
spin: LOOK setp.eq.u32 %p2, %r0, 0; @%p2 bra spin;
    AFTER
meet: bar.sync 0;
    ld.global.u32 %r1, [%mine+64];";
    let text = |raise: &str, look: &str, after: &str| {
        body.replace("RAISE", raise)
            .replace("LOOK", look)
            .replace("AFTER", after)
    };
    let acquire = "ld.acquire.gpu.global.u32 %r0, [%at];";
    clean(
        &text("st.release.gpu.global.u32 [%at], 1;", acquire, ""),
        2,
        64,
    );
    clean(
        &text(
            "st.release.gpu.global.u32 [%at], 1;",
            "ld.volatile.global.u32 %r0, [%at];",
            "membar.gl;",
        ),
        2,
        64,
    );
    clean(
        &text(
            "membar.gl; @%p1 st.volatile.global.u32 [%at], 1;",
            acquire,
            "",
        ),
        2,
        64,
    );
    // A thread that releases goes on to tell that with what it writes there later.
    clean(
        &text(
            "st.release.gpu.global.u32 [%at], 0; @%p1 st.relaxed.gpu.global.u32 [%at], 1;",
            acquire,
            "",
        ),
        2,
        64,
    );
    // Whoever finds the flag raised may look at it once more, and acquire then.
    clean(
        &text(
            "st.release.gpu.global.u32 [%at], 1;",
            "ld.relaxed.gpu.global.u32 %r0, [%at];",
            acquire,
        ),
        2,
        64,
    );
    for (raise, look) in [
        (
            "st.release.gpu.global.u32 [%at+8], 0; @%p1 st.relaxed.gpu.global.u32 [%at], 1;",
            acquire,
        ),
        (
            "st.release.cta.global.u32 [%at], 0; @%p1 st.relaxed.gpu.global.u32 [%at], 1;",
            acquire,
        ),
        ("st.relaxed.gpu.global.u32 [%at], 1;", acquire),
        (
            "st.release.gpu.global.u32 [%at], 1;",
            "ld.relaxed.gpu.global.u32 %r0, [%at];",
        ),
        (
            "st.release.cta.global.u32 [%at], 1;",
            "ld.acquire.cta.global.u32 %r0, [%at];",
        ),
    ] {
        racy(&text(raise, look, ""), 2, 64);
    }
}

/// A loop that looks at one word for long finds what is written there in the end.
#[test]
fn a_plain_write_to_a_flag_races_with_who_waits_for_it() {
    let body = "setp.ne.u32 %p0, %b, 0; @%p0 bra wait;
    mov.u32 %r1, 0;
work: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20000; @%p1 bra work;
    RAISE
    ret;
wait: ld.relaxed.gpu.global.u32 %r0, [%at]; setp.eq.u32 %p2, %r0, 0; @%p2 bra wait;";
    let report = racy(&body.replace("RAISE", "st.global.u32 [%at], 1;"), 2, 1);
    let both = [Rule::ReadAfterWrite, Rule::WriteAfterRead];
    assert_eq!(rules(&report), both);
    clean(
        &body.replace("RAISE", "st.relaxed.gpu.global.u32 [%at], 1;"),
        2,
        1,
    );
}

#[test]
fn a_chain_of_atomics_carries_every_release() {
    // Each block adds to the counter with release; the last acquires what all of them wrote.
    let body = "mad.wide.u32 %w0, %b, 4, %at; st.global.u32 [%w0+64], %b;
    atom.ORDER.gpu.global.add.u32 %r0, [%at], 1; setp.ne.u32 %p0, %r0, 3; @%p0 bra done;
    ld.global.u32 %r1, [%at+64]; ld.global.u32 %r1, [%at+68]; ld.global.u32 %r1, [%at+72];
done:";
    clean(&body.replace("ORDER", "acq_rel"), 4, 1);
    racy(&body.replace("ORDER", "release"), 4, 1);
    racy(&body.replace("ORDER", "acquire"), 4, 1);
}

#[test]
fn barriers_of_some_warps() {
    // Warps 0 and 1 meet, warps 2 and 3 meet; each pair passes a word to its partner.
    let body = "shr.u32 %r0, %t, 6; add.u32 %r1, %r0, 1; mad.lo.u32 %r2, %t, 4, %tile; xor.b32 %r3, %t, PARTNER; mad.lo.u32 %r4, %r3, 4, %tile;
    st.shared.u32 [%r2], %t;
    BARRIER
    ld.shared.u32 %r5, [%r4];";
    clean(
        &body
            .replace("PARTNER", "32")
            .replace("BARRIER", "bar.sync %r1, 64;"),
        1,
        128,
    );
    racy(
        &body
            .replace("PARTNER", "64")
            .replace("BARRIER", "bar.sync %r1, 64;"),
        1,
        128,
    );
    clean(
        &body
            .replace("PARTNER", "64")
            .replace("BARRIER", "bar.sync 5, 128;"),
        1,
        128,
    );
    clean(
        &body.replace("PARTNER", "64").replace(
            "BARRIER",
            "setp.eq.u32 %p0, %t, 0; barrier.red.popc.u32 %r6, 0, %p0;",
        ),
        1,
        128,
    );
}

#[test]
fn producers_announce_and_consumers_wait() {
    // Warp 0 fills the tile and only announces it; warp 1 waits. And the other way round for the
    // next round.
    let body = "mov.u32 %r0, 0; mad.lo.u32 %r1, %lane, 4, %tile; setp.ge.u32 %p0, %t, 32;
    @%p0 bra consumer;
producer: st.shared.u32 [%r1], %r0;
    bar.arrive 1, 64;
    EMPTY
    add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 3; @%p1 bra producer;
    ret;
consumer: bar.sync 1, 64;
    ld.shared.u32 %r2, [%r1];
    FREE
    add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 3; @%p1 bra consumer;";
    clean(
        &body
            .replace("EMPTY", "bar.sync 2, 64;")
            .replace("FREE", "bar.arrive 2, 64;"),
        1,
        64,
    );
    // What comes after the announcement is not part of it.
    let late = body.replace("EMPTY", "st.shared.u32 [%r1], 9; bar.sync 2, 64;");
    let report = racy(&late.replace("FREE", "bar.arrive 2, 64;"), 1, 64);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.others[0].place.ptx_line == 15
                || finding.site.place.ptx_line == 15),
        "{:#?}",
        report.findings
    );
}

#[test]
fn warp_barriers_of_some_lanes() {
    // Lanes pass a word to a neighbour; halves of the warp meet on their own.
    let body = "mad.lo.u32 %r1, %lane, 4, %tile; xor.b32 %r2, %lane, PARTNER; mad.lo.u32 %r3, %r2, 4, %tile;
    setp.lt.u32 %p0, %lane, 16; selp.b32 %r4, 0xffff, 0xffff0000, %p0;
    st.shared.u32 [%r1], %lane;
    bar.warp.sync %r4;
    ld.shared.u32 %r5, [%r3];";
    clean(&body.replace("PARTNER", "1"), 1, 32);
    let report = races(&kernel(&body.replace("PARTNER", "16")), shape(1, 32, 0));
    assert_eq!(
        (report.findings.len(), report.count(Severity::Warning)),
        (1, 1),
        "{:#?}",
        report.findings
    );
}
