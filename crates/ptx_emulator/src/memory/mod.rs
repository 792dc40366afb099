//! Device memory: allocations in one 64-bit address space, with gaps between them, so that a stray
//! address is in none.
//!
//! ```text
//! 0                      never mapped
//! GLOBAL_BASE            allocations of the host, `.global` variables, the heap of device code
//! CONST_BASE             `.const` variables
//! SHARED_WINDOW          generic addresses of a block's shared memory
//! LOCAL_WINDOW           generic addresses of a thread's local memory
//! PARAM_WINDOW           generic addresses of the kernel's parameters
//! FUNCTION_BASE          addresses of functions
//! TEXTURE_BASE           handles of textures
//! SURFACE_BASE           handles of surfaces
//! ```
mod allocation;
mod defined;
mod heap;
mod image;
mod table;

pub(crate) use allocation::Allocation;
pub(crate) use defined::Defined;
pub(crate) use heap::{Chunks, Heap};
pub(crate) use image::Image;
pub(crate) use table::{Kind, Table};

pub(crate) const GLOBAL_BASE: u64 = 1 << 40;
pub(crate) const CONST_BASE: u64 = 1 << 48;
pub(crate) const SHARED_WINDOW: u64 = 2 << 48;
/// Bits above these in a shared-memory address select the block: 0 for the executing one, otherwise
/// the rank in the cluster plus one.
pub(crate) const BLOCK_BITS: u32 = 24;
pub(crate) const LOCAL_WINDOW: u64 = 3 << 48;
pub(crate) const PARAM_WINDOW: u64 = 4 << 48;
pub(crate) const FUNCTION_BASE: u64 = 5 << 48;
/// Handles of textures and of surfaces are numbered from these bases.
pub(crate) const TEXTURE_BASE: u64 = 6 << 48;
pub(crate) const SURFACE_BASE: u64 = 7 << 48;
/// Every window ends within this distance of its base.
pub(crate) const WINDOW_SIZE: u64 = 1 << 32;
