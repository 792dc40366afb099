//! Dot product, sum, minimum and maximum of sharded arrays.
//!
//! Each rank reduces its part as a single device would, and every rank folds the
//! [totals](blockwise_ops::reduce::Total), which are rounded last, in the order of the ranks. So
//! all ranks get the same bits, whatever arrives first: those of a single device that works on the
//! same parts one after the other, as [`Reducer`](blockwise_ops::pipeline::Reducer) does with
//! chunks. Integers, minima and maxima do not depend on the split; nor do
//! [sums](blockwise_ops::reduce#how-exact-sums-are) that are rounded correctly.

use blockwise_ops::reduce::{enqueue_dot, enqueue_reduce, plan_dot, plan_reduce};
use blockwise_ops::{Number, ReduceOptions, Reduction};

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
    options: &ReduceOptions,
) -> Result<T> {
    input.check(rank, "the operand")?;
    let planned = |rank: &Rank, len| {
        let properties = rank.device().properties();
        plan_reduce::<T>(len, reduction, options, properties).map_err(|e| rank.failed(e))
    };
    // Refused on every rank before any of them waits.
    planned(rank, input.len())?;
    let digest = input.split().digest(Digest::new());
    let call = rank.call::<T>(reduction.name(), &[input.len()], digest);
    let part = match input.part() {
        part if part.is_empty() => None,
        part => {
            let device = rank.device();
            let plan = planned(rank, part.len())?;
            let reduced = rank.scratch().reduce(device, &plan, reduction, |partials| {
                enqueue_reduce(device, None, part, partials, reduction, options)
            });
            Some(reduced.map_err(|e| rank.failed(e))?)
        }
    };
    let total = rank.fold_in(&call, part, reduction)?;
    Ok(total.unwrap_or_default().round())
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
    options: &ReduceOptions,
) -> Result<T> {
    a.check(rank, "the first operand")?;
    b.check(rank, "the second operand")?;
    let properties = rank.device().properties();
    let plan = plan_dot::<T>(a.len(), b.len(), options, properties);
    plan.map_err(|e| rank.failed(e))?;
    let digest = b.split().digest(a.split().digest(Digest::new()));
    let call = rank.call::<T>("dot", &[a.len()], digest);
    let part = match (a.part(), b.part()) {
        (a, b) if a.is_empty() && b.is_empty() => None,
        (a, b) => {
            let device = rank.device();
            let plan = plan_dot::<T>(a.len(), b.len(), options, device.properties());
            let plan = plan.map_err(|e| rank.failed(e))?;
            let sum = Reduction::Sum;
            let reduced = rank.scratch().reduce(device, &plan, sum, |partials| {
                enqueue_dot(device, None, a, b, partials, options)
            });
            Some(reduced.map_err(|e| rank.failed(e))?)
        }
    };
    let total = rank.fold_in(&call, part, Reduction::Sum)?;
    Ok(total.unwrap_or_default().round())
}
