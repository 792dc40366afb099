//! Dot product, sum, minimum and maximum: every kernel and type over lengths, blocks and grids.

use blockwise::Device;
use blockwise_ops::operation::{Options, Variant};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::reduce::{
    DOT, INTERLEAVED, KERNELS, SINGLE, SUM, TREE, TREE_RAW, WIDE, rows, sum_error,
};
use blockwise_ops::{Number, Reduction, dot, reduce};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, vector};
use blockwise_tests::devices::devices;
use ladder::SHUFFLE;
use ndarray::{Array1, arr0, array};
use proptest::prelude::*;

const LENGTHS: [usize; 14] = [
    1, 2, 3, 31, 32, 33, 127, 255, 256, 257, 511, 1009, 4096, 10_007,
];

/// The product's, and the step that folds by shuffles.
fn all() -> impl Iterator<Item = &'static Variant> {
    KERNELS.into_iter().chain([&SHUFFLE])
}

/// The kernels that take any block.
static OF_ANY_BLOCK: [&Variant; 3] = [&INTERLEAVED, &TREE, &TREE_RAW];

/// The kernels whose blocks are whole warps.
static OF_WHOLE_WARPS: [&Variant; 3] = [&SHUFFLE, &WIDE, &SINGLE];

pub(super) fn with(kernel: &'static Variant, threads: u32, grid_cap: Option<u32>) -> Options {
    Options {
        kernel: Some(kernel),
        threads: Some(threads),
        grid_cap,
        ..Options::default()
    }
}

/// Whether the kernel has this type in an operation's [`rows`]: the documents' have only the types
/// that are theirs, which are integers in dot products only.
pub(super) fn takes<T: Number>(options: &Options, code: u8) -> bool {
    let has = |kernel: &Variant| {
        let mut kernels = kernel.kernels.iter();
        kernels.any(|it| it.code == code && it.takes.has(T::TYPE))
    };
    options.kernel.is_none_or(has)
}

/// A launch of all operations on `n` elements of `T`.
trait Checked: Number + Draw {
    #[track_caller]
    fn check_sums(device: &Device, n: usize, options: Options);

    #[track_caller]
    fn check(device: &Device, n: usize, options: Options) {
        Self::check_sums(device, n, options);
        if n > 0 {
            check_extremes(device, &vector::<Self>(23, n), options);
        }
    }
}

macro_rules! checked_float {
    ($($t:ty)*) => {$(
        impl Checked for $t {
            fn check_sums(device: &Device, n: usize, options: Options) {
                check_float_sums(device, &vector::<$t>(21, n), &vector::<$t>(22, n), options);
            }
        }
    )*};
}
checked_float!(f32 f64);

impl Checked for i64 {
    fn check_sums(device: &Device, n: usize, options: Options) {
        let (a, b) = (vector::<i64>(21, n), vector::<i64>(22, n));
        let got = dot(device, a.view(), b.view(), &options).expect("a launch");
        assert_eq!(
            got,
            oracle::dot_i64(a.view(), b.view()).1,
            "dot of {n}, {options:?}"
        );
        if !takes::<Self>(&options, rows::SUM) {
            return;
        }
        let got = reduce(device, a.view(), Reduction::Sum, &options).expect("a launch");
        assert_eq!(got, oracle::sum_i64(a.view()).1, "sum of {n}, {options:?}");
    }
}

#[track_caller]
fn check_float_sums<T: Number + Precision>(
    device: &Device,
    a: &Array1<T>,
    b: &Array1<T>,
    options: Options,
) {
    if !takes::<T>(&options, rows::SUM) {
        return;
    }
    let case = (T::NAME, a.len(), options);
    let got = dot(device, a.view(), b.view(), &options).expect("a launch");
    let error = |of| sum_error::<T>(of, a.len(), &options, device.properties()).expect("a sum");
    let expected = oracle::dot::<T>(a.view(), b.view(), error(&DOT));
    check::close(device, ("dot", case), &arr0(got), &expected);
    let got = reduce(device, a.view(), Reduction::Sum, &options).expect("a launch");
    let expected = oracle::sum::<T>(a.view(), error(&SUM));
    check::close(device, ("sum", case), &arr0(got), &expected);
}

/// Minimum and maximum are exact; a NaN comes out as NaN.
#[track_caller]
fn check_extremes<T: Number>(device: &Device, input: &Array1<T>, options: Options) {
    if !takes::<T>(&options, rows::EXTREME) {
        return;
    }
    let expected = [
        (Reduction::Min, oracle::min(input.view())),
        (Reduction::Max, oracle::max(input.view())),
    ];
    for (reduction, expected) in expected {
        let expected = expected.expect("there are elements");
        let got = reduce(device, input.view(), reduction, &options).expect("a launch");
        let both_nan = got.partial_cmp(&got).is_none() && expected.partial_cmp(&expected).is_none();
        let name = &device.properties().name;
        assert!(
            got == expected || both_nan,
            "{name}: {reduction} of {}, {options:?}: {got}, not {expected}",
            input.len()
        );
    }
}

pub(super) fn check_all_types(device: &Device, n: usize, options: Options) {
    i64::check(device, n, options);
    f32::check(device, n, options);
    f64::check(device, n, options);
}

#[test]
fn every_length() {
    for device in devices() {
        for n in LENGTHS {
            for kernel in all() {
                check_all_types(device, n, with(kernel, 256, None));
            }
        }
    }
}

/// The tree of the Julia document drops elements unless the threads are a power of two.
#[test]
fn trees_take_any_block_and_any_grid() {
    let small = 1..=20;
    let others = [
        31, 32, 33, 63, 65, 100, 127, 255, 257, 511, 768, 1000, 1023, 1024,
    ];
    for device in devices() {
        for threads in small.clone().chain(others) {
            for grid_cap in [Some(1), Some(3), None] {
                for kernel in OF_ANY_BLOCK {
                    let options = with(kernel, threads, grid_cap);
                    i64::check(device, 1537, options);
                    f32::check(device, 1537, options);
                }
            }
        }
    }
}

#[test]
fn shuffles_take_any_number_of_warps_and_any_grid() {
    for device in devices() {
        for warps in [1, 2, 3, 5, 8, 31, 32] {
            for grid_cap in [Some(1), Some(3), None] {
                for kernel in OF_WHOLE_WARPS {
                    check_all_types(device, 1537, with(kernel, warps * 32, grid_cap));
                }
            }
        }
    }
}

#[test]
fn nothing_sums_to_zero() {
    for device in devices() {
        for kernel in all() {
            check_all_types(device, 0, with(kernel, 64, None));
        }
    }
}

#[test]
fn the_julia_documents_figure() {
    let n = 33 * 1024;
    let a = Array1::from_iter(1..=n);
    let b = a.mapv(|i: i64| 2 * i);
    for device in devices() {
        for kernel in all() {
            let got = dot(device, a.view(), b.view(), &with(kernel, 256, Some(32)));
            assert_eq!(got.expect("a launch"), 25_725_848_529_920);
        }
    }
}

#[test]
fn a_documents_kernel_says_which_types_it_has() {
    let input = vector::<f64>(25, 40);
    for kernel in OF_ANY_BLOCK {
        let error = reduce(
            &devices()[0],
            input.view(),
            Reduction::Sum,
            &with(kernel, 32, None),
        );
        let error = error.expect_err("it has no doubles");
        let words = format!("kernel `{kernel}` has no instance for f64, only for f32");
        assert_eq!(error.to_string(), words);
    }
}

/// Wherever it stands, in whichever thread's share and half of whichever round.
#[test]
fn a_nan_anywhere_is_the_minimum_and_the_maximum() {
    let n = 150;
    for device in devices() {
        for kernel in all() {
            for at in (0..n).step_by(7).chain([n - 1]) {
                let mut input = vector::<f32>(24, n);
                input[at] = f32::NAN;
                check_extremes(device, &input, with(kernel, 64, Some(2)));
                check_extremes(device, &input.mapv(f64::from), with(kernel, 64, Some(2)));
            }
        }
    }
}

#[test]
fn the_ends_of_each_type() {
    for device in devices() {
        for kernel in all() {
            let options = with(kernel, 32, None);
            check_extremes(device, &array![i64::MAX, i64::MAX], options);
            check_extremes(device, &array![i64::MIN, 3, i64::MAX, -1], options);
            check_extremes(device, &array![f32::INFINITY], options);
            check_extremes(
                device,
                &array![f64::NEG_INFINITY, f64::NEG_INFINITY],
                options,
            );
            check_extremes(
                device,
                &array![f64::MIN, f64::MAX, 5e-324, -5e-324],
                options,
            );
            check_float_sums(
                device,
                &array![f32::INFINITY, 1.0, f32::NEG_INFINITY],
                &array![1.0, f32::NAN, 2.0],
                options,
            );
        }
    }
}

proptest! {
    #![proptest_config(crate::cases(40))]

    #[test]
    fn any_length_block_and_grid(n in 1..3000_usize, threads in 1..=1024_u32, grid_cap in 1..20_u32) {
        for device in devices() {
            for kernel in OF_ANY_BLOCK {
                check_all_types(device, n, with(kernel, threads, Some(grid_cap)));
            }
            let whole_warps = threads.next_multiple_of(32);
            for kernel in OF_WHOLE_WARPS {
                check_all_types(device, n, with(kernel, whole_warps, Some(grid_cap)));
            }
        }
    }

    /// fma(x, 1, s) is x + s, so the same launch adds the same numbers in the same order.
    #[test]
    fn a_sum_is_the_dot_product_with_ones(n in 1..3000_usize, seed in any::<u64>(), warps in 1..=32_u32) {
        let (input, ones) = (vector::<f32>(seed, n), Array1::ones(n));
        for device in devices() {
            for kernel in all() {
                let options = with(kernel, warps * 32, Some(4));
                let sum = reduce(device, input.view(), Reduction::Sum, &options).expect("a launch");
                let product = dot(device, input.view(), ones.view(), &options).expect("a launch");
                prop_assert_eq!(sum.to_bits(), product.to_bits());
            }
        }
    }
}
