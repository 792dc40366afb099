//! Products with up to sixteen rows, for which [`thin`](super::thin) has too few registers.
//!
//! Change from `thin`: A's slice lies in shared memory, transposed, so that a thread loads four
//! rows of a column at once. A warp reads whole runs of a row of B, and the warps of a block take
//! turns along the inner extent.
//!
//! - A block owns 32 lanes × `COLS` columns. Lanes have neighbouring packs of them, or elements
//!   that
//!   are 32 apart. Warp w takes rows w, w + 8, … of B's slice, `IN_FLIGHT` of them in flight, and
//!   the next batch is loaded before this one is used.
//! - A longer slice than fits shared memory is computed in chunks.
//! - Barriers: A's chunk is written before it is read, and read before it is replaced, by the next
//!   chunk or by the warps' sums, which take the same room; these are written before one thread
//!   adds
//!   each output, in the order of the warps. [Tickets](super::ticket) add the slices.
//! - Banks: all lanes of a warp read the same 16 bytes of A. Its transposed writes take four
//!   cycles,
//!   once a chunk.
//! - Global reads per element of C: inner of B, and inner/(32 · `COLS`) of A.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::anywhere::{self, load_clipped, turn};
use super::asm::load_if;
use super::ticket::{Slices, in_flight};
use crate::here::{pointer_here, product_here};
use crate::number::Scalar;
use crate::pack::{Pack, elements_behind, lanes};

/// The most rows of A and C.
pub const MOST_ROWS: usize = 16;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes of dynamic shared memory: the warps' sums of 16 rows fill them.
pub const SHARED_BYTES: usize = 64 << 10;
/// Rows of B that a warp loads together.
const IN_FLIGHT: usize = 4;
/// Elements of A that a lane loads together.
const COPIED: usize = 8;

const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;

/// Columns that a block owns, where rows of B are whole packs or begin anywhere.
pub const fn columns<T>(packs: bool) -> usize {
    anywhere::columns::<T>(WARP * lanes::<T>(), packs)
}

/// Elements between columns of A in shared memory: whole packs.
const fn pitch<T>(rows: usize) -> usize {
    rows + lanes::<T>()
}

/// Elements of the inner extent that fit shared memory, of `rows` rows: as many for each warp, so
/// that the order of a sum does not depend on where a chunk ends.
pub const fn chunk<T>(rows: usize) -> usize {
    let fit = SHARED_BYTES / size_of::<T>() / pitch::<T>(if rows <= 8 { 8 } else { MOST_ROWS });
    fit / WARPS * WARPS
}

/// C = A · B of up to sixteen rows, of each product of a batch.
///
/// # Parameters
/// As for [`matmul_thin`](struct@super::thin::matmul_thin). `packs` says whether B is loaded in
/// packs
/// of 16 bytes: `cols` is then a whole number of them, and B aligned to them.
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
        is_aligned: packs == 1,
        end: b.as_ptr().wrapping_add(b.len()),
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match rows <= 8 {
            true => of.each::<8, { lanes::<T>() }, { lanes::<T>() }>(),
            false => of.each::<16, { lanes::<T>() }, { 2 * lanes::<T>() }>(),
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
    is_aligned: bool,
    /// Where B ends.
    end: *const T,
}

/// One element of each row and column of a thread.
type Own<T, const ROWS: usize, const COLS: usize> = [[T; COLS]; ROWS];

impl<T: Scalar> FewRows<T> {
    /// Computes with sums for ROWS rows and LANES columns a lane, which are a pack. A thread then
    /// has EACH outputs.
    ///
    /// # Safety
    /// The operands have the lengths and the alignment that the kernel requires. There are at most
    /// ROWS rows. All threads of the launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn each<const ROWS: usize, const LANES: usize, const EACH: usize>(&self) {
        const {
            assert!(EACH * WARPS == ROWS * LANES);
            assert!(ROWS * LANES * WARP * WARPS * size_of::<T>() <= SHARED_BYTES);
        };
        let room = dynamic_shared_mem::<T>();
        let last = shared_array![u32; 1];
        let t = thread::thread_idx_x() as usize;
        // SAFETY: blocks are whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        let across = WARP * LANES;
        let columns = columns::<T>(self.is_aligned);
        let groups = self.cols.div_ceil(columns);
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let (begin, len) = self.to.slice(self.inner, number);
            let mut group = thread::block_idx_x() as usize;
            while group < groups {
                let left = group * columns;
                let mut own = [[T::ZERO; LANES]; ROWS];
                let mut done = 0;
                while done < len {
                    let now = chunk::<T>(ROWS).min(len - done);
                    let at = (begin + done, now, left);
                    // SAFETY: passed on to the caller; shared memory has room for it.
                    unsafe { self.part::<ROWS, LANES>(&mut own, at, room) };
                    done += now;
                }
                if !self.is_aligned {
                    let skew = self.skew(begin + warp);
                    unrolled::<ROWS>(|row| {
                        // SAFETY: whole warps are here.
                        unsafe { turn(&mut own[row], skew) };
                    });
                }
                // SAFETY: each output of each warp has one lane, and one slot; after the barrier
                // each output has one thread.
                unsafe {
                    let slots = room.wrapping_add(warp * ROWS * across);
                    unrolled::<ROWS>(|row| {
                        unrolled::<LANES>(|col| {
                            let at = row * across + t % WARP * LANES + col;
                            slots.wrapping_add(at).write(own[row][col]);
                        });
                    });
                    // Orders all warps' sums before the reads of them.
                    thread::sync_threads();
                    let above = product_here() * self.rows;
                    let output = |i: usize| {
                        let out = t + i * THREADS as usize;
                        let (row, col) = (out / across, left + out % across);
                        let exists = row < self.rows && col < self.cols && out % across < columns;
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

    /// Elements by which rows k, k + 8, … of B begin behind a pack.
    #[inline(always)]
    fn skew(&self, k: usize) -> usize {
        elements_behind(
            self.b
                .wrapping_add((product_here() * self.inner + k) * self.cols),
        )
    }

    /// Adds to `own` what `len` elements of the inner extent from `first` on give, for the columns
    /// from `left` on.
    ///
    /// # Safety
    /// As for [`each`](Self::each). `room` has place for these columns of A, and nothing else in the
    /// block uses it until the call returns.
    #[inline(always)]
    unsafe fn part<const ROWS: usize, const LANES: usize>(
        &self,
        own: &mut Own<T, ROWS, LANES>,
        (first, len, left): (usize, usize, usize),
        room: *mut T,
    ) {
        let t = thread::thread_idx_x() as usize;
        let lane = t % WARP;
        // SAFETY: blocks are whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        let pitch = pitch::<T>(ROWS);
        let above = product_here() * self.inner + first + warp;
        let skew = match self.is_aligned {
            true => 0,
            false => self.skew(first + warp),
        };
        let col = left + lane * LANES;
        let exists = col < self.cols + skew;
        let mut of_b = self.b.wrapping_add(above * self.cols + col);
        of_b = of_b.wrapping_sub(skew);
        let mut row_of_b = warp;
        let mut batch = || -> [[T; LANES]; IN_FLIGHT] {
            let (mut batch, mut clipped) = ([[T::ZERO; LANES]; IN_FLIGHT], [false; IN_FLIGHT]);
            unrolled::<IN_FLIGHT>(|i| {
                let inside = row_of_b < len && exists;
                let whole = self.b <= of_b && of_b.wrapping_add(LANES) <= self.end;
                clipped[i] = inside && !whole;
                // SAFETY: a pack of B.
                batch[i] = unsafe { load_if(of_b, inside && whole) };
                of_b = pointer_here(of_b.wrapping_add(WARPS * self.cols));
                row_of_b += WARPS;
            });
            if clipped.iter().any(|&clipped| clipped) {
                unrolled::<IN_FLIGHT>(|i| {
                    if clipped[i] {
                        let from = of_b.wrapping_sub((IN_FLIGHT - i) * WARPS * self.cols);
                        // SAFETY: B's elements are readable.
                        batch[i] = unsafe { load_clipped(from, [self.b, self.end]) };
                    }
                });
            }
            batch
        };
        let mut multiply = |b: &[[T; LANES]; IN_FLIGHT], k: usize| {
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
                                    unrolled::<LANES>(|col| {
                                        let sum = &mut own[row + in_pack][col];
                                        *sum = four[in_pack].mul_add(b[i][col], *sum);
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
        let of_a = pointer_here(self.a.wrapping_add(above * self.inner + first + lane));
        let mut row = warp;
        while row < ROWS {
            let count = len.saturating_sub(lane).div_ceil(WARP);
            let mut from = of_a.wrapping_add(row * self.inner);
            let mut to = room.wrapping_add(lane * pitch + row);
            let load = |inside: bool| {
                // SAFETY: an element of A in the slice; zero in a row that does not exist.
                let [a] = unsafe { load_if(from, inside && row < self.rows) };
                from = pointer_here(from.wrapping_add(WARP));
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
        // Orders the writes of A before the reads.
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
        // Orders the reads of A before the next writes to shared memory.
        thread::sync_threads();
    }
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
