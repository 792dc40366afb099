//! `tex`, `tld4`, `txq`, `suq` and `istypep`: texture fetches and queries.
//!
//! An image has a single mipmap level, which `.level` and `.grad` always select.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::lane::Lane;
use super::names::Symbol;
use super::op::{LaneFn, Op, Point, PredOp, Query, QueryOp, Reg, Row, TRUE, TexelType, TextureOp};
use super::operand::is_sink;
use super::program::Value;
use crate::error::ParseError;
use crate::memory::{SURFACE_BASE, TEXTURE_BASE, WINDOW_SIZE};
use crate::parse::{Base, Operand};
use crate::texture::Shape;

/// Parses the geometry: a shape, and whether it is layered.
pub(super) fn geometry(form: &mut Form<'_, '_>) -> Option<(Shape, bool)> {
    let names = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube"];
    Some(match form.take_one_of(&names)? {
        "1d" => (Shape::One, false),
        "2d" => (Shape::Two, false),
        "3d" => (Shape::Three, false),
        "a1d" => (Shape::One, true),
        "a2d" => (Shape::Two, true),
        "cube" => (Shape::Cube, false),
        _ => (Shape::Cube, true),
    })
}

impl<'a> Builder<'a, '_> {
    /// A register with a handle, or a reference whose handle is known at launch.
    pub(super) fn handle(
        &mut self,
        form: &Form<'_, 'a>,
        base: Base<'a>,
        offset: i64,
    ) -> Result<Row, ParseError> {
        if let (Base::Name(name), 0) = (base, offset) {
            match self.lookup(name)? {
                Symbol::Variable(_) | Symbol::Register(..) => {
                    return self.source64(form, &Operand::Name(name), Ty::B64);
                }
                _ => {}
            }
        }
        Err(form.wrong("needs a handle, or a texture or surface reference"))
    }

    /// `[handle, {layer, x, y, _}]`
    pub(super) fn point(
        &mut self,
        form: &Form<'_, 'a>,
        operand: &Operand<'a>,
        (shape, layered): (Shape, bool),
    ) -> Result<Point, ParseError> {
        let Operand::Indexed(base, offset, parts) = operand else {
            return Err(form.wrong("needs a texture or surface with coordinates in brackets"));
        };
        let parts = match parts.as_slice() {
            [Operand::Vector(parts)] => parts.as_slice(),
            [single @ (Operand::Name(_) | Operand::Int(_))] => std::slice::from_ref(single),
            // A separate sampler operand.
            _ => return Err(form.unsupported()),
        };
        let count = match shape {
            Shape::One => 1,
            Shape::Two => 2,
            Shape::Three | Shape::Cube => 3,
        };
        let all = count + usize::from(layered);
        // Three coordinates are written as a vector of four.
        if parts.len() != all && !(all == 3 && parts.len() == 4) {
            return Err(form.wrong(format!("needs {all} coordinates")));
        }
        let handle = self.handle(form, *base, *offset)?;
        let rows = parts[..all].iter().map(|part| self.r32(form, part));
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        Ok(Point {
            handle,
            shape,
            layer: layered.then(|| rows.remove(0)),
            coordinates: rows,
        })
    }
}

/// `tex[.base|.level|.grad].2d.v4.f32.f32 {d}, [t, {x, y}][, level | , {dx}, {dy}]` and
/// `tld4.r.2d.v4.f32.f32 {d}, [t, {x, y}]`
pub(super) fn fetch<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let gathers = match form.base {
        "tld4" => match form.take_one_of(&["r", "g", "b", "a"]) {
            Some(channel) => "rgba".find(channel),
            None => return Err(form.unsupported()),
        },
        _ => None,
    };
    let level = match gathers {
        None => form.take_one_of(&["base", "level", "grad"]),
        Some(_) => None,
    };
    let geometry = geometry(&mut form).ok_or_else(|| form.unsupported())?;
    if gathers.is_some() && geometry != (Shape::Two, false) {
        return Err(form.unsupported());
    }
    let pairs = form.take_one_of(&["v2", "v4"]) == Some("v2");
    let result = match (form.ty()?, pairs) {
        (Ty::S32 | Ty::U32, false) => TexelType::Integer,
        (Ty::F32, false) => TexelType::Float,
        (Ty::F16x2, true) => TexelType::Halves,
        _ => return Err(form.unsupported()),
    };
    let integers = match form.ty()? {
        Ty::S32 if level.is_none() && gathers.is_none() && geometry.0 != Shape::Cube => true,
        Ty::F32 => false,
        _ => return Err(form.unsupported()),
    };
    form.no_more_modifiers()?;
    let (d, texture) = match (level, form.operands) {
        (None | Some("base"), [d, texture]) => (d, texture),
        (Some("level"), [d, texture, level]) => {
            b.r32(&form, level)?;
            (d, texture)
        }
        (Some("grad"), [d, texture, dx, dy]) => {
            for gradient in [dx, dy] {
                match gradient {
                    Operand::Vector(parts) => parts
                        .iter()
                        .try_for_each(|part| b.r32(&form, part).map(|_| ()))?,
                    single => b.r32(&form, single).map(|_| ())?,
                }
            }
            (d, texture)
        }
        // Texel offsets and depth comparison.
        (_, [_, _, _, ..]) => return Err(form.unsupported()),
        _ => return Err(form.wrong("has too few operands")),
    };
    let (parts, resident) = match d {
        Operand::Vector(parts) => (parts, None),
        Operand::Tagged(parts, p) => (parts, Some(*p)),
        _ => return Err(form.wrong("needs a vector of registers")),
    };
    let count = if pairs { 2 } else { 4 };
    if parts.len() != count {
        return Err(form.wrong(format!("needs {count} registers")));
    }
    let target = |part: &Operand<'a>| match is_sink(part) {
        true => Ok(None),
        false => b.target32(&form, part).map(Some),
    };
    let targets = parts.iter().map(target).collect::<Result<_, _>>()?;
    let point = b.point(&form, texture, geometry)?;
    if let Some(p) = resident {
        // The texture is always fully resident.
        let p = b.only_pred(&form, &Operand::Name(p))?;
        b.emit(Op::Logic {
            op: PredOp::And,
            d: p,
            a: TRUE,
            b: TRUE,
        });
    }
    b.emit(Op::Texture(Box::new(TextureOp {
        point,
        integers,
        gathers,
        result,
        targets,
    })));
    Ok(())
}

/// `txq.width.b32 d, [t]` and `suq.width.b32 d, [s]`
pub(super) fn query<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let both = [
        "width",
        "height",
        "depth",
        "array_size",
        "channel_data_type",
        "channel_order",
    ];
    let of_textures = [
        "num_mipmap_levels",
        "num_samples",
        "normalized_coords",
        "filter_mode",
        "addr_mode_0",
        "addr_mode_1",
        "addr_mode_2",
    ];
    let mut query = form.take_one_of(&both);
    if form.base == "txq" {
        query = query.or_else(|| form.take_one_of(&of_textures));
    }
    let query = match query.ok_or_else(|| form.unsupported())? {
        "width" => Query::Extent(0),
        "height" => Query::Extent(1),
        "depth" => Query::Extent(2),
        "array_size" => Query::Layers,
        "channel_data_type" => Query::ChannelType,
        "channel_order" => Query::ChannelOrder,
        "normalized_coords" => Query::Normalized,
        "filter_mode" => Query::Linear,
        "addr_mode_0" => Query::AddressMode(0),
        "addr_mode_1" => Query::AddressMode(1),
        "addr_mode_2" => Query::AddressMode(2),
        _ => Query::Single,
    };
    if form.ty()? != Ty::B32 {
        return Err(form.unsupported());
    }
    let [d, operand] = form.finish()?;
    let &Operand::Address(base, offset) = operand else {
        return Err(form.wrong("needs a texture or surface in brackets"));
    };
    let handle = b.handle(&form, base, offset)?;
    let d = b.target32(&form, d)?;
    b.emit(Op::Query(Box::new(QueryOp { handle, query, d })));
    Ok(())
}

/// `istypep.texref p, a`
pub(super) fn is_type<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let kind = form.take_one_of(&["texref", "surfref", "samplerref"]);
    let base = match kind.ok_or_else(|| form.unsupported())? {
        "texref" => TEXTURE_BASE,
        "surfref" => SURFACE_BASE,
        // A texture includes its sampler.
        _ => u64::MAX,
    };
    let [p, a] = form.finish()?;
    let a = Reg::R64(b.r64(&form, a)?);
    let base = Reg::R64(b.constant64(Value::Bits(base))?);
    let p = b.only_pred(&form, p)?;
    let eval: LaneFn = |[a, base, ..], _| (0, a.wrapping_sub(base) < WINDOW_SIZE);
    b.lane(Lane::to_flag(p), eval, &[a, base]);
    Ok(())
}
