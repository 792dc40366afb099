//! What compilers do with undefined values without using them.

use super::{Device, TILE, check, clean, kernel, memory};
use crate::common::shape;
use ptx_emulator::Space;

#[test]
fn a_load_ahead_of_its_test_is_no_use() {
    clean(
        TILE,
        "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.lt.u32 %p0, %t, 99;
selp.u32 %r2, %t, %r1, %p0;
st.global.u32 [%out], %r2;",
    );
    // It is one when the select takes the other operand.
    let body = "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.lt.u32 %p0, %t, 20;
selp.u32 %r2, %t, %r1, %p0;
st.global.u32 [%out], %r2;";
    let report = check(TILE, body, shape(1, 32, 0));
    assert_eq!(memory(report, Space::Shared, 1, 4, &[]).count, 12);
}

#[test]
fn a_condition_that_another_one_hides_is_no_use() {
    clean(
        TILE,
        "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.gt.u32 %p0, %t, 99;
setp.eq.u32 %p1, %r1, 3;
and.pred %p2, %p0, %p1;
@%p2 bra $end;
st.global.u32 [%out], %t;
$end:",
    );
}

#[test]
fn a_result_that_no_operand_changes_is_defined() {
    let uses = |compute: &str| {
        format!(
            "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
mov.u32 %r3, 0;
mov.u32 %r4, 6;
{compute}
setp.eq.u32 %p1, %r2, 3;
@%p1 bra $end;
st.global.u32 [%out], %t;
$end:"
        )
    };
    for compute in [
        "xor.b32 %r2, %r1, %r1;",
        "sub.s32 %r2, %r1, %r1;",
        "mul.lo.u32 %r2, %r1, %r3;",
        "cvt.u64.u32 %rd1, %r1; xor.b64 %rd2, %rd1, %rd1; cvt.u32.u64 %r2, %rd2;",
    ] {
        clean(TILE, &uses(compute));
    }
    for compute in [
        "xor.b32 %r2, %r1, %r4;",
        "add.s32 %r2, %r1, %r1;",
        "mul.lo.u32 %r2, %r1, %r4;",
    ] {
        let report = check(TILE, &uses(compute), shape(1, 32, 0));
        assert_eq!(
            memory(report, Space::Shared, 1, 6, &[]).count,
            32,
            "{compute}"
        );
    }
}

#[test]
fn copies_of_structs_with_padding() {
    // { u8, pad, u16, u32 }: stored by fields, copied as a whole to shared, local and global memory, and taken apart.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 8, %r0;
st.shared.u8 [%r0], %t;
st.shared.u16 [%r0+2], %t;
st.shared.u32 [%r0+4], %t;
ld.shared.b64 %rd0, [%r0];
st.local.b64 [copy], %rd0;
ld.local.v2.b32 {%r1, %r2}, [copy];
shr.u32 %r3, %r1, 16;
and.b32 %r4, %r1, 255;
prmt.b32 %r5, %r1, %r2, 0x7632;
bfe.u32 %r6, %r1, 16, 8;
cvt.u16.u32 %h0, %r1;
and.b16 %h0, %h0, 255;
cvt.u32.u16 %r7, %h0;
add.u32 %r3, %r3, %r4;
add.u32 %r3, %r3, %r5;
add.u32 %r3, %r3, %r6;
add.u32 %r3, %r3, %r7;
shr.u64 %rd1, %rd0, 32;
cvt.u32.u64 %r8, %rd1;
add.u32 %r3, %r3, %r8;
setp.eq.u32 %p0, %r3, 77;
@%p0 bra $end;
st.global.u32 [%out], %r3;
and.b64 %rd2, %in, -8;
st.global.b64 [%rd2], %rd0;
$end:";
    let text = kernel(TILE, body).replace("%p<4>;", "%p<4>; .local .align 8 .b8 copy[8];");
    let report = Device::new(&text).check("k", shape(1, 32, 0));
    assert!(report.is_clean(), "{:#?}", report.findings);
    // The padding itself is undefined.
    let text = text.replace("and.b32 %r4, %r1, 255;", "and.b32 %r4, %r1, 256;");
    let report = Device::new(&text).check("k", shape(1, 32, 0));
    assert!(!report.is_clean());
}

#[test]
fn partly_filled_tiles_under_one_predicate() {
    clean(
        TILE,
        "setp.lt.u32 %p0, %t, 20;
mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 4, %r0;
@%p0 ld.global.u32 %r1, [%in];
@%p0 st.shared.u32 [%r0], %r1;
bar.sync 0;
@%p0 ld.shared.u32 %r2, [%r0];
@%p0 add.u32 %r2, %r2, 1;
@%p0 st.global.u32 [%out], %r2;",
    );
}

#[test]
fn loops_reused_registers_and_divergent_paths() {
    // %r1 is undefined at the entry of the loop in name only: the first round writes it.
    clean(
        TILE,
        "mov.u32 %r0, 0;
$loop:
setp.eq.u32 %p0, %r0, 0;
@%p0 mov.u32 %r1, %t;
@!%p0 add.u32 %r1, %r1, 2;
and.b32 %r2, %t, 1;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra $even;
mul.lo.u32 %r3, %r1, 3;
bra.uni $join;
$even:
mul.lo.u32 %r3, %r1, 5;
$join:
add.u32 %r0, %r0, 1;
setp.lt.u32 %p2, %r0, 5;
@%p2 bra $loop;
st.global.u32 [%out], %r3;",
    );
}

#[test]
fn one_block_does_not_see_what_the_one_before_stored() {
    // The first block stores; the second only reads.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 4, %r0;
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p0, %r1, 0;
@%p0 st.shared.u32 [%r0], %t;
ld.shared.u32 %r2, [%r0];
st.global.u32 [%out], %r2;";
    let finding = memory(check(TILE, body, shape(2, 32, 0)), Space::Shared, 5, 6, &[]);
    assert_eq!((finding.site.block, finding.count), ([1, 0, 0], 32));
}
