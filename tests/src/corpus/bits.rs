//! Logic, shifts and bit fields: section 9.7.8 of the PTX ISA, and the bit instructions of 9.7.1.

use super::case::Case;
use super::values::{Source, Ty, Values};

const LONG: [Ty; 4] = ["u32", "u64", "s32", "s64"];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let counts: Source = ("u32", Values::Counts).into();
    for ty in ["pred", "b16", "b32", "b64"] {
        for base in ["and", "or", "xor"] {
            cases.push(Case::new(
                &format!("{base}.{ty}"),
                ty,
                &[ty.into(), ty.into()],
            ));
        }
        cases.push(Case::new(&format!("not.{ty}"), ty, &[ty.into()]));
    }
    for ty in ["b16", "b32", "b64"] {
        cases.push(Case::new(&format!("cnot.{ty}"), ty, &[ty.into()]));
        cases.push(Case::new(
            &format!("shl.{ty}"),
            ty,
            &[ty.into(), counts.clone()],
        ));
    }
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64",
    ] {
        cases.push(Case::new(
            &format!("shr.{ty}"),
            ty,
            &[ty.into(), counts.clone()],
        ));
    }
    for ty in ["b32", "b64"] {
        for base in ["popc", "clz"] {
            cases.push(Case::new(&format!("{base}.{ty}"), "b32", &[ty.into()]));
        }
        cases.push(Case::new(&format!("brev.{ty}"), ty, &[ty.into()]));
        let sources = [ty.into(), ty.into(), counts.clone(), counts.clone()];
        cases.push(Case::new(&format!("bfi.{ty}"), ty, &sources));
    }
    for ty in LONG {
        for shift in ["", ".shiftamt"] {
            cases.push(Case::new(
                &format!("bfind{shift}.{ty}"),
                "b32",
                &[ty.into()],
            ));
        }
        let sources = [ty.into(), counts.clone(), counts.clone()];
        cases.push(Case::new(&format!("bfe.{ty}"), ty, &sources));
    }
    for direction in ["l", "r"] {
        for mode in ["wrap", "clamp"] {
            let sources = ["b32".into(), "b32".into(), counts.clone()];
            cases.push(Case::new(
                &format!("shf.{direction}.{mode}.b32"),
                "b32",
                &sources,
            ));
        }
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        let three = ["b32".into(), "b32".into(), "b32".into()];
        cases.push(Case::new(&format!("prmt.b32{mode}"), "b32", &three));
    }
    // Selectors that compilers emit: reorder bytes or halves, replicate signs.
    for selector in [
        "0x3210", "0x5410", "0x7632", "0x0123", "0x8888", "0xba98", "0x6240", "0xfedc",
    ] {
        let body = format!("prmt.b32 %d0, %a0, %a1, {selector};");
        let two = ["b32".into(), "b32".into()];
        cases.push(Case::with_body(
            &format!("prmt.b32.{selector}"),
            &body,
            &["b32"],
            &two,
        ));
    }
    for mode in ["clamp", "wrap"] {
        let body = format!("bmsk.{mode}.b32 %d0, %a0, %a1;");
        let sources = [counts.clone(), counts.clone()];
        cases.push(Case::with_body(
            &format!("bmsk.{mode}.b32"),
            &body,
            &["b32"],
            &sources,
        ));
        for ty in ["u32", "s32"] {
            let sources = [ty.into(), counts.clone()];
            cases.push(Case::new(&format!("szext.{mode}.{ty}"), ty, &sources));
        }
    }
    let offsets = (
        "s32",
        Values::List(vec![
            0,
            1,
            2,
            5,
            31,
            32,
            0xffff_ffff,
            0xffff_fffe,
            0xffff_fff0,
        ]),
    )
        .into();
    let base = ("b32", Values::Below(32)).into();
    cases.push(Case::new("fns.b32", "b32", &["b32".into(), base, offsets]));
    // Truth tables: constants, AND, OR, XOR, majority, selects, and others that depend on the order
    // of the inputs.
    for table in [
        0x00, 0x01, 0x1b, 0x27, 0x6a, 0x80, 0x96, 0xac, 0xca, 0xd8, 0xe8, 0xf8, 0xfe, 0xff,
    ] {
        let body = format!("lop3.b32 %d0, %a0, %a1, %a2, {table};");
        let three = ["b32".into(), "b32".into(), "b32".into()];
        cases.push(Case::with_body(
            &format!("lop3.b32.{table:02x}"),
            &body,
            &["b32"],
            &three,
        ));
    }
    for (name, body) in CONSTANTS {
        cases.push(Case::with_body(name, body, &["b32"], &["b32".into()]));
    }
    cases
}

/// Constant operands: negative, hexadecimal, binary, octal, floats in hexadecimal, `WARP_SZ`.
const CONSTANTS: &[(&str, &str)] = &[
    ("add.negative", "add.s32 %d0, %a0, -7;"),
    ("and.hexadecimal", "and.b32 %d0, %a0, 0xff00ff00;"),
    ("and.binary", "and.b32 %d0, %a0, 0b1011;"),
    ("xor.octal", "xor.b32 %d0, %a0, 0777;"),
    ("sub.from.constant", "sub.s32 %d0, -2147483648, %a0;"),
    ("shl.constant", "shl.b32 %d0, 0xffffffff, %a0;"),
    (
        "fma.constants",
        "fma.rn.f32 %d0, %a0, 0f3F800001, 0fBF800000;",
    ),
    ("mul.warp.size", "mul.lo.s32 %d0, %a0, WARP_SZ;"),
    (
        "mul.negative.wide",
        "mul.wide.s32 %l0, %a0, -3; cvt.u32.u64 %r1, %l0; shr.u64 %l0, %l0, 32; cvt.u32.u64 %r2, %l0; xor.b32 %d0, %r1, %r2;",
    ),
    (
        "mov.constants",
        "mov.b64 %l0, -1; mov.u32 %r1, 0xfffffffe; mov.b16 %h0, -3; cvt.u32.u16 %r2, %h0; mov.b64 {%r3, %r4}, %l0; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r4; add.u32 %d0, %r1, %a0;",
    ),
];
