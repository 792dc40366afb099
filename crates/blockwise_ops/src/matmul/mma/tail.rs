//! Products whose last rows alone are in slices, so that all multiprocessors end together.
//!
//! The other rows are tiles of whole waves. Their blocks begin first, the slices take the places
//! that they leave, and the launch that adds the slices has few rows to add. The model chose well
//! among the launches of docs/log/2026-11-28-doubles-tail.md.

use blockwise::DeviceProperties;
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::slices::slice_len;

use super::super::cost::{SHORTEST, fold};
use super::{LAUNCH, Rates, rates};

/// The fraction of the time of other divisions that this one may take.
pub(super) const WORTH: f64 = 0.99;

/// The shortest slice: each block starts, and stores a tile.
const SHORTEST_SLICE: usize = 2 * SHORTEST;

/// The most tiles in slices for each multiprocessor.
const MOST: usize = 2;

/// Blocks of slices for each multiprocessor: of one, the last to end costs more than its start
/// saves.
const BLOCKS: [usize; 2] = [2, 3];

/// The fraction of a slice's time, alone on its multiprocessor, by which blocks do not end together.
const APART: f64 = 0.5;

/// How full the places of a device may be, or must be, for its blocks to be where the model has
/// them: two long ones share a multiprocessor while others have none, if all places are taken, and
/// some are taken by slices.
const FULL: f64 = 0.985;
const FILLED: f64 = 0.9;

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
        let places = multiprocessors * rates(tiles, pairs).element.len();
        let [high, wide] = [
            rows.div_ceil(policy.rows),
            cols.div_ceil(policy.cols).max(1),
        ];
        let all = high.saturating_mul(wide);
        let wave = all / multiprocessors * multiprocessors;
        // In whole rows of tiles.
        let first = [
            all / places * places,
            wave,
            wave.saturating_sub(multiprocessors),
        ];
        let first = first.map(|first| (first / wide).min(high.saturating_sub(1)));
        let first = first.into_iter().filter(move |&tall| {
            tall > 0 && (high - tall).saturating_mul(wide) <= MOST * multiprocessors
        });
        first.flat_map(move |tall| {
            let others = (high - tall) * wide;
            let in_one_wave = (FULL * places as f64) as usize;
            let in_one_wave = in_one_wave.saturating_sub(tall.saturating_mul(wide)) / others;
            let several = BLOCKS.map(|blocks| (blocks * multiprocessors).div_ceil(others).max(2));
            let slices = several.into_iter().chain([in_one_wave]);
            let slices = slices.filter(move |slices| (2..=longest).contains(slices));
            slices.filter_map(move |slices| {
                let divided = [slices, tall * policy.rows];
                Some((time(tiles, of, divided, pairs, properties)?, divided))
            })
        })
    });
    divided.min_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// The nanoseconds of a product with `whole` rows in one slice, fewer than all, and of its fold.
/// `None` if its blocks may be placed badly.
pub(super) fn time(
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
    // The time of an element with so many blocks on the multiprocessor.
    let with = |blocks: f64| element[(blocks.ceil() as usize).clamp(1, element.len()) - 1];
    let [each, blocks] = [first, first + sliced * slices as f64].map(|all| all / multiprocessors);
    let (len, inner) = (slice_len(inner, slices) as f64, inner as f64);
    let in_one_wave = each < FULL * each.ceil() && blocks <= FULL * resident;
    let rounds = (each / resident).floor();
    let left = each - rounds * resident;
    let multiplied = if in_one_wave {
        len * with(blocks) + (inner - len) * with(each)
    } else if rounds == 0.0 && left < FILLED * resident {
        return None;
    } else {
        // The blocks that are left and the slices fill the places of a last round, if there is
        // enough of both; else the time is that of one block among so many.
        let last = left + sliced / multiprocessors;
        let together = last / resident * with(resident);
        let alone = if left > 0.0 { with(last) } else { 0.0 };
        (rounds * with(resident) + together.max(alone)) * inner + APART * len * with(1.0)
    };
    let product = LAUNCH
        + multiplied
        + (blocks / resident).ceil() * start
        + blocks * store
        + inner * (rows as f64 + cols as f64) * read;
    let of = [others, inner as usize, cols];
    let added = fold(of, 1, slices, size_of::<f64>(), product, properties);
    Some(product + added)
}

#[cfg(test)]
mod tests {
    use super::super::slices;
    use super::*;
    use crate::limits::h200;

    /// Divisions that were measured, each faster than all tiles in one slice
    /// (docs/log/2026-11-28-doubles-tail.md), and products whose tails are slower.
    #[test]
    fn the_last_rows_are_in_slices_where_that_was_faster() {
        for (of, expected) in [
            ([2432, 10_624, 896], Some((MmaTiles::Tall, 19, 2304))),
            ([2560, 2560, 2560], Some((MmaTiles::Tall, 7, 2432))),
            ([1800, 900, 1800], Some((MmaTiles::Square, 5, 1728))),
            ([1024, 7296, 1792], Some((MmaTiles::Square, 8, 896))),
            ([1393, 5001, 1031], Some((MmaTiles::Tall, 2, 896))),
            ([641, 6001, 1663], Some((MmaTiles::Tall, 5, 640))),
            ([2048, 2048, 2048], None),
            ([1000, 8000, 2000], None),
            ([3000, 3000, 1000], None),
            ([640, 6000, 1664], None),
            ([1024, 1024, 1024], None),
        ] {
            let (_, [slices, whole]) = slices(of, 1, 1024, &h200());
            let pairs = of[1] % 2 == 0 && of[2] % 2 == 0;
            let tail = (1..of[0]).contains(&whole) && slices > 1;
            let tiles = tail.then(|| super::super::tiles(of, 1, [slices, whole], pairs, &h200()));
            let chosen = tiles.map(|tiles| (tiles, slices, whole));
            assert_eq!(chosen, expected, "{of:?}");
        }
    }

    /// 119 long blocks and 348 slices: two long ones were on one multiprocessor (1545 µs, 1102 if not).
    #[test]
    fn blocks_that_may_share_a_multiprocessor_are_not_counted_on() {
        let timed = |of, divided| time(MmaTiles::Tall, of, divided, true, &h200());
        assert_eq!(timed([1392, 19_472, 1032], [6, 896]), None);
        assert!(timed([1392, 19_472, 1032], [2, 896]).is_some());
    }
}
