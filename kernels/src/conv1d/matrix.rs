//! Rows of matrices: a row of the grid for each, or a layer.
//!
//! A signal, or taps, of one row may serve all rows: its pitch is 0. Rows and pitches are
//! multiplied in 32 bits: 64 take several instructions at a block's start.

use core::hint::assert_unchecked;

use cuda_std::prelude::*;

/// The number of rows of `len` elements.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
pub(super) const fn rows_of(elements: usize, len: usize) -> usize {
    match len {
        0 => 1,
        _ => elements / len,
    }
}

/// Whether a kernel may count its rows in 32 bits, in a grid of `y` × `z` layers of `each` rows;
/// and whether each of the `rows` has a layer. Layers of several rows stride: any number will do.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
pub(super) const fn are_layers([y, z]: [u32; 2], each: usize, outputs: usize, rows: usize) -> bool {
    let layers = y as usize * z as usize;
    let counted = layers == 1 || outputs < 1 << 32 && layers.saturating_mul(each) < 1 << 31;
    counted && (each > 1 || layers >= rows)
}

/// Whether matrices have `rows` rows: `outputs` elements are rows of `output` each; the others are
/// given by their elements, a row's elements, and the distance between rows.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
pub(super) fn are_rows<const N: usize>(
    rows: usize,
    [outputs, output]: [usize; 2],
    others: [[usize; 3]; N],
) -> bool {
    let in_32_bits = |pitch: usize| rows == 1 || pitch < 1 << 32;
    let fits = |[all, row, pitch]: [usize; 3]| {
        let last = rows.wrapping_sub(1).checked_mul(pitch);
        let end = last.and_then(|last| last.checked_add(row));
        in_32_bits(pitch) && end.is_some_and(|end| end <= all)
    };
    (1..1 << 31).contains(&rows)
        && rows.checked_mul(output) == Some(outputs)
        && in_32_bits(output)
        && others.into_iter().all(fits)
}

/// This block's row, counted along y, then z: y alone has 65,535.
#[inline(always)]
pub(super) fn row_of_layers() -> u32 {
    thread::block_idx_z() * thread::grid_dim_y() + thread::block_idx_y()
}

/// The index of a row's first element.
#[inline(always)]
pub(super) fn start(row: u32, pitch: usize) -> usize {
    (u64::from(row) * u64::from(pitch as u32)) as usize
}

/// A row of `len` elements.
///
/// # Safety
/// The matrix has this row.
#[inline(always)]
pub(super) unsafe fn row_of<T>(all: &[T], row: u32, len: usize, pitch: usize) -> &[T] {
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(all.as_ptr().add(start(row, pitch)), len) }
}

/// Pairs of windows of all rows, one row after the other, from one of them on.
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    /// Pairs before the first.
    pub(super) before: usize,
    /// Pairs of a row.
    pub(super) each: usize,
}

impl Pairs {
    /// The row of a pair, and its number in that row.
    ///
    /// # Safety
    /// A row has pairs, and 32 bits count them all.
    #[inline(always)]
    pub(super) unsafe fn row_of(self, number: usize) -> (u32, usize) {
        let (pair, each) = ((self.before + number) as u32, self.each as u32);
        // SAFETY: the caller's promise.
        unsafe { assert_unchecked(each > 0) };
        (pair / each, (pair % each) as usize)
    }
}

/// Whether matrices have the rows of `pairs` pairs of windows, `each` of a row, after `before`
/// others, and 32 bits count them and those of a row. Matrices are given as for [`are_rows`].
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
pub(super) fn have_pairs<const N: usize>(
    [before, pairs, each]: [usize; 3],
    matrices: [[usize; 3]; N],
) -> bool {
    let counted = |all: &usize| (1..1 << 32).contains(&each) && *all < 1 << 32;
    let Some(all) = before.checked_add(pairs).filter(counted) else {
        return false;
    };
    let last = all.div_ceil(each).saturating_sub(1);
    matrices.into_iter().all(|[elements, row, pitch]| {
        let end = last.checked_mul(pitch).and_then(|at| at.checked_add(row));
        (last == 0 || pitch < 1 << 32) && end.is_some_and(|end| end <= elements)
    })
}

#[cfg(test)]
mod tests {
    use super::{Pairs, are_layers, are_rows, have_pairs, rows_of};

    #[test]
    fn pairs_are_of_rows_that_there_are() {
        let of = |numbers, elements| have_pairs(numbers, [[elements, 7, 10]]);
        // Three pairs a row: the last is of row 0, 1 and 2.
        assert!(of([0, 3, 3], 7) && of([0, 4, 3], 17) && of([4, 3, 3], 27));
        assert!(!of([0, 3, 3], 6) && !of([0, 4, 3], 16) && !of([4, 3, 3], 26));
        assert!(!of([0, 1, 1 << 32], 7) && !of([0, 2, (1 << 32) + 1], 7));
        assert!(!of([0, 1, 0], 7) && !of([usize::MAX, 1, 3], 7) && !of([1 << 32, 1, 3], 7));
        let long = 1 << 40;
        assert!(have_pairs([0, 3, 3], [[long, long, long]]));
        assert!(!have_pairs([0, 4, 3], [[3 * long, long, long]]));
        let pairs = Pairs { before: 4, each: 3 };
        // SAFETY: a row has three pairs.
        let rows = [0, 1, 2].map(|number| unsafe { pairs.row_of(number) });
        assert_eq!(rows, [(1, 1), (1, 2), (2, 0)]);
    }

    #[test]
    fn rows_are_as_many_or_one_for_all() {
        let three = |others| are_rows(3, [12, 4], others);
        assert!(three([[15, 5, 5], [2, 2, 0]]) && three([[5, 5, 0], [6, 2, 2]]));
        // Rows that are part of longer ones.
        assert!(three([[17, 5, 6], [2, 2, 0]]) && !three([[16, 5, 6], [2, 2, 0]]));
        assert!(!three([[14, 5, 5], [2, 2, 0]]) && !three([[15, 5, 5], [1, 2, 0]]));
        assert!(!are_rows(3, [13, 4], [[15, 5, 5]]));
        assert!(are_rows(1, [0, 0], [[7, 7, 0]]) && !are_rows(0, [0, 0], [[7, 7, 0]]));
        let long = 1 << 32;
        assert!(are_rows(1, [long, long], [[long, long, long]]));
        assert!(!are_rows(2, [2 * long, long], [[long, 9, 0]]));
        assert!(!are_rows(2, [8, 4], [[2 * long, 9, long]]));
        assert!(!are_rows(usize::MAX, [8, 4], [[9, 9, 4]]));
        assert_eq!([rows_of(12, 4), rows_of(0, 0), rows_of(0, 4)], [3, 1, 0]);
    }

    #[test]
    fn layers_are_counted_in_32_bits_and_as_many_as_rows() {
        assert!(are_layers([3, 1], 1, 4, 3) && are_layers([2, 2], 1, 4, 3));
        assert!(!are_layers([2, 1], 1, 4, 3) && are_layers([2, 1], 8, 4, 300));
        assert!(are_layers([1, 1], 1, 1 << 32, 1) && !are_layers([2, 1], 1, 1 << 32, 1));
        assert!(!are_layers([65_535, 65_535], 1, 4, 3) && !are_layers([u32::MAX; 2], 128, 4, 3));
        assert!(!are_layers([65_535, 600], 64, 4, 3));
    }
}
