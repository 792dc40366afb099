//! `wgmma`: products of matrices in shared memory by four warps. Each warp computes its quarter of
//! the rows at issue, which is one of the orders that PTX allows, so there is nothing to wait for.

use super::builder::Builder;
use super::form::Form;
use super::matrix_operands::are_operands;
use super::op::{Element, GroupMultiply, MatrixKind, MatrixOp, Op, Reg};
use crate::error::ParseError;
use crate::parse::Operand;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let action = form.take_one_of(&["fence", "commit_group", "wait_group", "mma_async"]);
    if !form.take("sync") || !form.take("aligned") {
        return Err(form.unsupported());
    }
    match (action, form.operands) {
        (Some("mma_async"), _) => return multiply(b, form),
        (Some("fence" | "commit_group"), []) | (Some("wait_group"), [Operand::Int(_)]) => {
            form.no_more_modifiers()?;
        }
        (Some(_), _) => return Err(form.wrong("has other operands than PTX gives it")),
        (None, _) => return Err(form.unsupported()),
    }
    b.emit(Op::Nop);
    Ok(())
}

/// `wgmma.mma_async.sync.aligned.m64nNkK.dtype.atype.btype d, a, b, scale-d[, scale-a, scale-b][, trans-a][, trans-b]`
fn multiply<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let shape = form.text.split('.').find(|part| part.starts_with("m64n"));
    let extents = shape.and_then(|shape| shape.strip_prefix("m64n")?.split_once('k'));
    let (Some(shape), Some((columns, depth))) = (shape, extents) else {
        return Err(form.unsupported());
    };
    form.take(shape);
    let mut next = || Element::take(&mut form);
    let (Some(sum), Some(left), Some(right)) = (next(), next(), next()) else {
        return Err(form.unsupported());
    };
    let integers = sum.name == "s32";
    let saturates = integers && form.take("satfinite");
    form.no_more_modifiers()?;
    let sums: &[_] = match (left.name, depth) {
        ("f16", "16") | ("e4m3" | "e5m2", "32") => &["f16", "f32"],
        ("bf16", "16") | ("tf32", "8") => &["f32"],
        ("s8" | "u8", "32") => &["s32"],
        _ => return Err(form.unsupported()),
    };
    let fits = |&n: &usize| n.is_multiple_of(8) && (8..=256).contains(&n);
    // For integers, from 32 columns on, only multiples of 16 exist.
    let fits = |n: &usize| fits(n) && (!integers || *n < 32 || n.is_multiple_of(16));
    let columns = columns.parse::<usize>().ok().filter(fits);
    let columns = columns.ok_or_else(|| form.unsupported())?;
    if !sum.is_any(sums) || !are_operands(left, right) {
        return Err(form.unsupported());
    }
    let [targets, a, descriptor, adds, rest @ ..] = form.operands else {
        return Err(form.wrong("has too few operands"));
    };
    let in_registers = matches!(a, Operand::Vector(_));
    let (negates, rest) = match rest {
        _ if integers => (false, rest),
        [scale_a, scale_b, rest @ ..] => {
            let signs = [(1, false), (u64::MAX, true)];
            let negates = one_of(&form, scale_a, signs)? != one_of(&form, scale_b, signs)?;
            (negates, rest)
        }
        _ => return Err(form.wrong("has too few operands")),
    };
    let flags = rest
        .iter()
        .map(|flag| one_of(&form, flag, [(0, false), (1, true)]));
    let flags: Vec<bool> = flags.collect::<Result<_, _>>()?;
    // Only 16-bit elements in shared memory can be transposed.
    let [left_transposed, transposed] = match (flags.as_slice(), left.bits, in_registers) {
        (&[a, b], 16, false) => [a, b],
        (&[b], 16, true) => [false, b],
        (&[], 8 | 32, _) => [false, false],
        _ => return Err(form.wrong("has another number of operands")),
    };
    let adds = b.pred(&form, adds)?;
    let mut sources = match in_registers {
        true => registers(b, &form, a, 4)?,
        false => vec![Reg::R64(b.r64(&form, a)?)],
    };
    sources.push(Reg::R64(b.r64(&form, descriptor)?));
    let targets = registers(b, &form, targets, columns / 2 / sum.per_register())?;
    sources.extend(&targets);
    b.emit(Op::Matrix(Box::new(MatrixOp {
        kind: MatrixKind::Group(GroupMultiply {
            columns,
            a: left,
            b: right,
            d: if saturates { sum.saturating() } else { sum },
            in_registers,
            left_transposed,
            transposed,
            adds,
            negates,
        }),
        targets,
        sources,
        memory: None,
    })));
    Ok(())
}

/// The meaning of an operand that must be one of two constants.
fn one_of(
    form: &Form<'_, '_>,
    operand: &Operand<'_>,
    meanings: [(u64, bool); 2],
) -> Result<bool, ParseError> {
    let meaning = meanings
        .iter()
        .find(|(value, _)| *operand == Operand::Int(*value));
    match meaning {
        Some(&(_, meaning)) => Ok(meaning),
        None => Err(form.wrong("scales by 1 or -1 and transposes by 0 or 1")),
    }
}

/// `count` registers of 32 bits.
fn registers<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    count: usize,
) -> Result<Vec<Reg>, ParseError> {
    match operand {
        Operand::Vector(parts) if parts.len() == count => parts
            .iter()
            .map(|part| Ok(Reg::R32(b.target32(form, part)?)))
            .collect(),
        _ => Err(form.wrong(format!("needs a vector of {count} registers"))),
    }
}
