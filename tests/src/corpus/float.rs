//! Arithmetic of `f32` and `f64` that PTX fixes to the bit: 9.7.3.

use super::case::Case;
use super::values::{Source, Ty, Values};

const ROUNDINGS: [&str; 4] = [".rn", ".rz", ".rm", ".rp"];

/// Around the smallest normal number: what is flushed depends on whether the result is rounded
/// before.
fn tiny() -> Vec<Case> {
    // Products of these are 2^-126 less a part that rounding fills up, or a half, a quarter of a
    // last place more or less.
    let left = [
        0x00ff_fffe,
        0x0080_0001,
        0x00ff_ffff,
        0x0080_0000,
        0x80ff_fffe,
        0x0100_0000,
        0x00ff_fffd,
    ];
    let right = [
        0x3f00_0001,
        0x3f7f_ffff,
        0x3f00_0000,
        0x3f80_0000,
        0xbf00_0001,
    ];
    let addend = [0, 0x8000_0000, 0x0080_0000, 0x8080_0000];
    let list = |values: &[u64]| Source::from(("f32", Values::List(values.to_vec())));
    let two = [list(&left), list(&right)];
    let mut cases = Vec::new();
    for rounding in ROUNDINGS {
        for (base, sources) in [
            (
                "add",
                [list(&left), list(&[0x8080_0000, 0x80ff_ffff, 0x8080_0001])].as_slice(),
            ),
            ("mul", &two),
            ("fma", &[list(&left), list(&right), list(&addend)]),
            (
                "div",
                &[
                    list(&left),
                    list(&[
                        0x3f80_0001,
                        0x3f80_0000,
                        0x3f7f_ffff,
                        0x4000_0001,
                        0x3fff_ffff,
                    ]),
                ],
            ),
            (
                "rcp",
                &[list(&[
                    0x7e80_0000,
                    0x7e80_0001,
                    0x7e7f_ffff,
                    0x7f00_0000,
                    0xfe80_0001,
                ])],
            ),
        ] {
            let form = format!("{base}{rounding}.ftz.f32");
            let operands = ["%d0", ", %a0", ", %a1", ", %a2"][..=sources.len()].concat();
            let body = format!("{form} {operands};");
            cases.push(
                Case::with_body(&format!("{form}.tiny"), &body, &["f32"], sources).threads(160),
            );
        }
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = tiny();
    let new = |cases: &mut Vec<Case>, form: String, ty: Ty, count: usize| {
        let sources: Vec<Source> = vec![ty.into(); count];
        cases.push(Case::new(&form, ty, &sources));
    };
    for base in ["add", "sub", "mul"] {
        for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
            for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
                new(
                    &mut cases,
                    format!("{base}{rounding}{modifiers}.f32"),
                    "f32",
                    2,
                );
            }
            new(&mut cases, format!("{base}{rounding}.f64"), "f64", 2);
        }
    }
    for rounding in ROUNDINGS {
        for base in ["fma", "mad"] {
            for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
                new(
                    &mut cases,
                    format!("{base}{rounding}{modifiers}.f32"),
                    "f32",
                    3,
                );
            }
            new(&mut cases, format!("{base}{rounding}.f64"), "f64", 3);
        }
        for (base, count) in [("div", 2), ("rcp", 1), ("sqrt", 1)] {
            for ftz in ["", ".ftz"] {
                new(
                    &mut cases,
                    format!("{base}{rounding}{ftz}.f32"),
                    "f32",
                    count,
                );
            }
            new(&mut cases, format!("{base}{rounding}.f64"), "f64", count);
        }
    }
    for base in ["min", "max"] {
        for ftz in ["", ".ftz"] {
            for nan in ["", ".NaN"] {
                for sign in ["", ".xorsign.abs"] {
                    new(&mut cases, format!("{base}{ftz}{nan}{sign}.f32"), "f32", 2);
                }
            }
        }
        new(&mut cases, format!("{base}.f64"), "f64", 2);
    }
    for base in ["neg", "abs"] {
        for ftz in ["", ".ftz"] {
            new(&mut cases, format!("{base}{ftz}.f32"), "f32", 1);
        }
        new(&mut cases, format!("{base}.f64"), "f64", 1);
    }
    for ty in ["f32", "f64"] {
        new(&mut cases, format!("copysign.{ty}"), ty, 2);
        for test in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            cases.push(Case::new(
                &format!("testp.{test}.{ty}"),
                "pred",
                &[ty.into()],
            ));
        }
    }
    cases
}
