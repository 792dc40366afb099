//! `suld`, `sust` and `sured`: kernels that read and write images.

use super::atomic;
use super::builder::Builder;
use super::form::{Form, Ty};
use super::memory::{check_width, loaded_rows, stored_rows};
use super::op::{
    Address, AtomicOp, Op, Order, Outside, PartOfWord, Point, Reg, Row, Scope, SurfaceKind,
    SurfaceOp, Transfer, Width,
};
use super::texture::geometry;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;
use crate::texture::Shape;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let by_texel = match form.take_one_of(&["b", "p"]) {
        Some(unit) => unit == "p",
        None => return Err(form.unsupported()),
    };
    let geometry = match geometry(&mut form) {
        Some(geometry) if geometry.0 != Shape::Cube => geometry,
        _ => return Err(form.unsupported()),
    };
    let outside = match form.take_one_of(&["trap", "clamp", "zero"]) {
        Some("clamp") => Outside::Clamps,
        Some("zero") => Outside::Zeros,
        // Without a modifier it traps.
        _ => Outside::Faults,
    };
    if form.base == "sured" {
        return reduce(b, form, (geometry, outside, by_texel));
    }
    let stores = form.base == "sust";
    let caches: &[_] = match stores {
        true => &["wb", "cg", "cs", "wt"],
        false => &["ca", "cg", "cs", "cv"],
    };
    form.take_one_of(caches);
    let count = match form.take_one_of(&["v2", "v4"]) {
        None => 1,
        Some("v2") => 2,
        Some(_) => 4,
    };
    let ty = form.ty()?;
    let [first, second] = form.finish()?;
    let (surface, values) = if stores {
        (first, second)
    } else {
        (second, first)
    };
    let point = b.point(&form, surface, geometry)?;
    if by_texel {
        let channels = matches!(ty, Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32);
        if !stores || !channels {
            return Err(form.unsupported());
        }
        let (rows, _) = stored_rows(b, &form, values, (Ty::B32, count))?;
        return emit(b, point, outside, SurfaceKind::StoreTexel(rows));
    }
    if !ty.is_bits() || ty.size() * count > 16 {
        return Err(form.unsupported());
    }
    let (rows, width) = match stores {
        true => stored_rows(b, &form, values, (ty, count))?,
        false => loaded_rows(b, &form, values, count)?,
    };
    check_width(&form, width, ty)?;
    let transfer = transfer(&point, (rows, width), (ty.size(), count));
    let kind = match stores {
        true => SurfaceKind::Store(transfer),
        false => SurfaceKind::Load(transfer),
    };
    emit(b, point, outside, kind)
}

/// The registers of an access; the address comes from the surface.
fn transfer(point: &Point, (rows, width): ([Row; 4], Width), (size, count): (u8, u8)) -> Transfer {
    Transfer {
        space: Space::Global,
        size,
        count,
        signed: false,
        width,
        order: Order::Weak,
        scope: Scope::Block,
        constant: false,
        address: address(point),
        rows,
    }
}

fn address(point: &Point) -> Address {
    Address {
        row: point.handle,
        wide: true,
        offset: 0,
    }
}

fn emit(
    b: &mut Builder<'_, '_>,
    point: Point,
    outside: Outside,
    kind: SurfaceKind,
) -> Result<(), ParseError> {
    b.emit(Op::Surface(Box::new(SurfaceOp {
        point,
        outside,
        kind,
    })));
    Ok(())
}

/// `sured.b.add.2d.u32.trap [s, {x, y}], value`
fn reduce<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    (geometry, outside, by_texel): ((Shape, bool), Outside, bool),
) -> Result<(), ParseError> {
    let operation = form
        .take_one_of(&["add", "min", "max", "and", "or"])
        .ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    let [surface, value] = form.finish()?;
    // The bits of `.p` are numbers of the surface's type; only addition and bit operations are
    // independent of it.
    let kind = match (by_texel, operation, ty) {
        (true, "add", Ty::B32) => atomic::kind(operation, Ty::U32),
        (true, "and" | "or", Ty::B32) | (false, ..) => atomic::kind(operation, ty),
        _ => None,
    };
    let kind = kind.filter(|_| matches!(ty, Ty::B32 | Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64));
    let kind = kind.ok_or_else(|| form.unsupported())?;
    let value: Reg = match value {
        Operand::Name(_) | Operand::Int(_) => b.source(&form, value, ty)?,
        _ => return Err(form.wrong("needs a register or an integer")),
    };
    let point = b.point(&form, surface, geometry)?;
    let op = AtomicOp {
        kind,
        space: Space::Global,
        size: ty.size(),
        order: Order::Relaxed,
        scope: Scope::Device,
        address: address(&point),
        d: None,
        b: value,
        c: None,
        part: PartOfWord::Whole,
    };
    emit(b, point, outside, SurfaceKind::Reduce { op, by_texel })
}
