//! A stage of the tuned kernels: tiles of A and B that arrive in shared memory while the block
//! computes with earlier ones.
//!
//! A's tile is stored transposed, because a thread reads several rows of one column together; a
//! copy from A moves one element. B's tile is stored as in memory; a copy from B moves one element,
//! so that rows may have any length, or a vector, as the policy says.
//!
//! The first tile along the inner extent is the partial one, padded with zeros: all others are
//! whole, and their copies need no guard. Copies beyond A's rows read the last row, and aligned
//! vectors beyond B's columns the last vector, so that none reads outside; those products are never
//! stored. Other copies beyond B's columns write zeros without a read: clamped, many lanes would
//! copy the last element of the row, one after the other.
//!
//! If the policy lets B begin anywhere, a row's vectors start at its first aligned one, and the
//! columns ahead of that (at most three, [`turned`]) come last. So the last vector has the columns
//! that end the row, then those that begin it; its elements are copied one by one.

use cuda_std::prelude::*;

use super::asm;
use super::policy::{Policy, VECTOR};
use crate::pack::elements_before;
use cuda_std::unroll::unrolled;

/// The most copies of one thread from A, and from B, per stage.
const MOST: usize = 16;

/// A product's operands and extents.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    pub(super) a: &'a [f32],
    pub(super) b: &'a [f32],
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) cols: usize,
    /// Elements between the starts of two rows of A, and of B.
    pub(super) pitch_a: usize,
    pub(super) pitch_b: usize,
    /// What [`turned`] says of B.
    pub(super) turned: usize,
}

/// Columns ahead of B's first aligned vector; 0 unless the policy lets B begin anywhere. Column v of
/// the tiles is column (v + `turned`) mod `cols` of B and C.
#[inline(always)]
pub(super) fn turned(policy: &Policy, b: *const f32) -> usize {
    match policy.anywhere {
        true => elements_before(b),
        false => 0,
    }
}

/// The column of B and C that is column `col` of the tiles.
#[inline(always)]
pub(super) fn column(col: usize, turned: usize, cols: usize) -> usize {
    // It may be a column that does not exist, and is then not used.
    let col = col.wrapping_add(turned);
    if col < cols {
        col
    } else {
        col.wrapping_sub(cols)
    }
}

/// One thread's share of the copies for one tile of C.
pub(super) struct Copies<'a> {
    policy: Policy,
    of: Operands<'a>,
    /// Sources of the copies from A, at the start of the inner extent.
    a: [*const f32; MOST],
    /// Source of the first copy from B, at the start of the inner extent.
    b: *const f32,
    /// This thread's first element of the inner extent in A's tile, and in B's.
    a_inner: usize,
    b_inner: usize,
    /// Whether copies from B read; else they write zeros.
    b_exists: bool,
    /// 0 if this thread's vectors of B are the turned ones, which it does not copy.
    b_copies: u32,
    /// Where the first copy goes in the first stage.
    a_slot: u32,
    b_slot: u32,
    /// Whether the tile has the turned vectors; this thread's element of them, at the start of the
    /// inner extent, and where it goes in the first stage.
    has_turned: bool,
    single: *const f32,
    single_slot: u32,
}

impl<'a> Copies<'a> {
    /// This thread's share for the tile of C at (top, left). `shared` is the first stage.
    #[inline(always)]
    pub(super) fn new(
        policy: Policy,
        of: Operands<'a>,
        shared: u32,
        top: usize,
        left: usize,
    ) -> Self {
        let t = thread::thread_idx_x() as usize;
        let (row, a_inner) = (t / policy.inner, t % policy.inner);
        let copies = policy.cols / policy.vector;
        let (b_inner, col) = (t / copies, t % copies * policy.vector);
        let source = |i: usize| {
            let row = (top + row + i * Self::rows_at_once(policy)).min(of.rows - 1);
            of.a.as_ptr().wrapping_add(row * of.pitch_a + a_inner)
        };
        let inside = (left + col).min(of.pitch_b - policy.vector);
        let copies = Copies {
            policy,
            of,
            a: core::array::from_fn(source),
            b: of.b.as_ptr().wrapping_add(b_inner * of.pitch_b + inside),
            a_inner,
            b_inner,
            b_exists: policy.vector > 1 || left + col < of.cols,
            a_slot: shared + 4 * (a_inner * policy.stride_a() + row) as u32,
            b_slot: shared + 4 * (policy.words_a() + b_inner * policy.cols + col) as u32,
            b_copies: 1,
            has_turned: false,
            single: of.b.as_ptr(),
            single_slot: 0,
        };
        if policy.anywhere {
            copies.turned(left, col)
        } else {
            copies
        }
    }

    /// The same for B from its first aligned vector on; the thread's column of the tile is `col`.
    #[inline(always)]
    fn turned(self, left: usize, col: usize) -> Self {
        let Self { policy, of, .. } = self;
        let is_turned = of.turned > 0 && left + col + VECTOR == of.cols;
        let t = thread::thread_idx_x() as usize;
        // Of the last vector, which may be none, or in another tile.
        let (inner, lane) = (t / VECTOR, t % VECTOR);
        let last = of.cols.wrapping_sub(VECTOR).wrapping_add(lane);
        let from = (inner * of.pitch_b).wrapping_add(column(last, of.turned, of.cols));
        let row = policy.words_a() + inner * policy.cols;
        let slot = row.wrapping_add(last.wrapping_sub(left));
        Self {
            b: self.b.wrapping_add(of.turned),
            b_exists: left + col < of.cols,
            b_copies: u32::from(!is_turned),
            has_turned: of.turned > 0 && of.cols <= left + policy.cols,
            single: of.b.as_ptr().wrapping_add(from),
            single_slot: asm::dynamic_shared() + 4 * slot as u32,
            ..self
        }
    }

    /// Starts the copies of the tile at `k` into the stage `stage` bytes after the first one. With
    /// `len`, only the first `len` inner elements of the tile exist; without, all do.
    ///
    /// # Safety
    /// The operands have the sizes of their extents, the tile ends within the inner extent, and no
    /// thread reads this stage.
    #[inline(always)]
    pub(super) unsafe fn start(&self, stage: u32, k: usize, len: Option<usize>) {
        let Self { policy, of, .. } = *self;
        let exists = |inner: usize| len.is_none_or(|len| inner < len);
        let inside = exists(self.a_inner);
        unrolled::<MOST>(|i| {
            if i < policy.rows / Self::rows_at_once(policy) {
                let slot = self.a_slot + stage + 4 * (i * Self::rows_at_once(policy)) as u32;
                let source = if inside {
                    self.a[i].wrapping_add(k)
                } else {
                    of.a.as_ptr()
                };
                // SAFETY: inside A, or not read.
                unsafe { asm::copy(1, slot, source, inside) };
            }
        });
        let at_once = policy.threads() / (policy.cols / policy.vector);
        let b = self.b.wrapping_add(k * of.pitch_b);
        unrolled::<MOST>(|i| {
            if i < policy.inner / at_once {
                let slot = self.b_slot + stage + 4 * (i * at_once * policy.cols) as u32;
                let inside = exists(self.b_inner + i * at_once);
                let source = match (inside, policy.anywhere) {
                    (true, _) => b.wrapping_add(i * at_once * of.pitch_b),
                    // Aligned, which B may not be; it is not read.
                    (false, true) => core::ptr::null(),
                    (false, false) => of.b.as_ptr(),
                };
                // SAFETY: inside B, or not read; aligned where vectors move.
                unsafe {
                    let inside = inside & self.b_exists;
                    match policy.anywhere {
                        true => asm::copy_if(slot, source, inside, self.b_copies),
                        false => asm::copy(policy.vector, slot, source, inside),
                    }
                };
            }
        });
        if self.has_turned {
            let inside = exists(thread::thread_idx_x() as usize / VECTOR);
            let source = if inside {
                self.single.wrapping_add(k * of.pitch_b)
            } else {
                of.b.as_ptr()
            };
            // SAFETY: inside B, or not read.
            unsafe { asm::copy(1, self.single_slot + stage, source, inside) };
        }
    }

    /// Rows of A that the block copies concurrently.
    #[inline(always)]
    const fn rows_at_once(policy: Policy) -> usize {
        policy.threads() / policy.inner
    }
}
