//! Operations that fold sharded arrays to one number: dot product, sum, minimum and maximum.
//!
//! Each rank reduces its part as a single device would, and every rank folds the
//! [totals](blockwise_ops::reduce::Total), which are rounded last, in the order of the ranks. So
//! all ranks get the same bits, whatever arrives first: those of a single device that works on the
//! same parts one after the other, as [`Reducer`](blockwise_ops::pipeline::Reducer) does with
//! chunks. Integers, minima and maxima do not depend on the split; nor do
//! [sums](blockwise_ops::reduce#how-exact-sums-are) that are rounded correctly.

use blockwise_ops::operation::{Fold, Operation, Options, Parts};
use blockwise_ops::reduce::{DOT, enqueue, operation, plan, same_length};
use blockwise_ops::{LaunchError, Number, Reduction};

use crate::call::Digest;
use crate::{Rank, Result, Sharded};

/// Sum, minimum or maximum of all elements, on every rank.
///
/// # Errors
/// A minimum or maximum of an empty array, and failures of a device or of the communication.
#[track_caller]
pub fn reduce<T: Number>(
    rank: &mut Rank,
    input: &Sharded<T>,
    reduction: Reduction,
    options: &Options,
) -> Result<T> {
    input.check(rank, "the operand")?;
    folded(rank, operation(reduction), &[input], options)
}

/// The dot product Σ a\[i\] · b\[i\] of two arrays with the same split, on every rank.
///
/// # Errors
/// Operands of unlike lengths or splits, and failures of a device or of the communication.
#[track_caller]
pub fn dot<T: Number>(
    rank: &mut Rank,
    a: &Sharded<T>,
    b: &Sharded<T>,
    options: &Options,
) -> Result<T> {
    a.check(rank, "the first operand")?;
    b.check(rank, "the second operand")?;
    same_length(a.len(), b.len()).map_err(|e| rank.failed(e))?;
    folded(rank, &DOT, &[a, b], options)
}

/// An operation whose parts are [folded](Parts::Folded); each operand has the same number of
/// elements.
#[track_caller]
fn folded<T: Number>(
    rank: &mut Rank,
    of: &'static Operation,
    operands: &[&Sharded<T>],
    options: &Options,
) -> Result<T> {
    let Parts::Folded(&Fold { by, .. }) = of.parts else {
        let operation = of.name;
        return Err(rank.failed(LaunchError::NotDivided { operation }));
    };
    let planned = |rank: &Rank, len| {
        let properties = rank.device().properties();
        plan::<T>(of, len, options, properties).map_err(|e| rank.failed(e))
    };
    // Refused on every rank before any of them waits.
    let len = operands.first().map_or(0, |operand| operand.len());
    planned(rank, len)?;
    let digest = operands.iter().fold(Digest::new(), |digest, operand| {
        operand.split().digest(digest)
    });
    let call = rank.call::<T>(of.name, &[len], digest);
    let parts: Vec<_> = operands
        .iter()
        .map(|operand| operand.part().as_view())
        .collect();
    let part = match parts.iter().map(|part| part.len()).max() {
        None | Some(0) => None,
        Some(len) => {
            let device = rank.device();
            let plan = planned(rank, len)?;
            let scratch = rank.scratch();
            let reduced = scratch.reduce(device, rank.recorder(), &plan, by, |partials| {
                enqueue(device, None, of, &parts, partials, options)
            });
            Some(reduced.map_err(|e| rank.failed(e))?)
        }
    };
    let total = rank.fold_in(&call, part, by)?;
    Ok(total.unwrap_or_default().round())
}
