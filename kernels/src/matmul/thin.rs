//! Products with one to four rows: each element of B is used at most four times, so only the speed
//! of reading B counts.
//!
//! Change from [`sliced`](super::sliced): no tiles in shared memory, no asynchronous copies. B goes
//! straight to registers, and every thread has up to eight loads of it in flight, 16 bytes each
//! where B's rows are whole packs.
//!
//! - C\[r, j\] = Σ A\[r, k\] · B\[k, j\], over k in slice s.
//! - A row of threads (same y) owns a group of `across` columns, 32 to 128 bytes of each row of B.
//!   Neighbouring threads read neighbouring elements or packs of a row, then of the next row; the
//!   group reads a run of rows at a time and strides by that run.
//! - Shuffles add the lanes with the same columns. The first of them writes the warp's sum to slot
//!   (warp, row, column) of shared memory, and one thread adds each output in the order of the
//!   warps. [Tickets](super::ticket) add the slices.
//! - The barrier after the writes orders them before those reads; the barrier after the reads
//!   orders them before the writes for the next columns.
//! - Global reads per element of C: inner of B, and of A, which the caches hold.
//!
//! Narrow groups have more blocks, so that one row needs no slices up to some thousand columns: at
//! 1 × 1024 × 400 a group of 32 bytes takes 5.4 µs, two slices of one 7.0 (H100).

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::asm::load_if;
use super::ticket::{Slices, in_flight};
use crate::here::pointer_here;
use crate::number::Scalar;
use crate::pack::lanes;

/// The most rows of A and C.
pub const MOST_ROWS: usize = 4;
/// The most threads of a block.
pub const THREADS: u32 = 512;
/// Bytes of a row of B that a group reads: from the shorter to the longer.
pub const BYTES: [usize; 2] = [32, 128];

const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;

/// C = A · B of a few rows.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `c`: C, `rows · cols`
///   elements. Where `cols` is a whole number of packs and B aligned to them, they are loaded.
/// - `sums`: `slices` matrices of the size of C, `tickets`: one for each group of columns, or
///   more, 0 before and after; both are empty with one slice.
/// - `across`: columns of a group, a power of two.
///
/// # Launch
/// Blocks of whole warps along x, which share a group, and of as many groups along y; with several
/// slices y is 1. The grid strides over groups along x and over slices along z.
#[kernel(
    instances(f32, f64),
    max_threads = 512,
    min_blocks = 1,
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        rows <= MOST_ROWS,
        across.is_power_of_two(),
        across >= BYTES[0] / size_of::<T>(),
        across <= BYTES[1] / size_of::<T>(),
        super::ticket::fit([rows, cols], slices, cols.div_ceil(across), sums.len(), tickets.len()),
        slices == 1 || block.y == 1,
        block.x.is_multiple_of(32),
        block.x as u64 * block.y as u64 <= THREADS as u64,
        [grid.y, block.z] == [1, 1]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the shape"
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
    across: usize,
) {
    let of = Thin {
        a: a.as_ptr(),
        b: b.as_ptr(),
        to: Slices {
            c: c.as_mut_ptr(),
            sums: sums.as_mut_ptr(),
            tickets: tickets.as_mut_ptr(),
            outputs: rows * cols,
            slices,
        },
        rows,
        inner,
        cols,
        across,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        let packs = cols.is_multiple_of(lanes::<T>()) && b.as_ptr().addr().is_multiple_of(16);
        of.run::<{ lanes::<T>() }>(packs)
    }
}

/// A product with few rows.
struct Thin<T> {
    a: *const T,
    b: *const T,
    to: Slices<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    across: usize,
}

impl<T: Scalar> Thin<T> {
    /// Computes C. `packs` says whether B is loaded in packs, of PACK elements.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires. With packs, B is aligned to them, and
    /// a row is a whole number of them. All threads of the launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn run<const PACK: usize>(&self, packs: bool) {
        // Words of 64 bits instead of T: a static cannot depend on a type parameter.
        let slots = shared_array![u64; WARPS * MOST_ROWS * 16].cast::<T>();
        let last = shared_array![u32; 1];
        let Self { across, cols, .. } = *self;
        let t = thread::thread_idx_x() as usize;
        let (threads, high) = (
            thread::block_dim_x() as usize,
            thread::block_dim_y() as usize,
        );
        let y = thread::thread_idx_y() as usize;
        let lanes = if packs { PACK } else { 1 };
        // Powers of two, so dividing by them is a shift.
        let wide = if packs { across / PACK } else { across };
        let shift = (wide as u32).trailing_zeros();
        let (x, down) = ((t % WARP) & (wide - 1), t >> shift);
        let warps = threads / WARP;
        // SAFETY: blocks have whole warps along x.
        let warp = unsafe { assume_warp_uniform((t / WARP) as u32) } as usize;
        // The sums of a warp: rows that do not exist have none.
        let of_warp = across * self.rows;
        let slots = slots.wrapping_add(y * warps * of_warp);
        let groups = (cols + across - 1) >> (across as u32).trailing_zeros();
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let (begin, len) = self.to.slice(self.inner, number);
            let mut first = thread::block_idx_x() as usize * high;
            while first < groups {
                let left = (first + y) * across;
                let part = Part {
                    first: begin + down,
                    end: begin + len,
                    at_once: threads >> shift,
                    col: left + x * lanes,
                    wide,
                    slots: slots.wrapping_add(warp * of_warp + x * lanes),
                };
                // SAFETY: passed on to the caller; each output of each warp has one lane, and one
                // slot; after the barrier each output has one thread.
                unsafe {
                    match (self.rows, packs) {
                        (0 | 1, true) => self.part::<1, PACK, 6>(part),
                        (0 | 1, false) => self.part::<1, 1, 8>(part),
                        (2, true) => self.part::<2, PACK, 4>(part),
                        (2, false) => self.part::<2, 1, 8>(part),
                        (_, true) => self.part::<4, PACK, PACK>(part),
                        (_, false) => self.part::<4, 1, 4>(part),
                    }
                    // Orders all warps' sums before the reads of them.
                    thread::sync_threads();
                    self.outputs(left, |out, at| {
                        let mut sum = T::ZERO;
                        let mut warp = 0;
                        while warp < warps {
                            sum = sum.add(slots.wrapping_add(warp * of_warp + out).read());
                            warp += 1;
                        }
                        self.to.store(number, at, sum);
                    });
                    if self.to.slices > 1 && self.to.is_last(first, t == 0, last) {
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
        let mut out = thread::thread_idx_x() as usize;
        while out < self.rows << shift {
            let (row, col) = (out >> shift, left + (out & (self.across - 1)));
            if col < self.cols {
                each(out, row * self.cols + col);
            }
            out += thread::block_dim_x() as usize;
        }
    }

    /// Writes a warp's sums of a part, for ROWS rows, of loads of LANES elements of B, N of them in
    /// flight.
    ///
    /// # Safety
    /// As for [`run`](Self::run); all lanes of a warp call it. There are at most ROWS rows; LANES is
    /// 1, or that of a pack.
    #[inline(always)]
    unsafe fn part<const ROWS: usize, const LANES: usize, const N: usize>(&self, part: Part<T>) {
        let Part {
            first,
            end,
            at_once,
            col,
            wide,
            slots,
        } = part;
        let count = if col < self.cols && first < end {
            (end - first + at_once - 1) >> (at_once as u32).trailing_zeros()
        } else {
            0
        };
        let mut of_a = self.a.wrapping_add(first);
        let mut of_b = self.b.wrapping_add(first * self.cols + col);
        let mut own = [[T::ZERO; LANES]; ROWS];
        let load = |inside: bool| {
            // SAFETY: columns of a row of B in the slice; the same elements of A.
            let loaded = unsafe {
                let b = load_if::<T, LANES>(of_b, inside);
                let a: [T; ROWS] = core::array::from_fn(|row| {
                    let [a] = load_if(
                        of_a.wrapping_add(row * self.inner),
                        inside && row < self.rows,
                    );
                    a
                });
                (b, a)
            };
            of_a = pointer_here(of_a.wrapping_add(at_once));
            of_b = pointer_here(of_b.wrapping_add(at_once * self.cols));
            loaded
        };
        let add = |_, (b, a): ([T; LANES], [T; ROWS])| {
            unrolled::<ROWS>(|row| {
                unrolled::<LANES>(|lane| own[row][lane] = a[row].mul_add(b[lane], own[row][lane]));
            });
        };
        in_flight::<_, N>(count, load, add);
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
        if (thread::thread_idx_x() as usize) % WARP < wide {
            unrolled::<ROWS>(|row| {
                if row < self.rows {
                    unrolled::<LANES>(|lane| {
                        let slot = slots.wrapping_add(row * self.across + lane);
                        // SAFETY: this lane's slot.
                        unsafe { slot.write(own[row][lane]) };
                    });
                }
            });
        }
    }
}

/// What a warp adds up.
#[derive(Clone, Copy)]
struct Part<T> {
    /// This lane's first row of B, the end of the slice, and the rows between this lane's.
    first: usize,
    end: usize,
    at_once: usize,
    /// This lane's first column.
    col: usize,
    /// Lanes of a row of B. The sums of lanes that are as far apart are added up.
    wide: usize,
    /// Where the sum of the first row and this lane's first column goes.
    slots: *mut T,
}
