//! Products with an inner extent of at most sixteen: only the speed of writing C counts.
//!
//! Change from [`register_tile`](super::register_tile): only A lies in shared memory. A thread
//! keeps its columns of B in registers and goes down the rows of C, a pack in each.
//!
//! - C\[r, j\] = Σ A\[r, k\] · B\[k, j\], added in the order of k: the values of the naive kernel.
//! - A pack is 16 bytes, or 8 of an inner extent above [`MIDDLE`], so that columns of B fit the
//!   registers of three blocks. `wide` neighbouring threads own neighbouring packs of a row of C;
//!   the other threads own the same packs of the rows below.
//! - Rows of C may begin anywhere. A thread's rows are a multiple of LANES apart, so all of them
//!   have the same offset from a pack ([`anywhere`](super::anywhere)), and its packs are aligned.
//!   The first and the last pack of a row may be shared with the rows beside it: there single
//!   elements are stored. B is read in packs if all rows of B and C are whole ones.
//! - The block copies `high` rows of A, padded with zeros, by `cp.async`, and B's loads start before
//!   the copies arrive. One barrier orders these before the reads, which are of the same pack in all
//!   threads of a row of C; another one orders the reads before the next copies.
//! - Global reads per element of C: inner · LANES/(rows of a thread) of B, and of A inner for each
//!   block's columns.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group, shared_address};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm::{self, load_if, store_if};
use crate::here::{global_here, zero_here};
use crate::number::Scalar;
use crate::pack::{self, Pack, elements_behind, lanes};

/// Inner extents up to this have their own loops in [`matmul_short`]. Longer ones multiply [`DEPTH`]
/// elements, zeros beyond the extent.
const SHALLOW: usize = 2;
/// The longest inner extent of [`matmul_short`], of whose blocks four fit a multiprocessor.
pub const DEPTH: usize = 8;
/// The longest one of [`matmul_short_deep`], of whose blocks three fit.
pub const DEEPEST: usize = 16;
/// The longest one with packs of 16 bytes.
pub const MIDDLE: usize = 12;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// The most rows of a block.
pub const HIGHEST: usize = 256;
/// The largest extent, and the most runs of rows: 32 bits count them, and what is computed before
/// the first copy delays it.
pub const MOST: usize = 1 << 31;

/// Elements of a thread in each row of C.
pub const fn each<T>(inner: usize) -> usize {
    if inner <= MIDDLE {
        lanes::<T>()
    } else {
        lanes::<T>() / 2
    }
}

/// Groups of `wide` packs of `each` elements that cover a row of C: wherever it begins, or if all
/// rows are whole packs.
pub const fn groups(cols: usize, each: usize, wide: usize, whole: bool) -> usize {
    let before = if whole { 0 } else { each - 1 };
    cols.saturating_add(before).div_ceil(wide * each)
}

/// Runs of `high` rows of all products.
pub const fn runs(rows: usize, high: usize, batch: usize) -> usize {
    rows.div_ceil(high).saturating_mul(batch)
}

macro_rules! kernel {
    ($name:ident, $depth:ident, $min_blocks:literal, $multiply:ident) => {
        /// C = A · B of each product of a batch.
        ///
        /// # Parameters
        /// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or
        ///   `batch`. `b`, `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times.
        ///   C has one. There are at most [`MOST`] [`runs`] of rows.
        /// - `wide`: the logarithm of the threads that share a row of C; a block's other threads
        ///   have a multiple of a pack's elements of rows. `high`: the logarithm of a block's rows.
        /// - `whole`: 1 if B and C, and all their rows, are whole packs, which then move.
        ///
        /// # Launch
        /// Blocks of [`THREADS`] threads along x. The grid strides over [`groups`] of columns along
        /// x and over [`runs`] of rows along y.
        #[kernel(
            instances(f32, f64),
            max_threads = 256,
            min_blocks = $min_blocks,
            require(
                inner <= $depth,
                of_a == 1 || of_a == batch,
                super::slices::elements(rows, inner, of_a) == Some(a.len()),
                super::slices::elements(inner, cols, batch) == Some(b.len()),
                super::slices::elements(rows, cols, batch) == Some(c.len()),
                !c.is_empty(),
                rows <= MOST && cols <= MOST && batch <= MOST,
                wide <= (THREADS as usize / lanes::<T>()).ilog2() as usize,
                high <= HIGHEST.ilog2() as usize,
                runs(rows, 1 << high, batch) <= MOST,
                whole <= 1,
                whole == 0 || cols.is_multiple_of(each::<T>(inner)),
                whole == 0 || b.is_aligned_to(each::<T>(inner) * size_of::<T>()),
                whole == 0 || c.is_aligned_to(each::<T>(inner) * size_of::<T>()),
                [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
            )
        )]
        #[allow(
            clippy::too_many_arguments,
            reason = "three matrices, three extents, the batch, the shape of a block, its packs"
        )]
        pub fn $name<T: Scalar>(
            a: &[T],
            b: &[T],
            mut c: Out<T>,
            rows: usize,
            inner: usize,
            cols: usize,
            of_a: usize,
            batch: usize,
            wide: usize,
            high: usize,
            whole: usize,
        ) {
            // Words of 64 bits instead of T: a static cannot depend on a type parameter. Packs are
            // aligned.
            let of_a_run = shared_array![Pack<u64, 2>; HIGHEST * $depth / 2].cast::<T>();
            let of = Short {
                a: a.as_ptr(),
                b: b.as_ptr(),
                c: c.as_mut_ptr(),
                extents: [rows, inner, cols].map(|extent| extent as u32),
                shares_a: of_a == 1,
                batch: batch as u32,
                shifts: [wide, high].map(|of| of as u32),
                whole: whole == 1,
                of_a: of_a_run,
            };
            // SAFETY: `require` states the lengths and the shape of the block.
            unsafe { of.$multiply() }
        }
    };
}
kernel!(matmul_short, DEPTH, 4, multiply);
kernel!(matmul_short_deep, DEEPEST, 3, multiply_deep);

/// A batch of products, and a block's rows of A in shared memory.
struct Short<T> {
    a: *const T,
    b: *const T,
    c: *mut T,
    extents: [u32; 3],
    shares_a: bool,
    batch: u32,
    shifts: [u32; 2],
    whole: bool,
    of_a: *mut T,
}

/// A row of A of at most [`SHALLOW`] elements of 4 bytes. Rows begin at multiples of 8 bytes.
#[repr(C, align(8))]
struct Half<T>([T; SHALLOW]);

impl<T: Scalar> Short<T> {
    /// # Safety
    /// That of [`runs`](Self::runs).
    #[inline(always)]
    unsafe fn multiply(&self) {
        let [_, inner, _] = self.extents;
        // SAFETY: passed on to the caller.
        unsafe {
            match (lanes::<T>(), inner as usize <= SHALLOW) {
                (4, true) => self.runs::<4, SHALLOW, SHALLOW, SHALLOW>(),
                (4, false) => self.runs::<4, 4, DEPTH, DEPTH>(),
                (_, true) => self.runs::<2, SHALLOW, SHALLOW, SHALLOW>(),
                (_, false) => self.runs::<2, 2, DEPTH, DEPTH>(),
            }
        }
    }

    /// # Safety
    /// That of [`runs`](Self::runs).
    #[inline(always)]
    unsafe fn multiply_deep(&self) {
        let [_, inner, _] = self.extents;
        // SAFETY: passed on to the caller.
        unsafe {
            match (lanes::<T>(), inner as usize <= MIDDLE) {
                (4, true) => self.runs::<4, 4, MIDDLE, DEEPEST>(),
                (4, false) => self.runs::<2, 4, DEEPEST, DEEPEST>(),
                (_, true) => self.runs::<2, 2, MIDDLE, DEEPEST>(),
                (_, false) => self.runs::<1, 2, DEEPEST, DEEPEST>(),
            }
        }
    }

    /// Computes the block's runs of rows in its groups of columns, LANES elements of a row in each
    /// thread. Packs of A have OF_A elements, its rows in shared memory PITCH.
    ///
    /// # Safety
    /// The operands and the block are as the kernels require, with an inner extent of at most DEPTH.
    #[inline(always)]
    unsafe fn runs<
        const LANES: usize,
        const OF_A: usize,
        const DEPTH: usize,
        const PITCH: usize,
    >(
        &self,
    ) {
        let ([rows, _, cols], [shift, shift_down]) = (self.extents, self.shifts);
        let beyond = if self.whole { 0 } else { LANES as u32 - 1 };
        let packs = (cols + beyond).div_ceil(LANES as u32);
        let groups = (packs + ((1 << shift) - 1)) >> shift;
        let first = thread::block_idx_x();
        if first >= groups {
            return;
        }
        let of_one = (rows + ((1 << shift_down) - 1)) >> shift_down;
        let mut run = thread::block_idx_y();
        while run < of_one * self.batch {
            let product = match self.batch {
                // Most launches have one: they do not divide.
                1 => 0,
                // There is a run, so nothing here is 0; `max` tells the compiler.
                _ => run / of_one.max(1),
            };
            let top = (run - product * of_one) << shift_down;
            let now = (rows - top).min(1 << shift_down);
            // SAFETY: these rows are there.
            unsafe { self.start_copies::<PITCH>(product, top, now) };
            let mut group = first;
            while group < groups {
                // SAFETY: the pack is this thread's in each of the rows.
                unsafe {
                    self.part::<LANES, OF_A, DEPTH, PITCH>([product, top, now], group, || {
                        if group == first {
                            // Orders the copies of A before the reads of them.
                            cp_async_wait_group::<0>();
                            thread::sync_threads();
                        }
                    });
                };
                // Both are below 2³¹.
                group += thread::grid_dim_x();
            }
            // Orders the reads of A before the next copies.
            thread::sync_threads();
            run += thread::grid_dim_y();
        }
    }

    /// What lies before the matrix of a product, in elements.
    #[inline(always)]
    fn before(&self, product: u32, [rows, cols]: [u32; 2]) -> usize {
        if self.batch == 1 {
            return 0;
        }
        // Opaque to LLVM, which would compute products of 64 bits ahead of the branch.
        (product as usize + zero_here()) * rows as usize * cols as usize
    }

    /// Starts this thread's share of a copy of `now` rows of A to shared memory, from row `top` of
    /// its matrix on.
    ///
    /// # Safety
    /// There are such rows, at most HIGHEST, and no thread reads them in shared memory.
    #[inline(always)]
    unsafe fn start_copies<const PITCH: usize>(&self, product: u32, top: u32, now: u32) {
        let ([rows, inner, _], t) = (self.extents, thread::thread_idx_x());
        let (k, mut row) = (t % PITCH as u32, t / PITCH as u32);
        let product = if self.shares_a { 0 } else { product };
        let of_product = self.a.wrapping_add(self.before(product, [rows, inner]));
        let of_run = of_product.wrapping_add(top as usize * inner as usize);
        let mut from = of_run.wrapping_add((row * inner + k) as usize);
        let mut slot = shared_address(self.of_a) + t * size_of::<T>() as u32;
        let at_once = THREADS / PITCH as u32;
        while row < now {
            // SAFETY: an element of A, guarded by a comparison; a slot of this thread.
            unsafe {
                match size_of::<T>() {
                    4 => asm::copy(1, slot, from.cast(), k < inner),
                    _ => asm::copy_doubles(1, slot, from.cast(), k < inner),
                }
            }
            from = from.wrapping_add((at_once * inner) as usize);
            slot += THREADS * size_of::<T>() as u32;
            row += at_once;
        }
        cp_async_commit_group();
    }

    /// Computes this thread's pack of group number `group`, in its rows of `now` rows of C from `top`
    /// on. Calls `copied` before it reads A in shared memory.
    ///
    /// # Safety
    /// There are such rows, `copied` orders their copies before these reads, and no other thread
    /// stores these elements.
    #[inline(always)]
    unsafe fn part<
        const LANES: usize,
        const OF_A: usize,
        const DEPTH: usize,
        const PITCH: usize,
    >(
        &self,
        [product, top, now]: [u32; 3],
        group: u32,
        copied: impl FnOnce(),
    ) {
        let ([rows, inner, cols], [shift, _]) = (self.extents, self.shifts);
        let t = thread::thread_idx_x();
        // A multiple of LANES.
        let at_once = THREADS >> shift;
        let (pack, first) = ((group << shift) + (t & ((1 << shift) - 1)), t >> shift);
        let of_c = self.c.wrapping_add(self.before(product, [rows, cols]));
        let to = of_c.wrapping_add((top + first) as usize * cols as usize);
        let skew = match self.whole {
            true => 0,
            false => (elements_behind(to.cast_const()) % LANES) as u32,
        };
        // Elements from the first pack of the row on.
        let at = pack * LANES as u32;
        // No branches, of which each load would have some.
        let exists: [bool; LANES] = core::array::from_fn(|lane| {
            let at = at + lane as u32;
            (skew <= at) & (at < cols + skew)
        });
        let is_whole = exists[0] & exists[LANES - 1];
        let mut of_b = [[T::ZERO; LANES]; DEPTH];
        let of_product = self.b.wrapping_add(self.before(product, [inner, cols]));
        let (at, skew) = (at as usize, skew as usize);
        let mut from = of_product.wrapping_add(at).wrapping_sub(skew);
        if self.whole {
            unrolled::<DEPTH>(|k| {
                // SAFETY: a pack of B, aligned.
                of_b[k] = unsafe { load_if(from, ((k as u32) < inner) & is_whole) };
                from = global_here(from.wrapping_add(cols as usize));
            });
        } else {
            unrolled::<DEPTH>(|k| {
                unrolled::<LANES>(|lane| {
                    let from = from.wrapping_add(lane);
                    // SAFETY: an element of B.
                    [of_b[k][lane]] = unsafe { load_if(from, ((k as u32) < inner) & exists[lane]) };
                });
                from = global_here(from.wrapping_add(cols as usize));
            });
        }
        copied();
        let mut to = to.wrapping_add(at).wrapping_sub(skew);
        let mut row = first;
        while row < now {
            let mut sums = [T::ZERO; LANES];
            unrolled::<8>(|step| {
                let k = step * OF_A;
                if k < DEPTH {
                    let from = self.of_a.wrapping_add(row as usize * PITCH + k);
                    // SAFETY: a pack of a row of A, or half of one where rows are as short.
                    let of_a = unsafe {
                        match OF_A * size_of::<T>() == pack::BYTES {
                            true => from.cast::<Pack<T, OF_A>>().read().0,
                            false => {
                                let half = from.cast::<Half<T>>().read().0;
                                core::array::from_fn(|i| half[i % SHALLOW])
                            }
                        }
                    };
                    unrolled::<OF_A>(|i| {
                        unrolled::<LANES>(|lane| {
                            let b = of_b[(k + i) % DEPTH][lane];
                            sums[lane] = of_a[i].mul_add(b, sums[lane]);
                        });
                    });
                }
            });
            // SAFETY: elements of C that only this thread stores; whole packs are aligned.
            unsafe {
                store_if(to, sums, is_whole);
                if !is_whole {
                    unrolled::<LANES>(|lane| {
                        store_if(to.wrapping_add(lane), [sums[lane]], exists[lane]);
                    });
                }
            }
            to = to.wrapping_add(at_once as usize * cols as usize);
            row += at_once;
        }
    }
}
