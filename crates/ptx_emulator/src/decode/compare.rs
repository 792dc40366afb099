use super::builder::Builder;
use super::form::{Form, Ty};
use super::integer::sign_extended;
use super::lane::Lane;
use super::op::{Compare, CompareType, IntOp, LaneFn, Op, Pred, PredOp, Reg, Row, TRUE};
use super::program::Value;
use super::rounding::{BF16, F16, Format};
use crate::error::ParseError;
use crate::parse::Operand;

/// `setp`, `set`, `selp`, `slct`.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    match form.base {
        "selp" => {
            let ty = form.ty()?;
            let [d, x, y, p] = form.finish()?;
            let (x, y, p) = (
                b.source(&form, x, ty)?,
                b.source(&form, y, ty)?,
                b.pred(&form, p)?,
            );
            let d = b.target(&form, d, ty)?;
            select(b, &form, d, x, y, p)
        }
        "slct" => sign_select(b, form),
        "set" => set(b, form),
        _ => set_predicate(b, form),
    }
}

fn select(
    b: &mut Builder<'_, '_>,
    form: &Form<'_, '_>,
    d: Reg,
    x: Reg,
    y: Reg,
    p: Pred,
) -> Result<(), ParseError> {
    match (d, x, y) {
        (Reg::R16(d), Reg::R16(x), Reg::R16(y)) | (Reg::R32(d), Reg::R32(x), Reg::R32(y)) => {
            b.emit(Op::Select32 { d, a: x, b: y, p });
        }
        (Reg::R64(d), Reg::R64(x), Reg::R64(y)) => b.emit(Op::Select64 { d, a: x, b: y, p }),
        _ => return Err(form.unsupported()),
    }
    Ok(())
}

/// A PTX comparison operator: one or two decoded comparisons, combined by "or", optionally
/// inverted.
struct Relation {
    first: Compare,
    second: Option<Compare>,
    invert: bool,
}

/// Parses the operator from the modifiers.
fn relation(form: &mut Form<'_, '_>) -> Result<&'static str, ParseError> {
    let operators = [
        "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
        "gtu", "geu", "num", "nan",
    ];
    form.take_one_of(&operators)
        .ok_or_else(|| form.unsupported())
}

/// Decoded comparisons are false for NaN, except `Ne`, which is true.
fn resolve(name: &str, ty: Ty) -> Option<Relation> {
    let plain = |first| {
        Some(Relation {
            first,
            second: None,
            invert: false,
        })
    };
    let inverted = |first| {
        Some(Relation {
            first,
            second: None,
            invert: true,
        })
    };
    let either = |first, second, invert| {
        Some(Relation {
            first,
            second: Some(second),
            invert,
        })
    };
    let float = matches!(
        ty,
        Ty::F16 | Ty::BF16 | Ty::F16x2 | Ty::BF16x2 | Ty::F32 | Ty::F64
    );
    match (name, float) {
        ("eq", _) => plain(Compare::Eq),
        ("ne", false) | ("neu", true) => plain(Compare::Ne),
        _ if ty.is_bits() => None,
        ("lt", _) => plain(Compare::Lt),
        ("le", _) => plain(Compare::Le),
        ("gt", _) => plain(Compare::Gt),
        ("ge", _) => plain(Compare::Ge),
        ("lo", false) if !ty.is_signed() => plain(Compare::Lt),
        ("ls", false) if !ty.is_signed() => plain(Compare::Le),
        ("hi", false) if !ty.is_signed() => plain(Compare::Gt),
        ("hs", false) if !ty.is_signed() => plain(Compare::Ge),
        ("ne", true) => either(Compare::Lt, Compare::Gt, false),
        ("equ", true) => either(Compare::Lt, Compare::Gt, true),
        ("ltu", true) => inverted(Compare::Ge),
        ("leu", true) => inverted(Compare::Gt),
        ("gtu", true) => inverted(Compare::Le),
        ("geu", true) => inverted(Compare::Lt),
        ("num", true) => either(Compare::Le, Compare::Gt, false),
        ("nan", true) => either(Compare::Le, Compare::Gt, true),
        _ => None,
    }
}

/// The operands of a comparison, as rows for vector code.
fn operands<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    ty: Ty,
    flush: bool,
    x: &Operand<'a>,
    y: &Operand<'a>,
) -> Result<(CompareType, Row, Row), ParseError> {
    if flush && !matches!(ty, Ty::F32 | Ty::F16) {
        return Err(form.unsupported());
    }
    Ok(match ty {
        Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 => {
            let (mut x, mut y) = (b.source32(form, x, ty)?, b.source32(form, y, ty)?);
            if flush {
                for row in [&mut x, &mut y] {
                    let t = b.temp32()?;
                    b.emit(Op::Flush { d: t, a: *row });
                    *row = t;
                }
            }
            let compare = match ty {
                Ty::S32 => CompareType::S32,
                Ty::F32 => CompareType::F32,
                _ => CompareType::U32,
            };
            (compare, x, y)
        }
        Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => {
            let compare = match ty {
                Ty::S64 => CompareType::S64,
                Ty::F64 => CompareType::F64,
                _ => CompareType::U64,
            };
            (compare, b.source64(form, x, ty)?, b.source64(form, y, ty)?)
        }
        Ty::B16 | Ty::U16 => (CompareType::U32, b.r16(form, x)?, b.r16(form, y)?),
        Ty::S16 => {
            let (x, y) = (b.r16(form, x)?, b.r16(form, y)?);
            (CompareType::S32, sign_extended(b, x)?, sign_extended(b, y)?)
        }
        Ty::F16 | Ty::BF16 => {
            let mut rows = [0; 2];
            for (row, operand) in rows.iter_mut().zip([x, y]) {
                let source = Reg::R16(b.r16(form, operand)?);
                *row = widened(b, ty, flush, source, 0)?;
            }
            (CompareType::F32, rows[0], rows[1])
        }
        _ => return Err(form.unsupported()),
    })
}

/// A row of 16-bit floats (from the given half of each register), converted exactly to 32 bits.
fn widened(
    b: &mut Builder<'_, '_>,
    ty: Ty,
    flush: bool,
    source: Reg,
    shift: u64,
) -> Result<Row, ParseError> {
    fn value(format: Format, [bits, shift, flush, _]: [u64; 4]) -> (u64, bool) {
        let bits = (bits >> shift) as u32 & 0xffff;
        let subnormal = bits & 0x7fff < 1 << format.mantissa;
        let bits = if flush == 1 && subnormal {
            bits & 0x8000
        } else {
            bits
        };
        (u64::from((format.decode(bits) as f32).to_bits()), false)
    }
    let eval: LaneFn = match ty {
        Ty::F16 | Ty::F16x2 => |s, _| value(F16, s),
        _ => |s, _| value(BF16, s),
    };
    let d = b.temp32()?;
    let shift = Reg::R32(b.constant32(Value::Bits(shift))?);
    let flush = Reg::R32(b.constant32(Value::Bits(flush.into()))?);
    b.lane(Lane::to(Reg::R32(d)), eval, &[source, shift, flush]);
    Ok(d)
}

/// Emits the comparison into a predicate row.
fn compare(
    b: &mut Builder<'_, '_>,
    relation: &Relation,
    ty: CompareType,
    d: Row,
    x: Row,
    y: Row,
) -> Result<(), ParseError> {
    let Relation {
        first,
        second,
        invert,
    } = *relation;
    match second {
        None => b.emit(Op::Compare {
            compare: first,
            ty,
            invert,
            d,
            a: x,
            b: y,
        }),
        Some(second) => {
            let (t, u) = (b.temp_pred()?, b.temp_pred()?);
            b.emit(Op::Compare {
                compare: first,
                ty,
                invert,
                d: t,
                a: x,
                b: y,
            });
            b.emit(Op::Compare {
                compare: second,
                ty,
                invert,
                d: u,
                a: x,
                b: y,
            });
            // not (t or u) = not t and not u
            let op = if invert { PredOp::And } else { PredOp::Or };
            b.emit(Op::Logic {
                op,
                d,
                a: Pred::new(t, false),
                b: Pred::new(u, false),
            });
        }
    }
    Ok(())
}

fn boolean(form: &mut Form<'_, '_>) -> Option<PredOp> {
    form.take_one_of(&["and", "or", "xor"])
        .map(|name| match name {
            "and" => PredOp::And,
            "or" => PredOp::Or,
            _ => PredOp::Xor,
        })
}

/// `setp.cmp[.bool][.ftz].type p[|q], a, b[, [!]c]`
fn set_predicate<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let name = relation(&mut form)?;
    let combine = boolean(&mut form);
    let flush = form.take("ftz");
    let ty = form.ty()?;
    form.no_more_modifiers()?;
    let relation = resolve(name, ty).ok_or_else(|| form.unsupported())?;
    let (d, x, y, c) = match (form.operands, combine) {
        ([d, x, y], None) => (d, x, y, None),
        ([d, x, y, c], Some(op)) => (d, x, y, Some((op, c))),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let (p, q) = match *d {
        Operand::Name(p) => (b.target_pred(&form, p)?, None),
        Operand::Pair(p, q) => (b.target_pred(&form, p)?, b.target_pred(&form, q)?),
        _ => return Err(form.wrong("needs a predicate to write")),
    };
    let c = c
        .map(|(op, c)| b.pred(&form, c).map(|c| (op, c)))
        .transpose()?;
    // p = t op c and q = (not t) op c, through temporaries because p or q may be c.
    let t = b.temp_pred()?;
    let mut other = Pred::new(t, true);
    if matches!(ty, Ty::F16x2 | Ty::BF16x2) {
        if flush && ty == Ty::BF16x2 {
            return Err(form.unsupported());
        }
        // For packed pairs, p is for the low halves and q for the high ones.
        let upper = b.temp_pred()?;
        let (x, y) = (b.source(&form, x, ty)?, b.source(&form, y, ty)?);
        for (shift, d) in [(0, t), (16, upper)] {
            let (x, y) = (
                widened(b, ty, flush, x, shift)?,
                widened(b, ty, flush, y, shift)?,
            );
            compare(b, &relation, CompareType::F32, d, x, y)?;
        }
        other = Pred::new(upper, false);
    } else {
        let (ty, x, y) = operands(b, &form, ty, flush, x, y)?;
        if let (Some(p), None, None) = (p, q, c) {
            return compare(b, &relation, ty, p, x, y);
        }
        compare(b, &relation, ty, t, x, y)?;
    }
    let (op, c) = c.unwrap_or((PredOp::And, TRUE));
    let (u, v) = (b.temp_pred()?, b.temp_pred()?);
    b.emit(Op::Logic {
        op,
        d: u,
        a: Pred::new(t, false),
        b: c,
    });
    b.emit(Op::Logic {
        op,
        d: v,
        a: other,
        b: c,
    });
    // The instruction's guard may be p or q: both are written by moves guarded by a copy of its old
    // value.
    let guard = b.guard;
    let g = b.temp_pred()?;
    b.guard = TRUE;
    b.emit(Op::Logic {
        op: PredOp::And,
        d: g,
        a: guard,
        b: TRUE,
    });
    b.guard = Pred::new(g, false);
    for (target, value) in [(p, u), (q, v)] {
        if let Some(target) = target {
            b.emit(Op::Logic {
                op: PredOp::And,
                d: target,
                a: Pred::new(value, false),
                b: TRUE,
            });
        }
    }
    b.guard = guard;
    Ok(())
}

/// `set.cmp[.bool][.ftz].dtype.stype d, a, b[, [!]c]`: writes all ones or 1.0; for pairs, in each
/// half.
fn set<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let name = relation(&mut form)?;
    let combine = boolean(&mut form);
    let flush = form.take("ftz");
    let (result, ty) = (form.ty()?, form.ty()?);
    form.no_more_modifiers()?;
    let relation = resolve(name, ty).ok_or_else(|| form.unsupported())?;
    let (d, x, y, c) = match (form.operands, combine) {
        ([d, x, y], None) => (d, x, y, None),
        ([d, x, y, c], Some(op)) => (d, x, y, Some((op, b.pred(&form, c)?))),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let half = matches!(ty, Ty::F16 | Ty::BF16);
    let yes = match result {
        Ty::U32 | Ty::S32 => 0xffff_ffff,
        Ty::U16 | Ty::S16 if half => 0xffff,
        Ty::F32 => u64::from(1.0_f32.to_bits()),
        Ty::F16 | Ty::F16x2 => 0x3c00,
        Ty::BF16 | Ty::BF16x2 => 0x3f80,
        _ => return Err(form.unsupported()),
    };
    let part = match ty {
        Ty::F16x2 => Ty::F16,
        Ty::BF16x2 => Ty::BF16,
        _ if matches!(result, Ty::F16x2 | Ty::BF16x2) => return Err(form.unsupported()),
        _ => {
            let (ty, x, y) = operands(b, &form, ty, flush, x, y)?;
            let (Reg::R16(d) | Reg::R32(d)) = b.target(&form, d, result)? else {
                return Err(form.unsupported());
            };
            return choose(b, (&relation, ty, [x, y]), c, yes, d);
        }
    };
    if result != ty || (flush && part != Ty::F16) {
        return Err(form.unsupported());
    }
    let (x, y) = (b.source(&form, x, ty)?, b.source(&form, y, ty)?);
    let d = b.target32(&form, d)?;
    let mut parts = [0; 2];
    for (shift, row) in [0, 16].into_iter().zip(&mut parts) {
        let left = widened(b, part, flush, x, shift)?;
        let right = widened(b, part, flush, y, shift)?;
        *row = b.temp32()?;
        let compared = (&relation, CompareType::F32, [left, right]);
        choose(b, compared, c, yes << shift, *row)?;
    }
    let [low, high] = parts;
    b.emit(Op::Int32 {
        op: IntOp::Or,
        d,
        a: low,
        b: high,
    });
    Ok(())
}

/// A constant where the comparison (combined with an optional predicate) holds, zero elsewhere.
fn choose(
    b: &mut Builder<'_, '_>,
    (relation, ty, [x, y]): (&Relation, CompareType, [Row; 2]),
    and: Option<(PredOp, Pred)>,
    yes: u64,
    d: Row,
) -> Result<(), ParseError> {
    let t = b.temp_pred()?;
    compare(b, relation, ty, t, x, y)?;
    if let Some((op, c)) = and {
        b.emit(Op::Logic {
            op,
            d: t,
            a: Pred::new(t, false),
            b: c,
        });
    }
    let (yes, no) = (
        b.constant32(Value::Bits(yes))?,
        b.constant32(Value::Bits(0))?,
    );
    b.emit(Op::Select32 {
        d,
        a: yes,
        b: no,
        p: Pred::new(t, false),
    });
    Ok(())
}

/// `slct.dtype.s32|f32 d, a, b, c`: a when c >= 0, else b (also when c is NaN).
fn sign_select<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let flush = form.take("ftz");
    let (ty, test) = (form.ty()?, form.ty()?);
    let [d, x, y, c] = form.finish()?;
    let (x, y) = (b.source(&form, x, ty)?, b.source(&form, y, ty)?);
    let mut c = b.source32(&form, c, test)?;
    let compare = match test {
        Ty::S32 if !flush => CompareType::S32,
        Ty::F32 => CompareType::F32,
        _ => return Err(form.unsupported()),
    };
    if flush {
        let t = b.temp32()?;
        b.emit(Op::Flush { d: t, a: c });
        c = t;
    }
    let zero = b.constant32(Value::Bits(0))?;
    let p = b.temp_pred()?;
    b.emit(Op::Compare {
        compare: Compare::Ge,
        ty: compare,
        invert: false,
        d: p,
        a: c,
        b: zero,
    });
    let d = b.target(&form, d, ty)?;
    select(b, &form, d, x, y, Pred::new(p, false))
}
