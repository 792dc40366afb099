//! What nearly every kernel needs: `use cuda_std::prelude::*;`

pub use crate::float::GpuFloat;
pub use crate::shared_array;
pub use crate::{address_space, kernel};
pub use crate::{shared, thread, warp};
