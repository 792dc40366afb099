//! Every sound kernel once or twice, at sizes that compute-sanitizer gets through in seconds. Several tiles, edges, and a grid that
//! must stride. `BLOCKWISE_DEVICE=gpu compute-sanitizer --tool racecheck <this program> small_`

use blockwise::launch::{
    ConvKernel, ConvMode, MatmulKernel, ReduceKernel, ReverseKernel, ReverseOptions,
    TransposeKernel, TransposeOptions,
};
use blockwise_tests::devices::devices;

use crate::{conv1d, matmul, movement, reduce};

#[test]
fn small_convolutions() {
    for device in devices() {
        for &mode in ConvMode::ALL {
            for kernel in [ConvKernel::Tiled, ConvKernel::Direct] {
                let options = conv1d::with(kernel, Some(64), Some(2));
                conv1d::check::<f32>(device, (200, 9), mode, options);
                conv1d::check::<f64>(device, (33, 40), mode, options);
            }
        }
        let options = conv1d::with(ConvKernel::BlockPerOutput, None, Some(5));
        conv1d::check::<f64>(device, (20, 37), ConvMode::Full, options);
    }
}

#[test]
fn small_reductions() {
    for device in devices() {
        for threads in [64, 100] {
            for kernel in [ReduceKernel::Interleaved, ReduceKernel::Tree] {
                let options = reduce::with(kernel, threads, Some(3));
                reduce::check_all_types(device, 1000, options);
            }
        }
        for threads in [32, 96] {
            let options = reduce::with(ReduceKernel::Shuffle, threads, Some(3));
            reduce::check_all_types(device, 1000, options);
        }
    }
}

#[test]
fn small_matrix_products() {
    for device in devices() {
        for &kernel in MatmulKernel::ALL {
            matmul::check::<f32>(device, (33, 40, 18), kernel, Some(1));
            matmul::check::<f64>(device, (18, 35, 33), kernel, None);
        }
    }
}

#[test]
fn small_transposes() {
    for device in devices() {
        for &kernel in TransposeKernel::ALL {
            let options = TransposeOptions {
                kernel,
                grid_cap: Some(1),
            };
            movement::check_transpose::<f32>(device, (40, 70), options);
            movement::check_transpose::<f64>(device, (70, 40), options);
        }
    }
}

#[test]
fn small_reversals() {
    for device in devices() {
        for &kernel in ReverseKernel::ALL {
            let options = ReverseOptions {
                kernel,
                threads: None,
                grid_cap: Some(2),
            };
            movement::check_reverse::<u32>(device, 1000, options);
            movement::check_reverse::<u64>(device, 1000, options);
        }
    }
}
