//! Matrix product with FP32's accuracy on the tensor cores of compute capability 9.0, from operands
//! that [`split`](super::split) has split.
//!
//! Change from [`pipelined`](super::pipelined): the multiplications are `wgmma` on BF16 numbers;
//! tensor cores multiply and add sixteen at a time. With a = a₀ + a₁ + a₂ and b likewise, a·b is
//! the sum of nine products. The three smallest together are below 2⁻²⁶ of it and are left out. Six
//! products at sixteen times the rate of FP32 arithmetic are 2.7 times as fast.
//!
//! - Loads: bulk copies bring a tile of A and a tile of B, three terms each, as they are in memory.
//!   One thread, in a warp group of its own, starts the copies for a stage as soon as it is free,
//!   also across the end of a tile of C. Each stage has two `mbarrier`s: `full` counts the copies'
//!   bytes and orders them before the reads; `empty` counts the warps that have read the stage and
//!   orders their reads before the next copies.
//! - Each of two warp groups owns 64 × 128 elements of C, 64 per thread. While one group adds, the
//!   other multiplies.
//! - When tensor cores add, they truncate towards zero, so their sums are kept short: [`DEPTH`]
//!   elements of the inner extent, the smallest products first. Ordinary additions, which round to
//!   nearest, combine these sums: runs of `RUN` into `recent`, and these into `total`, where the
//!   rounding error of the addition is carried into the next run. The error then grows neither with
//!   the inner extent nor with the order of the elements.
//! - First a block reads the operands' ranges. If the terms would be too inaccurate, it leaves the
//!   product to [`pipelined`](super::pipelined), which reads the same words.
//!
//! Measured on an H200 (driver 580, 2026-11-21), medians of 30 beside cuBLAS SGEMM in the same run:
//! milliseconds with the split, without the second launch, which then does nothing; ‖error‖ / ‖C‖
//! for normally distributed elements (the same for badly scaled rows, columns and inner positions):
//!
//! | size | this | of that the split | cuBLAS | times | error | cuBLAS's error |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 2048³ | 0.170 | 0.033 | 0.342 | 2.01 | 1.0e-7 | 8.1e-7 |
//! | 4096³ | 1.134 | 0.112 | 2.722 | 2.40 | 1.0e-7 | 1.2e-6 |
//! | 8192³ | 8.66 | 0.44 | 23.5 | 2.71 | | |
//! | 4093 × 4099 × 4111 | 1.172 | 0.118 | 2.964 | 2.53 | | |
//!
//! At 4096³, multiplication only: 1.03 ms; 1.13 if one of the multiplying threads starts the
//! copies; 1.56 if every sum of the tensor cores is added with its rounding error carried (error
//! 6e-8). Sums twice as long triple the error, so they stay at [`DEPTH`]. An inner extent of only a
//! few elements is the exception: the error is then 6e-8, and SGEMM's may be 3e-8.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::policy::Policy;
use super::split::{DEPTH, RANGE_WORDS, SIDE, TILE_WORDS, fits};
use super::{asm, hopper};
use cuda_std::unroll::unrolled;

/// The policy of this kernel.
pub const TENSOR: Policy = Policy {
    rows: SIDE,
    cols: SIDE,
    inner: DEPTH,
    stages: 4,
    warp_rows: 16,
    warp_cols: SIDE,
    vector: 1,
    anywhere: false,
    group: 8,
};

/// Threads of a block: those that multiply, and a warp group of which one thread copies.
pub const THREADS: u32 = TENSOR.threads() as u32 + 128;
/// Bytes of dynamic shared memory: the stages, their barriers, and up to `ALIGNMENT` bytes of
/// padding before the first stage.
pub const SHARED_BYTES: usize =
    ALIGNMENT as usize + TENSOR.stages * (2 * 4 * TILE_WORDS + 2 * size_of::<u64>());

/// A multiple of the length after which the swizzle pattern repeats.
const ALIGNMENT: u32 = 1024;
/// Tiles of the inner extent whose sums are added up before they go into the total.
const RUN: usize = 16;
/// Elements of C that a thread owns.
const OWNED: usize = SIDE / 2;

/// Rows of C per warp group.
const GROUP_ROWS: usize = 64;
const STAGES: u32 = TENSOR.stages as u32;
/// Bytes of a term's row in a tile.
const ROW_BYTES: u32 = 2 * DEPTH as u32;
const OPERAND_BYTES: u32 = 4 * TILE_WORDS as u32;
const STAGE_BYTES: u32 = 2 * OPERAND_BYTES;

/// C = A·B from split operands, if their ranges allow it.
///
/// # Parameters
/// - `a`, `b`: the tiles of A and B in the form that [`split`](super::split) writes, aligned to 16
///   bytes. Any words are valid terms.
/// - `ranges`: [`RANGE_WORDS`] for A, then for B. Whatever they hold, C is computed or left
///   unchanged.
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
        // Swizzled rows repeat after 512 bytes, so stages start at multiples of that.
        stages: asm::dynamic_shared().next_multiple_of(ALIGNMENT),
        steps: inner.div_ceil(DEPTH),
        rows,
        cols,
    };
    if t == 0 {
        for stage in 0..STAGES {
            // SAFETY: `require` includes shared memory for these words, and nothing else uses them.
            unsafe {
                hopper::init(block.full(stage), 1);
                hopper::init(block.empty(stage), TENSOR.threads() as u32 / 32);
            }
        }
        hopper::publish_barriers();
    }
    // Orders the initialisation of the barriers before their first use.
    thread::sync_threads();
    // SAFETY: in a one-dimensional block, lanes are numbered by thread index.
    let warp = unsafe { assume_warp_uniform(t as u32 / 32) };
    // Moves registers from the copying warp group to the multiplying ones.
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
    /// Where the stages start in shared memory.
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

    /// Copies the tiles of A and B for all of this block's tiles of C, as stages become free.
    ///
    /// # Safety
    /// One thread of the block calls it, with the barriers initialised, and the others call
    /// [`multiply`](Self::multiply). `a` and `b` point to the tiles of matrices of these extents,
    /// aligned to 16 bytes.
    #[inline(always)]
    unsafe fn copy(&self, a: *const u32, b: *const u32) {
        let mut place = Ring::default();
        let mut tile = thread::block_idx_x() as usize;
        while let Some((top, left)) = TENSOR.tile(tile, self.rows, self.cols) {
            let mut of_a = a.wrapping_add(top / SIDE * self.steps * TILE_WORDS);
            let mut of_b = b.wrapping_add(left / SIDE * self.steps * TILE_WORDS);
            for _ in 0..self.steps {
                let (full, slot) = (self.full(place.stage), self.slot(place.stage));
                // SAFETY: the tiles exist, and all warps have read the stage's previous contents.
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
    /// Two warp groups of the block call it, with the barriers initialised, and another thread
    /// calls [`copy`](Self::copy). `c` points to C, which only this launch uses; the grid has one
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
                    // SAFETY: the copies have arrived, and the stage does not change until all
                    // warps have read it.
                    let sums = unsafe {
                        hopper::wait(self.full(place.stage), place.parity);
                        hopper::multiply(of_a, of_b)
                    };
                    if lane == 0 {
                        // SAFETY: this warp's share of the multiplication has completed.
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
                    // SAFETY: inside C; only this thread has this row and column.
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

/// A position in the ring of stages, and the parity of the current phase of its `full`.
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
