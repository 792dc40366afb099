//! Arithmetic of 16-bit floats, alone and in pairs: 9.7.4.

use super::case::Case;
use super::values::{Source, Ty, Values};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for ty in ["f16", "f16x2"] {
        for base in ["add", "sub", "mul"] {
            for rounding in ["", ".rn"] {
                for modifiers in ["", ".ftz", ".sat", ".ftz.sat"] {
                    cases.push(new(&format!("{base}{rounding}{modifiers}.{ty}"), ty, 2));
                }
            }
        }
        for modifiers in ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"] {
            cases.push(new(&format!("fma.rn{modifiers}.{ty}"), ty, 3));
        }
        cases.extend(shared(ty, &["", ".ftz"]));
    }
    // Around the smallest normal number: what is flushed depends on whether the result is rounded
    // before.
    let left = Values::List(vec![0x07fe, 0x0401, 0x07ff, 0x0400, 0x87fe, 0x0800, 0x07fd]);
    let right = Values::List(vec![0x3801, 0x3bff, 0x3800, 0x3c00, 0xb801]);
    let tiny: [Source; 2] = [("f16", left).into(), ("f16", right).into()];
    let body = "mul.ftz.f16 %d0, %a0, %a1;";
    cases.push(Case::with_body("mul.ftz.f16.tiny", body, &["f16"], &tiny).threads(64));
    for ty in ["bf16", "bf16x2"] {
        for base in ["add", "sub", "mul"] {
            for rounding in ["", ".rn"] {
                cases.push(new(&format!("{base}{rounding}.{ty}"), ty, 2));
            }
        }
        for modifiers in ["", ".relu"] {
            cases.push(new(&format!("fma.rn{modifiers}.{ty}"), ty, 3));
        }
        cases.extend(shared(ty, &[""]));
    }
    cases
}

fn new(form: &str, ty: Ty, count: usize) -> Case {
    let sources: Vec<Source> = vec![ty.into(); count];
    Case::new(form, ty, &sources)
}

/// What all four types have.
fn shared(ty: Ty, flushes: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for ftz in flushes {
        for base in ["neg", "abs"] {
            cases.push(new(&format!("{base}{ftz}.{ty}"), ty, 1));
        }
        for base in ["min", "max"] {
            for modifiers in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
                cases.push(new(&format!("{base}{ftz}{modifiers}.{ty}"), ty, 2));
            }
        }
    }
    cases
}
