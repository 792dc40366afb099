//! Operations each of whose parts starts from the result of all earlier parts, such as running
//! sums.
//!
//! Each rank computes the totals of its part and sends them to all; its part then starts from the
//! totals of all lower ranks, merged in order. The result has the bits of a single device's.

use blockwise::{AnyBuffer, AnyView, AnyViewMut};
use blockwise_ops::operation::{Call, Carry, Operation, Options, Parts, Problem};
use blockwise_ops::{Element, LaunchError};

use crate::{Blocks, Rank, Result, ShardedMatrix, Split};

/// How such an operation's elements are divided over ranks: each part starts at a multiple of the
/// operation's alignment.
pub fn parts(carry: &Carry, problem: &Problem, ranks: usize) -> Split {
    aligned(problem.extents[0], (carry.align)(problem.ty), ranks)
}

/// Parts of `len` elements that begin at multiples of `align`.
pub(crate) fn aligned(len: usize, align: usize, ranks: usize) -> Split {
    let groups = Split::even(len.div_ceil(align), ranks);
    let lengths = (0..ranks).map(|rank| {
        let groups = groups.range(rank);
        (groups.end * align).min(len) - (groups.start * align).min(len)
    });
    Split::of(&lengths.collect::<Vec<_>>())
}

/// Computes an operation whose parts are [carried](Parts::Carried), on elements passed as words of
/// their width, and waits. The matrix has one column and is divided as by [`parts`].
///
/// # Errors
/// An operation or a problem that cannot be divided this way, and failures of a device or of the
/// communication.
#[track_caller]
pub fn carried<W: Element>(
    rank: &mut Rank,
    operation: &'static Operation,
    problem: &Problem,
    input: &ShardedMatrix<W>,
    options: &Options,
) -> Result<ShardedMatrix<W>> {
    let Parts::Carried(carry) = operation.parts else {
        return Err(rank.failed(LaunchError::NotDivided {
            operation: operation.name,
        }));
    };
    if !(carry.is_one_line)(problem) {
        return Err(rank.failed(LaunchError::NotDivided {
            operation: operation.name,
        }));
    }
    let ty = problem.ty;
    let split = parts(carry, problem, rank.ranks());
    let blocks = Blocks::by_rows(split.clone(), 1);
    input.check_blocks(rank, "the input", &blocks)?;
    let mut output = ShardedMatrix::zeros(rank, blocks)?;
    let me = rank.number();
    let groups = |rank| split.range(rank).len().div_ceil((carry.align)(ty));
    let most = (0..rank.ranks()).map(groups).max().unwrap_or(0);
    let mut part = *problem;
    part.extents[0] = split.range(me).len();

    let device = rank.device().clone();
    let buffer = |len| AnyBuffer::filled(&device, ty, len, 0).map_err(|e| rank.failed(e));
    let (mut totals, mut after) = (buffer(most)?, buffer(1)?);
    let mut call = Call::new(&device, operation, *options);
    let Some(mine) = AnyView::from(input.part().as_view()).retyped(ty) else {
        return Err(rank.failed(wrong(ty, W::TYPE)));
    };
    let own = totals.as_view_mut().into_view_mut(..groups(me));
    if !own.is_empty() {
        let nowhere = after.as_view_mut().into_view_mut(..0);
        let counted = call.enqueue_part(None, &part, &[mine], nowhere, (None, own));
        counted.map_err(|e| rank.failed(e))?;
    }
    let mut bytes = vec![0; most * ty.bytes()];
    let read = totals.as_view().copy_to_slice(&mut bytes);
    read.map_err(|e| rank.failed(e))?;

    let all = rank.gather::<u8>(&bytes)?;
    let before_me = (all.iter().enumerate().take(me))
        .flat_map(|(other, totals)| totals.chunks_exact(ty.bytes()).take(groups(other)));
    let before = before_me.fold(None, |before: Option<Vec<u8>>, total| {
        Some(match before {
            None => total.to_vec(),
            Some(before) => (carry.merge)(problem, &before, total),
        })
    });
    let before = before.map(|bytes| AnyBuffer::upload(&device, ty, &bytes));
    let before = before.transpose().map_err(|e| rank.failed(e))?;
    let before = before.as_ref().map(AnyBuffer::as_view);

    let mine = AnyView::from(input.part().as_view()).retyped(ty);
    let to = AnyViewMut::from(output.part_mut()).retyped(ty);
    let (Some(mine), Some(to)) = (mine, to) else {
        return Err(rank.failed(wrong(ty, W::TYPE)));
    };
    let computed = call.enqueue_part(None, &part, &[mine], to, (before, after.as_view_mut()));
    computed.map_err(|e| rank.failed(e))?;
    rank.synchronize()?;
    Ok(output)
}

/// The error for words of a different width than the elements'.
fn wrong(wanted: blockwise::Type, given: blockwise::Type) -> LaunchError {
    LaunchError::OperandType {
        what: "input",
        wanted,
        given: Some(given),
    }
}
