//! Products with up to sixteen rows, for which [`thin`](super::thin) has too few registers.
//!
//! Change from `thin`: A's slice lies in shared memory, transposed, so that a thread loads four
//! rows of a column at once. A warp reads whole runs of a row of B, and the warps of a block take
//! turns along the inner extent.
//!
//! - A block owns 32 lanes × `COLS` columns. Lanes have neighbouring packs of them, or elements
//!   that are 32 apart. Warp w takes rows w, w + 8, … of B's slice, `IN_FLIGHT` of them in flight,
//!   and the next batch is loaded before this one is used.
//! - A longer slice than fits shared memory is computed in chunks.
//! - Barriers: A's chunk is written before it is read, and read before it is replaced, by the next
//!   chunk or by the warps' sums, which take the same room; these are written before one thread
//!   adds each output, in the order of the warps. [Tickets](super::ticket) add the slices.
//! - Banks: all lanes of a warp read the same 16 bytes of A. Its transposed writes take four
//!   cycles, once a chunk.
//! - Global reads per element of C: inner of B, and inner/(32 · `COLS`) of A.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::asm::load_if;
use super::ticket::{Slices, in_flight};
use crate::here::{global_here, product_here};
use crate::number::Scalar;
use crate::pack::{Pack, lanes};

/// The most rows of A and C.
pub const MOST_ROWS: usize = 16;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes of dynamic shared memory: room for the warps' sums of 16 rows.
pub const SHARED_BYTES: usize = 64 << 10;
/// Columns of a lane, where single elements are loaded.
const SINGLE: usize = 2;
/// Rows of B that a warp loads together.
const IN_FLIGHT: usize = 4;
/// Elements of A that a lane loads together.
const COPIED: usize = 8;

const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;

/// Columns that a block owns, where B is loaded in packs or in single elements.
pub const fn columns<T>(packs: bool) -> usize {
    WARP * if packs { lanes::<T>() } else { SINGLE }
}

/// Elements between columns of A in shared memory: whole packs.
const fn pitch<T>(rows: usize) -> usize {
    rows + lanes::<T>()
}

/// Elements of the inner extent that fit into shared memory, for `rows` rows: the same number for
/// each warp, so that the order of a sum does not depend on where a chunk ends.
pub const fn chunk<T>(rows: usize) -> usize {
    let fit = SHARED_BYTES / size_of::<T>() / pitch::<T>(if rows <= 8 { 8 } else { MOST_ROWS });
    fit / WARPS * WARPS
}

/// C = A · B of up to sixteen rows, of each product of a batch.
///
/// # Parameters
/// As for [`matmul_thin`](struct@super::thin::matmul_thin). `packs` says whether B is loaded in
/// packs of 16 bytes: `cols` is then a whole number of them, and B aligned to them.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x with [`SHARED_BYTES`] of dynamic shared memory. The grid
/// strides over groups of [`columns`] along x and over slices along z; along y it has a layer for
/// each product.
#[kernel(
    instances(f32),
    max_threads = 256,
    min_blocks = 2,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        rows <= MOST_ROWS,
        packs <= 1,
        packs == 0 || cols.is_multiple_of(lanes::<T>()),
        packs == 0 || b.is_aligned_to(crate::pack::BYTES),
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            cols.div_ceil(columns::<T>(packs == 1)).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        [block.x, block.y, block.z] == [THREADS, 1, 1],
        grid.y as usize == batch,
        shared_bytes as usize >= SHARED_BYTES
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the loads"
)]
pub fn matmul_few_rows<T: Scalar>(
    a: &[T],
    b: &[T],
    mut c: Out<T>,
    mut sums: Out<T>,
    mut tickets: Atomics<u32>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
    of_a: usize,
    batch: usize,
    packs: usize,
) {
    let of = FewRows {
        a: a.as_ptr(),
        b: b.as_ptr(),
        to: Slices {
            c: c.as_mut_ptr(),
            sums: sums.as_mut_ptr(),
            tickets: tickets.as_mut_ptr(),
            outputs: rows * cols * batch,
            slices,
        },
        rows,
        inner,
        cols,
        shares_a: of_a == 1,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match (rows <= 8, packs == 1) {
            (true, false) => of.each::<8, SINGLE, 1, SINGLE, SINGLE>(),
            (false, false) => of.each::<16, SINGLE, 1, SINGLE, { 2 * SINGLE }>(),
            (true, true) => of.each::<8, { lanes::<T>() }, { lanes::<T>() }, 1, { lanes::<T>() }>(),
            (false, true) => {
                of.each::<16, { lanes::<T>() }, { lanes::<T>() }, 1, { 2 * lanes::<T>() }>()
            }
        }
    }
}

/// A batch of products with few rows.
struct FewRows<T> {
    a: *const T,
    b: *const T,
    to: Slices<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    shares_a: bool,
}

/// One element of each row and column of a thread.
type Own<T, const ROWS: usize, const COLS: usize> = [[T; COLS]; ROWS];

impl<T: Scalar> FewRows<T> {
    /// Computes with sums for ROWS rows and COLS columns a lane, by LOADS loads of LANES elements.
    /// A thread then has EACH outputs.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires. There are at most ROWS rows. B is
    /// aligned to LANES elements, and a row is a whole number of them. All threads of the launch
    /// call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn each<
        const ROWS: usize,
        const COLS: usize,
        const LANES: usize,
        const LOADS: usize,
        const EACH: usize,
    >(
        &self,
    ) {
        const {
            assert!(COLS == LANES * LOADS && EACH * WARPS == ROWS * COLS);
            assert!(ROWS * COLS * WARP * WARPS * size_of::<T>() <= SHARED_BYTES);
        };
        let room = dynamic_shared_mem::<T>();
        let last = shared_array![u32; 1];
        let t = thread::thread_idx_x() as usize;
        // SAFETY: blocks are whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        let across = WARP * COLS;
        let groups = self.cols.div_ceil(across);
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let (begin, len) = self.to.slice(self.inner, number);
            let mut group = thread::block_idx_x() as usize;
            while group < groups {
                let left = group * across;
                let mut own = [[T::ZERO; COLS]; ROWS];
                let mut done = 0;
                while done < len {
                    let now = chunk::<T>(ROWS).min(len - done);
                    let at = (begin + done, now, left);
                    // SAFETY: passed on to the caller; shared memory has room for it.
                    unsafe { self.part::<ROWS, COLS, LANES, LOADS>(&mut own, at, room) };
                    done += now;
                }
                // SAFETY: each output of each warp has one lane, and one slot; after the barrier
                // each output has one thread.
                unsafe {
                    let slots = room.wrapping_add(warp * ROWS * across);
                    unrolled::<ROWS>(|row| {
                        unrolled::<COLS>(|col| {
                            let at = row * across + column::<LANES>(t % WARP, col);
                            slots.wrapping_add(at).write(own[row][col]);
                        });
                    });
                    // Orders all warps' sums before the reads of them.
                    thread::sync_threads();
                    let above = product_here() * self.rows;
                    let output = |i: usize| {
                        let out = t + i * THREADS as usize;
                        let (row, col) = (out / across, left + out % across);
                        let exists = row < self.rows && col < self.cols;
                        exists.then_some((above + row) * self.cols + col)
                    };
                    unrolled::<EACH>(|i| {
                        let of_warp = |warp| {
                            let slot = warp * ROWS * across + t + i * THREADS as usize;
                            room.wrapping_add(slot).read()
                        };
                        if let Some(at) = output(i) {
                            let mut sum = T::ZERO;
                            unrolled::<WARPS>(|warp| sum = sum.add(of_warp(warp)));
                            self.to.store(number, at, sum);
                        }
                    });
                    if self.to.slices > 1
                        && self
                            .to
                            .is_last(product_here() * groups + group, t == 0, last)
                    {
                        self.to.add::<EACH>(output);
                    }
                    // Orders all reads before the next group's A.
                    thread::sync_threads();
                }
                group += thread::grid_dim_x() as usize;
            }
            number += thread::grid_dim_z() as usize;
        }
    }

    /// Adds to `own` the products over `len` elements of the inner extent from `first` on, for the
    /// columns from `left` on.
    ///
    /// # Safety
    /// As for [`each`](Self::each). `room` has place for these columns of A, and nothing else in
    /// the block uses it until the call returns.
    #[inline(always)]
    unsafe fn part<const ROWS: usize, const COLS: usize, const LANES: usize, const LOADS: usize>(
        &self,
        own: &mut Own<T, ROWS, COLS>,
        (first, len, left): (usize, usize, usize),
        room: *mut T,
    ) {
        let t = thread::thread_idx_x() as usize;
        let lane = t % WARP;
        // SAFETY: blocks are whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        let pitch = pitch::<T>(ROWS);
        let cols: [usize; LOADS] =
            core::array::from_fn(|load| left + column::<LANES>(lane, load * LANES));
        let above = product_here() * self.inner + first + warp;
        let mut of_b = self.b.wrapping_add(above * self.cols);
        let mut row_of_b = warp;
        let mut batch = || -> [[[T; LANES]; LOADS]; IN_FLIGHT] {
            core::array::from_fn(|_| {
                let inside = row_of_b < len;
                // SAFETY: these columns of a row of B exist.
                let loaded = cols.map(|col| unsafe {
                    load_if(of_b.wrapping_add(col), inside && col < self.cols)
                });
                of_b = global_here(of_b.wrapping_add(WARPS * self.cols));
                row_of_b += WARPS;
                loaded
            })
        };
        let mut multiply = |b: &[[[T; LANES]; LOADS]; IN_FLIGHT], k: usize| {
            unrolled::<IN_FLIGHT>(|i| {
                let k = k + i * WARPS;
                if k < len {
                    let of_a = room.wrapping_add(k * pitch);
                    unrolled::<ROWS>(|row| {
                        if row.is_multiple_of(lanes::<T>()) {
                            // SAFETY: written before the barrier, and a whole pack.
                            let four = unsafe { pack(of_a.wrapping_add(row)) };
                            unrolled::<4>(|in_pack| {
                                if in_pack < lanes::<T>() {
                                    unrolled::<COLS>(|col| {
                                        let sum = &mut own[row + in_pack][col];
                                        let b = b[i][col / LANES][col % LANES];
                                        *sum = four[in_pack].mul_add(b, *sum);
                                    });
                                }
                            });
                        }
                    });
                }
            });
        };
        let mut now = batch();
        let above = if self.shares_a {
            0
        } else {
            product_here() * self.rows
        };
        let of_a = global_here(self.a.wrapping_add(above * self.inner + first + lane));
        let mut row = warp;
        while row < ROWS {
            let count = len.saturating_sub(lane).div_ceil(WARP);
            let mut from = of_a.wrapping_add(row * self.inner);
            let mut to = room.wrapping_add(lane * pitch + row);
            let load = |inside: bool| {
                // SAFETY: an element of A in the slice; zero in a row that does not exist.
                let [a] = unsafe { load_if(from, inside && row < self.rows) };
                from = global_here(from.wrapping_add(WARP));
                a
            };
            in_flight::<_, COPIED>(count, load, |inside, a: T| {
                if inside {
                    // SAFETY: a slot of shared memory, of this thread alone.
                    unsafe { to.write(a) };
                }
                to = to.wrapping_add(WARP * pitch);
            });
            row += WARPS;
        }
        // Orders every thread's writes of A before any thread's reads.
        thread::sync_threads();
        let mut k = warp;
        while k < len {
            let next = batch();
            multiply(&now, k);
            k += IN_FLIGHT * WARPS;
            now = batch();
            multiply(&next, k);
            k += IN_FLIGHT * WARPS;
        }
        // Orders every thread's reads of A before any thread's next writes to shared memory.
        thread::sync_threads();
    }
}

/// Column `col` of a lane among those of the block: lanes have neighbouring runs of LANES.
#[inline(always)]
const fn column<const LANES: usize>(lane: usize, col: usize) -> usize {
    col / LANES * WARP * LANES + lane * LANES + col % LANES
}

/// Loads 16 bytes, and repeats them up to four elements.
///
/// # Safety
/// `from` points to as many elements, and is aligned to 16 bytes.
#[inline(always)]
unsafe fn pack<T: Scalar>(from: *const T) -> [T; 4] {
    // SAFETY: passed on to the caller.
    unsafe {
        match lanes::<T>() {
            2 => {
                let [x, y] = from.cast::<Pack<T, 2>>().read().0;
                [x, y, x, y]
            }
            _ => from.cast::<Pack<T, 4>>().read().0,
        }
    }
}
