use super::builder::Builder;
use super::form::{Form, Ty};
use super::fp8;
use super::lane::Lane;
use super::op::{Convert, IntOp, LaneFn, Op, Reg, TRUE};
use super::program::Value;
use super::rounding::{
    BF16, DOWN, F16, NEAREST, NEAREST_AWAY, TF32, UP, ZERO, canonical, directed64, flush, to_f32,
};
use crate::error::ParseError;
use crate::memory::{
    BLOCK_BITS, CONST_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE,
};
use crate::parse::Operand;

/// `cvt`, `cvta`, `isspacep`.
pub(super) fn decode<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    match form.base {
        "cvta" => address(b, form),
        "isspacep" => is_space(b, form),
        _ => convert(b, form),
    }
}

fn convert<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if let Some(format) = fp8::Fp8::take(&mut form) {
        return fp8::convert(b, form, format);
    }
    let to_integer = form.take_one_of(&["rni", "rzi", "rmi", "rpi"]);
    let rounding = form.take_one_of(&["rn", "rz", "rm", "rp", "rna"]);
    let flush = form.take("ftz");
    let saturate = form.take("sat");
    let relu = form.take("relu");
    let (to, from) = (form.ty()?, form.ty()?);
    if matches!(to, Ty::F16x2 | Ty::BF16x2)
        && from == Ty::F32
        && to_integer.is_none()
        && !flush
        && !saturate
    {
        return pack_halves(b, form, to, rounding, relu);
    }
    let [d, a] = form.finish()?;
    let mode = match (to_integer, rounding) {
        (Some("rni"), None) | (None, Some("rn") | None) => NEAREST,
        (Some("rzi"), None) | (None, Some("rz")) => ZERO,
        (Some("rmi"), None) | (None, Some("rm")) => DOWN,
        (Some("rpi"), None) | (None, Some("rp")) => UP,
        (None, Some("rna")) => NEAREST_AWAY,
        _ => return Err(form.unsupported()),
    };
    let code = Code {
        to,
        from,
        mode,
        to_integer: to_integer.is_some(),
        flush,
        saturate,
        relu,
    };
    if !code.is_valid(rounding.is_some()) {
        return Err(form.unsupported());
    }
    let source = match a {
        // A register may be wider than the type.
        Operand::Name(name) if !is_special(name) => b.any_register(&form, a)?,
        _ => b.source(&form, a, if from.size() == 1 { Ty::B32 } else { from })?,
    };
    let target = b.any_register(&form, d)?;
    if bytes(source) < from.size() || bytes(target) < to.size() {
        return Err(form.wrong("has a register that is narrower than its type"));
    }
    if let Some(op) = code.vector(target, source) {
        b.emit(op);
        return Ok(());
    }
    let target_bits = 8 * u32::from(bytes(target));
    let code = b.constant64(Value::Bits(code.pack() | u64::from(target_bits) << 32))?;
    b.lane(Lane::to(target), evaluate, &[source, Reg::R64(code)]);
    Ok(())
}

fn is_special(name: &str) -> bool {
    name.contains('.')
        || name.starts_with("%lane")
        || matches!(name, "%warpid" | "%smid" | "WARP_SZ")
}

fn bytes(reg: Reg) -> u8 {
    match reg {
        Reg::R16(_) => 2,
        Reg::R32(_) => 4,
        Reg::R64(_) => 8,
    }
}

/// A conversion with all its modifiers.
#[derive(Clone, Copy)]
struct Code {
    to: Ty,
    from: Ty,
    mode: u8,
    /// Rounds a float to an integral value.
    to_integer: bool,
    flush: bool,
    saturate: bool,
    /// Negative results become zero.
    relu: bool,
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64)
}

/// Whether one integer type has values that the other cannot represent.
fn may_overflow(to: Ty, from: Ty) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (false, true) => true,
        (true, false) => to.size() <= from.size(),
        _ => to.size() < from.size(),
    }
}

/// Types, indexed by their number in a packed code.
const TYPES: [Ty; 13] = [
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
    fn is_valid(self, rounds: bool) -> bool {
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
        let narrowing = |to: Ty, from: Ty| {
            to.size() < from.size() || (to.size() == 2 && from.size() == 2 && to != from)
        };
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
            (true, true) => !to_integer && rounds == narrowing(to, from),
        }
    }

    fn pack(self) -> u64 {
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
    fn vector(self, target: Reg, source: Reg) -> Option<Op> {
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
enum Number {
    Integer(i128),
    Float(f64),
}

/// Any conversion of one lane; the second operand is its packed [`Code`].
fn evaluate([bits, code, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let target_bits = (code >> 32) as u32;
    let code = Code::unpack(code);
    let number = read(code, bits);
    let result = match code.to {
        Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 | Ty::Tf32 => write_float(code, bits, number),
        _ => write_integer(code, number, target_bits),
    };
    (result, false)
}

fn read(code: Code, bits: u64) -> Number {
    match code.from {
        Ty::U8 => Number::Integer(i128::from(bits as u8)),
        Ty::U16 => Number::Integer(i128::from(bits as u16)),
        Ty::U32 => Number::Integer(i128::from(bits as u32)),
        Ty::S8 => Number::Integer(i128::from(bits as i8)),
        Ty::S16 => Number::Integer(i128::from(bits as i16)),
        Ty::S32 => Number::Integer(i128::from(bits as i32)),
        Ty::S64 => Number::Integer(i128::from(bits as i64)),
        Ty::F16 => Number::Float(F16.decode(bits as u32 & 0xffff)),
        Ty::BF16 => Number::Float(BF16.decode(bits as u32 & 0xffff)),
        Ty::F32 => {
            let value = f32::from_bits(bits as u32);
            // The H200 does not flush in conversions to f16.
            let flushes = code.flush && code.to != Ty::F16;
            Number::Float(f64::from(if flushes { flush(value) } else { value }))
        }
        Ty::F64 => Number::Float(f64::from_bits(bits)),
        _ => Number::Integer(i128::from(bits)),
    }
}

fn write_integer(code: Code, number: Number, target_bits: u32) -> u64 {
    let bits = 8 * u32::from(code.to.size());
    let signed = code.to.is_signed();
    let (low, high) = if signed {
        (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    let value = match number {
        Number::Integer(value) if code.saturate => value.clamp(low, high),
        Number::Integer(value) => value,
        Number::Float(value) if value.is_nan() => {
            // The H200's results, which differ by width.
            if code.from == Ty::F64 || bits == 64 {
                1 << (bits - 1)
            } else {
                0
            }
        }
        Number::Float(value) => (round_integral(value, code.mode) as i128).clamp(low, high),
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

fn write_float(code: Code, bits: u64, number: Number) -> u64 {
    if let Number::Float(value) = number
        && value.is_nan()
        && !code.saturate
        && let Some(nan) = payload(code, bits)
    {
        return nan;
    }
    let (mut value, mut tail) = match number {
        // Not every 64-bit integer fits in a double: the tail holds the rest.
        Number::Integer(integer) => (integer as f64, (integer - (integer as f64) as i128) as f64),
        Number::Float(value) if code.to_integer => (round_integral(value, code.mode), 0.0),
        Number::Float(value) => (value, 0.0),
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
        (Ty::F32, Number::Integer(integer)) if mode == NEAREST && !code.saturate => {
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
    Some(match (code.to, code.from, code.mode) {
        (Ty::F32, Ty::F64, _) => sign << 16 | 0x7fc0_0000 | bits >> 29 & 0x7f_ffff,
        (Ty::F16, Ty::F64, _) => sign | 0x7e00 | bits >> 42 & 0x3ff,
        (Ty::BF16, Ty::F64, _) => sign | 0x7fc0 | bits >> 45 & 0x7f,
        (Ty::F32, Ty::BF16, _) if !code.flush => bits << 16 & 0xffff_0000,
        // A NaN that loses its payload may become an infinity, as on the H200.
        (Ty::Tf32, _, NEAREST_AWAY) => bits & 0xffff_e000,
        _ => return None,
    })
}

/// `cvt.rn.f16x2.f32 d, a, b`: a to the upper half, b to the lower.
fn pack_halves<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    to: Ty,
    rounding: Option<&str>,
    relu: bool,
) -> Result<(), ParseError> {
    let [d, high, low] = form.finish()?;
    let mode = match rounding {
        Some("rn") => NEAREST,
        Some("rz") => ZERO,
        _ => return Err(form.unsupported()),
    };
    let code = Code {
        to: if to == Ty::F16x2 { Ty::F16 } else { Ty::BF16 },
        from: Ty::F32,
        mode,
        to_integer: false,
        flush: false,
        saturate: false,
        relu,
    };
    let eval: LaneFn = |[high, low, code, _], _| {
        let half = |bits: u64| evaluate([bits, code, 0, 0], false).0;
        (half(high) << 16 | half(low), false)
    };
    let sources = [
        b.source(&form, high, Ty::F32)?,
        b.source(&form, low, Ty::F32)?,
        Reg::R64(b.constant64(Value::Bits(code.pack() | 16 << 32))?),
    ];
    let d = b.target32(&form, d)?;
    b.lane(Lane::to(Reg::R32(d)), eval, &sources);
    Ok(())
}

/// Start of a state space's window of generic addresses.
fn window(form: &mut Form<'_, '_>) -> Result<u64, ParseError> {
    let spaces = [
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
    ];
    match form.take_one_of(&spaces) {
        Some("global" | "const") => Ok(0),
        Some("shared" | "shared::cta" | "shared::cluster") => Ok(SHARED_WINDOW),
        Some("local") => Ok(LOCAL_WINDOW),
        Some(_) => Ok(PARAM_WINDOW),
        None => Err(form.unsupported()),
    }
}

/// `cvta[.to].space.u64 d, a`
fn address<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let to_space = form.take("to");
    let window = window(&mut form)?;
    let ty = form.ty()?;
    if ty != Ty::U64 {
        return Err(form.unsupported());
    }
    let [d, a] = form.finish()?;
    let a = b.r64(&form, a)?;
    let d = b.target64(&form, d)?;
    if window == 0 {
        b.emit(Op::Mov64 { d, a });
    } else {
        let window = b.constant64(Value::Bits(window))?;
        b.emit(Op::Int64 {
            op: if to_space { IntOp::Sub } else { IntOp::Add },
            d,
            a,
            b: window,
        });
    }
    Ok(())
}

/// `isspacep.space p, a`
fn is_space<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    fn within(address: u64, base: u64) -> (u64, bool) {
        (0, address.wrapping_sub(base) < WINDOW_SIZE)
    }
    let spaces = [
        "global",
        "const",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
    ];
    let eval: LaneFn = match form.take_one_of(&spaces) {
        Some("global") => |[a, ..], _| (0, a < CONST_BASE),
        Some("const") => |[a, ..], _| (0, (CONST_BASE..SHARED_WINDOW).contains(&a)),
        Some("shared" | "shared::cta") => {
            |[a, ..], _| (0, a.wrapping_sub(SHARED_WINDOW) < 1 << BLOCK_BITS)
        }
        Some("shared::cluster") => |[a, ..], _| within(a, SHARED_WINDOW),
        Some("local") => |[a, ..], _| within(a, LOCAL_WINDOW),
        Some(_) => |[a, ..], _| within(a, PARAM_WINDOW),
        None => return Err(form.unsupported()),
    };
    let [p, a] = form.finish()?;
    let a = Reg::R64(b.r64(&form, a)?);
    let flag_out = Some(b.only_pred(&form, p)?);
    b.lane(
        Lane {
            d: None,
            flag_out,
            flag_in: TRUE,
            divides: false,
        },
        eval,
        &[a],
    );
    Ok(())
}
