//! The tiles and slices of `mma`, from a model of the launch's time.
//!
//! The time is that of the busiest multiprocessor: full waves of resident blocks, and a last wave
//! of fewer blocks, which hide less of each other's latency; plus the start of each wave and the
//! stores of each tile, and the operands' way from memory. The rates are a fit to 1072 launches of
//! 157 products on an H200 (docs/log/2026-11-27-small-doubles.md): half of them take within 5 % of
//! the model, nine in ten within 15 %.

use blockwise::{AnyViewMut, DeviceProperties, Error, ViewMut};
use kernels::matmul::direct::MOST;
use kernels::matmul::mma::{MmaTiles, PAIR};
use kernels::matmul::slices::{MOST_SLICES, slice_len};

use super::cost::{SHORTEST, fold};
use super::extents;
use crate::operation::{Problem, Task};

mod tail;

/// The costs of the blocks of one size, in nanoseconds.
struct Rates {
    /// One element of the inner extent, with one, two, … resident blocks per multiprocessor.
    element: &'static [f64],
    /// The start of a wave of blocks, and the stores of a whole tile.
    start: f64,
    store: f64,
    /// An element of the operands.
    read: f64,
}

/// The rates of copies of pairs, or of single elements.
const fn rates(tiles: MmaTiles, pairs: bool) -> Rates {
    let (element, start, store, read): (&[f64], _, _, _) = match (tiles, pairs) {
        (MmaTiles::Small, true) => (&[7.3, 11.6, 17.2], 1590.0, 0.0, 0.0009),
        (MmaTiles::Flat | MmaTiles::Slim, _) => (&[10.3, 17.7, 29.6], 1560.0, 330.0, 0.0007),
        (MmaTiles::Square, true) => (&[23.7, 36.0, 55.6], 1590.0, 570.0, 0.0006),
        (MmaTiles::Tall, true) => (&[44.1, 73.4], 2320.0, 860.0, 0.0),
        // The fits are 29.0, 54.4 and 69.7 where 29.6, 55.6 and 72.4 stand: in long products, in
        // which the clock falls, these tiles lose more than 128 × 64.
        (MmaTiles::Large, _) => (&[72.4], 2800.0, 2090.0, 0.0),
        (MmaTiles::Small, false) => (&[12.6, 22.6, 33.8], 1500.0, 0.0, 0.0009),
        // 0.872 and 0.944 of the fits, which were of a slower loop.
        (MmaTiles::Square, false) => (&[27.4, 43.2, 60.2], 1630.0, 1700.0, 0.0006),
        (MmaTiles::Tall, false) => (&[41.3, 76.5], 2100.0, 3700.0, 0.0),
    };
    Rates {
        element,
        start,
        store,
        read,
    }
}

/// How much longer an element takes if each second row of A begins in the middle of a sector of
/// memory: copies of a row's 128 bytes then move parts of five. Small tiles read A most often.
fn across_sectors(tiles: MmaTiles, inner: usize, pairs: bool) -> f64 {
    match tiles {
        _ if !pairs || inner < LONG_ROWS || inner.is_multiple_of(SECTOR) => 1.0,
        MmaTiles::Slim => 1.33,
        MmaTiles::Flat => 1.3,
        MmaTiles::Small => 1.4,
        MmaTiles::Square | MmaTiles::Tall | MmaTiles::Large => 1.045,
    }
}
/// Elements of a sector: 32 bytes. Shorter rows were not measured.
const SECTOR: usize = 4;
const LONG_ROWS: usize = 1024;

/// A launch that computes nothing.
const LAUNCH: f64 = 3740.0;

/// The shortest inner extent of a single product for the largest tiles: one stage.
const LARGE_INNER: usize = 16;

/// The largest sides of a batch's products for which smaller tiles are faster.
const SMALL_SIDE: usize = 32;
const TALL_SIDE: usize = 512;

/// Tiles of 64 × 64, one side of them small, for each multiprocessor, from which on they are faster;
/// and the inner extent from which on they are not.
const MANY: usize = 15;
const SMALL_INNER: usize = 256;

/// The inner extent of a batch's products from which on tiles of 32 × 64 and 64 × 32 may be faster
/// than 64 × 64.
const FLAT_INNER: usize = 192;

/// The fraction of the time of one slice that several slices may take.
const WORTH: f64 = 0.95;

/// Whether the kernel can count the extents and the tiles.
pub(super) fn is_counted([rows, inner, cols]: [usize; 3]) -> bool {
    let most = MmaTiles::Small.policy(false).tiles(rows, cols);
    [rows, inner, cols, most]
        .into_iter()
        .all(|count| count <= MOST)
}

/// The fastest tiles for a batch of products in that many slices, the first `whole` rows in one.
/// `pairs` says whether elements move 16 bytes at a time.
pub(super) fn tiles(
    of: [usize; 3],
    batch: usize,
    [slices, whole]: [usize; 2],
    pairs: bool,
    properties: &DeviceProperties,
) -> MmaTiles {
    if slices > 1 && (1..of[0]).contains(&whole) {
        let tiles = tail::tiles(of, [slices, whole], pairs, properties);
        return tiles.unwrap_or(MmaTiles::Square);
    }
    fastest_tiles(of, batch, slices, pairs, properties).1
}

/// The rows in one slice: those asked for, else the fastest, if the slices were not asked for.
pub(super) fn whole(task: &Task<'_>, slices: usize) -> usize {
    let of = extents(task.problem);
    let options = task.options;
    match (slices, options.whole) {
        (1, _) => of[0],
        (_, Some(whole)) => whole.min(of[0]),
        _ if options.count.is_some() => 0,
        _ => self::slices(of, task.problem.extents[3], MOST_SLICES, task.device).1[1],
    }
}

/// The number of slices, at most `most`, and of rows in one slice with which the product is fastest,
/// and its nanoseconds.
pub(super) fn slices(
    of: [usize; 3],
    batch: usize,
    most: usize,
    properties: &DeviceProperties,
) -> (f64, [usize; 2]) {
    let pairs = of[1].is_multiple_of(PAIR) && of[2].is_multiple_of(PAIR);
    let time = |slices| {
        let (time, _) = fastest_tiles(of, batch, slices, pairs, properties);
        time + fold(of, batch, slices, size_of::<f64>(), time, properties)
    };
    let whole = (time(1), [1, of[0]]);
    let longest = (of[1] / SHORTEST).clamp(1, most);
    let several = (2..=longest).map(|slices| (time(slices), [slices, 0]));
    let fastest = several.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let worth = fastest.filter(|(fastest, _)| *fastest <= WORTH * whole.0);
    let fastest = worth.unwrap_or(whole);
    let tail = match batch {
        1 => tail::fastest(of, most, pairs, properties),
        _ => None,
    };
    tail.filter(|(time, _)| *time <= tail::WORTH * fastest.0)
        .unwrap_or(fastest)
}

/// The tiles with the shortest launch, and its nanoseconds.
fn fastest_tiles(
    of: [usize; 3],
    batch: usize,
    slices: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> (f64, MmaTiles) {
    // Of batches, measured, not modelled (docs/log/2026-11-27-batches.md): the blocks of smaller tiles
    // start and store while others multiply.
    let [side, thin] = [of[0].max(of[2]), of[0].min(of[2])];
    let squares = MmaTiles::Square.policy(pairs).tiles(of[0], of[2]);
    let squares = squares.saturating_mul(batch);
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let timed = |tiles| time(tiles, of, batch, slices, pairs, properties);
    let is_small = match thin <= SMALL_SIDE {
        true => side <= SMALL_SIDE || of[1] >= SMALL_INNER || squares < MANY * multiprocessors,
        false => {
            let is_faster = timed(MmaTiles::Small) <= timed(MmaTiles::Square);
            slices == 1 && squares < multiprocessors && is_faster
        }
    };
    let all = MmaTiles::ALL.into_iter().filter(|tiles| match tiles {
        tiles if tiles.with(pairs) != *tiles => false,
        MmaTiles::Large if batch == 1 => of[1] >= LARGE_INNER,
        _ if batch == 1 => true,
        MmaTiles::Small => is_small,
        // 45 times 128³ takes 13.4 µs in them and 12.9 in Square, 36 times 128 × 384 × 128 19.4 and
        // 21.5.
        MmaTiles::Flat | MmaTiles::Slim => !is_small && of[1] >= FLAT_INNER,
        MmaTiles::Square | MmaTiles::Tall => !is_small,
        MmaTiles::Large => !is_small && side > TALL_SIDE,
    });
    let fastest = all.map(|tiles| (timed(tiles), tiles));
    let fastest = fastest.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.unwrap_or((LAUNCH, MmaTiles::Square))
}

/// Nanoseconds of the launch that multiplies.
fn time(
    tiles: MmaTiles,
    [rows, inner, cols]: [usize; 3],
    batch: usize,
    slices: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> f64 {
    let policy = tiles.policy(pairs);
    let blocks = policy.tiles(rows, cols).saturating_mul(batch);
    if blocks == 0 {
        return LAUNCH;
    }
    let Rates {
        element,
        start,
        store,
        read,
    } = rates(tiles, pairs);
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let each = blocks.saturating_mul(slices).div_ceil(multiprocessors);
    let (whole, left) = (each / element.len(), each % element.len());
    let last = if left == 0 { 0.0 } else { element[left - 1] };
    let element_of_all = whole as f64 * element[element.len() - 1] + last;
    // Measured where blocks fill the device.
    let slower = match batch == 1 && whole > 0 {
        true => across_sectors(tiles, inner, pairs),
        false => 1.0,
    };
    let len = slice_len(inner, slices).next_multiple_of(policy.inner);
    // The fraction of the tiles' area that is inside C.
    let area = (policy.rows * policy.cols) as f64 * blocks as f64;
    let inside = batch as f64 * rows as f64 * cols as f64 / area;
    let operands = batch as f64 * inner as f64 * (rows as f64 + cols as f64);
    let waves = each.div_ceil(element.len());
    LAUNCH
        + element_of_all * len as f64 * slower
        + waves as f64 * start
        + each as f64 * store * inside
        + operands * read
}

/// The first rows of C, and the memory for the slices of the others.
pub(super) struct Divided<'a> {
    pub(super) c: ViewMut<'a, f64>,
    pub(super) sums: ViewMut<'a, f64>,
    pub(super) whole: usize,
    pub(super) slices: usize,
}

impl<'a> Divided<'a> {
    pub(super) fn of(
        problem: &Problem,
        c: AnyViewMut<'a>,
        sums: Option<AnyViewMut<'a>>,
    ) -> Result<Self, Error> {
        let [rows, _, cols, batch] = problem.extents;
        let (nothing, c) = c.plain::<f64>()?.split_at_mut(0);
        let sums = sums.map_or(Ok(nothing), AnyViewMut::plain)?;
        let of_row = (cols * batch).max(1);
        let whole = c.len() / of_row;
        let each = rows.saturating_sub(whole).saturating_mul(of_row).max(1);
        let slices = (sums.len() / each).max(1);
        Ok(Self {
            c,
            sums,
            whole,
            slices,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    /// Products, and the fastest choice that was measured.
    #[test]
    fn small_tiles_fill_the_device_where_large_ones_do_not() {
        for (of, expected) in [
            ([512; 3], (MmaTiles::Flat, 1)),
            ([1024; 3], (MmaTiles::Square, 1)),
            ([1408; 3], (MmaTiles::Large, 1)),
            ([2048; 3], (MmaTiles::Large, 1)),
            // The last rows in slices.
            ([2560; 3], (MmaTiles::Tall, 7)),
            ([3072; 3], (MmaTiles::Square, 1)),
            ([4096; 3], (MmaTiles::Large, 1)),
            ([8192; 3], (MmaTiles::Tall, 1)),
            ([4093, 4099, 4111], (MmaTiles::Tall, 1)),
            // 198 tiles of 128 x 64 take two waves, 396 of 64 x 64 three shorter ones.
            ([1408, 1024, 1152], (MmaTiles::Square, 1)),
            ([1664, 1024, 1024], (MmaTiles::Large, 1)),
            ([1536; 3], (MmaTiles::Flat, 1)),
        ] {
            let (_, [slices, whole]) = slices(of, 1, 1024, &h200());
            let pairs = of[1] % 2 == 0 && of[2] % 2 == 0;
            let tiles = tiles(of, 1, [slices, whole], pairs, &h200());
            assert_eq!((tiles, slices), expected, "{of:?}");
        }
    }

    /// The fastest of the tiles in one slice that were measured, where rows of A begin in the middle
    /// of a sector, and by single elements (docs/log/2026-11-28-doubles-tail.md).
    #[test]
    fn rows_across_sectors_and_single_elements_have_larger_tiles() {
        for (of, pairs, expected) in [
            ([3284, 10_682, 528], true, MmaTiles::Large),
            ([336, 2930, 7134], true, MmaTiles::Square),
            ([7238, 2322, 1536], true, MmaTiles::Square),
            ([7161, 4574, 587], false, MmaTiles::Square),
            ([1141, 1081, 998], false, MmaTiles::Square),
            ([2098, 4765, 3055], false, MmaTiles::Square),
            ([2001, 2001, 2001], false, MmaTiles::Tall),
        ] {
            assert_eq!(tiles(of, 1, [1, of[0]], pairs, &h200()), expected, "{of:?}");
        }
    }

    /// The same of batches.
    #[test]
    fn batches_have_smaller_tiles() {
        for (batch, side, expected) in [
            (4096, 32, MmaTiles::Small),
            (3000, 24, MmaTiles::Small),
            // Less than a wave of larger tiles.
            (10, 128, MmaTiles::Small),
            (2000, 48, MmaTiles::Square),
            (1024, 64, MmaTiles::Square),
            (512, 128, MmaTiles::Tall),
            (1000, 100, MmaTiles::Tall),
            (64, 512, MmaTiles::Tall),
        ] {
            assert_eq!(
                tiles([side; 3], batch, [1, side], true, &h200()),
                expected,
                "{side}"
            );
        }
    }

    /// The same of batches whose matrices are not square.
    #[test]
    fn one_small_side_is_not_enough_for_small_tiles() {
        for (batch, of, expected) in [
            (8, [512, 128, 128], MmaTiles::Square),
            (4348, [16, 8, 4704], MmaTiles::Square),
            (3464, [24, 24, 184], MmaTiles::Square),
            (2000, [64, 64, 16], MmaTiles::Square),
            // Long sums, and few blocks.
            (500, [32, 1000, 32], MmaTiles::Small),
            (100, [30, 300, 100], MmaTiles::Small),
            (123, [24, 16, 88], MmaTiles::Small),
            (60, [64, 256, 64], MmaTiles::Small),
            (163, [18, 4, 66], MmaTiles::Small),
            (37, [128, 128, 128], MmaTiles::Square),
        ] {
            let tiles = tiles(of, batch, [1, of[0]], true, &h200());
            assert_eq!(tiles, expected, "{batch} of {of:?}");
        }
    }

    #[test]
    fn batches_of_single_elements_have_no_large_tiles() {
        let of = [547, 15, 502];
        assert_ne!(tiles(of, 242, [1, 547], false, &h200()), MmaTiles::Large);
    }

    #[test]
    fn no_extent_is_one_slice() {
        assert_eq!(slices([0; 3], 1, 1024, &h200()).1, [1, 0]);
        assert_eq!(tiles([0; 3], 1, [1, 0], true, &h200()), MmaTiles::Square);
    }
}
