//! `cp.async.bulk` and `cp.reduce.async.bulk`: bulk copies between global and shared memory. They
//! execute at issue, which is one of the orders that PTX allows.

use super::atomic;
use super::builder::Builder;
use super::completion::{Completion, complete, completion, nothing, path_of, take_blocks};
use super::form::{Form, Ty};
use super::hint;
use super::op::{AtomicKind, CopyBulk, Half, Op};
use super::tensor;
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

pub(super) fn decode<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if let Some(what) = form.take_one_of(&["commit_group", "wait_group"]) {
        if what == "wait_group" {
            form.take("read");
        }
        form.no_more_modifiers()?;
        return match (what, form.operands) {
            ("commit_group", []) => nothing(b),
            ("wait_group", [Operand::Int(_)]) => nothing(b),
            _ => Err(form.wrong("has other operands than PTX gives it")),
        };
    }
    if form.take("prefetch") {
        return prefetch(b, form);
    }
    copy(b, form, None)
}

/// `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [to], [from], size`
pub(super) fn reduce<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    if !(form.take("async") && form.take("bulk")) {
        return Err(form.unsupported());
    }
    if form.take("tensor") {
        return tensor::reduce(b, form);
    }
    let operations = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
    let operation = form
        .take_one_of(&operations)
        .ok_or_else(|| form.unsupported())?;
    let keeps_subnormals = form.take("noftz");
    let ty = form.ty()?;
    let kind = match Half::of(ty) {
        Some(half) if keeps_subnormals && operation == "add" && ty.size() == 2 => {
            Some(AtomicKind::AddHalf(half))
        }
        Some(half) if !keeps_subnormals && ty.size() == 2 => match operation {
            "min" => Some(AtomicKind::MinHalf(half)),
            "max" => Some(AtomicKind::MaxHalf(half)),
            _ => None,
        },
        None if !keeps_subnormals => atomic::kind(operation, ty),
        _ => None,
    };
    // Shared memory supports 32-bit reductions, and 64-bit sums only.
    let in_global = path_of(form.text).is_some_and(|(to, _)| to == "global");
    let narrow = matches!(ty, Ty::U32 | Ty::S32 | Ty::B32) || (operation, ty) == ("add", Ty::U64);
    let kind = kind.filter(|_| narrow || in_global && (operation, ty) != ("add", Ty::S64));
    let kind = kind.ok_or_else(|| form.unsupported())?;
    copy(b, form, Some((kind, ty.size())))
}

fn copy<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    reduces: Option<(AtomicKind, u8)>,
) -> Result<(), ParseError> {
    let completion = completion(&mut form)?;
    let path = path_of(form.text).ok_or_else(|| form.unsupported())?;
    let (to, from) = match (path, completion, reduces.is_some()) {
        ((to @ ("shared::cluster" | "shared::cta"), "global"), Completion::Object, false) => {
            (to, "global")
        }
        (("shared::cluster", "shared::cta"), Completion::Object, _)
        | (("global", "shared::cta"), Completion::Group, _) => path,
        _ => return Err(form.unsupported()),
    };
    while form
        .take_one_of(&["shared::cluster", "shared::cta", "global"])
        .is_some()
    {}
    hint::take_policy(b, &mut form)?;
    let blocks = match (to, from) {
        ("shared::cluster", "global") => take_blocks(b, &mut form)?,
        _ => None,
    };
    form.no_more_modifiers()?;
    let (target, source, size, object) = match (form.operands, completion) {
        ([target, source, size], Completion::Group) => (target, source, size, None),
        ([target, source, size, object], Completion::Object) => {
            (target, source, size, Some(object))
        }
        _ => return Err(form.wrong("has another number of operands")),
    };
    let size = b.r32(&form, size)?;
    let place = |name| match name {
        "global" => Space::Global,
        "shared::cta" => Space::Shared,
        _ => Space::Generic,
    };
    let in_cluster = to == "shared::cluster";
    let to = (place(to), b.shared_address(&form, target, in_cluster)?);
    let from = (place(from), b.address(&form, source)?);
    let object = object.map(|object| b.shared_address(&form, object, in_cluster));
    let object = object.transpose()?;
    b.emit(Op::CopyBulk(Box::new(CopyBulk {
        to,
        from,
        size,
        blocks,
        reduces,
    })));
    if let Some(address) = object {
        complete(b, (to.0, address), size, blocks);
    }
    Ok(())
}

/// `cp.async.bulk.prefetch.L2.global [a], size`
fn prefetch<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    if !form.take("L2") || !form.take("global") {
        return Err(form.unsupported());
    }
    hint::take_policy(b, &mut form)?;
    let [address, size] = form.finish()?;
    b.source(&form, size, Ty::B32)?;
    b.address(&form, address)?;
    nothing(b)
}
