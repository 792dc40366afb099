//! One thread's copies from global to shared memory.

use super::super::asm;
use super::super::policy::Policy;
use super::items::Operands;
use super::tiles::*;
use crate::here::thread_here;

/// One thread's share of the copies for one tile of C.
///
/// The rows that a thread copies are a stride apart. A tile that [`spreads`] keeps the pointer of the
/// first row and adds multiples of the stride, from uniform registers. Others advance the pointer
/// from row to row.
pub(super) struct Copies {
    /// Elements between the rows of A, and of B, that this thread copies.
    a_stride: usize,
    b_stride: usize,
    /// Sources of the next copies, or of the step's first ones if the tile `spreads`.
    a: *const f64,
    b: *const f64,
    /// Number of copies from A whose row exists.
    rows: u32,
    /// [`INNER`] if the column of B does not exist, else 0.
    outside: u32,
    /// This thread's first element of the inner extent in A's tile, and in B's.
    a_inner: u32,
    b_inner: u32,
    /// The slot of the first copy in the first stage; for B, without the offset of its pair of
    /// columns.
    a_slot: u32,
    b_slot: u32,
    b_pair: u32,
}

impl Copies {
    /// This thread's share for the tile of C at (top, left). Its first step starts at element `k`
    /// of the inner extent, which is below 0 where elements are missing. `shared` is the first
    /// stage.
    #[inline(always)]
    pub(super) fn new(
        policy: &Policy,
        of: Operands,
        shared: u32,
        [top, left]: [u32; 2],
        k: i32,
    ) -> Self {
        let t = thread_here();
        let vector = policy.vector as u32;
        let place = |cols: usize| {
            let across = cols as u32 / vector;
            (t / across, t % across * vector)
        };
        let ((row, a_inner), (b_inner, col)) = (place(INNER), place(policy.cols));
        let at_once = rows_at_once(policy, INNER);
        let below = of.rows.saturating_sub(top + row).min(policy.rows as u32);
        let col_exists = left + col < of.cols;
        let a_byte = (a_inner * BYTES) ^ (row % 2 * HALF_BYTES);
        let (inner, cols) = (of.inner as usize, of.cols as usize);
        // The first element of each; it may lie before the operand, and is then not read.
        let of_a = (top + row) as isize * inner as isize + (a_inner as i32 + k) as isize;
        let of_b = (b_inner as i32 + k) as isize * cols as isize + (left + col) as isize;
        Copies {
            a_stride: at_once * inner,
            b_stride: rows_at_once(policy, policy.cols) * cols,
            a: of.a.wrapping_offset(of_a),
            b: of.b.wrapping_offset(of_b),
            rows: below.div_ceil(at_once as u32),
            outside: if col_exists { 0 } else { INNER as u32 },
            a_inner,
            b_inner,
            a_slot: shared + row * ROW_BYTES + a_byte,
            b_slot: shared
                + a_bytes(policy)
                + BYTES * (b_inner * policy.cols as u32 + col % PAIR as u32),
            b_pair: col / PAIR as u32,
        }
    }

    /// Starts copy number `copy` of a step into the stage `stage` bytes after the first one, unless
    /// the tile [`spreads`] and `more` is 0. Writes zeros for rows of A and columns of B that do not
    /// exist, and for the first `from` elements of the step. A step takes all copies in order, and
    /// [ends](Self::end). SPREADS is [`spreads`] of the policy, as a constant: LLVM drops the other
    /// branch before it decides whether to inline a slot.
    ///
    /// # Safety
    /// The operands have the sizes and alignment of their extents, the other elements exist, and no
    /// thread reads this stage.
    #[inline(always)]
    pub(super) unsafe fn start<const SPREADS: bool>(
        &mut self,
        policy: &Policy,
        copy: usize,
        stage: u32,
        from: u32,
        more: u32,
    ) {
        let of_a = copies_of_a(policy);
        let (slot, source, ahead, exists) = if copy < of_a {
            let down = copy * rows_at_once(policy, INNER);
            let slot = self.a_slot + stage + down as u32 * ROW_BYTES;
            // One count instead of a condition per copy: each condition would take a register.
            let rows = if self.a_inner >= from { self.rows } else { 0 };
            let source = self.a;
            if !SPREADS {
                self.a = if copy + 1 < of_a {
                    source.wrapping_add(self.a_stride)
                } else {
                    let first = source.wrapping_sub((of_a - 1) * self.a_stride);
                    first.wrapping_add(INNER)
                };
            }
            let ahead = copy * self.a_stride;
            (slot, source, ahead, (copy as u32) < rows)
        } else {
            let copy = copy - of_a;
            let down = copy * rows_at_once(policy, policy.cols);
            let pair = exchanged(self.b_inner + down as u32, self.b_pair);
            let bytes = (down * policy.cols) as u32 * BYTES;
            let slot = self.b_slot + PAIR as u32 * BYTES * pair + stage + bytes;
            let exists = self.b_inner + down as u32 >= from | self.outside;
            let source = self.b;
            if !SPREADS {
                self.b = source.wrapping_add(self.b_stride);
            }
            let ahead = copy * self.b_stride;
            (slot, source, ahead, exists)
        };
        // SAFETY: inside the operand, or not read.
        unsafe {
            if SPREADS {
                asm::copy_pair_ahead(slot, source, ahead, exists, more);
            } else {
                asm::copy_doubles(policy.vector, slot, source, exists);
            }
        }
    }

    /// Ends a step.
    #[inline(always)]
    pub(super) fn end(&mut self, policy: &Policy) {
        if spreads(policy) {
            let of_b = copies_of(policy) - copies_of_a(policy);
            self.a = self.a.wrapping_add(INNER);
            self.b = self.b.wrapping_add(of_b * self.b_stride);
        }
    }
}
