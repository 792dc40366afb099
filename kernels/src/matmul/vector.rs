//! Products of a matrix and a vector: each element of the matrix is used once, so only the speed of
//! reading it counts.
//!
//! Change from [`sliced`](super::sliced): no tiles in shared memory, no asynchronous copies. Every
//! thread has `IN_FLIGHT` loads of the matrix in flight, 16 bytes each where rows are whole packs.
//!
//! `matmul_rows`, A · b: sums\[s\]\[i\] = Σ A\[i, k\] · b\[k\] over k in slice s.
//! - A warp owns one row, or several short ones. A row gets the fewest lanes, at least eight, that
//!   can have all of its packs in flight together. Of n lanes, lane l reads packs l, l + n, …
//!   (coalesced). Each element of a pack has its own sum; the thread adds them, then shuffles add
//!   the row's lanes.
//! - No barrier. Global reads per element of C: inner of A, inner of b, which the caches hold.
//!
//! `matmul_cols`, a · B: sums\[s\]\[j\] = Σ a\[k\] · B\[k, j\] over k in slice s.
//! - A block owns `columns` columns, 128 bytes of each row. Neighbouring threads read neighbouring
//!   packs of a row, then of the next row; the block reads a run of rows at a time and strides by
//!   that run.
//! - Shuffles add the lanes with the same columns. The first of them writes the warp's sum to slot
//!   (warp, column) of shared memory, and thread j of the block adds column j in the order of the
//!   warps.
//! - The barrier after the writes orders them before those reads; the barrier after the reads
//!   orders them before the writes for the next columns.
//! - Global reads per element of C: inner of B, and of a, which the caches hold.
//!
//! From [`WIDE_FROM`] columns on, every thread owns the columns of one pack and adds all rows of
//! the slice; there is nothing to combine.
//!
//! [`fold`](super::fold) adds the sums of several slices in a second launch.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::slices::slice;
use crate::number::Scalar;
use crate::pack::{Pack, lanes};

/// Threads of a block of `matmul_rows`, a warp for each row.
pub const ROW_THREADS: u32 = 256;
/// Threads of a block of `matmul_cols`.
pub const COL_THREADS: u32 = 512;
/// Bytes of a row of B that a block of `matmul_cols` reads.
const ACROSS: usize = 128;
/// Loads of the matrix that a thread has in flight.
const IN_FLIGHT: usize = 8;
/// The number in flight for what remains.
const FEW: usize = 4;
/// From this number of columns on, `matmul_cols` has one thread per pack of columns.
pub const WIDE_FROM: usize = 1 << 18;

const WARP: usize = 32;
const ROW_WARPS: usize = ROW_THREADS as usize / WARP;
const COL_WARPS: usize = COL_THREADS as usize / WARP;

/// Columns of C that a block of `matmul_cols` computes together, below [`WIDE_FROM`] columns.
const fn columns<T>() -> usize {
    ACROSS / size_of::<T>()
}

/// Lanes of a warp that share a row of N packs.
#[inline(always)]
const fn lanes_for(packs: usize) -> usize {
    match packs.div_ceil(FEW) {
        0..=8 => 8,
        9..=16 => 16,
        _ => WARP,
    }
}

/// Blocks of `matmul_rows` that cover all rows.
pub const fn row_blocks<T>(rows: usize, inner: usize) -> usize {
    rows.div_ceil(ROW_WARPS * WARP / lanes_for(inner / lanes::<T>()))
}

/// Blocks of `matmul_cols` that cover all columns.
pub const fn col_blocks<T>(cols: usize) -> usize {
    let wide = COL_THREADS as usize * lanes::<T>();
    cols.div_ceil(if cols < WIDE_FROM {
        columns::<T>()
    } else {
        wide
    })
}

/// A · b, with loads of 16 bytes.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, a whole number of packs in each row. `b`: `inner` elements.
///   Both are aligned to 16 bytes. `sums`: `slices` times `rows` elements. `cols`: 1.
///
/// # Launch
/// Blocks of [`ROW_THREADS`] threads along x, which cover the rows; y is 1, z runs over slices. The
/// grid strides over both.
#[kernel(
    instances(f32, f64),
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner == b.len(),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        cols == 1,
        inner.is_multiple_of(lanes::<T>()),
        a.is_aligned_to(crate::pack::BYTES),
        b.is_aligned_to(crate::pack::BYTES),
        [block.x, block.y, block.z, grid.y] == [ROW_THREADS, 1, 1, 1]
    )
)]
pub fn matmul_rows<T: Scalar>(
    a: &[T],
    b: &[T],
    mut sums: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let _ = cols;
    // SAFETY: `require` states all of it.
    unsafe { dot_rows::<T, { lanes::<T>() }>(a, b, sums.as_mut_ptr(), [rows, inner], slices) }
}

/// As [`matmul_rows`](struct@matmul_rows) with loads of single elements, for rows of any length at
/// any address.
#[kernel(
    instances(f32, f64),
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner == b.len(),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        cols == 1,
        [block.x, block.y, block.z, grid.y] == [ROW_THREADS, 1, 1, 1]
    )
)]
pub fn matmul_rows_ragged<T: Scalar>(
    a: &[T],
    b: &[T],
    mut sums: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let _ = cols;
    // SAFETY: `require` states all of it.
    unsafe { dot_rows::<T, 1>(a, b, sums.as_mut_ptr(), [rows, inner], slices) }
}

/// a · B, with loads of 16 bytes.
///
/// # Parameters
/// - `a`: `inner` elements. `b`: B, `inner · cols` elements, a whole number of packs in each row,
///   aligned to 16 bytes. `sums`: `slices` times `cols` elements. `rows`: 1.
///
/// # Launch
/// Blocks of [`COL_THREADS`] threads along x, which cover the columns; y is 1, z runs over slices.
/// The grid strides over both.
#[kernel(
    instances(f32, f64),
    require(
        inner == a.len(),
        inner.checked_mul(cols) == Some(b.len()),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        rows == 1,
        cols.is_multiple_of(lanes::<T>()),
        b.is_aligned_to(crate::pack::BYTES),
        [block.x, block.y, block.z, grid.y] == [COL_THREADS, 1, 1, 1]
    )
)]
pub fn matmul_cols<T: Scalar>(
    a: &[T],
    b: &[T],
    mut sums: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let _ = rows;
    // SAFETY: `require` states all of it.
    unsafe {
        sum_cols::<T, { lanes::<T>() }, { columns::<T>() }>(
            a,
            b,
            sums.as_mut_ptr(),
            [inner, cols],
            slices,
        )
    }
}

/// As [`matmul_cols`](struct@matmul_cols) with loads of single elements, for rows of any length at
/// any address.
#[kernel(
    instances(f32, f64),
    require(
        inner == a.len(),
        inner.checked_mul(cols) == Some(b.len()),
        super::slices::sums(rows, cols, slices) == Some(sums.len()),
        rows == 1,
        [block.x, block.y, block.z, grid.y] == [COL_THREADS, 1, 1, 1]
    )
)]
pub fn matmul_cols_ragged<T: Scalar>(
    a: &[T],
    b: &[T],
    mut sums: Out<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
) {
    let _ = rows;
    // SAFETY: `require` states all of it.
    unsafe { sum_cols::<T, 1, { columns::<T>() }>(a, b, sums.as_mut_ptr(), [inner, cols], slices) }
}

/// # Safety
/// A has `rows · inner` elements, `b` `inner`; both are aligned to packs of LANES elements, and a
/// row is a whole number of packs. `sums` has `slices · rows`, and only this launch uses it. All
/// threads of the launch call it: blocks of [`ROW_THREADS`] along x, a grid without y.
#[inline(always)]
unsafe fn dot_rows<T: Scalar, const LANES: usize>(
    a: &[T],
    b: &[T],
    sums: *mut T,
    [rows, inner]: [usize; 2],
    slices: usize,
) {
    let mut number = thread::block_idx_z() as usize;
    while number < slices {
        let (first, len) = slice(inner, slices, number);
        let of = Rows {
            of_a: a.as_ptr().wrapping_add(first),
            of_b: b.as_ptr().wrapping_add(first),
            packs: len / LANES,
            rows,
            pitch: inner,
            sums: sums.wrapping_add(number * rows),
        };
        // SAFETY: passed on to the caller; a layer of the grid has one slice.
        unsafe {
            of.each::<LANES>();
        }
        number += thread::grid_dim_z() as usize;
    }
}

/// One slice of the product of rows.
struct Rows<T> {
    of_a: *const T,
    of_b: *const T,
    packs: usize,
    rows: usize,
    /// Elements between the starts of two rows.
    pitch: usize,
    sums: *mut T,
}

impl<T: Scalar> Rows<T> {
    /// Computes each row with as many lanes of a warp as [`lanes_for`] says.
    ///
    /// # Safety
    /// As for [`dot_rows`].
    #[inline(always)]
    unsafe fn each<const LANES: usize>(&self) {
        let t = thread::thread_idx_x();
        // A power of two, so dividing by it is a shift.
        let lanes = lanes_for(self.packs);
        let shift = lanes.trailing_zeros();
        let at_once = WARP >> shift;
        // SAFETY: in a one-dimensional block, lanes are numbered by thread index.
        let warp = unsafe { assume_warp_uniform(t / WARP as u32) } as usize;
        let (part, lane) = ((t as usize % WARP) >> shift, t as usize % lanes);
        let mut first = (thread::block_idx_x() as usize * ROW_WARPS + warp) * at_once;
        let of_b = self.of_b.cast::<[T; LANES]>().wrapping_add(lane);
        while first < self.rows {
            let row = first + part;
            let of_a = self.of_a.wrapping_add(row * self.pitch);
            let of_a = of_a.cast::<[T; LANES]>().wrapping_add(lane);
            let mut own = [T::ZERO; LANES];
            let pack = |i: usize| {
                // SAFETY: a pack of the row's slice, and one of b's.
                unsafe {
                    (
                        load::<T, LANES>(of_a.wrapping_add(i << shift)),
                        load::<T, LANES>(of_b.wrapping_add(i << shift)),
                    )
                }
            };
            let add = |(a, b): ([T; LANES], [T; LANES])| {
                unrolled::<LANES>(|lane| own[lane] = a[lane].mul_add(b[lane], own[lane]));
            };
            let packs = if row < self.rows {
                (self.packs + lanes - 1 - lane) >> shift
            } else {
                0
            };
            in_flight(packs, pack, add);
            let mut sum = own.into_iter().fold(T::ZERO, T::add);
            let mut delta = lanes / 2;
            while delta > 0 {
                // SAFETY: all lanes are here.
                let (other, _) =
                    unsafe { warp::warp_shuffle_down(u32::MAX, sum, delta as u32, lanes as u32) };
                sum = sum.add(other);
                delta /= 2;
            }
            if lane == 0 && row < self.rows {
                // SAFETY: only this lane has this row, and only this layer of the grid this slice.
                unsafe { self.sums.wrapping_add(row).write(sum) };
            }
            first += thread::grid_dim_x() as usize * ROW_WARPS * at_once;
        }
    }
}

/// # Safety
/// `a` has `inner` elements, B `inner · cols`; B is aligned to packs of LANES elements, and a row
/// is a whole number of packs. `sums` has `slices · cols`, and only this launch uses it. All
/// threads of the launch call it: blocks of [`COL_THREADS`] along x, a grid without y. COLS is
/// [`columns`].
#[inline(always)]
unsafe fn sum_cols<T: Scalar, const LANES: usize, const COLS: usize>(
    a: &[T],
    b: &[T],
    sums: *mut T,
    [inner, cols]: [usize; 2],
    slices: usize,
) {
    // Words of 64 bits instead of T: a static cannot depend on a type parameter.
    let slots = shared_array![u64; COL_WARPS * 16].cast::<T>();
    const { assert!(COLS * size_of::<T>() == ACROSS && ACROSS == 16 * size_of::<u64>()) };
    let t = thread::thread_idx_x() as usize;
    let (warp, lane) = (t / WARP, t % WARP);
    // Threads along the columns, and along the rows.
    let (wide, high) = (COLS / LANES, COL_THREADS as usize / (COLS / LANES));
    let own_col = t % wide * LANES;
    let mut number = thread::block_idx_z() as usize;
    while number < slices {
        let (first, len) = slice(inner, slices, number);
        if cols >= WIDE_FROM {
            let threads = COL_THREADS as usize;
            let mut col = (thread::block_idx_x() as usize * threads + t) * LANES;
            while col < cols {
                let of_a = a.as_ptr().wrapping_add(first);
                let of_b = b.as_ptr().wrapping_add(first * cols + col);
                let mut own = [T::ZERO; LANES];
                let pack = |i: usize| {
                    // SAFETY: a row of the slice and columns of B.
                    unsafe {
                        (
                            of_a.wrapping_add(i).read(),
                            load::<T, LANES>(of_b.wrapping_add(i * cols).cast()),
                        )
                    }
                };
                in_flight(len, pack, |(a, b): (T, [T; LANES])| {
                    unrolled::<LANES>(|lane| own[lane] = a.mul_add(b[lane], own[lane]));
                });
                let to = sums.wrapping_add(number * cols + col);
                // SAFETY: only this thread has these columns.
                unrolled::<LANES>(|lane| unsafe { to.wrapping_add(lane).write(own[lane]) });
                col += thread::grid_dim_x() as usize * threads * LANES;
            }
            number += thread::grid_dim_z() as usize;
            continue;
        }
        let mut left = thread::block_idx_x() as usize * COLS;
        while left < cols {
            let col = left + own_col;
            let row = t / wide;
            let rows = if col < cols {
                (len + high - 1 - row) / high
            } else {
                0
            };
            let of_a = a.as_ptr().wrapping_add(first + row);
            let of_b = b.as_ptr().wrapping_add((first + row) * cols + col);
            let mut own = [T::ZERO; LANES];
            let pack = |i: usize| {
                // SAFETY: a row of the slice and columns of B.
                unsafe {
                    (
                        of_a.wrapping_add(i * high).read(),
                        load::<T, LANES>(of_b.wrapping_add(i * high * cols).cast()),
                    )
                }
            };
            let add = |(a, b): (T, [T; LANES])| {
                unrolled::<LANES>(|lane| own[lane] = a.mul_add(b[lane], own[lane]));
            };
            in_flight(rows, pack, add);
            let mut delta = WARP / 2;
            while delta >= wide {
                unrolled::<LANES>(|part| {
                    // SAFETY: all lanes are here.
                    let (other, _) = unsafe {
                        warp::warp_shuffle_down(u32::MAX, own[part], delta as u32, WARP as u32)
                    };
                    own[part] = own[part].add(other);
                });
                delta /= 2;
            }
            // SAFETY: each column of each warp has one of these lanes, and one slot; after the
            // barrier each column has one thread.
            unsafe {
                if lane < wide {
                    unrolled::<LANES>(|part| {
                        slots.add(warp * COLS + own_col + part).write(own[part]);
                    });
                }
                // Orders all warps' sums before the reads of them.
                thread::sync_threads();
                if t < COLS && left + t < cols {
                    let mut sum = T::ZERO;
                    unrolled::<COL_WARPS>(|warp| sum = sum.add(slots.add(warp * COLS + t).read()));
                    sums.wrapping_add(number * cols + left + t).write(sum);
                }
                // Orders all reads before the next columns' sums.
                thread::sync_threads();
            }
            left += thread::grid_dim_x() as usize * COLS;
        }
        number += thread::grid_dim_z() as usize;
    }
}

/// Calls `add` with `load(i)` for each i below `count`, in order. [`IN_FLIGHT`] loads start before
/// the first is waited for.
#[inline(always)]
fn in_flight<E: Copy>(count: usize, load: impl Fn(usize) -> E, mut add: impl FnMut(E)) {
    let mut i = 0;
    while i + IN_FLIGHT <= count {
        let loaded: [E; IN_FLIGHT] = core::array::from_fn(|part| load(i + part));
        unrolled::<IN_FLIGHT>(|part| add(loaded[part]));
        i += IN_FLIGHT;
    }
    while i < count {
        // Past the end, repeats the last element, so that no load waits for a comparison.
        let loaded: [E; FEW] = core::array::from_fn(|part| load((i + part).min(count - 1)));
        unrolled::<FEW>(|part| {
            if i + part < count {
                add(loaded[part]);
            }
        });
        i += FEW;
    }
}

/// Loads LANES elements.
///
/// # Safety
/// The elements exist and are aligned to their total size, or LANES is 1.
#[inline(always)]
unsafe fn load<T: Scalar, const LANES: usize>(from: *const [T; LANES]) -> [T; LANES] {
    // SAFETY: passed on to the caller.
    unsafe {
        match LANES {
            1 => from.read(),
            _ => from.cast::<Pack<T, LANES>>().read().0,
        }
    }
}
