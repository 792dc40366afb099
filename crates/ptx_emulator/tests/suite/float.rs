//! Float arithmetic: rounding, NaN, infinities, subnormals.

use crate::common::{d, f, one};

const NAN32: u64 = 0x7fff_ffff;

#[track_caller]
fn check(body: &str, result: &str, operands: [u64; 3], expected: u64) {
    let actual = one(body, result, operands);
    assert_eq!(
        actual, expected,
        "{body} of {operands:x?} gives {actual:#x}, not {expected:#x}"
    );
}

#[test]
fn nearest_even_is_ieee() {
    check(
        "add.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(f32::EPSILON / 2.0), 0],
        f(1.0),
    );
    check(
        "sub.rn.f64 %D, %A, %B;",
        "%D",
        [d(0.1), d(0.3), 0],
        d(0.1 - 0.3),
    );
    check(
        "mul.rn.f32 %d, %a, %b;",
        "%d",
        [f(1e-30), f(1e-15), 0],
        f(1e-30 * 1e-15),
    );
    check(
        "fma.rn.f32 %d, %a, %b, %c;",
        "%d",
        [f(1.0 + f32::EPSILON), f(1.0 + f32::EPSILON), f(-1.0)],
        f((1.0 + f32::EPSILON).mul_add(1.0 + f32::EPSILON, -1.0)),
    );
    check(
        "fma.rn.f64 %D, %A, %B, %C;",
        "%D",
        [d(0.1), d(10.0), d(-1.0)],
        d(0.1_f64.mul_add(10.0, -1.0)),
    );
    check(
        "div.rn.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(3.0), 0],
        f(1.0 / 3.0),
    );
    check(
        "sqrt.rn.f64 %D, %A;",
        "%D",
        [d(2.0), 0, 0],
        d(2.0_f64.sqrt()),
    );
    check(
        "rcp.rn.f32 %d, %a;",
        "%d",
        [f(-0.0), 0, 0],
        f(f32::NEG_INFINITY),
    );
}

#[test]
fn invalid_results_are_the_canonical_nan() {
    check(
        "add.f32 %d, %a, %b;",
        "%d",
        [f(f32::INFINITY), f(f32::NEG_INFINITY), 0],
        NAN32,
    );
    check("mul.f32 %d, %a, %b;", "%d", [0x7fc1_2345, f(1.0), 0], NAN32);
    check("sqrt.rn.f32 %d, %a;", "%d", [f(-1.0), 0, 0], NAN32);
    check("div.rn.f32 %d, %a, %b;", "%d", [f(0.0), f(0.0), 0], NAN32);
}

#[test]
fn the_number_wins_over_nan() {
    let nan = f(f32::NAN);
    check("min.f32 %d, %a, %b;", "%d", [nan, f(2.0), 0], f(2.0));
    check("max.f32 %d, %a, %b;", "%d", [f(2.0), nan, 0], f(2.0));
    check("min.f32 %d, %a, %b;", "%d", [nan, nan, 0], NAN32);
    check("min.NaN.f32 %d, %a, %b;", "%d", [nan, f(2.0), 0], NAN32);
    check("max.NaN.f32 %d, %a, %b;", "%d", [f(3.0), f(2.0), 0], f(3.0));
    check("min.f32 %d, %a, %b;", "%d", [f(0.0), f(-0.0), 0], f(-0.0));
    check("max.f32 %d, %a, %b;", "%d", [f(-0.0), f(0.0), 0], f(0.0));
    check(
        "min.f64 %D, %A, %B;",
        "%D",
        [d(f64::NAN), d(2.0), 0],
        d(2.0),
    );
    check("max.f64 %D, %A, %B;", "%D", [d(-0.0), d(0.0), 0], d(0.0));
}

#[test]
fn directed_rounding() {
    let third = 1.0_f32 / 3.0;
    check(
        "div.rz.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(3.0), 0],
        f(third.next_down()),
    );
    check(
        "div.rp.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(3.0), 0],
        f(third),
    );
    check(
        "div.rm.f32 %d, %a, %b;",
        "%d",
        [f(-1.0), f(3.0), 0],
        f(-third),
    );
    check(
        "add.rp.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(1e-30), 0],
        f(1.0_f32.next_up()),
    );
    check(
        "add.rm.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(-1.0), 0],
        f(-0.0),
    );
    check(
        "sub.rz.f32 %d, %a, %b;",
        "%d",
        [f(1.0), f(1e-30), 0],
        f(1.0_f32.next_down()),
    );
    check(
        "mul.rp.f32 %d, %a, %b;",
        "%d",
        [f(f32::MAX), f(2.0), 0],
        f(f32::INFINITY),
    );
    check(
        "mul.rz.f32 %d, %a, %b;",
        "%d",
        [f(f32::MAX), f(2.0), 0],
        f(f32::MAX),
    );
    check(
        "fma.rm.f32 %d, %a, %b, %c;",
        "%d",
        [f(1.0), f(1.0), f(1e-30)],
        f(1.0),
    );
    check(
        "fma.rp.f32 %d, %a, %b, %c;",
        "%d",
        [f(1.0), f(1.0), f(1e-30)],
        f(1.0_f32.next_up()),
    );
    check(
        "sqrt.rp.f32 %d, %a;",
        "%d",
        [f(2.0), 0, 0],
        f(2.0_f32.sqrt().next_up()),
    );
    check(
        "add.rp.f64 %D, %A, %B;",
        "%D",
        [d(1.0), d(1e-300), 0],
        d(1.0_f64.next_up()),
    );
    check("mul.rz.f64 %D, %A, %B;", "%D", [d(0.1), d(0.1), 0], {
        let nearest = 0.1_f64 * 0.1;
        d(if 0.1_f64.mul_add(0.1, -nearest) < 0.0 {
            nearest.next_down()
        } else {
            nearest
        })
    });
    check("mul.rp.f64 %D, %A, %B;", "%D", [1, 1, 0], 1);
    check(
        "div.rm.f64 %D, %A, %B;",
        "%D",
        [d(1.0), d(10.0), 0],
        d(0.1_f64.next_down()),
    );
}

#[test]
fn subnormals_stay_unless_flushed() {
    check("add.f32 %d, %a, %b;", "%d", [1, 1, 0], 2);
    check("add.ftz.f32 %d, %a, %b;", "%d", [1, 1, 0], 0);
    check(
        "mul.ftz.f32 %d, %a, %b;",
        "%d",
        [f(-1e-30), f(1e-15), 0],
        f(-0.0),
    );
    check(
        "fma.rn.ftz.f32 %d, %a, %b, %c;",
        "%d",
        [1, f(1.0), f(0.0)],
        0,
    );
    check("neg.ftz.f32 %d, %a;", "%d", [1, 0, 0], f(-0.0));
}

#[test]
fn saturation_clamps_to_the_unit_interval() {
    check(
        "add.sat.f32 %d, %a, %b;",
        "%d",
        [f(0.75), f(0.75), 0],
        f(1.0),
    );
    check(
        "add.sat.f32 %d, %a, %b;",
        "%d",
        [f(-3.0), f(1.0), 0],
        f(0.0),
    );
    check(
        "mul.sat.f32 %d, %a, %b;",
        "%d",
        [f(f32::NAN), f(1.0), 0],
        f(0.0),
    );
    check(
        "fma.rn.sat.f32 %d, %a, %b, %c;",
        "%d",
        [f(0.5), f(0.5), f(0.25)],
        f(0.5),
    );
}

#[test]
fn signs() {
    // The first operand gives the sign.
    check(
        "copysign.f32 %d, %a, %b;",
        "%d",
        [f(-1.0), f(3.0), 0],
        f(-3.0),
    );
    check(
        "copysign.f64 %D, %A, %B;",
        "%D",
        [d(1.0), d(-3.0), 0],
        d(3.0),
    );
    check("neg.f64 %D, %A;", "%D", [d(0.0), 0, 0], d(-0.0));
    // As on an H200: the NaN of 32 bits is the canonical one, that of 64 bits only becomes quiet.
    for (bits, quiet) in [
        (0x7ff8_0000_0000_0005, 0x7ff8_0000_0000_0005),
        (0xfff8_0000_0000_0005, 0xfff8_0000_0000_0005),
        (0x7ff0_0000_0000_0001, 0x7ff8_0000_0000_0001),
        (0xfff0_0000_0000_0001, 0xfff8_0000_0000_0001),
    ] {
        check("neg.f64 %D, %A;", "%D", [bits, 0, 0], quiet);
        check("abs.f64 %D, %A;", "%D", [bits, 0, 0], quiet);
    }
    check(
        "abs.f64 %D, %A;",
        "%D",
        [d(f64::NEG_INFINITY), 0, 0],
        d(f64::INFINITY),
    );
    check("abs.f32 %d, %a;", "%d", [f(-2.5), 0, 0], f(2.5));
    check(
        "testp.finite.f32 %p, %a;",
        "%p",
        [f(f32::INFINITY), 0, 0],
        0,
    );
    check("testp.subnormal.f64 %p, %A;", "%p", [1, 0, 0], 1);
    check("testp.normal.f32 %p, %a;", "%p", [f(0.0), 0, 0], 1);
    check("testp.notanumber.f64 %p, %A;", "%p", [d(f64::NAN), 0, 0], 1);
}

#[test]
fn approximations_are_close() {
    let close = |body: &str, x: f32, expected: f64| {
        let actual = f64::from(f32::from_bits(one(body, "%d", [f(x), f(3.0), 0]) as u32));
        assert!(
            (actual - expected).abs() <= expected.abs() * 1e-6,
            "{body} of {x}: {actual}, not {expected}"
        );
    };
    for x in [0.3_f32, 1.7, 42.0] {
        let wide = f64::from(x);
        close("rcp.approx.f32 %d, %a;", x, 1.0 / wide);
        close("sqrt.approx.f32 %d, %a;", x, wide.sqrt());
        close("rsqrt.approx.ftz.f32 %d, %a;", x, 1.0 / wide.sqrt());
        close("sin.approx.f32 %d, %a;", x, wide.sin());
        close("cos.approx.ftz.f32 %d, %a;", x, wide.cos());
        close("lg2.approx.f32 %d, %a;", x, wide.log2());
        close("ex2.approx.ftz.f32 %d, %a;", x, wide.exp2());
        close("tanh.approx.f32 %d, %a;", x, wide.tanh());
        close("div.approx.f32 %d, %a, %b;", x, wide / 3.0);
        close("div.full.ftz.f32 %d, %a, %b;", x, wide / 3.0);
    }
    check(
        "ex2.approx.f32 %d, %a;",
        "%d",
        [f(f32::NEG_INFINITY), 0, 0],
        0,
    );
    check(
        "lg2.approx.f32 %d, %a;",
        "%d",
        [f(0.0), 0, 0],
        f(f32::NEG_INFINITY),
    );
    check(
        "rsqrt.approx.f32 %d, %a;",
        "%d",
        [f(-0.0), 0, 0],
        f(f32::NEG_INFINITY),
    );
}

#[test]
fn halves() {
    // 1.5 + 0.25, 2 * 3 + 1, in pairs, and bfloat16.
    check("add.f16 %h, %ha, %hb;", "%h", [0x3e00, 0x3400, 0], 0x3f00);
    check(
        "fma.rn.f16 %h, %ha, %hb, %hc;",
        "%h",
        [0x4000, 0x4200, 0x3c00],
        0x4700,
    );
    check(
        "mul.f16x2 %d, %a, %b;",
        "%d",
        [0x4000_3c00, 0x4000_4000, 0],
        0x4400_4000,
    );
    check("neg.bf16 %h, %ha;", "%h", [0x3f80, 0, 0], 0xbf80);
    check("max.f16 %h, %ha, %hb;", "%h", [0x7e00, 0x3c00, 0], 0x3c00);
    check("setp.lt.f16 %p, %ha, %hb;", "%p", [0xbc00, 0x3c00, 0], 1);
}

#[test]
fn extremes_of_three() {
    let nan = u64::from(f32::NAN.to_bits());
    let of = |op: &str| format!("{op} %d, %a, %b, %c;");
    for (op, sources, expected) in [
        ("max.f32", [f(1.0), f(3.0), f(2.0)], f(3.0)),
        ("min.f32", [f(1.0), f(3.0), f(-2.0)], f(-2.0)),
        ("max.f32", [nan, f(3.0), nan], f(3.0)),
        ("min.f32", [nan, nan, nan], NAN32),
        ("max.NaN.f32", [f(1.0), f(3.0), nan], NAN32),
        ("max.abs.f32", [f(1.0), f(3.0), f(-4.0)], f(4.0)),
        ("min.NaN.abs.f32", [f(-1.0), f(3.0), f(-4.0)], f(1.0)),
        ("min.f32", [f(0.0), f(5.0), f(-0.0)], f(-0.0)),
        ("max.ftz.f32", [f(-1.0), 1, f(-2.0)], 0),
    ] {
        check(&of(op), "%d", sources, expected);
    }
}
