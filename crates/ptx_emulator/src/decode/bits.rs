//! Logic, shifts, bit fields and permutations.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::integer::{lanes, short, sign_extended, simple};
use super::lane::Lane;
use super::lop3;
use super::op::{IntOp, LaneFn, Op, PredOp, Reg, TRUE};
use super::program::Value;
use crate::error::ParseError;

/// `and`, `shl`, `popc`, `bfe`, …
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.base == "shf" {
        return funnel_shift(b, form);
    }
    match form.base {
        "prmt" => return permute(b, form),
        "bmsk" | "szext" => return masked(b, form),
        _ => {}
    }
    let shift_amount = form.take("shiftamt");
    let ty = form.ty()?;
    let wide = ty.size() == 8;
    match (form.base, ty) {
        ("and", Ty::Pred) => logic(b, &form, PredOp::And),
        ("or", Ty::Pred) => logic(b, &form, PredOp::Or),
        ("xor", Ty::Pred) => logic(b, &form, PredOp::Xor),
        ("not", Ty::Pred) => {
            let [d, p] = form.finish()?;
            let (d, p) = (b.only_pred(&form, d)?, b.pred(&form, p)?);
            b.emit(Op::Logic {
                op: PredOp::And,
                d,
                a: p.not(),
                b: TRUE,
            });
            Ok(())
        }
        ("and", Ty::B16 | Ty::B32 | Ty::B64) => simple(b, &form, IntOp::And, ty),
        ("or", Ty::B16 | Ty::B32 | Ty::B64) => simple(b, &form, IntOp::Or, ty),
        ("xor", Ty::B16 | Ty::B32 | Ty::B64) => simple(b, &form, IntOp::Xor, ty),
        ("not", Ty::B16) => lanes(b, &form, ty, 1, Some(|[a, ..], _| (!a & 0xffff, false))),
        ("not", Ty::B32 | Ty::B64) => {
            let [d, a] = form.finish()?;
            if wide {
                let (a, ones) = (
                    b.source64(&form, a, ty)?,
                    b.constant64(Value::Bits(u64::MAX))?,
                );
                let d = b.target64(&form, d)?;
                b.emit(Op::Int64 {
                    op: IntOp::Xor,
                    d,
                    a,
                    b: ones,
                });
            } else {
                let (a, ones) = (
                    b.source32(&form, a, ty)?,
                    b.constant32(Value::Bits(0xffff_ffff))?,
                );
                let d = b.target32(&form, d)?;
                b.emit(Op::Int32 {
                    op: IntOp::Xor,
                    d,
                    a,
                    b: ones,
                });
            }
            Ok(())
        }
        ("cnot", Ty::B16 | Ty::B32 | Ty::B64) => lanes(
            b,
            &form,
            ty,
            1,
            Some(|[a, ..], _| (u64::from(a == 0), false)),
        ),
        ("shl", Ty::B16 | Ty::B32 | Ty::B64) => shift(b, &form, IntOp::Shl, ty),
        ("shr", Ty::S16 | Ty::S32 | Ty::S64) => shift(b, &form, IntOp::ShrSigned, ty),
        ("shr", Ty::B16 | Ty::B32 | Ty::B64 | Ty::U16 | Ty::U32 | Ty::U64) => {
            shift(b, &form, IntOp::ShrUnsigned, ty)
        }
        ("lop3", Ty::B32) => lop3::decode(b, &mut form),
        ("popc", Ty::B32 | Ty::B64) => count(b, &form, ty, |[a, ..], _| {
            (u64::from(a.count_ones()), false)
        }),
        ("clz", Ty::B32) => count(b, &form, ty, |[a, ..], _| {
            (u64::from((a as u32).leading_zeros()), false)
        }),
        ("clz", Ty::B64) => count(b, &form, ty, |[a, ..], _| {
            (u64::from(a.leading_zeros()), false)
        }),
        ("bfind", _) => find(b, &form, ty, shift_amount),
        ("brev", Ty::B32) => lanes(
            b,
            &form,
            ty,
            1,
            Some(|[a, ..], _| (u64::from((a as u32).reverse_bits()), false)),
        ),
        ("brev", Ty::B64) => lanes(
            b,
            &form,
            ty,
            1,
            Some(|[a, ..], _| (a.reverse_bits(), false)),
        ),
        ("bfe", _) => field_extract(b, &form, ty),
        ("fns", Ty::B32) => lanes(
            b,
            &form,
            ty,
            3,
            Some(|[mask, base, offset, _], _| (find_set(mask, base, offset), false)),
        ),
        ("bfi", Ty::B32) => field_insert(b, &form, ty, |s, _| (bfi::<32>(s), false)),
        ("bfi", Ty::B64) => field_insert(b, &form, ty, |s, _| (bfi::<64>(s), false)),
        _ => Err(form.unsupported()),
    }
}

fn logic<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>, op: PredOp) -> Result<(), ParseError> {
    let [d, left, right] = form.finish()?;
    let (left, right) = (b.pred(form, left)?, b.pred(form, right)?);
    let d = b.only_pred(form, d)?;
    b.emit(Op::Logic {
        op,
        d,
        a: left,
        b: right,
    });
    Ok(())
}

/// Shifts: the count is a 32-bit operand in every width.
fn shift<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    op: IntOp,
    ty: Ty,
) -> Result<(), ParseError> {
    let [d, value, count] = form.finish()?;
    let count = b.r32(form, count)?;
    match ty.size() {
        4 => {
            let value = b.source32(form, value, ty)?;
            let d = b.target32(form, d)?;
            b.emit(Op::Int32 {
                op,
                d,
                a: value,
                b: count,
            });
        }
        8 => {
            let value = b.source64(form, value, ty)?;
            let d = b.target64(form, d)?;
            b.emit(Op::Int64 {
                op,
                d,
                a: value,
                b: count,
            });
        }
        _ => {
            let mut value = b.r16(form, value)?;
            if op == IntOp::ShrSigned {
                value = sign_extended(b, value)?;
            }
            let Reg::R16(d) = b.target(form, d, ty)? else {
                return Err(form.unsupported());
            };
            short(b, op, d, value, count)?;
        }
    }
    Ok(())
}

/// Functions with a 32-bit result for any operand width.
fn count<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    eval: LaneFn,
) -> Result<(), ParseError> {
    let [d, a] = form.finish()?;
    let a = b.source(form, a, ty)?;
    let d = b.target32(form, d)?;
    b.lane(Lane::to(Reg::R32(d)), eval, &[a]);
    Ok(())
}

/// `bfind`: the highest bit that differs from the sign; all ones when there is none.
fn find<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    shift: bool,
) -> Result<(), ParseError> {
    fn highest<const BITS: u32>(value: u64, shift: bool) -> (u64, bool) {
        let position = match value {
            0 => return (0xffff_ffff, false),
            value => 63 - value.leading_zeros(),
        };
        (
            u64::from(if shift { BITS - 1 - position } else { position }),
            false,
        )
    }
    /// Inverts negative numbers, so that their leading zeros can be counted.
    fn magnitude32(value: u64) -> u64 {
        let value = value as i32;
        u64::from((value ^ (value >> 31)) as u32)
    }
    fn magnitude64(value: u64) -> u64 {
        let value = value as i64;
        (value ^ (value >> 63)) as u64
    }
    let eval: LaneFn = match (ty, shift) {
        (Ty::U32, false) => |[a, ..], _| highest::<32>(a, false),
        (Ty::U32, true) => |[a, ..], _| highest::<32>(a, true),
        (Ty::U64, false) => |[a, ..], _| highest::<64>(a, false),
        (Ty::U64, true) => |[a, ..], _| highest::<64>(a, true),
        (Ty::S32, false) => |[a, ..], _| highest::<32>(magnitude32(a), false),
        (Ty::S32, true) => |[a, ..], _| highest::<32>(magnitude32(a), true),
        (Ty::S64, false) => |[a, ..], _| highest::<64>(magnitude64(a), false),
        (Ty::S64, true) => |[a, ..], _| highest::<64>(magnitude64(a), true),
        _ => return Err(form.unsupported()),
    };
    count(b, form, ty, eval)
}

fn field_extract<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
) -> Result<(), ParseError> {
    fn extract<const BITS: u32>([a, position, length, _]: [u64; 4], signed: bool) -> (u64, bool) {
        let (position, length) = field::<BITS>(position, length);
        let top = BITS - 1;
        let sign_at = (position + length).saturating_sub(1).min(top);
        let fill = signed && length > 0 && (a >> sign_at) & 1 == 1;
        let field = |index: u32| {
            if index < length && position + index <= top {
                (a >> (position + index)) & 1
            } else {
                u64::from(fill)
            }
        };
        (
            (0..BITS).fold(0, |bits, index| bits | field(index) << index),
            false,
        )
    }
    let eval: LaneFn = match ty {
        Ty::U32 => |s, _| extract::<32>(s, false),
        Ty::S32 => |s, _| extract::<32>(s, true),
        Ty::U64 => |s, _| extract::<64>(s, false),
        Ty::S64 => |s, _| extract::<64>(s, true),
        _ => return Err(form.unsupported()),
    };
    let [d, a, position, length] = form.finish()?;
    let sources = [
        b.source(form, a, ty)?,
        Reg::R32(b.r32(form, position)?),
        Reg::R32(b.r32(form, length)?),
    ];
    let d = b.target(form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}

/// Position and length of a bit field. PTX defines values below 256. The H200 ignores higher bits
/// in the 32-bit form, and treats such fields as out of range in the 64-bit form.
fn field<const BITS: u32>(position: u64, length: u64) -> (u32, u32) {
    let reach = |value: u64| {
        if BITS == 32 {
            value & 0xff
        } else {
            value.min(0xff)
        }
    };
    (reach(position) as u32, reach(length) as u32)
}

/// Inserts the low `length` bits of `a` into `b` at `position`.
fn bfi<const BITS: u32>([a, b, position, length]: [u64; 4]) -> u64 {
    let (position, length) = field::<BITS>(position, length);
    let end = (position + length).min(BITS);
    (position..end).fold(b, |bits, at| {
        bits & !(1 << at) | ((a >> (at - position)) & 1) << at
    })
}

fn field_insert<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    eval: LaneFn,
) -> Result<(), ParseError> {
    let [d, a, into, position, length] = form.finish()?;
    let sources = [
        b.source(form, a, ty)?,
        b.source(form, into, ty)?,
        Reg::R32(b.r32(form, position)?),
        Reg::R32(b.r32(form, length)?),
    ];
    let d = b.target(form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources);
    Ok(())
}

fn funnel_shift<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    fn joined(low: u64, high: u64) -> u64 {
        high << 32 | low
    }
    fn left(low: u64, high: u64, count: u64) -> (u64, bool) {
        ((joined(low, high) << count) >> 32, false)
    }
    fn right(low: u64, high: u64, count: u64) -> (u64, bool) {
        ((joined(low, high) >> count) & 0xffff_ffff, false)
    }
    let direction = form.take_one_of(&["l", "r"]);
    let mode = form.take_one_of(&["wrap", "clamp"]);
    let ty = form.ty()?;
    let eval: LaneFn = match (direction, mode, ty) {
        (Some("l"), Some("wrap"), Ty::B32) => {
            |[low, high, count, _], _| left(low, high, count & 31)
        }
        (Some("l"), Some("clamp"), Ty::B32) => {
            |[low, high, count, _], _| left(low, high, count.min(32))
        }
        (Some("r"), Some("wrap"), Ty::B32) => {
            |[low, high, count, _], _| right(low, high, count & 31)
        }
        (Some("r"), Some("clamp"), Ty::B32) => {
            |[low, high, count, _], _| right(low, high, count.min(32))
        }
        _ => return Err(form.unsupported()),
    };
    lanes(b, &form, ty, 3, Some(eval))
}

fn permute<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    fn gather(a: u64, b: u64, selectors: [u64; 4]) -> (u64, bool) {
        let bytes = (b << 32 | a).to_le_bytes();
        let pick = |selector: u64| {
            let byte = bytes[(selector & 7) as usize];
            // Bit 3 of a selector replicates the byte's sign.
            if selector & 8 == 0 {
                byte
            } else {
                ((byte as i8) >> 7) as u8
            }
        };
        (u64::from(u32::from_le_bytes(selectors.map(pick))), false)
    }
    let ty = form.ty()?;
    let mode = form.take_one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
    let eval: LaneFn = match mode {
        None => |[a, b, c, _], _| gather(a, b, [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15]),
        Some("f4e") => |[a, b, c, _], _| gather(a, b, [0, 1, 2, 3].map(|k| (k + (c & 3)) & 7)),
        Some("b4e") => |[a, b, c, _], _| gather(a, b, [0, 7, 6, 5].map(|k| (k + (c & 3)) & 7)),
        Some("rc8") => |[a, b, c, _], _| gather(a, b, [c & 3; 4]),
        Some("ecl") => |[a, b, c, _], _| gather(a, b, [0, 1, 2, 3].map(|k: u64| k.max(c & 3))),
        Some("ecr") => |[a, b, c, _], _| gather(a, b, [0, 1, 2, 3].map(|k: u64| k.min(c & 3))),
        _ => |[a, b, c, _], _| gather(a, b, [0, 1, 2, 3].map(|k| 2 * (c & 1) + (k & 1))),
    };
    if ty != Ty::B32 {
        return Err(form.unsupported());
    }
    lanes(b, &form, ty, 3, Some(eval))
}

/// `bmsk` makes a mask from a position and a length; `szext` sign- or zero-extends the low bits.
fn masked<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    /// A mask of the low `count` bits.
    fn low(count: u64) -> u64 {
        (1 << count.min(32)) - 1
    }
    fn mask(position: u64, length: u64) -> (u64, bool) {
        ((low(length) << position) & low(32), false)
    }
    fn extend(value: u64, length: u64, signed: bool) -> (u64, bool) {
        let negative = signed && length > 0 && value >> (length - 1) & 1 == 1;
        let rest = if negative { low(32) & !low(length) } else { 0 };
        (value & low(length) | rest, false)
    }
    let mode = form.take_one_of(&["clamp", "wrap"]);
    let ty = form.ty()?;
    let eval: LaneFn = match (form.base, mode, ty) {
        ("bmsk", Some("clamp"), Ty::B32) => |[a, b, ..], _| mask(a.min(32), b.min(32)),
        ("bmsk", Some("wrap"), Ty::B32) => |[a, b, ..], _| mask(a & 31, b & 31),
        ("szext", Some("clamp"), Ty::U32) => |[a, b, ..], _| extend(a, b.min(32), false),
        ("szext", Some("clamp"), Ty::S32) => |[a, b, ..], _| extend(a, b.min(32), true),
        ("szext", Some("wrap"), Ty::U32) => |[a, b, ..], _| extend(a, b & 31, false),
        ("szext", Some("wrap"), Ty::S32) => |[a, b, ..], _| extend(a, b & 31, true),
        _ => return Err(form.unsupported()),
    };
    lanes(b, &form, ty, 2, Some(eval))
}

/// `fns`: the `offset`th set bit from `base`, upwards or downwards; all ones if there is none.
fn find_set(mask: u64, base: u64, offset: u64) -> u64 {
    let (base, offset) = (base as i64 & 0xffff_ffff, i64::from(offset as i32));
    let set = |position: &i64| mask >> position & 1 == 1;
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(offset as usize - 1),
        _ => (0..=base)
            .rev()
            .filter(set)
            .nth(offset.unsigned_abs() as usize - 1),
    };
    found.map_or(0xffff_ffff, |position| position as u64)
}
