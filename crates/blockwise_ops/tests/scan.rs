//! Scans: right at every length, with the same bits on any grid, in pieces and from launch to
//! launch.

use std::fmt::Debug;

use blockwise::{Buffer, CheckOptions, Device, EmulatorLimits, Plain, View, ViewMut, Watch};
use kernels::number::Scalar;
use kernels::reduce::{Extreme, Op, Order, Sum};
use kernels::scan::once::scan_once;
use kernels::scan::{
    RING_BYTES, ROW, THREADS, TILE_BYTES, WIDE, Way, additions, blocks, group, groups, in_one_step,
    scan, state_len, tile,
};

/// A type and its references.
trait Number: Scalar + Plain + PartialEq + Debug {
    /// A number of few bits from 64.
    fn of(bits: u64) -> Self;
    fn wide(self) -> f64;
    /// Half the distance from 1 to the next number; 0 of integers.
    const UNIT: f64;
    /// The same bits; any NaN is NaN.
    fn is(self, other: Self) -> bool {
        self.bits() == other.bits() || self.wide().is_nan() && other.wide().is_nan()
    }
}

macro_rules! numbers {
    ($($t:ident $unit:expr, $of:expr;)*) => {$(
        impl Number for $t {
            const UNIT: f64 = $unit;
            fn of(bits: u64) -> Self {
                $of(bits)
            }
            fn wide(self) -> f64 {
                self as f64
            }
        }
    )*};
}
numbers! {
    i32 0.0, |bits| bits as i32;
    i64 0.0, |bits| bits as i64;
    f32 f32::EPSILON as f64 / 2.0, |bits| (bits >> 40) as f32 / (1 << 24) as f32 - 0.25;
    f64 f64::EPSILON / 2.0, |bits| (bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.25;
}

/// A type with its kernels.
trait Scans<O: Op>: Number {
    fn launch(launch: &Launch, grid: u32, of: Memory<'_, Self>) -> blockwise::Result<()>;
}

/// A launch's memory.
struct Memory<'a, T: Plain> {
    device: &'a Device,
    input: View<'a, T>,
    output: ViewMut<'a, T>,
    state: &'a mut Buffer<u64>,
    before: View<'a, T>,
    after: ViewMut<'a, T>,
}

macro_rules! scans {
    ($($t:ident $o:ident;)*) => {$(
        impl Scans<$o> for $t {
            fn launch(launch: &Launch, grid: u32, of: Memory<'_, Self>) -> blockwise::Result<()> {
                let exclusive = usize::from(launch.exclusive);
                if launch.is_in_one_step::<$t>(of.input.len(), grid) {
                    let kernel = scan_once::<$t, $o>::on(of.device)?.grid(grid).block(THREADS);
                    return kernel.shared_bytes(TILE_BYTES).launch(
                        of.input,
                        of.output,
                        of.state,
                        of.before,
                        of.after,
                        launch.extent,
                        launch.flip,
                        exclusive,
                    );
                }
                let kernel = scan::<$t, $o>::on(of.device)?.grid(grid).block(THREADS);
                kernel.shared_bytes(RING_BYTES).launch(
                    of.input,
                    of.output,
                    of.state,
                    of.before,
                    of.after,
                    launch.extent,
                    launch.inner,
                    launch.flip,
                    exclusive,
                )
            }
        }
    )*};
}
scans! {
    i32 Sum; i64 Sum; f32 Sum; f64 Sum;
    i32 Extreme; i64 Extreme; f32 Extreme; f64 Extreme;
}

fn numbers<T: Number>(seed: u64, len: usize) -> Vec<T> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        T::of((bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb))
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// One launch but for its input.
#[derive(Clone, Copy, Debug)]
struct Launch {
    extent: usize,
    inner: usize,
    flip: u64,
    exclusive: bool,
    /// One block for each that has something to do, unless given.
    grid: Option<u32>,
    /// Elements of the input and the output before the first.
    skipped: [usize; 2],
}

impl Launch {
    fn of(extent: usize, inner: usize) -> Self {
        Self {
            extent,
            inner,
            flip: 0,
            exclusive: false,
            grid: None,
            skipped: [0; 2],
        }
    }

    fn line(extent: usize) -> Self {
        Self::of(extent, 1)
    }

    /// Whether it is a launch of [`scan_once`]. With fewer blocks it has rounds.
    fn is_in_one_step<T>(&self, len: usize, grid: u32) -> bool {
        let by_tiles = self.inner == 1 && self.extent > ROW;
        by_tiles && in_one_step::<T>(len, self.extent, grid)
    }

    /// Launches it; a `before` of each line or none. The results, and what comes after each line.
    fn run<T: Scans<O>, O: Op>(
        self,
        device: &Device,
        input: &[T],
        before: &[T],
    ) -> (Vec<T>, Vec<T>) {
        let way = Way::of(self.extent, self.inner, !before.is_empty());
        let words = state_len::<T>(way, input.len(), self.extent, self.inner);
        let mut state = device.zeros(words).unwrap();
        self.run_with::<T, O>(device, input, before, &mut state)
    }

    fn run_with<T: Scans<O>, O: Op>(
        self,
        device: &Device,
        input: &[T],
        before: &[T],
        state: &mut Buffer<u64>,
    ) -> (Vec<T>, Vec<T>) {
        let [from, to] = self.skipped;
        let way = Way::of(self.extent, self.inner, !before.is_empty());
        let mut padded = numbers::<T>(1, from);
        padded.extend(input);
        let padded = device.upload(&padded).unwrap();
        let poison = T::of_bits(0x0123_4567_89ab_cdef);
        let mut output = device.upload(&vec![poison; to + input.len() + 5]).unwrap();
        let before = device.upload(before).unwrap();
        let lines = input.len() / self.extent;
        let mut after = device.zeros::<T>(lines).unwrap();
        let grid = self
            .grid
            .unwrap_or(blocks::<T>(way, input.len(), self.extent, self.inner) as u32);
        let of = Memory {
            device,
            input: padded.view(from..),
            output: output.view_mut(to..to + input.len()),
            state,
            before: before.as_view(),
            after: after.as_view_mut(),
        };
        let result = <T as Scans<O>>::launch(&self, grid, of);
        result.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let mut output = output.to_vec().unwrap();
        let outside = output.drain(to + input.len()..).count();
        assert_eq!(outside, 5);
        assert!(output.drain(..to).all(|x| x.is(poison)), "{self:?}");
        (output, after.to_vec().unwrap())
    }
}

/// Checks one launch against sums that are exact for integers and within the bound for floats, or
/// the exact extremes, and that all grids give the same bits.
#[track_caller]
fn check<T: Scans<O>, O: Op>(device: &Device, launch: Launch, input: &[T]) -> (Vec<T>, Vec<T>) {
    let (result, after) = launch.run::<T, O>(device, input, &[]);
    let Launch { extent, inner, .. } = launch;
    let additions = additions::<T>(extent, inner) as f64;
    let bound = additions * T::UNIT / (1.0 - additions * T::UNIT);
    #[expect(
        clippy::needless_range_loop,
        reason = "a line has a place in several arrays"
    )]
    for line in 0..input.len() / extent {
        let first = line / inner * extent * inner + line % inner;
        let (mut value, mut sum, mut all) = (None, 0.0, 0.0);
        for k in 0..=extent {
            let inclusive = value;
            if let Some(&x) = input.get(first + k * inner).filter(|_| k < extent) {
                let x_flipped = O::turned(x, launch.flip);
                value = Some(value.map_or(x_flipped, |value| O::apply(value, x_flipped)));
                (sum, all) = (sum + x.wide(), all + x.wide().abs());
            }
            let place = format!("{launch:?}, line {line}, element {k}");
            let (got, expected) = match (launch.exclusive, k == extent) {
                (_, true) => (after[line], inclusive),
                (true, _) => (
                    result[first + k * inner],
                    Some(inclusive.unwrap_or(O::identity())),
                ),
                (false, _) => (result[first + k * inner], value),
            };
            let expected = O::turned(expected.unwrap(), launch.flip);
            let is_sum = O::identity::<T>().wide() == 0.0;
            if is_sum && T::UNIT > 0.0 {
                let last = input
                    .get(first + k * inner)
                    .filter(|_| k < extent && launch.exclusive);
                let own = last.map_or(0.0, |x| x.wide());
                let error = (got.wide() - (sum - own)).abs();
                // The reference itself rounds in float64.
                let slack = (k + 2) as f64 * f64::EPSILON * all;
                assert!(error <= bound * all + slack, "{place}: {got:?}, {sum}");
            } else {
                assert!(got.is(expected), "{place}: {got:?}, not {expected:?}");
            }
        }
    }
    // Seven blocks are more than most of these lengths need.
    for grid in [1, 2, 7] {
        let grid = Some(grid);
        let other = Launch { grid, ..launch };
        let (again, after_again) = other.run::<T, O>(device, input, &[]);
        let same = |a: &[T], b: &[T]| a.iter().zip(b).all(|(a, b)| a.is(*b));
        assert!(
            same(&result, &again) && same(&after, &after_again),
            "{other:?}"
        );
    }
    (result, after)
}

/// Both operations, inclusive and exclusive, of one type.
#[track_caller]
fn check_all<T: Scans<Sum> + Scans<Extreme>>(device: &Device, launch: Launch, input: &[T]) {
    for exclusive in [false, true] {
        let launch = Launch {
            exclusive,
            ..launch
        };
        check::<T, Sum>(device, launch, input);
        let greatest = match T::UNIT > 0.0 {
            true => Order::GreatestFloat,
            false => Order::Greatest,
        };
        for order in [Order::Least, greatest] {
            let flip = order.flip::<T>();
            check::<T, Extreme>(device, Launch { flip, ..launch }, input);
        }
    }
}

/// A checked device in N schedules besides its own.
fn in_schedules(schedules: u32) -> Device {
    let options = CheckOptions {
        schedules,
        ..CheckOptions::default()
    };
    Device::emulator_with(EmulatorLimits::default(), Watch::Check(options))
}

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
    let extents = (1..=34).chain([63, 64, 65, 100, 255, 256, 257, ROW - 1, ROW]);
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

/// Rows of a tile of long lines.
fn tile_of_columns<T>(inner: usize) -> usize {
    let is_longer =
        |&extent: &usize| state_len::<T>(Way::Columns, extent * inner, extent, inner) > 0;
    (1..).find(is_longer).unwrap() - 1
}

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

/// Columns and a long line in turn, with one state, which the launch needs.
#[test]
fn a_state_serves_columns_too() {
    let device = Device::checked();
    let columns = Launch::of(tile_of_columns::<f64>(3) * 18, 3);
    let line = Launch::line(2 * tile::<f64>() + 1);
    let [a, b] = [columns.extent * 3, line.extent].map(|len| numbers::<f64>(33, len));
    let expected = [(columns, &a), (line, &b)]
        .map(|(launch, input)| launch.run::<f64, Sum>(&device, input, &[]));
    let words = state_len::<f64>(Way::Columns, a.len(), columns.extent, 3);
    let mut state = device.zeros::<u64>(words).unwrap();
    for _ in 0..2 {
        let mut run = |launch: Launch, input: &[f64]| {
            launch.run_with::<f64, Sum>(&device, input, &[], &mut state)
        };
        assert!([run(columns, &a), run(line, &b)] == expected);
    }

    let input = device.upload(&a).unwrap();
    let [mut output, mut after] = [a.len(), 0].map(|len| device.zeros::<f64>(len).unwrap());
    let mut short = device.zeros::<u64>(words - 1).unwrap();
    let none = device.zeros::<f64>(0).unwrap();
    let of = Memory {
        device: &device,
        input: input.as_view(),
        output: output.as_view_mut(),
        state: &mut short,
        before: none.as_view(),
        after: after.as_view_mut(),
    };
    let refused = <f64 as Scans<Sum>>::launch(&columns, 1, of).unwrap_err();
    assert!(refused.to_string().contains("state"), "{refused}");
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

/// A state is for launches of any type and length, before and after its numbers of launches begin
/// anew.
#[test]
fn a_state_serves_many_launches() {
    let device = Device::checked();
    let len = 9 * tile::<f64>() + 3;
    let words = state_len::<f64>(Way::Tiles, len, len, 1);
    let (long, short) = (
        numbers::<f64>(51, len),
        numbers::<f64>(52, 2 * tile::<f64>()),
    );
    let integers = numbers::<i32>(53, len);
    let run = |state: &mut Buffer<u64>| {
        let launch = |len| Launch {
            grid: Some(5),
            ..Launch::line(len)
        };
        let a = launch(len).run_with::<f64, Sum>(&device, &long, &[], state);
        let b = launch(short.len()).run_with::<f64, Sum>(&device, &short, &[], state);
        let c = launch(len).run_with::<i32, Sum>(&device, &integers, &[], state);
        // In one step.
        let d = Launch::line(len).run_with::<i32, Sum>(&device, &integers, &[], state);
        assert_eq!(c, d);
        (a, b, c)
    };
    let expected = run(&mut device.zeros(words).unwrap());
    let mut state = device.zeros::<u64>(words).unwrap();
    for launches in [0, u32::MAX - 4] {
        let mut words = state.to_vec().unwrap();
        words[0] = words[0].wrapping_add(u64::from(launches) << 32);
        state = device.upload(&words).unwrap();
        for _ in 0..3 {
            assert_eq!(run(&mut state), expected);
        }
    }
    let count = state.to_vec().unwrap()[0];
    assert_eq!(
        count,
        u64::from(12_u32.wrapping_add(u32::MAX - 4).wrapping_add(12)) << 32
    );
}

#[test]
fn a_graph_scans_again() {
    let device = Device::checked();
    let len = 4 * tile::<i64>() + 1;
    let input = device.upload(&numbers::<i64>(61, len)).unwrap();
    let mut output = device.zeros::<i64>(len).unwrap();
    let mut state = device
        .zeros(state_len::<i64>(Way::Tiles, len, len, 1))
        .unwrap();
    let none = device.zeros::<i64>(0).unwrap();
    let mut after = device.zeros::<i64>(0).unwrap();
    let graph = device
        .graph(|stream| {
            let kernel = scan::<i64, Sum>::on(&device)?
                .stream(stream)
                .grid(3)
                .block(THREADS);
            kernel.shared_bytes(RING_BYTES).launch(
                &input,
                &mut output,
                &mut state,
                &none,
                &mut after,
                len,
                1,
                0,
                0,
            )
        })
        .unwrap();
    let expected = Launch::line(len)
        .run::<i64, Sum>(&device, &input.to_vec().unwrap(), &[])
        .0;
    for _ in 0..3 {
        output.copy_from_slice(&vec![0; len]).unwrap();
        graph.launch().unwrap();
        assert_eq!(output.to_vec().unwrap(), expected);
    }
}

/// In pieces of whole groups, with what comes before each from the piece before it or from the
/// groups' totals: the bits of one launch.
#[test]
fn a_line_in_pieces() {
    let device = Device::emulator();
    let size = group::<f64>();
    let len = 2 * size + 700;
    let input = numbers::<f64>(71, len);
    let in_pieces = |exclusive, input: &[f64]| {
        let of = |len| Launch {
            exclusive,
            ..Launch::line(len)
        };
        let (whole, after_whole) = of(input.len()).run::<f64, Sum>(&device, input, &[]);
        let mut before = Vec::new();
        for (piece, expected) in input.chunks(size).zip(whole.chunks(size)) {
            let (result, after) = of(piece.len()).run::<f64, Sum>(&device, piece, &before);
            assert!(result == expected, "{exclusive}");
            before = after;
        }
        assert_eq!(before, after_whole);
        (whole, after_whole)
    };
    in_pieces(true, &input[size..]);
    let (whole, after_whole) = in_pieces(false, &input);
    let launch = Launch {
        grid: Some(4),
        ..Launch::line(len)
    };
    let words = state_len::<f64>(Way::Tiles, len, len, 1);
    let mut state = device.zeros(words).unwrap();
    let totals = totals::<f64, Sum>(&device, launch, &input, &mut state);
    assert_eq!(totals.len(), groups::<f64>(len));
    let before = totals[0] + totals[1];
    let rest = &input[2 * size..];
    let (result, after) = Launch::line(700).run::<f64, Sum>(&device, rest, &[before]);
    assert_eq!(result, whole[2 * size..]);
    assert_eq!(after, after_whole);
    assert_eq!(before + totals[2], after[0]);
}

/// Of lines that are tiles, parts of a run, runs and more, whatever the grid and what the state was
/// used for: what a scan says that comes after them.
#[test]
fn totals_of_lines_are_what_comes_after_them() {
    fn of<T: Scans<Sum> + Scans<Extreme>>(device: &Device) {
        let same = |a: &[T], b: &[T]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(*b));
        let size = tile::<T>();
        let most = 40 * size;
        let words = state_len::<T>(Way::Tiles, most, most, 1);
        let mut state = device.zeros::<u64>(words).unwrap();
        for (extent, lines) in [
            (1, 3),
            (ROW + 1, 2),
            (size, 5),
            (size + 1, 4),
            (3 * size - 1, 3),
            (32 * size, 1),
            (33 * size + 5, 1),
        ] {
            let input = numbers::<T>(81, extent * lines);
            for grid in [1, 3, 20] {
                let launch = Launch {
                    grid: Some(grid),
                    ..Launch::line(extent)
                };
                let (_, after) = launch.run_with::<T, Sum>(device, &input, &[], &mut state);
                let sums = totals::<T, Sum>(device, launch, &input, &mut state);
                assert!(same(&sums, &after), "{lines} lines, {launch:?}");
                let (_, after) = launch.run_with::<T, Extreme>(device, &input, &[], &mut state);
                let least = totals::<T, Extreme>(device, launch, &input, &mut state);
                assert!(same(&least, &after), "{lines} lines, {launch:?}");
            }
            // The number of launches begins anew.
            let mut anew = vec![0xffff_fff0 << 32; words];
            anew[0] = 0xffff_fffd << 32;
            state = device.upload(&anew).unwrap();
        }
    }
    let device = Device::checked();
    of::<i32>(&device);
    of::<f64>(&device);
}

/// The totals of lines' groups.
fn totals<T: Scans<O>, O: Op>(
    device: &Device,
    launch: Launch,
    input: &[T],
    state: &mut Buffer<u64>,
) -> Vec<T> {
    let lines = input.len() / launch.extent;
    let mut totals = device
        .zeros::<T>(lines * groups::<T>(launch.extent))
        .unwrap();
    let mut output = device.zeros::<T>(0).unwrap();
    let (input, none) = (device.upload(input).unwrap(), device.zeros::<T>(0).unwrap());
    let of = Memory {
        device,
        input: input.as_view(),
        output: output.as_view_mut(),
        state,
        before: none.as_view(),
        after: totals.as_view_mut(),
    };
    <T as Scans<O>>::launch(&launch, launch.grid.unwrap(), of).unwrap();
    totals.to_vec().unwrap()
}
