//! Products with one to four rows: each element of B is used at most four times, so only the speed
//! of reading B counts.
//!
//! Change from [`sliced`](super::sliced): no tiles in shared memory, no asynchronous copies. B goes
//! straight to registers, and every thread has up to twelve loads of it in flight, 16 bytes each,
//! [wherever](super::anywhere) B and its rows begin.
//!
//! - C\[r, j\] = Σ A\[r, k\] · B\[k, j\], over k in slice s.
//! - A row of threads (same y) reads a group of `across` columns, 32 to 512 bytes of each row of B.
//!   Neighbouring threads read neighbouring packs of a row, then of the next row; the group reads a
//!   run of rows at a time and strides by that run.
//! - Shuffles add the lanes with the same columns. The first of them writes the warp's sum to slot
//!   (warp, row, column) of shared memory, and one thread adds each output in the order of the
//!   warps. [Tickets](super::ticket) add the slices.
//! - The barrier after the writes orders them before those reads; the barrier after the reads
//!   orders them before the writes for the next columns.
//! - Global reads per element of C: inner of B, and of A, which the caches hold.
//!
//! Narrow groups have more blocks, so that one row needs no slices up to some thousand columns: at
//! 1 × 1024 × 400 a group of 32 bytes takes 5.4 µs, two slices of one 7.0 (H100). Where a product has
//! slices anyway, groups of 512 bytes are faster: 1 × 5078 × 4264 takes 33.7 µs, with 128 bytes 38.3
//! (H200).

use core::hint::assert_unchecked;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::anywhere::{columns, load_clipped, turn};
use super::asm::load_if;
use super::ticket::{Slices, in_flight};
use crate::here::{global_here, product_here, zero_here};
use crate::number::Scalar;
use crate::pack::{elements_behind, lanes};

/// The most rows of A and C.
pub const MOST_ROWS: usize = 4;
/// The most threads of a block.
pub const THREADS: u32 = 512;
/// The most bytes of a row of B that a group reads.
pub const MOST_BYTES: usize = 512;

const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;

/// C = A · B of a few rows, of each product of a batch.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`,
///   `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times. C has an element:
///   extents may be too large to loop over where nothing is in memory.
/// - `sums`: `slices` times the elements of `c`, `tickets`: one for each group of columns of each
///   product, or more, 0 before and after; both are empty with one slice.
/// - `across`: elements of a row of B that a group reads, a power of two of packs. `packs`: whether
///   rows of B are whole packs of 16 bytes, and B is aligned to them; else a group has
///   [`columns`]. The order of a sum depends on the threads of a group, on how many share a row of
///   B, and on the slices, and not on `packs`.
///
/// # Launch
/// Blocks of whole warps along x, which share a group, and of as many groups along y; with several
/// slices y is 1. The grid strides over groups along x and over slices along z; along y it has a
/// layer for each product.
#[kernel(
    instances(f32, f64),
    max_threads = 512,
    min_blocks = 1,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        rows <= MOST_ROWS,
        across.is_power_of_two(),
        packs <= 1,
        across >= lanes::<T>() * (2 - packs),
        across <= MOST_BYTES / size_of::<T>(),
        packs == 0 || cols.is_multiple_of(lanes::<T>()),
        packs == 0 || b.is_aligned_to(crate::pack::BYTES),
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            cols.div_ceil(columns::<T>(across, packs == 1)).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        slices == 1 || block.y == 1,
        block.x >= 32,
        block.x.is_power_of_two(),
        packs == 1 || block.x as usize >= across,
        block.x as u64 * block.y as u64 <= THREADS as u64,
        grid.y as usize == batch,
        block.z == 1
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the shape"
)]
pub fn matmul_thin<T: Scalar>(
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
    across: usize,
    packs: usize,
) {
    let of = Thin {
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
        across,
        is_aligned: packs == 1,
        end: b.as_ptr().wrapping_add(b.len()),
    };
    // SAFETY: `require` states all of it.
    unsafe {
        // Only the sums differ: the rest is in the kernel once.
        of.each(|at, own| match (rows, packs == 1) {
            (0 | 1, true) => of.put::<1, { lanes::<T>() }, 12, true>(at, own),
            (0 | 1, false) => of.put::<1, { lanes::<T>() }, 12, false>(at, own),
            (2, true) => of.put::<2, { lanes::<T>() }, 4, true>(at, own),
            (2, false) => of.put::<2, { lanes::<T>() }, 4, false>(at, own),
            (_, true) => of.put::<4, { lanes::<T>() }, { lanes::<T>() }, true>(at, own),
            (_, false) => of.put::<4, { lanes::<T>() }, { lanes::<T>() }, false>(at, own),
        })
    }
}

/// A batch of products with few rows.
struct Thin<T> {
    a: *const T,
    b: *const T,
    to: Slices<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    shares_a: bool,
    across: usize,
    is_aligned: bool,
    /// Where B ends.
    end: *const T,
}

/// What a thread adds up.
#[derive(Clone, Copy)]
struct Part {
    /// Its first row of B, where the slice ends, and the distance of its rows.
    first: usize,
    end: usize,
    at_once: usize,
    /// Its first column.
    col: usize,
    /// The lanes that share a row of B.
    wide: usize,
}

impl<T: Scalar> Thin<T> {
    /// Computes all outputs of the block. `put` writes a warp's sums to shared memory: see
    /// [`put`](Self::put).
    ///
    /// # Safety
    /// The operands have the lengths and the alignment that the kernel requires. All threads of the
    /// launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn each(&self, put: impl Fn(Part, *mut T)) {
        // Words of 64 bits instead of T: a static cannot depend on a type parameter.
        let slots = shared_array![u64; WARPS * MOST_ROWS * MOST_BYTES / 8].cast::<T>();
        let last = shared_array![u32; 1];
        let Self { across, cols, .. } = *self;
        let t = thread::thread_idx_x() as usize;
        let (threads, high) = (
            thread::block_dim_x() as usize,
            thread::block_dim_y() as usize,
        );
        let y = thread::thread_idx_y() as usize;
        // Powers of two, so dividing by them is a shift.
        let wide = across / lanes::<T>();
        let shift = (wide as u32).trailing_zeros();
        let (x, down, at_once) = ((t % WARP) & (wide - 1), t >> shift, threads >> shift);
        let warps = threads / WARP;
        // SAFETY: blocks have whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        let slots = slots.wrapping_add(y * warps * MOST_ROWS * across);
        let columns = columns::<T>(across, self.is_aligned);
        // Computed where it is needed, which is only with slices.
        let groups = || (cols + zero_here()).div_ceil(columns.max(1));
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let (begin, len) = self.to.slice(self.inner, number);
            let mut first = thread::block_idx_x() as usize * high;
            while first * columns < cols {
                let left = (first + y) * columns;
                let col = left + x * lanes::<T>();
                let at = Part {
                    first: begin + down,
                    end: begin + len,
                    at_once,
                    col,
                    wide,
                };
                let own = warp * MOST_ROWS * across + x * lanes::<T>();
                put(at, slots.wrapping_add(own));
                // SAFETY: each output of each warp has one of these lanes, and one slot; after the
                // barrier each output has one thread.
                unsafe {
                    // Orders all warps' sums before the reads of them.
                    thread::sync_threads();
                    self.outputs(left, |out, at| {
                        let mut sum = T::ZERO;
                        let mut warp = 0;
                        while warp < warps {
                            sum =
                                sum.add(slots.wrapping_add(warp * MOST_ROWS * across + out).read());
                            warp += 1;
                        }
                        self.to.store(number, at, sum);
                    });
                    if self.to.slices > 1
                        && self
                            .to
                            .is_last(product_here() * groups() + first, t == 0, last)
                    {
                        self.outputs(left, |_, at| self.to.add::<1>(|_| Some(at)));
                    }
                    // Orders all reads before the next columns' sums.
                    thread::sync_threads();
                }
                first += thread::grid_dim_x() as usize * high;
            }
            number += thread::grid_dim_z() as usize;
        }
    }

    /// Calls `each` with this thread's outputs of a group: their numbers in it and in C.
    #[inline(always)]
    fn outputs(&self, left: usize, each: impl Fn(usize, usize)) {
        let shift = (self.across as u32).trailing_zeros();
        let columns = columns::<T>(self.across, self.is_aligned);
        let mut out = thread::thread_idx_x() as usize;
        while out < self.rows << shift {
            let (row, at) = (out >> shift, out & (self.across - 1));
            let col = left + at;
            if col < self.cols && at < columns {
                each(out, (product_here() * self.rows + row) * self.cols + col);
            }
            out += thread::block_dim_x() as usize;
        }
    }

    /// Writes this warp's sums to shared memory, from `slots` on in each lane that has some: for ROWS
    /// rows, by loads of LANES elements of B, which are a pack, N of them in flight.
    ///
    /// # Safety
    /// As for [`part`](Self::part), and of more than half of ROWS rows; no other lane uses these
    /// slots.
    #[inline(always)]
    unsafe fn put<const ROWS: usize, const LANES: usize, const N: usize, const ALIGNED: bool>(
        &self,
        at: Part,
        slots: *mut T,
    ) {
        // SAFETY: passed on to the caller.
        let own = unsafe {
            // Else the loop would ask for each row whether there is one.
            assert_unchecked(self.rows > ROWS / 2);
            self.part::<ROWS, LANES, N, ALIGNED>(at)
        };
        if thread::thread_idx_x() as usize % WARP < at.wide {
            unrolled::<ROWS>(|row| {
                unrolled::<LANES>(|lane| {
                    // SAFETY: the caller's promise.
                    unsafe {
                        slots
                            .wrapping_add(row * self.across + lane)
                            .write(own[row][lane]);
                    }
                });
            });
        }
    }

    /// This warp's sums of a part. Those of lanes that are `wide` apart are added up, and the first
    /// `wide` lanes have them.
    ///
    /// # Safety
    /// As for [`each`](Self::each), of at most ROWS rows; all lanes of a warp call it.
    #[inline(always)]
    unsafe fn part<const ROWS: usize, const LANES: usize, const N: usize, const ALIGNED: bool>(
        &self,
        at: Part,
    ) -> [[T; LANES]; ROWS] {
        let Part {
            first,
            end,
            at_once,
            col,
            wide,
        } = at;
        let product = product_here();
        let above = if self.shares_a {
            0
        } else {
            product * self.rows
        };
        // Elements by which this row of B begins behind a pack, and all others of this thread.
        let skew = match ALIGNED {
            true => 0,
            false => {
                let row = (product * self.inner + first) * self.cols;
                elements_behind(self.b.wrapping_add(row))
            }
        };
        let mut count = if col < self.cols + skew && first < end {
            (end - first + at_once - 1) >> (at_once as u32).trailing_zeros()
        } else {
            0
        };
        let mut own = [[T::ZERO; LANES]; ROWS];
        // Adds row k of B, whose pack here may begin before B or end behind it.
        let clipped = |k: usize, own: &mut [[T; LANES]; ROWS]| {
            let row = (product * self.inner + k) * self.cols;
            let of_b = self.b.wrapping_add(row + col).wrapping_sub(skew);
            let of_a = self.a.wrapping_add(above * self.inner + k);
            // SAFETY: B's elements are readable.
            let b: [T; LANES] = unsafe { load_clipped(of_b, [self.b, self.end]) };
            unrolled::<ROWS>(|row| {
                if row < self.rows {
                    // SAFETY: an element of A.
                    let a = unsafe { of_a.wrapping_add(row * self.inner).read() };
                    unrolled::<LANES>(|lane| own[row][lane] = a.mul_add(b[lane], own[row][lane]));
                }
            });
        };
        let mut from = first;
        let mut ends = false;
        if !ALIGNED && count > 0 {
            // These packs are the thread's first and last, so that no sum changes its order.
            let last = first + (count - 1) * at_once;
            let row = (product * self.inner + last) * self.cols;
            let of_last = self.b.wrapping_add(row + col).wrapping_sub(skew);
            let of_first = of_last.wrapping_sub((last - first) * self.cols);
            ends = of_last.wrapping_add(LANES) > self.end;
            if of_first < self.b {
                clipped(first, &mut own);
                from += at_once;
                count -= 1;
                ends = ends && count > 0;
            }
            count -= usize::from(ends);
        }
        let mut of_a = self.a.wrapping_add(above * self.inner + from);
        let row = (product * self.inner + from) * self.cols;
        let mut of_b = self.b.wrapping_add(row + col).wrapping_sub(skew);
        let rows = self.rows;
        let load = |inside: bool| {
            // SAFETY: a pack inside B; elements of A.
            let loaded = unsafe {
                let b = load_if::<T, LANES>(of_b, inside);
                let a: [T; ROWS] = core::array::from_fn(|row| {
                    let [a] = load_if(of_a.wrapping_add(row * self.inner), inside & (row < rows));
                    a
                });
                (b, a)
            };
            of_a = global_here(of_a.wrapping_add(at_once));
            of_b = global_here(of_b.wrapping_add(at_once * self.cols));
            loaded
        };
        let add = |_, (b, a): ([T; LANES], [T; ROWS])| {
            unrolled::<ROWS>(|row| {
                unrolled::<LANES>(|lane| own[row][lane] = a[row].mul_add(b[lane], own[row][lane]));
            });
        };
        in_flight::<_, N>(count, load, add);
        if ends {
            clipped(from + count * at_once, &mut own);
        }
        if !ALIGNED {
            // Moves the sums so that each lane has those of the same columns, whatever its rows.
            unrolled::<ROWS>(|row| {
                // SAFETY: all lanes are here.
                unsafe { turn(&mut own[row], skew) };
            });
        }
        let mut delta = WARP / 2;
        while delta >= wide {
            unrolled::<ROWS>(|row| {
                unrolled::<LANES>(|lane| {
                    let sum = &mut own[row][lane];
                    // SAFETY: all lanes are here.
                    let (other, _) = unsafe {
                        warp::warp_shuffle_down(u32::MAX, *sum, delta as u32, WARP as u32)
                    };
                    *sum = sum.add(other);
                });
            });
            delta /= 2;
        }
        own
    }
}
