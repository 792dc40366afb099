//! Matrix product with FP32's accuracy on the tensor cores of compute capability 9.0, from operands
//! that [`split`](super::split) has split.
//!
//! Change from [`pipelined`](super::pipelined): the multiplications are `wgmma` of BF16 numbers,
//! whose products tensor cores make and add sixteen at a time. With a = a₀ + a₁ + a₂ and b
//! likewise, a·b is the sum of nine products; the three smallest together are below 2⁻²⁶ of it and
//! are left out. Six products at sixteen times the rate of FP32 arithmetic are 2.7 times as fast.
//!
//! - Loads: the engine for bulk copies brings a tile of A and a tile of B, three terms each, as
//!   they lie in memory. One thread, in a group of warps of its own, starts the copies for a stage
//!   as soon as it is free, across the end of a tile of C too. Two `mbarrier`s a stage: `full`
//!   counts the copies' bytes, `empty` the warps that have read the stage.
//! - Each of two groups of four warps owns 64 × 128 elements of C, 64 a thread. While one group
//!   adds, the other one multiplies.
//! - Tensor cores cut off what does not fit when they add, always towards zero, so their sums stay
//!   short: [`DEPTH`] elements of the inner extent, the smallest products first. Ordinary
//!   additions, which round to nearest, join these: runs of `RUN` into `recent`, and these into
//!   `total` with what the addition lost carried over into the next run. An error then grows
//!   neither with the inner extent nor with the order of the elements.
//! - Before anything else a block looks at the operands' ranges: where the terms would not do, it
//!   leaves the product to [`pipelined`](super::pipelined), which looks at the same words.
//!
//! Measured on an H200 (driver 580, 2026-11-21), medians of 30 beside cuBLAS SGEMM in the same run:
//! milliseconds with the split, but without the launch that then finds nothing to do; ‖error‖ / ‖C‖
//! for normally distributed elements, the same for badly scaled rows, columns and inner positions:
//!
//! | size | this | of that the split | cuBLAS | times | error | cuBLAS's error |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 2048³ | 0.170 | 0.033 | 0.342 | 2.01 | 1.0e-7 | 8.1e-7 |
//! | 4096³ | 1.134 | 0.112 | 2.722 | 2.40 | 1.0e-7 | 1.2e-6 |
//! | 8192³ | 8.66 | 0.44 | 23.5 | 2.71 | | |
//! | 4093 × 4099 × 4111 | 1.172 | 0.118 | 2.964 | 2.53 | | |
//!
//! At 4096³, multiplication only: 1.03 ms; 1.13 when a thread of those that multiply starts the
//! copies; 1.56 when every sum of tensor cores is added with what was lost carried over (error
//! 6e-8). Sums twice as long triple the error, so they stay at [`DEPTH`]. An inner extent of only a
//! few elements is the exception: the error is then 6e-8, and SGEMM's may be 3e-8.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::policy::Policy;
use super::split::{DEPTH, RANGE_WORDS, SIDE, TILE_WORDS, fits};
use super::{asm, hopper};
use cuda_std::unroll::unrolled;

/// What the kernel is built with.
pub const TENSOR: Policy = Policy {
    rows: SIDE,
    cols: SIDE,
    inner: DEPTH,
    stages: 4,
    warp_rows: 16,
    warp_cols: SIDE,
    vector: 1,
    pitched: false,
    group: 8,
};

/// Threads of a block: those that multiply, and a group of four warps of which one thread copies.
pub const THREADS: u32 = TENSOR.threads() as u32 + 128;
/// Bytes of dynamic shared memory: the stages, their barriers, and what may be missing to
/// `ALIGNMENT` at the front.
pub const SHARED_BYTES: usize =
    ALIGNMENT as usize + TENSOR.stages * (2 * 4 * TILE_WORDS + 2 * size_of::<u64>());

/// Bytes after which the pattern of exchanged pieces surely repeats.
const ALIGNMENT: u32 = 1024;
/// Tiles of the inner extent whose sums are added before the total takes them in.
const RUN: usize = 16;
/// Elements of C that a thread owns.
const OWNED: usize = SIDE / 2;

/// Rows of C of a group of four warps.
const GROUP_ROWS: usize = 64;
const STAGES: u32 = TENSOR.stages as u32;
/// A term's row of a tile.
const ROW_BYTES: u32 = 2 * DEPTH as u32;
const OPERAND_BYTES: u32 = 4 * TILE_WORDS as u32;
const STAGE_BYTES: u32 = 2 * OPERAND_BYTES;

/// C = A·B from split operands, if their ranges allow it.
///
/// # Parameters
/// - `a`, `b`: the tiles of A, and of B, as [`split`](super::split) makes them, aligned to 16
///   bytes. Other words in them are other terms.
/// - `ranges`: [`RANGE_WORDS`] for A, then for B. Whatever they hold, C is computed or left as it
///   is.
/// - `c`: C, `rows · cols` elements.
///
/// # Launch
/// Blocks of [`THREADS`] threads with [`SHARED_BYTES`] of dynamic shared memory; the grid strides
/// over the tiles of C.
#[kernel(
    max_threads = 384,
    min_blocks = 1,
    require(
        super::split::words(rows, inner) == Some(a.len()),
        super::split::words(cols, inner) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        a.is_aligned_to(crate::pack::BYTES),
        b.is_aligned_to(crate::pack::BYTES),
        ranges.len() == 2 * RANGE_WORDS,
        block.x == THREADS,
        shared_bytes as usize >= SHARED_BYTES,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn matmul_tensor_f32(
    a: &[u32],
    b: &[u32],
    ranges: &[u32],
    mut c: Out<f32>,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let ([of_a, of_b], []) = ranges.as_chunks::<RANGE_WORDS>() else {
        return;
    };
    if !fits([*of_a, *of_b], inner) {
        return;
    }
    let t = thread::thread_idx_x() as usize;
    let block = Block {
        // Exchanged rows repeat after 512 bytes, so stages start at multiples of that.
        stages: asm::dynamic_shared().next_multiple_of(ALIGNMENT),
        steps: inner.div_ceil(DEPTH),
        rows,
        cols,
    };
    if t == 0 {
        for stage in 0..STAGES {
            // SAFETY: `require` states shared memory for these words too, and they are for nothing
            // else.
            unsafe {
                hopper::init(block.full(stage), 1);
                hopper::init(block.empty(stage), TENSOR.threads() as u32 / 32);
            }
        }
        hopper::publish_barriers();
    }
    // The barriers are made before anybody uses them.
    thread::sync_threads();
    // SAFETY: threads of a block of one dimension are lanes by their number.
    let warp = unsafe { assume_warp_uniform(t as u32 / 32) };
    // Registers go from the group that copies to those that multiply.
    if warp >= TENSOR.threads() as u32 / 32 {
        hopper::release_registers::<40>();
        if t == TENSOR.threads() {
            // SAFETY: `require` states the operands' sizes and alignment; this is the one thread of
            // the block that copies.
            unsafe { block.copy(a.as_ptr(), b.as_ptr()) };
        }
    } else {
        hopper::take_registers::<232>();
        // SAFETY: `require` states C's size and the block; all its threads but the last four warps
        // are here, and the grid has one row of blocks.
        unsafe { block.multiply(c.as_mut_ptr()) };
    }
}

/// What the threads of a block share.
struct Block {
    /// Where the stages begin in shared memory.
    stages: u32,
    /// Tiles along the inner extent.
    steps: usize,
    rows: usize,
    cols: usize,
}

impl Block {
    #[inline(always)]
    fn slot(&self, stage: u32) -> u32 {
        self.stages + stage * STAGE_BYTES
    }

    /// The barrier that counts the bytes of a stage's copies.
    #[inline(always)]
    fn full(&self, stage: u32) -> u32 {
        self.slot(STAGES) + 16 * stage
    }

    /// The barrier that counts the warps that have read a stage.
    #[inline(always)]
    fn empty(&self, stage: u32) -> u32 {
        self.full(stage) + 8
    }

    /// Brings the tiles of A and B for all of this block's tiles of C, as stages become free.
    ///
    /// # Safety
    /// One thread of the block calls it, with the barriers made, and the others call
    /// [`multiply`](Self::multiply). `a` and `b` lead to the tiles of matrices of these extents, at
    /// multiples of 16 bytes.
    #[inline(always)]
    unsafe fn copy(&self, a: *const u32, b: *const u32) {
        let mut place = Ring::default();
        let mut tile = thread::block_idx_x() as usize;
        while let Some((top, left)) = TENSOR.tile(tile, self.rows, self.cols) {
            let mut of_a = a.wrapping_add(top / SIDE * self.steps * TILE_WORDS);
            let mut of_b = b.wrapping_add(left / SIDE * self.steps * TILE_WORDS);
            for _ in 0..self.steps {
                let (full, slot) = (self.full(place.stage), self.slot(place.stage));
                // SAFETY: the tiles are there, and all warps have read what was in the stage.
                unsafe {
                    hopper::wait(self.empty(place.stage), place.parity ^ 1);
                    hopper::arrive_with_copies(full, STAGE_BYTES);
                    hopper::copy_bulk(slot, of_a, OPERAND_BYTES, full);
                    hopper::copy_bulk(slot + OPERAND_BYTES, of_b, OPERAND_BYTES, full);
                }
                of_a = of_a.wrapping_add(TILE_WORDS);
                of_b = of_b.wrapping_add(TILE_WORDS);
                place.advance();
            }
            tile += thread::grid_dim_x() as usize;
        }
    }

    /// Computes and stores this group's half of all of this block's tiles of C.
    ///
    /// # Safety
    /// Two groups of four warps of the block call it, with the barriers made, and another thread
    /// calls [`copy`](Self::copy). `c` leads to C, which only this launch uses; the grid has one
    /// row of blocks.
    #[inline(always)]
    unsafe fn multiply(&self, c: *mut f32) {
        let t = thread::thread_idx_x() as usize;
        let (warp, lane) = (t / 32, t % 32);
        let rows_of_group = warp / 4 * GROUP_ROWS;
        let mut place = Ring::default();
        let mut tile = thread::block_idx_x() as usize;
        while let Some((top, left)) = TENSOR.tile(tile, self.rows, self.cols) {
            let mut total = [0.0; OWNED];
            let mut recent = [0.0; OWNED];
            let mut step = 0;
            while step < self.steps {
                let end = self.steps.min(step + RUN);
                while step < end {
                    let slot = self.slot(place.stage);
                    let of_a = hopper::operand(slot + rows_of_group as u32 * ROW_BYTES);
                    let of_b = hopper::operand(slot + OPERAND_BYTES);
                    // SAFETY: the copies have arrived, and the stage stays as it is until all warps
                    // have read it.
                    let sums = unsafe {
                        hopper::wait(self.full(place.stage), place.parity);
                        hopper::multiply(of_a, of_b)
                    };
                    if lane == 0 {
                        // SAFETY: this warp's share of the multiplication has ended.
                        unsafe { hopper::arrive(self.empty(place.stage)) };
                    }
                    each(|i| recent[i] += sums[i]);
                    place.advance();
                    step += 1;
                }
                each(|i| {
                    let sum = total[i] + recent[i];
                    recent[i] -= sum - total[i];
                    total[i] = sum;
                });
            }

            let row = top + rows_of_group + warp % 4 * 16 + lane / 4;
            let col = left + lane % 4 * 2;
            each(|i| {
                let (row, col) = (row + i / 2 % 2 * 8, col + i / 4 * 8 + i % 2);
                if row < self.rows && col < self.cols {
                    // SAFETY: inside C, and only this thread has this row and column.
                    unsafe { c.add(row * self.cols + col).write(total[i]) };
                }
            });
            tile += thread::grid_dim_x() as usize;
        }
    }
}

/// Calls `body` for each element that a thread owns.
#[inline(always)]
fn each(mut body: impl FnMut(usize)) {
    unrolled::<2>(|half| unrolled::<{ OWNED / 2 }>(|i| body(half * OWNED / 2 + i)));
}

/// A place in the ring of stages, and the parity of the phase that its `full` is in.
#[derive(Clone, Copy, Default)]
struct Ring {
    stage: u32,
    parity: u32,
}

impl Ring {
    #[inline(always)]
    fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            *self = Ring {
                stage: 0,
                parity: self.parity ^ 1,
            };
        }
    }
}
