//! Lines whose elements are not contiguous.

use super::*;

#[test]
fn columns_of_every_shape() {
    let device = Device::checked();
    for (outer, extent, inner) in [
        (1, 1, 2),
        (1, 7, 3),
        (2, 8, 5),
        (700, 3, 2),
        (1, 8, 700),
        (3, 21, 100),
        (3, 40, 31),
        (2, 33, 32),
        (2, 33, 33),
        (1, 300, 33),
    ] {
        let input = numbers(25, outer * extent * inner);
        check_all::<f64>(&device, Launch::of(extent, inner), &input);
        let input = numbers(26, outer * extent * inner);
        check_all::<i32>(&device, Launch::of(extent, inner), &input);
    }
}

/// Lines of a tile, of a row less and more, and of several tiles, where a tile is as wide as a line
/// of memory, as the lines that are adjacent, and where it has parts of two rows of lines.
#[test]
fn columns_of_several_tiles() {
    fn of<T: Scans<Sum> + Scans<Extreme>>(device: &Device) {
        for (outer, inner) in [(1, 2), (3, 5), (1, 16), (2, 41)] {
            let size = tile_of_columns::<T>(inner);
            for extent in [size - 1, size, size + 1, 3 * size + 7] {
                let input = numbers(27, outer * extent * inner);
                let exclusive = outer > 1;
                let launch = Launch {
                    exclusive,
                    ..Launch::of(extent, inner)
                };
                check::<T, Sum>(device, launch, &input);
                check::<T, Extreme>(device, launch, &input);
            }
        }
    }
    let device = Device::checked();
    of::<f32>(&device);
    of::<i64>(&device);
}

/// Runs are 16 tiles, groups 16 runs.
#[test]
fn columns_of_runs_and_groups() {
    let device = Device::emulator();
    for (inner, tiles) in [(2, 16), (2, 17), (3, 33), (2, 258)] {
        let extent = tiles * tile_of_columns::<f64>(inner) + 1;
        let input = numbers::<f64>(28, extent * inner);
        check::<f64, Sum>(&device, Launch::of(extent, inner), &input);
    }
    let extent = 257 * tile_of_columns::<i32>(2);
    let input = numbers::<i32>(29, extent * 2);
    check::<i32, Extreme>(&device, Launch::of(extent, 2), &input);
}

/// So many lines that each has one thread: of whole groups of loads, and a rest.
#[test]
fn columns_side_by_side() {
    let device = Device::emulator();
    for (extent, inner) in [(16, WIDE), (17, WIDE), (24, WIDE + 5)] {
        let input = numbers::<f32>(34, extent * inner);
        let launch = Launch {
            exclusive: inner > WIDE,
            ..Launch::of(extent, inner)
        };
        check::<f32, Sum>(&device, launch, &input);
    }
}

#[test]
fn columns_that_begin_anywhere() {
    let device = Device::checked();
    for skipped in [[1, 0], [0, 1], [3, 2]] {
        let launch = Launch {
            skipped,
            ..Launch::of(1500, 5)
        };
        check::<f32, Sum>(&device, launch, &numbers(30, 1500 * 5));
    }
}

/// What comes after the first part of each line is what comes before the second.
#[test]
fn columns_in_pieces() {
    let device = Device::checked();
    for (inner, extent, cut) in [(3, 20, 7), (5, 1300, 600)] {
        let input = numbers::<i64>(32, inner * extent);
        for exclusive in [false, true] {
            let of = |extent| Launch {
                exclusive,
                ..Launch::of(extent, inner)
            };
            let (whole, after) = of(extent).run::<i64, Sum>(&device, &input, &[]);
            let (head, rest) = input.split_at(cut * inner);
            let (first, before) = of(cut).run::<i64, Sum>(&device, head, &[]);
            let (second, end) = of(extent - cut).run::<i64, Sum>(&device, rest, &before);
            assert_eq!([first, second].concat(), whole);
            assert_eq!(end, after);
        }
    }
}
