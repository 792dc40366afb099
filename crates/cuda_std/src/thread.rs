//! A thread's position in block and grid, and the barriers and fences of a block.
//!
//! A grid is made of blocks, a block of threads; both have up to three dimensions. Indices are
//! `u32`, as the hardware counts them: widen to `usize` before multiplying by a size that may
//! exceed 2³².
//!
//! The functions that return vectors (`thread_idx`, `index_2d`, …) need the feature `glam`, or
//! `vek_indices` for vek's.

#[cfg(all(feature = "glam", not(feature = "vek_indices")))]
use crate::glam::{UVec2, UVec3};

use crate::nvvm;

#[cfg(feature = "vek_indices")]
type UVec2 = vek::Vec2<u32>;
#[cfg(feature = "vek_indices")]
type UVec3 = vek::Vec3<u32>;

/// The thread's index in its block, x.
#[inline(always)]
pub fn thread_idx_x() -> u32 {
    nvvm::tid_x()
}

/// The thread's index in its block, y.
#[inline(always)]
pub fn thread_idx_y() -> u32 {
    nvvm::tid_y()
}

/// The thread's index in its block, z.
#[inline(always)]
pub fn thread_idx_z() -> u32 {
    nvvm::tid_z()
}

/// The block's index in the grid, x.
#[inline(always)]
pub fn block_idx_x() -> u32 {
    nvvm::ctaid_x()
}

/// The block's index in the grid, y.
#[inline(always)]
pub fn block_idx_y() -> u32 {
    nvvm::ctaid_y()
}

/// The block's index in the grid, z.
#[inline(always)]
pub fn block_idx_z() -> u32 {
    nvvm::ctaid_z()
}

/// Threads in a block, x.
#[inline(always)]
pub fn block_dim_x() -> u32 {
    nvvm::ntid_x()
}

/// Threads in a block, y.
#[inline(always)]
pub fn block_dim_y() -> u32 {
    nvvm::ntid_y()
}

/// Threads in a block, z.
#[inline(always)]
pub fn block_dim_z() -> u32 {
    nvvm::ntid_z()
}

/// Blocks in the grid, x.
#[inline(always)]
pub fn grid_dim_x() -> u32 {
    nvvm::nctaid_x()
}

/// Blocks in the grid, y.
#[inline(always)]
pub fn grid_dim_y() -> u32 {
    nvvm::nctaid_y()
}

/// Blocks in the grid, z.
#[inline(always)]
pub fn grid_dim_z() -> u32 {
    nvvm::nctaid_z()
}

/// The thread's index in its block.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The block's index in the grid.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// Threads in a block, per dimension.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// Blocks in the grid, per dimension.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// The thread's number in the whole grid, all dimensions flattened, x fastest. Wraps in grids of
/// more than 2³² threads.
#[inline(always)]
pub fn index() -> u32 {
    let block = block_idx_x()
        .wrapping_add(block_idx_y().wrapping_mul(grid_dim_x()))
        .wrapping_add(
            block_idx_z()
                .wrapping_mul(grid_dim_x())
                .wrapping_mul(grid_dim_y()),
        );
    let thread = thread_idx_x()
        .wrapping_add(thread_idx_y().wrapping_mul(block_dim_x()))
        .wrapping_add(
            thread_idx_z()
                .wrapping_mul(block_dim_x())
                .wrapping_mul(block_dim_y()),
        );
    block
        .wrapping_mul(
            block_dim_x()
                .wrapping_mul(block_dim_y())
                .wrapping_mul(block_dim_z()),
        )
        .wrapping_add(thread)
}

/// The thread's number along x in the whole grid. Wraps in grids of more than 2³² threads.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// The thread's position in the whole grid, x and y.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2::new(
        index_1d(),
        block_idx_y()
            .wrapping_mul(block_dim_y())
            .wrapping_add(thread_idx_y()),
    )
}

/// The thread's position in the whole grid.
#[cfg(any(feature = "glam", feature = "vek_indices"))]
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let plane = index_2d();
    UVec3::new(
        plane.x,
        plane.y,
        block_idx_z()
            .wrapping_mul(block_dim_z())
            .wrapping_add(thread_idx_z()),
    )
}

/// True in one thread of the grid: the first of the first block.
#[inline(always)]
pub fn first() -> bool {
    let block = block_idx_x() | block_idx_y() | block_idx_z();
    let thread = thread_idx_x() | thread_idx_y() | thread_idx_z();
    block | thread == 0
}

/// Lanes in a warp: 32 on every GPU so far.
#[inline(always)]
pub const fn warp_size() -> u32 {
    32
}

/// Waits until every thread of the block has arrived here, and orders all their accesses to shared
/// and global memory before it against those after it.
///
/// Every thread of the block must reach the same call. A call that only some threads reach (in a
/// branch that differs between threads, or after an early return) is undefined on a GPU, where it
/// may hang; the emulator reports it.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: the call is memory-safe; its requirement on the threads is stated above and cannot be
    // checked here.
    unsafe { nvvm::barrier_sync(0) }
}

/// [`sync_threads`] that returns in each thread the number of threads in the block whose
/// `predicate` is non-zero.
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_red_popc(0, predicate != 0) }
}

/// [`sync_threads`] that returns in each thread 1 if `predicate` is non-zero in all threads of the
/// block, otherwise 0.
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_red_and(0, predicate != 0) as u32 }
}

/// [`sync_threads`] that returns in each thread 1 if `predicate` is non-zero in any thread of the
/// block, otherwise 0.
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_red_or(0, predicate != 0) as u32 }
}

/// Orders this thread's memory accesses before the fence against those after it, as seen by its
/// block (CUDA's `__threadfence_block`, PTX `membar.cta`). Does not wait for other threads.
#[inline(always)]
pub fn block_fence() {
    nvvm::membar_cta()
}

/// As [`block_fence`], as seen by all threads on the device (CUDA's `__threadfence`, PTX
/// `membar.gl`).
#[inline(always)]
pub fn device_fence() {
    nvvm::membar_gl()
}

/// The older name of [`device_fence`].
#[inline(always)]
pub fn grid_fence() {
    device_fence()
}

/// As [`block_fence`], as seen by the device, its peers and the host (CUDA's
/// `__threadfence_system`, PTX `membar.sys`).
#[inline(always)]
pub fn system_fence() {
    nvvm::membar_sys()
}

/// Suspends the thread for about `nanos` nanoseconds (PTX `nanosleep`, at most one millisecond,
/// sm_70 or newer).
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    nvvm::nanosleep(nanos)
}
