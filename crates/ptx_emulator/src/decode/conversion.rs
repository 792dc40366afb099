//! What `cvt` computes: any combination of types, rounding and modifiers, for one lane.

use super::form::Ty;
use super::op::{Convert, Op, Reg};
use super::rounding::{
    BF16, DOWN, F16, NEAREST, NEAREST_AWAY, TF32, UP, ZERO, canonical, directed64, flush, to_f32,
};

/// A conversion with all its modifiers.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) to: Ty,
    pub(super) from: Ty,
    pub(super) mode: u8,
    /// Rounds a float to an integral value.
    pub(super) to_integer: bool,
    pub(super) flush: bool,
    pub(super) saturate: bool,
    /// Negative results become zero.
    pub(super) relu: bool,
}

pub(super) fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64)
}

/// Whether one integer type has values that the other cannot represent.
pub(super) fn may_overflow(to: Ty, from: Ty) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (false, true) => true,
        (true, false) => to.size() <= from.size(),
        _ => to.size() < from.size(),
    }
}

/// Types, indexed by their number in a packed code.
pub(super) const TYPES: [Ty; 13] = [
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F16,
    Ty::BF16,
    Ty::F32,
    Ty::F64,
    Ty::Tf32,
];

impl Code {
    /// Whether PTX allows this combination of types and modifiers; `rounds` means that a float
    /// rounding mode was given.
    pub(super) fn is_valid(self, rounds: bool) -> bool {
        let Self {
            to,
            from,
            mode,
            to_integer,
            flush,
            saturate,
            relu,
        } = self;
        let narrow = matches!(to, Ty::F16 | Ty::BF16 | Ty::Tf32);
        if relu
            && !(narrow && from == Ty::F32 && matches!(mode, NEAREST | ZERO) && !flush && !saturate)
        {
            return false;
        }
        if mode == NEAREST_AWAY && (to, from) != (Ty::Tf32, Ty::F32) {
            return false;
        }
        if flush && to != Ty::F32 && from != Ty::F32 {
            return false;
        }
        // bf16 conversions do not saturate, and none goes to or from bytes.
        if (to == Ty::BF16 || from == Ty::BF16) && (saturate || to.size() == 1 || from.size() == 1)
        {
            return false;
        }
        let narrowing = |to: Ty, from: Ty| to.size() < from.size();
        match (is_float(from), is_float(to)) {
            (false, false) if to == Ty::Tf32 => false,
            (false, false) => {
                let integers = from.is_integer() && to.is_integer();
                integers && !to_integer && !rounds && (!saturate || may_overflow(to, from))
            }
            (true, false) if to == Ty::Tf32 => {
                from == Ty::F32
                    && !to_integer
                    && rounds
                    && matches!(mode, NEAREST | NEAREST_AWAY | ZERO)
                    && !flush
                    && !saturate
            }
            (true, false) => to.is_integer() && to_integer && !rounds,
            (false, true) => from.is_integer() && rounds && !to_integer,
            (true, true) if to == from => !rounds,
            // Between the two types of 16 bits a rounding may be left out.
            (true, true) if to.size() == 2 && from.size() == 2 => !to_integer,
            (true, true) => !to_integer && rounds == narrowing(to, from),
        }
    }

    pub(super) fn pack(self) -> u64 {
        let number = |ty| TYPES.iter().position(|&t| t == ty).unwrap_or(0) as u64;
        let flag = |flag: bool, bit: u32| u64::from(flag) << bit;
        number(self.to)
            | number(self.from) << 8
            | u64::from(self.mode) << 16
            | flag(self.to_integer, 24)
            | flag(self.flush, 25)
            | flag(self.saturate, 26)
            | flag(self.relu, 27)
    }

    fn unpack(bits: u64) -> Self {
        let ty = |shift: u32| TYPES[((bits >> shift) & 0xff) as usize % TYPES.len()];
        let flag = |bit: u32| (bits >> bit) & 1 == 1;
        Self {
            to: ty(0),
            from: ty(8),
            mode: (bits >> 16) as u8,
            to_integer: flag(24),
            flush: flag(25),
            saturate: flag(26),
            relu: flag(27),
        }
    }

    /// The same conversion as vector code, if there is one.
    pub(super) fn vector(self, target: Reg, source: Reg) -> Option<Op> {
        if self.flush || self.saturate || self.relu || self.to_integer || self.mode != NEAREST {
            return None;
        }
        let convert = |op, d, a| Some(Op::Convert { op, d, a });
        match (self.to, self.from, target, source) {
            (Ty::U64 | Ty::S64, Ty::U32, Reg::R64(d), Reg::R32(a)) => {
                convert(Convert::U32ToU64, d, a)
            }
            (Ty::U64 | Ty::S64, Ty::S32, Reg::R64(d), Reg::R32(a)) => {
                convert(Convert::S32ToS64, d, a)
            }
            (Ty::U32 | Ty::S32, Ty::U64 | Ty::S64, Reg::R32(d), Reg::R64(a)) => {
                convert(Convert::U64ToU32, d, a)
            }
            (Ty::U32 | Ty::S32, Ty::U32 | Ty::S32, Reg::R32(d), Reg::R32(a)) => {
                Some(Op::Mov32 { d, a })
            }
            (Ty::U64 | Ty::S64, Ty::U64 | Ty::S64, Reg::R64(d), Reg::R64(a)) => {
                Some(Op::Mov64 { d, a })
            }
            // Even a signalling NaN is unchanged.
            (Ty::F32, Ty::F32, Reg::R32(d), Reg::R32(a)) => Some(Op::Mov32 { d, a }),
            // 16-bit registers are kept zero-extended.
            (Ty::U32 | Ty::S32, Ty::U16, Reg::R32(d), Reg::R16(a)) => Some(Op::Mov32 { d, a }),
            (Ty::F64, Ty::F32, Reg::R64(d), Reg::R32(a)) => convert(Convert::F32ToF64, d, a),
            (Ty::F32, Ty::F64, Reg::R32(d), Reg::R64(a)) => convert(Convert::F64ToF32, d, a),
            (Ty::F32, Ty::S32, Reg::R32(d), Reg::R32(a)) => convert(Convert::S32ToF32, d, a),
            (Ty::F32, Ty::U32, Reg::R32(d), Reg::R32(a)) => convert(Convert::U32ToF32, d, a),
            (Ty::F64, Ty::S32, Reg::R64(d), Reg::R32(a)) => convert(Convert::S32ToF64, d, a),
            (Ty::F64, Ty::U32, Reg::R64(d), Reg::R32(a)) => convert(Convert::U32ToF64, d, a),
            _ => None,
        }
    }
}

/// An intermediate value of a conversion.
enum Intermediate {
    Integer(i128),
    Float(f64),
}

/// Any conversion of one lane; the second operand is its packed [`Code`].
pub(super) fn evaluate([bits, code, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let target_bits = (code >> 32) as u32;
    let code = Code::unpack(code);
    let number = read(code, bits);
    let result = match code.to {
        Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 | Ty::Tf32 => write_float(code, bits, number),
        _ => write_integer(code, number, target_bits),
    };
    (result, false)
}

fn read(code: Code, bits: u64) -> Intermediate {
    match code.from {
        Ty::U8 => Intermediate::Integer(i128::from(bits as u8)),
        Ty::U16 => Intermediate::Integer(i128::from(bits as u16)),
        Ty::U32 => Intermediate::Integer(i128::from(bits as u32)),
        Ty::S8 => Intermediate::Integer(i128::from(bits as i8)),
        Ty::S16 => Intermediate::Integer(i128::from(bits as i16)),
        Ty::S32 => Intermediate::Integer(i128::from(bits as i32)),
        Ty::S64 => Intermediate::Integer(i128::from(bits as i64)),
        Ty::F16 => Intermediate::Float(F16.decode(bits as u32 & 0xffff)),
        Ty::BF16 => Intermediate::Float(BF16.decode(bits as u32 & 0xffff)),
        Ty::F32 => {
            let value = f32::from_bits(bits as u32);
            // The H200 does not flush in conversions to f16.
            let flushes = code.flush && code.to != Ty::F16;
            Intermediate::Float(f64::from(if flushes { flush(value) } else { value }))
        }
        Ty::F64 => Intermediate::Float(f64::from_bits(bits)),
        _ => Intermediate::Integer(i128::from(bits)),
    }
}

fn write_integer(code: Code, number: Intermediate, target_bits: u32) -> u64 {
    let bits = 8 * u32::from(code.to.size());
    let signed = code.to.is_signed();
    let (low, high) = if signed {
        (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    let value = match number {
        Intermediate::Integer(value) if code.saturate => value.clamp(low, high),
        Intermediate::Integer(value) => value,
        Intermediate::Float(value) if value.is_nan() => {
            // The H200's results, which differ by width.
            if code.from == Ty::F64 || bits == 64 {
                1 << (bits - 1)
            } else {
                0
            }
        }
        Intermediate::Float(value) => (round_integral(value, code.mode) as i128).clamp(low, high),
    };
    // Truncated to the type, then extended to the register by the type's signedness.
    let cut = (value as u64) << (64 - bits);
    let extended = if signed {
        ((cut as i64) >> (64 - bits)) as u64
    } else {
        cut >> (64 - bits)
    };
    extended & (u64::MAX >> (64 - target_bits))
}

fn round_integral(value: f64, mode: u8) -> f64 {
    match mode {
        ZERO => value.trunc(),
        DOWN => value.floor(),
        UP => value.ceil(),
        _ => value.round_ties_even(),
    }
}

fn write_float(code: Code, bits: u64, number: Intermediate) -> u64 {
    if let Intermediate::Float(value) = number
        && value.is_nan()
        && !code.saturate
        && let Some(nan) = payload(code, bits)
    {
        return nan;
    }
    let (mut value, mut tail) = match number {
        // Not every 64-bit integer fits in a double: the tail holds the rest.
        Intermediate::Integer(integer) => {
            (integer as f64, (integer - (integer as f64) as i128) as f64)
        }
        Intermediate::Float(value) if code.to_integer => (round_integral(value, code.mode), 0.0),
        Intermediate::Float(value) => (value, 0.0),
    };
    if code.saturate {
        // NaN and negative zero are not above zero.
        value = if value > 0.0 { value.min(1.0) } else { 0.0 };
        // Between 0 and 1 integers are exact.
        tail = 0.0;
    }
    if code.relu && value <= 0.0 {
        // Also for negative zero.
        value = 0.0;
    }
    let mode = if code.to_integer { NEAREST } else { code.mode };
    match (code.to, number) {
        (Ty::F16, _) => u64::from(F16.encode(value, tail, mode)),
        (Ty::BF16, _) => u64::from(BF16.encode(value, tail, mode)),
        (Ty::Tf32, _) => u64::from(TF32.encode(value, tail, mode)) << 13,
        // Rounding a 64-bit integer to nearest must not go through a double.
        (Ty::F32, Intermediate::Integer(integer)) if mode == NEAREST && !code.saturate => {
            u64::from((integer as f32).to_bits())
        }
        (Ty::F32, _) => {
            let result = canonical(to_f32(value, tail, mode));
            u64::from((if code.flush { flush(result) } else { result }).to_bits())
        }
        _ => directed64(value, tail, mode).to_bits(),
    }
}

/// The result for a NaN where the H200 keeps sign and as much of the payload as fits.
fn payload(code: Code, bits: u64) -> Option<u64> {
    let sign = (bits >> 63) << 15;
    // Of a narrower number with its sign at this bit, and a mantissa this long.
    let wide = |sign: u32, mantissa: u32| {
        let payload = bits & ((1 << mantissa) - 1);
        (bits >> sign & 1) << 63 | 0x7ff8_0000_0000_0000 | payload << (52 - mantissa)
    };
    Some(match (code.to, code.from, code.mode) {
        // Without rounding it is a move.
        (Ty::F64, Ty::F64, _) => bits | u64::from(code.to_integer) << 51,
        (Ty::F64, Ty::F32, _) if code.flush => 0x7fff_ffff_e000_0000,
        (Ty::F64, Ty::F32, _) => wide(31, 23),
        (Ty::F64, Ty::F16, _) => wide(15, 10),
        (Ty::F64, Ty::BF16, _) => wide(15, 7),
        (Ty::F32, Ty::F64, _) => sign << 16 | 0x7fc0_0000 | bits >> 29 & 0x7f_ffff,
        (Ty::F16, Ty::F64, _) => sign | 0x7e00 | bits >> 42 & 0x3ff,
        (Ty::BF16, Ty::F64, _) => sign | 0x7fc0 | bits >> 45 & 0x7f,
        (Ty::F32, Ty::BF16, _) if !code.flush => bits << 16 & 0xffff_0000,
        // A NaN that loses its payload may become an infinity, as on the H200.
        (Ty::Tf32, _, NEAREST_AWAY) => bits & 0xffff_e000,
        _ => return None,
    })
}
