//! The kernels that reduce.
//!
//! Each block leaves a result; the host merges them in the order of the blocks, or the last block
//! does.

pub(super) mod plan;

use blockwise::{AnyViewMut, Error, Plain, ViewMut};
use kernels::raw::reduce::{dot_tree_raw, fold_tree_raw};
use kernels::reduce::axis::{fold_axis, sum_runs};
use kernels::reduce::interleaved::{dot_interleaved, fold_interleaved};
use kernels::reduce::shuffle::{dot_shuffle, fold_shuffle};
use kernels::reduce::single::{dot_single, dot_single8, fold_single, fold_single8};
use kernels::reduce::tree::{dot_tree, fold_tree};
use kernels::reduce::wide::{dot_wide, fold_wide};
use kernels::reduce::{Extreme, Sum};

use super::problem::{Code, flip};
use super::total::PartialOf;
use crate::operation::{Kernel, Operands, Takes, Tier, Variant, kernel};

/// All of them.
pub(super) static ALL: &[&Variant] = &[
    &INTERLEAVED,
    &TREE,
    &TREE_RAW,
    &SHUFFLE,
    &WIDE,
    &SINGLE,
    &SINGLE8,
    &AXIS,
];

/// Those that a caller can name.
pub static KERNELS: [&Variant; 6] = [&INTERLEAVED, &TREE, &TREE_RAW, &SHUFFLE, &WIDE, &SINGLE];

/// Those that add in the element's type, as in the documents that they follow.
pub(super) fn is_teaching(variant: &Variant) -> bool {
    [&INTERLEAVED, &TREE, &TREE_RAW].contains(&variant)
}

/// Rows of one operand, and of two, for each type. Integers without a sign have the same sums, and
/// `flip` orders them.
macro_rules! rows {
    ($row:ident, $fold:ident, $dot:ident) => {
        [
            $row!(one I64 i64, [Code::Sum.of_kernel(), 0], $fold<i64, Sum>),
            $row!(one U64 i64, [Code::Sum.of_kernel(), 0], $fold<i64, Sum>),
            $row!(one F32 f32, [Code::Sum.of_kernel(), 0], $fold<f32, Sum>),
            $row!(one F64 f64, [Code::Sum.of_kernel(), 0], $fold<f64, Sum>),
            $row!(one I64 i64, [Code::Min.of_kernel(), 0], $fold<i64, Extreme>),
            $row!(one U64 i64, [Code::Min.of_kernel(), 0], $fold<i64, Extreme>),
            $row!(one F32 f32, [Code::Min.of_kernel(), 0], $fold<f32, Extreme>),
            $row!(one F64 f64, [Code::Min.of_kernel(), 0], $fold<f64, Extreme>),
            $row!(two I64 i64, [Code::Dot.of_kernel(), 0], $dot<i64>),
            $row!(two U64 i64, [Code::Dot.of_kernel(), 0], $dot<i64>),
            $row!(two F32 f32, [Code::Dot.of_kernel(), 0], $dot<f32>),
            $row!(two F64 f64, [Code::Dot.of_kernel(), 0], $dot<f64>),
        ]
    };
}

/// A kernel whose results the host merges.
macro_rules! plain {
    (one $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?,
            flip::<$t>(&of.problem)
        ))
    };
    (two $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            of.inputs[1].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?
        ))
    };
}

/// The same in rust-cuda's form.
macro_rules! raw {
    (one $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(unsafe Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?,
            flip::<$t>(&of.problem)
        ))
    };
    (two $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(unsafe Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            of.inputs[1].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?
        ))
    };
}

/// A kernel whose last block merges them.
macro_rules! ticketed {
    (one $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?,
            ticket(of.memory)?,
            flip::<$t>(&of.problem)
        ))
    };
    (two $Type:ident $t:ident, $which:tt, $handle:ty) => {
        kernel!(Takes::Type(blockwise::Type::$Type), $which, $handle, |of| (
            of.inputs[0].plain::<$t>()?,
            of.inputs[1].plain::<$t>()?,
            results::<PartialOf<$t>>(of.after)?,
            ticket(of.memory)?
        ))
    };
}

fn results<P: Plain>(after: Option<AnyViewMut<'_>>) -> Result<ViewMut<'_, P>, Error> {
    after.ok_or(nothing(P::NAME))?.plain()
}

fn ticket(memory: Option<AnyViewMut<'_>>) -> Result<ViewMut<'_, u32>, Error> {
    memory.ok_or(nothing(u32::NAME))?.plain()
}

fn nothing(to: &'static str) -> Error {
    let from = "nothing";
    Error::Cast { from, to }
}

/// Bytes of a ticket, which counts the blocks that have finished.
pub(super) const TICKET: usize = size_of::<u32>();

/// A tree in shared memory that folds neighbours first, with bank conflicts; for any number of
/// threads. Like the next two it adds in the element's type.
pub static INTERLEAVED: Variant = Variant::new(
    "interleaved",
    "a tree in shared memory that folds neighbours first, with bank conflicts",
    &rows!(plain, fold_interleaved, dot_interleaved),
    plan::whole,
)
.tier(Tier::Document);

/// A halving tree in shared memory, for any number of threads.
pub static TREE: Variant = Variant::new(
    "tree",
    "a halving tree in shared memory, for any number of threads",
    &rows!(plain, fold_tree, dot_tree),
    plan::whole,
)
.tier(Tier::Document);

/// The same in rust-cuda's form.
pub static TREE_RAW: Variant = Variant::new(
    "tree-raw",
    "the same in rust-cuda's form",
    &rows!(raw, fold_tree_raw, dot_tree_raw),
    plan::whole,
)
.tier(Tier::Document);

/// Warps fold by shuffles, for whole warps.
pub static SHUFFLE: Variant = Variant::new(
    "shuffle",
    "warps fold by shuffles",
    &rows!(plain, fold_shuffle, dot_shuffle),
    plan::whole,
);

/// The same with loads of 16 bytes, several at a time.
pub static WIDE: Variant = Variant::new(
    "wide",
    "the same with loads of 16 bytes, several at a time",
    &rows!(plain, fold_wide, dot_wide),
    plan::whole,
);

/// The same, with the blocks' results folded by the last block instead of the host.
pub static SINGLE: Variant = Variant::new(
    "single",
    "the same, and the last block folds the blocks' results",
    &rows!(ticketed, fold_single, dot_single),
    plan::whole,
)
.memory(|_| TICKET)
.tuned(plan::policies);

/// The same with twice as many loads in flight.
pub static SINGLE8: Variant = Variant::new(
    "single8",
    "the same with twice as many loads in flight",
    &rows!(ticketed, fold_single8, dot_single8),
    plan::whole,
)
.tier(Tier::Ablation)
.memory(|_| TICKET)
.tuned(plan::policies);

/// A thread for each line along an axis.
pub static AXIS: Variant = Variant::new(
    "axis",
    "a thread for each line along an axis",
    LINES,
    plan::lines,
)
.tier(Tier::Step);

const LINES: &[Kernel] = &{
    macro_rules! lines {
        ($Type:ident $t:ident, $code:ident, $Op:ident) => {
            kernel!(Takes::Type(blockwise::Type::$Type), [Code::$code.of_kernel(), 0], fold_axis<$t, $Op>, |of| (
                rows::<$t>(&of)?,
                of.output.plain::<$t>()?,
                of.problem.extents[0],
                flip::<$t>(&of.problem)
            ))
        };
    }
    macro_rules! runs {
        ($t:ident, $Type:ident) => {
            kernel!(
                Takes::Type(blockwise::Type::$Type),
                [Code::Sum.of_kernel(), 1],
                sum_runs<$t>,
                |of| (
                    rows::<$t>(&of)?,
                    results::<PartialOf<$t>>(of.after)?,
                    of.problem.extents[0]
                )
            )
        };
    }
    [
        lines!(I64 i64, Sum, Sum),
        lines!(U64 i64, Sum, Sum),
        lines!(F32 f32, Sum, Sum),
        lines!(F64 f64, Sum, Sum),
        lines!(I64 i64, Min, Extreme),
        lines!(U64 i64, Min, Extreme),
        lines!(F32 f32, Min, Extreme),
        lines!(F64 f64, Min, Extreme),
        runs!(f32, F32),
        runs!(f64, F64),
    ]
};

/// The input as rows of the elements after the axis.
fn rows<'a, T: Plain>(of: &Operands<'a>) -> Result<(blockwise::View<'a, T>, usize, usize), Error> {
    let [extent, outer, inner, _] = of.problem.extents;
    Ok((of.inputs[0].plain::<T>()?, outer * extent, inner))
}
