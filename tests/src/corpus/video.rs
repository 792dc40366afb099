//! The video instructions, which work on parts of registers (PTX ISA, 9.7.17), and the forms of
//! `lop3` with a predicate that says whether the result is not zero (9.7.8.6).

use super::case::Case;

const SIGNS: [&str; 2] = ["u32", "s32"];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = packed();
    cases.extend(single());
    for op in ["or", "and"] {
        let form = format!("lop3.{op}.b32");
        let body = format!(
            "setp.ne.u32 %p1, %a3, 0; {form} %d0|%p2, %a0, %a1, %a2, 0x68, %p1; selp.b32 %d1, 1, 0, %p2;"
        );
        let sources = ["b32".into(), "b32".into(), "b32".into(), "pred".into()];
        let body = body.replace("setp.ne.u32 %p1, %a3, 0;", "mov.pred %p1, %a3;");
        cases.push(Case::with_body(&form, &body, &["b32", "b32"], &sources));
    }
    cases
}

/// SIMD instructions on two halves or four bytes.
fn packed() -> Vec<Case> {
    let mut cases = Vec::new();
    let three = ["b32".into(), "b32".into(), "b32".into()];
    for parts in [2, 4] {
        for (a, b) in SIGNS.iter().flat_map(|a| SIGNS.map(|b| (a, b))) {
            for sum in ["", ".add"] {
                for comparison in COMPARISONS {
                    let form = format!("vset{parts}.{a}.{b}.{comparison}{sum}");
                    cases.push(Case::new(&form, "b32", &three));
                }
                let form = format!("vavrg{parts}.{a}.{a}.{b}{sum}");
                cases.push(Case::new(&form, "b32", &three));
            }
        }
    }
    cases
}

/// Scalar instructions on whole registers, halves and bytes.
fn single() -> Vec<Case> {
    let mut cases = Vec::new();
    let two = ["b32".into(), "b32".into()];
    let three = ["b32".into(), "b32".into(), "b32".into()];
    let mut add = |form: &str, part: &str, operands: &str, third: bool| {
        let body = format!("{form} %d0{part}, {operands};");
        let sources = if third { &three[..] } else { &two[..] };
        let name = format!("{form}{part}.{}", operands.replace(['%', ',', ' '], ""));
        cases.push(Case::with_body(&name, &body, &["b32"], sources));
    };
    for base in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        for (a, b) in SIGNS.iter().flat_map(|a| SIGNS.map(|b| (a, b))) {
            for d in SIGNS {
                add(&format!("{base}.{d}.{a}.{b}"), "", "%a0, %a1", false);
                add(
                    &format!("{base}.{d}.{a}.{b}.sat"),
                    "",
                    "%a0.b1, %a1.h1",
                    false,
                );
            }
        }
        for second in ["add", "min", "max"] {
            add(
                &format!("{base}.s32.s32.u32.{second}"),
                "",
                "%a0.h0, %a1.b3, %a2",
                true,
            );
        }
        add(
            &format!("{base}.u32.s32.s32.sat"),
            ".b2",
            "%a0.h1, %a1.b0, %a2",
            true,
        );
    }
    for base in ["vshl", "vshr"] {
        for mode in ["clamp", "wrap"] {
            for sign in SIGNS {
                add(
                    &format!("{base}.{sign}.{sign}.u32.{mode}"),
                    "",
                    "%a0, %a1.b0",
                    false,
                );
                add(
                    &format!("{base}.{sign}.{sign}.u32.sat.{mode}"),
                    "",
                    "%a0.h0, %a1.b3",
                    false,
                );
            }
        }
    }
    for comparison in COMPARISONS {
        add(
            &format!("vset.s32.u32.{comparison}"),
            "",
            "%a0.h1, %a1.b1",
            false,
        );
        add(
            &format!("vset.s32.s32.{comparison}.max"),
            "",
            "%a0, %a1, %a2",
            true,
        );
    }
    cases
}
