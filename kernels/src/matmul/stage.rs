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
//! stored. Single elements beyond the columns are zeros, and nothing is read: copies of one element
//! by many lanes take turns.
//!
//! Instances for single elements copy packs all the same where all rows of B begin equally many
//! elements behind one ([`shift`]). Then columns are counted from the first pack, and a pack at the
//! end has the row's elements only. Before a row's first element lie the last ones of the row before,
//! which nothing uses; the first row of all is copied element by element there.

use cuda_std::prelude::*;

use super::asm;
use super::policy::{Policy, VECTOR};
use crate::here::pointer_here;
use crate::pack::elements_behind;
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

/// Elements of B's rows before their first column, from a pack on, if an instance for single elements
/// copies packs. `None` if the rows begin differently, or the columns would need another tile.
#[inline(always)]
pub(super) fn shift(policy: &Policy, of: &Operands<'_>) -> Option<usize> {
    let shift = elements_behind(of.b.as_ptr());
    let [counted, shifted] = [of.cols, of.cols + shift].map(|cols| cols.div_ceil(policy.cols));
    let packs = policy.vector == 1 && of.pitch_b.is_multiple_of(VECTOR) && counted == shifted;
    packs.then_some(shift)
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
    /// Of an instance for single elements: the [`shift`], the bytes of this thread's copies from B
    /// that exist, and the elements between them.
    shift: Option<usize>,
    b_bytes: u32,
    b_step: usize,
    /// Whether this thread's first pack begins before B.
    begins_before: bool,
    /// Where the first copy goes in the first stage.
    a_slot: u32,
    b_slot: u32,
}

impl<'a> Copies<'a> {
    /// This thread's share for the tile of C at (top, left). `shared` is the first stage, `shift`
    /// that of B's rows.
    #[inline(always)]
    pub(super) fn new(
        policy: Policy,
        of: Operands<'a>,
        shared: u32,
        [top, left]: [usize; 2],
        shift: Option<usize>,
    ) -> Self {
        let t = thread::thread_idx_x() as usize;
        let (row, a_inner) = (t / policy.inner, t % policy.inner);
        let vector = if shift.is_some() { VECTOR } else { policy.vector };
        let copies = policy.cols / vector;
        let (b_inner, col) = (t / copies, t % copies * vector);
        let source = |i: usize| {
            let row = (top + row + i * Self::rows_at_once(policy)).min(of.rows - 1);
            of.a.as_ptr().wrapping_add(row * of.pitch_a + a_inner)
        };
        let inside = (left + col).min(of.pitch_b - policy.vector);
        let behind = shift.unwrap_or(0);
        let of_row = (of.cols + behind).saturating_sub(left + col).min(vector);
        let b = of.b.as_ptr().wrapping_add(b_inner * of.pitch_b);
        let b = match shift {
            Some(shift) => b.wrapping_add(left + col).wrapping_sub(shift),
            None => b.wrapping_add(inside),
        };
        Copies {
            policy,
            of,
            a: core::array::from_fn(source),
            b,
            a_inner,
            b_inner,
            shift,
            b_bytes: 4 * of_row as u32,
            b_step: policy.threads() / copies * of.pitch_b,
            begins_before: behind > 0 && b_inner == 0 && left + col == 0,
            a_slot: shared + 4 * (a_inner * policy.stride_a() + row) as u32,
            b_slot: shared + 4 * (policy.words_a() + b_inner * policy.cols + col) as u32,
        }
    }

    /// Starts the copies of the tile at `k` into the stage `stage` bytes after the first one. With
    /// `len`, only the first N elements of the inner extent exist in it; without, all do.
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
        let mut b = self.b.wrapping_add(k * of.pitch_b);
        if policy.vector == VECTOR {
            let at_once = policy.threads() / (policy.cols / VECTOR);
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
                    unsafe { asm::copy(VECTOR, slot, source, inside) };
                }
            });
            return;
        }
        let width = if self.shift.is_some() { VECTOR } else { 1 };
        let at_once = |width: usize| policy.threads() / (policy.cols / width);
        // SAFETY: as above.
        let mut each = |i: usize, width: usize| unsafe {
            let row = i * at_once(width);
            let slot = self.b_slot + stage + 4 * (row * policy.cols) as u32;
            let inside = exists(self.b_inner + row);
            let bytes = if inside { self.b_bytes } else { 0 };
            let source = b;
            b = pointer_here(b.wrapping_add(self.b_step));
            match width {
                // The first row's first pack begins before B.
                VECTOR if i == 0 && len.is_some() && self.begins_before => {
                    let shift = self.shift.unwrap_or(0);
                    unrolled::<VECTOR>(|j| {
                        let (slot, col) = (slot + 4 * j as u32, j.wrapping_sub(shift));
                        let source = of.b.as_ptr().wrapping_add(col);
                        asm::copy(1, slot, source, inside & (col < of.cols));
                    });
                }
                // No more than the row's elements are read, and the last ones of the row before.
                VECTOR => asm::copy_part(slot, source, bytes),
                _ => asm::copy(1, slot, source, bytes > 0),
            }
        };
        if width == VECTOR {
            unrolled::<MOST>(|i| {
                if i < policy.inner / at_once(VECTOR) {
                    each(i, VECTOR);
                }
            });
        } else {
            unrolled::<MOST>(|i| {
                if i < policy.inner / at_once(1) {
                    each(i, 1);
                }
            });
        }
    }

    /// Rows of A that the block copies concurrently.
    #[inline(always)]
    const fn rows_at_once(policy: Policy) -> usize {
        policy.threads() / policy.inner
    }
}
