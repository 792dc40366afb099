//! The product on tensor cores, on a GPU that has them. Elsewhere it says that it was not run.

use blockwise::Device;
use blockwise_ops::matmul::{PIPELINED, TENSOR};
use blockwise_ops::{LaunchError, Options, matmul, oracle};
use blockwise_tests::check;
use blockwise_tests::data::matrix;
use blockwise_tests::devices::devices;
use ndarray::Array2;

/// The product, or `None` where there are no such tensor cores.
fn product(device: &Device, a: &Array2<f32>, b: &Array2<f32>) -> Option<Array2<f32>> {
    match matmul(device, a.view(), b.view(), &Options::of(&TENSOR)) {
        Ok(c) => Some(c),
        Err(error @ LaunchError::TensorCores { .. }) => {
            println!("skipped on the GPU: {error}");
            None
        }
        Err(error) => panic!("{:?} x {:?}: {error}", a.dim(), b.dim()),
    }
}

#[test]
fn any_shape() {
    let shapes = [
        (1, 1, 1),
        (3, 0, 5),
        (0, 4, 5),
        (127, 31, 129),
        (128, 32, 128),
        (129, 33, 127),
        (300, 600, 500),
        (1, 3000, 2),
    ];
    for device in devices() {
        for (rows, inner, cols) in shapes {
            let (a, b) = (matrix(41, rows, inner), matrix(42, inner, cols));
            if let Some(c) = product(device, &a, &b) {
                let expected = oracle::matmul::<f32>(a.view(), b.view());
                check::close(device, (rows, inner, cols), &c, &expected);
            }
        }
    }
}

#[test]
fn badly_scaled_rows_and_columns() {
    let (mut a, mut b) = (matrix::<f32>(43, 140, 200), matrix::<f32>(44, 200, 150));
    let scale = |i: usize| 2_f32.powi(i as i32 * 7 % 79 - 39);
    for (i, mut row) in a.rows_mut().into_iter().enumerate() {
        row *= scale(i);
    }
    for (k, mut col) in a.columns_mut().into_iter().enumerate() {
        col *= 2_f32.powi(k as i32 % 8);
    }
    for (j, mut col) in b.columns_mut().into_iter().enumerate() {
        col *= scale(j);
    }
    for device in devices() {
        if let Some(c) = product(device, &a, &b) {
            let expected = oracle::matmul::<f32>(a.view(), b.view());
            check::close(device, "badly scaled", &c, &expected);
        }
    }
}

/// What terms of BF16 cannot hold is left to FP32 arithmetic, bit by bit.
#[test]
fn infinities_nan_overflow_and_underflow_are_those_of_fp32() {
    let specials = [
        f32::INFINITY,
        f32::NAN,
        f32::MAX,
        -f32::MAX,
        f32::MIN_POSITIVE,
        1e-42,
    ];
    for device in devices() {
        for special in specials {
            let (mut a, b) = (matrix::<f32>(45, 130, 40), matrix::<f32>(46, 40, 135));
            a[(7, 11)] = special;
            let Some(c) = product(device, &a, &b) else {
                continue;
            };
            let options = Options::of(&PIPELINED);
            let fp32 = matmul(device, a.view(), b.view(), &options).expect("a launch");
            check::same_bits(special, &c, &fp32);
        }
    }
}
