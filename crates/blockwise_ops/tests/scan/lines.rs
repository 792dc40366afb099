//! Lines of contiguous elements: every length, many at once, any address, what is not finite.

use super::*;

#[test]
fn lines_of_every_length() {
    fn of<T: Scans<Sum> + Scans<Extreme>>(device: &Device) {
        let size = tile::<T>();
        for len in [
            1,
            2,
            31,
            32,
            33,
            ROW,
            ROW + 1,
            size - 1,
            size,
            size + 1,
            2 * size + 77,
        ] {
            check_all::<T>(device, Launch::line(len), &numbers(3, len));
        }
    }
    let device = Device::checked();
    of::<i32>(&device);
    of::<i64>(&device);
    of::<f32>(&device);
    of::<f64>(&device);
}

#[test]
fn sixteen_schedules() {
    let device = in_schedules(15);
    let len = 5 * tile::<f64>() + 1;
    check::<f64, Sum>(&device, Launch::line(len), &numbers(5, len));
    check::<i32, Extreme>(&device, Launch::line(2 * len), &numbers(6, 2 * len));
    check::<f32, Sum>(&device, Launch::of(37, 1), &numbers(7, 37 * 20));
    check::<i64, Sum>(&device, Launch::of(11, 35), &numbers(8, 11 * 35 * 3));
    let extent = 2 * tile_of_columns::<f64>(7) + 5;
    check::<f64, Sum>(&device, Launch::of(extent, 7), &numbers(9, extent * 7 * 2));
    let extent = 3 * tile_of_columns::<i32>(33) - 1;
    check::<i32, Extreme>(&device, Launch::of(extent, 33), &numbers(9, extent * 33));
}

#[test]
fn runs_and_groups() {
    let device = Device::emulator();
    let len = 70 * tile::<f32>() + 9;
    check::<f32, Sum>(&device, Launch::line(len), &numbers(9, len));
    check::<i64, Sum>(&device, Launch::line(len), &numbers(9, len));
}

/// A tile that has waited long for blocks that begin late adds up their tiles, and whole runs, itself.
#[test]
fn blocks_that_begin_in_any_order() {
    let len = 40 * tile::<f64>() + 5;
    let input = numbers::<f64>(91, len);
    let launch = Launch::line(len);
    let in_rounds = Launch {
        grid: Some(3),
        ..launch
    };
    let expected = in_rounds.run::<f64, Sum>(&Device::emulator(), &input, &[]);
    let least = in_rounds.run::<f64, Extreme>(&Device::emulator(), &input, &[]);
    let device = in_schedules(7);
    assert!(launch.run::<f64, Sum>(&device, &input, &[]) == expected);
    assert!(launch.run::<f64, Extreme>(&device, &input, &[]) == least);
}

#[test]
fn views_that_begin_anywhere() {
    let device = Device::checked();
    for skipped in [[1, 0], [0, 1], [1, 1], [3, 2]] {
        let len = 2 * tile::<f32>() + 5;
        let launch = Launch {
            skipped,
            ..Launch::line(len)
        };
        check::<f32, Sum>(&device, launch, &numbers(11, len));
        let launch = Launch {
            skipped,
            exclusive: true,
            ..Launch::line(len / 2)
        };
        check::<i64, Extreme>(&device, launch, &numbers(12, len / 2));
    }
}

/// Lines of few elements, of all that a warp's lanes can share, and of more.
#[test]
fn rows_of_every_length() {
    let device = Device::checked();
    let extents = (1..=34).chain([
        63,
        64,
        65,
        96,
        97,
        127,
        128,
        129,
        255,
        256,
        257,
        ROW - 1,
        ROW,
    ]);
    for extent in extents {
        let lines = 1 + 700 / extent;
        check_all::<f32>(&device, Launch::of(extent, 1), &numbers(21, extent * lines));
    }
    for extent in [3, 40, ROW + 1, tile::<i64>() + 1] {
        check_all::<i64>(&device, Launch::of(extent, 1), &numbers(22, extent * 5));
    }
}

/// Lines of several tiles, and of one tile in several rounds.
#[test]
fn long_lines_beside_each_other() {
    let device = Device::checked();
    let extent = 3 * tile::<f64>() + 11;
    check::<f64, Sum>(&device, Launch::of(extent, 1), &numbers(23, 4 * extent));
    let extent = ROW + 100;
    check::<f32, Sum>(&device, Launch::of(extent, 1), &numbers(24, 40 * extent));
}

/// The order of unsigned numbers, by kernels of signed ones.
#[test]
fn extremes_of_unsigned_numbers() {
    let device = Device::checked();
    for len in [40, 3 * tile::<i32>()] {
        let input = numbers::<i32>(31, len);
        for (order, pick) in [
            (Order::LeastUnsigned, u32::min as fn(u32, u32) -> u32),
            (Order::GreatestUnsigned, u32::max),
        ] {
            let flip = order.flip::<u32>();
            let launch = Launch {
                flip,
                ..Launch::line(len)
            };
            let (result, _) = launch.run::<i32, Extreme>(&device, &input, &[]);
            let mut value = input[0].cast_unsigned();
            for (&x, got) in input.iter().zip(result) {
                value = pick(value, x.cast_unsigned());
                assert_eq!(got.cast_unsigned(), value, "{order:?}");
            }
            let launch = Launch {
                exclusive: true,
                ..launch
            };
            let (result, _) = launch.run::<i32, Extreme>(&device, &input, &[]);
            let first = match order {
                Order::LeastUnsigned => u32::MAX,
                _ => 0,
            };
            assert_eq!(result[0].cast_unsigned(), first, "{order:?}");
        }
    }
}

/// As NumPy: NaN stays from where it stands, in sums and extremes; the sum of −0 is −0.
#[test]
fn what_is_not_finite_stays() {
    let device = Device::checked();
    for (len, at) in [(300, 7), (3 * tile::<f32>(), tile::<f32>() + 70)] {
        let mut input = numbers::<f32>(41, len);
        input[at] = f32::NAN;
        let of = |flip, exclusive| Launch {
            flip,
            exclusive,
            ..Launch::line(len)
        };
        for exclusive in [false, true] {
            let greatest = Order::GreatestFloat.flip::<f32>();
            for result in [
                of(0, exclusive).run::<f32, Sum>(&device, &input, &[]).0,
                of(0, exclusive).run::<f32, Extreme>(&device, &input, &[]).0,
                of(greatest, exclusive)
                    .run::<f32, Extreme>(&device, &input, &[])
                    .0,
            ] {
                let is_nan =
                    |(i, x): (usize, &f32)| x.is_nan() == (i >= at + usize::from(exclusive));
                assert!(result.iter().enumerate().all(is_nan), "{len}");
            }
        }
        input[at] = f32::INFINITY;
        let result = of(0, false).run::<f32, Sum>(&device, &input, &[]).0;
        assert!(result[at - 1].is_finite() && result[at..].iter().all(|&x| x == f32::INFINITY));
        let zeros = vec![-0.0_f32; len];
        let signs = |exclusive| of(0, exclusive).run::<f32, Sum>(&device, &zeros, &[]).0;
        assert!(
            signs(false)
                .iter()
                .all(|x| x.is_sign_negative() && *x == 0.0)
        );
        assert!(
            signs(true)
                .iter()
                .all(|x| x.is_sign_positive() && *x == 0.0)
        );
    }
}
