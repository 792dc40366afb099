//! Integer arithmetic: 9.7.1 and 9.7.2 (extended precision).

use super::case::Case;
use super::values::{Source, Ty, Values, size};

const TYPES: [Ty; 6] = ["u16", "u32", "u64", "s16", "s32", "s64"];
const LONG: [Ty; 4] = ["u32", "u64", "s32", "s64"];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in TYPES {
        let (one, two, three) = (
            [ty.into()],
            [ty.into(), ty.into()],
            [ty.into(), ty.into(), ty.into()],
        );
        for base in ["add", "sub", "mul.lo", "mul.hi", "min", "max"] {
            cases.push(Case::new(&format!("{base}.{ty}"), ty, &two));
        }
        for base in ["mad.lo", "mad.hi", "sad"] {
            cases.push(Case::new(&format!("{base}.{ty}"), ty, &three));
        }
        for base in ["div", "rem"] {
            let divisor: Source = (ty, Values::NonZero).into();
            cases.push(Case::new(
                &format!("{base}.{ty}"),
                ty,
                &[ty.into(), divisor],
            ));
        }
        if ty.starts_with('s') {
            cases.push(Case::new(&format!("abs.{ty}"), ty, &one));
            cases.push(Case::new(&format!("neg.{ty}"), ty, &one));
        }
        let wide = match size(ty) {
            2 => "b32",
            4 => "b64",
            _ => continue,
        };
        cases.push(Case::new(&format!("mul.wide.{ty}"), wide, &two));
        cases.push(Case::new(
            &format!("mad.wide.{ty}"),
            wide,
            &[ty.into(), ty.into(), wide.into()],
        ));
    }
    let s32: Source = "s32".into();
    cases.push(Case::new("add.sat.s32", "s32", &[s32.clone(), s32.clone()]));
    cases.push(Case::new("sub.sat.s32", "s32", &[s32.clone(), s32.clone()]));
    let three = [s32.clone(), s32.clone(), s32];
    cases.push(Case::new("mad.hi.sat.s32", "s32", &three));
    cases.push(Case::new("mad24.hi.sat.s32", "s32", &three));
    for ty in ["u32", "s32"] {
        for part in ["lo", "hi"] {
            cases.push(Case::new(
                &format!("mul24.{part}.{ty}"),
                ty,
                &[ty.into(), ty.into()],
            ));
            let three = [ty.into(), ty.into(), ty.into()];
            cases.push(Case::new(&format!("mad24.{part}.{ty}"), ty, &three));
        }
        for other in ["u32", "s32"] {
            let three = [ty.into(), other.into(), "b32".into()];
            cases.push(Case::new(&format!("dp4a.{ty}.{other}"), "b32", &three));
            for part in ["lo", "hi"] {
                cases.push(Case::new(
                    &format!("dp2a.{part}.{ty}.{other}"),
                    "b32",
                    &three,
                ));
            }
        }
    }
    for ty in LONG {
        cases.extend(chains(ty));
    }
    cases
}

/// Carry chains: what the second instruction adds shows the carry of the first.
fn chains(ty: Ty) -> Vec<Case> {
    let sources = ["a0", "a1", "a2", "a3"].map(|_| Source::from(ty));
    let chain = |name: &str, body: &str, results: usize| {
        let body = body.replace("TY", ty);
        Case::with_body(
            &format!("{name}.{ty}"),
            &body,
            &[ty; 3][..results],
            &sources,
        )
    };
    let mut cases = vec![
        chain("addc", "add.cc.TY %d0, %a0, %a1; addc.TY %d1, %a2, %a3;", 2),
        chain(
            "addc.cc",
            "add.cc.TY %d0, %a0, %a1; addc.cc.TY %d1, %a2, %a3; addc.TY %d2, %a0, %a2;",
            3,
        ),
        chain("subc", "sub.cc.TY %d0, %a0, %a1; subc.TY %d1, %a2, %a3;", 2),
        chain(
            "subc.cc",
            "sub.cc.TY %d0, %a0, %a1; subc.cc.TY %d1, %a2, %a3; subc.TY %d2, %a0, %a2;",
            3,
        ),
    ];
    for part in ["lo", "hi"] {
        let body = "mad.PART.cc.TY %d0, %a0, %a1, %a2; madc.PART.TY %d1, %a1, %a2, %a3;";
        cases.push(chain(
            &format!("madc.{part}"),
            &body.replace("PART", part),
            2,
        ));
        let body = "mad.PART.cc.TY %d0, %a0, %a1, %a2; madc.PART.cc.TY %d1, %a1, %a2, %a3; addc.TY %d2, %a0, %a3;";
        cases.push(chain(
            &format!("madc.{part}.cc"),
            &body.replace("PART", part),
            3,
        ));
    }
    cases
}
