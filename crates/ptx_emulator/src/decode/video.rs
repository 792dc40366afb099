//! SIMD operations on the bytes or halves of 32-bit registers: `vadd4`, `vabsdiff2`, `max.s16x2`
//! and the like.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::op::{LaneFn, Reg};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

/// The operation on each pair of parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Add,
    Subtract,
    Difference,
    Min,
    Max,
    Average,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

const ACTIONS: [Action; 12] = [
    Action::Add,
    Action::Subtract,
    Action::Difference,
    Action::Min,
    Action::Max,
    Action::Average,
    Action::Equal,
    Action::Unequal,
    Action::Less,
    Action::LessEqual,
    Action::Greater,
    Action::GreaterEqual,
];

/// All properties of an operation, packed into the operand of its lane function.
#[derive(Clone, Copy)]
struct Code {
    action: Action,
    /// Width of a part in bits.
    bits: u32,
    /// Whether the result and the operands are signed.
    signed: [bool; 3],
    saturate: bool,
    /// Negative results become zero.
    relu: bool,
    /// The results of the parts are summed onto the third operand.
    sum: bool,
}

impl Code {
    fn pack(self) -> u64 {
        let action = ACTIONS.iter().position(|&action| action == self.action);
        let flags = [
            self.signed[0],
            self.signed[1],
            self.signed[2],
            self.saturate,
            self.relu,
            self.sum,
        ];
        let flags = flags.iter().rev();
        let flags = flags.fold(0, |bits, &flag| bits << 1 | u64::from(flag));
        u64::from(self.bits) << 16 | flags << 8 | action.unwrap_or(0) as u64
    }

    fn unpack(bits: u64) -> Self {
        let flag = |bit: u32| bits >> (8 + bit) & 1 == 1;
        Self {
            action: ACTIONS[bits as usize % 16 % ACTIONS.len()],
            bits: (bits >> 16) as u32,
            signed: [flag(0), flag(1), flag(2)],
            saturate: flag(3),
            relu: flag(4),
            sum: flag(5),
        }
    }

    fn apply(self, a: i64, b: i64) -> i64 {
        let result = match self.action {
            Action::Add => a + b,
            Action::Subtract => a - b,
            Action::Difference => (a - b).abs(),
            Action::Min => a.min(b),
            Action::Max => a.max(b),
            // Halves round away from zero, but towards zero if the sum is negative.
            Action::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            Action::Equal => i64::from(a == b),
            Action::Unequal => i64::from(a != b),
            Action::Less => i64::from(a < b),
            Action::LessEqual => i64::from(a <= b),
            Action::Greater => i64::from(a > b),
            Action::GreaterEqual => i64::from(a >= b),
        };
        let result = if self.relu { result.max(0) } else { result };
        match (self.saturate, self.signed[0]) {
            (true, true) => result.clamp(-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            (true, false) => result.clamp(0, (1 << self.bits) - 1),
            _ => result,
        }
    }
}

fn evaluate([a, b, c, code]: [u64; 4], _: bool) -> (u64, bool) {
    let code = Code::unpack(code);
    let part = |value: u64, index: u32, signed: bool| {
        let field = (value << (64 - code.bits * (index + 1))) as i64;
        if signed {
            field >> (64 - code.bits)
        } else {
            (field as u64 >> (64 - code.bits)) as i64
        }
    };
    let mut result = if code.sum { c } else { 0 };
    for index in 0..32 / code.bits {
        let value = code.apply(
            part(a, index, code.signed[1]),
            part(b, index, code.signed[2]),
        );
        if code.sum {
            result = result.wrapping_add(value as u64);
        } else {
            let field = value as u64 & (u64::MAX >> (64 - code.bits));
            result |= field << (code.bits * index);
        }
    }
    (result & 0xffff_ffff, false)
}

/// `vabsdiff4.u32.u32.u32.add d, a, b, c`, without part selectors.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let (action, bits) = match form.base {
        "vset2" => (comparison(&mut form)?, 16),
        "vset4" => (comparison(&mut form)?, 8),
        "vavrg2" => (Action::Average, 16),
        "vavrg4" => (Action::Average, 8),
        "vadd4" => (Action::Add, 8),
        "vsub4" => (Action::Subtract, 8),
        "vabsdiff4" => (Action::Difference, 8),
        "vmin4" => (Action::Min, 8),
        "vmax4" => (Action::Max, 8),
        "vadd2" => (Action::Add, 16),
        "vsub2" => (Action::Subtract, 16),
        "vabsdiff2" => (Action::Difference, 16),
        "vmin2" => (Action::Min, 16),
        _ => (Action::Max, 16),
    };
    let mut signed = [false; 3];
    // A comparison yields 0 or 1, and its types are those of the operands only.
    let types = if form.base.starts_with("vset") {
        1..
    } else {
        0..
    };
    for signed in &mut signed[types] {
        *signed = match form.ty()? {
            Ty::S32 => true,
            Ty::U32 => false,
            _ => return Err(form.unsupported()),
        };
    }
    let saturate = !form.base.starts_with("vset") && form.take("sat");
    let sum = form.take("add");
    let [d, left, right, onto] = form.finish()?;
    // A selector, as in `%r1.b3210`.
    let selects =
        |operand: &Operand<'_>| matches!(operand, Operand::Name(name) if name.contains('.'));
    if form.operands.iter().any(selects) || (saturate && sum) {
        return Err(form.unsupported());
    }
    let code = Code {
        action,
        bits,
        signed,
        saturate,
        relu: false,
        sum,
    };
    emit(b, &form, code, d, [left, right, onto])
}

fn comparison(form: &mut Form<'_, '_>) -> Result<Action, ParseError> {
    match form.take_one_of(&["eq", "ne", "lt", "le", "gt", "ge"]) {
        Some("eq") => Ok(Action::Equal),
        Some("ne") => Ok(Action::Unequal),
        Some("lt") => Ok(Action::Less),
        Some("le") => Ok(Action::LessEqual),
        Some("gt") => Ok(Action::Greater),
        Some(_) => Ok(Action::GreaterEqual),
        None => Err(form.unsupported()),
    }
}

/// Whether an opcode shared with scalar instructions is packed here, or has `.relu`.
pub(super) fn is_packed(form: &Form<'_, '_>) -> bool {
    let mut parts = form.text.split('.');
    parts.any(|part| matches!(part, "s16x2" | "u16x2")) || form.text.ends_with(".s32.relu")
}

/// `add`, `min` and `max` of `.s16x2` and `.u16x2`; `min` and `max` of `.s32.relu`
pub(super) fn packed<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let action = match form.base {
        "add" => Action::Add,
        "min" => Action::Min,
        _ => Action::Max,
    };
    let ty = form.take_one_of(&["s16x2", "u16x2", "s32"]);
    let signed = ty != Some("u16x2");
    let relu = form.take("relu");
    let saturate = form.take("sat");
    let [d, left, right] = form.finish()?;
    if (relu && (!signed || action == Action::Add)) || (saturate && action != Action::Add) {
        return Err(form.unsupported());
    }
    let code = Code {
        action,
        bits: if ty == Some("s32") { 32 } else { 16 },
        signed: [signed; 3],
        saturate,
        relu,
        sum: false,
    };
    emit(b, &form, code, d, [left, right, left])
}

fn emit<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    code: Code,
    d: &Operand<'a>,
    operands: [&Operand<'a>; 3],
) -> Result<(), ParseError> {
    let mut sources = Vec::new();
    for operand in operands {
        sources.push(b.source(form, operand, Ty::B32)?);
    }
    sources.push(Reg::R64(b.constant64(Value::Bits(code.pack()))?));
    let d = b.target32(form, d)?;
    b.lane(Lane::to(Reg::R32(d)), evaluate as LaneFn, &sources);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        (action, bits): (Action, u32),
        [signed, saturate, sum]: [bool; 3],
        sources: [u32; 3],
    ) -> u32 {
        let code = Code {
            action,
            bits,
            signed: [signed; 3],
            saturate,
            relu: false,
            sum,
        };
        let [a, b, c] = sources.map(u64::from);
        evaluate([a, b, c, code.pack()], true).0 as u32
    }

    #[test]
    fn parts_do_not_carry_into_each_other() {
        let bytes = (Action::Add, 8);
        let sources = [0xff01_80ff, 0x0101_8002, 0];
        assert_eq!(run(bytes, [false; 3], sources), 0x0002_0001);
        assert_eq!(run(bytes, [false, true, false], sources), 0xff02_ffff);
        let sources = [0x8000_0005, 0x0001_0007, 0];
        let saturated = run((Action::Subtract, 16), [true, true, false], sources);
        assert_eq!(saturated, 0x8000_fffe);
        let sources = [0x8000_0005, 0x0001_fff0, 0];
        assert_eq!(
            run((Action::Max, 16), [true, false, false], sources),
            0x0001_0005
        );
    }

    #[test]
    fn differences_are_summed_as_their_signs_say() {
        let sources = [0x0a00_ff00, 0x0005_0000, 100];
        let bytes = (Action::Difference, 8);
        assert_eq!(
            run(bytes, [false, false, true], sources),
            100 + 10 + 5 + 255
        );
        assert_eq!(run(bytes, [true, false, true], sources), 100 + 10 + 5 + 1);
    }
}
