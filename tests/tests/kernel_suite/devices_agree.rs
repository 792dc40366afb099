//! Where the order of operations is fixed, and it is in every sound kernel, so is every bit of the
//! result: on the emulator with one worker, on the emulator with all, and on a GPU.

use blockwise::{Device, DeviceChoice, EmulatorLimits, Type, Watch};
use blockwise_ops::conv1d;
use blockwise_ops::matmul::MATMUL;
use blockwise_ops::reduce::{KERNELS, rows};
use blockwise_ops::reverse::REVERSE;
use blockwise_ops::transpose::TRANSPOSE;
use blockwise_ops::{
    ConvMode, Element, Number, Options, Reduction, convolve, dot, matmul, reduce, reverse,
    transpose,
};
use blockwise_tests::check;
use blockwise_tests::data::{Draw, matrix, vector};
use blockwise_tests::devices::emulator_and_gpu;
use ndarray::{Array, Dimension, arr0};

/// Runs every sound kernel on both devices.
fn check_all(left: &Device, right: &Device) {
    let pair = (left, right);
    for &mode in ConvMode::ALL {
        for kernel in [&conv1d::TILED, &conv1d::TILED_RAW, &conv1d::DIRECT] {
            let options = Options {
                kernel: Some(kernel),
                threads: Some(100),
                grid_cap: Some(5),
                ..Options::default()
            };
            convolutions::<f32>(pair, mode, options);
            convolutions::<f64>(pair, mode, options);
        }
        for kernel in [&conv1d::WINDOW, &conv1d::BLOCKED] {
            let options = Options {
                kernel: Some(kernel),
                threads: None,
                grid_cap: Some(2),
                ..Options::default()
            };
            agree(pair, ("f32", mode, options), |device| {
                let (signal, taps) = (vector::<f32>(63, 5200), vector::<f32>(64, 37));
                convolve(device, signal.view(), taps.view(), mode, &options).expect("a launch")
            });
            agree(pair, ("f64", mode, options), |device| {
                let (signal, taps) = (vector::<f64>(63, 2700), vector::<f64>(64, 37));
                convolve(device, signal.view(), taps.view(), mode, &options).expect("a launch")
            });
        }
    }
    for kernel in [&conv1d::BLOCK_PER_OUTPUT, &conv1d::BLOCK_PER_OUTPUT_RAW] {
        let options = Options::of(kernel);
        convolutions::<f64>(pair, ConvMode::Full, options);
    }

    for kernel in KERNELS.into_iter().chain([&ladder::SHUFFLE]) {
        for grid_cap in [1, 6] {
            let options = Options {
                kernel: Some(kernel),
                threads: Some(96),
                grid_cap: Some(grid_cap),
                ..Options::default()
            };
            reductions::<i64>(pair, options);
            reductions::<f32>(pair, options);
            if kernel.takes(Type::F64) {
                reductions::<f64>(pair, options);
            }
        }
    }
    for &kernel in MATMUL.variants {
        for grid_cap in [None, Some(2)] {
            let options = Options {
                grid_cap,
                ..Options::of(kernel)
            };
            if crate::matmul::takes(kernel, Type::F32, (45, 83, 50)) {
                agree(pair, ("matmul f32", options), |device| {
                    let (a, b) = (matrix::<f32>(61, 45, 83), matrix::<f32>(62, 83, 50));
                    matmul(device, a.view(), b.view(), &options).expect("a launch")
                });
            }
            if crate::matmul::takes(kernel, Type::F64, (45, 83, 50)) {
                agree(pair, ("matmul f64", options), |device| {
                    let (a, b) = (matrix::<f64>(61, 45, 83), matrix::<f64>(62, 83, 50));
                    matmul(device, a.view(), b.view(), &options).expect("a launch")
                });
            }
        }
    }
    movements::<u32>(pair);
    movements::<u64>(pair);
    not_numbers::<f32>(pair, f32::from_bits(0xFFC1_2345));
    not_numbers::<f64>(pair, f64::from_bits(0xFFF8_1234_5678_9ABC));
}

/// NaN with a sign and a payload, infinities, subnormals: what comes out of them is fixed too.
///
/// Minima and maxima keep the NaN's sign and payload: nothing is computed with it. `f32` arithmetic
/// gives 0x7fffffff on GPUs and on the emulator. Only for `f64` arithmetic, in which sums of `f32`
/// are added too, any NaN is as good as another: a GPU passes one of the operands' NaNs on, PTX does
/// not say which, and the emulator generates one.
fn not_numbers<T: Number + blockwise_ops::Float + Draw + From<f32>>(
    pair: (&Device, &Device),
    nan: T,
) {
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    let summed = |value: T| if is_nan(value) { nan } else { value };
    let computed = |value: T| match size_of::<T>() {
        8 => summed(value),
        _ => value,
    };
    let tiny = f32::from_bits(0x0000_1234);
    let specials = [f32::INFINITY, f32::NEG_INFINITY, tiny, -0.0, f32::MAX].map(T::from);
    for special in specials.into_iter().chain([nan]) {
        let (mut a, mut b) = (vector::<T>(69, 300), vector::<T>(70, 300));
        (a[123], b[45], b[123]) = (special, special, T::from(-0.0));
        for kernel in KERNELS.into_iter().filter(|kernel| kernel.takes(T::TYPE)) {
            let options = Options {
                kernel: Some(kernel),
                threads: Some(64),
                grid_cap: Some(2),
                ..Options::default()
            };
            agree(pair, ("dot with", special, options), |device| {
                arr0(summed(
                    dot(device, a.view(), b.view(), &options).expect("a launch"),
                ))
            });
            for &reduction in Reduction::ALL {
                agree(pair, (reduction, "with", special, options), |device| {
                    let value = reduce(device, a.view(), reduction, &options);
                    let value = value.expect("a launch");
                    arr0(match reduction {
                        Reduction::Sum => summed(value),
                        Reduction::Min | Reduction::Max => {
                            if is_nan(special) {
                                let case = (reduction, options);
                                check::same_bits(case, &arr0(value), &arr0(nan));
                            }
                            value
                        }
                    })
                });
            }
        }
        agree(pair, ("convolution with", special), |device| {
            convolve(
                device,
                a.view(),
                b.view(),
                ConvMode::Full,
                &Options::default(),
            )
            .expect("a launch")
            .mapv(computed)
        });
        let a = a.into_shape_with_order((15, 20)).expect("300 elements");
        let b = b.into_shape_with_order((20, 15)).expect("300 elements");
        agree(pair, ("matmul with", special), |device| {
            matmul(device, a.view(), b.view(), &Options::default())
                .expect("a launch")
                .mapv(computed)
        });
    }
}

#[track_caller]
fn agree<T: Element, D: Dimension>(
    (left, right): (&Device, &Device),
    case: impl std::fmt::Debug,
    run: impl Fn(&Device) -> Array<T, D>,
) {
    check::same_bits(case, &run(left), &run(right));
}

fn convolutions<T: blockwise_ops::Float + Draw>(
    pair: (&Device, &Device),
    mode: ConvMode,
    options: Options,
) {
    agree(pair, (T::NAME, mode, options), |device| {
        let (signal, taps) = (vector::<T>(63, 1500), vector::<T>(64, 37));
        convolve(device, signal.view(), taps.view(), mode, &options).expect("a launch")
    });
}

fn reductions<T: Number + Draw>(pair: (&Device, &Device), options: Options) {
    let (a, b) = (vector::<T>(65, 5003), vector::<T>(66, 5003));
    agree(pair, ("dot", T::NAME, options), |device| {
        arr0(dot(device, a.view(), b.view(), &options).expect("a launch"))
    });
    if !crate::reduce::takes::<T>(&options, rows::SUM) {
        return;
    }
    for &reduction in Reduction::ALL {
        agree(pair, (reduction, T::NAME, options), |device| {
            arr0(reduce(device, a.view(), reduction, &options).expect("a launch"))
        });
    }
}

fn movements<T: Element + Draw>(pair: (&Device, &Device)) {
    for kernel in ladder::variants(&TRANSPOSE).filter(|kernel| kernel.takes(T::TYPE)) {
        let options = Options {
            grid_cap: Some(2),
            ..Options::of(kernel)
        };
        for (rows, cols) in [(75, 140), (132, 140), (140, 72)] {
            let input = matrix::<T>(67, rows, cols);
            agree(pair, (T::NAME, options), |device| {
                transpose(device, input.view(), &options).expect("a launch")
            });
        }
    }
    let all = REVERSE.variants.iter().copied();
    for kernel in all.filter(|kernel| kernel.takes(T::TYPE)) {
        let options = Options {
            grid_cap: Some(3),
            ..Options::of(kernel)
        };
        let input = vector::<T>(68, 1777);
        agree(pair, (T::NAME, options), |device| {
            reverse(device, input.view(), &options).expect("a launch")
        });
    }
}

fn emulator_with(workers: usize) -> Device {
    let limits = EmulatorLimits {
        workers: Some(workers),
        ..EmulatorLimits::default()
    };
    Device::emulator_with(limits, Watch::Nothing)
}

#[test]
fn one_worker_and_many_give_the_same_bits() {
    check_all(&emulator_with(1), &emulator_with(4));
}

#[test]
fn emulator_and_gpu_give_the_same_bits_on_the_same_ptx() {
    let Some((emulator, _)) = emulator_and_gpu() else {
        return;
    };
    // By itself the GPU may take PTX that is for its architecture alone.
    let same = emulator.kernels_file(&kernels::KERNELS);
    let gpu = Device::gpu(0).unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: this PTX is embedded for these kernels.
    unsafe { gpu.replace_kernels("blockwise_kernels", same.expect("PTX is embedded")) };
    check_all(emulator, &gpu);
}

/// The automatic choice and the one by name are the same device.
#[test]
fn the_automatic_choice_computes_the_same() {
    let auto = Device::open(DeviceChoice::Auto);
    let auto = auto.unwrap_or_else(|error| panic!("{error}"));
    convolutions::<f32>(
        (&auto, &emulator_with(2)),
        ConvMode::Same,
        Options::default(),
    );
}
