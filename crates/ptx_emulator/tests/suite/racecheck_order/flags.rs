//! Locks and flags, and barriers of some threads.

use super::{clean, kernel, racy, rules};
use crate::common::{races, shape};
use ptx_emulator::{Rule, Severity};

/// Each thread adds one to a plain counter under a lock.
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
