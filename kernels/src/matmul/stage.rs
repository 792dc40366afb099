//! A stage of the tuned kernels: tiles of A and B that arrive in shared memory while the block
//! computes with earlier ones.
//!
//! A's tile is stored transposed, because a thread reads several rows of one column together; a
//! copy from A moves one element. B's tile is stored as in memory; a copy from B moves one element,
//! so that rows may have any length, or a vector, as the policy says.
//!
//! The first tile along the inner extent is the partial one, padded with zeros: all others are
//! whole, and their copies need no guard. Copies for rows of A and columns of B beyond the matrices
//! read the last row or columns instead, so that none reads outside; those products are never
//! stored. Only single elements beyond B's columns are zeros, without a read: clamped, many lanes
//! would copy the last element of the row, one after the other.

use cuda_std::prelude::*;

use super::asm;
use super::policy::Policy;
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
    /// Whether copies from B read: vectors always, single elements only if their column exists.
    b_exists: bool,
    /// Where the first copy goes in the first stage.
    a_slot: u32,
    b_slot: u32,
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
        Copies {
            policy,
            of,
            a: core::array::from_fn(source),
            b: of.b.as_ptr().wrapping_add(b_inner * of.pitch_b + inside),
            a_inner,
            b_inner,
            b_exists: policy.vector > 1 || left + col < of.cols,
            a_slot: shared + 4 * (a_inner * policy.stride_a() + row) as u32,
            b_slot: shared + 4 * (policy.words_a() + b_inner * policy.cols + col) as u32,
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
                let source = if inside {
                    b.wrapping_add(i * at_once * of.pitch_b)
                } else {
                    of.b.as_ptr()
                };
                // SAFETY: inside B, or not read.
                unsafe { asm::copy(policy.vector, slot, source, inside & self.b_exists) };
            }
        });
    }

    /// Rows of A that the block copies concurrently.
    #[inline(always)]
    const fn rows_at_once(policy: Policy) -> usize {
        policy.threads() / policy.inner
    }
}
