//! Terms used in hints, in the language of the program.

use crate::fault::Place;
use std::path::Path;

/// A language's names for the things that hints mention, with their articles.
pub(crate) struct Words {
    pub(crate) block_barrier: &'static str,
    pub(crate) warp_barrier: &'static str,
    pub(crate) copy_wait: &'static str,
    pub(crate) fence: &'static str,
    pub(crate) block_fence: &'static str,
    /// A warp's barrier before one of its lanes arrives for all.
    pub(crate) elected_barrier: &'static str,
    /// A barrier of some threads of the block.
    pub(crate) named_barrier: &'static str,
    pub(crate) cluster_barrier: &'static str,
    pub(crate) grid_barrier: &'static str,
    /// How to read memory that the kernel writes too.
    pub(crate) coherent_read: &'static str,
    pub(crate) block_scope: &'static str,
    pub(crate) device_scope: &'static str,
    /// The mask of the lanes that execute an instruction.
    pub(crate) active_lanes: &'static str,
    pub(crate) failures: &'static str,
    pub(crate) step_limit: &'static str,
    /// What sets the size of a thread's stack.
    pub(crate) stack: &'static str,
}

const PTX: Words = Words {
    block_barrier: "a `bar.sync 0`",
    warp_barrier: "a `bar.warp.sync`",
    copy_wait: "a `cp.async.wait_group` (or `wait_all`)",
    fence: "a `fence.acq_rel.gpu`",
    block_fence: "a `fence.acq_rel.cta`",
    elected_barrier: "a `bar.warp.sync` (`__syncwarp()`)",
    named_barrier: "a named barrier (`bar.sync` with a number and a thread count)",
    cluster_barrier: "a `barrier.cluster.arrive` and `barrier.cluster.wait` (`cluster.sync()`)",
    grid_barrier: "a barrier of the grid (`grid.sync()`)",
    coherent_read: "read it with `ld.global` without `.nc`",
    block_scope: "`.cta`",
    device_scope: "`.gpu`",
    active_lanes: "`activemask` or a vote",
    failures: "a failed assertion, a panic or code that cannot be reached",
    step_limit: "`--steps` of `blockwise check`, `Limits::warp_instructions`",
    stack: "`Limits::stack_bytes`",
};

const RUST: Words = Words {
    block_barrier: "a `thread::sync_threads()`",
    warp_barrier: "a `warp::sync_warp(mask)`",
    copy_wait: "a `cp_async_wait_group` (or `cp_async_wait_all`)",
    fence: "a `thread::device_fence()`",
    block_fence: "a `thread::block_fence()`",
    elected_barrier: "a `warp::sync_warp(mask)` (`__syncwarp()`)",
    coherent_read: "no `&[T]` of a kernel may be of memory that it writes; read it through the pointer that it is written by",
    block_scope: "the suffix `_block`",
    device_scope: "`_device`",
    active_lanes: "`warp::activemask()`",
    failures: "a panic, a failed assertion or `unreachable`",
    stack: "`Device::set_stack_bytes`",
    ..PTX
};

const CUDA: Words = Words {
    block_barrier: "a `__syncthreads()`",
    warp_barrier: "a `__syncwarp(mask)`",
    copy_wait: "a `__pipeline_wait_prior` (or `cuda::pipeline::consumer_wait`)",
    fence: "a `__threadfence()`",
    block_fence: "a `__threadfence_block()`",
    elected_barrier: "a `__syncwarp()`",
    named_barrier: "a named barrier (`bar.sync` with a number and a thread count, CUTLASS's `NamedBarrier`)",
    cluster_barrier: "a `cluster.sync()`",
    grid_barrier: "a `grid.sync()`",
    coherent_read: "no `__ldg`, texture or `const __restrict__` pointer may be of memory that the kernel writes",
    block_scope: "`_block`, `cuda::thread_scope_block`",
    device_scope: "`cuda::thread_scope_device`, or an atomic function without a suffix",
    active_lanes: "`__activemask()` or `__ballot_sync`",
    failures: "a failed `assert`, `__trap()` or `__builtin_unreachable()`",
    step_limit: "`--steps` of `blockwise check`",
    stack: "`cudaDeviceSetLimit(cudaLimitStackSize, …)`",
};

/// For Numba and Triton, which both give the names of Python files.
const PYTHON: Words = Words {
    block_barrier: "a barrier (Numba's `cuda.syncthreads()`, Triton's `tl.debug_barrier()`)",
    warp_barrier: "a barrier (Numba's `cuda.syncwarp(mask)`, Triton's `tl.debug_barrier()`)",
    copy_wait: "a wait for the copy",
    fence: "a fence (Numba's `cuda.threadfence()`)",
    block_fence: "a fence (Numba's `cuda.threadfence_block()`)",
    elected_barrier: "a barrier of the warp (`__syncwarp()`, Numba's `cuda.syncwarp()`)",
    named_barrier: "a barrier",
    grid_barrier: "a barrier of the grid (`grid.sync()`, Numba's `cuda.cg.this_grid().sync()`)",
    coherent_read: "read it as the array that is written",
    block_scope: "Triton's `scope=\"cta\"`",
    device_scope: "`scope=\"gpu\"`, which an atomic has by itself",
    active_lanes: "`cuda.activemask()` or `cuda.ballot_sync`",
    failures: "a failed assertion or an exception",
    ..CUDA
};

/// The terms for a place in a program; PTX's if its source is unknown.
pub(crate) fn words(place: &Place) -> &'static Words {
    let file = place.source.as_ref().map(|source| Path::new(&source.file));
    let extension = file.and_then(|file| file.extension()?.to_str());
    match extension.unwrap_or_default() {
        "rs" => &RUST,
        "py" => &PYTHON,
        "cu" | "cuh" | "h" | "hh" | "hpp" | "hxx" | "c" | "cc" | "cpp" | "cxx" | "inl" => &CUDA,
        _ => &PTX,
    }
}
