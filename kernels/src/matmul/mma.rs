//! Matrix product of doubles on tensor cores.
//!
//! Change from [`pipelined`](super::pipelined): the warp multiplies, not the thread. `mma.sync`
//! takes 16 × 16 elements of A and 16 × 8 of B, which its lanes hold, and does what 64 FMAs of each
//! lane would, with a rounding for each of them as DGEMM has.
//!
//! - Loads: `cp.async`, `AHEAD` stages ahead, a stage 16 elements of the inner extent: 128 rows of
//!   A and 64 columns of B as they lie in memory, `STRIDE_A` and `STRIDE_B` elements apart. Two
//!   elements a copy where rows are whole pairs, else one. Rows and columns beyond the matrices,
//!   and the ragged step, which is the first: as in `stage.rs`.
//! - Four warps, each with 64 × 32 elements of C: lane 4g + t owns, of each 16 × 8 of them, columns
//!   2t and 2t + 1 of rows g and g + 8. From shared memory it reads A\[g, t + 4j\] and
//!   B\[t + 4j, g\]: with these strides a half-warp's 16 doubles lie in all 32 banks.
//! - Global reads per element of C: inner/64 of A and inner/128 of B; shared reads inner/32 and
//!   inner/64.
//! - The barrier of a stage puts all threads' copies of the next stage before its reads, and all
//!   reads of this stage before the copies that replace it.
//! - Slices of the inner extent: as in [`sliced`](super::sliced).
//!
//! On an H200 (driver 580, 2026-11-23), before copies were started among the multiplications: 48
//! TFLOP/s at 2048³ and 4096³, 50 at 8192³, where cuBLAS DGEMM has 58, 60 and 56; 45 at 4093 × 4099
//! × 4111, where it has 42. With instructions of 8 × 8 × 4: 29.
//!
//! PTX for compute capability 9.0 has one instruction for these 16 × 8 × 16; in older PTX eight of
//! 8 × 8 × 4 do the same.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm;
use super::policy::Policy;
use super::slices::slice;
use crate::pack::{Pack, lanes};

/// How a block divides its work.
///
/// Two blocks share a multiprocessor, by their registers. Tiles of 128 × 64 are whole waves of
/// them: 128 tiles at 1024³ for 132 multiprocessors, 512 at 2048³ for 264 places.
pub const MMA: Policy = Policy {
    rows: 128,
    cols: 64,
    inner: 16,
    stages: 3,
    warp_rows: 64,
    warp_cols: 32,
    vector: PAIR,
    pitched: false,
    group: 8,
};

/// Elements of 16 bytes.
pub const PAIR: usize = lanes::<f64>();
/// Bytes of dynamic shared memory.
pub const SHARED_BYTES: usize = MMA.stages * STAGE_BYTES as usize;

/// Elements from a row of A's tile to the next, and from one of B's: 4 more than a multiple of 16.
const STRIDE_A: usize = MMA.inner + 4;
const STRIDE_B: usize = MMA.cols + 4;
const BYTES: u32 = size_of::<f64>() as u32;
const A_BYTES: u32 = (MMA.rows * STRIDE_A) as u32 * BYTES;
const STAGE_BYTES: u32 = A_BYTES + (MMA.inner * STRIDE_B) as u32 * BYTES;
const THREADS: usize = MMA.threads();
/// Groups of copies that are in flight beside the next step's.
const AHEAD: u32 = MMA.stages as u32 - 2;

/// Elements of C, along rows and columns, that one multiplication of a warp computes.
const ROWS: usize = 16;
const COLS: usize = 8;
/// Multiplications along a warp's rows and columns.
const HIGH: usize = MMA.warp_rows / ROWS;
const WIDE: usize = MMA.warp_cols / COLS;

/// The products of all slices: C with one slice.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `sums`: `slices` matrices of
///   `rows · cols` elements. `inner` and `cols` are even, and all three begin at multiples of 16
///   bytes.
///
/// # Launch
/// Blocks of as many threads as [`MMA`] says, with [`SHARED_BYTES`] of dynamic shared memory. The
/// grid strides over the tiles of C along x and y, and over slices along z.
#[kernel(
    max_threads = 128,
    min_blocks = 2,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        inner.is_multiple_of(PAIR),
        cols.is_multiple_of(PAIR),
        a.is_aligned_to(crate::pack::BYTES),
        b.is_aligned_to(crate::pack::BYTES),
        sums.is_aligned_to(crate::pack::BYTES),
        [block.x as usize, block.y as usize, block.z as usize] == [MMA.threads(), 1, 1],
        shared_bytes as usize >= SHARED_BYTES
    )
)]
pub fn matmul_mma_f64(
    a: &[f64],
    b: &[f64],
    mut sums: Out<f64>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let of = Operands {
        a,
        b,
        rows,
        inner,
        cols,
    };
    // SAFETY: `require` states all of it.
    unsafe { multiply_slices::<PAIR>(of, sums.as_mut_ptr(), slices) }
}

/// As [`matmul_mma_f64`](struct@matmul_mma_f64) for any extents at any address.
#[kernel(
    max_threads = 128,
    min_blocks = 2,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        [block.x as usize, block.y as usize, block.z as usize] == [MMA.threads(), 1, 1],
        shared_bytes as usize >= SHARED_BYTES
    )
)]
pub fn matmul_mma_ragged_f64(
    a: &[f64],
    b: &[f64],
    mut sums: Out<f64>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let of = Operands {
        a,
        b,
        rows,
        inner,
        cols,
    };
    // SAFETY: `require` states all of it.
    unsafe { multiply_slices::<1>(of, sums.as_mut_ptr(), slices) }
}

/// A product's operands and extents.
#[derive(Clone, Copy)]
struct Operands<'a> {
    a: &'a [f64],
    b: &'a [f64],
    rows: usize,
    inner: usize,
    cols: usize,
}

/// # Safety
/// The operands have their extents' sizes; `sums` is `slices` matrices like C, and nobody but this
/// launch uses it. All threads of the launch call it; a block has [`MMA`]'s threads along x and
/// [`SHARED_BYTES`]. Where VECTOR is [`PAIR`], inner extent and columns are even, and all three
/// begin at multiples of 16 bytes.
#[inline(always)]
unsafe fn multiply_slices<const VECTOR: usize>(of: Operands<'_>, sums: *mut f64, slices: usize) {
    let mut number = thread::block_idx_z() as usize;
    while number < slices {
        let part = slice(of.inner, slices, number);
        let c = sums.wrapping_add(number * of.rows * of.cols);
        // SAFETY: passed on to the caller; the slice ends within the inner extent, and only this
        // layer of the grid writes its sums.
        unsafe { multiply::<VECTOR>(of, part, c) };
        number += thread::grid_dim_z() as usize;
    }
}

/// # Safety
/// As for [`multiply_slices`], with one matrix like C, for the `len` elements of the inner extent
/// from `first` on.
#[inline(always)]
unsafe fn multiply<const VECTOR: usize>(
    of: Operands<'_>,
    (first, len): (usize, usize),
    c: *mut f64,
) {
    let shared = asm::dynamic_shared();
    let last = AHEAD * STAGE_BYTES + STAGE_BYTES;
    let next = |stage: u32| {
        if stage == last {
            0
        } else {
            stage + STAGE_BYTES
        }
    };

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let warps = MMA.cols / MMA.warp_cols;
    let row = warp / warps * MMA.warp_rows + lane / 4;
    let col = warp % warps * MMA.warp_cols;
    let a_slot = shared + BYTES * (row * STRIDE_A + lane % 4) as u32;
    let b_slot = shared + A_BYTES + BYTES * (lane % 4 * STRIDE_B + col + lane / 4) as u32;

    let steps = len.div_ceil(MMA.inner);
    let ragged = len - steps.saturating_sub(1) * MMA.inner;
    let blocks = thread::grid_dim_x() as usize;
    let mut tile = thread::block_idx_y() as usize * blocks + thread::block_idx_x() as usize;
    while let Some((top, left)) = MMA.tile(tile, of.rows, of.cols) {
        let copies = Copies::<VECTOR>::new(of, shared, [top, left]);
        // The step that is copied next, and its first element of the inner extent.
        let (mut filled, mut k) = (0, first);
        let mut fill = |stage: u32, len: usize| {
            if filled < steps {
                // SAFETY: the extents are the caller's promise; the stage's readers are past a
                // barrier.
                unsafe { copies.start(stage, k, len) };
                k += len;
                filled += 1;
            }
            // Also without copies, so that there are as many groups as steps.
            cp_async_commit_group();
        };
        fill(0, ragged);
        unrolled::<{ AHEAD as usize }>(|i| fill((i as u32 + 1) * STAGE_BYTES, MMA.inner));
        let (mut read, mut write) = (0, last);
        // The first step's copies of all threads come before its reads.
        cp_async_wait_group::<AHEAD>();
        thread::sync_threads();

        let mut sums = [[[0.0; 4]; WIDE]; HIGH];
        let mut step = 0;
        while step < steps {
            // Sixteen sources of single elements and a multiplication's operands are too many
            // registers.
            if VECTOR != PAIR {
                fill(write, MMA.inner);
                write = next(write);
            }
            let mut of_b = [[0.0; 4]; WIDE];
            unrolled::<WIDE>(|j| {
                unrolled::<4>(|k| {
                    let element = 4 * k * STRIDE_B + COLS * j;
                    // SAFETY: inside the stage.
                    of_b[j][k] =
                        unsafe { asm::load_double(b_slot + read + BYTES * element as u32) };
                });
            });
            unrolled::<HIGH>(|i| {
                // After the first multiplications have started: tensor cores work meanwhile.
                if VECTOR == PAIR && i == 1 {
                    fill(write, MMA.inner);
                    write = next(write);
                }
                let mut of_a = [0.0; 8];
                unrolled::<8>(|k| {
                    let element = (ROWS * i + 8 * (k % 2)) * STRIDE_A + 4 * (k / 2);
                    // SAFETY: inside the stage.
                    of_a[k] = unsafe { asm::load_double(a_slot + read + BYTES * element as u32) };
                });
                // SAFETY: whole warps are here.
                unrolled::<WIDE>(|j| unsafe { asm::multiply_add(of_a, of_b[j], &mut sums[i][j]) });
            });
            // The next step's copies of all threads come before its reads, and all reads of this
            // step's stage, which are done, before the copies that replace it.
            cp_async_wait_group::<AHEAD>();
            thread::sync_threads();
            read = next(read);
            step += 1;
        }
        // Every thread's reads come before any thread's copies for the next tile.
        cp_async_wait_all();
        thread::sync_threads();

        unrolled::<HIGH>(|i| {
            unrolled::<2>(|half| {
                let row = top + row + ROWS * i + 8 * half;
                unrolled::<WIDE>(|j| {
                    let col = left + col + COLS * j + 2 * (lane % 4);
                    let [x, y] = [sums[i][j][2 * half], sums[i][j][2 * half + 1]];
                    let to = c.wrapping_add(row * of.cols + col);
                    // SAFETY: inside C, only this thread has this row and these columns, and `to`
                    // is aligned where columns come in pairs.
                    unsafe {
                        if VECTOR == PAIR {
                            if row < of.rows && col < of.cols {
                                to.cast::<Pack<f64, PAIR>>().write(Pack([x, y]));
                            }
                        } else if row < of.rows {
                            if col < of.cols {
                                to.write(x);
                            }
                            if col + 1 < of.cols {
                                to.wrapping_add(1).write(y);
                            }
                        }
                    }
                });
            });
        });
        tile += blocks * thread::grid_dim_y() as usize;
    }
}

/// Copies from A for each thread in a stage, and from B.
const fn copies_of_a(vector: usize) -> usize {
    MMA.rows / rows_at_once(MMA.inner, vector)
}
const fn copies_of_b(vector: usize) -> usize {
    MMA.inner / rows_at_once(MMA.cols, vector)
}

/// Rows of a tile of N columns that the block copies at once.
const fn rows_at_once(cols: usize, vector: usize) -> usize {
    THREADS / (cols / vector)
}

/// The most copies of one thread from A.
const MOST: usize = copies_of_a(1);

/// One thread's share of the copies for one tile of C.
struct Copies<'a, const VECTOR: usize> {
    of: Operands<'a>,
    /// Sources of the copies from A, at the start of the inner extent.
    a: [*const f64; MOST],
    /// Source of the first copy from B, there.
    b: *const f64,
    /// This thread's first element of the inner extent in A's tile, and in B's.
    a_inner: usize,
    b_inner: usize,
    /// Where the first copies go, in the first stage.
    a_slot: u32,
    b_slot: u32,
}

impl<'a, const VECTOR: usize> Copies<'a, VECTOR> {
    /// The share of this thread, for the tile of C whose first element is (top, left). `shared` is
    /// the first stage.
    #[inline(always)]
    fn new(of: Operands<'a>, shared: u32, [top, left]: [usize; 2]) -> Self {
        let t = thread::thread_idx_x() as usize;
        let place = |cols: usize| {
            let across = cols / VECTOR;
            (t / across, t % across * VECTOR)
        };
        let ((row, a_inner), (b_inner, col)) = (place(MMA.inner), place(MMA.cols));
        let source = |i: usize| {
            let row = (top + row + i * rows_at_once(MMA.inner, VECTOR)).min(of.rows - 1);
            of.a.as_ptr().wrapping_add(row * of.inner + a_inner)
        };
        let inside = (left + col).min(of.cols - VECTOR);
        Copies {
            of,
            a: core::array::from_fn(source),
            b: of.b.as_ptr().wrapping_add(b_inner * of.cols + inside),
            a_inner,
            b_inner,
            a_slot: shared + BYTES * (row * STRIDE_A + a_inner) as u32,
            b_slot: shared + A_BYTES + BYTES * (b_inner * STRIDE_B + col) as u32,
        }
    }

    /// Starts the copies of the `len` elements of the inner extent from `k` on into the stage
    /// `stage` bytes after the first one, and fills it up with zeros.
    ///
    /// # Safety
    /// The operands have their extents' sizes and alignment, the elements exist, and nobody reads
    /// this stage.
    #[inline(always)]
    unsafe fn start(&self, stage: u32, k: usize, len: usize) {
        let of = self.of;
        let inside = self.a_inner < len;
        unrolled::<MOST>(|i| {
            if i < copies_of_a(VECTOR) {
                let slot = i * rows_at_once(MMA.inner, VECTOR) * STRIDE_A;
                let source = if inside {
                    self.a[i].wrapping_add(k)
                } else {
                    of.a.as_ptr()
                };
                // SAFETY: inside A, or not read.
                unsafe {
                    asm::copy_doubles::<VECTOR>(
                        self.a_slot + stage + BYTES * slot as u32,
                        source,
                        inside,
                    )
                };
            }
        });
        let b = self.b.wrapping_add(k * of.cols);
        unrolled::<MOST>(|i| {
            if i < copies_of_b(VECTOR) {
                let row = i * rows_at_once(MMA.cols, VECTOR);
                let slot = self.b_slot + stage + BYTES * (row * STRIDE_B) as u32;
                let inside = self.b_inner + row < len;
                let source = if inside {
                    b.wrapping_add(row * of.cols)
                } else {
                    of.b.as_ptr()
                };
                // SAFETY: inside B, or not read.
                unsafe { asm::copy_doubles::<VECTOR>(slot, source, inside) };
            }
        });
    }
}
