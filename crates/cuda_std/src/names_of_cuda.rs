//! Names of CUDA C++, which the prelude has so that their error says what to write here.
//!
//! No name works: each needs a trait that no type implements, whose text is the error. A lifetime
//! that a function is generic in keeps the compiler from checking the bound where the function is. In
//! place of one, names that have fields in CUDA C++ have a number: it must be found before the field
//! is looked for, so the name's error comes before the field's.
//!
//! What a crate declares or imports by name takes precedence over the prelude. Functions of floats
//! (`sqrtf`, `rsqrtf`) are not here: with `use libm::*` or `use cuda_std::intrinsics::*` they would be
//! ambiguous.
//!
//! Each function is written out: a macro's name and place would stand in its error.

#![allow(missing_docs, non_snake_case, reason = "names of CUDA C++")]

#[path = "names_of_c.rs"]
pub(crate) mod c;

/// What `#[kernel]` makes of `threadIdx` in `threadIdx.x`, so that the error of the name is the only
/// one: of the functions here something with these fields, of a crate's own item the item.
pub struct Named<'n, T>(pub &'n T);

/// [`Named`] by one of the functions here.
pub struct Axes {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

impl<T: Fn()> Named<'_, T> {
    pub fn value(&self) -> &'static Axes {
        &Axes { x: 0, y: 0, z: 0 }
    }
}

/// [`Named`] by anything else: what a type has of its own comes before a trait's.
pub trait OfTheUser<'n, T> {
    fn value(&self) -> &'n T;
}

impl<'n, T> OfTheUser<'n, T> for Named<'n, T> {
    fn value(&self) -> &'n T {
        self.0
    }
}

/// `threadIdx`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `threadIdx` is `block.thread()`, of a kernel's parameter `block: &mut Block<256>`",
    label = "no name of Rust",
    note = "in two dimensions: `let (x, y) = block.thread_xy();`",
    note = "a thread's own elements, without an index: `for (i, y) in y.mine()`, of a parameter `mut y: Out<f32>`",
    note = "in rust-cuda's style: `thread::thread_idx_x()`, `thread::index_1d()`"
)]
pub trait ThreadIdx {}
pub fn threadIdx<const N: usize>() where [(); N]: ThreadIdx {}

/// `blockIdx`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `blockIdx` is `block.index()`, of a kernel's parameter `block: &mut Block<256>`",
    label = "no name of Rust",
    note = "in several dimensions: `let (x, y, z) = block.index_xyz();`",
    note = "the indices of a block: `for place in block.tiles(n)`, from `place.start()` on",
    note = "in rust-cuda's style: `thread::block_idx_x()`"
)]
pub trait BlockIdx {}
pub fn blockIdx<const N: usize>() where [(); N]: BlockIdx {}

/// `blockDim`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `blockDim` is `block.threads()`, of a kernel's parameter `block: &mut Block<256>`",
    label = "no name of Rust",
    note = "in rust-cuda's style: `thread::block_dim_x()`"
)]
pub trait BlockDim {}
pub fn blockDim<const N: usize>() where [(); N]: BlockDim {}

/// `gridDim`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `gridDim` is not needed: `for place in block.tiles(n)` strides by the grid",
    label = "no name of Rust",
    note = "in rust-cuda's style: `thread::grid_dim_x()`"
)]
pub trait GridDim {}
pub fn gridDim<const N: usize>() where [(); N]: GridDim {}

/// `warpSize`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `warpSize` is 32; `block.warp().lanes()` are the lanes of this thread's warp",
    label = "no name of Rust",
    note = "in rust-cuda's style: `thread::warp_size()`"
)]
pub trait WarpSize {}
pub fn warpSize<const N: usize>() where [(); N]: WarpSize {}

/// `__syncthreads`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__syncthreads()` is `block.sync_threads(written)`, of a kernel's parameter `block: &mut Block<256>`",
    label = "no name of Rust",
    note = "of a shared array: `let written = tile.write(block, |i| x[i]); let tile = block.sync_threads(written);`",
    note = "without one: `block.sync_threads(());`; in rust-cuda's style: `thread::sync_threads();`"
)]
pub trait Syncthreads {}
pub fn __syncthreads<'a>() where &'a (): Syncthreads {}

/// `__syncthreads_count` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__syncthreads_count(p)` is `block.sync_threads_count(p)`, of a kernel's parameter `block: &mut Block<256>`",
    label = "no name of Rust",
    note = "so are `block.sync_threads_and(p)` and `block.sync_threads_or(p)`"
)]
pub trait SyncthreadsWithVote {}
pub fn __syncthreads_count<'a, A, R>(_: A) -> R where &'a (): SyncthreadsWithVote { unreachable!() }
pub fn __syncthreads_and<'a, A, R>(_: A) -> R where &'a (): SyncthreadsWithVote { unreachable!() }
pub fn __syncthreads_or<'a, A, R>(_: A) -> R where &'a (): SyncthreadsWithVote { unreachable!() }

/// `this_thread_block`, `tiled_partition`.
#[diagnostic::on_unimplemented(
    message = "the groups of cooperative groups are a kernel's parameter `block: &mut Block<256>` and `let warp = block.warp();`",
    label = "no name of Rust",
    note = "`group.sync()` is `block.sync_threads(());`, `reduce` and the scans are a parameter's `mut scratch: Scratch<f32>` or the warp's"
)]
pub trait Group {}
pub fn this_thread_block<'a, R>() -> R where &'a (): Group { unreachable!() }
pub fn this_grid<'a, R>() -> R where &'a (): Group { unreachable!() }
pub fn coalesced_threads<'a, R>() -> R where &'a (): Group { unreachable!() }

/// `__activemask`.
#[diagnostic::on_unimplemented(
    message = "no mask is needed: `let warp = block.warp();` states that all lanes are here, and `warp.lanes()` is how many",
    label = "no name of Rust",
    note = "in rust-cuda's style: `warp::activemask()`"
)]
pub trait Activemask {}
pub fn __activemask<'a, R>() -> R where &'a (): Activemask { unreachable!() }

/// `clock64`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `clock64()` is `cuda_std::misc::clock()`",
    label = "no name of Rust",
    note = "the time of a launch, on the host: `device.record()?` before and after it"
)]
pub trait Clock {}
pub fn clock64<'a, R>() -> R where &'a (): Clock { unreachable!() }

/// `__float_as_int` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__float_as_uint(x)` is `x.to_bits()`, `__uint_as_float(n)` is `f32::from_bits(n)`",
    label = "no name of Rust",
    note = "`__float2int_rz(x)` is `x as i32`, `__int2float_rn(n)` is `n as f32`"
)]
pub trait Conversion {}
pub fn __float_as_int<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __float_as_uint<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __int_as_float<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __uint_as_float<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __float2int_rn<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __float2int_rz<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __float2int_rd<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }
pub fn __int2float_rn<'a, A, R>(_: A) -> R where &'a (): Conversion { unreachable!() }

/// `make_float4` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `make_float4(a, b, c, d)` is an array, `[a, b, c, d]`",
    label = "no name of Rust",
    note = "or a struct of your own: `#[repr(C)]`, `#[derive(Clone, Copy, Plain)]`; `cuda_std::glam` has vectors"
)]
pub trait Vector {}
pub fn make_float2<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vector { unreachable!() }
pub fn make_float3<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Vector { unreachable!() }
pub fn make_float4<'a, A, B, C, D, R>(_: A, _: B, _: C, _: D) -> R where &'a (): Vector { unreachable!() }
pub fn make_int2<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vector { unreachable!() }

/// `__syncwarp`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__syncwarp()` is part of the operations of `let warp = block.warp();`",
    label = "no name of Rust",
    note = "in rust-cuda's style: `unsafe {{ warp::sync_warp(u32::MAX) }};`"
)]
pub trait Syncwarp {}
pub fn __syncwarp<'a>() where &'a (): Syncwarp {}

/// `__threadfence`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__threadfence()` is `thread::device_fence();`, `__threadfence_block()` is `thread::block_fence();`",
    label = "no name of Rust"
)]
pub trait Threadfence {}
pub fn __threadfence<'a>() where &'a (): Threadfence {}
pub fn __threadfence_block<'a>() where &'a (): Threadfence {}

/// `atomicAdd` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `atomicAdd(&counts[i], n)` is `counts.add(i, n);`, of a kernel's parameter `counts: Atomics<u32>`",
    label = "no name of Rust",
    note = "`counts.min(i, n);` and `counts.max(i, n);` are the others",
    note = "in shared memory: `let zeroed = bins.zeroed(block); let bins = block.sync_threads(zeroed); bins.add(bin, 1);`",
    note = "in rust-cuda's style, with exchange and compare-exchange: `cuda_std::atomic`, `core::sync::atomic`"
)]
pub trait AtomicFunction {}
pub fn atomicAdd<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicSub<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicMin<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicMax<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicExch<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicCAS<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicInc<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicDec<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicAnd<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicOr<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicXor<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicAdd_block<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }
pub fn atomicAdd_system<'a, A, B, R>(_: A, _: B) -> R where &'a (): AtomicFunction { unreachable!() }

/// `__shfl_sync` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__shfl_down_sync(mask, v, 1)` is `warp.shuffle_down(v, 1)`, of `let warp = block.warp();`",
    label = "no name of Rust",
    note = "so are `shuffle(v, lane)`, `shuffle_up(v, 1)` and `shuffle_xor(v, 1)`; `warp.fold(v, |a, b| a + b)` is the whole sum"
)]
pub trait Shuffle {}
pub fn __shfl_sync<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Shuffle { unreachable!() }
pub fn __shfl_up_sync<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Shuffle { unreachable!() }
pub fn __shfl_down_sync<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Shuffle { unreachable!() }
pub fn __shfl_xor_sync<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Shuffle { unreachable!() }

/// `__ballot_sync` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__ballot_sync(mask, p)` is `warp.ballot(p)`, of `let warp = block.warp();`",
    label = "no name of Rust",
    note = "so are `warp.any(p)`, `warp.all(p)` and `warp.match_any(v)`; a mask is not needed"
)]
pub trait Vote {}
pub fn __ballot_sync<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vote { unreachable!() }
pub fn __any_sync<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vote { unreachable!() }
pub fn __all_sync<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vote { unreachable!() }
pub fn __match_any_sync<'a, A, B, R>(_: A, _: B) -> R where &'a (): Vote { unreachable!() }

/// `__ldg`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__ldg(&x[i])` is `x[i]`, of a kernel's parameter `x: &[f32]`",
    label = "no name of Rust"
)]
pub trait Ldg {}
pub fn __ldg<'a, A, R>(_: A) -> R where &'a (): Ldg { unreachable!() }

/// `__popc` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__popc(n)`, `__clz(n)`, `__brev(n)` are methods of integers: `n.count_ones()`, `n.leading_zeros()`, `n.reverse_bits()`",
    label = "no name of Rust",
    note = "`__ffs(n)` is `n.trailing_zeros() + 1` where `n` is not 0"
)]
pub trait BitFunction {}
pub fn __popc<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __popcll<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __clz<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __clzll<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __ffs<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __ffsll<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __brev<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }
pub fn __brevll<'a, A, R>(_: A) -> R where &'a (): BitFunction { unreachable!() }

/// `__expf` and its family.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `__expf(x)` is a method: `x.exp()`, and so are `x.ln()`, `x.sin()`, `x.powf(y)`, `x.mul_add(y, z)`",
    label = "no name of Rust",
    note = "`rsqrtf(x)` is `1.0 / x.sqrt()`",
    note = "as inexact as in CUDA C++: `unsafe {{ cuda_std::intrinsics::fast_expf(x) }}`"
)]
pub trait FloatFunction {}
pub fn __expf<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __logf<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __sinf<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __cosf<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __powf<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __fdividef<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __fmaf_rn<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __tanf<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __log2f<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __log10f<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __exp10f<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __fsqrt_rn<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __frcp_rn<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }
pub fn __saturatef<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() }

/// `printf`.
#[diagnostic::on_unimplemented(
    message = "CUDA C++'s `printf(\"%d\\n\", i)` is `println!(\"{{i}}\")`",
    label = "no name of Rust"
)]
pub trait Printf {}
// The compiler shows the line of the name where the number of arguments is another.
pub fn printf<'a, A>( // `println!("{i}")`, with any number of values
    _: A,
) where
    &'a (): Printf,
{
}

/// `cudaMalloc` and other functions of the host.
#[diagnostic::on_unimplemented(
    message = "CUDA's `cudaMalloc` and `cudaMemcpy` are `let x = device.upload(&values)?;` and `let y = x.to_vec()?;`",
    label = "no name of Rust",
    note = "memory of zeros: `let mut y = device.zeros::<f32>(n)?;`; a buffer frees itself when it is dropped"
)]
pub trait HostMemory {}
pub fn cudaMalloc<'a, A, B>(_: A, _: B) where &'a (): HostMemory {}
pub fn cudaMemcpy<'a, A, B, C, D>(_: A, _: B, _: C, _: D) where &'a (): HostMemory {}
pub fn cudaMemset<'a, A, B, C>(_: A, _: B, _: C) where &'a (): HostMemory {}
pub fn cudaFree<'a, A>(_: A) where &'a (): HostMemory {}
pub fn cudaMallocManaged<'a, A, B, R>(_: A, _: B) -> R where &'a (): HostMemory { unreachable!() }
pub fn cudaMallocHost<'a, A, B, R>(_: A, _: B) -> R where &'a (): HostMemory { unreachable!() }
pub fn cudaMemcpyAsync<'a, A, B, C, D, E, R>(_: A, _: B, _: C, _: D, _: E) -> R where &'a (): HostMemory { unreachable!() }
pub fn cudaMemcpyToSymbol<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): HostMemory { unreachable!() }

/// `cudaDeviceSynchronize`.
#[diagnostic::on_unimplemented(
    message = "CUDA's `cudaDeviceSynchronize()` is `device.synchronize()?;`, and `y.to_vec()?` waits by itself",
    label = "no name of Rust",
    note = "errors are results: `?` after each call takes the place of `cudaGetLastError()`"
)]
pub trait DeviceSynchronize {}
pub fn cudaDeviceSynchronize<'a>() where &'a (): DeviceSynchronize {}
pub fn cudaGetLastError<'a>() where &'a (): DeviceSynchronize {}
pub fn cudaGetErrorString<'a, A, R>(_: A) -> R where &'a (): DeviceSynchronize { unreachable!() }

/// `cudaStreamCreate`, `cudaEventCreate` and their families.
#[diagnostic::on_unimplemented(
    message = "CUDA's streams and events are `let stream = device.stream()?;`, `.stream(&stream)` of a launch, and `let event = device.record()?;`",
    label = "no name of Rust",
    note = "both free themselves when they are dropped"
)]
pub trait StreamOrEvent {}
pub fn cudaStreamCreate<'a, A, R>(_: A) -> R where &'a (): StreamOrEvent { unreachable!() }
pub fn cudaStreamSynchronize<'a, A, R>(_: A) -> R where &'a (): StreamOrEvent { unreachable!() }
pub fn cudaEventCreate<'a, A, R>(_: A) -> R where &'a (): StreamOrEvent { unreachable!() }
pub fn cudaEventRecord<'a, A, B, R>(_: A, _: B) -> R where &'a (): StreamOrEvent { unreachable!() }
pub fn cudaEventSynchronize<'a, A, R>(_: A) -> R where &'a (): StreamOrEvent { unreachable!() }
pub fn cudaEventElapsedTime<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): StreamOrEvent { unreachable!() }

/// `cudaSetDevice`, `cudaGetDeviceCount`.
#[diagnostic::on_unimplemented(
    message = "CUDA's devices are values: `let device = Device::any()?;`, or `Device::gpu(0)?` by number; `Device::gpu_count()` counts them",
    label = "no name of Rust"
)]
pub trait ChosenDevice {}
pub fn cudaSetDevice<'a, A, R>(_: A) -> R where &'a (): ChosenDevice { unreachable!() }
pub fn cudaGetDeviceCount<'a, A, R>(_: A) -> R where &'a (): ChosenDevice { unreachable!() }

/// `dim3`.
#[diagnostic::on_unimplemented(
    message = "CUDA's `dim3(x, y, z)` is a tuple: `.grid((x, y))`, `.block((x, y, z))`, or one number, `.grid(x)`",
    label = "no name of Rust"
)]
pub trait Extents {}
pub fn dim3<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): Extents { unreachable!() }
