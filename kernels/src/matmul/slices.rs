//! Products whose inner extent is cut into slices, as plain data for kernels, launcher and tests.
//!
//! A small C has too few tiles to fill a device, so the inner extent is divided (split-K). Each
//! slice gives a product of the size of C. C is their sum, in the order of the slices, so its bits
//! depend on the slices alone.

use super::policy::{Policy, Tiles, VECTOR};

/// The most slices. (A grid has at most 65,535 blocks along z.)
pub const MOST_SLICES: usize = 1024;

/// Slices start at multiples of this many elements of the inner extent: whole steps of every
/// kernel, and whole vectors.
const STEP: usize = 16;

/// Elements of the inner extent in each slice. The last slices may have fewer, or none.
#[inline(always)]
pub const fn slice_len(inner: usize, slices: usize) -> usize {
    let slices = if slices == 0 { 1 } else { slices };
    inner.div_ceil(slices).saturating_add(STEP - 1) / STEP * STEP
}

/// The first element of slice number `slice`, and its number of elements.
#[inline(always)]
pub fn slice(inner: usize, slices: usize, slice: usize) -> (usize, usize) {
    let len = slice_len(inner, slices);
    let first = slice.saturating_mul(len).min(inner);
    (first, len.min(inner - first))
}

/// The slice and the product of a layer of the grid: the products of one slice are consecutive.
#[inline(always)]
pub fn number(layer: usize, slices: usize, batch: usize) -> (usize, usize) {
    // Most launches have one slice, or one product: they do not divide.
    if slices == 1 {
        (0, layer)
    } else if batch == 1 {
        (layer, 0)
    } else {
        // There is a layer, so nothing here is 0; `max` tells the compiler.
        let batch = batch.max(1);
        (layer / batch, layer % batch)
    }
}

/// Elements of `slices` times `batch` products of rows × cols elements, one after the other. `None`
/// if that number overflows, or `slices` is 0 or above [`MOST_SLICES`].
pub const fn sums(rows: usize, cols: usize, slices: usize, batch: usize) -> Option<usize> {
    if slices == 0 || slices > MOST_SLICES {
        return None;
    }
    match elements(rows, cols, batch) {
        Some(outputs) => outputs.checked_mul(slices),
        None => None,
    }
}

/// Elements of `batch` matrices of rows × cols elements; `None` if that number overflows.
pub const fn elements(rows: usize, cols: usize, batch: usize) -> Option<usize> {
    match rows.checked_mul(cols) {
        Some(each) => each.checked_mul(batch),
        None => None,
    }
}

/// How a product divides its work into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// The tiles of [`sliced`](super::sliced). The other kernels have a single size.
    pub cut: Cut,
    /// Slices of the inner extent, 1 to [`MOST_SLICES`].
    pub slices: usize,
}

/// The tiles of [`sliced`](super::sliced).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// 128 × 64, four warps.
    Tall,
    /// 64 × 64, two warps.
    Square,
    /// 64 × 32, two warps: half the sums per thread, so twice as many threads.
    Small,
    /// 32 × 64, two warps of 32 × 32: for few rows, and 2 to 8 % faster where both fill their tiles
    /// (docs/log/2026-11-29-flat.md).
    Flat,
}

impl Cut {
    /// Every instance.
    pub const ALL: [Self; 4] = [Self::Tall, Self::Square, Self::Small, Self::Flat];

    /// How a block divides its work, with copies of vectors from B or of single elements.
    pub const fn policy(self, vectors: bool) -> Policy {
        let tall = Tiles::Tall.policy();
        let vector = if vectors { VECTOR } else { 1 };
        let square = Policy {
            rows: 64,
            vector,
            anywhere: vectors,
            ..tall
        };
        match self {
            Self::Tall => Policy { vector, ..tall },
            Self::Square => square,
            Self::Small => Policy {
                cols: 32,
                warp_cols: 16,
                ..square
            },
            Self::Flat => Policy {
                rows: 32,
                warp_rows: 32,
                ..square
            },
        }
    }
}

/// An instance of [`sliced`](super::sliced).
pub trait Instance {
    /// How a block divides its work.
    const POLICY: Policy;
}

macro_rules! instances {
    ($($Type:ident: $Cut:ident, $vectors:literal;)*) => {$(
        #[doc = concat!("[`Cut::", stringify!($Cut), "`], with vectors: ", $vectors, ".")]
        pub struct $Type;

        impl Instance for $Type {
            const POLICY: Policy = {
                let policy = Cut::$Cut.policy($vectors);
                // Each thread copies one element of the turned vectors.
                assert!(!policy.anywhere || policy.threads() == VECTOR * policy.inner);
                policy
            };
        }
    )*};
}
instances! {
    Tall: Tall, true;
    Square: Square, true;
    Small: Small, true;
    Flat: Flat, true;
    TallRagged: Tall, false;
    SquareRagged: Square, false;
    SmallRagged: Small, false;
    FlatRagged: Flat, false;
}

#[cfg(test)]
mod tests {
    use super::{MOST_SLICES, number, slice, sums};

    #[test]
    fn slices_cover_the_inner_extent_once_and_begin_at_whole_vectors() {
        for inner in [0, 1, 15, 16, 17, 100, 4099, isize::MAX as usize] {
            for slices in [1, 2, 3, 7, MOST_SLICES] {
                let mut next = 0;
                for number in 0..slices {
                    let (first, len) = slice(inner, slices, number);
                    assert_eq!(first, next, "{inner} in {slices}");
                    assert!(first == inner || first.is_multiple_of(16));
                    next = first + len;
                }
                assert_eq!(next, inner, "in {slices}");
            }
        }
    }

    #[test]
    fn layers_are_the_products_of_each_slice() {
        for (slices, batch) in [(1, 1), (1, 5), (4, 1), (3, 5)] {
            let layers = (0..slices * batch).map(|layer| number(layer, slices, batch));
            let each = (0..slices).flat_map(|slice| (0..batch).map(move |of| (slice, of)));
            assert!(layers.eq(each), "{slices} of {batch}");
        }
    }

    #[test]
    fn sums_that_cannot_be_counted_are_none() {
        assert_eq!(sums(3, 5, 2, 1), Some(30));
        assert_eq!(sums(3, 5, 2, 7), Some(210));
        assert_eq!(sums(3, 5, 0, 1), None);
        assert_eq!(sums(3, 5, MOST_SLICES + 1, 1), None);
        assert_eq!(sums(usize::MAX, 2, 1, 1), None);
        assert_eq!(sums(usize::MAX, 1, 2, 1), None);
        assert_eq!(sums(usize::MAX, 1, 1, 2), None);
    }
}
