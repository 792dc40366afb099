//! Asynchronous copies, and accesses that are misaligned.

use super::{OUT, at, check, wrong};
use ptx_emulator::Access::{Atomic, Read, Write};
use ptx_emulator::{Rule, Space};

#[test]
fn asynchronous_copies() {
    let tile = ".shared .align 16 .b8 tile[2048];";
    let to = "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 16, %r0; mad.wide.u32 %rd0, %t, 16, %at;";
    let copy = |rest: &str| {
        format!("{to} cp.async.cg.shared.global [%r0], [%rd0], 16{rest}; cp.async.wait_all;")
    };
    wrong(
        tile,
        &copy(""),
        OUT,
        at(Read, Space::Global, (64, 16), (4, 1)),
        &["read of 16 bytes", "ends after 64 bytes"],
    );
    // Only the bytes that are read must exist.
    assert!(check(tile, &copy(", 0"), 16).is_clean());
    wrong(
        tile,
        &copy(", 5")
            .replace("%rd0, %t, 16, %at", "%rd0, %t, 0, %at")
            .replace("[%rd0]", "[%rd0+64]"),
        OUT,
        at(Read, Space::Global, (64, 5), (0, 1)),
        &[],
    );
    wrong(
        tile,
        &copy("").replace("[%r0]", "[%r0+8]"),
        Rule::Misaligned,
        at(Write, Space::Shared, (8, 16), (0, 1)),
        &[],
    );
    wrong(
        tile,
        &copy("")
            .replace("[%r0]", "[%r0+2064]")
            .replace("%rd0, %t, 16, %at", "%rd0, %t, 0, %at"),
        OUT,
        at(Write, Space::Shared, (2064, 16), (0, 32)),
        &[],
    );
}

#[test]
fn an_access_may_be_outside_and_misaligned() {
    let tile = ".shared .align 16 .b8 tile[8];";
    for (before, body, message) in [
        // The last bytes of a vector are outside, its first ones are not.
        (
            "",
            "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%at+56];",
            "at byte 56 of the nearest allocation of 64 bytes",
        ),
        ("", "ld.global.u32 %r0, [%at+66];", "2 bytes after the end"),
        (
            "",
            "st.global.v4.u32 [%at+72], {%t, %t, %t, %t};",
            "8 bytes after the end",
        ),
        ("", "red.global.add.u32 [%at+-2], 1;", "2 bytes before"),
        (
            tile,
            "st.shared.u32 [tile+10], %t;",
            "2 bytes after the end of `tile`",
        ),
        (
            "",
            "{ .local .align 8 .b8 array[8]; st.local.u32 [array+10], %t; }",
            "after the end of `array`",
        ),
        (
            "",
            "cp.async.ca.shared.global [dynamic], [%at+66], 4;",
            "2 bytes after the end",
        ),
    ] {
        let dynamic = ".extern .shared .align 16 .b8 dynamic[];";
        let report = check(&format!("{before} {dynamic}"), body, 16);
        let mut rules: Vec<Rule> = report.findings.iter().map(|finding| finding.rule).collect();
        rules.sort_unstable();
        assert_eq!(rules, [Rule::OutOfBounds, Rule::Misaligned], "{body}");
        let outside = report.findings.iter();
        let mut outside = outside.filter(|finding| finding.rule == Rule::OutOfBounds);
        let outside = &outside.next().expect("see above").message;
        assert!(outside.contains(message), "{outside}");
        assert!(outside.ends_with("misaligned too"), "{outside}");
    }
}

#[test]
fn misaligned_accesses() {
    let words = ["must be a multiple of", "the vector access"];
    let global = |access, size| at(access, Space::Global, (4, size), (1, 16));
    wrong(
        "",
        "shr.u32 %r0, %t, 4; setp.eq.u32 %p0, %r0, 0; and.b32 %r1, %t, 1; mad.wide.u32 %rd0, %r1, 4, %at; ld.global.u64 %rd1, [%rd0];",
        Rule::Misaligned,
        global(Read, 8),
        &words,
    );
    let all = |access, space, address, size| at(access, space, (address, size), (0, 32));
    wrong(
        "",
        "st.global.v2.u32 [%at+4], {%t, %t};",
        Rule::Misaligned,
        all(Write, Space::Global, 4, 8),
        &words,
    );
    wrong(
        "",
        "red.global.add.u32 [%at+2], 1;",
        Rule::Misaligned,
        all(Atomic, Space::Global, 2, 4),
        &words,
    );
    let tile = ".shared .align 16 .b8 tile[64];";
    wrong(
        tile,
        "mov.u64 %rd0, tile; cvta.shared.u64 %rd0, %rd0; st.u32 [%rd0+6], %t;",
        Rule::Misaligned,
        all(Write, Space::Shared, 6, 4),
        &words,
    );
    wrong(
        "",
        "ld.param.u32 %r0, [buffer+2];",
        Rule::Misaligned,
        all(Read, Space::Param, 2, 4),
        &words,
    );
}
