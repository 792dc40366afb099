//! The kernels that reduce.
//!
//! Each block leaves a result; the host merges them in the order of the blocks, or the last block
//! does.

mod lines;
pub(super) mod plan;

use blockwise::Type;
use kernels::raw::reduce::{dot_tree_raw, fold_tree_raw};
use kernels::reduce::interleaved::{dot_interleaved, fold_interleaved};
use kernels::reduce::policy::IN_FLIGHT;
use kernels::reduce::single::{dot_single, fold_single};
use kernels::reduce::tree::{dot_tree, fold_tree};
use kernels::reduce::wide::{DOT_IN_FLIGHT, dot_wide, fold_wide};

use super::form::{Folding, Form, TREE as TREES};
use super::problem::Code;
use super::rows::ticket;
use crate::operation::{Kernel, Problem, Tier, Variant, raw_kernel};

pub use lines::{AXIS, INDEX};

/// All of them.
pub(super) static ALL: &[&Variant] = &[&INTERLEAVED, &TREE, &TREE_RAW, &WIDE, &SINGLE, &AXIS];

/// Those that add in more precision than the elements'.
pub(super) static EXACT: &[&Variant] = &[&WIDE, &SINGLE, &AXIS];

/// Of indices of extremes.
pub(super) static OF_INDICES: &[&Variant] = &[&INDEX];

/// Those that a caller can name.
pub static KERNELS: [&Variant; 5] = [&INTERLEAVED, &TREE, &TREE_RAW, &WIDE, &SINGLE];

/// A kernel of one operand, and one of two, for each type: sums, extremes, dot products. Integers
/// without a sign have the same sums, and `flip` orders them. The forms come first, of the kernels of
/// one operand and of two. The brackets may hold an argument more, after the results; the types of
/// the kernels of one operand and those of two may follow, all by default.
#[macro_export]
#[doc(hidden)]
macro_rules! reductions {
    ([$one:expr, $two:expr], $fold:ident, $dot:ident, |$of:ident| $more:tt) => {
        $crate::reductions!([$one, $two], $fold, $dot, |$of| $more,
            I64 i64, U64 i64, F32 f32, F64 f64; I64 i64, U64 i64, F32 f32, F64 f64)
    };
    ([$one:expr, $two:expr], $fold:ident, $dot:ident, |$of:ident| $more:tt, $($types:tt)*) => {
        $crate::reductions!(@ [$crate::operation::kernel] [$one, $two] $fold $dot $of $more $($types)*)
    };
    (@ $make:tt [$one:expr, $two:expr] $fold:ident $dot:ident $of:ident $more:tt $($Type:ident $t:ident),*; $($Other:ident $u:ident),*) => {
        [
            $($crate::reductions!(one $make $Type $t, [$crate::reduce::rows::SUM, $one.instance()], $fold<$t, $crate::kernels::reduce::Sum>, $of $more),)*
            $($crate::reductions!(one $make $Type $t, [$crate::reduce::rows::EXTREME, $one.instance()], $fold<$t, $crate::kernels::reduce::Extreme>, $of $more),)*
            $($crate::reductions!(two $make $Other $u, [$crate::reduce::rows::DOT, $two.instance()], $dot<$u>, $of $more),)*
        ]
    };
    (one [$($make:tt)*] $Type:ident $t:ident, $which:tt, $handle:ty, $of:ident [$($more:expr)?]) => {
        $($make)*!($crate::operation::Takes::Type($crate::reduce::rows::Type::$Type), $which, $handle, |$of| (
            $of.inputs[0].plain::<$t>()?,
            $crate::reduce::rows::results::<$t>($of.after)?,
            $($more,)?
            $crate::reduce::rows::flip::<$t>(&$of.problem)
        ))
    };
    (two [$($make:tt)*] $Type:ident $t:ident, $which:tt, $handle:ty, $of:ident [$($more:expr)?]) => {
        $($make)*!($crate::operation::Takes::Type($crate::reduce::rows::Type::$Type), $which, $handle, |$of| (
            $of.inputs[0].plain::<$t>()?,
            $of.inputs[1].plain::<$t>()?,
            $crate::reduce::rows::results::<$t>($of.after)?
            $(, $more)?
        ))
    };
}

/// Bytes of a ticket, which counts the blocks that have finished.
pub(super) const TICKET: usize = size_of::<u32>();

const fn in_packs(packs: usize) -> Form {
    Form {
        packs: packs as u8,
        fold: Folding::Host,
    }
}

/// Whether it is no sum and no extreme of integers, which no document has.
fn is_documented(problem: &Problem) -> bool {
    !matches!(problem.ty, Type::I64 | Type::U64) || Code::of(problem) == Code::Dot
}

/// A tree in shared memory that folds neighbours first, with bank conflicts; for any number of
/// threads. Like the next two it adds in the element's type.
pub static INTERLEAVED: Variant = Variant::new(
    "interleaved",
    "a tree in shared memory that folds neighbours first, with bank conflicts",
    &reductions!([TREES, TREES], fold_interleaved, dot_interleaved, |of| [], F32 f32; I64 i64, U64 i64, F32 f32),
    plan::whole,
)
.worth(is_documented)
.tier(Tier::Document);

/// A halving tree in shared memory, for any number of threads.
pub static TREE: Variant = Variant::new(
    "tree",
    "a halving tree in shared memory, for any number of threads",
    &reductions!([TREES, TREES], fold_tree, dot_tree, |of| [], F32 f32; I64 i64, U64 i64, F32 f32),
    plan::whole,
)
.worth(is_documented)
.tier(Tier::Document);

/// The same in rust-cuda's form.
pub static TREE_RAW: Variant = Variant::new(
    "tree-raw",
    "the same in rust-cuda's form",
    &reductions!(@ [raw_kernel] [TREES, TREES] fold_tree_raw dot_tree_raw of [] F32 f32; I64 i64, U64 i64, F32 f32),
    plan::whole,
)
.worth(is_documented)
.tier(Tier::Document);

/// Warps fold by shuffles, for whole warps, with loads of 16 bytes, several at a time.
pub static WIDE: Variant = on_the_host(
    "wide",
    "warps fold by shuffles, with loads of 16 bytes, several at a time",
    &reductions!(
        [in_packs(IN_FLIGHT), in_packs(DOT_IN_FLIGHT)],
        fold_wide,
        dot_wide,
        |of| []
    ),
);

/// The same, with the blocks' results folded by the last block instead of the host.
pub static SINGLE: Variant = in_one_launch(
    "single",
    "the same, and the last block folds the blocks' results",
    &reductions!([LAST, LAST], fold_single, dot_single, |of| [ticket(
        of.memory
    )?]),
);

const LAST: Form = Form {
    packs: IN_FLIGHT as u8,
    fold: Folding::LastBlock,
};

/// A variant whose blocks' results the host folds.
pub const fn on_the_host(
    name: &'static str,
    about: &'static str,
    kernels: &'static [Kernel],
) -> Variant {
    Variant::new(name, about, kernels, plan::whole)
}

/// A variant whose last block folds the blocks' results.
pub const fn in_one_launch(
    name: &'static str,
    about: &'static str,
    kernels: &'static [Kernel],
) -> Variant {
    Variant::new(name, about, kernels, plan::whole)
        .memory(|_| TICKET)
        .tuned(plan::policies)
}
