use super::builder::{Builder, is_sink};
use super::form::{Form, Ty};
use super::memory::space;
use super::op::{AtomicKind, AtomicOp, Op, Order};
use crate::error::ParseError;
use crate::fault::Space;

/// `atom` and `red`.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let order = order(&mut form);
    let space = space(&mut form);
    if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
        return Err(form.unsupported());
    }
    let operations = [
        "and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max",
    ];
    let operation = form
        .take_one_of(&operations)
        .ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    form.no_more_modifiers()?;
    let kind = kind(operation, ty).ok_or_else(|| form.unsupported())?;
    let (d, address, values) = match (form.base, form.operands) {
        ("atom", [d, address, values @ ..]) => (Some(d), address, values),
        ("red", [address, values @ ..]) => (None, address, values),
        _ => return Err(form.wrong("has too few operands")),
    };
    let (value, other) = match (kind, values) {
        (AtomicKind::CompareAndSwap, [value, other]) if d.is_some() => (value, Some(other)),
        (AtomicKind::Exchange | AtomicKind::CompareAndSwap, _) if d.is_none() => {
            return Err(form.unsupported());
        }
        (AtomicKind::CompareAndSwap, _) => return Err(form.wrong("takes 4 operands")),
        (_, [value]) => (value, None),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let value = b.source(&form, value, ty)?;
    let other = other.map(|other| b.source(&form, other, ty)).transpose()?;
    let address = b.address(&form, address)?;
    let d = match d {
        Some(d) if !is_sink(d) => Some(b.target(&form, d, ty)?),
        _ => None,
    };
    let size = ty.size();
    b.emit(Op::Atomic(Box::new(AtomicOp {
        kind,
        space,
        size,
        order,
        address,
        d,
        b: value,
        c: other,
    })));
    Ok(())
}

/// Without an order an atomic is relaxed, with the scope of the device.
fn order(form: &mut Form<'_, '_>) -> Order {
    let kind = form.take_one_of(&["relaxed", "acquire", "release", "acq_rel"]);
    form.take_one_of(&["cta", "gpu", "sys"]);
    match kind {
        Some("acquire") => Order::Acquire,
        Some("release") => Order::Release,
        Some("acq_rel") => Order::Both,
        _ => Order::Relaxed,
    }
}

fn kind(operation: &str, ty: Ty) -> Option<AtomicKind> {
    Some(match (operation, ty) {
        ("and", Ty::B32 | Ty::B64) => AtomicKind::And,
        ("or", Ty::B32 | Ty::B64) => AtomicKind::Or,
        ("xor", Ty::B32 | Ty::B64) => AtomicKind::Xor,
        ("exch", Ty::B32 | Ty::B64) => AtomicKind::Exchange,
        ("cas", Ty::B32 | Ty::B64) => AtomicKind::CompareAndSwap,
        ("add", Ty::U32 | Ty::S32 | Ty::U64 | Ty::S64) => AtomicKind::Add,
        ("add", Ty::F32) => AtomicKind::AddF32,
        ("add", Ty::F64) => AtomicKind::AddF64,
        ("inc", Ty::U32) => AtomicKind::Increment,
        ("dec", Ty::U32) => AtomicKind::Decrement,
        ("min", Ty::U32 | Ty::U64) => AtomicKind::MinUnsigned,
        ("max", Ty::U32 | Ty::U64) => AtomicKind::MaxUnsigned,
        ("min", Ty::S32 | Ty::S64) => AtomicKind::MinSigned,
        ("max", Ty::S32 | Ty::S64) => AtomicKind::MaxSigned,
        _ => return None,
    })
}

/// `membar.gl`, `fence.acq_rel.gpu`
pub(super) fn fence<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let known = if form.base == "membar" {
        form.take_one_of(&["cta", "gl", "sys"]).is_some()
    } else {
        form.take_one_of(&["sc", "acq_rel", "acquire", "release"]);
        // `fence.gpu` alone is acquire-release.
        form.take_one_of(&["cta", "cluster", "gpu", "sys"])
            .is_some()
    };
    if !known {
        return Err(form.unsupported());
    }
    let [] = form.finish()?;
    b.emit(Op::Fence);
    Ok(())
}
