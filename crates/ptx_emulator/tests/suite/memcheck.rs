//! Accesses outside of memory: every space, through every kind of instruction, with the nearest
//! allocation and a hint.

use crate::common::{limits, module, shape, thread};
use ptx_emulator::{Access, CheckOptions, CheckReport, Emulator, Finding, Rule, Space};

/// A kernel with a buffer of 64 bytes, its number of u32 and whatever is said before it. Its body
/// is line 9.
fn kernel(before: &str, body: &str) -> String {
    assert!(!before.contains('\n'), "the body's line is counted");
    format!(
        "{before}
.visible .entry k(.param .u64 buffer, .param .u64 length) {{
.reg .b64 %at, %mine, %rd<9>; .reg .b32 %t, %r<9>; .reg .pred %p<4>;
ld.param.u64 %at, [buffer]; mov.u32 %t, %tid.x;
mad.wide.u32 %mine, %t, 4, %at;
{body} ret;
}}"
    )
}

/// Bad accesses are looked for whatever the options say.
fn options() -> CheckOptions {
    CheckOptions {
        race: false,
        init: false,
        ..CheckOptions::default()
    }
}

/// A launch of 32 threads with 16 bytes of dynamic shared memory.
fn check(before: &str, body: &str, length: u64) -> CheckReport {
    check_with(before, body, length, 16)
}

fn check_with(before: &str, body: &str, length: u64, dynamic_shared: u32) -> CheckReport {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel(before, body)))
        .expect("it loads");
    let buffer = emulator.alloc(64).expect("memory is there");
    emulator.write(buffer, &[1; 64]).expect("it fits");
    let args = [buffer.to_le_bytes(), length.to_le_bytes()];
    let args = args.each_ref().map(|arg| arg.as_slice());
    emulator
        .check(
            &loaded,
            "k",
            shape(1, 32, dynamic_shared),
            &args,
            &options(),
        )
        .expect("it is launched")
}

/// The only finding, which must be an error at the body's line.
#[track_caller]
fn only(report: CheckReport) -> Finding {
    let [finding] = report
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{all:#?}"));
    assert_eq!(finding.site.place.ptx_line, 9, "{finding:#?}");
    finding
}

/// Where an access went wrong.
struct Wrong {
    access: Access,
    space: Space,
    address: u64,
    size: u32,
    thread: u32,
    /// Threads of the warp that did so.
    count: u64,
}

#[track_caller]
fn wrong(before: &str, body: &str, rule: Rule, wrong: Wrong, words: &[&str]) {
    let finding = only(check(before, body, 16));
    assert_eq!(finding.rule, rule, "{body}");
    let target = finding.site.target.expect("an access");
    // The buffer is the first allocation; addresses in global memory are told from its start.
    let base = if target.space == Space::Global {
        1 << 40
    } else {
        0
    };
    let at = (
        target.access,
        target.space,
        target.address.wrapping_sub(base),
        target.size,
    );
    assert_eq!(
        at,
        (wrong.access, wrong.space, wrong.address, wrong.size),
        "{body}"
    );
    let threads = (thread(&finding.site), finding.count);
    assert_eq!(threads, (wrong.thread, wrong.count), "{body}");
    let hint = finding.hint.unwrap_or_default();
    for word in words {
        let said = finding.message.contains(word) || hint.contains(word);
        assert!(said, "`{word}` is missing: {} / {hint}", finding.message);
    }
}

fn at(
    access: Access,
    space: Space,
    (address, size): (u64, u32),
    (thread, count): (u32, u64),
) -> Wrong {
    Wrong {
        access,
        space,
        address,
        size,
        thread,
        count,
    }
}

const OUT: Rule = Rule::OutOfBounds;
use Access::{Atomic, Read, Write};

#[test]
fn global_memory() {
    let after = [
        "0 bytes after the end of the nearest allocation of 64 bytes",
        "ends after 64 bytes",
    ];
    let past = |access, size, first: u32| {
        at(
            access,
            Space::Global,
            (64, size),
            (first, 32 - u64::from(first)),
        )
    };
    wrong(
        "",
        "ld.global.u32 %r0, [%mine];",
        OUT,
        past(Read, 4, 16),
        &after,
    );
    wrong(
        "",
        "st.global.u32 [%mine], %t;",
        OUT,
        past(Write, 4, 16),
        &after,
    );
    wrong("", "ld.u32 %r0, [%mine];", OUT, past(Read, 4, 16), &after);
    wrong(
        "",
        "red.global.add.u32 [%mine], 1;",
        OUT,
        past(Atomic, 4, 16),
        &after,
    );
    wrong(
        "",
        "mad.wide.u32 %rd0, %t, 16, %at; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0];",
        OUT,
        past(Read, 16, 4),
        &after,
    );
    wrong(
        "",
        "mad.wide.u32 %rd0, %t, 8, %at; atom.global.cas.b64 %rd1, [%rd0], 0, 1;",
        OUT,
        past(Atomic, 8, 8),
        &after,
    );
    let before = at(Write, Space::Global, (4_u64.wrapping_neg(), 4), (0, 32));
    wrong(
        "",
        "st.global.u32 [%at+-4], %t;",
        OUT,
        before,
        &["4 bytes before the nearest allocation", "negative"],
    );
}

#[test]
fn pointers_to_nowhere() {
    let null = |space| at(Read, space, (8_u64.wrapping_sub(1 << 40), 4), (0, 32));
    wrong(
        "",
        "mov.u64 %rd0, 0; ld.global.u32 %r0, [%rd0+8];",
        OUT,
        null(Space::Global),
        &["null pointer"],
    );
    wrong(
        "",
        "ld.u32 %r0, [8];",
        OUT,
        null(Space::Global),
        &["null pointer"],
    );
    let odd = at(Read, Space::Generic, (u64::MAX - 3, 4), (0, 32));
    wrong(
        "",
        "mov.u64 %rd0, -4; ld.u32 %r0, [%rd0];",
        OUT,
        odd,
        &["in no memory at all"],
    );
}

#[test]
fn variables_of_the_module_are_apart() {
    let two = ".global .align 4 .b8 first[64]; .global .align 4 .b8 second[64];";
    let finding = only(check(
        two,
        "mov.u64 %rd0, first; mad.wide.u32 %rd0, %t, 4, %rd0; ld.global.u32 %r0, [%rd0];",
        16,
    ));
    assert_eq!(
        (finding.rule, thread(&finding.site), finding.count),
        (OUT, 16, 16)
    );
    let constant = ".const .align 4 .b8 table[64];";
    let finding = only(check(
        constant,
        "mov.u64 %rd0, table; mad.wide.u32 %rd0, %t, 4, %rd0; ld.const.u32 %r0, [%rd0];",
        16,
    ));
    assert_eq!((finding.rule, thread(&finding.site)), (OUT, 16));
    let finding = only(check(
        constant,
        "mov.u64 %rd0, table; st.u32 [%rd0], 1;",
        16,
    ));
    assert_eq!(finding.rule, Rule::ReadOnly);
    assert!(
        finding
            .hint
            .unwrap_or_default()
            .contains("cannot be written")
    );
}

#[test]
fn shared_memory() {
    let array = ".shared .align 16 .b8 tile[64];";
    let words = [
        "in shared memory, 0 bytes after the end of `tile` of 64 bytes",
        "shared array's length",
    ];
    let dynamic = "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 4, %r0; ";
    let static_only = |body: &str| format!("{dynamic}{body}");
    let past_all = |access| at(access, Space::Shared, (64, 4), (16, 16));
    wrong(
        array,
        &static_only("st.shared.u32 [%r0], %t;"),
        OUT,
        past_all(Write),
        &words,
    );
    wrong(
        array,
        &static_only("atom.shared.add.u32 %r1, [%r0], 1;"),
        OUT,
        past_all(Atomic),
        &words,
    );
    wrong(
        array,
        "mov.u64 %rd0, tile; cvta.shared.u64 %rd0, %rd0; mad.wide.u32 %rd0, %t, 4, %rd0; st.u32 [%rd0], %t;",
        OUT,
        past_all(Write),
        &words,
    );
    let external = ".extern .shared .align 16 .b8 dynamic[];";
    let body = "mov.u32 %r0, dynamic; mad.lo.u32 %r0, %t, 4, %r0; ld.shared.u32 %r1, [%r0];";
    wrong(
        external,
        body,
        OUT,
        at(Read, Space::Shared, (16, 4), (4, 28)),
        &["that the launch gives it"],
    );
    let rows = "mov.u32 %r0, tile; mad.lo.u32 %r0, %t, 16, %r0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r0];";
    wrong(
        array,
        rows,
        OUT,
        at(Read, Space::Shared, (64, 16), (4, 28)),
        &words,
    );
}

/// Two arrays of shared memory with nothing between them, and a dynamic one behind.
const THREE: &str = ".shared .align 4 .b8 one[64]; .shared .align 4 .b8 two[64]; .extern .shared .align 4 .b8 three[];";

#[test]
fn an_index_past_one_shared_array_that_lands_in_the_next() {
    let index = |array: &str, offset: i32| {
        format!(
            "mov.u32 %r5, one; mov.u32 %r6, two; mov.u32 %r0, {array}; mad.lo.u32 %r0, %t, 4, %r0; setp.lt.u32 %p0, %t, 16; @%p0 st.shared.u32 [%r0+{offset}], %t;"
        )
    };
    let one = |offset| index("one", offset);
    // The gap before `two` has 1024 bytes.
    let last = at(Write, Space::Shared, (64, 4), (15, 1));
    wrong(
        THREE,
        &one(4),
        OUT,
        last,
        &["0 bytes after the end of `one` of 64 bytes at 0x0"],
    );
    let before = at(Write, Space::Shared, (64 + 1024 - 4, 4), (0, 1));
    wrong(
        THREE,
        &index("two", -4),
        OUT,
        before,
        &["4 bytes before `two` of 64 bytes at 0x440"],
    );
    let vector =
        "mov.u32 %r0, two; st.shared.v4.u32 [%r0+56], {%t, %t, %t, %t};".replace("56", "48");
    assert!(check(THREE, &vector, 16).is_clean());
    let past = at(Write, Space::Shared, (2 * (64 + 1024) + 16, 4), (4, 12));
    wrong(
        THREE,
        &index("three", 0),
        OUT,
        past,
        &["0 bytes after the end of `three` of 16 bytes"],
    );
    let generic = "mov.u64 %rd0, one; cvta.shared.u64 %rd0, %rd0; ld.u32 %r0, [%rd0+68];";
    let all = at(Read, Space::Shared, (68, 4), (0, 32));
    wrong(
        THREE,
        generic,
        OUT,
        all,
        &["4 bytes after the end of `one`"],
    );
    assert!(check(THREE, &one(0), 16).is_clean());
}

#[test]
fn arrays_of_rust_have_their_authors_names() {
    let mangled = "_RNvNtCs1234_4demo6kernel4TILE";
    let body = format!("mov.u32 %r0, {mangled}; st.shared.u32 [%r0+64], %t;");
    let array = format!(".shared .align 4 .b8 {mangled}[64];");
    let finding = only(check(&array, &body, 16));
    let words = "0 bytes after the end of `demo::kernel::TILE` of 64 bytes";
    assert!(finding.message.contains(words), "{}", finding.message);
}

#[test]
fn nothing_lies_behind_the_last_array() {
    let last = "mov.u32 %r0, one; mov.u32 %r1, two; st.shared.u32 [%r1+64], %t;";
    let single = last.replace("two", "one");
    for (body, name) in [(last, "`two`"), (&single, "`one`")] {
        let finding = only(check_with(THREE, body, 16, 0));
        assert_eq!((finding.rule, finding.count), (OUT, 32));
        let nearest = format!("0 bytes after the end of {name}");
        assert!(finding.message.contains(&nearest), "{}", finding.message);
    }
}

#[test]
fn gaps_keep_alignment_and_what_the_program_sees() {
    let arrays = ".shared .align 1 .b8 byte[1]; .shared .align 128 .b8 aligned[128]; .shared .align 16 .b8 last[16];";
    let checks = "mov.u32 %r0, byte; mov.u32 %r0, aligned; rem.u32 %r0, %r0, 128; mov.u32 %r1, last; rem.u32 %r1, %r1, 16; add.u32 %r0, %r0, %r1; \
        mov.u32 %r1, aligned; mov.u32 %r2, aligned; add.u32 %r2, %r2, 128; sub.u32 %r2, %r2, %r1; sub.u32 %r2, %r2, 128; add.u32 %r0, %r0, %r2; \
        mov.u32 %r3, %total_smem_size; sub.u32 %r3, %r3, 288; add.u32 %r0, %r0, %r3; setp.ne.u32 %p0, %r0, 0; @%p0 trap;";
    let report = check(arrays, checks, 16);
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn the_limit_of_shared_memory_is_that_of_the_program() {
    // Two arrays that fill what a block may have: gaps take what the emulator has beyond.
    let full = ".shared .align 4 .b8 one[24576]; .shared .align 4 .b8 two[24560];";
    let past = "mov.u32 %r0, one; st.shared.u32 [%r0+24576], %t;";
    let place = at(Write, Space::Shared, (24576, 4), (0, 32));
    wrong(full, past, OUT, place, &["after the end of `one`"]);
}

#[test]
fn an_index_past_a_local_array_that_lands_in_another() {
    let arrays = ".local .align 4 .b8 one[16]; .local .align 4 .b8 two[16];";
    let body = |from: &str, offset: i32| {
        format!("{arrays} mov.u64 %rd0, {from}; st.local.u32 [%rd0+{offset}], %t;")
    };
    let one = at(Write, Space::Local, (64 + 16, 4), (0, 32));
    wrong(
        "",
        &body("one", 16),
        OUT,
        one,
        &["0 bytes after the end of `one` of 16 bytes"],
    );
    let two = at(Write, Space::Local, (64 + 16 + 128 - 4, 4), (0, 32));
    wrong(
        "",
        &body("two", -4),
        OUT,
        two,
        &["4 bytes before `two` of 16 bytes"],
    );
    assert!(check("", &body("two", 12), 16).is_clean());
}

#[test]
fn a_function_that_passes_the_end_of_its_callers_array() {
    let function = ".func fill(.param .u64 at) { .local .align 4 .b8 mine[8]; .reg .b64 %a; .reg .b32 %v; \
        ld.param.u64 %a, [at]; mov.u32 %v, 1; st.local.u32 [mine], %v; st.local.u32 [%a], %v; ret; }";
    let body = |offset: i32| {
        format!(
            ".local .align 4 .b8 array[16]; mov.u64 %rd0, array; add.s64 %rd0, %rd0, {offset};
            {{ .param .u64 at; st.param.u64 [at], %rd0; call fill, (at); }}"
        )
    };
    let report = check(function, &body(16), 16);
    let [finding] = report.findings.as_slice() else {
        panic!("{:#?}", report.findings);
    };
    assert_eq!((finding.rule, finding.site.place.ptx_line), (OUT, 4));
    let words = "0 bytes after the end of `array` of 16 bytes at 0x40";
    assert!(finding.message.contains(words), "{}", finding.message);
    assert!(check(function, &body(12), 16).is_clean());
    assert!(check(function, &body(0), 16).is_clean());
}

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
fn local_memory_and_parameters() {
    let body = ".local .align 4 .b8 array[16]; mov.u64 %rd0, array; mad.wide.u32 %rd0, %t, 4, %rd0; st.local.u32 [%rd0], %t;";
    wrong(
        "",
        body,
        OUT,
        // The array begins behind a gap of 64 bytes.
        at(Write, Space::Local, (80, 4), (4, 28)),
        &[
            "in local memory, 0 bytes after the end of `array` of 16 bytes",
            "local array",
        ],
    );
    let generic = body
        .replace("mad.wide", "cvta.local.u64 %rd0, %rd0; mad.wide")
        .replace("st.local", "st");
    wrong(
        "",
        &generic,
        OUT,
        at(Write, Space::Local, (80, 4), (4, 28)),
        &["in local memory"],
    );
    let params = "mov.b64 %rd0, buffer; ld.param.u32 %r0, [%rd0+16];";
    wrong(
        "",
        params,
        OUT,
        at(Read, Space::Param, (16, 4), (0, 32)),
        &["kernel's parameters"],
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

#[test]
fn a_buffer_shorter_than_its_length_says() {
    let body = "mov.u32 %r0, %ntid.x; ld.param.u64 %rd1, [length]; cvt.u64.u32 %rd2, %t; setp.lt.u64 %p0, %rd2, %rd1; @%p0 ld.global.u32 %r1, [%mine];";
    assert!(check("", body, 16).is_clean());
    let finding = only(check("", body, 20));
    assert_eq!(
        (finding.rule, thread(&finding.site), finding.count),
        (OUT, 16, 4)
    );
    let hint = finding.hint.unwrap_or_default();
    let expected = "the allocation ends after 64 bytes, but the parameters say that there are 20 elements, which are 80 bytes of 4 each: ";
    assert!(hint.starts_with(expected), "{hint}");
}

#[test]
fn freed_memory_and_allocations_of_nothing() {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel("", "ld.global.u32 %r0, [%mine];")))
        .expect("it loads");
    let launch = |address: u64| {
        let args = [address.to_le_bytes(), [0; 8]];
        let args = args.each_ref().map(|arg| arg.as_slice());
        let options = options();
        only(
            emulator
                .check(&loaded, "k", shape(1, 32, 0), &args, &options)
                .expect("it is launched"),
        )
    };
    let stale = emulator.alloc(4096).expect("memory is there");
    emulator.free(stale).expect("it is an allocation");
    // What is allocated next does not take its place.
    let next = emulator.alloc(4096).expect("memory is there");
    assert_ne!(stale, next);
    let finding = launch(stale);
    assert!(
        finding
            .message
            .contains("at byte 0 of a freed allocation of 4096 bytes"),
        "{}",
        finding.message
    );
    assert!(
        finding
            .hint
            .unwrap_or_default()
            .contains("was freed before the launch")
    );
    // An index far past the end does not reach it either: it falls into the gap.
    let gap = launch(next + (1 << 19));
    assert_eq!(
        gap.site.target.expect("an access").address,
        next + (1 << 19)
    );
    assert!(
        gap.message
            .contains("after the end of the nearest allocation of 4096 bytes"),
        "{}",
        gap.message
    );
    let nothing = emulator.alloc(0).expect("nothing has an address");
    let finding = launch(nothing);
    assert!(
        finding
            .message
            .contains("0 bytes after the end of the nearest allocation of 0 bytes"),
        "{}",
        finding.message
    );
}

#[test]
fn accesses_up_to_the_last_byte_are_fine() {
    let tile = ".shared .align 16 .b8 tile[512];";
    let body = "setp.lt.u32 %p0, %t, 16; @%p0 st.global.u32 [%mine], %t; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%at+48];
                mov.u32 %r4, tile; mad.lo.u32 %r4, %t, 16, %r4; st.shared.v4.u32 [%r4], {%r0, %r1, %r2, %r3};
                .local .align 8 .b8 array[16]; st.local.u64 [array+8], %at; ld.param.u64 %rd0, [length];";
    let report = check(tile, body, 16);
    assert!(report.is_clean(), "{report:#?}");
}
