//! `wmma`: products of fragments whose layout PTX leaves open. Fragments of sub-byte elements use
//! the layout of `mma` and are loaded and stored as whole words.

use super::builder::Builder;
use super::form::Form;
use super::matrix_operands::{
    are_operands, bit_operation, emit, extents, product, sources, targets,
};
use super::op::{Element, IntOp, MatrixKind, Multiply, Op, Row, Tile};
use super::program::Value;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;

/// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {c}`
pub(super) fn multiply<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    // The memory order of a and b no longer matters: fragments know rows from columns.
    let orders = [
        form.take_one_of(&["row", "col"]),
        form.take_one_of(&["row", "col"]),
    ];
    if orders.contains(&None) {
        return Err(form.unsupported());
    }
    let shape = take_shape(&mut form)?;
    let (saturate, rounds) = (form.take("satfinite"), form.take("rn"));
    let (d, second) = (next(&mut form)?, next(&mut form)?);
    let (left, right, c) = match second.name {
        // Where only the sums have a type, operands are f16.
        "f16" | "f32" => (Element::half(), Element::half(), second),
        _ => (second, next(&mut form)?, next(&mut form)?),
    };
    let sums: &[_] = match left.name {
        "f16" => &["f16", "f32"],
        "bf16" | "tf32" => &["f32"],
        "f64" => &["f64"],
        _ => &["s32"],
    };
    let exclusive = left.name == "b1" && bit_operation(&mut form)?;
    let wraps = left.is_any(&["s8", "u8", "s4", "u4"]);
    let known = are_operands(left, right) && has_shape(left, shape);
    if !(known && c.is_any(sums) && d.is_any(sums))
        || (is_narrow(left) && orders != [Some("row"), Some("col")])
        || (saturate && !wraps)
        || (rounds && left.name != "f64")
    {
        return Err(form.unsupported());
    }
    let [m, n, k] = shape;
    let multiply = Multiply {
        shape,
        a: left,
        b: right,
        c,
        d: if saturate { d.saturating() } else { d },
        registers: [registers(m * k, left, true), registers(k * n, right, true)],
        opaque: !is_narrow(left),
        exclusive,
    };
    product(b, &form, multiply)
}

/// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {d}, [p], stride` and
/// `wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [p], {d}, stride`
pub(super) fn tile<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    stores: bool,
) -> Result<(), ParseError> {
    let matrices: &[_] = if stores { &["d"] } else { &["a", "b", "c"] };
    let matrix = form
        .take_one_of(matrices)
        .ok_or_else(|| form.unsupported())?;
    let by_column = match form.take_one_of(&["row", "col"]) {
        Some(layout) => layout == "col",
        None => return Err(form.unsupported()),
    };
    let shape = take_shape(&mut form)?;
    let space = space(&mut form);
    let element = next(&mut form)?;
    form.no_more_modifiers()?;
    let operand = matches!(matrix, "a" | "b");
    let is_shape_of = |names: &[&str]| names.iter().any(|name| fits(name, shape));
    let known = match element.name {
        "f32" => !operand && is_shape_of(&["f16", "tf32"]),
        "s32" => !operand && is_shape_of(&["s8", "s4", "b1"]),
        "f16" | "f64" => has_shape(element, shape),
        // Sub-byte rows of a and columns of b occupy whole words.
        "s4" | "u4" | "b1" => operand && has_shape(element, shape) && by_column == (matrix == "b"),
        _ => operand && has_shape(element, shape),
    };
    if !known || !matches!(space, Space::Global | Space::Shared | Space::Generic) {
        return Err(form.unsupported());
    }
    let [m, n, k] = shape;
    let (rows, columns) = match matrix {
        "a" => (m, k),
        "b" => (k, n),
        _ => (m, n),
    };
    let (fragment, address, stride) = match (stores, form.operands) {
        (false, [fragment, address]) | (true, [address, fragment]) => (fragment, address, None),
        (false, [fragment, address, stride]) | (true, [address, fragment, stride]) => {
            (fragment, address, Some(b.r32(&form, stride)?))
        }
        _ => return Err(form.wrong("has another number of operands")),
    };
    let memory = Some((space, b.address(&form, address)?));
    let count = registers(rows * columns, element, operand);
    let tile = match is_narrow(element) {
        true => Tile {
            rows: m,
            columns: k * element.bits / 32,
            by_column: false,
            element: Element::word(),
            stride: stride.map(|row| words(b, row, element)).transpose()?,
        },
        false => Tile {
            rows,
            columns,
            by_column,
            element,
            stride,
        },
    };
    if stores {
        let sources = sources(b, &form, fragment, element, count)?;
        emit(b, MatrixKind::Store(tile), Vec::new(), sources, memory);
    } else {
        let targets = targets(b, &form, fragment, element, count)?;
        emit(b, MatrixKind::Load(tile), targets, Vec::new(), memory);
    }
    Ok(())
}

fn next(form: &mut Form<'_, '_>) -> Result<Element, ParseError> {
    Element::take(form).ok_or_else(|| form.unsupported())
}

/// Converts a stride in elements to one in words.
fn words(b: &mut Builder<'_, '_>, stride: Row, element: Element) -> Result<Row, ParseError> {
    let shift = b.constant32(Value::Bits(u64::from(element.per_register().ilog2())))?;
    let d = b.temp32()?;
    b.emit(Op::Int32 {
        op: IntOp::ShrUnsigned,
        d,
        a: stride,
        b: shift,
    });
    Ok(d)
}

/// Registers of a fragment; f16 operands always have 8.
fn registers(count: usize, element: Element, operand: bool) -> usize {
    if operand && element.name == "f16" {
        8
    } else {
        element.registers(count)
    }
}

fn is_narrow(element: Element) -> bool {
    element.bits < 8
}

fn take_shape(form: &mut Form<'_, '_>) -> Result<[usize; 3], ParseError> {
    let shapes = [
        "m16n16k16",
        "m32n8k16",
        "m8n32k16",
        "m16n16k8",
        "m8n8k4",
        "m8n8k32",
        "m8n8k128",
    ];
    let shape = form.take_one_of(&shapes);
    shape.map(extents).ok_or_else(|| form.unsupported())
}

/// Whether `wmma` multiplies matrices of this shape with operands of the type.
fn has_shape(operand: Element, shape: [usize; 3]) -> bool {
    fits(operand.name, shape)
}

fn fits(operand: &str, shape: [usize; 3]) -> bool {
    let operands: &[_] = match shape {
        [16, 16, 8] => &["tf32"],
        [8, 8, 4] => &["f64"],
        [8, 8, 32] => &["s4", "u4"],
        [8, 8, 128] => &["b1"],
        _ => &["f16", "bf16", "s8", "u8"],
    };
    operands.contains(&operand)
}
