//! What the blocks of [`mma`](super) compute one after the other: tiles of C, and of its slices.

use super::super::policy::Policy;
use super::super::slices::slice;
use super::tiles::{tile_at, tiles_of};
use crate::here::zero_here;

/// The operands and extents of a batch of products.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) a: *const f64,
    pub(super) b: *const f64,
    pub(super) c: *mut f64,
    pub(super) sums: *mut f64,
    pub(super) rows: u32,
    pub(super) inner: u32,
    pub(super) cols: u32,
    pub(super) whole: u32,
    pub(super) slices: u32,
    pub(super) of_a: usize,
    pub(super) batch: usize,
}

/// What a block computes at a time: a tile of some rows of C, in one of their slices.
#[derive(Clone, Copy)]
pub(super) struct Item {
    /// Whether these are the rows in one slice.
    is_whole: bool,
    slice: u32,
    /// The tile's number among those of these rows.
    tile: u32,
}

impl Operands {
    /// Item number `item`, which may lie after the last: such a slice does not exist, or has no
    /// tile.
    #[inline(always)]
    pub(super) fn item(self, policy: &Policy, item: u32) -> Item {
        let tiles = |rows: u32| tiles_of(policy, rows, self.cols);
        let of_whole = tiles(self.whole);
        // A product in one slice has its first copy without a division before.
        if item < of_whole {
            let (is_whole, slice, tile) = (true, 0, item);
            return Item {
                is_whole,
                slice,
                tile,
            };
        }
        let (item, of_slice) = (item - of_whole, tiles(self.rows - self.whole));
        let slice = item / of_slice.max(1);
        Item {
            is_whole: false,
            slice,
            tile: item - slice * of_slice,
        }
    }

    /// The product of the item's rows, the first element and the length of its slice, and the first
    /// row and column of its tile. `None` after the last item.
    #[inline(always)]
    pub(super) fn of(
        self,
        policy: &Policy,
        matrix: usize,
        item: Item,
    ) -> Option<(Self, [u32; 2], (u32, u32))> {
        let Item {
            is_whole,
            slice: number,
            tile,
        } = item;
        let (above, rows) = match is_whole {
            true => (0, self.whole),
            false if number < self.slices => (self.whole, self.rows - self.whole),
            false => return None,
        };
        let place = tile_at(policy, tile, rows, self.cols)?;
        let (first, len) = match is_whole || self.slices == 1 {
            true => (0, self.inner),
            false => {
                let (first, len) =
                    slice(self.inner as usize, self.slices as usize, number as usize);
                (first as u32, len as u32)
            }
        };
        let [inner, cols] = [self.inner, self.cols].map(|extent| extent as usize);
        let mut product = Self {
            a: self.a.wrapping_add(above as usize * inner),
            rows,
            ..self
        };
        if matrix > 0 {
            // Opaque to LLVM, which would compute products of 64 bits ahead of the branch.
            let [matrix, inner, cols] = [matrix, inner, cols].map(|it| it + zero_here());
            let of_a = if self.of_a == 1 { 0 } else { matrix };
            let each = self.rows as usize * inner;
            product.a = product.a.wrapping_add(of_a * each);
            product.b = product.b.wrapping_add(matrix * inner * cols);
        }
        Some((product, [first, len], place))
    }

    /// Where the item's rows begin in `c` or `sums`, and their number.
    #[inline(always)]
    pub(super) fn results(self, matrix: usize, item: Item) -> (*mut f64, u32) {
        let rest = self.rows - self.whole;
        let (to, number, rows) = match item.is_whole {
            true => (self.c, matrix, self.whole),
            false => (self.sums, item.slice as usize * self.batch + matrix, rest),
        };
        let each = rows as usize * self.cols as usize;
        (to.wrapping_add(number * each), rows)
    }
}
