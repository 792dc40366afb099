//! Conversions: 9.7.9 `cvt`.

use super::Rule;
use super::case::Case;
use super::values::{Source, Ty, Values, size};

const INTEGERS: [Ty; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];
const THREADS: u32 = 192;

/// A register may hold more than a type of 8 bits: then its other bits must not matter.
fn register(ty: Ty) -> Ty {
    if size(ty) == 1 { "b16" } else { ty }
}

fn new(form: &str, to: Ty, from: Ty) -> Case {
    let case = Case::new(form, register(to), &[register(from).into()]);
    // What becomes of a NaN is the same for every operand, so that also doubles are compared.
    case.threads(THREADS).rule(Rule::Bits)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for to in INTEGERS {
        for from in INTEGERS {
            cases.push(new(&format!("cvt.{to}.{from}"), to, from));
            if saturates(to, from) {
                cases.push(new(&format!("cvt.sat.{to}.{from}"), to, from));
            }
        }
    }
    // Into and out of wider registers.
    for (form, result, source) in [
        ("cvt.u8.u32", "b32", "b32"),
        ("cvt.s8.s32", "b32", "b32"),
        ("cvt.s16.s64", "b32", "b64"),
        ("cvt.u16.u32", "b64", "b32"),
        ("cvt.s32.s8", "b64", "b64"),
        ("cvt.u32.u16", "b64", "b64"),
        ("cvt.rzi.s8.f32", "b32", "b32"),
        ("cvt.rzi.s32.f32", "b64", "b32"),
        ("cvt.rzi.u16.f64", "b32", "b64"),
    ] {
        cases.push(Case::with_body(
            &format!("{form}.register"),
            &format!("{form} %d0, %a0;"),
            &[result],
            &[source.into()],
        ));
    }
    for from in ["f16", "bf16", "f32", "f64"] {
        let narrow = |to: &Ty| from != "bf16" || size(to) > 1;
        for to in INTEGERS.into_iter().filter(narrow) {
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                for ftz in if from == "f32" {
                    &["", ".ftz", ".ftz.sat"][..]
                } else {
                    &[""]
                } {
                    cases.push(new(&format!("cvt.{rounding}{ftz}.{to}.{from}"), to, from));
                }
                if from != "bf16" {
                    cases.push(new(&format!("cvt.{rounding}.sat.{to}.{from}"), to, from));
                }
            }
        }
    }
    for to in ["f16", "bf16", "f32", "f64"] {
        let narrow = |from: &Ty| to != "bf16" || size(from) > 1;
        for from in INTEGERS.into_iter().filter(narrow) {
            for rounding in ["rn", "rz", "rm", "rp"] {
                cases.push(new(&format!("cvt.{rounding}.{to}.{from}"), to, from));
                if to == "f32" || to == "f16" {
                    cases.push(new(&format!("cvt.{rounding}.sat.{to}.{from}"), to, from));
                }
            }
        }
    }
    for from in INTEGERS {
        for rounding in ["rn", "rz", "rm", "rp"] {
            for (modifiers, to) in [("ftz", "f32"), ("ftz.sat", "f32"), ("sat", "f64")] {
                let form = format!("cvt.{rounding}.{modifiers}.{to}.{from}");
                cases.push(new(&form, to, from).threads(64));
            }
        }
    }
    cases.extend(floats());
    cases.extend(packed());
    cases
}

/// PTX has `.sat` only where a value may not fit.
fn saturates(to: Ty, from: Ty) -> bool {
    let signed = |ty: Ty| ty.starts_with('s');
    match (signed(to), signed(from)) {
        (false, true) => true,
        (true, false) => size(to) <= size(from),
        _ => size(to) < size(from),
    }
}

fn floats() -> Vec<Case> {
    let mut cases = Vec::new();
    for rounding in ["rn", "rz", "rm", "rp"] {
        for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
            cases.push(new(
                &format!("cvt.{rounding}{modifiers}.f32.f64"),
                "f32",
                "f64",
            ));
        }
        cases.push(new(&format!("cvt.{rounding}.f16.f64"), "f16", "f64"));
        cases.push(new(&format!("cvt.{rounding}.sat.f16.f64"), "f16", "f64"));
        for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
            cases.push(new(
                &format!("cvt.{rounding}{modifiers}.f16.f32"),
                "f16",
                "f32",
            ));
        }
    }
    for (to, from) in [("f64", "f32"), ("f32", "f16"), ("f32", "f32")] {
        for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
            cases.push(new(&format!("cvt{modifiers}.{to}.{from}"), to, from));
        }
    }
    for (to, from) in [
        ("f64", "f16"),
        ("f64", "f64"),
        ("f16", "f16"),
        ("f64", "bf16"),
        ("f32", "bf16"),
    ] {
        cases.push(new(&format!("cvt.{to}.{from}"), to, from));
        if from != "bf16" {
            cases.push(new(&format!("cvt.sat.{to}.{from}"), to, from));
        }
    }
    cases.push(new("cvt.ftz.f32.bf16", "f32", "bf16"));
    cases.push(new("cvt.bf16.bf16", "bf16", "bf16"));
    cases.push(new("cvt.bf16.f16", "bf16", "f16"));
    cases.push(new("cvt.f16.bf16", "f16", "bf16"));
    for rounding in ["rni", "rzi", "rmi", "rpi"] {
        for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
            cases.push(new(
                &format!("cvt.{rounding}{modifiers}.f32.f32"),
                "f32",
                "f32",
            ));
        }
        for ty in ["f16", "f64"] {
            for modifiers in ["", ".sat"] {
                cases.push(new(&format!("cvt.{rounding}{modifiers}.{ty}.{ty}"), ty, ty));
            }
        }
        cases.push(new(&format!("cvt.{rounding}.bf16.bf16"), "bf16", "bf16"));
    }
    for rounding in ["rn", "rz", "rm", "rp"] {
        for (to, from) in [
            ("bf16", "f32"),
            ("bf16", "f64"),
            ("bf16", "f16"),
            ("f16", "bf16"),
        ] {
            cases.push(new(&format!("cvt.{rounding}.{to}.{from}"), to, from));
        }
        cases.push(new(&format!("cvt.{rounding}.ftz.bf16.f32"), "bf16", "f32"));
    }
    for rounding in ["rn", "rz"] {
        for ty in ["f16", "bf16"] {
            cases.push(new(&format!("cvt.{rounding}.relu.{ty}.f32"), ty, "f32"));
        }
        for relu in ["", ".relu"] {
            cases.push(new(&format!("cvt.{rounding}{relu}.tf32.f32"), "b32", "f32"));
        }
    }
    cases.push(new("cvt.rna.tf32.f32", "b32", "f32"));
    // Ties and their neighbours in the narrower formats.
    let ties: Vec<u64> = (0..96_u64)
        .map(|k| {
            0x3f80_0000
                + (k % 8) * 0x800
                + (k / 8 % 4) * 0x8000
                + [0, 1, 0xffff_ffff][(k / 32) as usize] % 0x800
        })
        .collect();
    for form in [
        "cvt.rn.f16.f32",
        "cvt.rz.f16.f32",
        "cvt.rn.bf16.f32",
        "cvt.rna.tf32.f32",
        "cvt.rn.tf32.f32",
    ] {
        let to = form.split('.').nth(2).map_or("b32", |ty| match ty {
            "f16" => "f16",
            "bf16" => "bf16",
            _ => "b32",
        });
        let source: Source = ("f32", Values::List(ties.clone())).into();
        cases.push(Case::new(form, to, &[source]).threads(96));
    }
    cases
}

/// Two floats to a pair.
fn packed() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in ["f16x2", "bf16x2"] {
        for rounding in ["rn", "rz"] {
            for modifiers in ["", ".relu"] {
                let form = format!("cvt.{rounding}{modifiers}.{ty}.f32");
                cases.push(Case::new(&form, ty, &["f32".into(), "f32".into()]));
            }
        }
    }
    cases
}
