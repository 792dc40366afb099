//! Matrix product of doubles on tensor cores.
//!
//! Change from [`pipelined`](super::pipelined): the warp multiplies, not the thread. `mma.sync`
//! takes 16 × 8 elements of one operand and 8 × 8 of the other, which its lanes hold, and does what
//! 32 FMAs of each lane would, with a rounding for each of them as DGEMM has.
//!
//! - The instruction's 16 rows are columns of C, its 8 columns rows of C: it computes Cᵀ = Bᵀ·Aᵀ. A
//!   lane's operands are then neighbours in memory on both sides, and its registers what loads of
//!   16 bytes fill: lane 4g + t has of each 8 elements of the inner extent 2t and 2t + 1, of A in
//!   row g, of B in columns 2g and 2g + 1 (of each 8 rows and 16 columns of C).
//! - Four warps, each with 64 × 32 elements of C. Fragments are loaded a slot ahead: a slot is the
//!   two multiplications of 8 rows, between which the next 8 rows are loaded; the columns of the
//!   next 8 elements of the inner extent are loaded one piece every second slot. `asm` keeps that
//!   order in PTX.
//! - Loads: `cp.async`, stages of 16 elements of the inner extent, one copy or two a slot. Two
//!   elements a copy where rows are whole pairs, else one. Rows and columns beyond the matrices,
//!   and the ragged step, which is the first: as in `stage.rs`. Copies for steps that do not exist
//!   write zeros.
//! - In shared memory 128 rows of A have 128 bytes each, their halves exchanged in odd rows, and 16
//!   rows of B are `STRIDE_B` elements apart: any eight lanes read all 32 banks.
//! - The barrier in the middle of a step puts all threads' copies of the next stage before its
//!   reads, and all reads of the stage before this one before the copies that replace it.
//! - Global reads per element of C: inner/64 of A and inner/128 of B; shared reads inner/32 and
//!   inner/64.
//! - Slices of the inner extent: as in [`sliced`](super::sliced).
//!
//! PTX for compute capability 9.0 has one instruction for these 16 × 8 × 8; in older PTX four of
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
    stages: 4,
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

/// Elements from a row of B's tile to the next.
const STRIDE_B: usize = MMA.cols + PAIR;
const BYTES: u32 = size_of::<f64>() as u32;
/// Bytes of a row of A's tile, and of half of one.
const ROW_BYTES: u32 = MMA.inner as u32 * BYTES;
const HALF_BYTES: u32 = ROW_BYTES / 2;
const A_BYTES: u32 = MMA.rows as u32 * ROW_BYTES;
const STAGE_BYTES: u32 = A_BYTES + (MMA.inner * STRIDE_B) as u32 * BYTES;
const THREADS: usize = MMA.threads();
/// Groups of copies that are in flight when a step's middle waits for the next stage.
const AHEAD: u32 = MMA.stages as u32 - 3;

/// Columns and rows of C that one multiplication of a warp computes, and elements of the inner
/// extent that it takes.
const COLS: usize = 16;
const ROWS: usize = 8;
const DEPTH: usize = 8;
/// Multiplications along a warp's columns and rows, and along a stage.
const WIDE: usize = MMA.warp_cols / COLS;
const HIGH: usize = MMA.warp_rows / ROWS;
const GROUPS: usize = MMA.inner / DEPTH;
/// Loads of 16 bytes that fetch a warp's columns of a group, two for each multiplication along
/// them.
const PIECES: usize = 2 * WIDE;

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
    const { assert!(GROUPS == 2, "the barrier is between two groups") };
    let shared = asm::dynamic_shared();
    let next = |stage: u32| {
        if stage == (MMA.stages as u32 - 1) * STAGE_BYTES {
            0
        } else {
            stage + STAGE_BYTES
        }
    };

    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / 32, t % 32);
    let (g, t) = (lane / 4, lane % 4);
    let warps = MMA.cols / MMA.warp_cols;
    let row = warp / warps * MMA.warp_rows;
    let col = warp % warps * MMA.warp_cols;
    let of_rows = [0, 1].map(|group| {
        let half = group ^ (g as u32 % 2);
        shared + (row + g) as u32 * ROW_BYTES + half * HALF_BYTES + (PAIR * t) as u32 * BYTES
    });
    let of_cols = shared + A_BYTES + BYTES * (2 * t * STRIDE_B + col + 2 * g) as u32;
    // SAFETY: inside the stage.
    let load_rows = |stage: u32, group: usize, i: usize| unsafe {
        asm::load_pair(of_rows[group] + stage + (ROWS * i) as u32 * ROW_BYTES)
    };
    // SAFETY: inside the stage.
    let load_cols = |stage: u32, group: usize, piece: usize| unsafe {
        let element = (DEPTH * group + piece % 2) * STRIDE_B + COLS * (piece / 2);
        asm::load_pair(of_cols + stage + BYTES * element as u32)
    };

    let steps = len.div_ceil(MMA.inner);
    let ragged = len - steps.saturating_sub(1) * MMA.inner;
    let blocks = thread::grid_dim_x() as usize;
    let mut tile = thread::block_idx_y() as usize * blocks + thread::block_idx_x() as usize;
    while let Some((top, left)) = MMA.tile(tile, of.rows, of.cols) {
        let copies = Copies::<VECTOR>::new(of, shared, [top, left]);
        // The step that is copied next, its first element of the inner extent, and its stage.
        let (mut filled, mut k, mut write) = (0, first, 0);
        unrolled::<{ MMA.stages - 1 }>(|i| {
            let len = match (i, filled < steps) {
                (0, _) => ragged,
                (_, true) => MMA.inner,
                (_, false) => 0,
            };
            unrolled::<MOST>(|copy| {
                if copy < copies_of(VECTOR) {
                    // SAFETY: the extents are the caller's promise; nobody reads this stage.
                    unsafe { copies.start(copy, write, k, |element| element < len) };
                }
            });
            cp_async_commit_group();
            k += len;
            filled += 1;
            write = next(write);
        });
        // The first step's copies of all threads come before its reads.
        cp_async_wait_group::<{ AHEAD + 1 }>();
        thread::sync_threads();

        let mut sums = [[[0.0; 4]; WIDE]; HIGH];
        let mut cols = [[[0.0; 4]; WIDE]; GROUPS];
        let mut rows = [[0.0; 2]; 2];
        macro_rules! load_piece {
            ($stage:expr, $group:expr, $piece:expr) => {{
                let (piece, group) = ($piece, $group);
                let at = 2 * (piece % 2);
                let [x, y] = load_cols($stage, group, piece);
                (cols[group][piece / 2][at], cols[group][piece / 2][at + 1]) = (x, y);
            }};
        }
        let mut read = 0;
        if steps > 0 {
            unrolled::<PIECES>(|piece| load_piece!(read, 0, piece));
            rows[0] = load_rows(read, 0, 0);
        }
        let mut step = 0;
        while step < steps {
            let more = filled < steps;
            let after = next(read);
            unrolled::<{ GROUPS * HIGH }>(|slot| {
                let (group, i) = (slot / HIGH, slot % HIGH);
                if slot == HIGH {
                    // The next step's copies of all threads come before its reads, and all reads
                    // of the stage before this one before the copies that replace it.
                    cp_async_wait_group::<AHEAD>();
                    thread::sync_threads();
                }
                unrolled::<WIDE>(|j| {
                    let col = if i % 2 == 0 { j } else { WIDE - 1 - j };
                    let (of_b, of_a) = (cols[group][col], rows[slot % 2]);
                    // SAFETY: whole warps are here.
                    unsafe { asm::multiply_add(of_b, of_a, &mut sums[i][col]) };
                    if j > 0 {
                        return;
                    }
                    // The last multiplications with these registers are a slot ago.
                    rows[(slot + 1) % 2] = match slot + 1 {
                        HIGH.. if group == 1 && i + 1 == HIGH => load_rows(after, 0, 0),
                        slot => load_rows(read, slot / HIGH, slot % HIGH),
                    };
                    if i % (HIGH / PIECES) == 0 {
                        let stage = if group == 0 { read } else { after };
                        load_piece!(stage, 1 - group, i / (HIGH / PIECES));
                    }
                });
                if group == 1 {
                    unrolled::<{ MOST.div_ceil(HIGH) }>(|part| {
                        let copy = i * copies_of(VECTOR) / HIGH + part;
                        if copy < (i + 1) * copies_of(VECTOR) / HIGH {
                            // SAFETY: the extents are the caller's promise; the stage's readers
                            // are past the barrier.
                            unsafe { copies.start(copy, write, k, |_| more) };
                        }
                    });
                }
            });
            // Also without copies, so that there are as many groups as steps.
            cp_async_commit_group();
            k += MMA.inner;
            filled += 1;
            write = next(write);
            read = after;
            step += 1;
        }
        // Every thread's reads come before any thread's copies for the next tile.
        cp_async_wait_all();
        thread::sync_threads();

        unrolled::<HIGH>(|i| {
            unrolled::<2>(|half| {
                let row = top + row + ROWS * i + 2 * t + half;
                unrolled::<WIDE>(|j| {
                    let col = left + col + COLS * j + 2 * g;
                    let [x, y] = [sums[i][j][half], sums[i][j][2 + half]];
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

/// Copies from A for each thread in a stage, and from both operands.
const fn copies_of_a(vector: usize) -> usize {
    MMA.rows / rows_at_once(MMA.inner, vector)
}
const fn copies_of(vector: usize) -> usize {
    copies_of_a(vector) + MMA.inner / rows_at_once(MMA.cols, vector)
}

/// Rows of a tile of N columns that the block copies at once.
const fn rows_at_once(cols: usize, vector: usize) -> usize {
    THREADS / (cols / vector)
}

/// The most copies of one thread, and from A.
const MOST: usize = copies_of(1);
const MOST_OF_A: usize = copies_of_a(1);

/// One thread's share of the copies for one tile of C.
struct Copies<'a, const VECTOR: usize> {
    of: Operands<'a>,
    /// Sources of the copies from A, at the start of the inner extent.
    a: [*const f64; MOST_OF_A],
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
        // Rows that a thread copies are all odd or all even.
        const { assert!(rows_at_once(MMA.inner, VECTOR).is_multiple_of(2)) };
        let a_byte = (a_inner as u32 * BYTES) ^ (row as u32 % 2 * HALF_BYTES);
        Copies {
            of,
            a: core::array::from_fn(source),
            b: of.b.as_ptr().wrapping_add(b_inner * of.cols + inside),
            a_inner,
            b_inner,
            a_slot: shared + row as u32 * ROW_BYTES + a_byte,
            b_slot: shared + A_BYTES + BYTES * (b_inner * STRIDE_B + col) as u32,
        }
    }

    /// Starts copy number `copy` of the elements of the inner extent from `k` on into the stage
    /// `stage` bytes after the first one; zeros where one does not `exist`.
    ///
    /// # Safety
    /// The operands have their extents' sizes and alignment, the elements are as `exists` says, and
    /// nobody reads this stage.
    #[inline(always)]
    unsafe fn start(&self, copy: usize, stage: u32, k: usize, exists: impl Fn(usize) -> bool) {
        let of = self.of;
        let (slot, source, inside) = if copy < copies_of_a(VECTOR) {
            let row = copy * rows_at_once(MMA.inner, VECTOR);
            let slot = self.a_slot + row as u32 * ROW_BYTES;
            (slot, self.a[copy].wrapping_add(k), exists(self.a_inner))
        } else {
            let row = (copy - copies_of_a(VECTOR)) * rows_at_once(MMA.cols, VECTOR);
            let slot = self.b_slot + (row * STRIDE_B) as u32 * BYTES;
            let source = self.b.wrapping_add((k + row) * of.cols);
            (slot, source, exists(self.b_inner + row))
        };
        // SAFETY: inside the operand, or not read.
        unsafe { asm::copy_doubles::<VECTOR>(slot + stage, source, inside) };
    }
}
