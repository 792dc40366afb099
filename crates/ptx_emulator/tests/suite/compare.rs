//! Comparisons, selections and predicate logic.

use crate::common::{d, f, one};

const NAN: f32 = f32::NAN;

#[track_caller]
fn check(body: &str, result: &str, operands: [u64; 3], expected: u64) {
    assert_eq!(
        one(body, result, operands),
        expected,
        "{body} of {operands:x?}"
    );
}

#[test]
fn integers_compare_by_sign() {
    let big = 0xffff_ffff;
    check("setp.lt.s32 %p, %a, %b;", "%p", [big, 1, 0], 1);
    check("setp.lt.u32 %p, %a, %b;", "%p", [big, 1, 0], 0);
    check("setp.hi.u32 %p, %a, %b;", "%p", [big, 1, 0], 1);
    check("setp.ls.u64 %p, %A, %B;", "%p", [5, 5, 0], 1);
    check("setp.ge.s64 %p, %A, %B;", "%p", [u64::MAX, 0, 0], 0);
    check("setp.gt.s16 %p, %ha, %hb;", "%p", [0x8000, 0, 0], 0);
    check("setp.gt.u16 %p, %ha, %hb;", "%p", [0x8000, 0, 0], 1);
    check("setp.ne.b64 %p, %A, %B;", "%p", [1 << 40, 0, 0], 1);
}

#[test]
fn nan_is_unordered() {
    for (operator, with_nan) in [
        ("eq", 0),
        ("ne", 0),
        ("lt", 0),
        ("le", 0),
        ("gt", 0),
        ("ge", 0),
        ("num", 0),
        ("equ", 1),
        ("neu", 1),
        ("ltu", 1),
        ("leu", 1),
        ("gtu", 1),
        ("geu", 1),
        ("nan", 1),
    ] {
        let body = format!("setp.{operator}.f32 %p, %a, %b;");
        check(&body, "%p", [f(NAN), f(1.0), 0], with_nan);
        check(&body, "%p", [f(1.0), f(NAN), 0], with_nan);
        let body = format!("setp.{operator}.f64 %p, %A, %B;");
        check(&body, "%p", [d(f64::NAN), d(1.0), 0], with_nan);
    }
    for (operator, expected) in [
        ("ne", 1),
        ("equ", 0),
        ("ltu", 1),
        ("geu", 0),
        ("num", 1),
        ("nan", 0),
        ("neu", 1),
    ] {
        check(
            &format!("setp.{operator}.f32 %p, %a, %b;"),
            "%p",
            [f(1.0), f(2.0), 0],
            expected,
        );
    }
    check("setp.eq.f32 %p, %a, %b;", "%p", [f(0.0), f(-0.0), 0], 1);
    check("setp.eq.ftz.f32 %p, %a, %b;", "%p", [1, f(0.0), 0], 1);
}

#[test]
fn setp_combines_and_gives_the_opposite_too() {
    let both = "setp.eq.u32 %q, %c, 1; setp.lt.and.u32 %p|%q, %a, %b, %q; selp.b32 %r0, 2, 0, %q;
                selp.b32 %r1, 1, 0, %p; or.b32 %d, %r0, %r1;";
    check(both, "%d", [1, 2, 1], 1);
    check(both, "%d", [2, 1, 1], 2);
    check(both, "%d", [1, 2, 0], 0);
    check(
        "setp.eq.u32 %q, 1, 1; setp.lt.xor.u32 %p, %a, %b, !%q;",
        "%p",
        [1, 2, 0],
        1,
    );
}

#[test]
fn predicates_have_logic_of_their_own() {
    let body = "setp.eq.u32 %pp0, %a, 1; setp.eq.u32 %pp1, %b, 1;";
    check(
        &format!("{body} and.pred %p, %pp0, %pp1;"),
        "%p",
        [1, 1, 0],
        1,
    );
    check(
        &format!("{body} xor.pred %p, %pp0, %pp1;"),
        "%p",
        [1, 1, 0],
        0,
    );
    check(&format!("{body} not.pred %p, %pp0;"), "%p", [1, 1, 0], 0);
    check("mov.pred %p, -1;", "%p", [0; 3], 1);
}

#[test]
fn set_and_select() {
    check(
        "set.lt.u32.s32 %d, %a, %b;",
        "%d",
        [0xffff_ffff, 0, 0],
        0xffff_ffff,
    );
    check(
        "set.gt.f32.f32 %d, %a, %b;",
        "%d",
        [f(2.0), f(1.0), 0],
        f(1.0),
    );
    check(
        "setp.eq.u32 %q, %c, 0; selp.f64 %D, %A, %B, %q;",
        "%D",
        [5, 6, 0],
        5,
    );
    check(
        "setp.eq.u32 %q, %c, 0; selp.b16 %h, %ha, %hb, !%q;",
        "%h",
        [5, 6, 0],
        6,
    );
    check("slct.u32.s32 %d, %a, %b, %c;", "%d", [5, 6, 0xffff_ffff], 6);
    check("slct.u32.f32 %d, %a, %b, %c;", "%d", [5, 6, f(-0.0)], 5);
    check("slct.b64.f32 %D, %A, %B, %c;", "%D", [5, 6, f(NAN)], 6);
}
