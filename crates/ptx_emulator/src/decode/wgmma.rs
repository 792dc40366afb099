//! `wgmma`: products of matrices in shared memory by four warps. A warp makes its quarter of the rows at once, which is
//! one of the orders that PTX allows, so that there is nothing to wait for.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::matrix::{Element, MatrixKind, MatrixOp};
use super::op::{Op, Pred, Reg};
use crate::error::ParseError;
use crate::parse::Operand;

/// `d = a * b + d` with 64 rows of a. The sources are a (four registers, or a descriptor), b (a descriptor) and d.
pub(crate) struct GroupMultiply {
    /// Columns of b and d.
    pub(crate) columns: usize,
    pub(crate) element: Element,
    /// Whether the rows of a follow each other, not its columns.
    pub(crate) left_transposed: bool,
    /// b's rows follow each other in memory, not its columns.
    pub(crate) transposed: bool,
    /// Whether d is added; otherwise the sum starts from zero.
    pub(crate) adds: Pred,
    /// The products are subtracted.
    pub(crate) negates: bool,
}

impl GroupMultiply {
    /// What is summed over: 32 bytes of a row of a.
    pub(crate) fn depth(&self) -> usize {
        32 / self.element.size
    }
}

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

/// `wgmma.mma_async.sync.aligned.m64nNkK.f32.type.type d, a, b, scale-d, scale-a, scale-b[, trans-a][, trans-b]`
fn multiply<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let shape = form.text.split('.').find(|part| part.starts_with("m64n"));
    let extents = shape.and_then(|shape| shape.strip_prefix("m64n")?.split_once('k'));
    let (Some(shape), Some((columns, depth))) = (shape, extents) else {
        return Err(form.unsupported());
    };
    form.take(shape);
    let (d, left, right) = (form.ty()?, form.ty()?, form.ty()?);
    form.no_more_modifiers()?;
    let columns = columns.parse::<usize>().ok();
    let columns = columns.filter(|&n| n % 8 == 0 && (8..=256).contains(&n));
    let is_known = matches!((left, depth), (Ty::F16 | Ty::BF16, "16") | (Ty::Tf32, "8"));
    let (Some(columns), Some(element)) = (columns, Element::of(left)) else {
        return Err(form.unsupported());
    };
    if !is_known || d != Ty::F32 || left != right {
        return Err(form.unsupported());
    }
    let [
        targets,
        a,
        descriptor,
        adds,
        scale_a,
        scale_b,
        transposed @ ..,
    ] = form.operands
    else {
        return Err(form.wrong("has too few operands"));
    };
    if matches!(a, Operand::Vector(_)) {
        // With a in registers an H200 gives other sums in rows 8 to 15 of each warp than PTX's picture of the fragment says.
        return Err(form.unsupported());
    }
    // Only elements of 16 bits may lie the other way round.
    let flags: Vec<bool> = match left {
        Ty::Tf32 => Vec::new(),
        _ => transposed
            .iter()
            .map(|flag| one_of(&form, flag, [(0, false), (1, true)]))
            .collect::<Result<_, _>>()?,
    };
    let [left_transposed, transposed] = match (flags.as_slice(), left) {
        (&[a, b], _) => [a, b],
        (&[], Ty::Tf32) if transposed.is_empty() => [false, false],
        _ => return Err(form.wrong("has another number of operands")),
    };
    let signs = [(1, false), (u64::MAX, true)];
    let negates = one_of(&form, scale_a, signs)? != one_of(&form, scale_b, signs)?;
    let adds = b.pred(&form, adds)?;
    let mut sources = vec![Reg::R64(b.r64(&form, a)?)];
    sources.push(Reg::R64(b.r64(&form, descriptor)?));
    let targets = registers(b, &form, targets, columns / 2)?;
    sources.extend(&targets);
    b.emit(Op::Matrix(Box::new(MatrixOp {
        kind: MatrixKind::Group(GroupMultiply {
            columns,
            element,
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

/// What an operand means that must be one of two constants.
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

/// So many registers of 32 bits.
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
