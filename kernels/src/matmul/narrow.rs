//! Products with many rows and up to sixteen columns of f32: A is read once, and its speed counts.
//!
//! Change from [`sliced`](super::sliced), whose tiles of 32 and more columns compute mostly zeros
//! here: a block owns [`HIGH`] rows and all columns, and its warps share the inner extent.
//!
//! - Loads: `cp.async` brings 128 bytes of each row of A, and as many rows of B, three steps ahead.
//!   16 bytes move at a time where all rows are whole packs, else one element. What lies beyond the
//!   rows, the columns or the slice is zero.
//! - A warp computes all outputs of the block, over a quarter of each step. A thread owns eight
//!   columns, padded with zeros, and two or four rows, as many apart as a warp has threads of one
//!   column. Rows of A are 144 bytes apart in shared memory: lanes that read packs of neighbouring
//!   rows use different banks.
//! - The warps' sums go to shared memory, over the stages, and one thread adds each output in the
//!   order of the warps. [Tickets](super::ticket) add the slices.
//! - Each step has one barrier. It orders the copies of the step before the reads of them, and the
//!   reads of the previous step before the copies that overwrite its stage. The barriers around the
//!   sums are described where they stand.
//! - Global reads per element of C: inner/`cols` of A, and inner/[`HIGH`] of B.

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::unroll::unrolled;

use super::asm;
use super::policy::VECTOR;
use super::ticket::Slices;
use crate::here::{pointer_here, product_here};
use crate::pack::{BYTES, Pack, elements_behind};

/// Rows of C that a block owns.
pub const HIGH: usize = 64;
/// Threads of a block.
pub const THREADS: u32 = 128;
/// Columns with the padding, in each form.
pub const WIDTHS: [usize; 2] = [COLS, 2 * COLS];

/// Columns of C that a thread owns.
const COLS: usize = 8;
const WARP: usize = 32;
const WARPS: usize = THREADS as usize / WARP;
/// Stages in shared memory: one is used while the others arrive.
const STAGES: usize = 4;
/// Elements of the inner extent in a stage.
pub const STEP: usize = 32;
/// A warp's elements of them.
const OF_WARP: usize = STEP / WARPS;
/// Bytes from one row of A in a stage to the next.
const PITCH: usize = 4 * STEP + BYTES;
/// Where B begins in a stage.
const OF_A: usize = HIGH * PITCH;

/// Bytes of a stage for `wide` columns.
const fn stage(wide: usize) -> usize {
    OF_A + 4 * STEP * wide
}

/// Bytes of dynamic shared memory: the stages, in which the sums of all warps have room.
pub const fn shared_bytes(wide: usize) -> usize {
    STAGES.saturating_mul(stage(wide))
}

/// C = A · B of few columns, of each product of a batch.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements, `of_a` times: 1, if all products share it, or `batch`. `b`,
///   `c`: B and C, `inner · cols` and `rows · cols` elements, `batch` times. C has an element.
/// - `sums`: `slices` times the elements of `c`, `tickets`: one for each block's rows of each
///   product, 0 before and after; both are empty with one slice.
/// - `wide`: columns with the padding, one of [`WIDTHS`]. The order of a sum depends on the slices
///   alone.
///
/// # Launch
/// Blocks of [`THREADS`] threads along x with as much dynamic shared memory as [`shared_bytes`]
/// says. The grid strides over runs of [`HIGH`] rows along x and over slices along z; along y it
/// has a layer for each product.
#[kernel(
    max_threads = 128,
    min_blocks = 4,
    require(
        of_a == 1 || of_a == batch,
        super::slices::elements(rows, inner, of_a) == Some(a.len()),
        super::slices::elements(inner, cols, batch) == Some(b.len()),
        super::slices::elements(rows, cols, batch) == Some(c.len()),
        !c.is_empty(),
        wide == WIDTHS[0] || wide == WIDTHS[1],
        cols <= wide,
        super::ticket::fit(
            [rows.saturating_mul(cols), batch],
            slices,
            rows.div_ceil(HIGH).saturating_mul(batch),
            sums.len(),
            tickets.len()
        ),
        [block.x, block.y, block.z] == [THREADS, 1, 1],
        grid.y as usize == batch,
        shared_bytes as usize >= self::shared_bytes(wide)
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "three matrices, three extents, the slices with their memory, the batch, the padding"
)]
pub fn matmul_narrow_f32(
    a: &[f32],
    b: &[f32],
    mut c: Out<f32>,
    mut sums: Out<f32>,
    mut tickets: Atomics<u32>,
    rows: usize,
    inner: usize,
    cols: usize,
    slices: usize,
    of_a: usize,
    batch: usize,
    wide: usize,
) {
    let (a, b) = (a.as_ptr(), b.as_ptr());
    let whole = |of: *const f32, row: usize| row.is_multiple_of(VECTOR) && elements_behind(of) == 0;
    let of = Narrow {
        a,
        b,
        packs: [whole(a, inner), whole(b, cols)],
        to: Slices {
            c: c.as_mut_ptr(),
            sums: sums.as_mut_ptr(),
            tickets: tickets.as_mut_ptr(),
            outputs: rows * cols * batch,
            slices,
        },
        extents: [rows, inner, cols],
        shares_a: of_a == 1,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match wide {
            COLS => of.runs::<1, { HIGH / WARP }>(),
            _ => of.runs::<2, { 2 * HIGH / WARP }>(),
        }
    }
}

/// A batch of products with few columns.
struct Narrow {
    a: *const f32,
    b: *const f32,
    /// Whether rows of A, and of B, are whole packs.
    packs: [bool; 2],
    to: Slices<f32>,
    extents: [usize; 3],
    shares_a: bool,
}

impl Narrow {
    /// Computes the block's runs of rows of its slices. GROUPS threads share a row, and a thread has
    /// ROWS rows.
    ///
    /// # Safety
    /// The operands have the lengths that the kernel requires, and there are at most GROUPS · COLS
    /// columns. All threads of the launch call it, with the kernel's shape.
    #[inline(always)]
    unsafe fn runs<const GROUPS: usize, const ROWS: usize>(&self) {
        let last = shared_array![u32; 1];
        let room = dynamic_shared_mem::<f32>();
        let [rows, inner, _] = self.extents;
        const { assert!(WARP / GROUPS * ROWS == HIGH, "a warp has all rows") };
        let (wide, down) = (GROUPS * COLS, WARP / GROUPS);
        let t = thread::thread_idx_x() as usize;
        let (part, lane) = (t / WARP, t % WARP);
        let (row, col) = (lane / GROUPS, lane % GROUPS * COLS);
        let groups = rows.div_ceil(HIGH);
        let mut number = thread::block_idx_z() as usize;
        while number < self.to.slices {
            let slice = self.to.slice(inner, number);
            let mut group = thread::block_idx_x() as usize;
            while group < groups {
                let top = group * HIGH;
                // SAFETY: passed on to the caller.
                let own = unsafe { self.sums::<GROUPS, ROWS>(top, slice, [row, col, part]) };
                // Orders all reads of the stages, and all copies, before the sums that replace them.
                cp_async_wait_all();
                thread::sync_threads();
                unrolled::<ROWS>(|i| {
                    unrolled::<{ COLS / VECTOR }>(|j| {
                        let at = (part * HIGH + row + i * down) * wide + col + j * VECTOR;
                        let to = room.wrapping_add(at).cast::<Pack<f32, VECTOR>>();
                        let pack = core::array::from_fn(|lane| own[i][j * VECTOR + lane]);
                        // SAFETY: only this thread has these sums, and they are aligned.
                        unsafe { to.write(Pack(pack)) };
                    });
                });
                // Orders all warps' sums before the reads of them.
                thread::sync_threads();
                // SAFETY: each output has one thread, and all its sums are there.
                unsafe {
                    self.outputs(top, wide, |slot, at| {
                        let mut sum = room.wrapping_add(slot).read();
                        unrolled::<{ WARPS - 1 }>(|part| {
                            sum += room.wrapping_add(slot + (part + 1) * HIGH * wide).read();
                        });
                        self.to.store(number, at, sum);
                    });
                    if self.to.slices > 1
                        && self
                            .to
                            .is_last(product_here() * groups + group, t == 0, last)
                    {
                        self.outputs(top, wide, |_, at| self.to.add::<1>(|_| Some(at)));
                    }
                }
                // Orders all reads of the sums before the next copies.
                thread::sync_threads();
                group += thread::grid_dim_x() as usize;
            }
            number += thread::grid_dim_z() as usize;
        }
    }

    /// Calls `each` with this thread's outputs among the rows from `top` on: their number in a
    /// tile of `wide` columns, and in C.
    #[inline(always)]
    fn outputs(&self, top: usize, wide: usize, each: impl Fn(usize, usize)) {
        let [rows, _, cols] = self.extents;
        let now = (rows - top).min(HIGH) * wide;
        let mut slot = thread::thread_idx_x() as usize;
        while slot < now {
            let (row, col) = (top + slot / wide, slot % wide);
            if col < cols {
                each(slot, (product_here() * rows + row) * cols + col);
            }
            slot += THREADS as usize;
        }
    }

    /// This thread's sums of rows from `top` on, over its part of each step of the slice of `len`
    /// elements from `begin` on.
    ///
    /// # Safety
    /// As for [`runs`](Self::runs); the thread's row, column and part are as there.
    #[inline(always)]
    unsafe fn sums<const GROUPS: usize, const ROWS: usize>(
        &self,
        top: usize,
        (begin, len): (usize, usize),
        [row, col, part]: [usize; 3],
    ) -> [[f32; COLS]; ROWS] {
        let shared = asm::dynamic_shared();
        let (wide, down) = (GROUPS * COLS, WARP / GROUPS);
        let (stage, first) = (stage(wide) as u32, part * OF_WARP);
        let from_a = shared + (row * PITCH + 4 * first) as u32;
        let from_b = shared + (OF_A + 4 * (first * wide + col)) as u32;
        let next = |at: u32| match at == (STAGES - 1) as u32 * stage {
            true => 0,
            false => at + stage,
        };
        let steps = len.div_ceil(STEP);
        let mut own = [[0.0; COLS]; ROWS];
        let (mut read, mut write) = (0, 0);
        let mut step = 0;
        // The first iterations compute nothing, and the last start no copies.
        while step < steps + (STAGES - 1) {
            if step >= STAGES - 1 {
                // Orders the copies of the step to read before the reads of them, and all reads of
                // the step before it ahead of the copies that replace what they read.
                cp_async_wait_group::<{ STAGES as u32 - 2 }>();
                thread::sync_threads();
            }
            if step < steps {
                let (k, left) = (begin + step * STEP, len - step * STEP);
                // SAFETY: these rows are there, and no thread reads the stage.
                unsafe {
                    match self.packs[0] {
                        true => self.copy_a::<VECTOR>(shared + write, [top, k, left]),
                        false => self.copy_a::<1>(shared + write, [top, k, left]),
                    }
                    match self.packs[1] {
                        true => self.copy_b::<VECTOR>(shared + write, wide, [k, left]),
                        false => self.copy_b::<1>(shared + write, wide, [k, left]),
                    }
                }
                write = next(write);
            }
            // Commits an empty group too, so that groups and steps stay in step.
            cp_async_commit_group();
            if step >= STAGES - 1 {
                unrolled::<{ OF_WARP / VECTOR }>(|pack| {
                    let at = pack * VECTOR;
                    let mut a = [[0.0; VECTOR]; ROWS];
                    unrolled::<ROWS>(|i| {
                        let at = from_a + read + (4 * at + i * down * PITCH) as u32;
                        // SAFETY: a pack of a row in the stage.
                        a[i] = unsafe { asm::load_four(at) };
                    });
                    unrolled::<VECTOR>(|lane| {
                        let mut b = [[0.0; VECTOR]; COLS / VECTOR];
                        unrolled::<{ COLS / VECTOR }>(|j| {
                            let word = (at + lane) * wide + j * VECTOR;
                            // SAFETY: columns of a row of B in the stage.
                            b[j] = unsafe { asm::load_four(from_b + read + 4 * word as u32) };
                        });
                        unrolled::<ROWS>(|i| {
                            unrolled::<COLS>(|j| {
                                let b = b[j / VECTOR][j % VECTOR];
                                own[i][j] = a[i][lane].mul_add(b, own[i][j]);
                            });
                        });
                    });
                });
                read = next(read);
            }
            step += 1;
        }
        own
    }

    /// Starts this thread's copies of a step of A, EACH elements at a time: rows from `top` on, of
    /// which `left` elements exist from `k` on.
    ///
    /// # Safety
    /// There are such rows, and no thread reads the stage. Rows are whole numbers of EACH elements,
    /// aligned to them.
    #[inline(always)]
    unsafe fn copy_a<const EACH: usize>(&self, stage: u32, [top, k, left]: [usize; 3]) {
        let [rows, inner, _] = self.extents;
        let above = match self.shares_a {
            true => 0,
            false => product_here() * rows,
        };
        let (of_row, t) = (STEP / EACH, thread::thread_idx_x() as usize);
        let (row, at) = (t / of_row, t % of_row * EACH);
        let now = match at < left {
            true => (rows - top).min(HIGH) as u32,
            false => 0,
        };
        let down = THREADS as usize / of_row;
        let slot = stage + (row * PITCH + 4 * at) as u32;
        let mut from = self.a.wrapping_add((above + top + row) * inner + k + at);
        unrolled::<{ HIGH * STEP / THREADS as usize }>(|i| {
            if i * down < HIGH {
                let slot = slot + (i * down * PITCH) as u32;
                // SAFETY: elements of A, or not read; a slot of this thread.
                unsafe { asm::copy(EACH, slot, from, ((row + i * down) as u32) < now) };
                from = pointer_here(from.wrapping_add(down * inner));
            }
        });
    }

    /// Starts this thread's copies of a step of B, EACH elements at a time: rows from `k` on, of
    /// which `left` exist.
    ///
    /// # Safety
    /// As for [`copy_a`](Self::copy_a).
    #[inline(always)]
    unsafe fn copy_b<const EACH: usize>(&self, stage: u32, wide: usize, [k, left]: [usize; 2]) {
        let [_, inner, cols] = self.extents;
        let (of_row, t) = (wide / EACH, thread::thread_idx_x() as usize);
        let (row, col) = (t / of_row, t % of_row * EACH);
        let now = match col < cols {
            true => left.min(STEP) as u32,
            false => 0,
        };
        let down = THREADS as usize / of_row;
        // Eight columns have more threads than packs.
        if down > STEP && row >= STEP {
            return;
        }
        let slot = stage + (OF_A + 4 * (row * wide + col)) as u32;
        let first = product_here() * inner + k + row;
        let mut from = self.b.wrapping_add(first * cols + col);
        unrolled::<{ 2 * COLS * STEP / THREADS as usize }>(|i| {
            if i * down < STEP {
                let slot = slot + 4 * (i * down * wide) as u32;
                let exists = ((row + i * down) as u32) < now;
                // SAFETY: elements of B, or not read; a slot of this thread.
                unsafe { asm::copy(EACH, slot, from, exists) };
                from = pointer_here(from.wrapping_add(down * cols));
            }
        });
    }
}
