//! Products whose last rows alone are in slices, so that all multiprocessors end together.
//!
//! The other rows are tiles of whole waves. Their blocks begin first, the slices take the places
//! that they leave, and the launch that adds the slices has few rows to add. Measured at 22 products
//! for which this model chooses it (docs/log/2026-11-28-doubles-tail.md), it took 0.84 to 1.02 of
//! the fastest in one slice or in several, on average 0.94.

use blockwise::DeviceProperties;
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::slices::slice_len;

use super::super::cost::{SHORTEST, fold};
use super::{LAUNCH, Rates, across_sectors, rates};

/// The fraction of the time of other divisions that this one may take.
pub(super) const WORTH: f64 = 0.98;

/// The shortest slice: each block starts, and stores a tile.
const SHORTEST_SLICE: usize = 2 * SHORTEST;

/// The most tiles in slices for each multiprocessor.
const MOST: usize = 2;

/// Blocks of slices for each multiprocessor: of fewer, the last to end costs more than their start
/// saves.
const BLOCKS: [usize; 2] = [2, 3];

/// The fraction of a slice's time, alone on its multiprocessor, by which blocks do not end together.
const APART: f64 = 0.5;

/// How full the last wave of long blocks must be. Where slices take more of its places, two long
/// blocks share a multiprocessor while others have none: 1392 × 19,472 × 1032 took 1545 µs, not 1102.
const FILLED: f64 = 0.85;

/// The tiles. The largest were never the fastest here.
fn candidates(pairs: bool) -> impl Iterator<Item = MmaTiles> {
    let all = MmaTiles::ALL.into_iter();
    all.filter(move |&tiles| tiles.with(pairs) == tiles && tiles != MmaTiles::Large)
}

/// The fastest tiles for slices and rows in one that were chosen for other operands.
pub(super) fn tiles(
    of: [usize; 3],
    divided: [usize; 2],
    pairs: bool,
    properties: &DeviceProperties,
) -> Option<MmaTiles> {
    let timed = candidates(pairs)
        .filter_map(|tiles| Some((time(tiles, of, divided, pairs, properties)?, tiles)));
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.map(|(_, tiles)| tiles)
}

/// The fastest division into slices and rows in one, if any is, and its nanoseconds.
pub(super) fn fastest(
    of: [usize; 3],
    most: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> Option<(f64, [usize; 2])> {
    let [rows, inner, cols] = of;
    let multiprocessors = properties.multiprocessors_to_fill().max(1) as usize;
    let longest = (inner / SHORTEST_SLICE).min(most);
    let divided = candidates(pairs).flat_map(|tiles| {
        let policy = tiles.policy(pairs);
        let wave = multiprocessors * rates(tiles, pairs).element.len();
        let (high, wide) = (rows.div_ceil(policy.rows), cols.div_ceil(policy.cols));
        // In whole rows of tiles.
        let first = high.saturating_mul(wide) / wave * wave / wide.max(1);
        let first = first.min(high.saturating_sub(1));
        let others = (high - first).saturating_mul(wide);
        let fits = first > 0 && others <= MOST * multiprocessors;
        let several =
            BLOCKS.map(|blocks| (blocks * multiprocessors).div_ceil(others.max(1)).max(2));
        let slices = several
            .into_iter()
            .filter(move |slices| fits && *slices <= longest);
        slices.filter_map(move |slices| {
            let divided = [slices, first * policy.rows];
            Some((time(tiles, of, divided, pairs, properties)?, divided))
        })
    });
    divided.min_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// The nanoseconds of a product with `whole` rows in one slice, fewer than all, and of its fold.
/// `None` if its blocks may be placed badly.
fn time(
    tiles: MmaTiles,
    [rows, inner, cols]: [usize; 3],
    [slices, whole]: [usize; 2],
    pairs: bool,
    properties: &DeviceProperties,
) -> Option<f64> {
    let policy = tiles.policy(pairs);
    let Rates {
        element,
        start,
        store,
        read,
    } = rates(tiles, pairs);
    let multiprocessors = f64::from(properties.multiprocessors_to_fill());
    let others = rows - whole;
    let [first, sliced] = [whole, others].map(|rows| policy.tiles(rows, cols) as f64);
    let resident = element.len() as f64;
    // Nanoseconds of an element of the inner extent, by the blocks on a multiprocessor.
    let with = |blocks: f64| element[(blocks.ceil() as usize).clamp(1, element.len()) - 1];
    let [each, blocks] = [first, first + sliced * slices as f64].map(|all| all / multiprocessors);
    let full = (each / resident).ceil() - 1.0;
    let left = each - full * resident;
    if left < FILLED * resident {
        return None;
    }
    // In the last round slices take the places that long blocks leave. It ends when all are done,
    // and not before a long block is.
    let last = left + sliced / multiprocessors;
    let together = last / resident * with(resident);
    let elements = full * with(resident) + together.max(with(last));
    let slower = across_sectors(tiles, inner, pairs);
    let product = LAUNCH
        + elements * inner as f64 * slower
        + APART * slice_len(inner, slices) as f64 * with(1.0)
        + (blocks / resident).ceil() * start
        + blocks * store
        + inner as f64 * (rows as f64 + cols as f64) * read;
    let of = [others, inner, cols];
    let added = fold(of, 1, slices, size_of::<f64>(), product, properties);
    Some(product + added)
}

#[cfg(test)]
mod tests {
    use super::super::slices;
    use super::*;
    use crate::limits::h200;

    /// Divisions that were measured, each faster than all tiles in one slice
    /// (docs/log/2026-11-28-doubles-tail.md), and products in which none was.
    #[test]
    fn the_last_rows_are_in_slices_where_that_was_faster() {
        for (of, expected) in [
            ([2432, 10_624, 896], Some((MmaTiles::Tall, 19, 2304))),
            ([2560, 2560, 2560], Some((MmaTiles::Tall, 7, 2432))),
            ([1800, 900, 1800], Some((MmaTiles::Square, 5, 1728))),
            ([1024, 7296, 1792], Some((MmaTiles::Square, 8, 896))),
            ([5296, 10_008, 160], Some((MmaTiles::Slim, 14, 5056))),
            ([7161, 4574, 587], Some((MmaTiles::Tall, 7, 6656))),
            ([2048, 2048, 2048], None),
            ([1000, 8000, 2000], None),
            ([3000, 3000, 1000], None),
            ([640, 6000, 1664], None),
            ([1024, 1024, 1024], None),
            ([1392, 19_472, 1032], None),
            ([968, 15_408, 272], None),
            ([0, 5, 7], None),
            ([5, 7, 0], None),
        ] {
            let (_, [slices, whole]) = slices(of, 1, 1024, &h200());
            let pairs = of[1].is_multiple_of(2) && of[2].is_multiple_of(2);
            let tail = (1..of[0]).contains(&whole) && slices > 1;
            let tiles = tail.then(|| super::super::tiles(of, 1, [slices, whole], pairs, &h200()));
            let chosen = tiles.map(|tiles| (tiles, slices, whole));
            assert_eq!(chosen, expected, "{of:?}");
        }
    }

    #[test]
    fn blocks_that_may_share_a_multiprocessor_are_not_counted_on() {
        let timed = |of, divided| time(MmaTiles::Tall, of, divided, true, &h200());
        assert_eq!(timed([1392, 19_472, 1032], [6, 896]), None);
        assert!(timed([2560, 2560, 2560], [7, 2432]).is_some());
    }
}
