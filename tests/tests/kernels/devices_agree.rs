//! Where the order of operations is fixed, and it is in every sound kernel, so is every bit of the result: on the emulator with
//! one worker, on the emulator with all, and on a GPU.

use blockwise::device::{Device, DeviceChoice, Element, EmulatorLimits, PtxSource};
use blockwise::launch::{
    ConvKernel, ConvMode, ConvOptions, MatmulKernel, MatmulOptions, Number, ReduceKernel,
    ReduceOptions, Reduction, ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions,
    convolve, dot, matmul, reduce, reverse, transpose,
};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix, vector};
use blockwise_tests::devices::emulator_and_gpu;
use ndarray::{Array, Dimension, arr0};

/// Runs every sound kernel on both devices.
fn check_all(left: &Device, right: &Device) {
    let pair = (left, right);
    for &mode in ConvMode::ALL {
        for kernel in [ConvKernel::Tiled, ConvKernel::Direct] {
            let options = ConvOptions {
                kernel: Some(kernel),
                threads: Some(100),
                grid_cap: Some(5),
            };
            convolutions::<f32>(pair, mode, options);
            convolutions::<f64>(pair, mode, options);
        }
    }
    let options = ConvOptions {
        kernel: Some(ConvKernel::BlockPerOutput),
        ..ConvOptions::default()
    };
    convolutions::<f64>(pair, ConvMode::Full, options);

    for &kernel in ReduceKernel::ALL {
        for grid_cap in [1, 6] {
            let options = ReduceOptions {
                kernel,
                threads: Some(96),
                grid_cap: Some(grid_cap),
            };
            reductions::<i64>(pair, options);
            reductions::<f32>(pair, options);
            reductions::<f64>(pair, options);
        }
    }
    for &kernel in MatmulKernel::ALL {
        for grid_cap in [None, Some(2)] {
            let options = MatmulOptions { kernel, grid_cap };
            agree(pair, ("matmul f32", options), |device| {
                let (a, b) = (matrix::<f32>(61, 45, 83), matrix::<f32>(62, 83, 50));
                matmul(device, a.view(), b.view(), &options).expect("a launch")
            });
            agree(pair, ("matmul f64", options), |device| {
                let (a, b) = (matrix::<f64>(61, 45, 83), matrix::<f64>(62, 83, 50));
                matmul(device, a.view(), b.view(), &options).expect("a launch")
            });
        }
    }
    movements::<u32>(pair);
    movements::<u64>(pair);
}

#[track_caller]
fn agree<T: Element, D: Dimension>(
    (left, right): (&Device, &Device),
    case: impl std::fmt::Debug,
    run: impl Fn(&Device) -> Array<T, D>,
) {
    check::same_bits(case, &run(left), &run(right));
}

fn convolutions<T: blockwise::launch::Float + Draw>(
    pair: (&Device, &Device),
    mode: ConvMode,
    options: ConvOptions,
) {
    agree(pair, (T::NAME, mode, options), |device| {
        let (signal, taps) = (vector::<T>(63, 1500), vector::<T>(64, 37));
        convolve(device, signal.view(), taps.view(), mode, &options).expect("a launch")
    });
}

fn reductions<T: Number + Draw>(pair: (&Device, &Device), options: ReduceOptions) {
    let (a, b) = (vector::<T>(65, 5003), vector::<T>(66, 5003));
    agree(pair, ("dot", T::NAME, options), |device| {
        arr0(dot(device, a.view(), b.view(), &options).expect("a launch"))
    });
    for &reduction in Reduction::ALL {
        agree(pair, (reduction, T::NAME, options), |device| {
            arr0(reduce(device, a.view(), reduction, &options).expect("a launch"))
        });
    }
}

fn movements<T: Element + Draw>(pair: (&Device, &Device)) {
    for &kernel in TransposeKernel::ALL {
        let options = TransposeOptions {
            kernel,
            grid_cap: Some(2),
        };
        let input = matrix::<T>(67, 75, 140);
        agree(pair, (T::NAME, options), |device| {
            transpose(device, input.view(), &options).expect("a launch")
        });
    }
    for &kernel in ReverseKernel::ALL {
        let options = ReverseOptions {
            kernel,
            threads: None,
            grid_cap: Some(3),
        };
        let input = vector::<T>(68, 1777);
        agree(pair, (T::NAME, options), |device| {
            reverse(device, input.view(), &options).expect("a launch")
        });
    }
}

fn emulator_with(workers: usize) -> Device {
    let mut device = Device::emulator(EmulatorLimits {
        workers: Some(workers),
        ..EmulatorLimits::default()
    });
    device
        .load_kernels(&PtxSource::standard())
        .unwrap_or_else(|error| panic!("{error}"));
    device
}

#[test]
fn one_worker_and_many_give_the_same_bits() {
    check_all(&emulator_with(1), &emulator_with(4));
}

#[test]
fn emulator_and_gpu_give_the_same_bits_on_the_same_ptx() {
    let Some((emulator, gpu)) = emulator_and_gpu() else {
        return;
    };
    let text = |device: &Device| {
        device
            .kernels_file()
            .expect("kernels are loaded")
            .text
            .clone()
    };
    assert!(
        text(emulator) == text(gpu),
        "the devices chose different PTX"
    );
    check_all(emulator, gpu);
}

/// The automatic choice and the one by name are the same device.
#[test]
fn the_automatic_choice_computes_the_same() {
    let auto = Device::open(DeviceChoice::Auto, &PtxSource::standard());
    let auto = auto.unwrap_or_else(|error| panic!("{error}"));
    convolutions::<f32>(
        (&auto, &emulator_with(2)),
        ConvMode::Same,
        ConvOptions::default(),
    );
}
