//! Scans: right at every length, with the same bits on any grid, in pieces and from launch to
//! launch.

mod columns;
mod launches;
mod lines;

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

/// Rows of a tile of long lines.
fn tile_of_columns<T>(inner: usize) -> usize {
    let is_longer =
        |&extent: &usize| state_len::<T>(Way::Columns, extent * inner, extent, inner) > 0;
    (1..).find(is_longer).unwrap() - 1
}
