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
pub use crate::names_of_cuda::c::*;
#[doc(hidden)]
pub use crate::names_of_cuda::{
    __activemask, __all_sync, __any_sync, __ballot_sync, __brev, __brevll, __clz, __clzll, __cosf,
    __exp10f, __expf, __fdividef, __ffs, __ffsll, __float_as_int, __float_as_uint, __float2int_rd,
    __float2int_rn, __float2int_rz, __fmaf_rn, __frcp_rn, __fsqrt_rn, __int_as_float,
    __int2float_rn, __ldg, __log2f, __log10f, __logf, __match_any_sync, __popc, __popcll, __powf,
    __saturatef, __shfl_down_sync, __shfl_sync, __shfl_up_sync, __shfl_xor_sync, __sinf,
    __syncthreads, __syncthreads_and, __syncthreads_count, __syncthreads_or, __syncwarp, __tanf,
    __threadfence, __threadfence_block, __uint_as_float, atomicAdd, atomicAdd_block,
    atomicAdd_system, atomicAnd, atomicCAS, atomicDec, atomicExch, atomicInc, atomicMax, atomicMin,
    atomicOr, atomicSub, atomicXor, blockDim, blockIdx, clock64, coalesced_threads,
    cudaDeviceSynchronize, cudaEventCreate, cudaEventElapsedTime, cudaEventRecord,
    cudaEventSynchronize, cudaFree, cudaGetDeviceCount, cudaGetErrorString, cudaGetLastError,
    cudaMalloc, cudaMallocHost, cudaMallocManaged, cudaMemcpy, cudaMemcpyAsync, cudaMemcpyToSymbol,
    cudaMemset, cudaSetDevice, cudaStreamCreate, cudaStreamSynchronize, dim3, gridDim, make_float2,
    make_float3, make_float4, make_int2, printf, this_grid, this_thread_block, threadIdx, warpSize,
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
