//! Warp-level matrix instructions: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::matrix_operands::{
    are_operands, bit_operation, emit, extents, product, sources, targets,
};
use super::op::{Element, MatrixKind, Multiply, Reg};
use super::space::space;
use super::wmma;
use crate::error::ParseError;
use crate::fault::Space;

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
