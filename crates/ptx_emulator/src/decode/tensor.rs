//! `cp.async.bulk.tensor`: copies boxes of tensors between global and shared memory.

use super::builder::Builder;
use super::completion::{Completion, complete, completion, nothing, path_of, take_blocks};
use super::form::Form;
use super::hint;
use super::op::{Address, CopyTensor, Direction, Op, Reduction, Row};
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::Operand;

/// `cp.async.bulk.tensor.2d.shared::cluster.global[.tile].mbarrier::complete_tx::bytes [to], [map, {x, y}], [object]`
/// and `cp.async.bulk.tensor.2d.global.shared::cta[.tile].bulk_group [map, {x, y}], [from]`
pub(super) fn copy<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    transfer(b, form, None)
}

/// `cp.reduce.async.bulk.tensor.2d.global.shared::cta.add[.tile].bulk_group [map, {x, y}], [from]`
pub(super) fn reduce<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let operations = [
        ("add", Reduction::Add),
        ("min", Reduction::Min),
        ("max", Reduction::Max),
        ("inc", Reduction::Increment),
        ("dec", Reduction::Decrement),
        ("and", Reduction::And),
        ("or", Reduction::Or),
        ("xor", Reduction::Xor),
    ];
    let operation = operations.into_iter().find(|(name, _)| form.take(name));
    let operation = operation.ok_or_else(|| form.unsupported())?;
    transfer(b, form, Some(operation.1))
}

fn transfer<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
    reduction: Option<Reduction>,
) -> Result<(), ParseError> {
    let rank = rank(&mut form)?;
    let completion = completion(&mut form)?;
    let (to, from) = path_of(form.text).ok_or_else(|| form.unsupported())?;
    let loads = match (from, to, completion) {
        ("global", "shared::cluster" | "shared::cta", Completion::Object) => reduction.is_none(),
        ("shared::cta", "global", Completion::Group) => false,
        _ => return Err(form.unsupported()),
    };
    if completion == Completion::Object && !loads {
        return Err(form.unsupported());
    }
    form.take("global");
    let in_cluster =
        form.take_one_of(&["shared::cluster", "shared::cta"]) == Some("shared::cluster");
    hint::take_policy(b, &mut form)?;
    let blocks = match in_cluster {
        true => take_blocks(b, &mut form)?,
        false => None,
    };
    form.no_more_modifiers()?;
    let (tensor, shared, object) = match (form.operands, loads) {
        ([shared, tensor, object], true) => (tensor, shared, Some(object)),
        ([tensor, shared], false) => (tensor, shared, None),
        _ => return Err(form.wrong("has another number of operands")),
    };
    let space = if in_cluster {
        Space::Generic
    } else {
        Space::Shared
    };
    let (map, coordinates) = self::tensor(b, &form, tensor, rank)?;
    let shared = (space, b.shared_address(&form, shared, in_cluster)?);
    let object = object.map(|object| b.shared_address(&form, object, in_cluster));
    let object = object.transpose()?;
    let bytes = b.temp32()?;
    b.emit(Op::CopyTensor(Box::new(CopyTensor {
        map,
        coordinates,
        shared,
        direction: match reduction {
            _ if loads => Direction::Load { blocks, bytes },
            None => Direction::Store,
            Some(reduction) => Direction::Reduce(reduction),
        },
    })));
    if let Some(address) = object {
        complete(b, (space, address), bytes, blocks);
    }
    Ok(())
}

/// Parses the number of dimensions and the mode, of which only tiled is supported.
fn rank(form: &mut Form<'_, '_>) -> Result<usize, ParseError> {
    let ranks = ["1d", "2d", "3d", "4d", "5d"];
    let rank = form.take_one_of(&ranks);
    form.take("tile");
    let rank = ranks.iter().position(|&known| Some(known) == rank);
    rank.map(|at| at + 1).ok_or_else(|| form.unsupported())
}

/// `[map, {x, y}]`
fn tensor<'a>(
    b: &mut Builder<'a, '_>,
    form: &Form<'_, 'a>,
    operand: &Operand<'a>,
    rank: usize,
) -> Result<(Address, Vec<Row>), ParseError> {
    let Operand::Indexed(base, offset, parts) = operand else {
        return Err(form.wrong("needs a tensor with coordinates in brackets"));
    };
    let parts = match parts.as_slice() {
        [Operand::Vector(parts)] => parts.as_slice(),
        [single @ (Operand::Name(_) | Operand::Int(_))] => std::slice::from_ref(single),
        _ => return Err(form.unsupported()),
    };
    if parts.len() != rank {
        return Err(form.wrong(format!("needs {rank} coordinates")));
    }
    let map = b.address(form, &Operand::Address(*base, *offset))?;
    let rows = parts.iter().map(|part| b.r32(form, part));
    Ok((map, rows.collect::<Result<_, _>>()?))
}

/// `cp.async.bulk.prefetch.tensor.2d.L2.global[.tile] [map, {x, y}]`
pub(super) fn prefetch<'a>(
    b: &mut Builder<'a, '_>,
    mut form: Form<'_, 'a>,
) -> Result<(), ParseError> {
    let rank = rank(&mut form)?;
    if !(form.take("L2") && form.take("global")) {
        return Err(form.unsupported());
    }
    hint::take_policy(b, &mut form)?;
    let [tensor] = form.finish()?;
    self::tensor(b, &form, tensor, rank)?;
    nothing(b)
}
