//! Integer instructions at the edges of their types.

use crate::common::{compute, one};

#[track_caller]
fn check(body: &str, result: &str, operands: [u64; 3], expected: u64) {
    assert_eq!(
        one(body, result, operands),
        expected,
        "{body} of {operands:x?}"
    );
}

const MIN32: u64 = 0x8000_0000;
const MIN64: u64 = 1 << 63;

#[test]
fn sums_wrap_and_saturate() {
    check("add.s32 %d, %a, %b;", "%d", [0x7fff_ffff, 1, 0], MIN32);
    check(
        "add.sat.s32 %d, %a, %b;",
        "%d",
        [0x7fff_ffff, 1, 0],
        0x7fff_ffff,
    );
    check("sub.sat.s32 %d, %a, %b;", "%d", [MIN32, 1, 0], MIN32);
    check("sub.u64 %D, %A, %B;", "%D", [0, 1, 0], u64::MAX);
    check("add.u16 %h, %ha, %hb;", "%h", [0xffff, 2, 0], 1);
    check("sub.s16 %h, %ha, %hb;", "%h", [0, 1, 0], 0xffff);
}

#[test]
fn products_have_two_halves() {
    check(
        "mul.lo.s32 %d, %a, %b;",
        "%d",
        [0x1_0001, 0x1_0001, 0],
        0x0002_0001,
    );
    check(
        "mul.hi.u32 %d, %a, %b;",
        "%d",
        [0xffff_ffff, 0xffff_ffff, 0],
        0xffff_fffe,
    );
    check(
        "mul.hi.s32 %d, %a, %b;",
        "%d",
        [0xffff_ffff, 5, 0],
        0xffff_ffff,
    );
    check(
        "mul.hi.u64 %D, %A, %B;",
        "%D",
        [u64::MAX, u64::MAX, 0],
        u64::MAX - 1,
    );
    check("mul.hi.s64 %D, %A, %B;", "%D", [u64::MAX, 7, 0], u64::MAX);
    check(
        "mul.hi.s16 %h, %ha, %hb;",
        "%h",
        [0x8000, 0x8000, 0],
        0x4000,
    );
    check(
        "mul.wide.s32 %D, %a, %b;",
        "%D",
        [0xffff_ffff, 3, 0],
        (-3_i64) as u64,
    );
    check(
        "mul.wide.u32 %D, %a, %b;",
        "%D",
        [0xffff_ffff, 3, 0],
        0x2_ffff_fffd,
    );
    check(
        "mul.wide.s16 %d, %ha, %hb;",
        "%d",
        [0xffff, 3, 0],
        0xffff_fffd,
    );
    check(
        "mad.wide.u32 %D, %a, %b, %C;",
        "%D",
        [0xffff_ffff, 2, 5],
        0x2_0000_0003,
    );
    check("mad.lo.s64 %D, %A, %B, %C;", "%D", [1 << 63, 2, 9], 9);
    check("mad.hi.u32 %d, %a, %b, %c;", "%d", [MIN32, 6, 1], 4);
    check(
        "mad.hi.sat.s32 %d, %a, %b, %c;",
        "%d",
        [0x4000_0000, 16, 0x7fff_ffff],
        0x7fff_ffff,
    );
    check(
        "mul24.lo.s32 %d, %a, %b;",
        "%d",
        [0xff_ffff, 2, 0],
        0xffff_fffe,
    );
    check(
        "mul24.hi.u32 %d, %a, %b;",
        "%d",
        [0xff_ffff, 0xff_ffff, 0],
        0xffff_fe00,
    );
}

#[test]
fn quotients_round_to_zero() {
    check(
        "div.s32 %d, %a, %b;",
        "%d",
        [(-7_i32) as u32 as u64, 2, 0],
        (-3_i32) as u32 as u64,
    );
    check(
        "rem.s32 %d, %a, %b;",
        "%d",
        [(-7_i32) as u32 as u64, 2, 0],
        (-1_i32) as u32 as u64,
    );
    check("div.s32 %d, %a, %b;", "%d", [MIN32, 0xffff_ffff, 0], MIN32);
    check("rem.s64 %D, %A, %B;", "%D", [MIN64, u64::MAX, 0], 0);
    check("div.u16 %h, %ha, %hb;", "%h", [0xffff, 7, 0], 0xffff / 7);
    check("div.s16 %h, %ha, %hb;", "%h", [0xfff9, 2, 0], 0xfffd);
    check("rem.u64 %D, %A, %B;", "%D", [u64::MAX, 10, 0], 5);
}

/// PTX leaves the result undefined, so a bare launch goes on.
#[test]
fn a_division_by_zero_gives_all_ones() {
    for operands in [[7, 0, 0], [0, 0, 0], [u64::MAX - 6, 0, 0]] {
        for what in ["div", "rem"] {
            let check = |ty, names, result, expected| {
                check(&format!("{what}.{ty} {names};"), result, operands, expected);
            };
            check("u16", "%h, %ha, %hb", "%h", 0xffff);
            check("s32", "%d, %a, %b", "%d", 0xffff_ffff);
            check("u32", "%d, %a, %b", "%d", 0xffff_ffff);
            check("s64", "%D, %A, %B", "%D", u64::MAX);
            check("u64", "%D, %A, %B", "%D", u64::MAX);
        }
    }
}

#[test]
fn signs_and_extremes() {
    check("abs.s32 %d, %a;", "%d", [0xffff_fffb, 0, 0], 5);
    check("abs.s64 %D, %A;", "%D", [MIN64, 0, 0], MIN64);
    check("neg.s16 %h, %ha;", "%h", [1, 0, 0], 0xffff);
    check("min.s32 %d, %a, %b;", "%d", [MIN32, 1, 0], MIN32);
    check("min.u32 %d, %a, %b;", "%d", [MIN32, 1, 0], 1);
    check("max.s64 %D, %A, %B;", "%D", [MIN64, 1, 0], 1);
    check("max.u64 %D, %A, %B;", "%D", [MIN64, 1, 0], MIN64);
    check("max.s16 %h, %ha, %hb;", "%h", [0x8000, 3, 0], 3);
    check("max.u16 %h, %ha, %hb;", "%h", [0x8000, 3, 0], 0x8000);
    check("sad.s32 %d, %a, %b, %c;", "%d", [0xffff_ffff, 4, 10], 15);
    check("sad.u32 %d, %a, %b, %c;", "%d", [3, 5, 10], 12);
}

#[test]
fn shifts_clamp_at_the_width() {
    for count in [32, 33, 64, 0xffff_ffff] {
        check("shl.b32 %d, %a, %b;", "%d", [1, count, 0], 0);
        check("shr.u32 %d, %a, %b;", "%d", [MIN32, count, 0], 0);
        check("shr.s32 %d, %a, %b;", "%d", [MIN32, count, 0], 0xffff_ffff);
    }
    check("shl.b32 %d, %a, %b;", "%d", [1, 31, 0], MIN32);
    check("shl.b64 %D, %A, %b;", "%D", [1, 63, 0], MIN64);
    check("shl.b64 %D, %A, %b;", "%D", [1, 64, 0], 0);
    check("shr.s64 %D, %A, %b;", "%D", [MIN64, 200, 0], u64::MAX);
    check("shr.u64 %D, %A, %b;", "%D", [MIN64, 63, 0], 1);
    check("shr.s16 %h, %ha, %b;", "%h", [0x8000, 17, 0], 0xffff);
    check("shr.u16 %h, %ha, %b;", "%h", [0x8000, 15, 0], 1);
    check("shl.b16 %h, %ha, %b;", "%h", [0x00ff, 12, 0], 0xf000);
    check(
        "shf.l.wrap.b32 %d, %a, %b, %c;",
        "%d",
        [0x8000_0001, 0xf, 33],
        0x1f,
    );
    check(
        "shf.r.wrap.b32 %d, %a, %b, %c;",
        "%d",
        [0x10, 0x3, 4],
        0x3000_0001,
    );
    check(
        "shf.l.clamp.b32 %d, %a, %b, %c;",
        "%d",
        [0xabcd, 1, 99],
        0xabcd,
    );
    check("shf.r.clamp.b32 %d, %a, %b, %c;", "%d", [0xabcd, 7, 99], 7);
}

#[test]
fn bit_fields() {
    check("popc.b32 %d, %a;", "%d", [0xf0f0, 0, 0], 8);
    check("popc.b64 %d, %A;", "%d", [u64::MAX, 0, 0], 64);
    check("clz.b32 %d, %a;", "%d", [0, 0, 0], 32);
    check("clz.b64 %d, %A;", "%d", [1, 0, 0], 63);
    check("brev.b32 %d, %a;", "%d", [1, 0, 0], MIN32);
    check("brev.b64 %D, %A;", "%D", [2, 0, 0], 1 << 62);
    check("bfind.u32 %d, %a;", "%d", [0, 0, 0], 0xffff_ffff);
    check("bfind.u32 %d, %a;", "%d", [0x10, 0, 0], 4);
    check("bfind.s32 %d, %a;", "%d", [0xffff_ffff, 0, 0], 0xffff_ffff);
    check("bfind.s32 %d, %a;", "%d", [0xffff_fff0, 0, 0], 3);
    check("bfind.shiftamt.u32 %d, %a;", "%d", [0x10, 0, 0], 27);
    check("bfind.u64 %d, %A;", "%d", [1 << 40, 0, 0], 40);
    check("bfe.u32 %d, %a, %b, %c;", "%d", [0xabcd, 4, 8], 0xbc);
    check("bfe.s32 %d, %a, %b, %c;", "%d", [0xabcd, 4, 8], 0xffff_ffbc);
    check(
        "bfe.s32 %d, %a, %b, %c;",
        "%d",
        [MIN32, 24, 16],
        0xffff_ff80,
    );
    check("bfe.u32 %d, %a, %b, %c;", "%d", [MIN32, 24, 16], 0x80);
    check("bfe.s32 %d, %a, %b, %c;", "%d", [MIN32, 3, 0], 0);
    check(
        "bfe.s64 %D, %A, %b, %c;",
        "%D",
        [0x80, 0, 8],
        (-128_i64) as u64,
    );
    check(
        "bfi.b32 %d, %a, %b, %c, 8;",
        "%d",
        [0xff, 0x1111_1111, 4],
        0x1111_1ff1,
    );
    check("bfi.b64 %D, %A, %B, 60, 8;", "%D", [0xff, 0, 0], 0xf << 60);
    check(
        "lop3.b32 %d, %a, %b, %c, 0xe8;",
        "%d",
        [0b1100, 0b1010, 0b1001],
        0b1000 | 0b1000,
    );
    check(
        "lop3.b32 %d, %a, %b, %c, 0x96;",
        "%d",
        [0b1100, 0b1010, 0b1001],
        0b1111,
    );
    check("not.b32 %d, %a;", "%d", [0, 0, 0], 0xffff_ffff);
    check("not.b16 %h, %ha;", "%h", [1, 0, 0], 0xfffe);
    check("cnot.b32 %d, %a;", "%d", [0, 0, 0], 1);
    check("xor.b64 %D, %A, %B;", "%D", [5, 3, 0], 6);
}

#[test]
fn bytes_are_permuted() {
    let operands = [0x3322_1100, 0x7766_5544, 0];
    for (selector, expected) in [
        (0x3210, 0x3322_1100_u64),
        (0x7654, 0x7766_5544),
        (0x0123, 0x0011_2233),
        (0x8, 0x0000_0000),
    ] {
        check(
            &format!("prmt.b32 %d, %a, %b, {selector};"),
            "%d",
            operands,
            if selector == 8 { 0 } else { expected },
        );
    }
    // Bit 3 of a selector spreads the sign of its byte.
    check(
        "prmt.b32 %d, %a, %b, 0x9988;",
        "%d",
        [0x0000_80ff, 0, 0],
        0xffff_ffff,
    );
    check(
        "prmt.b32.f4e %d, %a, %b, %c;",
        "%d",
        [0x3322_1100, 0x7766_5544, 1],
        0x4433_2211,
    );
    check(
        "prmt.b32.b4e %d, %a, %b, %c;",
        "%d",
        [0x3322_1100, 0x7766_5544, 0],
        0x5566_7700,
    );
    check(
        "prmt.b32.rc8 %d, %a, %b, %c;",
        "%d",
        [0x3322_1100, 0, 2],
        0x2222_2222,
    );
    check(
        "prmt.b32.rc16 %d, %a, %b, %c;",
        "%d",
        [0x3322_1100, 0, 1],
        0x3322_3322,
    );
}

#[test]
fn carries_pass_from_one_instruction_to_the_next() {
    let wide = "cvt.u32.u64 %r0, %A; shr.u64 %rd0, %A, 32; cvt.u32.u64 %r1, %rd0;
                cvt.u32.u64 %r2, %B; shr.u64 %rd1, %B, 32; cvt.u32.u64 %r3, %rd1;";
    let sum = format!(
        "{wide} add.cc.u32 %r4, %r0, %r2; addc.u32 %r5, %r1, %r3; mov.b64 %D, {{%r4, %r5}};"
    );
    check(&sum, "%D", [0xffff_ffff, 1, 0], 1 << 32);
    check(&sum, "%D", [0x1_ffff_fffe, 0x1_0000_0001, 0], 0x2_ffff_ffff);
    let difference = format!(
        "{wide} sub.cc.u32 %r4, %r0, %r2; subc.u32 %r5, %r1, %r3; mov.b64 %D, {{%r4, %r5}};"
    );
    check(&difference, "%D", [1 << 32, 1, 0], 0xffff_ffff);
    let product =
        "mad.lo.cc.u32 %r0, %a, %b, %c; madc.hi.u32 %r1, %a, %b, 0; mov.b64 %D, {%r0, %r1};";
    check(
        product,
        "%D",
        [0xffff_ffff, 0xffff_ffff, 1],
        0xffff_fffe_0000_0002,
    );
    check(
        "add.cc.u64 %rd0, %A, %B; addc.u64 %D, 0, 0;",
        "%D",
        [u64::MAX, 1, 0],
        1,
    );
}

#[test]
fn dot_products_of_bytes() {
    check(
        "dp4a.u32.u32 %d, %a, %b, %c;",
        "%d",
        [0x0102_03ff, 0x0101_0101, 10],
        271,
    );
    check(
        "dp4a.s32.s32 %d, %a, %b, %c;",
        "%d",
        [0x0102_03ff, 0x0101_0101, 10],
        15,
    );
}

#[test]
fn predicates_guard_lanes() {
    let operands: Vec<[u64; 3]> = (0..32).map(|lane| [lane, 0, 0]).collect();
    let body =
        "setp.lt.u32 %q, %a, 10; mov.u32 %d, 7; @%q add.u32 %d, %d, %a; @!%q sub.u32 %d, %d, 7;";
    let expected: Vec<u64> = (0..32)
        .map(|lane| if lane < 10 { 7 + lane } else { 0 })
        .collect();
    assert_eq!(compute(body, "%d", &operands), expected);
}
