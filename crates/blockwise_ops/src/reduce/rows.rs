//! The parts of the kernel tables for whole arrays, here and in other crates: see
//! [`reductions!`](crate::reductions).

use blockwise::{AnyViewMut, Error, Plain, ViewMut};

use super::Number;
use super::problem::Code;
use super::total::PartialOf;

pub use super::problem::flip;
pub use blockwise::Type;

/// The code of kernels that add.
pub const SUM: u8 = Code::Sum.of_kernel();
/// The code of kernels of minima and maxima.
pub const EXTREME: u8 = Code::Min.of_kernel();
/// The code of dot products.
pub const DOT: u8 = Code::Dot.of_kernel();

/// The blocks' results, of elements of type `T`.
///
/// # Errors
/// When a launch has none, or of another type.
pub fn results<T: Number>(
    after: Option<AnyViewMut<'_>>,
) -> Result<ViewMut<'_, PartialOf<T>>, Error> {
    after.ok_or(nothing(PartialOf::<T>::NAME))?.plain()
}

/// The count of blocks that have finished.
///
/// # Errors
/// When a launch has none.
pub fn ticket(memory: Option<AnyViewMut<'_>>) -> Result<ViewMut<'_, u32>, Error> {
    memory.ok_or(nothing(u32::NAME))?.plain()
}

fn nothing(to: &'static str) -> Error {
    let from = "nothing";
    Error::Cast { from, to }
}
