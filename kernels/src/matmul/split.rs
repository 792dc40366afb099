//! Splits each element of a matrix into three BF16 terms, stored in the order in which
//! [`tensor`](super::tensor) multiplies them.
//!
//! x = x₀ + x₁ + x₂, each term the BF16 number nearest to what the earlier terms leave. A BF16
//! number has 8 significant bits and FP32's exponent range, so three of them hold the 24 bits of
//! any x but the very largest and smallest.
//!
//! - A block makes one tile: [`SIDE`] rows of A, or columns of B, by [`DEPTH`] elements of the
//!   inner dimension, all three terms. Tiles follow each other along the inner dimension and are
//!   padded with zeros.
//! - Four neighbouring threads share a row of the tile, each with 8 elements: they write the 64
//!   bytes of a row together, and one warp reads each 32-byte sector of either row-major operand.
//! - The four 16-byte pieces of a tile's row are swizzled as the tensor cores expect ("64-byte
//!   swizzle"): piece p of row r is at p ⊕ (r / 2 mod 4), so that one piece of eight rows spans
//!   different banks. The tile can then be copied to shared memory unchanged.
//! - A thread that finds a very small or very large element records it: that decides whether the
//!   product may use the terms.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cuda_std::prelude::*;

use cuda_std::unroll::unrolled;

/// Rows of A, or columns of B, in a tile.
pub const SIDE: usize = 128;
/// Elements of the inner dimension in a tile.
pub const DEPTH: usize = 32;
/// BF16 terms of an element.
pub const TERMS: usize = 3;
/// 32-bit words of a tile, each with two BF16 numbers.
pub const TILE_WORDS: usize = TERMS * SIDE * DEPTH / 2;
/// Threads of a block.
pub const THREADS: u32 = 256;

/// Elements that a thread splits together: 16 bytes of each term.
const PIECE: usize = 8;
/// Pieces of a row.
const PIECES: usize = DEPTH / PIECE;

/// Words of an operand's range: its extremes outside `SMALL` to `LARGE`. Both start with all bits
/// set and only decrease: the bits of the smallest magnitude other than 0, and the inverted bits of
/// the largest. For most operands neither is written.
pub const RANGE_WORDS: usize = 2;

/// The bits of 2⁻⁴⁸ and of 2⁴⁸: products of numbers between them are always safe.
const SMALL: u32 = (127 - 48) << 23;
const LARGE: u32 = (127 + 48) << 23;

/// Whether the terms can replace the elements, for operands with these ranges: no term, product or
/// sum can overflow, and none that matters is subnormal. False for infinities and NaN.
#[inline(always)]
pub fn fits(ranges: [[u32; RANGE_WORDS]; 2], inner: usize) -> bool {
    let [a, b] = ranges.map(|[smallest, largest]| {
        [smallest.min(SMALL) >> 23, (!largest).max(LARGE) >> 23].map(|exponent| exponent as usize)
    });
    // Exponents are biased by 127. A product of two elements is below 2 to the sum of their
    // exponents plus 2, and so is each of its nine parts; a sum of `inner` such products is below
    // that times `inner`. The other operand counts with at least LARGE, so no element is large
    // enough for a term of it to overflow.
    let of_inner = (usize::BITS - inner.leading_zeros()) as usize;
    a[1] + b[1] + of_inner + 3 < 2 * 127 + 127
        // The part that a sum cuts off is a normal number. The other operand counts with at most
        // SMALL, so all terms are normal too.
        && a[0] + b[0] > 127 + 27
}

/// The terms of `x`, as the upper halves of FP32 numbers.
#[inline(always)]
fn terms(x: f32) -> [u32; TERMS] {
    let first = nearest(x);
    let rest = x - f32::from_bits(first);
    let second = nearest(rest);
    [first, second, nearest(rest - f32::from_bits(second))]
}

/// The BF16 number nearest to `x`; of two equally near ones the even one; an infinity for the
/// largest `x`.
#[inline(always)]
fn nearest(x: f32) -> u32 {
    let bits = x.to_bits();
    bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) & 0xFFFF_0000
}

/// Words of the tiles of an operand with N rows of A, or columns of B; `None` if that number
/// overflows.
pub fn words(side: usize, inner: usize) -> Option<usize> {
    let tiles = side.div_ceil(SIDE).checked_mul(inner.div_ceil(DEPTH))?;
    tiles.checked_mul(TILE_WORDS)
}

/// Splits A and B.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements.
/// - `a_tiles`, `b_tiles`: their [`words`], aligned to 16 bytes.
/// - `ranges`: [`RANGE_WORDS`] words for A, then for B, with all bits set. Other bits may claim
///   elements that do not exist.
///
/// # Launch
/// Blocks of [`THREADS`] threads; x runs over tiles along the inner dimension, y over those along
/// the other one, z over A and B. The grid strides over x and y.
#[kernel(require(
    rows.checked_mul(inner) == Some(a.len()),
    inner.checked_mul(cols) == Some(b.len()),
    words(rows, inner) == Some(a_tiles.len()),
    words(cols, inner) == Some(b_tiles.len()),
    a_tiles.is_aligned_to(crate::pack::BYTES),
    b_tiles.is_aligned_to(crate::pack::BYTES),
    ranges.len() == 2 * RANGE_WORDS,
    [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 2]
))]
#[allow(
    clippy::too_many_arguments,
    reason = "two operands, three outputs, three extents"
)]
pub fn matmul_split_f32(
    a: &[f32],
    b: &[f32],
    mut a_tiles: Out<u32>,
    mut b_tiles: Out<u32>,
    mut ranges: Atomics<u32>,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    // SAFETY: `require` states all sizes, the tiles' alignment, the block, and two layers of
    // blocks: one for each operand.
    unsafe {
        let ranges = ranges.as_mut_ptr();
        if thread::block_idx_z() == 0 {
            split(a, a_tiles.as_mut_ptr(), ranges, [rows, inner], [inner, 1]);
        } else {
            let range = ranges.add(RANGE_WORDS);
            split(b, b_tiles.as_mut_ptr(), range, [cols, inner], [1, cols]);
        }
    }
}

/// Splits one matrix. Its rows are rows of A or columns of B; element (r, k) is number `steps[0] ·
/// r + steps[1] · k`.
///
/// # Safety
/// The matrix has those elements; `tiles` has [`words`] for it, aligned to 16 bytes, and `range`
/// [`RANGE_WORDS`], which all threads access atomically. All threads of a layer of blocks call it,
/// and no other code uses the tiles; a block has [`THREADS`] along x.
#[inline(always)]
unsafe fn split(
    matrix: &[f32],
    tiles: *mut u32,
    range: *mut u32,
    [rows, inner]: [usize; 2],
    steps: [usize; 2],
) {
    let across = inner.div_ceil(DEPTH);
    if across == 0 {
        // Without elements in a row, the number of rows may be too large to loop over.
        return;
    }
    let t = thread::thread_idx_x() as usize;
    let piece = t % PIECES;
    let (mut smallest, mut largest) = (u32::MAX, 0);
    let mut tile_y = thread::block_idx_y() as usize;
    while tile_y < rows.div_ceil(SIDE) {
        let mut tile_x = thread::block_idx_x() as usize;
        while tile_x < across {
            let tile = tiles.wrapping_add((tile_y * across + tile_x) * TILE_WORDS);
            let k = tile_x * DEPTH + piece * PIECE;
            let mut row = t / PIECES;
            while row < SIDE {
                let mut elements = [0.0_f32; PIECE];
                unrolled::<PIECE>(|i| {
                    let (row, k) = (tile_y * SIDE + row, k + i);
                    let inside = row < rows && k < inner;
                    let at = if inside {
                        steps[0] * row + steps[1] * k
                    } else {
                        0
                    };
                    // Loads unconditionally: LLVM keeps a guard as a branch, and a thread then has
                    // fewer loads in flight. SAFETY: inside the matrix, which has a first element.
                    let x = unsafe { *matrix.get_unchecked(at) };
                    elements[i] = if inside { x } else { 0.0 };
                });
                let mut words = [[0; PIECE / 2]; TERMS];
                unrolled::<PIECE>(|i| {
                    let x = elements[i];
                    let magnitude = x.abs().to_bits();
                    largest = largest.max(magnitude);
                    // Zero wraps to the largest value, so it is never the smallest.
                    smallest = smallest.min(magnitude.wrapping_sub(1));
                    let terms = terms(x);
                    unrolled::<TERMS>(|term| {
                        let half = if i % 2 == 0 {
                            terms[term] >> 16
                        } else {
                            terms[term]
                        };
                        words[term][i / 2] |= half;
                    });
                });
                let slot = row * DEPTH / 2 + (piece ^ (row / 2 % PIECES)) * PIECE / 2;
                unrolled::<TERMS>(|term| {
                    let place = tile.wrapping_add(term * SIDE * DEPTH / 2 + slot);
                    // SAFETY: only this thread has this piece of this tile.
                    unsafe { place.cast::<Piece>().write(Piece(words[term])) };
                });
                row += THREADS as usize / PIECES;
            }
            tile_x += thread::grid_dim_x() as usize;
        }
        tile_y += thread::grid_dim_y() as usize;
    }
    // SAFETY: both words exist, and are accessed atomically during the launch.
    unsafe {
        if smallest < SMALL {
            AtomicU32::from_ptr(range).fetch_min(smallest + 1, Relaxed);
        }
        if largest >= LARGE {
            AtomicU32::from_ptr(range.wrapping_add(1)).fetch_min(!largest, Relaxed);
        }
    }
}

/// 16 bytes that are written in one store.
#[repr(C, align(16))]
struct Piece([u32; PIECE / 2]);

#[cfg(test)]
mod tests {
    use super::{fits, terms};

    /// Whether operands with these smallest and largest magnitudes fit.
    fn fit(a: [f32; 2], b: [f32; 2], inner: usize) -> bool {
        fits(
            [a, b].map(|[smallest, largest]| [smallest.to_bits(), !largest.to_bits()]),
            inner,
        )
    }

    #[test]
    fn three_terms_are_the_number_and_fall_fast() {
        let mut bits = 0x3F80_0001_u32;
        for _ in 0..10_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits((bits & 0x807F_FFFF) | (100 + bits % 80) << 23);
            let [first, second, third] = terms(x).map(f32::from_bits);
            assert_eq!(
                f64::from(first) + f64::from(second) + f64::from(third),
                f64::from(x)
            );
            assert!(second.abs() <= x.abs() / 256.0, "{x}: {second}");
            assert!(third.abs() <= x.abs() / 65_536.0, "{x}: {third}");
            assert!(terms(x).iter().all(|term| term & 0xFFFF == 0));
        }
    }

    #[test]
    fn ranges_that_overflow_or_vanish_do_not_fit() {
        let usual = [1e-6, 1e6];
        assert!(fit(usual, usual, 4096));
        assert!(fit([1e-12, 1e12], [1e-12, 1e12], 1 << 20));
        assert!(
            fit([1e-15, 1.0], [1.0, 1e16], 1 << 20),
            "beyond the usual, but only a little"
        );
        assert!(!fit([1e-17, 1.0], usual, 1 << 20) && !fit(usual, [1.0, 1e17], 1 << 20));
        for odd in [f32::INFINITY, f32::NAN, f32::MAX] {
            assert!(!fit([1.0, odd], usual, 1) && !fit(usual, [1.0, odd], 1));
        }
        assert!(!fit([1.0, 1e20], [1.0, 1e18], 4), "the sum may overflow");
        assert!(fit([1.0, 1e18], [1.0, 1e18], 4));
        assert!(!fit([1e-34, 1.0], usual, 4), "a term is subnormal");
        assert!(!fit([1e-16, 1.0], [1e-16, 1.0], 4), "a product is");
        assert!(fits([[u32::MAX; 2]; 2], 1 << 20), "nothing noted");
    }
}
