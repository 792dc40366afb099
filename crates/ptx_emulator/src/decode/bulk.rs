//! `cp.async.bulk`: copies of many bytes between global and shared memory. They happen at once, which is one of the orders
//! that PTX allows.

use super::builder::Builder;
use super::form::{Form, Ty};
use super::hint;
use super::mbarrier::{MbarrierKind, MbarrierOp};
use super::op::{CopyBulk, Op, Order};
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
    let completion = form.take_one_of(&["mbarrier::complete_tx::bytes", "bulk_group"]);
    let path = ["shared::cluster", "shared::cta", "global"];
    let (to, from) = match (path_of(form.text), completion) {
        (
            Some((to @ ("shared::cluster" | "shared::cta"), "global")),
            Some("mbarrier::complete_tx::bytes"),
        ) => (to, "global"),
        (Some(("shared::cluster", "shared::cta")), Some("mbarrier::complete_tx::bytes")) => {
            ("shared::cluster", "shared::cta")
        }
        (Some(("global", "shared::cta")), Some("bulk_group")) => ("global", "shared::cta"),
        _ => return Err(form.unsupported()),
    };
    while form.take_one_of(&path).is_some() {}
    hint::take_policy(b, &mut form)?;
    form.no_more_modifiers()?;
    let (target, source, size, object) = match (form.operands, completion) {
        ([target, source, size], Some("bulk_group")) => (target, source, size, None),
        ([target, source, size, object], Some("mbarrier::complete_tx::bytes")) => {
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
    b.emit(Op::CopyBulk(Box::new(CopyBulk { to, from, size })));
    if let Some(address) = object {
        b.emit(Op::Mbarrier(Box::new(MbarrierOp {
            kind: MbarrierKind::Complete { bytes: size },
            space: to.0,
            // Whoever waits for the bytes sees them.
            order: Order::Release,
            address,
        })));
    }
    Ok(())
}

/// The two spaces of a copy, in the order of the text.
fn path_of(text: &str) -> Option<(&str, &str)> {
    let mut spaces = text
        .split('.')
        .filter(|part| matches!(*part, "shared::cluster" | "shared::cta" | "global"));
    let path = (spaces.next()?, spaces.next()?);
    spaces.next().is_none().then_some(path)
}

fn nothing(b: &mut Builder<'_, '_>) -> Result<(), ParseError> {
    b.emit(Op::Nop);
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
