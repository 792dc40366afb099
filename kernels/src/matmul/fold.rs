//! Adds the products of slices: C\[i\] = Σ sums\[s\]\[i\] over the slices s.
//!
//! Change from [`fold_axis`](crate::reduce::axis), which computes the same with one element per
//! thread: a thread loads 16 bytes at a time, and [`PARTS`] threads share an output, so that a warp
//! has the loads of sixteen slices in flight. A C of 128 × 128 has 16,384 elements: at one per
//! thread, each of an H200's 528 schedulers has one warp.
//!
//! - Loads: lane p · `ACROSS` + j of a warp adds pack j of slices p, p + PARTS, … in that order.
//!   `ACROSS` neighbouring lanes load 128 contiguous bytes.
//! - The lanes of a pack exchange their sums by shuffles: (p₀ + p₂) + (p₁ + p₃). The first lane
//!   stores the pack.
//! - A C that is not whole packs, or not aligned to them, is added element by element: a thread has
//!   all parts of an output. The order is the same, so the bits of C depend on the slices alone.
//! - No shared memory and no barrier. Each element of the sums is read once.
//! - It starts while the product's last blocks run, and waits for their end before its first load.
//!
//! Prototypes in CUDA C++ with a block's parts in shared memory took 128 × 8192 × 128 in 32 slices
//! from 17.8 to 16.6 µs, product and sum, and 512³ in 4 slices from 17.2 to 16.7 (H200, driver 580,
//! 2026-11-23).

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use crate::number::Scalar;
use crate::pack::{BYTES, Pack, lanes};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// The most blocks: 32 bits count their threads.
pub const MOST_BLOCKS: u32 = u32::MAX / THREADS;
/// Threads that share an output.
pub const PARTS: usize = 4;
/// Packs that a warp adds concurrently.
const ACROSS: usize = WARP / PARTS;
const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;
/// Slices whose loads a thread has in flight.
const IN_FLIGHT: usize = 4;

/// Blocks for which each pack of C has its own threads.
pub const fn blocks<T>(outputs: usize) -> usize {
    outputs.div_ceil(WARPS * ACROSS * lanes::<T>())
}

/// C, the sum of all slices' products.
///
/// # Parameters
/// - `sums`: `slices` matrices of the size of C, one after the other. `c`: C.
///
/// # Launch
/// At most [`MOST_BLOCKS`] blocks of [`THREADS`] threads along x. The grid strides over the packs,
/// or the elements.
#[kernel(
    instances(f32, f64),
    starts_early,
    require(
        c.len().checked_mul(slices) == Some(sums.len()),
        grid.x <= MOST_BLOCKS,
        [block.x, block.y, block.z, grid.y, grid.z] == [THREADS, 1, 1, 1, 1]
    )
)]
pub fn matmul_fold<T: Scalar>(sums: &[T], mut c: Out<T>, slices: usize) {
    let (outputs, sums, c) = (c.len(), sums.as_ptr(), c.as_mut_ptr());
    let packs = outputs / lanes::<T>();
    let whole = packs * lanes::<T>() == outputs && (sums.addr() | c.addr()).is_multiple_of(BYTES);
    // SAFETY: `require` states the lengths and the block, and the alignment was compared.
    unsafe {
        if whole {
            fold::<T, { lanes::<T>() }>(sums.cast(), c.cast(), packs, slices);
        } else {
            one_by_one(sums, c, outputs, slices);
        }
    }
}

/// # Safety
/// `sums` has `slices · outputs` elements, `c` has `outputs`, and only this launch uses `c`. All
/// threads of the launch call it: blocks of [`THREADS`] along x, a grid without y and z.
#[inline(always)]
unsafe fn one_by_one<T: Scalar>(sums: *const T, c: *mut T, outputs: usize, slices: usize) {
    const TOGETHER: usize = IN_FLIGHT * PARTS;
    let mut at = (thread::block_idx_x() * THREADS + thread::thread_idx_x()) as usize;
    while at < outputs {
        let mut parts = [T::ZERO; PARTS];
        let mut first = 0;
        while first < slices {
            let loaded: [T; TOGETHER] = core::array::from_fn(|i| {
                if first + i < slices {
                    // SAFETY: inside the sums.
                    unsafe { sums.wrapping_add((first + i) * outputs + at).read() }
                } else {
                    T::ZERO
                }
            });
            unrolled::<TOGETHER>(|i| parts[i % PARTS] = parts[i % PARTS].add(loaded[i]));
            first += TOGETHER;
        }
        let [p0, p1, p2, p3] = parts;
        // SAFETY: inside C, and only this thread has this element.
        unsafe { c.wrapping_add(at).write(p0.add(p2).add(p1.add(p3))) };
        at += (thread::grid_dim_x() * THREADS) as usize;
    }
}

/// # Safety
/// `sums` has `slices · packs` packs, `c` has `packs`, and only this launch uses `c`. All threads
/// of the launch call it: blocks of [`THREADS`] along x, a grid without y and z.
#[inline(always)]
unsafe fn fold<T: Scalar, const LANES: usize>(
    sums: *const Pack<T, LANES>,
    c: *mut Pack<T, LANES>,
    packs: usize,
    slices: usize,
) {
    let t = thread::thread_idx_x();
    // SAFETY: in a one-dimensional block, lanes are numbered by thread index.
    let warp = unsafe { assume_warp_uniform(t / WARP as u32) } as usize;
    let (part, across) = (t as usize % WARP / ACROSS, t as usize % ACROSS);
    let mut first = (thread::block_idx_x() as usize * WARPS + warp) * ACROSS;
    while first < packs {
        let pack = first + across;
        let inside = pack < packs;
        let mut sum = [T::ZERO; LANES];
        let mut of_parts = 0;
        while of_parts < slices {
            let loaded: [[T; LANES]; IN_FLIGHT] = core::array::from_fn(|i| {
                let slice = of_parts + part + i * PARTS;
                if inside && slice < slices {
                    // SAFETY: inside the sums.
                    unsafe { sums.wrapping_add(slice * packs + pack).read().0 }
                } else {
                    [T::ZERO; LANES]
                }
            });
            unrolled::<IN_FLIGHT>(|i| {
                unrolled::<LANES>(|lane| sum[lane] = sum[lane].add(loaded[i][lane]));
            });
            of_parts += IN_FLIGHT * PARTS;
        }
        // Each round halves the number of parts that still hold a sum.
        let mut delta = PARTS / 2;
        while delta > 0 {
            unrolled::<LANES>(|lane| {
                let distance = (delta * ACROSS) as u32;
                // SAFETY: all lanes are here.
                let (other, _) =
                    unsafe { warp::warp_shuffle_down(u32::MAX, sum[lane], distance, WARP as u32) };
                sum[lane] = sum[lane].add(other);
            });
            delta /= 2;
        }
        if part == 0 && inside {
            // SAFETY: inside C, and only this lane has this pack.
            unsafe { c.wrapping_add(pack).write(Pack(sum)) };
        }
        first += thread::grid_dim_x() as usize * WARPS * ACROSS;
    }
}
