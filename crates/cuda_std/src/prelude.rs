//! What nearly every kernel needs: `use cuda_std::prelude::*;`

pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::format;
pub use alloc::rc::Rc;
pub use alloc::string::{String, ToString};
pub use alloc::vec::Vec;

pub use crate::float::GpuFloat;
pub use crate::shared_array;
pub use crate::{address_space, kernel};
pub use crate::{assert_eq, assert_ne, print, println};
pub use crate::{f16, shared, thread, warp};
