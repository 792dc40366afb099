//! Comparisons and selections: 9.7.6 and 9.7.7 (half precision).

use super::case::Case;
use super::values::{Source, Ty};

const BITS: [&str; 2] = ["eq", "ne"];
const UNSIGNED: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const SIGNED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const FLOAT: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];
const TYPES: [Ty; 11] = [
    "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64",
];

/// The comparison operators that a type has.
fn operators(ty: Ty) -> &'static [&'static str] {
    match ty.as_bytes()[0] {
        b'b' if !ty.starts_with("bf") => &BITS,
        b'u' => &UNSIGNED,
        b's' => &SIGNED,
        _ => &FLOAT,
    }
}

fn flushes(ty: Ty) -> &'static [&'static str] {
    match ty {
        "f32" | "f16" | "f16x2" => &["", ".ftz"],
        _ => &[""],
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES.into_iter().chain(["f16", "bf16"]) {
        for operator in operators(ty) {
            for ftz in flushes(ty) {
                let form = format!("setp.{operator}{ftz}.{ty}");
                cases.push(Case::new(&form, "pred", &[ty.into(), ty.into()]));
            }
        }
        // The other operators of these differ only in the comparison proper.
        let operator = operators(ty)[operators(ty).len() - 2];
        for boolean in ["and", "or", "xor"] {
            for ftz in flushes(ty) {
                cases.extend(combined(ty, operator, boolean, ftz));
            }
        }
    }
    for ty in ["f16x2", "bf16x2"] {
        for operator in FLOAT {
            for ftz in flushes(ty) {
                let form = format!("setp.{operator}{ftz}.{ty}");
                let body = format!("{form} %d0|%d1, %a0, %a1;");
                let two = [ty.into(), ty.into()];
                cases.push(Case::with_body(&form, &body, &["pred", "pred"], &two));
            }
        }
    }
    cases.extend(sets());
    cases.extend(selections());
    cases
}

/// `p = (a op b) bool c`, and `q = !(a op b) bool c`.
fn combined(ty: Ty, operator: &str, boolean: &str, ftz: &str) -> [Case; 2] {
    let form = format!("setp.{operator}.{boolean}{ftz}.{ty}");
    let sources: [Source; 3] = [ty.into(), ty.into(), "pred".into()];
    // Of 16-bit floats only pairs have a second result.
    let (results, destination) = match ty {
        "f16" | "bf16" => (&["pred"][..], "%d0"),
        _ => (&["pred", "pred"][..], "%d0|%d1"),
    };
    let body = format!("{form} {destination}, %a0, %a1, !%a2;");
    [
        Case::new(&form, "pred", &sources),
        Case::with_body(&format!("{form}.not"), &body, results, &sources),
    ]
}

/// All operators of a type in one program: their results in turn.
fn sets() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES {
        for result in ["u32", "s32", "f32"] {
            for ftz in flushes(ty) {
                let name = format!("set{ftz}.{result}.{ty}");
                let body: Vec<String> = operators(ty)
                    .iter()
                    .enumerate()
                    .map(|(index, operator)| {
                        format!("set.{operator}{ftz}.{result}.{ty} %d{index}, %a0, %a1;")
                    })
                    .collect();
                let results = vec![result; operators(ty).len()];
                let two = [ty.into(), ty.into()];
                cases.push(Case::with_body(&name, &body.join(" "), &results, &two).threads(96));
            }
            let operator = operators(ty)[1];
            let body: Vec<String> = ["and", "or", "xor"]
                .iter()
                .enumerate()
                .map(|(index, boolean)| {
                    format!("set.{operator}.{boolean}.{result}.{ty} %d{index}, %a0, %a1, %a2;")
                })
                .collect();
            let three = [ty.into(), ty.into(), "pred".into()];
            let name = format!("set.bool.{result}.{ty}");
            cases.push(Case::with_body(&name, &body.join(" "), &[result; 3], &three).threads(96));
        }
    }
    cases
}

fn selections() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES {
        let sources = [ty.into(), ty.into(), "pred".into()];
        cases.push(Case::new(&format!("selp.{ty}"), ty, &sources).threads(96));
        let sources = [ty.into(), ty.into(), "s32".into()];
        cases.push(Case::new(&format!("slct.{ty}.s32"), ty, &sources).threads(96));
        let sources = [ty.into(), ty.into(), "f32".into()];
        for ftz in ["", ".ftz"] {
            cases.push(Case::new(&format!("slct{ftz}.{ty}.f32"), ty, &sources).threads(96));
        }
    }
    cases
}
