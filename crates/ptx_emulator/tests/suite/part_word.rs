//! Atomics of a byte. Compilers make them from atomics of a word; for every detector they are
//! accesses to that byte. And how deep recursion goes.

use crate::common::with_header;
use ptx_emulator::Limits;
use ptx_emulator::testing::{Checked, Launch};

/// The body has the buffer in `%at`, the thread in `%t`, that thread's byte at `%mine`.
fn launch(body: &str, bytes: &mut [u8], threads: u32) -> Checked {
    let text = with_header(&format!(
        ".visible .entry k(.param .u64 out) {{
    .reg .b64 %at, %mine, %word, %w<8>; .reg .b32 %t, %r<16>; .reg .b16 %h<4>; .reg .pred %p<8>;
    ld.param.u64 %at, [out]; mov.u32 %t, %tid.x; cvt.u64.u32 %w0, %t; add.u64 %mine, %at, %w0;
{body}
    ret;
}}"
    ));
    let launch = Launch::of(&text).expect("it loads").kernel("k");
    let launch = launch.block(threads).inout(bytes).schedules(4);
    launch.check().expect("it starts")
}

/// Adds 1 to the thread's byte as compilers do.
const ADDS: &str = "and.b64 %word, %mine, -4; cvt.u32.u64 %r0, %mine; and.b32 %r0, %r0, 3; shl.b32 %r0, %r0, 3;
    mov.b32 %r1, 255; shl.b32 %r1, %r1, %r0; not.b32 %r2, %r1; mov.b32 %r3, 1; shl.b32 %r3, %r3, %r0; mov.b32 %r4, 0;
again: mov.b32 %r5, %r4; add.s32 %r6, %r5, %r3; and.b32 %r6, %r6, %r1; and.b32 %r7, %r5, %r2; or.b32 %r6, %r6, %r7;
    atom.relaxed.gpu.global.cas.b32 %r4, [%word], %r5, %r6; setp.ne.u32 %p0, %r4, %r5; @%p0 bra again;";

#[test]
fn a_byte_ends_where_its_buffer_does() {
    for len in [1, 2, 3, 5, 31] {
        let mut bytes = vec![255; len];
        launch(ADDS, &mut bytes, len as u32).assert_clean();
        assert_eq!(bytes, vec![0; len]);
    }
    let report = launch(ADDS, &mut [7; 5], 6);
    assert!(report.to_string().contains("out of bounds"), "{report}");
}

#[test]
fn other_threads_may_use_the_bytes_beside_it_but_not_itself() {
    let beside = format!(
        "setp.lt.u32 %p1, %t, 3; @!%p1 bra more; st.global.u8 [%mine], %t; ret;\nmore: {ADDS}"
    );
    launch(&beside, &mut [1; 7], 7).assert_clean();
    let itself = format!(
        "setp.lt.u32 %p1, %t, 3; @!%p1 bra more; st.global.u8 [%at+5], %t; ret;\nmore: {ADDS}"
    );
    let report = launch(&itself, &mut [1; 7], 7);
    assert!(report.to_string().contains("race"), "{report}");
}

#[test]
fn bits_that_are_known_are_an_access_to_their_bytes() {
    let others = |byte: &str| {
        format!(
            "setp.eq.u32 %p1, %t, 0; @!%p1 bra more; st.global.u8 [%at+{byte}], 9; ret;
             more: atom.global.or.b32 %r0, [%at], 0x100; atom.global.and.b32 %r0, [%at], 0xfffffbff; atom.global.xor.b32 %r0, [%at], 0x800;"
        )
    };
    launch(&others("0"), &mut [0; 4], 40).assert_clean();
    launch(&others("2"), &mut [0; 4], 40).assert_clean();
    let report = launch(&others("1"), &mut [0; 4], 40);
    assert!(report.to_string().contains("race"), "{report}");
}

/// Atomics that use the whole word stay accesses to the word, also beside accesses to single bytes.
#[test]
fn a_lock_of_a_word_orders_what_it_guards() {
    let body = |release: &str| {
        format!(
            "st.global.u8 [%mine+8], %t; mov.b32 %r9, 0;
             try: atom.acquire.gpu.global.cas.b32 %r0, [%at], 0x100, 0x200; setp.ne.u32 %p0, %r0, 0x100; @%p0 bra next;
             ld.global.u32 %r1, [%at+4]; add.u32 %r1, %r1, 1; st.global.u32 [%at+4], %r1; {release} [%at], 0x100; mov.b32 %r9, 1;
             next: setp.eq.u32 %p1, %r9, 0; @%p1 bra try;"
        )
    };
    let mut bytes = [0; 40];
    bytes[1] = 1;
    let report = launch(&body("st.release.gpu.global.u32"), &mut bytes, 32);
    report.assert_clean();
    assert_eq!(bytes[4], 32);
    bytes[4] = 0;
    let report = launch(&body("st.relaxed.gpu.global.u32"), &mut bytes, 32);
    assert!(report.to_string().contains("race"), "{report}");
}

#[test]
fn a_word_that_is_not_of_a_byte_still_ends_inside() {
    let body = "atom.global.cas.b32 %r0, [%at+4], 0, 0x01000000; st.global.u8 [%at], 1;";
    let report = launch(body, &mut [0; 6], 1);
    assert!(report.to_string().contains("out of bounds"), "{report}");
}

/// Runs an `f` that calls itself `depth` times; each call has two parameters of 8 bytes and what
/// `array` declares.
fn recursion(array: &str, depth: u64, stack_bytes: u32) -> String {
    let text = with_header(&format!(
        ".func (.param .b64 r) f(.param .b64 n) {{
    .reg .b64 %w<4>; .reg .pred %p; {array}
    ld.param.u64 %w0, [n]; setp.eq.u64 %p, %w0, 0; mov.u64 %w1, 1; @%p bra end;
    sub.u64 %w2, %w0, 1;
    {{ .param .b64 a; .param .b64 b; st.param.b64 [a], %w2; call (b), f, (a); ld.param.b64 %w1, [b]; }}
    add.u64 %w1, %w1, 1;
end: st.param.b64 [r], %w1; ret;
}}
.visible .entry k(.param .u64 n, .param .u64 out) {{
    .reg .b64 %w<4>;
    ld.param.u64 %w0, [n]; ld.param.u64 %w1, [out];
    {{ .param .b64 a; .param .b64 b; st.param.b64 [a], %w0; call (b), f, (a); ld.param.b64 %w2, [b]; }}
    st.global.u64 [%w1], %w2; ret;
}}"
    ));
    let limits = Limits {
        stack_bytes,
        ..Limits::default()
    };
    let mut out = [0_u64];
    let launch = Launch::of(&text)
        .expect("it loads")
        .kernel("k")
        .limits(limits);
    let report = launch
        .value(depth)
        .output(&mut out)
        .check()
        .expect("it starts");
    match report.to_string() {
        text if text.contains("stack overflow") => text,
        _ => {
            report.assert_clean();
            out[0].to_string()
        }
    }
}

#[test]
fn recursion_is_as_deep_as_the_stack() {
    assert_eq!(recursion("", 300, 64 << 10), "301");
    assert_eq!(recursion("", 10_000, 512 << 10), "10001");
    let text = recursion("", 300, 8 << 10);
    assert!(
        text.contains("pass the limit of 8192 bytes of stack"),
        "{text}"
    );
    assert!(text.contains("needs a larger stack"), "{text}");
    // An array counts without the gaps that the detectors put around it.
    let array = ".local .align 8 .b8 a[64];";
    assert_eq!(recursion(array, 500, 64 << 10), "501");
    assert!(recursion(array, 1_000, 64 << 10).contains("stack overflow"));
}
