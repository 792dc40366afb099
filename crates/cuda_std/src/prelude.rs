//! What nearly every kernel needs: `use cuda_std::prelude::*;`

pub use alloc::borrow::ToOwned;
pub use alloc::boxed::Box;
pub use alloc::format;
pub use alloc::rc::Rc;
pub use alloc::string::{String, ToString};
pub use alloc::vec::Vec;

pub use crate::Plain;
pub use crate::block::{
    ANY, Append, Array, Atomics, Block, ColMajor, Counting, FromEnd, Matrix, Out, OutMatrix, Own,
    Pair, PerBlock, Published, Refill, Reversed, Ring, RowMajor, Scatter, Scratch, Shared, Slots,
    Strided, Tile, TileRange, Warp, Written, Zeroed,
};
pub use crate::float::FloatMethods as _;
#[doc(hidden)]
pub use crate::names_of_cuda::{
    __all_sync, __any_sync, __ballot_sync, __brev, __brevll, __clz, __clzll, __cosf, __expf,
    __fdividef, __ffs, __ffsll, __fmaf_rn, __ldg, __logf, __popc, __popcll, __powf,
    __shfl_down_sync, __shfl_sync, __shfl_up_sync, __shfl_xor_sync, __sinf, __syncthreads,
    __syncwarp, __threadfence, __threadfence_block, atomicAdd, atomicCAS, atomicExch, atomicMax,
    atomicMin, atomicSub, blockDim, blockIdx, cudaDeviceSynchronize, cudaFree, cudaGetLastError,
    cudaMalloc, cudaMemcpy, cudaMemset, dim3, gridDim, printf, threadIdx, warpSize,
};
pub use crate::shared_array;
pub use crate::{address_space, kernel};
pub use crate::{shared, thread, warp};

#[cfg(feature = "half")]
pub use crate::f16;

// core's own macros: two macros of one name would be ambiguous.
pub use core::{assert_eq, assert_ne};
#[cfg(not(target_arch = "nvptx64"))]
pub use std::{print, println};

#[cfg(target_arch = "nvptx64")]
pub use crate::{print, println};
