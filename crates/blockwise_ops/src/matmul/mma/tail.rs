//! Products whose last rows alone are in slices, so that all multiprocessors end together.
//!
//! The other rows are whole tiles of one slice. Their blocks begin first, the slices take the places
//! that they leave, and the launch that adds the slices has few rows to add. Half of the launches
//! that were measured take within 3 % of this model, nine in ten within 10 %
//! (docs/log/2026-11-30-choices.md).

use blockwise::DeviceProperties;
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::slices::slice_len;

use super::super::cost::fold;
use super::super::rates::Rates;
use super::{across_sectors, rates};

/// Numbers of slices of the last rows.
const SLICES: [usize; 7] = [2, 3, 4, 6, 8, 12, 20];
/// Shorter slices do not repay a block's start and its stores.
const SHORTEST_SLICE: usize = 64;

/// The most tiles in slices for each multiprocessor.
const MOST: usize = 4;

/// The fewest and the most blocks of slices for each resident block: others were not measured.
const BLOCKS: [f64; 2] = [0.2, 6.0];

/// How full a single wave of long blocks must be, unless all blocks are fewer than one more for each
/// multiprocessor. Else two long blocks share a multiprocessor while others have none: 2304 × 11,264
/// × 128 in 132 long blocks of 32 × 64 took 231 µs with 240 short ones, 152 with 96.
const FILLED: f64 = 0.85;

/// The tiles for which divisions are sought. The largest and the smallest were never the fastest.
fn candidates(pairs: bool) -> impl Iterator<Item = MmaTiles> {
    let all = MmaTiles::ALL.into_iter();
    all.filter(move |&tiles| {
        tiles.with(pairs) == tiles && !matches!(tiles, MmaTiles::Large | MmaTiles::Small)
    })
}

/// The fastest tiles for a division that is given: where operands begin may change the tiles, but
/// not the division, on which the bits depend. Without pairs 32 × 32 replaces 32 × 64 and 64 × 32.
/// If no blocks are placed well, the time decides alone.
pub(super) fn tiles(
    of: [usize; 3],
    divided: [usize; 2],
    pairs: bool,
    properties: &DeviceProperties,
) -> Option<MmaTiles> {
    let small = (!pairs).then_some(MmaTiles::Small);
    let timed = candidates(pairs)
        .chain(small)
        .map(|tiles| (time(tiles, of, divided, pairs, properties), tiles));
    let fastest = timed.min_by(|((one, placed), _), ((other, well), _)| {
        well.cmp(placed).then(one.total_cmp(other))
    });
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
    let mut fastest: Option<(f64, [usize; 2])> = None;
    for tiles in candidates(pairs) {
        let policy = tiles.policy(pairs);
        let (high, wide) = (rows.div_ceil(policy.rows), cols.div_ceil(policy.cols));
        // `long` blocks for each multiprocessor, in whole rows of tiles.
        let all = high.saturating_mul(wide) / multiprocessors;
        for long in all.saturating_sub(MOST).max(1)..=all {
            let first = (long * multiprocessors / wide.max(1)).min(high.saturating_sub(1));
            let others = (high - first).saturating_mul(wide);
            if first == 0 || others > MOST * multiprocessors {
                continue;
            }
            for slices in SLICES.into_iter().filter(|&slices| slices <= longest) {
                let divided = [slices, first * policy.rows];
                let (time, is_placed) = time(tiles, of, divided, pairs, properties);
                if is_placed && fastest.is_none_or(|(least, _)| time < least) {
                    fastest = Some((time, divided));
                }
            }
        }
    }
    fastest
}

/// The nanoseconds of a product with `whole` rows in one slice, fewer than all, and of its fold; and
/// whether the model is fitted to such launches, and their long blocks share no multiprocessor while
/// others have none.
fn time(
    tiles: MmaTiles,
    of: [usize; 3],
    [slices, whole]: [usize; 2],
    pairs: bool,
    properties: &DeviceProperties,
) -> (f64, bool) {
    let policy = tiles.policy(pairs);
    let Rates {
        launch,
        element,
        start,
        store,
        read,
        ..
    } = rates(tiles, pairs);
    let [rows, inner, cols] = of;
    let multiprocessors = f64::from(properties.multiprocessors_to_fill());
    let others = rows - whole;
    let [first, sliced] = [whole, others].map(|rows| policy.tiles(rows, cols) as f64);
    let short = sliced * slices as f64;
    let resident = element.len() as f64;
    let [fewest, most] = BLOCKS.map(|each| each * resident * multiprocessors);
    // Nanoseconds of an element of the inner extent, by the blocks on a multiprocessor.
    let with = |blocks: f64| {
        let below = (blocks as usize).clamp(1, element.len());
        let (one, after) = (element[below - 1], element.get(below));
        match after {
            None => blocks / resident * one,
            Some(after) => one + (blocks - below as f64).max(0.0) * (after - one),
        }
    };
    let each = first / multiprocessors;
    let full = (each / resident).ceil() - 1.0;
    let left = each - full * resident;
    let all = first + short;
    let fills =
        full > 0.0 || left >= FILLED * resident || all < (each.ceil() + 1.0) * multiprocessors;
    // In the last wave slices take the places that long blocks leave.
    let of_slices = (short / multiprocessors).ceil() * slice_len(inner, slices) as f64;
    let elements = full * with(resident) + with(left + of_slices / inner as f64);
    let product = launch
        + elements * inner as f64 * across_sectors(tiles, of, pairs)
        + (all / multiprocessors / resident).ceil() * start
        + all / multiprocessors * store
        + inner as f64 * (rows as f64 + cols as f64) * read;
    let of = [others, inner, cols];
    let added = fold(of, 1, slices, size_of::<f64>(), properties);
    (product + added, fills && (fewest..=most).contains(&short))
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::super::super::with_task;
    use super::super::slices;
    use super::*;
    use crate::limits::h200;

    /// The fastest of all launches that were measured, and products in which no division was
    /// (docs/log/2026-11-30-choices.md).
    #[test]
    fn the_last_rows_are_in_slices_where_that_was_faster() {
        for (of, expected) in [
            ([1989, 2736, 138], Some((MmaTiles::Slim, 4, 1664))),
            ([10_280, 4184, 88], Some((MmaTiles::Slim, 3, 8448))),
            ([4608, 4224, 256], Some((MmaTiles::Square, 4, 4224))),
            ([7168, 1280, 384], Some((MmaTiles::Square, 8, 7040))),
            ([17_008, 4552, 232], Some((MmaTiles::Square, 12, 16_896))),
            // Single elements.
            ([3592, 610, 285], Some((MmaTiles::Square, 4, 3328))),
            ([5668, 14_989, 352], Some((MmaTiles::Tall, 20, 5632))),
            ([1024, 1024, 1024], None),
            ([16_000, 2304, 128], None),
            ([1424, 432, 344], None),
            ([0, 5, 7], None),
            ([5, 7, 0], None),
        ] {
            let (_, [slices, whole]) = with_task(Type::F64, &of, |task| slices(task, 1024));
            let pairs = of[1].is_multiple_of(2) && of[2].is_multiple_of(2);
            let tail = (1..of[0]).contains(&whole) && slices > 1;
            let tiles = tail.then(|| super::super::tiles(of, 1, [slices, whole], pairs, &h200()));
            let chosen = tiles.map(|tiles| (tiles, slices, whole));
            assert_eq!(chosen, expected, "{of:?}");
        }
    }

    #[test]
    fn blocks_that_may_share_a_multiprocessor_are_not_counted_on() {
        let timed = |slices| {
            time(
                MmaTiles::Flat,
                [2304, 11_264, 128],
                [slices, 2112],
                true,
                &h200(),
            )
        };
        assert!(timed(8).1);
        assert!(!timed(20).1);
    }

    /// At an odd address 608 × 2184 × 488 had 64 × 64, 64 blocks for 132 multiprocessors.
    #[test]
    fn a_division_for_narrow_tiles_takes_the_smallest_without_pairs() {
        let (of, divided) = ([608, 2184, 488], [4, 512]);
        assert_eq!(tiles(of, divided, true, &h200()), Some(MmaTiles::Flat));
        assert_eq!(tiles(of, divided, false, &h200()), Some(MmaTiles::Small));
    }
}
