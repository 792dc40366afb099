//! Conversions between types.

use crate::common::{d, f, one};

#[track_caller]
fn check(body: &str, result: &str, operand: u64, expected: u64) {
    let actual = one(body, result, [operand, 0, 0]);
    assert_eq!(
        actual, expected,
        "{body} of {operand:#x} gives {actual:#x}, not {expected:#x}"
    );
}

#[test]
fn integers_extend_and_cut() {
    check(
        "cvt.s64.s32 %D, %a;",
        "%D",
        0x8000_0000,
        0xffff_ffff_8000_0000,
    );
    check("cvt.u64.u32 %D, %a;", "%D", 0x8000_0000, 0x8000_0000);
    check("cvt.s32.s8 %d, %a;", "%d", 0x1ff, 0xffff_ffff);
    check("cvt.u32.u8 %d, %a;", "%d", 0x1ff, 0xff);
    check("cvt.s16.s8 %h, %ha;", "%h", 0x80, 0xff80);
    check("cvt.s32.s16 %d, %ha;", "%d", 0x8000, 0xffff_8000);
    check("cvt.s64.s16 %D, %ha;", "%D", 0x8000, 0xffff_ffff_ffff_8000);
    check("cvt.u16.u32 %h, %a;", "%h", 0x1_2345, 0x2345);
    check("cvt.sat.s8.s32 %d, %a;", "%d", 1000, 127);
    check("cvt.sat.u8.s32 %d, %a;", "%d", 0xffff_fff0, 0);
    check("cvt.sat.u32.s64 %d, %A;", "%d", u64::MAX, 0);
    check("cvt.s8.s32 %d, %a;", "%d", 0x180, 0xffff_ff80);
}

#[test]
fn floats_clamp_to_integers() {
    check(
        "cvt.rzi.s32.f32 %d, %a;",
        "%d",
        f(-1.9),
        (-1_i32) as u32 as u64,
    );
    check("cvt.rni.s32.f32 %d, %a;", "%d", f(2.5), 2);
    check(
        "cvt.rmi.s32.f32 %d, %a;",
        "%d",
        f(-1.1),
        (-2_i32) as u32 as u64,
    );
    check("cvt.rpi.u32.f64 %d, %A;", "%d", d(1.1), 2);
    check("cvt.rzi.s32.f32 %d, %a;", "%d", f(1e20), 0x7fff_ffff);
    check("cvt.rzi.u32.f32 %d, %a;", "%d", f(-5.0), 0);
    check("cvt.rzi.s64.f64 %D, %A;", "%D", d(-1e300), 1 << 63);
    check("cvt.rzi.u64.f32 %D, %a;", "%D", f(f32::INFINITY), u64::MAX);
    check("cvt.rzi.s32.f32 %d, %a;", "%d", f(f32::NAN), 0);
    check("cvt.rzi.s64.f64 %D, %A;", "%D", d(f64::NAN), 1 << 63);
    check("cvt.rzi.u8.f32 %d, %a;", "%d", f(300.0), 255);
}

#[test]
fn integers_round_to_floats() {
    check("cvt.rn.f32.s32 %d, %a;", "%d", 0xffff_ffff, f(-1.0));
    check("cvt.rn.f32.u32 %d, %a;", "%d", 0x0100_0001, f(16_777_216.0));
    check("cvt.rp.f32.u32 %d, %a;", "%d", 0x0100_0001, f(16_777_218.0));
    check(
        "cvt.rz.f32.u64 %d, %A;",
        "%d",
        u64::MAX,
        f(18_446_742_974_197_923_840.0),
    );
    // Rounded once: through a double this would be a tie.
    check(
        "cvt.rn.f32.s64 %d, %A;",
        "%d",
        0x0100_0001_0000_0001,
        f(0x0100_0001_0000_0001_u64 as f32),
    );
    check(
        "cvt.rn.f64.s64 %D, %A;",
        "%D",
        (1 << 53) + 1,
        d(9_007_199_254_740_992.0),
    );
    check(
        "cvt.rp.f64.s64 %D, %A;",
        "%D",
        (1 << 53) + 1,
        d(9_007_199_254_740_994.0),
    );
    check("cvt.rn.f64.u32 %D, %a;", "%D", 7, d(7.0));
}

#[test]
fn floats_change_width() {
    check("cvt.f64.f32 %D, %a;", "%D", f(0.1), d(f64::from(0.1_f32)));
    check("cvt.rn.f32.f64 %d, %A;", "%d", d(0.1), f(0.1));
    check(
        "cvt.rm.f32.f64 %d, %A;",
        "%d",
        d(0.1),
        f(0.1_f32.next_down()),
    );
    // The one conversion that keeps a NaN's sign and payload.
    check("cvt.rn.f32.f64 %d, %A;", "%d", d(f64::NAN), 0x7fc0_0000);
    check("cvt.rz.f32.f64 %d, %A;", "%d", u64::MAX, 0xffff_ffff);
    check("cvt.rn.ftz.f32.f64 %d, %A;", "%d", d(1e-40), 0);
    check("cvt.sat.f32.f32 %d, %a;", "%d", f(7.0), f(1.0));
    check("cvt.rni.f32.f32 %d, %a;", "%d", f(3.5), f(4.0));
    check("cvt.rzi.f64.f64 %D, %A;", "%D", d(-3.5), d(-3.0));
    check("cvt.rn.f16.f32 %h, %a;", "%h", f(65_519.0), 0x7bff);
    check("cvt.rn.f16.f32 %h, %a;", "%h", f(65_520.0), 0x7c00);
    check("cvt.f32.f16 %d, %ha;", "%d", 0x0001, f(2.0_f32.powi(-24)));
    check("cvt.rn.bf16.f32 %h, %a;", "%h", 0x3f80_8000, 0x3f80);
    check("cvt.f32.bf16 %d, %ha;", "%d", 0xc020, f(-2.5));
    check("cvt.rna.tf32.f32 %d, %a;", "%d", 0x3f80_1000, 0x3f80_2000);
    check(
        "cvt.rn.f16x2.f32 %d, %a, 0f3F800000;",
        "%d",
        f(2.0),
        0x4000_3c00,
    );
}

#[test]
fn vectors_pack_and_unpack() {
    check(
        "mov.b64 {%r0, %r1}, %A; mov.b64 %D, {%r1, %r0};",
        "%D",
        0x1111_2222_3333_4444,
        0x3333_4444_1111_2222,
    );
    check(
        "mov.b32 {%rs0, %rs1}, %a; mov.b32 %d, {%rs1, %rs0};",
        "%d",
        0x1234_5678,
        0x5678_1234,
    );
    check(
        "mov.b64 {_, %d}, %A;",
        "%d",
        0x1111_2222_3333_4444,
        0x1111_2222,
    );
    check(
        "mov.b64 {%rs0, %rs1, %rs2, %rs3}, %A; cvt.u32.u16 %d, %rs2;",
        "%d",
        0x1111_2222_3333_4444,
        0x2222,
    );
}

#[test]
fn halves_of_either_kind_with_and_without_a_rounding() {
    for (form, [a, d]) in [
        ("cvt.bf16.f16", [0x3c00, 0x3f80]),
        ("cvt.rn.bf16.f16", [0xc500, 0xc0a0]),
        ("cvt.f16.bf16", [0x3f80, 0x3c00]),
        ("cvt.rn.f16.bf16", [0xc0a0, 0xc500]),
    ] {
        assert_eq!(
            one(&format!("{form} %h, %ha;"), "%h", [a, 0, 0]),
            d,
            "{form}"
        );
    }
}
