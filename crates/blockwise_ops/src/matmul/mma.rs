//! The tiles and slices of `mma`.
//!
//! The time of a launch is that of its busiest multiprocessor: waves of as many blocks as it holds,
//! and a last one of fewer, which wait for each other more. The figures are those of prototypes on
//! an H200 (driver 580, 2026-11-23; docs/log), in nanoseconds for an element of the inner extent:
//! 128 × 64 takes 48 alone (1024³) and 75 in pairs (2048³), 64 × 64 takes 39 in pairs (1024³) and
//! 59 by threes (2048³).

use blockwise::DeviceProperties;
use kernels::matmul::mma::{MmaTiles, PAIR};
use kernels::matmul::slices::slice_len;

use super::MatmulShape;
use super::cost::{SHORTEST, fold};

/// Nanoseconds that an element of the inner extent takes one, two, … blocks on a multiprocessor, up
/// to as many as it holds. One block of 64 × 64 is not measured: it has the ratio of 128 × 64.
const SQUARE: &[f64] = &[25.0, 39.0, 59.0];
const TALL: &[f64] = &[48.0, 75.0];

/// Nanoseconds of a launch that computes nothing.
const LAUNCH: f64 = 5200.0;

/// How much longer single elements take than pairs: 4093 × 4099 × 4111 beside 4096³.
const SINGLE: f64 = 1.15;

/// Part of the time of 128 × 64 that 64 × 64 may take, and of one slice that several may take.
const WORTH: f64 = 0.95;

/// The tiles that are fastest for the product in that many slices. `pairs` says whether elements
/// move 16 bytes at a time.
///
/// Never [`MmaTiles::Large`]: 2 to 6 % faster than 128 × 64 from 2048³ on, which is no more than
/// the clock varies.
pub(super) fn tiles(
    shape: MatmulShape,
    slices: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> MmaTiles {
    let time = |tiles| time(tiles, shape, slices, pairs, properties);
    if time(MmaTiles::Square) <= WORTH * time(MmaTiles::Tall) {
        MmaTiles::Square
    } else {
        MmaTiles::Tall
    }
}

/// The slices, at most `most`, in which the product is fastest.
pub(super) fn slices(shape: MatmulShape, most: usize, properties: &DeviceProperties) -> usize {
    let pairs = shape.inner.is_multiple_of(PAIR) && shape.cols.is_multiple_of(PAIR);
    let time = |slices| {
        let tiles = tiles(shape, slices, pairs, properties);
        time(tiles, shape, slices, pairs, properties) + fold(shape, slices, size_of::<f64>())
    };
    let longest = (shape.inner / SHORTEST).clamp(1, most);
    let all = (1..=longest).map(|slices| (time(slices), slices));
    let fastest = all.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let worth = fastest.filter(|(fastest, _)| *fastest <= WORTH * time(1));
    worth.map_or(1, |(_, slices)| slices)
}

/// Nanoseconds of the launch that multiplies.
fn time(
    tiles: MmaTiles,
    shape: MatmulShape,
    slices: usize,
    pairs: bool,
    properties: &DeviceProperties,
) -> f64 {
    let rates = match tiles {
        MmaTiles::Square => SQUARE,
        MmaTiles::Tall | MmaTiles::Large => TALL,
    };
    let blocks = tiles.policy(pairs).tiles(shape.rows, shape.cols);
    let multiprocessors = properties.multiprocessors_to_fill() as usize;
    let each = blocks.saturating_mul(slices).div_ceil(multiprocessors);
    let of = |blocks: usize| if blocks == 0 { 0.0 } else { rates[blocks - 1] };
    let waves = (each / rates.len()) as f64;
    let element = waves * of(rates.len()) + of(each % rates.len());
    let slower = if pairs { 1.0 } else { SINGLE };
    LAUNCH + element * slower * slice_len(shape.inner, slices) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    /// Products, and what is fastest by the prototypes' rates.
    #[test]
    fn small_tiles_fill_the_device_where_large_ones_do_not() {
        for ([rows, inner, cols], expected) in [
            ([512; 3], (MmaTiles::Square, 2)),
            ([1024; 3], (MmaTiles::Square, 1)),
            ([2048; 3], (MmaTiles::Tall, 1)),
            ([4096; 3], (MmaTiles::Tall, 1)),
            ([8192; 3], (MmaTiles::Tall, 1)),
            ([4093, 4099, 4111], (MmaTiles::Tall, 1)),
            // 198 tiles of 128 x 64 take two turns, 396 of 64 x 64 three shorter ones.
            ([1408, 1024, 1152], (MmaTiles::Square, 1)),
            ([1664, 1024, 1024], (MmaTiles::Tall, 1)),
            // Slices that save 1 % of the time are not worth their memory.
            ([1536; 3], (MmaTiles::Square, 1)),
        ] {
            let shape = MatmulShape { rows, inner, cols };
            let slices = slices(shape, 1024, &h200());
            let pairs = inner % 2 == 0 && cols % 2 == 0;
            let tiles = tiles(shape, slices, pairs, &h200());
            assert_eq!((tiles, slices), expected, "{shape:?}");
        }
    }

    #[test]
    fn no_extent_is_one_slice() {
        let shape = MatmulShape {
            rows: 0,
            inner: 0,
            cols: 0,
        };
        assert_eq!(slices(shape, 1024, &h200()), 1);
        assert_eq!(tiles(shape, 1, true, &h200()), MmaTiles::Tall);
    }
}
