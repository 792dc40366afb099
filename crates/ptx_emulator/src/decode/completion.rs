//! How bulk copies of bytes and of tensors name their spaces and say that they are done.

use super::builder::Builder;
use super::form::Form;
use super::op::{Address, MbarrierKind, MbarrierOp, Op, Order, Row};
use crate::error::ParseError;
use crate::fault::Space;

/// How the completion of a copy is observed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    Object,
    Group,
}

/// Parses a copy's completion mechanism.
pub(super) fn completion(form: &mut Form<'_, '_>) -> Result<Completion, ParseError> {
    match form.take_one_of(&["mbarrier::complete_tx::bytes", "bulk_group"]) {
        Some("bulk_group") => Ok(Completion::Group),
        Some(_) => Ok(Completion::Object),
        None => Err(form.unsupported()),
    }
}

/// Parses `.multicast::cluster` and the block mask after the other operands.
pub(super) fn take_blocks<'a>(
    b: &mut Builder<'a, '_>,
    form: &mut Form<'_, 'a>,
) -> Result<Option<Row>, ParseError> {
    if !form.take("multicast::cluster") {
        return Ok(None);
    }
    let Some((blocks, rest)) = form.operands.split_last() else {
        return Err(form.wrong("needs a mask of blocks"));
    };
    form.operands = rest;
    b.r16(form, blocks).map(Some)
}

/// Signals an mbarrier object that bytes have arrived.
pub(super) fn complete(
    b: &mut Builder<'_, '_>,
    (space, address): (Space, Address),
    bytes: Row,
    blocks: Option<Row>,
) {
    b.emit(Op::Mbarrier(Box::new(MbarrierOp {
        kind: MbarrierKind::Complete { bytes },
        space,
        // Threads that wait for the bytes see them.
        order: Order::Release,
        address,
        blocks,
    })));
}

/// The two spaces of a copy, in the order of the text.
pub(super) fn path_of(text: &str) -> Option<(&str, &str)> {
    let mut spaces = text
        .split('.')
        .filter(|part| matches!(*part, "shared::cluster" | "shared::cta" | "global"));
    let path = (spaces.next()?, spaces.next()?);
    spaces.next().is_none().then_some(path)
}

pub(super) fn nothing(b: &mut Builder<'_, '_>) -> Result<(), ParseError> {
    b.emit(Op::Nop);
    Ok(())
}
