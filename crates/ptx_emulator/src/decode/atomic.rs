use super::builder::Builder;
use super::form::{Form, Ty};
use super::memory::scope;
use super::op::{AtomicKind, AtomicOp, Half, Op, Order, PartOfWord, Scope};
use super::operand::is_sink;
use super::space::space;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

/// `atom` and `red`.
pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let (order, scope) = order(&mut form);
    let space = space(&mut form);
    let cluster = space == Space::Generic && form.take("shared::cluster");
    if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
        return Err(form.unsupported());
    }
    let operations = [
        "and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max",
    ];
    let operation = form
        .take_one_of(&operations)
        .ok_or_else(|| form.unsupported())?;
    let keeps_subnormals = form.take("noftz");
    let ty = form.ty()?;
    form.no_more_modifiers()?;
    let kind = match Half::of(ty) {
        // PTX requires `.noftz` on additions of 16-bit floats.
        Some(half) if keeps_subnormals && operation == "add" => Some(AtomicKind::AddHalf(half)),
        None if !keeps_subnormals => kind(operation, ty),
        _ => None,
    };
    let kind = kind.ok_or_else(|| form.unsupported())?;
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
    let address = b.shared_address(&form, address, cluster)?;
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
        scope,
        address,
        d,
        b: value,
        c: other,
        part: PartOfWord::Whole,
    })));
    Ok(())
}

/// An atomic without an order is relaxed, at device scope.
pub(super) fn order(form: &mut Form<'_, '_>) -> (Order, Scope) {
    let order = match form.take_one_of(&["relaxed", "acquire", "release", "acq_rel"]) {
        Some("acquire") => Order::Acquire,
        Some("release") => Order::Release,
        Some("acq_rel") => Order::Both,
        _ => Order::Relaxed,
    };
    (order, scope(form).unwrap_or(Scope::Device))
}

pub(super) fn kind(operation: &str, ty: Ty) -> Option<AtomicKind> {
    Some(match (operation, ty) {
        ("and", Ty::B32 | Ty::B64) => AtomicKind::And,
        ("or", Ty::B32 | Ty::B64) => AtomicKind::Or,
        ("xor", Ty::B32 | Ty::B64) => AtomicKind::Xor,
        ("exch", Ty::B32 | Ty::B64) => AtomicKind::Exchange,
        ("cas", Ty::B16 | Ty::B32 | Ty::B64) => AtomicKind::CompareAndSwap,
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
    if form.take("proxy") || form.take("mbarrier_init") {
        return proxy_fence(b, form);
    }
    let (order, scope) = if form.base == "membar" {
        let scope = match form.take_one_of(&["cta", "gl", "sys"]) {
            Some("cta") => Some(Scope::Block),
            Some("gl") => Some(Scope::Device),
            Some(_) => Some(Scope::System),
            None => None,
        };
        (Order::Both, scope)
    } else {
        let order = match form.take_one_of(&["sc", "acq_rel", "acquire", "release"]) {
            Some("acquire") => Order::Acquire,
            Some("release") => Order::Release,
            // `fence.gpu` alone is acquire-release.
            _ => Order::Both,
        };
        (order, scope(&mut form))
    };
    let scope = scope.ok_or_else(|| form.unsupported())?;
    let [] = form.finish()?;
    b.emit(Op::Fence { order, scope });
    Ok(())
}

/// `fence.proxy.tensormap::generic.release.gpu` and
/// `fence.proxy.tensormap::generic.acquire.gpu [map], 128`
fn tensor_fence<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    form.take("tensormap::generic");
    let acquires = match form.take_one_of(&["acquire", "release"]) {
        Some(order) => order == "acquire",
        None => return Err(form.unsupported()),
    };
    if scope(&mut form).is_none() {
        return Err(form.unsupported());
    }
    form.no_more_modifiers()?;
    match (acquires, form.operands) {
        (true, [map, Operand::Int(128)]) => b.address(&form, map).map(|_| ())?,
        (false, []) => {}
        _ => return Err(form.wrong("has other operands than PTX gives it")),
    }
    b.emit(Op::Nop);
    Ok(())
}

/// `fence.proxy.async` and `fence.mbarrier_init.release.cluster`: the emulator has one proxy, so
/// these are ordinary fences.
fn proxy_fence<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    let kinds = [
        "async",
        "async.global",
        "async.shared::cta",
        "async.shared::cluster",
        "alias",
    ];
    let text = form.text;
    if text.starts_with("fence.proxy.tensormap::generic.") {
        return tensor_fence(b, form);
    }
    let known = kinds
        .iter()
        .any(|kind| text == format!("fence.proxy.{kind}"))
        || text == "fence.mbarrier_init.release.cluster";
    if !known {
        return Err(form.unsupported());
    }
    while form
        .take_one_of(&[
            "async",
            "global",
            "shared::cta",
            "shared::cluster",
            "alias",
            "release",
            "cluster",
        ])
        .is_some()
    {}
    let [] = form.finish()?;
    b.emit(Op::Nop);
    Ok(())
}
