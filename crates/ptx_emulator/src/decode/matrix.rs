//! Warp-level matrix instructions: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::memory::space;
use super::op::{Address, Element, MatrixKind, MatrixOp, Multiply, Op, Reg};
use super::wmma;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let sync = form.take("sync");
    if !(form.take("aligned") && sync) {
        return Err(form.unsupported());
    }
    match form.base {
        "mma" => multiply(b, form),
        "wmma" => match form.take_one_of(&["load", "store", "mma"]) {
            Some("load") => wmma::tile(b, form, false),
            Some("store") => wmma::tile(b, form, true),
            Some(_) => wmma::multiply(b, form),
            None => Err(form.unsupported()),
        },
        "movmatrix" => {
            if !(form.take("m8n8") && form.take("trans")) || form.ty()? != Ty::B16 {
                return Err(form.unsupported());
            }
            let [d, a] = form.finish()?;
            let (a, d) = (b.source32(&form, a, Ty::B32)?, b.target32(&form, d)?);
            emit(
                b,
                MatrixKind::Transpose,
                vec![Reg::R32(d)],
                vec![Reg::R32(a)],
                None,
            );
            Ok(())
        }
        _ => rows(b, form),
    }
}

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

/// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
fn multiply<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let shapes = [
        "m16n8k4",
        "m16n8k8",
        "m16n8k16",
        "m16n8k32",
        "m16n8k64",
        "m16n8k128",
        "m16n8k256",
        "m8n8k4",
        "m8n8k16",
        "m8n8k32",
        "m8n8k128",
    ];
    let shape = form
        .take_one_of(&shapes)
        .ok_or_else(|| form.unsupported())?;
    if !(form.take("row") && form.take("col")) {
        return Err(form.unsupported());
    }
    let saturate = form.take("satfinite");
    let mut next = || Element::take(&mut form);
    let (Some(d), Some(left), Some(right), Some(c)) = (next(), next(), next(), next()) else {
        return Err(form.unsupported());
    };
    let sums: &[_] = match (shape, left.name) {
        ("m16n8k8" | "m16n8k16", "f16") => &["f16", "f32"],
        ("m16n8k8" | "m16n8k16", "bf16")
        | ("m16n8k4" | "m16n8k8", "tf32")
        | ("m16n8k32", "e4m3" | "e5m2") => &["f32"],
        ("m8n8k4" | "m16n8k4" | "m16n8k8" | "m16n8k16", "f64") => &["f64"],
        ("m8n8k16" | "m16n8k16" | "m16n8k32", "s8" | "u8")
        | ("m8n8k32" | "m16n8k32" | "m16n8k64", "s4" | "u4")
        | ("m8n8k128" | "m16n8k128" | "m16n8k256", "b1") => &["s32"],
        _ => return Err(form.unsupported()),
    };
    let exclusive = left.name == "b1" && bit_operation(&mut form)?;
    let wraps = left.is_any(&["s8", "u8", "s4", "u4"]);
    if !are_operands(left, right) || !d.is_any(sums) || c.name != d.name || (saturate && !wraps) {
        return Err(form.unsupported());
    }
    let shape = extents(shape);
    let [m, n, k] = shape;
    let multiply = Multiply {
        shape,
        a: left,
        b: right,
        c,
        d: if saturate { d.saturating() } else { d },
        registers: [left.registers(m * k), right.registers(k * n)],
        opaque: false,
        exclusive,
    };
    product(b, &form, multiply)
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

/// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {d}, [p]` and its counterpart `stmatrix`
fn rows<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let count = match form.take_one_of(&["x1", "x2", "x4"]) {
        Some("x1") => 1,
        Some("x2") => 2,
        Some(_) => 4,
        None => return Err(form.unsupported()),
    };
    if !form.take("m8n8") {
        return Err(form.unsupported());
    }
    let transposed = form.take("trans");
    let space = space(&mut form);
    if !matches!(space, Space::Shared | Space::Generic) || form.ty()? != Ty::B16 {
        return Err(form.unsupported());
    }
    let [first, second] = form.finish()?;
    if form.base == "ldmatrix" {
        let memory = Some((space, b.address(&form, second)?));
        let targets = targets(b, &form, first, Element::word(), count)?;
        emit(
            b,
            MatrixKind::LoadMatrix { transposed },
            targets,
            Vec::new(),
            memory,
        );
    } else {
        let memory = Some((space, b.address(&form, first)?));
        let sources = sources(b, &form, second, Element::word(), count)?;
        emit(
            b,
            MatrixKind::StoreMatrix { transposed },
            Vec::new(),
            sources,
            memory,
        );
    }
    Ok(())
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
