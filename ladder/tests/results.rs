//! The steps give their operations' results, and are refused elsewhere.

use blockwise::{Device, Type};
use blockwise_ops::conv1d::{self, CONV};
use blockwise_ops::operation::{self, Given, Posed};
use blockwise_ops::reduce::{DOT, SUM, sum_error};
use blockwise_ops::{
    ConvMode, LaunchError, OPERATIONS, Options, Reduction, compare, convolve, dot, oracle, reduce,
    transpose,
};
use ladder::{FFT_RADIX2, FFT4096_UNGAPPED, NARROW, SINGLE8, STEPS};
use ndarray::{Array1, Array2, arr0};

/// Whole numbers without a pattern, from −100 to 100.
fn numbers(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 40) % 201) as f32 - 100.0
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Many windows on one block, and the most taps.
#[test]
fn transforms_are_within_their_bound() {
    let device = Device::emulator();
    for kernel in [&FFT_RADIX2, &FFT4096_UNGAPPED] {
        let most = conv1d::most_taps::<f32>(kernel).expect("of f32");
        for (samples, taps, mode, grid_cap) in [
            (20_011, 255, ConvMode::Same, Some(1)),
            (most + 5000, most, ConvMode::Valid, None),
            (3, 1, ConvMode::Full, None),
        ] {
            let signal = Array1::from(numbers(1, samples));
            let taps = Array1::from(numbers(2, taps));
            let options = Options {
                grid_cap,
                ..Options::of(kernel)
            };
            let result = convolve(&device, signal.view(), taps.view(), mode, &options);
            let mut expected = oracle::convolve::<f32>(signal.view(), taps.view(), mode);
            expected.tolerance += oracle::fft_error(100.0, taps.view());
            let result = result.expect("a launch");
            let compared = compare::with_oracle(result.view(), &expected).expect("one shape");
            assert!(compared.passed(), "{kernel}, {samples}: {compared:?}");
        }
        let [signal, taps] = [most + 1; 2].map(|len| Array1::from(numbers(3, len)));
        let options = Options::of(kernel);
        let refused = convolve(&device, signal.view(), taps.view(), ConvMode::Same, &options);
        assert!(matches!(refused, Err(LaunchError::TooManyTaps { .. })));
    }
}

#[test]
fn reductions_are_those_of_the_product() {
    let device = Device::emulator();
    for len in [0, 1, 1023, 50_003] {
        let [a, b] = [4, 5].map(|seed| Array1::from(numbers(seed, len)));
        let options = Options::of(&SINGLE8);
        let error = |of| sum_error::<f32>(of, len, &options, device.properties()).expect("a sum");
        let product = dot(&device, a.view(), b.view(), &options).expect("a launch");
        let expected = oracle::dot(a.view(), b.view(), error(&DOT));
        let compared = compare::with_oracle(arr0(product).view(), &expected);
        assert!(compared.expect("one shape").passed(), "{len}: {product}");
        let sum = reduce(&device, a.view(), Reduction::Sum, &options).expect("a launch");
        let expected = oracle::sum(a.view(), error(&SUM));
        let compared = compare::with_oracle(arr0(sum).view(), &expected);
        assert!(compared.expect("one shape").passed(), "{len}: {sum}");
        for (by, expected) in [
            (Reduction::Min, oracle::min(a.view())),
            (Reduction::Max, oracle::max(a.view())),
        ] {
            let extreme = reduce(&device, a.view(), by, &options).ok();
            assert_eq!(extreme, expected, "{len}");
        }
    }
}

#[test]
fn a_transpose_moves_every_element() {
    let device = Device::emulator();
    for (rows, cols) in [(1, 1), (63, 65), (64, 64), (137, 131), (300, 3)] {
        let matrix = Array2::from_shape_fn((rows, cols), |(row, col)| (row * cols + col) as f64);
        let result = transpose(&device, matrix.view(), &Options::of(&NARROW)).expect("a launch");
        assert_eq!(result, matrix.t(), "{rows} x {cols}");
    }
}

#[test]
fn a_step_of_another_operation_is_refused() {
    let device = Device::emulator();
    for &operation in OPERATIONS.iter().filter(|&&of| of != &CONV) {
        let shapes: Vec<_> = match operation.operands.len() {
            1 => vec![&[8, 8][..]],
            _ if operation.sizes.len() == 3 => vec![&[8, 8][..], &[8, 8]],
            _ => vec![&[8][..], &[8]],
        };
        let posed = (operation.pose)(Type::F32, &shapes, &Given::default());
        let Posed { problem, .. } = posed.unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        for step in STEPS {
            let options = Options::of(step);
            let plan = operation::plan(operation, &problem, &options, device.properties());
            match step.is_of(operation) {
                true => assert!(plan.is_ok(), "{step} of {operation:?}: {plan:?}"),
                false => assert!(
                    matches!(plan, Err(LaunchError::NotOf { .. })),
                    "{step} of {operation:?}: {plan:?}"
                ),
            }
        }
    }
}
