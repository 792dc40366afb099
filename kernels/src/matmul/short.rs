//! Products with an inner extent of at most eight: only the speed of writing C counts.
//!
//! Change from [`register_tile`](super::register_tile): only A lies in shared memory. A thread
//! keeps its columns of B in registers and goes down the rows of C, a pack of 16 bytes in each.
//!
//! - C\[r, j\] = Σ A\[r, k\] · B\[k, j\], added in the order of k: the values of the naive kernel.
//! - `wide` neighbouring threads own neighbouring packs of a row of C, so that a warp writes up to
//!   512 contiguous bytes; the other threads own the same packs of the rows below.
//! - Rows of C may begin anywhere. A thread's rows are a multiple of LANES apart, so all of them
//!   have the same offset from a pack ([`anywhere`](super::anywhere)), and its packs are aligned.
//!   The first and the last pack of a row may be shared with the rows beside it: there single
//!   elements are stored.
//! - The block copies `high` rows of A, padded with zeros to whole packs. One barrier orders the
//!   copies before the reads, which are of the same pack in all threads of a row of C; another one
//!   orders the reads before the next copies.
//! - Global reads per element of C: inner/`high` of B, and of A inner for each block's columns.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm::{load_if, store_if};
use crate::here::pointer_here;
use crate::number::Scalar;
use crate::pack::{Pack, elements_behind, lanes};

/// The longest inner extent.
pub const DEPTH: usize = 8;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// The most threads that share a row of C.
pub const WIDEST: usize = 32;
/// The most rows of a block.
pub const HIGHEST: usize = 128;

/// Groups of `wide` packs that cover a row of C, wherever it begins.
pub const fn groups<T>(cols: usize, wide: usize) -> usize {
    cols.saturating_add(lanes::<T>() - 1)
        .div_ceil(wide * lanes::<T>())
}

/// C = A · B.
///
/// # Parameters
/// - `a`, `b`, `c`: A, B and C, `rows · inner`, `inner · cols` and `rows · cols` elements. C has one.
/// - `wide`: threads that share a row of C, a power of two. `high`: rows of a block, at least one.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x. The grid strides over [`groups`] of columns along x and
/// over runs of `high` rows along y.
#[kernel(
    instances(f32, f64),
    max_threads = 256,
    min_blocks = 4,
    require(
        inner <= DEPTH,
        super::slices::elements(rows, inner, 1) == Some(a.len()),
        super::slices::elements(inner, cols, 1) == Some(b.len()),
        super::slices::elements(rows, cols, 1) == Some(c.len()),
        !c.is_empty(),
        wide.is_power_of_two(),
        wide <= WIDEST,
        high >= 1,
        high <= HIGHEST,
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the shape of a block"
)]
pub fn matmul_short<T: Scalar>(
    a: &[T],
    b: &[T],
    mut c: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    wide: usize,
    high: usize,
) {
    let of = Short {
        a: a.as_ptr(),
        b: b.as_ptr(),
        c: c.as_mut_ptr(),
        inner,
        cols,
    };
    let t = thread::thread_idx_x() as usize;
    // Powers of two, so dividing by them is a shift.
    let shift = (wide as u32).trailing_zeros();
    let (x, down, at_once) = (t & (wide - 1), t >> shift, THREADS as usize >> shift);
    // Words of 64 bits instead of T: a static cannot depend on a type parameter. Packs are aligned.
    let of_a = shared_array![Pack<u64, 2>; HIGHEST * DEPTH / 2].cast::<T>();
    let mut top = thread::block_idx_y() as usize * high;
    while top < rows {
        let now = high.min(rows - top);
        let mut slot = t;
        while slot < now * DEPTH {
            let (row, k) = (top + slot / DEPTH, slot % DEPTH);
            // SAFETY: an element of A, guarded by a comparison; a slot of this thread.
            unsafe {
                let from = of.a.wrapping_add(row * inner + k);
                let value = if k < inner { from.read() } else { T::ZERO };
                of_a.wrapping_add(slot).write(value);
            }
            slot += THREADS as usize;
        }
        // Orders the copies of A before the reads of them.
        thread::sync_threads();
        let mut group = thread::block_idx_x() as usize;
        while (group << shift) * lanes::<T>() < cols + lanes::<T>() - 1 {
            let pack = (group << shift) + x;
            // SAFETY: `require` states the lengths; the pack is this thread's in each of the rows.
            unsafe {
                match lanes::<T>() {
                    4 => of.part::<4>(of_a, [top, down, now], at_once, pack),
                    _ => of.part::<2>(of_a, [top, down, now], at_once, pack),
                }
            };
            group += thread::grid_dim_x() as usize;
        }
        // Orders the reads of A before the next copies.
        thread::sync_threads();
        top += thread::grid_dim_y() as usize * high;
    }
}

/// A product.
struct Short<T> {
    a: *const T,
    b: *const T,
    c: *mut T,
    inner: usize,
    cols: usize,
}

impl<T: Scalar> Short<T> {
    /// Computes pack number `pack` of rows `first`, `first + at_once`, … of `count` rows of C from
    /// `top` on.
    ///
    /// # Safety
    /// There are such rows and `of_a` has them, `at_once` is a multiple of LANES, the elements of a
    /// pack, and no other thread stores these elements.
    #[inline(always)]
    unsafe fn part<const LANES: usize>(
        &self,
        of_a: *const T,
        [top, first, count]: [usize; 3],
        at_once: usize,
        pack: usize,
    ) {
        let Self { inner, cols, .. } = *self;
        let to = self.c.wrapping_add((top + first) * cols);
        let skew = elements_behind(to.cast_const());
        // Elements from the first pack of the row on.
        let at = pack * LANES;
        let exists = |lane: usize| skew <= at + lane && at + lane < cols + skew;
        let is_whole = exists(0) && exists(LANES - 1);
        let mut of_b = [[T::ZERO; LANES]; DEPTH];
        let mut from = self.b.wrapping_add(at).wrapping_sub(skew);
        unrolled::<DEPTH>(|k| {
            unrolled::<LANES>(|lane| {
                let from = from.wrapping_add(lane);
                // SAFETY: an element of B.
                [of_b[k][lane]] = unsafe { load_if(from, k < inner && exists(lane)) };
            });
            from = pointer_here(from.wrapping_add(cols));
        });
        let mut to = to.wrapping_add(at).wrapping_sub(skew);
        let mut row = first;
        while row < count {
            let mut sums = [T::ZERO; LANES];
            unrolled::<{ DEPTH / 2 }>(|half| {
                let k = half * LANES;
                if k < DEPTH {
                    let from = of_a.wrapping_add(row * DEPTH + k);
                    // SAFETY: a pack of a row of A.
                    let of_a = unsafe { from.cast::<Pack<T, LANES>>().read().0 };
                    unrolled::<LANES>(|i| {
                        unrolled::<LANES>(|lane| {
                            sums[lane] = of_a[i].mul_add(of_b[(k + i) % DEPTH][lane], sums[lane]);
                        });
                    });
                }
            });
            // SAFETY: elements of C that only this thread stores; whole packs are aligned.
            unsafe {
                store_if(to, sums, is_whole);
                if !is_whole {
                    unrolled::<LANES>(|lane| {
                        store_if(to.wrapping_add(lane), [sums[lane]], exists(lane));
                    });
                }
            }
            to = to.wrapping_add(at_once * cols);
            row += at_once;
        }
    }
}
