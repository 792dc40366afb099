//! `tensormap.replace` and `tensormap.cp_fenceproxy`: tensor maps that a kernel makes itself.
//!
//! Each field of a map is a number at a fixed offset, so that replacing one is a store.

use super::builder::Builder;
use super::completion::path_of;
use super::form::Form;
use super::memory::scope;
use super::op::{Compare, CompareType, Convert, CopyBulk, IntOp, Op, Order, Pred, PredOp, Row};
use super::op::{NO_ROW, Scope, TRUE, Transfer, Width};
use super::program::Value;
use super::space::space;
use super::special_registers::Special;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;
use crate::tensor::{MAP_BYTES, TensorElement, field};

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if form.take("replace") {
        replace(b, form)
    } else if form.take("cp_fenceproxy") {
        copy(b, form)
    } else {
        Err(form.unsupported())
    }
}

/// `tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [map], 1, value`
fn replace<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if !form.take("tile") {
        return Err(form.unsupported());
    }
    let fields = [
        ("global_address", field::ADDRESS),
        ("rank", field::RANK),
        ("box_dim", field::BOX_EXTENTS),
        ("global_dim", field::EXTENTS),
        ("global_stride", field::STRIDES),
        ("element_stride", field::ELEMENT_STRIDES),
        ("elemtype", field::ELEMENT),
        ("swizzle_mode", field::SWIZZLE),
        ("interleave_layout", NONE),
        ("fill_mode", NONE),
        ("swizzle_atomicity", NONE),
    ];
    let field = fields.into_iter().find(|(name, _)| form.take(name));
    let (name, (offset, size)) = field.ok_or_else(|| form.unsupported())?;
    let space = space(&mut form);
    let is_wide = matches!(name, "global_address" | "global_stride");
    if !form.take("b1024") || !form.take(if is_wide { "b64" } else { "b32" }) {
        return Err(form.unsupported());
    }
    form.no_more_modifiers()?;
    let places = match name {
        "box_dim" | "global_dim" | "element_stride" => 5,
        "global_stride" => 4,
        _ => 0,
    };
    let (map, index, value) = match form.operands {
        [map, value] if places == 0 => (map, 0, value),
        [map, Operand::Int(index), value] if *index < places => (map, *index as i32, value),
        _ => return Err(form.wrong("has other operands than PTX gives it")),
    };
    let mut address = b.address(&form, map)?;
    address.offset = address
        .offset
        .wrapping_add(offset + index * i32::from(size));
    let (width, row) = match (name, value) {
        ("elemtype", &Operand::Int(number)) => {
            TensorElement::numbered(number).ok_or_else(|| form.unsupported())?;
            (Width::R32, b.r32(&form, value)?)
        }
        ("swizzle_mode", &Operand::Int(0..=3)) => (Width::R32, b.r32(&form, value)?),
        // Only zeros: no interleaving, zeros outside the tensor, pieces of 16 bytes.
        (_, &Operand::Int(0)) if size == 0 => {
            b.emit(Op::Nop);
            return Ok(());
        }
        ("elemtype" | "swizzle_mode", _) => return Err(form.unsupported()),
        _ if size == 0 => return Err(form.unsupported()),
        ("rank", _) => (Width::R32, with_mark(b, &form, value)?),
        ("global_dim", _) => (Width::R64, widened(b, &form, value)?),
        _ if is_wide => (Width::R64, b.r64(&form, value)?),
        _ => (Width::R32, b.r32(&form, value)?),
    };
    b.emit(Op::Store(Transfer {
        space,
        size,
        count: 1,
        signed: false,
        width,
        order: Order::Weak,
        scope: Scope::Block,
        constant: false,
        address,
        rows: [row, NO_ROW, NO_ROW, NO_ROW],
    }));
    Ok(())
}

/// A field that has one value only.
const NONE: (i32, u8) = (0, 0);

fn with_mark<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    value: &Operand<'a>,
) -> Result<Row, ParseError> {
    let (a, d) = (b.r32(form, value)?, b.temp32()?);
    let mark = b.constant32(Value::Bits(field::MARK.into()))?;
    b.emit(Op::Int32 {
        op: IntOp::Or,
        d,
        a,
        b: mark,
    });
    Ok(d)
}

fn widened<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    value: &Operand<'a>,
) -> Result<Row, ParseError> {
    let (a, d) = (b.r32(form, value)?, b.temp64()?);
    b.emit(Op::Convert {
        op: Convert::U32ToU64,
        d,
        a,
    });
    Ok(d)
}

/// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [from], 128`:
/// one copy by the whole warp.
fn copy<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if path_of(form.text) != Some(("global", "shared::cta")) {
        return Err(form.unsupported());
    }
    let fixed = [
        "global",
        "shared::cta",
        "tensormap::generic",
        "release",
        "sync",
        "aligned",
    ];
    if !fixed.iter().all(|part| form.take(part)) || scope(&mut form).is_none() {
        return Err(form.unsupported());
    }
    let [to, from, Operand::Int(128)] = form.finish()? else {
        return Err(form.wrong("copies 128 bytes"));
    };
    let to = (Space::Global, b.address(&form, to)?);
    let from = (Space::Shared, b.address(&form, from)?);
    let size = b.constant32(Value::Bits(MAP_BYTES as u64))?;
    let guard = b.guard;
    b.guard = first_lane(b)?;
    b.emit(Op::CopyBulk(Box::new(CopyBulk {
        to,
        from,
        size,
        blocks: None,
        reduces: None,
    })));
    b.guard = guard;
    Ok(())
}

/// The guard, for the first lane only.
fn first_lane(b: &mut Builder<'_, '_>) -> Result<Pred, ParseError> {
    let (is_first, d) = (b.temp_pred()?, b.temp_pred()?);
    let (lane, zero) = (b.special(Special::Lane)?, b.constant32(Value::Bits(0))?);
    let guard = b.guard;
    b.guard = TRUE;
    b.emit(Op::Compare {
        compare: Compare::Eq,
        ty: CompareType::U32,
        invert: false,
        d: is_first,
        a: lane,
        b: zero,
    });
    b.emit(Op::Logic {
        op: PredOp::And,
        d,
        a: Pred::new(is_first, false),
        b: guard,
    });
    b.guard = guard;
    Ok(Pred::new(d, false))
}
