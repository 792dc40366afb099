//! What `mma` and `wmma` share: their operands, from shapes and types to registers.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::op::{Address, Element, MatrixKind, MatrixOp, Multiply, Op, Reg};
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

pub(super) fn emit(
    b: &mut Builder<'_, '_>,
    kind: MatrixKind,
    targets: Vec<Reg>,
    sources: Vec<Reg>,
    memory: Option<(Space, Address)>,
) {
    b.emit(Op::Matrix(Box::new(MatrixOp {
        kind,
        targets,
        sources,
        memory,
    })));
}

/// Whether PTX can multiply these two operand types.
pub(super) fn are_operands(left: Element, right: Element) -> bool {
    let families = [["s8", "u8"], ["s4", "u4"], ["e4m3", "e5m2"]];
    let both = |family: &[&str; 2]| left.is_any(family) && right.is_any(family);
    left.name == right.name || families.iter().any(both)
}

/// Whether single bits are combined by xor.
pub(super) fn bit_operation(form: &mut Form<'_, '_>) -> Result<bool, ParseError> {
    let operation = form.take_one_of(&["xor", "and"]);
    match (operation, form.take("popc")) {
        (Some(operation), true) => Ok(operation == "xor"),
        _ => Err(form.unsupported()),
    }
}

/// The decoded product with its operands.
pub(super) fn product<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    multiply: Multiply,
) -> Result<(), ParseError> {
    let [d, left, right, c] = form.finish()?;
    let [m, n, _] = multiply.shape;
    let [of_a, of_b] = multiply.registers;
    let [of_c, of_d] = [multiply.c, multiply.d].map(|element| element.registers(m * n));
    let operands = [
        (left, multiply.a, of_a),
        (right, multiply.b, of_b),
        (c, multiply.c, of_c),
    ];
    let mut sources = Vec::new();
    for (operand, element, count) in operands {
        sources.extend(self::sources(b, form, operand, element, count)?);
    }
    let targets = self::targets(b, form, d, multiply.d, of_d)?;
    emit(b, MatrixKind::Multiply(multiply), targets, sources, None);
    Ok(())
}

/// The extents of a shape such as `m16n8k16`.
pub(super) fn extents(shape: &str) -> [usize; 3] {
    let mut numbers = shape
        .split(|c: char| c.is_ascii_alphabetic())
        .filter_map(|number| number.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// The operands of `{…}`, exactly `count` of them; a single one may omit the braces.
fn parts<'i, 'a>(
    form: &Form<'_, 'a>,
    operand: &'i Operand<'a>,
    count: usize,
) -> Result<&'i [Operand<'a>], ParseError> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if parts.len() == count {
        Ok(parts)
    } else {
        Err(form.wrong(format!(
            "needs {count} registers in braces, not {}",
            parts.len()
        )))
    }
}

/// Fragments are 32-bit registers, except for doubles.
fn register_type(element: Element) -> Ty {
    if element.bits == 64 { Ty::B64 } else { Ty::B32 }
}

pub(super) fn targets<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    element: Element,
    count: usize,
) -> Result<Vec<Reg>, ParseError> {
    let parts = parts(form, operand, count)?;
    let targets = parts
        .iter()
        .map(|part| b.target(form, part, register_type(element)));
    targets.collect()
}

pub(super) fn sources<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    element: Element,
    count: usize,
) -> Result<Vec<Reg>, ParseError> {
    let parts = parts(form, operand, count)?;
    let sources = parts
        .iter()
        .map(|part| b.source(form, part, register_type(element)));
    sources.collect()
}
