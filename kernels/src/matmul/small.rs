//! Batches of small products: whole matrices in shared memory, several to a block.
//!
//! Change from [`sliced`](super::sliced), whose tiles are larger than such matrices: a block copies
//! A and B of some products as they lie in memory, one run of each, and computes all of C. A block
//! that has more of them copies the next ones meanwhile. Of a product with too many rows a block
//! has some rows of A, and all of B.
//!
//! - Loads: `cp.async`, 16 bytes each but for the ends of a run that begins or ends within a pack;
//!   it lies in shared memory as in memory, from that pack on. An A that all products share is
//!   copied once per group.
//! - A thread owns [`ROWS`] × [`COLS`] of a product's outputs: few, so that registers allow eight
//!   blocks a multiprocessor (six of doubles). Thread y of a column has rows y, y + n, y + 2n, … of
//!   n threads. Where packs move, its columns are adjacent; where single elements do, they are
//!   spaced like the rows, so that neighbouring lanes read and store neighbouring elements. Sums
//!   run in the order of k: the values of the naive kernel.
//! - Packs of A hold a row's next elements of the inner extent. Most lanes of a quarter of a warp
//!   share a row of A, or have neighbouring ones: no bank conflict at the usual sizes.
//! - Barriers: after the copies, before any thread reads them; after the reads, before the copies
//!   that replace what was read.
//! - Global reads: each element of A once, and of B for each run of rows.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm;
use crate::number::Scalar;
use crate::pack::{BYTES, Pack, elements_behind, lanes};

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Rows of C that a thread owns. With eight, registers allow half the threads.
pub const ROWS: usize = 4;
/// Columns of C that a thread owns.
pub const COLS: usize = 4;

/// The most outputs of a block at a time: 32 bits count them, and threads beyond them.
pub const MOST: usize = i32::MAX as usize;

/// Threads that own the outputs of one product.
pub const fn threads(rows: usize, cols: usize) -> usize {
    rows.div_ceil(ROWS).saturating_mul(cols.div_ceil(COLS))
}

/// Bytes of dynamic shared memory for `each` products.
pub const fn room<T>([rows, inner, cols]: [usize; 3], each: usize) -> usize {
    let of_b = packs_of::<T>(inner, cols, each);
    let all = packs_of::<T>(rows, inner, each).saturating_add(of_b);
    all.saturating_mul(size_of::<T>())
}

/// The same for a launch with this many blocks along x, where a block has `run` rows of each
/// product: twice the bytes where it has several groups.
pub const fn needed<T>(
    [run, inner, cols]: [usize; 3],
    each: usize,
    batch: usize,
    blocks: u32,
) -> usize {
    let each_time = room::<T>([run, inner, cols], each);
    let groups = batch.div_ceil(if each == 0 { 1 } else { each });
    match groups > blocks as usize {
        true => each_time.saturating_mul(2),
        false => each_time,
    }
}

/// Elements of shared memory for a run of A or B, which may begin and end within a pack.
const fn packs_of<T>(rows: usize, cols: usize, each: usize) -> usize {
    let all = rows.saturating_mul(cols).saturating_mul(each);
    all.saturating_add(2 * (lanes::<T>() - 1)) / lanes::<T>() * lanes::<T>()
}

/// C = A·B of each product of a batch.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`,
///   `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times. C has an element.
/// - `run`: rows of A that a block has at a time: all, or fewer of one product. `each`: products of
///   a block, with [`MOST`] outputs at most; 1 if `run` is less than `rows`. `packs`: whether 16
///   bytes are read and stored at a time; rows of A, B and C are then whole numbers of them, and
///   all three are aligned to them.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x with as much dynamic shared memory as [`needed`] says. The
/// grid strides over groups of `each` products along x, and over runs of rows along y.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = [8, 6],
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        each > 0,
        run == rows || run < rows && run > 0 && each == 1,
        run.saturating_mul(cols).saturating_mul(each) <= MOST,
        packs <= 1,
        packs == 0 || inner.is_multiple_of(lanes::<T>()),
        packs == 0 || cols.is_multiple_of(lanes::<T>()),
        packs == 0 || a.is_aligned_to(crate::pack::BYTES),
        packs == 0 || b.is_aligned_to(crate::pack::BYTES),
        packs == 0 || c.is_aligned_to(crate::pack::BYTES),
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1],
        shared_bytes as usize >= needed::<T>([run, inner, cols], each, batch, grid.x)
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the batch, its groups, the form of loads"
)]
pub fn matmul_small<T: Scalar>(
    a: &[T],
    b: &[T],
    mut c: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    of_a: usize,
    batch: usize,
    run: usize,
    each: usize,
    packs: usize,
) {
    let of = Small {
        a: a.as_ptr(),
        b: b.as_ptr(),
        c: c.as_mut_ptr(),
        extents: [rows, inner, cols],
        shares_a: of_a != batch,
        batch,
        run,
        each,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match packs {
            1 => of.groups::<{ lanes::<T>() }>(),
            _ => of.groups::<1>(),
        }
    }
}

/// A batch of small products.
struct Small<T> {
    a: *const T,
    b: *const T,
    c: *mut T,
    extents: [usize; 3],
    shares_a: bool,
    batch: usize,
    run: usize,
    each: usize,
}

impl<T: Scalar> Small<T> {
    /// Computes the block's groups of products, LANES elements at a time.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires, and rows that are whole numbers of
    /// LANES elements, aligned to them. All threads of the launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn groups<const LANES: usize>(&self) {
        let [rows, inner, cols] = self.extents;
        let shared = asm::dynamic_shared();
        let bytes = size_of::<T>() as u32;
        let to_b = packs_of::<T>(self.run, inner, self.each) as u32 * bytes;
        let second = room::<T>([self.run, inner, cols], self.each) as u32;
        // There is an output where these divide, so nothing here is 0; `max` tells the compiler.
        let high = self.run.div_ceil(ROWS) as u32;
        let across = (cols.div_ceil(COLS) as u32).max(1);
        let threads = (high * across).max(1);
        let groups = self.batch.div_ceil(self.each.max(1));
        // The products of a group: the first, and how many.
        let products = |group: usize| {
            let first = group * self.each;
            (first, self.each.min(self.batch - first))
        };
        let mut top = thread::block_idx_y() as usize * self.run;
        while top < rows {
            let of_run = self.run.min(rows - top);
            // Where a group's rows of A and its B begin, and how many of each there are.
            let runs = |group: usize| {
                let (first, now) = products(group);
                let (first_a, now_a) = if self.shares_a { (0, 1) } else { (first, now) };
                let of_a = self.a.wrapping_add((first_a * rows + top) * inner);
                let of_b = self.b.wrapping_add(first * inner * cols);
                [(of_a, now_a * of_run * inner), (of_b, now * inner * cols)]
            };
            let start = |group: usize, to: u32| {
                let [(of_a, all_a), (of_b, all_b)] = runs(group);
                // SAFETY: runs of the operands, and their places in shared memory, which no thread
                // reads.
                unsafe {
                    copy::<T, LANES>(to, of_a, all_a);
                    copy::<T, LANES>(to + to_b, of_b, all_b);
                }
            };
            let mut group = thread::block_idx_x() as usize;
            if group < groups {
                start(group, shared);
            }
            cp_async_commit_group();
            // Where the group is: in the first half of shared memory, or in the second.
            let mut half = 0;
            while group < groups {
                let next = group + thread::grid_dim_x() as usize;
                if next < groups {
                    start(next, shared + (second - half));
                }
                // Commits an empty group too: all but the last one have arrived after the wait.
                cp_async_commit_group();
                // Orders all threads' copies of this group before the reads of them.
                cp_async_wait_group::<1>();
                thread::sync_threads();
                let (first, now) = products(group);
                let [at_a, at_b] = runs(group).map(|(from, _)| behind::<T, LANES>(from) * bytes);
                let [of_a, of_b] = [shared + half + at_a, shared + half + to_b + at_b];
                let mut place = thread::thread_idx_x();
                while place < now as u32 * threads {
                    let (product, place_in) = (place / threads, place % threads);
                    let (y, x) = (place_in / across, place_in % across);
                    let before_a = if self.shares_a { 0 } else { product };
                    let slots = [
                        of_a + before_a * (self.run * inner) as u32 * bytes,
                        of_b + product * (inner * cols) as u32 * bytes,
                    ];
                    let above = (first + product as usize) * rows + top;
                    let c = self.c.wrapping_add(above * cols);
                    let (at, of) = ([y, x], [of_run as u32, high, across]);
                    // SAFETY: both matrices are there, and only this thread has these outputs.
                    unsafe { self.outputs::<LANES>(slots, at, of, c) };
                    place += THREADS;
                }
                // Orders all reads before the copies of the group after the next one, or of the
                // next run.
                thread::sync_threads();
                half = second - half;
                group = next;
            }
            top += thread::grid_dim_y() as usize * self.run;
        }
    }

    /// Computes a thread's outputs of `rows` rows of one product: rows y, y + `high`, …, and COLS
    /// columns: packs from COLS · x on, or x, x + `across`, …, so that lanes read and store
    /// neighbouring elements.
    ///
    /// # Safety
    /// The addresses are those of A's rows and of B in shared memory, `c` is their C, and no other
    /// thread has these outputs. Rows are whole numbers of LANES elements, aligned to them.
    #[inline(always)]
    unsafe fn outputs<const LANES: usize>(
        &self,
        [of_a, of_b]: [u32; 2],
        [y, x]: [u32; 2],
        [rows, high, across]: [u32; 3],
        c: *mut T,
    ) {
        const { assert!(COLS.is_multiple_of(LANES) && COLS <= 4 && LANES <= COLS) };
        let bytes = size_of::<T>() as u32;
        let [_, inner, cols] = self.extents.map(|extent| extent as u32);
        let col = |j: usize| match LANES {
            1 => x + j as u32 * across,
            _ => x * COLS as u32 + j as u32,
        };
        // Beyond the matrices the last row and columns are read; these sums are not stored.
        let of_rows: [u32; ROWS] = core::array::from_fn(|i| {
            let row = (y + i as u32 * high).min(rows - 1);
            of_a + row * inner * bytes
        });
        let of_cols: [u32; COLS] = core::array::from_fn(|j| {
            let col = col(j / LANES * LANES).min(cols - LANES as u32);
            of_b + col * bytes
        });
        let mut sums = [[T::ZERO; COLS]; ROWS];
        let mut k = 0;
        // A pack's length of the inner extent at a time: its loads are in flight together.
        while k + lanes::<T>() as u32 <= inner {
            // SAFETY: inside the matrices.
            unsafe {
                match lanes::<T>() {
                    2 => add::<T, LANES, 2>(&mut sums, of_rows, of_cols, [k, cols]),
                    _ => add::<T, LANES, 4>(&mut sums, of_rows, of_cols, [k, cols]),
                }
            }
            k += lanes::<T>() as u32;
        }
        while LANES == 1 && k < inner {
            // SAFETY: as above.
            unsafe { add::<T, 1, 1>(&mut sums, of_rows, of_cols, [k, cols]) };
            k += 1;
        }
        unrolled::<ROWS>(|i| {
            let row = y + i as u32 * high;
            if row < rows {
                let to = c.wrapping_add(row as usize * cols as usize);
                unrolled::<COLS>(|j| {
                    if j % LANES == 0 && col(j) < cols {
                        let to = to.wrapping_add(col(j) as usize).cast::<Pack<T, LANES>>();
                        let pack = core::array::from_fn(|lane| sums[i][j + lane]);
                        // SAFETY: inside C; only this thread has this row and these columns, and
                        // `to` is aligned to the elements.
                        unsafe {
                            match LANES {
                                1 => to.cast::<T>().write(pack[0]),
                                _ => to.write(Pack(pack)),
                            }
                        }
                    }
                });
            }
        });
    }
}

/// Adds STEP products to each sum, from k on.
///
/// # Safety
/// The rows of A and columns of B have elements k to k + STEP in shared memory, packs of LANES are
/// aligned, and STEP is a whole number of them.
#[inline(always)]
unsafe fn add<T: Scalar, const LANES: usize, const STEP: usize>(
    sums: &mut [[T; COLS]; ROWS],
    of_rows: [u32; ROWS],
    of_cols: [u32; COLS],
    [k, cols]: [u32; 2],
) {
    let bytes = size_of::<T>() as u32;
    let mut a = [[T::ZERO; STEP]; ROWS];
    unrolled::<ROWS>(|i| {
        unrolled::<STEP>(|at| {
            if at % LANES == 0 {
                // SAFETY: passed on to the caller.
                let pack: [T; LANES] =
                    unsafe { asm::load_shared(of_rows[i] + (k + at as u32) * bytes) };
                unrolled::<LANES>(|lane| a[i][at + lane] = pack[lane]);
            }
        });
    });
    unrolled::<STEP>(|at| {
        let row = (k + at as u32) * cols * bytes;
        let mut b = [T::ZERO; COLS];
        unrolled::<COLS>(|j| {
            if j % LANES == 0 {
                // SAFETY: as above.
                let pack: [T; LANES] = unsafe { asm::load_shared(of_cols[j] + row) };
                unrolled::<LANES>(|lane| b[j + lane] = pack[lane]);
            }
        });
        unrolled::<ROWS>(|i| {
            unrolled::<COLS>(|j| sums[i][j] = a[i][at].mul_add(b[j], sums[i][j]));
        });
    });
}

/// Elements of shared memory before a run that begins at this address: it lies there as in memory,
/// from the pack on in which it begins.
#[inline(always)]
fn behind<T, const LANES: usize>(from: *const T) -> u32 {
    match LANES {
        1 => elements_behind(from) as u32,
        _ => 0,
    }
}

/// Starts this thread's share of a copy of `len` elements to shared memory: whole packs, and the
/// elements before and behind them one by one.
///
/// # Safety
/// `from` has `len` elements and `slot`, which is aligned to 16 bytes, room for them and those
/// [`behind`] them. With LANES above 1 they are whole packs.
#[inline(always)]
unsafe fn copy<T, const LANES: usize>(slot: u32, from: *const T, len: usize) {
    let lanes = lanes::<T>() as u32;
    let begin = behind::<T, LANES>(from);
    let end = begin + len as u32;
    let head = begin.next_multiple_of(lanes).min(end);
    let tail = (end / lanes * lanes).max(head);
    let from = from.wrapping_sub(begin as usize);
    let place = |at: u32| {
        (
            slot + at * size_of::<T>() as u32,
            from.wrapping_add(at as usize),
        )
    };
    let t = thread::thread_idx_x();
    let mut at = head + t * lanes;
    while at < tail {
        let (slot, from) = place(at);
        // SAFETY: passed on to the caller.
        unsafe { asm::copy(BYTES / 4, slot, from.cast(), true) };
        at += THREADS * lanes;
    }
    if LANES == 1 {
        for (at, end) in [(begin + t, head), (tail + t, end)] {
            if at < end {
                let (slot, from) = place(at);
                // SAFETY: as above.
                unsafe {
                    match size_of::<T>() {
                        4 => asm::copy(1, slot, from.cast(), true),
                        _ => asm::copy_doubles(1, slot, from.cast(), true),
                    }
                }
            }
        }
    }
}
