//! Registers of 128 bits.

use crate::common::{launch, shape};

fn run(body: &str) -> Vec<u64> {
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .b128 %q<3>; .reg .b128 %one; .reg .b64 %a, %b, %p;
        .shared .align 16 .b8 s[32]; ld.param.u64 %p, [p];
        {body}
        ret; }}"
    );
    launch(&text, shape(1, 1, 0), &[1, 2, 3, 4], 4)
        .expect("it runs")
        .0
}

#[test]
fn they_are_packed_moved_and_unpacked() {
    let swapped = "ld.global.v2.b64 {%a, %b}, [%p]; mov.b128 %q0, {%b, %a}; mov.b128 %one, %q0;
        mov.b128 {%a, %b}, %one; st.global.v2.b64 [%p+16], {%a, %b};";
    assert_eq!(run(swapped), [1, 2, 2, 1]);
    let half = "mov.u64 %a, 9; mov.b128 %q1, {7, 8}; mov.b128 {_, %b}, %q1; st.global.v2.b64 [%p], {%a, %b};";
    assert_eq!(run(half), [9, 8, 3, 4]);
}

#[test]
fn they_are_loaded_and_stored() {
    let through_shared = "ld.global.b128 %q2, [%p+16]; st.shared.b128 [s+16], %q2;
        ld.volatile.shared.b128 %one, [s+16]; st.release.gpu.global.b128 [%p], %one;";
    assert_eq!(run(through_shared), [3, 4, 3, 4]);
}

#[test]
fn they_are_aligned() {
    let text =
        ".visible .entry k(.param .u64 p) { .reg .b128 %q; .reg .b64 %p; ld.param.u64 %p, [p];
        ld.global.b128 %q, [%p+8]; ret; }";
    let fault = launch(text, shape(1, 1, 0), &[0; 4], 4).expect_err("it is misaligned");
    assert!(fault.to_string().contains("misaligned"), "{fault}");
}
