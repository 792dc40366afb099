//! The reduction kernels for each type.

use blockwise::View;
use kernels::raw;
use kernels::reduce::policy::InFlight;
use kernels::reduce::{Addend, Max, Min, Sum, interleaved, shuffle, single, tree, wide};

use super::partials::Memory;
use super::{ReduceKernel, Reduction};
use crate::Element;
use crate::launch::{On, Routine, routine};

/// The operands and output of a dot product.
pub struct Dot<'a, T: Element + Addend> {
    pub(super) a: View<'a, T>,
    pub(super) b: View<'a, T>,
    pub(super) memory: Memory<'a, T>,
}

/// The operand and output of another reduction.
pub struct Fold<'a, T: Element + Addend> {
    pub(super) input: View<'a, T>,
    pub(super) memory: Memory<'a, T>,
}

pub(crate) type DotLaunch<T> = for<'a> fn(On<'a>, Dot<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type FoldLaunch<T> = for<'a> fn(On<'a>, Fold<'a, T>) -> Result<(), blockwise::Error>;

/// A type with kernels that reduce.
pub trait Reduces: Element + Addend {
    /// The kernel of a dot product. Only `single` has a choice of packs in flight.
    fn dot(kernel: ReduceKernel, in_flight: InFlight) -> Routine<DotLaunch<Self>>;
    /// The kernel of another reduction.
    fn reduction(
        kernel: ReduceKernel,
        in_flight: InFlight,
        reduction: Reduction,
    ) -> Routine<FoldLaunch<Self>>;
}

macro_rules! dot {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.a, of.b, of.memory.values))
    };
    ($handle:ty, ticket) => {
        routine!($handle, |of| (
            of.a,
            of.b,
            of.memory.values,
            of.memory.ticket
        ))
    };
    ($handle:ty) => {
        routine!($handle, |of| (of.a, of.b, of.memory.values))
    };
}

macro_rules! fold {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.input, of.memory.values))
    };
    ($handle:ty, ticket) => {
        routine!($handle, |of| (
            of.input,
            of.memory.values,
            of.memory.ticket
        ))
    };
    ($handle:ty) => {
        routine!($handle, |of| (of.input, of.memory.values))
    };
}

macro_rules! fold_by {
    ($t:ident, $Op:ident, $kernel:expr, $in_flight:expr) => {
        match ($kernel, $in_flight) {
            (ReduceKernel::Interleaved, _) => fold!(interleaved::fold_interleaved<$t, $Op>),
            (ReduceKernel::Tree, _) => fold!(tree::fold_tree<$t, $Op>),
            (ReduceKernel::TreeRaw, _) => fold!(unsafe raw::reduce::fold_tree_raw<$t, $Op>),
            (ReduceKernel::Shuffle, _) => fold!(shuffle::fold_shuffle<$t, $Op>),
            (ReduceKernel::Wide, _) => fold!(wide::fold_wide<$t, $Op>),
            (ReduceKernel::Single, InFlight::Four) => fold!(single::fold_single<$t, $Op>, ticket),
            (ReduceKernel::Single, InFlight::Eight) => fold!(single::fold_single8<$t, $Op>, ticket),
        }
    };
}

macro_rules! reduces {
    ($($t:ident)*) => {$(
        impl Reduces for $t {
            fn dot(kernel: ReduceKernel, in_flight: InFlight) -> Routine<DotLaunch<Self>> {
                match (kernel, in_flight) {
                    (ReduceKernel::Interleaved, _) => dot!(interleaved::dot_interleaved<$t>),
                    (ReduceKernel::Tree, _) => dot!(tree::dot_tree<$t>),
                    (ReduceKernel::TreeRaw, _) => dot!(unsafe raw::reduce::dot_tree_raw<$t>),
                    (ReduceKernel::Shuffle, _) => dot!(shuffle::dot_shuffle<$t>),
                    (ReduceKernel::Wide, _) => dot!(wide::dot_wide<$t>),
                    (ReduceKernel::Single, InFlight::Four) => {
                        dot!(single::dot_single<$t>, ticket)
                    }
                    (ReduceKernel::Single, InFlight::Eight) => {
                        dot!(single::dot_single8<$t>, ticket)
                    }
                }
            }

            fn reduction(
                kernel: ReduceKernel,
                in_flight: InFlight,
                reduction: Reduction,
            ) -> Routine<FoldLaunch<Self>> {
                match reduction {
                    Reduction::Sum => fold_by!($t, Sum, kernel, in_flight),
                    Reduction::Min => fold_by!($t, Min, kernel, in_flight),
                    Reduction::Max => fold_by!($t, Max, kernel, in_flight),
                }
            }
        }
    )*};
}
reduces!(i64 f32 f64);
