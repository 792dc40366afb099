//! `st.async` and `red.async`: write or reduce a value in the cluster's shared memory and notify an
//! mbarrier object there. They execute at issue, which is one of the orders that PTX allows.

use super::atomic;
use super::builder::Builder;
use super::completion::complete;
use super::form::{Form, Ty};
use super::memory::{check_width, stored_rows};
use super::op::{AtomicOp, Op, Order, PartOfWord, Scope, Transfer};
use super::program::Value;
use crate::error::ParseError;
use crate::fault::Space;

const OBJECT: &str = "mbarrier::complete_tx::bytes";

/// `st.async[.weak].shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [a], {b, c}, [object]`
pub(super) fn store<'a>(b: &mut Builder<'a, '_>, mut form: Form<'_, 'a>) -> Result<(), ParseError> {
    form.take("weak");
    let known = form.take("async") && form.take(OBJECT);
    if !(known && form.take("shared::cluster")) {
        return Err(form.unsupported());
    }
    let count = match form.take_one_of(&["v2", "v4"]) {
        None => 1,
        Some("v2") => 2,
        Some(_) => 4,
    };
    let ty = form.ty()?;
    if !matches!(ty.size(), 4 | 8) || ty.size() * count > 16 {
        return Err(form.unsupported());
    }
    let [address, value, object] = form.finish()?;
    let (rows, width) = stored_rows(b, &form, value, (ty, count))?;
    check_width(&form, width, ty)?;
    let address = b.shared_address(&form, address, true)?;
    let object = b.shared_address(&form, object, true)?;
    let bytes = b.constant32(Value::Bits(u64::from(ty.size() * count)))?;
    b.emit(Op::Store(Transfer {
        space: Space::Generic,
        size: ty.size(),
        count,
        signed: false,
        width,
        order: Order::Weak,
        scope: Scope::Block,
        constant: false,
        address,
        rows,
    }));
    complete(b, (Space::Generic, object), bytes, None);
    Ok(())
}

/// `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [a], b, [object]`
pub(super) fn reduce<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let known = form.take("async") && form.take(OBJECT) && form.take("shared::cluster");
    if !(known && form.take("relaxed") && form.take("cluster")) {
        return Err(form.unsupported());
    }
    let operations = ["inc", "dec", "min", "max", "and", "or", "xor", "add"];
    let operation = form
        .take_one_of(&operations)
        .ok_or_else(|| form.unsupported())?;
    let ty = form.ty()?;
    let integers = matches!(ty, Ty::U32 | Ty::S32 | Ty::B32) || (operation, ty) == ("add", Ty::U64);
    let kind = atomic::kind(operation, ty).filter(|_| integers);
    let kind = kind.ok_or_else(|| form.unsupported())?;
    let [address, value, object] = form.finish()?;
    let value = b.source(&form, value, ty)?;
    let address = b.shared_address(&form, address, true)?;
    let object = b.shared_address(&form, object, true)?;
    let bytes = b.constant32(Value::Bits(ty.size().into()))?;
    b.emit(Op::Atomic(Box::new(AtomicOp {
        kind,
        space: Space::Generic,
        size: ty.size(),
        order: Order::Relaxed,
        scope: Scope::Cluster,
        address,
        d: None,
        b: value,
        c: None,
        part: PartOfWord::Whole,
    })));
    complete(b, (Space::Generic, object), bytes, None);
    Ok(())
}

/// Whether a store or a reduction is one of these.
pub(super) fn is_async(form: &Form<'_, '_>) -> bool {
    form.text.split('.').any(|part| part == "async")
}
