//! What a kernel and its launch agree on: parameter types that both sides lay out alike, and the record of a kernel's
//! signature that travels inside the PTX.
//!
//! `#[kernel]` writes code against this module; on the host a runtime implements [`Target`] and its memory [`Read`] and [`Write`].
//! The module knows no runtime.

mod plain;
mod record;

#[cfg(not(target_arch = "nvptx64"))]
mod argument;
#[cfg(not(target_arch = "nvptx64"))]
mod contract;
#[cfg(not(target_arch = "nvptx64"))]
mod memory;
#[cfg(not(target_arch = "nvptx64"))]
mod prepared;
#[cfg(not(target_arch = "nvptx64"))]
mod shape;
#[cfg(not(target_arch = "nvptx64"))]
mod target;

#[cfg(not(target_arch = "nvptx64"))]
pub use self::{argument::*, contract::*, memory::*, prepared::*, shape::*, target::*};
pub use plain::{Plain, is_plain};
#[doc(hidden)]
pub use record::borrowed;
#[doc(hidden)]
pub use record::{Decimal, NameOf, Unnamed, otherwise, present};
pub use record::{RECORD_SUFFIX, join, length, text};
