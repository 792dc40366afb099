//! The kernels that reduce.
//!
//! Each block leaves a result; the host merges them in the order of the blocks, or the last block
//! does.

pub(super) mod plan;

use blockwise::{AnyViewMut, Error, Plain, Type, ViewMut};
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

/// A kernel of one operand, and one of two, for each type: sums, extremes, dot products. Integers
/// without a sign have the same sums, and `flip` orders them. The brackets may hold an argument more,
/// after the results; `unsafe` is for kernels in rust-cuda's form.
macro_rules! rows {
    ($($safety:ident)?; $fold:ident, $dot:ident, |$of:ident| $more:tt) => {
        rows!(@ [$($safety)?] $fold $dot $of $more I64 i64, U64 i64, F32 f32, F64 f64)
    };
    (@ $safety:tt $fold:ident $dot:ident $of:ident $more:tt $($Type:ident $t:ident),*) => {
        [
            $(rows!(one $safety $Type $t, Sum, $fold<$t, Sum>, $of $more),)*
            $(rows!(one $safety $Type $t, Min, $fold<$t, Extreme>, $of $more),)*
            $(rows!(two $safety $Type $t, Dot, $dot<$t>, $of $more),)*
        ]
    };
    (one [$($safety:ident)?] $Type:ident $t:ident, $code:ident, $handle:ty, $of:ident [$($more:expr)?]) => {
        kernel!($($safety)? Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], $handle, |$of| (
            $of.inputs[0].plain::<$t>()?,
            results::<PartialOf<$t>>($of.after)?,
            $($more,)?
            flip::<$t>(&$of.problem)
        ))
    };
    (two [$($safety:ident)?] $Type:ident $t:ident, $code:ident, $handle:ty, $of:ident [$($more:expr)?]) => {
        kernel!($($safety)? Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], $handle, |$of| (
            $of.inputs[0].plain::<$t>()?,
            $of.inputs[1].plain::<$t>()?,
            results::<PartialOf<$t>>($of.after)?
            $(, $more)?
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
    &rows!(; fold_interleaved, dot_interleaved, |of| []),
    plan::whole,
)
.tier(Tier::Document);

/// A halving tree in shared memory, for any number of threads.
pub static TREE: Variant = Variant::new(
    "tree",
    "a halving tree in shared memory, for any number of threads",
    &rows!(; fold_tree, dot_tree, |of| []),
    plan::whole,
)
.tier(Tier::Document);

/// The same in rust-cuda's form.
pub static TREE_RAW: Variant = Variant::new(
    "tree-raw",
    "the same in rust-cuda's form",
    &rows!(unsafe; fold_tree_raw, dot_tree_raw, |of| []),
    plan::whole,
)
.tier(Tier::Document);

/// Warps fold by shuffles, for whole warps.
pub static SHUFFLE: Variant = Variant::new(
    "shuffle",
    "warps fold by shuffles",
    &rows!(; fold_shuffle, dot_shuffle, |of| []),
    plan::whole,
);

/// The same with loads of 16 bytes, several at a time.
pub static WIDE: Variant = Variant::new(
    "wide",
    "the same with loads of 16 bytes, several at a time",
    &rows!(; fold_wide, dot_wide, |of| []),
    plan::whole,
);

/// The same, with the blocks' results folded by the last block instead of the host.
pub static SINGLE: Variant = Variant::new(
    "single",
    "the same, and the last block folds the blocks' results",
    &rows!(; fold_single, dot_single, |of| [ticket(of.memory)?]),
    plan::whole,
)
.memory(|_| TICKET)
.tuned(plan::policies);

/// The same with twice as many loads in flight.
pub static SINGLE8: Variant = Variant::new(
    "single8",
    "the same with twice as many loads in flight",
    &rows!(; fold_single8, dot_single8, |of| [ticket(of.memory)?]),
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
            kernel!(Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], fold_axis<$t, $Op>, |of| (
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
                Takes::Type(Type::$Type),
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
