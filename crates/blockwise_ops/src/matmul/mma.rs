//! The tiles and slices of `mma`, by [rates] of its launches.

use blockwise::{AnyViewMut, DeviceProperties, Error, ViewMut};
use kernels::matmul::direct::MOST;
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::slices::MOST_SLICES;

use super::cost::{SHORTEST, WORTH, fold};
use super::extents;
use super::rates::Rates;
use crate::operation::{Problem, Task};

mod tail;

/// The rates of copies of pairs, or of single elements. Those of `Small` fit 218 launches of `bench
/// --own` at random shapes (docs/log/2026-11-30-rows.md). Launches are 65 to 250 ns shorter than in
/// the fits, since blocks start earlier (2026-11-30-addresses.md).
const fn rates(tiles: MmaTiles, pairs: bool) -> Rates {
    let (launch, element, start, store, read): (_, &[f64], _, _, _) = match (tiles, pairs) {
        (MmaTiles::Small, true) => (3915.0, &[7.8, 10.6, 14.7], 595.0, 470.0, 0.0012),
        (MmaTiles::Flat, _) => (4260.0, &[10.4, 19.6], 1490.0, 77.0, 0.00027),
        (MmaTiles::Slim, _) => (4250.0, &[10.4, 19.3], 1490.0, 104.0, 0.00033),
        (MmaTiles::Square, true) => (4850.0, &[24.2, 36.1, 52.2], 600.0, 502.0, 0.00035),
        (MmaTiles::Tall, true) => (4650.0, &[39.2, 71.0], 1000.0, 1190.0, 0.00022),
        (MmaTiles::Large, _) => (3460.0, &[66.1], 3400.0, 2200.0, 0.00044),
        (MmaTiles::Small, false) => (3600.0, &[9.8, 17.4, 25.1], 970.0, 630.0, 0.00034),
        (MmaTiles::Square, false) => (5360.0, &[27.4, 40.4, 59.7], 410.0, 1490.0, 0.00033),
        (MmaTiles::Tall, false) => (5270.0, &[41.3, 75.0], 0.0, 3830.0, 0.00029),
    };
    Rates {
        launch,
        element,
        start,
        store,
        read,
        moved: 0.0,
    }
}

/// How much longer 128 × 128 takes in products of more than MOST_TIME nanoseconds: the clock falls, and
/// it loses more than 64 × 64: 8192³ takes 18.4 ms in these, 20.8 in 128 × 128.
const FALLEN: f64 = 1.07;
const MOST_TIME: f64 = 1.5e6;

/// How much longer an element takes if rows of A, or of B, are no whole sectors: every other row
/// then begins mid-sector, and its copies touch one sector more. Small tiles read their operands
/// most often.
fn across_sectors(tiles: MmaTiles, [_, inner, cols]: [usize; 3], pairs: bool) -> f64 {
    if !pairs || inner < LONG {
        return 1.0;
    }
    let (of_a, of_b) = match tiles {
        MmaTiles::Small => (0.34, 0.22),
        MmaTiles::Slim => (0.25, 0.14),
        MmaTiles::Flat => (0.12, 0.22),
        MmaTiles::Square => (0.06, 0.06),
        MmaTiles::Tall => (0.04, 0.03),
        MmaTiles::Large => (0.02, 0.02),
    };
    let of = |extent: usize, slower| match extent.is_multiple_of(SECTOR) {
        true => 0.0,
        false => slower,
    };
    1.0 + of(inner, of_a) + of(cols, of_b)
}
/// How much longer an element takes where most columns of a tile are beyond C: 1328 × 5728 × 8 takes
/// 27.6 µs at an odd address, 25.4 by the model without this (docs/log/2026-11-30-addresses.md).
const NARROW: f64 = 0.1;
const EIGHT: usize = 8;
/// Elements of a sector of 32 bytes.
const SECTOR: usize = 4;
/// In shorter sums no cost was measured.
const LONG: usize = 128;

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
    let [rows, ..] = extents(task.problem);
    let options = task.options;
    match (slices, options.whole) {
        (1, _) => rows,
        (_, Some(whole)) => whole.min(rows),
        _ if options.count.is_some() => 0,
        _ => self::slices(task, MOST_SLICES).1[1],
    }
}

/// The number of slices, at most `most`, and of rows in one slice with which the product is fastest,
/// and its nanoseconds.
pub(super) fn slices(task: &Task<'_>, most: usize) -> (f64, [usize; 2]) {
    let (of, batch, properties) = (extents(task.problem), task.problem.extents[3], task.device);
    let pairs = task.in_packs(&of[1..]);
    let time = |slices| {
        let (time, _) = fastest_tiles(of, batch, slices, pairs, properties);
        time + fold(of, batch, slices, size_of::<f64>(), properties)
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
    tail.filter(|(time, _)| *time <= WORTH * fastest.0)
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
    let all = MmaTiles::ALL.into_iter();
    let room = properties.shared_bytes_opt_in as usize;
    let all =
        all.filter(|tiles| tiles.with(pairs) == *tiles && tiles.shared_bytes(pairs, of[1]) <= room);
    let timed = all.map(|tiles| (time(tiles, of, batch, slices, pairs, properties), tiles));
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.unwrap_or((f64::INFINITY, MmaTiles::Square))
}

/// Nanoseconds of the launch that multiplies.
fn time(
    tiles: MmaTiles,
    of: [usize; 3],
    batch: usize,
    slices: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> f64 {
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let mut slower = across_sectors(tiles, of, pairs);
    if batch == 1 && of[2] <= EIGHT {
        slower += NARROW;
    }
    let time = rates(tiles, pairs).time(
        &tiles.policy(pairs),
        of,
        [batch, slices],
        slower,
        multiprocessors,
    );
    if of[1] <= SHALLOW {
        let blocks = tiles.policy(pairs).tiles(of[0], of[2]);
        let blocks = blocks.saturating_mul(batch);
        let each = blocks.div_ceil(multiprocessors.max(1)) as f64;
        return time + each * more_of_shallow(tiles, pairs);
    }
    match tiles {
        MmaTiles::Large if time > MOST_TIME => FALLEN * time,
        _ => time,
    }
}

/// Sums of one step of copies hide nothing of a block's start: 7265 times 16 × 8 × 16 take 54 µs at
/// an odd address, 37 without this (docs/log/2026-11-30-addresses.md).
const SHALLOW: usize = 16;

/// Nanoseconds of each block of a multiprocessor in such sums, beside those of longer ones.
const fn more_of_shallow(tiles: MmaTiles, pairs: bool) -> f64 {
    match (tiles, pairs) {
        (MmaTiles::Small | MmaTiles::Flat | MmaTiles::Slim, _) => 0.0,
        (MmaTiles::Square | MmaTiles::Large, true) => 250.0,
        (MmaTiles::Tall, true) | (MmaTiles::Square | MmaTiles::Large, false) => 330.0,
        (MmaTiles::Tall, false) => 700.0,
    }
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
    use blockwise::Type;

    use super::super::with_task;
    use super::*;
    use crate::limits::h200;

    /// Products, and the fastest of all launches that were measured
    /// (docs/log/2026-11-30-choices.md).
    #[test]
    fn tiles_and_slices_are_the_fastest_that_were_measured() {
        for (of, expected) in [
            ([400, 112, 1232], (MmaTiles::Flat, 1)),
            ([5264, 256, 80], (MmaTiles::Slim, 1)),
            ([640, 256, 128], (MmaTiles::Small, 1)),
            ([10_112, 128, 256], (MmaTiles::Square, 1)),
            ([3352, 48, 2848], (MmaTiles::Square, 1)),
            ([16_000, 128, 128], (MmaTiles::Tall, 1)),
            ([8192; 3], (MmaTiles::Square, 1)),
            ([76, 2738, 1312], (MmaTiles::Flat, 4)),
            ([106, 2432, 1044], (MmaTiles::Slim, 4)),
            ([56, 1574, 5546], (MmaTiles::Square, 3)),
            // Single elements.
            ([225, 114, 425], (MmaTiles::Small, 1)),
            ([1189, 458, 1161], (MmaTiles::Square, 1)),
            ([115, 1197, 15_699], (MmaTiles::Tall, 1)),
            ([209, 997, 264], (MmaTiles::Small, 2)),
            ([38, 3989, 5398], (MmaTiles::Square, 3)),
            ([109, 3329, 5429], (MmaTiles::Tall, 3)),
        ] {
            let (_, [slices, whole]) = with_task(Type::F64, &of, |task| slices(task, 1024));
            let pairs = of[1] % 2 == 0 && of[2] % 2 == 0;
            let tiles = tiles(of, 1, [slices, whole], pairs, &h200());
            assert_eq!((tiles, slices), expected, "{of:?}");
        }
    }

    /// Batches, and the fastest tiles that were measured.
    #[test]
    fn tiles_of_batches_are_the_fastest_that_were_measured() {
        for (batch, of, expected) in [
            (83, [80, 528, 56], MmaTiles::Flat),
            (12, [136, 192, 248], MmaTiles::Flat),
            (67, [44, 1588, 68], MmaTiles::Slim),
            (3, [128, 640, 256], MmaTiles::Small),
            (81, [24, 3432, 88], MmaTiles::Small),
            (2830, [40, 280, 232], MmaTiles::Square),
            (1448, [16, 24, 2488], MmaTiles::Square),
            (4780, [128, 128, 128], MmaTiles::Square),
            (49, [568, 56, 48], MmaTiles::Tall),
            // Single elements.
            (36, [73, 1697, 22], MmaTiles::Small),
            (1117, [35, 639, 99], MmaTiles::Square),
            (2568, [68, 63, 151], MmaTiles::Tall),
        ] {
            let pairs = of[1] % 2 == 0 && of[2] % 2 == 0;
            let tiles = tiles(of, batch, [1, of[0]], pairs, &h200());
            assert_eq!(tiles, expected, "{batch} of {of:?}");
        }
    }

    #[test]
    fn batches_of_single_elements_have_no_large_tiles() {
        let of = [547, 15, 502];
        assert_ne!(tiles(of, 242, [1, 547], false, &h200()), MmaTiles::Large);
    }

    #[test]
    fn tiles_fit_the_shared_memory_of_a_block() {
        let (of, whole) = ([2048; 3], [1, 2048]);
        assert_eq!(tiles(of, 1, whole, true, &h200()), MmaTiles::Large);
        let small = DeviceProperties {
            shared_bytes_opt_in: 99 << 10,
            ..h200()
        };
        assert_eq!(tiles(of, 1, whole, true, &small), MmaTiles::Square);
    }

    #[test]
    fn no_extent_is_one_slice() {
        let divided = with_task(Type::F64, &[0; 3], |task| slices(task, 1024).1);
        assert_eq!(divided, [1, 0]);
        tiles([0; 3], 1, [1, 0], true, &h200());
    }
}
