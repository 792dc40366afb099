//! Texts and programs that were not meant well: an error each time, never a panic, never without
//! end.

use crate::common::{module, shape, unsupported_or_wrong, with_header};
use ptx_emulator::{Emulator, LaunchError, Limits, Module, ParseErrorKind};

#[track_caller]
fn refused(text: &str) -> (u32, String, ParseErrorKind) {
    match unsupported_or_wrong(text) {
        None => panic!("accepted: {text:.200}"),
        Some(error) => (error.line, error.message, error.kind),
    }
}

#[track_caller]
fn unsupported(instruction: &str) {
    let text = format!(
        ".visible .entry k() {{\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n{instruction}\nret; }}"
    );
    let form = instruction
        .split(' ')
        .next()
        .unwrap_or_default()
        .trim_end_matches(';')
        .to_owned();
    let (line, message, kind) = refused(&text);
    assert_eq!(
        (line, kind),
        (6, ParseErrorKind::Unsupported { form: form.clone() }),
        "{instruction}: {message}"
    );
    assert_eq!(
        message,
        format!("unsupported: `{form}`; the emulator does not know this form")
    );
}

#[test]
fn unknown_forms_are_named() {
    for instruction in [
        "tex.2dms.v4.f32.s32 {%r0, %r1, %r2, %r3}, [tex, {%r0, %r1}];",
        "wgmma.fence.sync;",
        "add.s32.foo %r0, %r1, %r2;",
        "sub.u16x2 %r0, %r1, %r2;",
        "ld.global.L2::512B.b32 %r0, [%rd0];",
        "match.any.b32 %r0, %r1;",
        "fma.rz.sat.f64 %rd0, %rd1, %rd2, %rd3;",
        "cvt.rn.e4m3x2.f32 %r0, %r1, %r2;",
        "cvt.rn.satfinite.f16x2.e4m3x2 %r0, %r1;",
        "cvt.rz.satfinite.e5m2x2.f32 %r0, %r1, %r2;",
        "ld.global.v2.b128 %r0, [%rd0];",
        "add.b128 %r0, %r1, %r2;",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r0}, {%r1}, {%r2}, {%r3};",
        "bar.cluster.arrive;",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], [%rd0, {%r1, %r2, %r1, %r2}], [%r3], {%rs0};",
        "mbarrier.init.shared::cluster.b64 [%r0], 1;",
        "min.xorsign.f32 %r0, %r1, %r2;",
        "atom.global.add.f16x2 %r0, [%rd0], %r1;",
        "redux.add.u32 %r0, %r1;",
        "cvt.f32.f64 %r0, %rd0;",
        "sqrt.f32 %r0, %r1;",
    ] {
        unsupported(instruction);
    }
}

#[test]
fn mistakes_are_named() {
    for (body, message) in [
        ("add.s32 %r0, %r1;", "`add.s32` takes 3 operands, not 2"),
        (
            "add.s32 %r0, %r1, %rd0;",
            "`add.s32` needs a 32-bit register, not `%rd0`",
        ),
        (
            "add.s32 %rd0, %r1, %r2;",
            "`add.s32` has a destination register of another width",
        ),
        (
            "add.s32 %r0, %r1, 4294967296;",
            "`add.s32` has a constant of more than 32 bits",
        ),
        (
            "add.s32 %r99, %r1, %r2;",
            "`%r99` is not one of the 9 declared registers",
        ),
        ("add.s32 %r0, %r1, %nothing;", "`%nothing` is not declared"),
        ("bra nowhere;", "there is no label `nowhere`"),
        ("@%r0 bra here; here:", "the guard `%r0` is not a predicate"),
        ("here: here:", "label `here` is defined twice"),
        (".reg .b32 %r1; .reg .b32 %r1;", "`%r1` is declared twice"),
        (
            "mov.u32 %r0, 0f123;",
            "`0f123` needs exactly 8 hexadecimal digits",
        ),
        (
            "mov.u32 %r0, 99999999999999999999;",
            "`99999999999999999999` is not an integer of 64 bits",
        ),
        (
            "ld.global.b32 %r0, %rd0;",
            "`ld.global.b32` needs an address in brackets",
        ),
        (
            "st.global.v2.b32 [%rd0], %r0;",
            "`st.global.v2.b32` needs 2 registers, not 1",
        ),
        ("call missing, ();", "`missing` is not declared"),
        ("call k;", "`call` takes a function, and `k` is a kernel"),
        (
            "add.f32 %r0, %r1, 1;",
            "`add.f32` needs a float constant such as 0f3F800000",
        ),
    ] {
        let text =
            format!(".visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>;\n{body}\nret; }}");
        let (line, actual, kind) = refused(&text);
        assert_eq!(
            (line, actual.as_str(), kind),
            (5, message, ParseErrorKind::Syntax),
            "{body}"
        );
    }
}

#[test]
fn not_ptx() {
    for text in [
        "",
        "hello",
        "\u{0}",
        "{",
        ".version",
        ".version 8.0 .target",
        "é",
        "\"open",
        "/* open",
        "// only a comment",
        ".version 99999999999.0",
    ] {
        assert!(Module::parse(text).is_err(), "{text}");
    }
    assert!(Module::parse("fn main() {}").is_err());
    assert!(Module::parse(&with_header(".address_size 32")).is_err());
}

#[test]
fn every_cut_of_a_text_is_handled() {
    let whole = include_str!("rustc_sample.ptx");
    for end in (0..whole.len())
        .step_by(37)
        .filter(|&end| whole.is_char_boundary(end))
    {
        let _ = Module::parse(&whole[..end]);
        let _ = Module::parse(&format!(
            "{}{}",
            &whole[..end],
            &whole[(end + 11).min(whole.len())..]
        ));
    }
}

#[test]
fn sizes_are_limited() {
    let deep = format!(".visible .entry k() {{ {} ret; }}", "{".repeat(100_000));
    assert_eq!(refused(&deep).2, ParseErrorKind::Limit);
    let nested = format!(
        ".visible .entry k() {{ .reg .b32 %r; mov.b32 %r, {}1; }}",
        "{".repeat(100_000)
    );
    assert_eq!(refused(&nested).2, ParseErrorKind::Limit);
    let masks = format!(".global .b8 a[2] = {{ {}a }};", "1(".repeat(100_000));
    assert_eq!(refused(&masks).2, ParseErrorKind::Syntax);
    let registers: String = (0..40_000)
        .map(|index| format!("mov.u32 %r{index}, {index};"))
        .collect();
    let many = format!(".visible .entry k() {{ .reg .b32 %r<4294967295>; {registers} ret; }}");
    assert_eq!(refused(&many).2, ParseErrorKind::Limit);
    let large = " ".repeat((128 << 20) + 1);
    assert_eq!(refused(&large).2, ParseErrorKind::Limit);
    let long = format!("{}.visible .entry k() {{ ret; }}", " ".repeat(20 << 20));
    module(&long);
    for text in [
        ".global .b8 a[18446744073709551615];",
        ".global .b64 a[4294967296][4294967296];",
        ".global .b8 a[] = {1, 2, 3};.global .b128 b[1152921504606846975];",
        ".visible .entry k(.param .b8 a[4000000000]) { ret; }",
        ".visible .entry k() { .local .b8 a[99999999999]; ret; }",
        ".visible .entry k() { .local .align 512 .b8 a[16777216]; .local .b8 b[16777216]; ret; }",
    ] {
        assert_eq!(refused(text).2, ParseErrorKind::Limit, "{text}");
    }
    // A declaration of billions of registers costs nothing as long as few are used.
    module(".visible .entry k() { .reg .b32 %r<4294967295>; mov.u32 %r4294967294, 0; ret; }");
}

#[test]
fn large_kernels_are_refused_when_launched() {
    let emulator = Emulator::new(Limits {
        memory_bytes: 1 << 20,
        ..Limits::default()
    });
    for text in [
        ".visible .entry k() { .shared .b8 a[60000]; .reg .b32 %r; ld.shared.u8 %r, [a]; ret; }",
        ".visible .entry k() { .local .b8 a[600000]; ret; }",
        ".visible .entry k() { .shared .b8 a[999999999999]; .reg .b32 %r; ld.shared.u8 %r, [a]; ret; }",
    ] {
        let loaded = emulator.load(&module(text)).expect("it loads");
        let error = emulator.launch(&loaded, "k", shape(1, 1024, 0), &[]);
        assert!(
            matches!(error, Err(LaunchError::Invalid(_))),
            "{text}: {error:?}"
        );
    }
    assert!(emulator.load(&module(".global .b8 a[2000000];")).is_err());
    assert!(emulator.load(&module(".extern .global .b32 a; .visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [a]; ret; }")).is_err());
    // What was allocated before the error is freed.
    emulator.alloc(1 << 20).expect("all memory is free");
}

#[test]
fn wild_addresses_fault() {
    let emulator = Emulator::new(crate::common::limits());
    for address in [
        "0",
        "-1",
        "0x7fffffffffffffff",
        "0x0001000000000000",
        "0x0002000000000000",
        "0x00020000ffffffff",
        "0x0003000000000000",
        "0x0004000000000000",
        "0x0005000000000000",
        "0x0000010000000000",
    ] {
        for access in [
            "ld.u64 %rd1, [%rd0];",
            "st.v2.u64 [%rd0], {%rd0, %rd0};",
            "atom.add.u64 %rd1, [%rd0], 1;",
            "ld.u8 %rd1, [%rd0+-1];",
            "ld.shared.u32 %rd1, [%rd0];",
            "st.local.u32 [%rd0+2147483647];",
        ] {
            let access = access.replace("2147483647];", "2147483647], %rd0;");
            let text = format!(
                ".visible .entry k() {{ .reg .b64 %rd<3>; mov.u64 %rd0, {address}; {access} ret; }}"
            );
            let loaded = emulator.load(&module(&text)).expect("it loads");
            let error = emulator.launch(&loaded, "k", shape(1, 32, 0), &[]);
            assert!(
                matches!(error, Err(LaunchError::Fault(_))),
                "{access} at {address}: {error:?}"
            );
        }
    }
}
