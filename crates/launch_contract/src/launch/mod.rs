//! The contract between a kernel and its launch: parameter types with the same layout on both
//! sides, and the signature record embedded in the PTX. `cuda_std::launch` has it too, with an
//! example.
//!
//! Before anything starts, a launch checks the block against the kernel's `&mut Block<..>`, the
//! sizes of matrices, the outputs' requirements on the grid, the kernel's `require(..)`, and that
//! its dynamic shared arrays have a size. A failed check is a [`Refusal`].
//!
//! `#[kernel]` generates code against this module; on the host a runtime implements [`Target`], and
//! its memory [`Read`] and [`Write`]. The module depends on no runtime.

mod dynamic;
mod passed;
mod plain;
mod record;
mod scalar;

#[cfg(not(target_arch = "nvptx64"))]
mod argument;
#[cfg(not(target_arch = "nvptx64"))]
mod contract;
#[cfg(not(target_arch = "nvptx64"))]
mod embedded;
#[cfg(not(target_arch = "nvptx64"))]
mod memory;
#[cfg(not(target_arch = "nvptx64"))]
mod packed;
#[cfg(not(target_arch = "nvptx64"))]
mod prepared;
#[cfg(not(target_arch = "nvptx64"))]
mod shape;
#[cfg(not(target_arch = "nvptx64"))]
mod target;

#[cfg(not(target_arch = "nvptx64"))]
pub use self::{
    argument::*, contract::*, embedded::*, memory::*, packed::*, prepared::*, shape::*, target::*,
};
#[doc(hidden)]
pub use dynamic::DynamicShared;
#[doc(hidden)]
pub use passed::{InWords, Passed, word_of, words_of};
pub use plain::{Plain, Value, is_plain, is_value};
#[doc(hidden)]
pub use record::{
    Decimal, NameOf, Scope, Unnamed, block_of, borrowed, first, first_line, otherwise, present,
};
pub use record::{RECORD_SUFFIX, join, length, text};
#[doc(hidden)]
pub use scalar::*;
