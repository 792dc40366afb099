use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::{Integer, Lane, for_integer, integer_ty};
use super::op::{CARRY, IntOp, LaneFn, Op, Pred, PredOp, Reg, Row, TRUE};
use super::program::Value;
use crate::error::ParseError;
use crate::parse::Operand;

/// `add`, `sub`, `mul`, `mad`, `div`, … of integers.
pub(super) fn arithmetic<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let carry_out = form.take("cc");
    let saturate = form.take("sat");
    let part = form.take_one_of(&["lo", "hi", "wide"]);
    let ty = form.ty()?;
    if form.base == "dp4a" {
        return dot_product(b, form, ty);
    }
    if !integer_ty(ty) {
        return Err(form.unsupported());
    }
    if carry_out || matches!(form.base, "addc" | "subc" | "madc") {
        return if saturate || ty.size() == 2 {
            Err(form.unsupported())
        } else {
            with_carry(b, form, ty, part, carry_out)
        };
    }
    if saturate {
        return saturating(b, form, ty, part);
    }
    match (form.base, part) {
        ("add", None) => simple(b, &form, IntOp::Add, ty),
        ("sub", None) => simple(b, &form, IntOp::Sub, ty),
        ("mul", Some("lo")) => simple(b, &form, IntOp::Mul, ty),
        ("min", None) => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MinSigned
            } else {
                IntOp::MinUnsigned
            },
            ty,
        ),
        ("max", None) => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MaxSigned
            } else {
                IntOp::MaxUnsigned
            },
            ty,
        ),
        ("mul", Some("hi")) if ty.size() > 2 => simple(
            b,
            &form,
            if ty.is_signed() {
                IntOp::MulHiSigned
            } else {
                IntOp::MulHiUnsigned
            },
            ty,
        ),
        ("mul" | "mad", Some("wide")) => wide(b, &form, ty),
        ("mad", Some("lo")) if ty.size() > 2 => mad_low(b, &form, ty),
        ("mul", Some("hi")) => lanes(b, &form, ty, 2, for_integer!(ty, mul_high)),
        ("mad", Some("lo")) => lanes(b, &form, ty, 3, for_integer!(ty, mad_low_lane)),
        ("mad", Some("hi")) => lanes(b, &form, ty, 3, for_integer!(ty, mad_high)),
        ("mul24", Some("lo")) if ty.size() == 4 => lanes(b, &form, ty, 2, mul24(ty, false)),
        ("mul24", Some("hi")) if ty.size() == 4 => lanes(b, &form, ty, 2, mul24(ty, true)),
        ("mad24", Some("lo")) if ty.size() == 4 => lanes(b, &form, ty, 3, mul24(ty, false)),
        ("mad24", Some("hi")) if ty.size() == 4 => lanes(b, &form, ty, 3, mul24(ty, true)),
        ("sad", None) => lanes(b, &form, ty, 3, for_integer!(ty, sum_of_difference)),
        ("abs", None) if ty.is_signed() => lanes(b, &form, ty, 1, for_integer!(ty, absolute)),
        ("neg", None) if ty.is_signed() => lanes(b, &form, ty, 1, for_integer!(ty, negate)),
        ("div", None) => divide(b, &form, ty, for_integer!(ty, quotient)),
        ("rem", None) => divide(b, &form, ty, for_integer!(ty, remainder)),
        _ => Err(form.unsupported()),
    }
}

/// An operation of vector code, for 16, 32 and 64 bits.
fn simple<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    op: IntOp,
    ty: Ty,
) -> Result<(), ParseError> {
    let [d, left, right] = form.finish()?;
    match ty.size() {
        4 => {
            let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
            let d = b.target32(form, d)?;
            b.emit(Op::Int32 {
                op,
                d,
                a: left,
                b: right,
            });
        }
        8 => {
            let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
            let d = b.target64(form, d)?;
            b.emit(Op::Int64 {
                op,
                d,
                a: left,
                b: right,
            });
        }
        _ => {
            let (left, right) = (b.r16(form, left)?, b.r16(form, right)?);
            let Reg::R16(d) = b.target(form, d, ty)? else {
                return Err(form.unsupported());
            };
            let (left, right) = match op {
                IntOp::MinSigned | IntOp::MaxSigned => {
                    (sign_extended(b, left)?, sign_extended(b, right)?)
                }
                _ => (left, right),
            };
            short(b, op, d, left, right)?;
        }
    }
    Ok(())
}

/// 16-bit values live zero-extended in rows of 32 bits: compute there and cut.
fn short(
    b: &mut Builder<'_, '_>,
    op: IntOp,
    d: Row,
    left: Row,
    right: Row,
) -> Result<(), ParseError> {
    let mask = b.constant32(Value::Bits(0xffff))?;
    let t = b.temp32()?;
    b.emit(Op::Int32 {
        op,
        d: t,
        a: left,
        b: right,
    });
    b.emit(Op::Int32 {
        op: IntOp::And,
        d,
        a: t,
        b: mask,
    });
    Ok(())
}

/// A temporary row with a 16-bit value's sign extended to 32 bits.
pub(super) fn sign_extended(b: &mut Builder<'_, '_>, row: Row) -> Result<Row, ParseError> {
    let sixteen = b.constant32(Value::Bits(16))?;
    let t = b.temp32()?;
    b.emit(Op::Int32 {
        op: IntOp::Shl,
        d: t,
        a: row,
        b: sixteen,
    });
    b.emit(Op::Int32 {
        op: IntOp::ShrSigned,
        d: t,
        a: t,
        b: sixteen,
    });
    Ok(t)
}

fn wide<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>, ty: Ty) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let (d, left, right, addend) = match (form.base, form.operands) {
        ("mul", [d, left, right]) => (d, left, right, None),
        ("mad", [d, left, right, addend]) => (d, left, right, Some(addend)),
        _ => return Err(form.wrong("has another number of operands")),
    };
    match ty.size() {
        4 => {
            let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
            let addend = addend.map(|addend| b.r64(form, addend)).transpose()?;
            let d = b.target64(form, d)?;
            let signed = ty.is_signed();
            b.emit(match addend {
                None => Op::MulWide {
                    signed,
                    d,
                    a: left,
                    b: right,
                },
                Some(c) => Op::MadWide {
                    signed,
                    d,
                    a: left,
                    b: right,
                    c,
                },
            });
        }
        2 => {
            let (mut left, mut right) = (b.r16(form, left)?, b.r16(form, right)?);
            if ty.is_signed() {
                (left, right) = (sign_extended(b, left)?, sign_extended(b, right)?);
            }
            let addend = addend.map(|addend| b.r32(form, addend)).transpose()?;
            let d = b.target32(form, d)?;
            b.emit(match addend {
                None => Op::Int32 {
                    op: IntOp::Mul,
                    d,
                    a: left,
                    b: right,
                },
                Some(c) => Op::Mad32 {
                    d,
                    a: left,
                    b: right,
                    c,
                },
            });
        }
        _ => return Err(form.unsupported()),
    }
    Ok(())
}

fn mad_low<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>, ty: Ty) -> Result<(), ParseError> {
    let [d, left, right, addend] = form.finish()?;
    if ty.size() == 4 {
        let (left, right) = (b.source32(form, left, ty)?, b.source32(form, right, ty)?);
        let addend = b.source32(form, addend, ty)?;
        let d = b.target32(form, d)?;
        b.emit(Op::Mad32 {
            d,
            a: left,
            b: right,
            c: addend,
        });
    } else {
        let (left, right) = (b.source64(form, left, ty)?, b.source64(form, right, ty)?);
        let addend = b.source64(form, addend, ty)?;
        let d = b.target64(form, d)?;
        b.emit(Op::Mad64 {
            d,
            a: left,
            b: right,
            c: addend,
        });
    }
    Ok(())
}

/// An operation whose operands all have the type.
fn lanes<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    count: usize,
    eval: Option<LaneFn>,
) -> Result<(), ParseError> {
    form.no_more_modifiers()?;
    let eval = eval.ok_or_else(|| form.unsupported())?;
    let [d, sources @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if sources.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let sources: Result<Vec<Reg>, _> = sources
        .iter()
        .map(|source| b.source(form, source, ty))
        .collect();
    let d = b.target(form, d, ty)?;
    b.lane(Lane::to(d), eval, &sources?);
    Ok(())
}

fn divide<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    eval: Option<LaneFn>,
) -> Result<(), ParseError> {
    let [d, left, right] = form.finish()?;
    let sources = [b.source(form, left, ty)?, b.source(form, right, ty)?];
    let d = b.target(form, d, ty)?;
    let eval = eval.ok_or_else(|| form.unsupported())?;
    b.lane(
        Lane {
            divides: true,
            ..Lane::to(d)
        },
        eval,
        &sources,
    );
    Ok(())
}

fn saturating<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    ty: Ty,
    part: Option<&str>,
) -> Result<(), ParseError> {
    match (form.base, part, ty) {
        ("add", None, Ty::S32) => lanes(
            b,
            &form,
            ty,
            2,
            Some(|[a, b, ..], _| (add_sat(a, b), false)),
        ),
        ("sub", None, Ty::S32) => lanes(
            b,
            &form,
            ty,
            2,
            Some(|[a, b, ..], _| (sub_sat(a, b), false)),
        ),
        ("mad", Some("hi"), Ty::S32) => lanes(
            b,
            &form,
            ty,
            3,
            Some(|[a, b, c, _], _| (mad_high_sat(a, b, c), false)),
        ),
        _ => Err(form.unsupported()),
    }
}

fn add_sat(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_add(b as i32) as u32)
}

fn sub_sat(a: u64, b: u64) -> u64 {
    u64::from((a as i32).saturating_sub(b as i32) as u32)
}

fn mad_high_sat(a: u64, b: u64, c: u64) -> u64 {
    let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
    u64::from((high as i32).saturating_add(c as i32) as u32)
}

/// Extended-precision arithmetic through the carry flag.
fn with_carry<'a>(
    b: &mut Builder<'a, '_>,
    form: Form<'_, 'a>,
    ty: Ty,
    part: Option<&str>,
    carry_out: bool,
) -> Result<(), ParseError> {
    let wide = ty.size() == 8;
    let (eval, count): (LaneFn, usize) = match (form.base, part, wide) {
        ("add" | "addc", None, false) => (|[a, b, ..], c| sum::<32>(a, b, c), 2),
        ("add" | "addc", None, true) => (|[a, b, ..], c| sum::<64>(a, b, c), 2),
        ("sub" | "subc", None, false) => (|[a, b, ..], c| difference::<32>(a, b, c), 2),
        ("sub" | "subc", None, true) => (|[a, b, ..], c| difference::<64>(a, b, c), 2),
        ("mad" | "madc", Some("lo"), false) => (
            |[a, b, c, _], carry| sum::<32>(a.wrapping_mul(b) as u32 as u64, c, carry),
            3,
        ),
        ("mad" | "madc", Some("lo"), true) => (
            |[a, b, c, _], carry| sum::<64>(a.wrapping_mul(b), c, carry),
            3,
        ),
        ("mad" | "madc", Some("hi"), _) => match ty {
            Ty::U32 => (|[a, b, c, _], carry| sum::<32>((a * b) >> 32, c, carry), 3),
            Ty::S32 => (
                |[a, b, c, _], carry| sum::<32>(high_signed32(a, b), c, carry),
                3,
            ),
            Ty::U64 => (
                |[a, b, c, _], carry| {
                    sum::<64>(((u128::from(a) * u128::from(b)) >> 64) as u64, c, carry)
                },
                3,
            ),
            _ => (
                |[a, b, c, _], carry| {
                    sum::<64>(
                        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
                        c,
                        carry,
                    )
                },
                3,
            ),
        },
        _ => return Err(form.unsupported()),
    };
    form.no_more_modifiers()?;
    let [d, sources @ ..] = form.operands else {
        return Err(form.wrong("has no operands"));
    };
    if sources.len() != count {
        return Err(form.wrong(format!("takes {} operands", count + 1)));
    }
    let sources: Result<Vec<Reg>, _> = sources
        .iter()
        .map(|source| b.source(&form, source, ty))
        .collect();
    let d = b.target(&form, d, ty)?;
    let carry_in = form.base.ends_with('c');
    let flag_in = if carry_in {
        Pred::new(CARRY, false)
    } else {
        TRUE.not()
    };
    let flag_out = carry_out.then_some(CARRY);
    b.lane(
        Lane {
            flag_in,
            flag_out,
            ..Lane::to(d)
        },
        eval,
        &sources?,
    );
    Ok(())
}

fn high_signed32(a: u64, b: u64) -> u64 {
    u64::from(((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32)
}

fn sum<const BITS: u32>(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64 & (u64::MAX >> (64 - BITS)), sum >> BITS != 0)
}

/// The flag is a borrow.
fn difference<const BITS: u32>(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let difference = i128::from(a) - i128::from(b) - i128::from(borrow);
    (
        difference as u64 & (u64::MAX >> (64 - BITS)),
        difference < 0,
    )
}

fn mul_high<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (high(T::from_bits(a), T::from_bits(b)).into_bits(), false)
}

fn high<T: Integer>(a: T, b: T) -> T {
    // The product of two 64-bit unsigned numbers does not fit i128, but wraps to the right bits of u128.
    let product = a.wide().wrapping_mul(b.wide());
    T::wrap(((product as u128) >> T::BITS) as i128)
}

fn mad_high<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let high = high(T::from_bits(a), T::from_bits(b));
    (
        T::wrap(high.wide() + T::from_bits(c).wide()).into_bits(),
        false,
    )
}

fn mad_low_lane<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let product = T::from_bits(a).wide().wrapping_mul(T::from_bits(b).wide());
    (
        T::wrap(product.wrapping_add(T::from_bits(c).wide())).into_bits(),
        false,
    )
}

fn sum_of_difference<T: Integer>([a, b, c, _]: [u64; 4], _: bool) -> (u64, bool) {
    let difference = (T::from_bits(a).wide() - T::from_bits(b).wide()).abs();
    (
        T::wrap(difference + T::from_bits(c).wide()).into_bits(),
        false,
    )
}

fn absolute<T: Integer>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (T::wrap(T::from_bits(a).wide().abs()).into_bits(), false)
}

fn negate<T: Integer>([a, ..]: [u64; 4], _: bool) -> (u64, bool) {
    (T::wrap(-T::from_bits(a).wide()).into_bits(), false)
}

/// Divisors of zero are reported before; inactive lanes may hold one.
fn quotient<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let quotient = T::from_bits(a).wide().checked_div(T::from_bits(b).wide());
    (T::wrap(quotient.unwrap_or(0)).into_bits(), false)
}

fn remainder<T: Integer>([a, b, ..]: [u64; 4], _: bool) -> (u64, bool) {
    let remainder = T::from_bits(a).wide().checked_rem(T::from_bits(b).wide());
    (T::wrap(remainder.unwrap_or(0)).into_bits(), false)
}

/// Multiplies the low 24 bits; bits 0..32 or 16..48 of the product, plus a third operand (zero when there is none).
fn mul24(ty: Ty, high: bool) -> Option<LaneFn> {
    fn signed(value: u64) -> i64 {
        i64::from((value as i32) << 8 >> 8)
    }
    fn result(product: i64, shift: u32, addend: u64) -> (u64, bool) {
        (
            u64::from(((product >> shift) as u32).wrapping_add(addend as u32)),
            false,
        )
    }
    Some(match (ty, high) {
        (Ty::U32, false) => {
            |[a, b, c, _], _| result(((a & 0xff_ffff) * (b & 0xff_ffff)) as i64, 0, c)
        }
        (Ty::U32, true) => {
            |[a, b, c, _], _| result(((a & 0xff_ffff) * (b & 0xff_ffff)) as i64, 16, c)
        }
        (_, false) => |[a, b, c, _], _| result(signed(a) * signed(b), 0, c),
        (_, true) => |[a, b, c, _], _| result(signed(a) * signed(b), 16, c),
    })
}

/// `dp4a`: the products of four bytes, summed onto a third operand.
fn dot_product<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    left: Ty,
) -> Result<(), ParseError> {
    fn dot(a: u64, b: u64, c: u64, signed: [bool; 2]) -> (u64, bool) {
        let byte = |value: u64, index: u32, signed: bool| {
            let byte = (value >> (8 * index)) as u8;
            if signed {
                i32::from(byte as i8)
            } else {
                i32::from(byte)
            }
        };
        let products = (0..4).map(|index| byte(a, index, signed[0]) * byte(b, index, signed[1]));
        (
            u64::from(products.fold(c as i32, i32::wrapping_add) as u32),
            false,
        )
    }
    let right = form.ty()?;
    let eval: LaneFn = match (left, right) {
        (Ty::U32, Ty::U32) => |[a, b, c, _], _| dot(a, b, c, [false, false]),
        (Ty::U32, Ty::S32) => |[a, b, c, _], _| dot(a, b, c, [false, true]),
        (Ty::S32, Ty::U32) => |[a, b, c, _], _| dot(a, b, c, [true, false]),
        (Ty::S32, Ty::S32) => |[a, b, c, _], _| dot(a, b, c, [true, true]),
        _ => return Err(form.unsupported()),
    };
    lanes(b, &form, Ty::B32, 3, Some(eval))
}

/// `and`, `shl`, `popc`, `bfe`, …
pub(super) fn bits<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if form.base == "shf" {
        return funnel_shift(b, form);
    }
    if form.base == "prmt" {
        return permute(b, form);
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
        ("lop3", Ty::B32) => lop3(b, &form),
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

/// The count is a 32-bit operand in every width.
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

/// A function whose result has 32 bits whatever the operand has.
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
    /// Flips negative numbers, so that their zeros are found.
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
    /// Position and length are the low bytes of their operands; bits past the top are the sign, or zeros.
    fn extract<const BITS: u32>([a, position, length, _]: [u64; 4], signed: bool) -> (u64, bool) {
        let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
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

/// Puts the low `length` bits of `a` into `b` from `position` on.
fn bfi<const BITS: u32>([a, b, position, length]: [u64; 4]) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
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

fn lop3<'a>(b: &mut Builder<'a, '_>, form: &Form<'_, 'a>) -> Result<(), ParseError> {
    let [d, x, y, z, table] = form.finish()?;
    let &Operand::Int(table) = table else {
        return Err(form.wrong("needs a constant table"));
    };
    if table > 0xff {
        return Err(form.wrong("needs a table of 8 bits"));
    }
    let mut sources = Vec::new();
    for operand in [x, y, z] {
        sources.push(b.source(form, operand, Ty::B32)?);
    }
    sources.push(Reg::R32(b.constant32(Value::Bits(table))?));
    let d = b.target32(form, d)?;
    let eval: LaneFn = |[x, y, z, table], _| {
        let minterm = |index: u64| {
            let pick = |value: u64, bit: u64| if index & bit != 0 { value } else { !value };
            if table >> index & 1 == 1 {
                pick(x, 4) & pick(y, 2) & pick(z, 1)
            } else {
                0
            }
        };
        (
            (0..8).map(minterm).fold(0, |bits, term| bits | term) & 0xffff_ffff,
            false,
        )
    };
    b.lane(Lane::to(Reg::R32(d)), eval, &sources);
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
            // Bit 3 spreads the byte's sign.
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
