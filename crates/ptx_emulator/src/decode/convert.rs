//! `cvt`, `cvta` and `isspacep`.

use super::builder::Builder;
use super::conversion::{Code, evaluate};
use super::form::{Form, Ty};
use super::fp8;
use super::lane::Lane;
use super::op::{IntOp, LaneFn, Op, Reg};
use super::program::Value;
use super::rounding::{DOWN, NEAREST, NEAREST_AWAY, UP, ZERO};
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
    let p = b.only_pred(&form, p)?;
    b.lane(Lane::to_flag(p), eval, &[a]);
    Ok(())
}
