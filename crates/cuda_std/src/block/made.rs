//! The parameter types that a launch creates values of; `#[kernel]` recognises them by name.

use super::{
    Append, Array, Atomics, Matrix, Number, Out, OutMatrix, Ring, Scatter, Scratch, Shared,
};
use crate::Plain;

/// cuda_std's own types that have the names `#[kernel]` knows.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter of this name is `cuda_std::block`'s, and `{Self}` is another type",
    note = "name it otherwise where the kernel is, as in `type Grid = geometry::Matrix<f32>;`: the kernel then takes it by value"
)]
pub trait MadeByLaunch {}

impl<T, Map> MadeByLaunch for Out<'_, T, Map> {}
impl<T> MadeByLaunch for Append<'_, T> {}
impl<T> MadeByLaunch for Scatter<'_, T> {}
impl<T: Number> MadeByLaunch for Atomics<'_, T> {}
impl<T: Plain> MadeByLaunch for Matrix<'_, T> {}
impl<T: Plain, const R: usize, const C: usize, Layout, Threads> MadeByLaunch
    for OutMatrix<'_, T, R, C, Layout, Threads>
{
}
impl<A: Array + ?Sized> MadeByLaunch for Shared<'_, A> {}
impl<A: Array, const N: usize> MadeByLaunch for Ring<'_, A, N> {}
impl<T: Plain> MadeByLaunch for Scratch<'_, T> {}

/// Compiles for cuda_std's types only.
#[doc(hidden)]
pub const fn made_by_launch<T: MadeByLaunch>() {}
