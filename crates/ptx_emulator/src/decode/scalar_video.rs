//! `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr` and `vset`: one operation on bytes or
//! halves of registers, optionally followed by a second operation.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{LaneFn, Reg};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

const BASES: [&str; 8] = [
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset",
];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const SECOND: [&str; 3] = ["add", "min", "max"];
const PARTS: [&str; 6] = ["b0", "b1", "b2", "b3", "h0", "h1"];
/// Stands for an absent entry of the lists.
const NONE: u64 = 15;

/// All properties of an operation, packed into the operand of its lane function, 4 bits each.
#[derive(Clone, Copy)]
struct Code {
    base: u64,
    comparison: u64,
    /// The second operation, with the third operand.
    second: u64,
    /// Which parts of the result and of the operands are selected.
    parts: [u64; 3],
    /// Whether the result and the operands are signed.
    signed: [bool; 3],
    saturate: bool,
    /// Shift counts are taken modulo 32.
    wraps: bool,
}

impl Code {
    fn pack(self) -> u64 {
        let [d, a, b] = self.signed;
        let flags = [d, a, b, self.saturate, self.wraps];
        let flags = flags.iter().rev();
        let flags = flags.fold(0, |bits, &flag| bits << 1 | u64::from(flag));
        let numbers = [self.base, self.comparison, self.second];
        let numbers = numbers.iter().chain(&self.parts).rev();
        numbers.fold(flags, |bits, &number| bits << 4 | number)
    }

    fn unpack(bits: u64) -> Self {
        let number = |at: u64| bits >> (4 * at) & 15;
        let flag = |at: u64| bits >> (24 + at) & 1 == 1;
        Self {
            base: number(0),
            comparison: number(1),
            second: number(2),
            parts: [number(3), number(4), number(5)],
            signed: [flag(0), flag(1), flag(2)],
            saturate: flag(3),
            wraps: flag(4),
        }
    }
}

/// Position and width of a part in a register.
fn place(part: u64) -> (u32, u32) {
    match part {
        0..=3 => (8 * part as u32, 8),
        4 | 5 => (16 * (part as u32 - 4), 16),
        _ => (0, 32),
    }
}

/// Extends the low `bits` bits.
fn extended(value: u64, bits: u32, signed: bool) -> i64 {
    let up = value << (64 - bits);
    if signed {
        up as i64 >> (64 - bits)
    } else {
        (up >> (64 - bits)) as i64
    }
}

fn evaluate([a, b, c, code]: [u64; 4], _: bool) -> (u64, bool) {
    let code = Code::unpack(code);
    let operand = |value: u64, which: usize| {
        let (shift, bits) = place(code.parts[which]);
        extended(value >> shift, bits, code.signed[which])
    };
    let (a, b) = (operand(a, 1), operand(b, 2));
    let count = match code.wraps {
        true => b & 31,
        false => (b as u32).min(32).into(),
    };
    let made = match BASES[code.base as usize % BASES.len()] {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => (a - b).abs(),
        "vmin" => a.min(b),
        "vmax" => a.max(b),
        "vshl" => a << count,
        "vshr" => a >> count,
        _ => i64::from(
            match COMPARISONS[code.comparison as usize % COMPARISONS.len()] {
                "eq" => a == b,
                "ne" => a != b,
                "lt" => a < b,
                "le" => a <= b,
                "gt" => a > b,
                _ => a >= b,
            },
        ),
    };
    let (shift, bits) = place(code.parts[0]);
    let made = match (code.saturate, code.signed[0]) {
        (true, true) => made.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (true, false) => made.clamp(0, (1 << bits) - 1),
        _ => made,
    };
    let made = extended(made as u64, 32, code.signed[0]);
    let third = extended(c, 32, code.signed[0]);
    let result = match SECOND.get(code.second as usize) {
        Some(&"add") => made + third,
        Some(&"min") => made.min(third),
        Some(_) => made.max(third),
        None if bits < 32 => {
            let mask = ((1 << bits) - 1) << shift;
            (made << shift) & mask | third & !mask
        }
        None => made,
    };
    (result as u64 & 0xffff_ffff, false)
}

/// `vadd.s32.u32.s32[.sat][.add] d[.part], a[.part], b[.part][, c]`
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let base = number(&BASES, Some(form.base));
    let compares = form.base == "vset";
    let shifts = matches!(form.base, "vshl" | "vshr");
    let comparison = match compares {
        true => form.take_one_of(&COMPARISONS),
        false => None,
    };
    let mode = match shifts {
        true => form.take_one_of(&["clamp", "wrap"]),
        false => None,
    };
    if compares != comparison.is_some() || shifts != mode.is_some() {
        return Err(form.unsupported());
    }
    let mut signed = [false; 3];
    // A comparison yields 0 or 1, and its types are those of the operands only.
    for signed in &mut signed[usize::from(compares)..] {
        *signed = match form.ty()? {
            Ty::S32 => true,
            Ty::U32 => false,
            _ => return Err(form.unsupported()),
        };
    }
    if compares {
        // The second operation is signed if both others are.
        signed[0] = signed[1] && signed[2];
    }
    let saturate = !compares && form.take("sat");
    let second = form.take_one_of(&SECOND);
    form.no_more_modifiers()?;
    let (d, left, right, third) = match form.operands {
        [d, left, right] => (d, left, right, None),
        [d, left, right, third] => (d, left, right, Some(third)),
        _ => return Err(form.wrong("takes 3 or 4 operands")),
    };
    let [(d, to), (left, of_left), (right, of_right)] = [d, left, right].map(split);
    // A third operand is either merged into or used by a second operation.
    if third.is_some() != (to.is_some() || second.is_some()) || (to.is_some() && second.is_some()) {
        return Err(form.wrong("has another number of operands"));
    }
    // An H200 saturates neither a left shift nor a partial result as PTX specifies.
    let saturates_otherwise = saturate && (form.base == "vshl" || to.is_some());
    if (shifts && signed[2]) || saturates_otherwise {
        return Err(form.unsupported());
    }
    let code = Code {
        base,
        comparison: number(&COMPARISONS, comparison),
        second: number(&SECOND, second),
        parts: [to, of_left, of_right].map(|part| number(&PARTS, part)),
        signed,
        saturate,
        wraps: mode == Some("wrap"),
    };
    let mut sources = Vec::new();
    for operand in [&left, &right, third.unwrap_or(&left)] {
        sources.push(b.source(&form, operand, Ty::B32)?);
    }
    sources.push(Reg::R64(b.constant64(Value::Bits(code.pack()))?));
    let d = b.target32(&form, &d)?;
    b.lane(Lane::to(Reg::R32(d)), evaluate as LaneFn, &sources);
    Ok(())
}

fn number(list: &[&str], name: Option<&str>) -> u64 {
    let at = list.iter().position(|&known| Some(known) == name);
    at.map_or(NONE, |at| at as u64)
}

/// A register and the selected part of it.
fn split<'a>(operand: &Operand<'a>) -> (Operand<'a>, Option<&'a str>) {
    if let Operand::Name(name) = *operand
        && let Some((register, part)) = name.rsplit_once('.')
        && PARTS.contains(&part)
    {
        return (Operand::Name(register), Some(part));
    }
    (operand.clone(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(base: &str, code: Code, [a, b, c]: [u32; 3]) -> u32 {
        let base = number(&BASES, Some(base));
        let code = Code { base, ..code }.pack();
        evaluate([a.into(), b.into(), c.into(), code], true).0 as u32
    }

    const PLAIN: Code = Code {
        base: 0,
        comparison: NONE,
        second: NONE,
        parts: [NONE; 3],
        signed: [true; 3],
        saturate: false,
        wraps: false,
    };

    #[test]
    fn parts_are_taken_and_put_back() {
        let parts = Code {
            parts: [1, 3, 4],
            ..PLAIN
        };
        // -1 + 0x12 into byte 1.
        assert_eq!(
            run("vadd", parts, [0xff00_0000, 0x7777_0012, 0xaabb_ccdd]),
            0xaabb_11dd
        );
        let unsigned = Code {
            signed: [false; 3],
            saturate: true,
            ..parts
        };
        assert_eq!(
            run("vadd", unsigned, [0xff00_0000, 0x7777_0012, 0xaabb_ccdd]),
            0xaabb_ffdd
        );
        assert_eq!(run("vsub", unsigned, [0x0100_0000, 0x12, 0]), 0);
    }

    #[test]
    fn a_second_operation_takes_the_third_operand() {
        let with = |second| Code {
            second: number(&SECOND, Some(second)),
            ..PLAIN
        };
        assert_eq!(run("vabsdiff", with("add"), [3, 10, 100]), 107);
        assert_eq!(run("vmax", with("min"), [3, 10, 0xffff_fff0]), 0xffff_fff0);
        let less = Code {
            comparison: number(&COMPARISONS, Some("lt")),
            ..with("add")
        };
        assert_eq!(run("vset", less, [0xffff_ffff, 1, 5]), 6);
    }

    #[test]
    fn shifts_clamp_or_wrap() {
        let wrap = Code {
            wraps: true,
            ..PLAIN
        };
        assert_eq!(run("vshl", wrap, [3, 33, 0]), 6);
        assert_eq!(run("vshl", PLAIN, [3, 33, 0]), 0);
        assert_eq!(run("vshr", PLAIN, [0x8000_0000, 40, 0]), 0xffff_ffff);
    }
}
