//! Products with up to 16 columns of f32, or 4 of f64. Each element of A is used once per column
//! only, so the speed of reading A decides. For f64 with more columns there is
//! [`direct`](super::direct).
//!
//! Change from [`sliced`](super::sliced): no tiles. Neighbouring threads read neighbouring elements
//! of a row of A, and the same rows of B; each has a sum for every column.
//!
//! - A team of `team` threads owns two rows of C at a time, in a block of [`THREADS`]. Thread l of
//!   n in a team takes elements l, l + n, … of the inner extent. With one column and rows of A that
//!   are whole packs, it can take packs of 16 bytes instead (`packs`).
//! - A part is a team, or one warp of a larger team. Its lanes exchange sums: in each step a lane
//!   keeps half of its columns and gives the other half away, until it has one. For each row, COLS
//!   columns cost COLS − 1 shuffles and log2(lanes / COLS) more, instead of log2(lanes) · COLS. The
//!   first lane of each column writes the part's sum to slot (part, row, column) of shared memory.
//!   One thread adds each output in the order of the team's parts. [Tickets](super::ticket) add the
//!   slices.
//! - The first barrier orders the writes to the slots before the additions that read them; the
//!   second one orders these reads before the writes for the next rows.
//! - Global reads per element of C: inner/cols of A, and inner/2 of B, because a team loads a row
//!   of B once for its two rows of C. The L1 cache holds B.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm::load_if;
use super::ticket::{Slices, in_flight};
use crate::here::{pointer_here, product_here};
use crate::number::Scalar;
use crate::pack::lanes;

/// The most columns of B and C.
pub const fn most_cols<T>() -> usize {
    match size_of::<T>() {
        4 => 16,
        _ => 4,
    }
}

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Rows of a team.
const ROWS: usize = 2;

const WARP: usize = 32;

/// Rows that a block owns.
pub const fn rows_of(team: usize) -> usize {
    THREADS as usize / team * ROWS
}

/// The fewest threads of a team: after the shuffles each column needs a lane.
pub const fn least_team(cols: usize) -> usize {
    match cols {
        0..=4 => 4,
        5..=8 => 8,
        _ => 16,
    }
}

/// Whether a block can be divided into teams of `team` threads for `cols` columns.
pub const fn divides(team: usize, cols: usize) -> bool {
    team.is_power_of_two() && team >= least_team(cols) && team <= THREADS as usize
}

/// C = A · B of two columns or more, of each product of a batch, and of one column of f64 by packs.
///
/// # Parameters
/// - `a`: `of_a` matrices A of `rows · inner` elements: 1 that all products share, or `batch`. `b`,
///   `c`: `batch` matrices of `inner · cols` and of `rows · cols` elements; `c` is not empty.
/// - `sums`: `slices` times the elements of `c`, `tickets`: one for each block's rows of each
///   product, 0 before and after; both are empty with one slice.
/// - `team`: threads that share a row, a power of two. `packs`: whether packs of 16 bytes of A are
///   loaded: there is one column of f64 then, rows of A are whole packs, and A and B are aligned to
///   them. The order of a sum depends on both, and on the slices.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x. The grid strides over rows along x and over slices along
/// z; along y it has a layer for each product.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 4,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        cols <= most_cols::<T>(),
        packs <= 1,
        cols >= 2 || packs == 1,
        divides(team, cols),
        packs == 0 || size_of::<T>() == 8 && cols == 1 && inner.is_multiple_of(lanes::<T>()),
        packs == 0 || a.is_aligned_to(crate::pack::BYTES),
        packs == 0 || b.is_aligned_to(crate::pack::BYTES),
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            rows.div_ceil(rows_of(team)).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        [block.x, block.y, block.z] == [THREADS, 1, 1],
        grid.y as usize == batch
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the teams"
)]
pub fn matmul_few_cols<T: Scalar>(
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
    team: usize,
    packs: usize,
) {
    let of = FewCols {
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
        team,
        whole: cols.is_power_of_two() && b.as_ptr().addr().is_multiple_of(16),
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match cols {
            1 if packs == 1 && size_of::<T>() == 8 => {
                of.each::<1, { lanes::<T>() }, { lanes::<T>() }, 4>()
            }
            2 => of.each::<2, 1, { lanes::<T>() }, 8>(),
            5..=8 if most_cols::<T>() > 4 => of.each::<8, 1, { lanes::<T>() }, 4>(),
            9.. if most_cols::<T>() > 4 => of.each::<16, 1, { lanes::<T>() }, 2>(),
            _ => of.each::<4, 1, { lanes::<T>() }, 4>(),
        }
    }
}

/// The same of one column. A block has fewer registers, so that more of them read A concurrently:
/// f32 16,039 × 10,414 × 1 takes 160 µs (`few_cols` 217), f64 3396 × 3339 × 1 28.2 (30.1). Packs of
/// f64 are the exception, and why was not found: 4096 × 4096 × 1 takes 36.0 µs here, 35.5 there.
///
/// # Parameters
/// As for [`matmul_few_cols`], with `packs` for f32 only.
///
/// # Launch
/// As for [`matmul_few_cols`].
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 6,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        cols == 1,
        divides(team, cols),
        packs <= 1,
        packs == 0 || size_of::<T>() == 4 && inner.is_multiple_of(lanes::<T>()),
        packs == 0 || a.is_aligned_to(crate::pack::BYTES),
        packs == 0 || b.is_aligned_to(crate::pack::BYTES),
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            rows.div_ceil(rows_of(team)).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        [block.x, block.y, block.z] == [THREADS, 1, 1],
        grid.y as usize == batch
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the teams"
)]
pub fn matmul_one_col<T: Scalar>(
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
    team: usize,
    packs: usize,
) {
    let of = FewCols {
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
        team,
        whole: false,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match packs == 1 && size_of::<T>() == 4 {
            true => of.each::<1, { lanes::<T>() }, { lanes::<T>() }, 4>(),
            false => of.each::<1, 1, { lanes::<T>() }, { 4 + 2 * lanes::<T>() }>(),
        }
    }
}

/// A batch of products with few columns.
struct FewCols<T> {
    a: *const T,
    b: *const T,
    to: Slices<T>,
    rows: usize,
    inner: usize,
    cols: usize,
    shares_a: bool,
    team: usize,
    /// Whether the columns are exactly COLS and B is aligned to 16 bytes. Then B's rows are loaded
    /// in packs if COLS is a multiple of PACK.
    whole: bool,
}

impl<T: Scalar> FewCols<T> {
    /// Computes the block's outputs. Each thread has sums for ROWS rows and COLS columns; COLS is a
    /// power of two. A load takes LANES elements of a row of A, or up to PACK of B. The loads of
    /// AT_ONCE steps are in flight.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires, and there are at most COLS columns.
    /// If LANES is above 1, COLS is 1, A and B are aligned to LANES elements, and a row of A is a
    /// whole number of them. All threads of the launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn each<
        const COLS: usize,
        const LANES: usize,
        const PACK: usize,
        const AT_ONCE: usize,
    >(
        &self,
    ) {
        const { assert!(COLS.is_power_of_two() && COLS <= 16 && (LANES == 1 || COLS == 1)) };
        // Words of 64 bits instead of T: a static cannot depend on a type parameter.
        let slots = shared_array![u64; THREADS as usize * ROWS].cast::<T>();
        let last = shared_array![u32; 1];
        let t = thread::thread_idx_x() as usize;
        // Powers of two, so dividing by them is a shift.
        let shift = (self.team as u32).trailing_zeros();
        // A part of a team is at most a warp; its lanes exchange sums. log2 of their number:
        let of_lanes = shift.min(WARP.trailing_zeros());
        let (lanes, parts) = (1 << of_lanes, 1 << (shift - of_lanes));
        let (of_team, member) = (t >> shift, t & (self.team - 1));
        let high = (THREADS as usize >> shift) * ROWS;
        let groups = (self.rows + high - 1) >> (high as u32).trailing_zeros();
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let (begin, len) = self.to.slice(self.inner, number);
            let mut group = thread::block_idx_x() as usize;
            while group < groups {
                let top = group * high;
                let at = (top + of_team * ROWS, begin, len, member);
                // SAFETY: passed on to the caller.
                let own = unsafe { self.part::<COLS, LANES, PACK, AT_ONCE>(at, lanes) };
                // SAFETY: each output of each part has one lane, and one slot; after the barrier
                // each output has one thread.
                unsafe {
                    // log2 of the number of lanes that have the same column.
                    let same = of_lanes - COLS.trailing_zeros();
                    let lane = t & (lanes - 1);
                    if lane & ((1 << same) - 1) == 0 {
                        let of_part = (t >> of_lanes) * ROWS * COLS;
                        let slots = slots.wrapping_add(of_part + (lane >> same));
                        unrolled::<ROWS>(|row| slots.wrapping_add(row * COLS).write(own[row]));
                    }
                    // Orders all parts' sums before the reads of them.
                    thread::sync_threads();
                    self.outputs::<COLS>(top, high, |out, at| {
                        let of_team = out / (ROWS * COLS) * parts * ROWS * COLS;
                        let slots = slots.wrapping_add(of_team + out % (ROWS * COLS));
                        let mut sum = T::ZERO;
                        let mut part = 0;
                        while part < parts {
                            sum = sum.add(slots.wrapping_add(part * ROWS * COLS).read());
                            part += 1;
                        }
                        self.to.store(number, at, sum);
                    });
                    if self.to.slices > 1
                        && self
                            .to
                            .is_last(product_here() * groups + group, t == 0, last)
                    {
                        self.outputs::<COLS>(top, high, |_, at| self.to.add::<1>(|_| Some(at)));
                    }
                    // Orders all reads before the next rows' sums.
                    thread::sync_threads();
                }
                group += thread::grid_dim_x() as usize;
            }
            number += thread::grid_dim_z() as usize;
        }
    }

    /// Calls `each` for this thread's outputs among the `high` rows from `top` on. Its arguments
    /// are the output's index in `high` · COLS, and its index in C.
    #[inline(always)]
    fn outputs<const COLS: usize>(&self, top: usize, high: usize, each: impl Fn(usize, usize)) {
        let mut out = thread::thread_idx_x() as usize;
        while out < high * COLS {
            let (row, col) = (top + out / COLS, out % COLS);
            if row < self.rows && col < self.cols {
                each(out, (product_here() * self.rows + row) * self.cols + col);
            }
            out += THREADS as usize;
        }
    }

    /// The sums of ROWS rows from `top` on over the slice of `len` elements from `begin` on, added
    /// over the part's `lanes` lanes. Each lane returns those of one column:
    /// lane / (lanes / COLS).
    ///
    /// # Safety
    /// As for [`each`](Self::each); all lanes of a warp call it.
    #[inline(always)]
    unsafe fn part<
        const COLS: usize,
        const LANES: usize,
        const PACK: usize,
        const AT_ONCE: usize,
    >(
        &self,
        (top, begin, len, member): (usize, usize, usize, usize),
        lanes: usize,
    ) -> [T; ROWS] {
        let packs = len / LANES;
        let count = if top < self.rows && member < packs {
            (packs - member + self.team - 1) >> (self.team as u32).trailing_zeros()
        } else {
            0
        };
        let first = begin + member * LANES;
        let product = product_here();
        let above = if self.shares_a {
            0
        } else {
            product * self.rows
        };
        let mut of_a = self.a.wrapping_add((above + top) * self.inner + first);
        let mut of_b = self
            .b
            .wrapping_add((product * self.inner + first) * self.cols);
        let mut own = [[T::ZERO; COLS]; ROWS];
        let step = self.team * LANES;
        let both = |inside: bool| {
            // SAFETY: loads happen only if `inside`, and for rows that A has: then A has this pack
            // in each of them, and B has this pack or row.
            let loaded = unsafe {
                let a: [[T; LANES]; ROWS] = core::array::from_fn(|row| {
                    let exists = inside && top + row < self.rows;
                    load_if(of_a.wrapping_add(row * self.inner), exists)
                });
                match LANES {
                    1 => (a, self.row::<COLS, PACK>(of_b, inside), [T::ZERO; LANES]),
                    _ => (a, [T::ZERO; COLS], load_if(of_b, inside)),
                }
            };
            of_a = pointer_here(of_a.wrapping_add(step));
            of_b = pointer_here(of_b.wrapping_add(step * self.cols));
            loaded
        };
        let mut of_lanes = [[T::ZERO; LANES]; ROWS];
        let add = |_, (a, b, of_column): ([[T; LANES]; ROWS], [T; COLS], [T; LANES])| {
            unrolled::<ROWS>(|row| {
                if LANES == 1 {
                    unrolled::<COLS>(|col| {
                        own[row][col] = a[row][0].mul_add(b[col], own[row][col]);
                    });
                } else {
                    unrolled::<LANES>(|lane| {
                        let sum = &mut of_lanes[row][lane];
                        *sum = a[row][lane].mul_add(of_column[lane], *sum);
                    });
                }
            });
        };
        in_flight::<_, AT_ONCE>(count, both, add);
        let lane = thread::thread_idx_x() as usize & (lanes - 1);
        let mut of_column = [T::ZERO; ROWS];
        unrolled::<ROWS>(|row| {
            let mut own = own[row];
            if LANES > 1 {
                own[0] = of_lanes[row].into_iter().fold(T::ZERO, T::add);
            }
            let mut delta = lanes / 2;
            // SAFETY: all lanes are here.
            unsafe {
                if COLS >= 16 {
                    halve::<T, COLS, 8>(&mut own, lane, &mut delta);
                }
                if COLS >= 8 {
                    halve::<T, COLS, 4>(&mut own, lane, &mut delta);
                }
                if COLS >= 4 {
                    halve::<T, COLS, 2>(&mut own, lane, &mut delta);
                }
                if COLS >= 2 {
                    halve::<T, COLS, 1>(&mut own, lane, &mut delta);
                }
                while delta > 0 {
                    own[0] = own[0].add(exchanged(own[0], delta));
                    delta /= 2;
                }
            }
            of_column[row] = own[0];
        });
        of_column
    }

    /// A row of B, with zeros beyond its last column. All zeros unless `inside`.
    ///
    /// # Safety
    /// If `inside`, `from` points to it.
    #[inline(always)]
    unsafe fn row<const COLS: usize, const PACK: usize>(
        &self,
        from: *const T,
        inside: bool,
    ) -> [T; COLS] {
        let mut row = [T::ZERO; COLS];
        // SAFETY: the caller's promise; a whole row is aligned to packs.
        unsafe {
            if COLS.is_multiple_of(PACK) && self.whole {
                unrolled::<8>(|pack| {
                    if pack * PACK < COLS {
                        let loaded = load_if::<T, PACK>(from.wrapping_add(pack * PACK), inside);
                        unrolled::<PACK>(|i| row[(pack * PACK + i) % COLS] = loaded[i]);
                    }
                });
            } else {
                unrolled::<COLS>(|col| {
                    let exists = inside && col < self.cols;
                    [row[col]] = load_if(from.wrapping_add(col), exists);
                });
            }
        }
        row
    }
}

/// Lanes that are `delta` apart exchange half of their first 2 · HALF sums, and add what they
/// receive: the upper lane keeps the upper HALF columns, moved to the front, the other lane the
/// lower HALF. Halves `delta`.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn halve<T: Scalar, const COLS: usize, const HALF: usize>(
    own: &mut [T; COLS],
    lane: usize,
    delta: &mut usize,
) {
    let upper = lane & *delta != 0;
    unrolled::<HALF>(|col| {
        let (low, high) = (own[col], own[(col + HALF) % COLS]);
        let (keep, give) = if upper { (high, low) } else { (low, high) };
        // SAFETY: passed on to the caller.
        own[col] = keep.add(unsafe { exchanged(give, *delta) });
    });
    *delta /= 2;
}

/// The value of the lane whose index is this one's `xor` `delta`, a power of two.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn exchanged<T: Scalar>(value: T, delta: usize) -> T {
    // SAFETY: passed on to the caller.
    unsafe { warp::warp_shuffle_xor(u32::MAX, value, delta as u32, WARP as u32).0 }
}
