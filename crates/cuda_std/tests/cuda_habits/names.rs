//! Names of CUDA C++ in a kernel and beside it.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn thread_index(block: &mut Block<256>, mut y: Out<f32>) {
    let i = threadIdx.x; // shows: `block.thread()`
    let _ = (block, y.mine(), i);
}

#[kernel]
pub fn global_index(mut y: Out<f32>) {
    let i = blockIdx.x // shows: `for place in block.tiles(n)`
        * blockDim.x // shows: `block.threads()`
        + threadIdx.x; // shows: `for (i, y) in y.mine()`
    let _ = (y.mine(), i);
}

#[kernel]
pub fn index_of_an_element(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = x[i] - x[threadIdx.x + 1]; // shows: `block.thread()`
    }
}

#[kernel]
pub fn index_in_two_dimensions(mut y: Out<f32>) {
    let row = threadIdx.y; // shows: `let (x, y) = block.thread_xy();`
    let _ = (y.mine(), row);
}

#[kernel]
pub fn grid_stride(block: &mut Block, mut y: Out<f32>) {
    let stride = gridDim.x; // shows: `for place in block.tiles(n)`
    let _ = (block, y.mine(), stride);
}

/// No kernel: the field has an error of its own, after the name's.
pub fn called_by_a_kernel(x: &[f32]) -> f32 {
    let i = blockIdx.x * 256 // shows: `block.index()`
        + threadIdx.x; // shows: `block.thread()`
    let row = threadIdx.y(); // shows: `let (x, y) = block.thread_xy();`
    x[i + row]
}

#[kernel]
pub fn lanes(block: &mut Block) {
    let lane = block.thread() % warpSize; // shows: `block.warp().lanes()`
    let _ = lane;
}

#[kernel]
pub fn barrier(block: &mut Block<256>, tile: Shared<[f32; 256]>, x: &[f32]) {
    let written = tile.write(block, |i| x[i]);
    __syncthreads(); // shows: `block.sync_threads(written)`
    let _ = written;
}

#[kernel]
pub fn barrier_of_a_warp(block: &mut Block) {
    __syncwarp(); // shows: `let warp = block.warp();`
    let _ = block;
}

#[kernel]
pub fn fence(block: &mut Block) {
    __threadfence(); // shows: `thread::device_fence();`
    __threadfence_block(); // shows: `thread::block_fence();`
    let _ = block;
}

#[kernel]
pub fn histogram(bytes: &[u8], counts: Atomics<u32>) {
    let bin = usize::from(bytes[0]);
    atomicAdd(&counts[bin], 1); // shows: `counts.add(i, n);`
    atomicMax(&bytes[bin], 1); // shows: `counts.max(i, n);`
    atomicCAS(&bytes[bin], 1, 2); // shows: `core::sync::atomic`
}

#[kernel]
pub fn shuffle(block: &mut Block, x: &[f32]) {
    let mut sum = x[block.thread()];
    sum += __shfl_down_sync(0xffff_ffff_u32, sum, 16); // shows: `warp.shuffle_down(v, 1)`
    sum += __shfl_xor_sync(0xffff_ffff_u32, sum, 8); // shows: `shuffle_xor(v, 1)`
    let _ = sum;
}

#[kernel]
pub fn vote(block: &mut Block, x: &[f32]) {
    let set = __ballot_sync(0xffff_ffff_u32, x[block.thread()] > 0.0); // shows: `warp.ballot(p)`
    let _ = set;
}

#[kernel]
pub fn read_only_load(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = __ldg(&x[i]); // shows: `x[i]`
    }
}

#[kernel]
pub fn bits(n: &[u32], mut y: Out<u32>) {
    for (i, y) in y.mine() {
        *y = __popc(n[i]); // shows: `n.count_ones()`
        *y += __clz(n[i]) + __ffs(n[i]); // shows: `n.leading_zeros()`
    }
}

#[kernel]
pub fn fast_functions(x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y = __expf(x[i]); // shows: `x.exp()`
        *y += __fmaf_rn(x[i], 2.0, __fdividef(1.0, x[i])); // shows: `x.mul_add(y, z)`
    }
}

#[kernel]
pub fn printed(x: &[f32]) {
    printf("%f\n", x[0]); // shows: `println!("{i}")`
}

#[kernel]
pub fn types(n: int, x: &[float]) { // shows: `i32`
    let sum: double = 0.0; // shows: `f64`
    let _ = (n, x, sum);
}

#[kernel]
pub fn barriers_that_count(block: &mut Block<256>, x: &[f32]) {
    let count: usize = __syncthreads_count(x[0] > 0.0); // shows: `block.sync_threads_count(p)`
    let group: usize = this_thread_block(); // shows: `block: &mut Block<256>`
    let mask: u32 = __activemask(); // shows: `let warp = block.warp();`
    let _ = (block, count, group, mask);
}

#[kernel]
pub fn other_functions(x: &[f32], mut y: Out<u32>, counts: Atomics<u32>) {
    let begin: u64 = clock64(); // shows: `cuda_std::misc::clock()`
    for (i, y) in y.mine() {
        *y = __float_as_uint(x[i]); // shows: `x.to_bits()`
        let whole: i32 = __float2int_rz(x[i]); // shows: `x.to_bits()`
        let point: [f32; 2] = make_float2(x[i], 1.0); // shows: `[a, b, c, d]`
        atomicInc(&counts, 1); // shows: `counts.add(i, n);`
        let _ = (begin, whole, point);
    }
}

pub fn streams() {
    let mut stream = 0;
    cudaStreamCreate(&mut stream); // shows: `let stream = device.stream()?;`
    cudaSetDevice(0); // shows: `let device = Device::any()?;`
    cudaEventRecord(0, stream); // shows: `let event = device.record()?;`
    cudaMallocManaged(&mut stream, 4); // shows: `let x = device.upload(&values)?;`
}

pub fn host(n: usize) {
    let mut x = core::ptr::null_mut::<f32>();
    cudaMalloc(&mut x, 4 * n); // shows: `let x = device.upload(&values)?;`
    cudaMemcpy(x, &[0.0; 4], 4 * n, 1); // shows: `let y = x.to_vec()?;`
    cudaDeviceSynchronize(); // shows: `device.synchronize()?;`
    let grid = dim3(n, 1, 1); // shows: `.grid((x, y))`
    let _ = grid;
}

fn main() {}
