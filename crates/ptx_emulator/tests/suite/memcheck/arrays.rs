//! Arrays that lie one after the other in shared and local memory.

use super::{OUT, at, check, check_with, only, wrong};
use ptx_emulator::Access::{Read, Write};
use ptx_emulator::Space;

/// Two arrays of shared memory with nothing between them, and a dynamic one after them.
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
fn nothing_follows_the_last_array() {
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
