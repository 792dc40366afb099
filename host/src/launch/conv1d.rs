//! Convolution in one dimension, with the modes of `numpy.convolve`.

use std::num::NonZeroU32;

use ndarray::{Array1, ArrayView1};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, LaunchPlan};
use crate::named::named_enum;

use super::limits::{blocks_for, plan_1d};
use super::{Execution, Float, Launch, LaunchError, check_output, upload};

named_enum! {
    /// Which outputs of a convolution are computed, for operands of n and m elements.
    pub enum ConvMode("convolution mode") {
        /// All n + m − 1 of them.
        Full = "full",
        /// The central max(n, m).
        Same = "same",
        /// Those for which the operands overlap wholly: max(n, m) − min(n, m) + 1.
        Valid = "valid",
    }
}

named_enum! {
    /// The kernels that convolve.
    pub enum ConvKernel("convolution kernel") {
        /// One block per output and one thread per tap, of `f64` in mode full: the MATLAB document's.
        BlockPerOutput = "block-per-output",
        /// Each block loads its span of the signal and a halo into shared memory.
        Tiled = "tiled",
        /// No shared memory: each thread reads what it needs.
        Direct = "direct",
        /// Outputs and samples in registers, for few taps; each warp copies its next tile while it computes one.
        Window = "window",
        /// Outputs and samples in registers, for any number of taps.
        Blocked = "blocked",
    }
}

/// A run of outputs of the full convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOutputs {
    /// The full convolution's index of the first.
    pub offset: usize,
    /// How many.
    pub len: usize,
}

impl ConvMode {
    /// The outputs of this mode for operands of these lengths.
    ///
    /// # Errors
    /// When an operand is empty or the length overflows.
    pub fn outputs(self, signal_len: usize, taps_len: usize) -> Result<ConvOutputs, LaunchError> {
        for (len, what) in [(signal_len, "the signal"), (taps_len, "the list of taps")] {
            if len == 0 {
                return Err(LaunchError::EmptyInput { what });
            }
        }
        let (long, short) = (signal_len.max(taps_len), signal_len.min(taps_len));
        let (offset, len) = match self {
            ConvMode::Full => (0, full_len(long, short)?),
            ConvMode::Same => ((short - 1) / 2, long),
            ConvMode::Valid => (short - 1, long - short + 1),
        };
        Ok(ConvOutputs { offset, len })
    }
}

/// How to launch a convolution. The default chooses by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvOptions {
    /// The kernel. `None` takes `window` or `blocked`, by the number of taps, for many outputs; for few ones, or when `threads` are given,
    /// `tiled` if its shared memory fits, else `direct`.
    pub kernel: Option<ConvKernel>,
    /// Threads per block. `None` takes the kernels' own number; `block-per-output` has one for each tap in any case, and `window` and
    /// `blocked` have blocks of one size.
    pub threads: Option<u32>,
    /// Blocks, at most.
    pub grid_cap: Option<u32>,
    /// Tiles that a warp of `window`, or a block of `blocked`, computes one after the other. `None` takes those of
    /// [the policy](kernels::conv1d::policy); other kernels have none.
    pub tiles_each: Option<NonZeroU32>,
}

/// What a convolution launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvPlan {
    /// Kernel, grid, block and shared bytes.
    pub launch: LaunchPlan,
    /// The kernel's family.
    pub kernel: ConvKernel,
    /// The length of the output.
    pub output_len: usize,
    /// The full convolution's index of the first output.
    pub offset: usize,
    /// True when the second operand is the longer one. Convolution commutes, and the shorter one plays the taps.
    pub swapped: bool,
}

/// Plans the convolution of `signal_len` with `taps_len` elements of type `T`.
///
/// # Errors
/// When an operand is empty, a size overflows, the kernel does not have the type or the mode, or a limit is broken.
pub fn plan<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<ConvPlan, LaunchError> {
    let outputs = mode.outputs(signal_len, taps_len)?;
    plan_outputs::<T>(signal_len, taps_len, mode, outputs, options, properties)
}

/// Plans some outputs of the convolution of two operands that are not empty: those of `mode`, or a part of them.
fn plan_outputs<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    outputs: ConvOutputs,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<ConvPlan, LaunchError> {
    let short = signal_len.min(taps_len);
    let ConvOutputs {
        offset,
        len: output_len,
    } = outputs;
    let threads = options.threads.unwrap_or(kernels::conv1d::THREADS);
    let (max_blocks, cap) = (properties.max_grid[0], options.grid_cap);
    let striding = |name, shared_bytes| {
        let blocks = blocks_for(output_len, threads, cap, max_blocks);
        plan_1d(
            format!("conv1d_{name}_{}", T::NAME),
            blocks,
            threads,
            shared_bytes,
            properties,
        )
    };
    let tiled = || striding("tiled", span_bytes::<T>(threads, short)?);
    let direct = || striding("direct", 0);
    // Blocks for tiles of so many outputs, if the options say how many each has, else as many as the policy says.
    let blocks = |outputs: usize, by_policy| match options.tiles_each {
        Some(each) => output_len.div_ceil(outputs).div_ceil(each.get() as usize),
        None => by_policy,
    };
    // A block of its own size, and so many blocks.
    let fixed = |kernel: ConvKernel, threads, blocks| {
        check_fixed(kernel, threads, options)?;
        let name = format!("conv1d_{kernel}_{}", T::NAME);
        let blocks = blocks_for(blocks, 1, cap, max_blocks);
        plan_1d(name, blocks, threads, 0, properties)
    };
    let window = || {
        use kernels::conv1d::{policy, window};
        if short > window::MAX_TAPS {
            return Err(LaunchError::TooManyTaps {
                kernel: ConvKernel::Window.name(),
                taps: short,
                limit: window::MAX_TAPS as u32,
            });
        }
        let of_block = window::WARPS * window::span::<T>();
        let blocks = blocks(of_block, policy::window_blocks::<T>(output_len, short));
        fixed(ConvKernel::Window, window::THREADS, blocks)
    };
    let blocked = || {
        use kernels::conv1d::{blocked, policy};
        let by_policy = policy::blocked_blocks::<T>(output_len);
        let blocks = blocks(blocked::span::<T>(), by_policy);
        fixed(ConvKernel::Blocked, blocked::THREADS, blocks)
    };

    let (kernel, launch) = match options.kernel {
        Some(ConvKernel::Tiled) => (ConvKernel::Tiled, tiled()?),
        Some(ConvKernel::Direct) => (ConvKernel::Direct, direct()?),
        Some(ConvKernel::Window) => (ConvKernel::Window, window()?),
        Some(ConvKernel::Blocked) => (ConvKernel::Blocked, blocked()?),
        Some(ConvKernel::BlockPerOutput) => {
            let threads = block_per_output_threads::<T>(short, mode, options, properties)?;
            let blocks = blocks_for(output_len, 1, cap, max_blocks);
            let shared_bytes = u64::from(threads) * size_of::<T>() as u64;
            let launch = plan_1d(
                "conv1d_block_per_output_f64".into(),
                blocks,
                threads,
                shared_bytes,
                properties,
            )?;
            (ConvKernel::BlockPerOutput, launch)
        }
        None if options.threads.is_none() && output_len >= kernels::conv1d::policy::LARGE => {
            match window() {
                Err(LaunchError::TooManyTaps { .. }) => (ConvKernel::Blocked, blocked()?),
                planned => (ConvKernel::Window, planned?),
            }
        }
        None => match tiled() {
            Err(LaunchError::SharedMemory { .. } | LaunchError::SizeOverflow { .. }) => {
                (ConvKernel::Direct, direct()?)
            }
            planned => (ConvKernel::Tiled, planned?),
        },
    };
    Ok(ConvPlan {
        launch,
        kernel,
        output_len,
        offset,
        swapped: taps_len > signal_len,
    })
}

fn full_len(long: usize, short: usize) -> Result<usize, LaunchError> {
    long.checked_add(short - 1)
        .ok_or(LaunchError::SizeOverflow {
            what: "the full convolution",
        })
}

/// The shared memory of a tiled block: its span of the signal and the halo.
fn span_bytes<T: Float>(threads: u32, taps: usize) -> Result<u64, LaunchError> {
    let elements = (taps as u64 - 1).checked_add(threads.into());
    elements
        .and_then(|elements| elements.checked_mul(size_of::<T>() as u64))
        .ok_or(LaunchError::SizeOverflow {
            what: "the span of a block with its halo",
        })
}

/// One thread per tap, if the kernel can do that at all.
fn block_per_output_threads<T: Float>(
    taps: usize,
    mode: ConvMode,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<u32, LaunchError> {
    let kernel = ConvKernel::BlockPerOutput.name();
    if T::NAME != "f64" {
        return Err(LaunchError::UnsupportedType {
            kernel,
            supported: "f64",
            given: T::NAME,
        });
    }
    if mode != ConvMode::Full {
        return Err(LaunchError::UnsupportedMode {
            kernel,
            supported: ConvMode::Full,
            given: mode,
        });
    }
    let limit = properties
        .max_threads_per_block
        .min(properties.max_block[0]);
    let threads = match u32::try_from(taps) {
        Ok(threads) if threads <= limit => threads,
        _ => {
            return Err(LaunchError::TooManyTaps {
                kernel,
                taps,
                limit,
            });
        }
    };
    check_fixed(ConvKernel::BlockPerOutput, threads, options)?;
    Ok(threads)
}

/// Refuses another block than the kernel's own.
fn check_fixed(kernel: ConvKernel, needed: u32, options: &ConvOptions) -> Result<(), LaunchError> {
    match options.threads {
        Some(given) if given != needed => Err(LaunchError::FixedBlock {
            kernel: kernel.name(),
            needed,
            given,
        }),
        _ => Ok(()),
    }
}

/// Binds a convolution to its buffers. `output` needs as many elements as [`plan`] says.
///
/// # Errors
/// Those of [`plan`], and an output of another length.
pub fn bind<'a, T: Float>(
    device: &'a Device,
    signal: &'a DeviceBuffer<T>,
    taps: &'a DeviceBuffer<T>,
    output: &'a mut DeviceBuffer<T>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<Launch<'a>, LaunchError> {
    let outputs = mode.outputs(signal.len(), taps.len())?;
    bind_outputs(device, signal, taps, output, mode, outputs, options)
}

/// Binds the outputs of `mode`, or a part of them. With [`ConvKernel::BlockPerOutput`] there are no parts.
pub(crate) fn bind_outputs<'a, T: Float>(
    device: &'a Device,
    signal: &'a DeviceBuffer<T>,
    taps: &'a DeviceBuffer<T>,
    output: &'a mut DeviceBuffer<T>,
    mode: ConvMode,
    outputs: ConvOutputs,
    options: &ConvOptions,
) -> Result<Launch<'a>, LaunchError> {
    let properties = device.properties();
    let plan = plan_outputs::<T>(signal.len(), taps.len(), mode, outputs, options, properties)?;
    check_output(output, plan.output_len)?;
    let (signal, taps) = if plan.swapped {
        (taps, signal)
    } else {
        (signal, taps)
    };
    let arguments = Arguments::new().slice(signal).slice(taps).output(output);
    let arguments = match plan.kernel {
        ConvKernel::BlockPerOutput => arguments,
        _ => arguments
            .value(plan.output_len as u64)
            .value(plan.offset as u64),
    };
    // SAFETY: these are the parameters of the `conv1d` kernels; they write `output_len` outputs, which is the output's
    // length. The full convolution, for the kernel that takes no length, has n + m − 1 of them.
    unsafe { Launch::new(device, plan.launch, arguments) }
}

/// Convolves two buffers. `output` needs as many elements as [`plan`] says.
///
/// # Errors
/// Those of [`bind`], and what goes wrong on the device.
pub fn convolve_buffers<T: Float>(
    device: &Device,
    signal: &DeviceBuffer<T>,
    taps: &DeviceBuffer<T>,
    output: &mut DeviceBuffer<T>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<Execution, LaunchError> {
    bind(device, signal, taps, output, mode, options)?.run()
}

/// Convolves `signal` with `taps`: y\[i\] = Σ taps\[k\] · signal\[i − k\], as `numpy.convolve` does.
///
/// ```no_run
/// use blockwise::device::{Device, DeviceChoice, PtxSource};
/// use blockwise::launch::{ConvMode, ConvOptions, convolve};
/// use ndarray::array;
///
/// let device = Device::open(DeviceChoice::Auto, &PtxSource::standard())?;
/// let (signal, taps) = (array![1.0, 2.0, 3.0], array![0.5, 0.5]);
/// let smooth = convolve(&device, signal.view(), taps.view(), ConvMode::Full, &ConvOptions::default())?;
/// assert_eq!(smooth, array![0.5, 1.5, 2.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`convolve_buffers`].
pub fn convolve<T: Float>(
    device: &Device,
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<Array1<T>, LaunchError> {
    // Refused before anything is copied.
    let plan = plan::<T>(signal.len(), taps.len(), mode, options, device.properties())?;
    let signal = upload(device, &signal)?;
    let taps = upload(device, &taps)?;
    let mut output = DeviceBuffer::alloc(device, plan.output_len)?;
    convolve_buffers(device, &signal, &taps, &mut output, mode, options)?;
    Ok(Array1::from_vec(output.copy_to_vec()?))
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

    fn with(kernel: ConvKernel) -> ConvOptions {
        ConvOptions {
            kernel: Some(kernel),
            ..ConvOptions::default()
        }
    }

    #[track_caller]
    fn planned<T: Float>(
        signal: usize,
        taps: usize,
        mode: ConvMode,
        options: &ConvOptions,
    ) -> ConvPlan {
        plan::<T>(signal, taps, mode, options, &h200()).expect("within every limit")
    }

    #[track_caller]
    fn refused<T: Float>(
        signal: usize,
        taps: usize,
        mode: ConvMode,
        options: &ConvOptions,
    ) -> LaunchError {
        plan::<T>(signal, taps, mode, options, &h200()).expect_err("to be refused")
    }

    #[test]
    fn the_documents_launches_come_out() {
        let matlab = planned::<f64>(
            10_000,
            10,
            ConvMode::Full,
            &with(ConvKernel::BlockPerOutput),
        )
        .launch;
        assert_eq!(matlab.kernel, "conv1d_block_per_output_f64");
        assert_eq!(
            (matlab.grid, matlab.block, matlab.dynamic_shared_bytes),
            ([10_009, 1, 1], [10, 1, 1], 80)
        );

        let numba = planned::<f32>(1000, 9, ConvMode::Same, &ConvOptions::default()).launch;
        assert_eq!(numba.kernel, "conv1d_tiled_f32");
        assert_eq!((numba.grid, numba.block), ([4, 1, 1], [256, 1, 1]));
        assert_eq!(numba.dynamic_shared_bytes, (256 + 9 - 1) * 4);
    }

    #[test]
    fn modes_have_numpys_lengths_and_the_shorter_operand_plays_the_taps() {
        let shape = |signal, taps, mode| {
            let plan = planned::<f32>(signal, taps, mode, &ConvOptions::default());
            (plan.output_len, plan.offset, plan.swapped)
        };
        assert_eq!(shape(7, 4, ConvMode::Full), (10, 0, false));
        assert_eq!(shape(7, 4, ConvMode::Same), (7, 1, false));
        assert_eq!(shape(7, 4, ConvMode::Valid), (4, 3, false));
        assert_eq!(shape(4, 7, ConvMode::Full), (10, 0, true));
        assert_eq!(shape(4, 7, ConvMode::Same), (7, 1, true));
        assert_eq!(shape(4, 7, ConvMode::Valid), (4, 3, true));
        assert_eq!(shape(1, 1, ConvMode::Valid), (1, 0, false));
    }

    #[test]
    fn many_outputs_go_to_the_kernels_in_registers() {
        let large = kernels::conv1d::policy::LARGE;
        let of = |samples, taps, options: ConvOptions| {
            let plan = planned::<f32>(samples, taps, ConvMode::Same, &options).launch;
            (plan.kernel, plan.grid[0], plan.block[0])
        };
        let standard = ConvOptions::default();
        let few = of(large - 1, 9, standard);
        assert_eq!(few, ("conv1d_tiled_f32".into(), 1024, 256));
        // 410 tiles of 640 outputs, for 4 warps of a tile each; of 104,858 ten warps have 10, 18, 27, 40 or 100.
        let window = |blocks| ("conv1d_window_f32".into(), blocks, 128);
        assert_eq!(of(large, 17, standard), window(103));
        assert_eq!(of(1 << 22, 48, standard), window(660));
        assert_eq!(of(1 << 26, 10, standard), window(26_215));
        assert_eq!(of(1 << 26, 20, standard), window(14_564));
        assert_eq!(of(1 << 26, 32, standard), window(9710));
        assert_eq!(of(1 << 26, 40, standard), window(6554));
        assert_eq!(of(1 << 26, 64, standard), window(2622));
        // Tiles of 2,560 outputs.
        let blocked = of(large, 65, standard);
        assert_eq!(blocked, ("conv1d_blocked_f32".into(), 103, 128));
        let capped = ConvOptions {
            grid_cap: Some(3),
            ..standard
        };
        assert_eq!(of(large, 65, capped).1, 3);
        let tiles = |each| ConvOptions {
            tiles_each: NonZeroU32::new(each),
            ..standard
        };
        assert_eq!(of(1 << 26, 17, tiles(1)), window(26_215));
        assert_eq!(of(1 << 26, 17, tiles(8)), window(3277));
        assert_eq!(of(large, 65, tiles(2)).1, 52);
        let threads = ConvOptions {
            threads: Some(64),
            ..standard
        };
        assert_eq!(of(large, 9, threads).0, "conv1d_tiled_f32");

        let error = refused::<f32>(99, 65, ConvMode::Same, &with(ConvKernel::Window));
        let expected = LaunchError::TooManyTaps {
            kernel: "window",
            taps: 65,
            limit: 64,
        };
        assert_eq!(error.to_string(), expected.to_string());
        for kernel in [ConvKernel::Window, ConvKernel::Blocked] {
            let options = ConvOptions {
                threads: Some(64),
                ..with(kernel)
            };
            let error = refused::<f32>(99, 9, ConvMode::Same, &options);
            assert!(
                matches!(error, LaunchError::FixedBlock { needed: 128, .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn tiled_is_taken_as_long_as_it_fits() {
        let kernel_for = |taps| {
            let plan = planned::<f32>(60_000, taps, ConvMode::Same, &ConvOptions::default());
            plan.launch.kernel
        };
        // 227 KiB of f32, less the 255 elements that a block of 256 needs besides the taps.
        let most = 227 * 1024 / 4 - 255;
        assert_eq!(kernel_for(most), "conv1d_tiled_f32");
        assert_eq!(kernel_for(most + 1), "conv1d_direct_f32");

        let error = refused::<f32>(1 << 20, most + 1, ConvMode::Same, &with(ConvKernel::Tiled));
        assert!(
            matches!(
                error,
                LaunchError::SharedMemory {
                    needed: 232_452,
                    limit: 232_448,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("direct")));
    }

    #[test]
    fn without_opting_in_the_numba_documents_limit_holds() {
        let old = DeviceProperties {
            shared_bytes_opt_in: 49_152,
            ..h200()
        };
        let tiled = |taps| {
            plan::<f32>(
                1 << 20,
                taps,
                ConvMode::Same,
                &with(ConvKernel::Tiled),
                &old,
            )
        };
        assert_eq!(
            tiled(12_033)
                .expect("it just fits")
                .launch
                .dynamic_shared_bytes,
            49_152
        );
        assert!(matches!(
            tiled(12_034),
            Err(LaunchError::SharedMemory { needed: 49_156, .. })
        ));
    }

    #[test]
    fn one_thread_per_tap_has_limits_of_its_own() {
        let options = with(ConvKernel::BlockPerOutput);
        assert_eq!(
            planned::<f64>(5000, 1024, ConvMode::Full, &options)
                .launch
                .block,
            [1024, 1, 1]
        );
        let error = refused::<f64>(5000, 1025, ConvMode::Full, &options);
        assert!(matches!(
            error,
            LaunchError::TooManyTaps {
                taps: 1025,
                limit: 1024,
                ..
            }
        ));
        assert!(error.hint().is_some_and(|hint| hint.contains("tiled")));
        // The shorter operand plays the taps, so this one is fine.
        assert_eq!(
            planned::<f64>(3, 5000, ConvMode::Full, &options)
                .launch
                .block,
            [3, 1, 1]
        );

        assert!(matches!(
            refused::<f32>(9, 3, ConvMode::Full, &options),
            LaunchError::UnsupportedType { .. }
        ));
        assert!(matches!(
            refused::<f64>(9, 3, ConvMode::Same, &options),
            LaunchError::UnsupportedMode { .. }
        ));
        let threads = ConvOptions {
            threads: Some(64),
            ..options
        };
        assert!(matches!(
            refused::<f64>(9, 3, ConvMode::Full, &threads),
            LaunchError::FixedBlock { needed: 3, .. }
        ));
    }

    #[test]
    fn empty_operands_and_overflowing_sizes_are_refused() {
        let options = ConvOptions::default();
        for mode in ConvMode::ALL {
            assert!(matches!(
                refused::<f32>(0, 3, *mode, &options),
                LaunchError::EmptyInput { .. }
            ));
            assert!(matches!(
                refused::<f32>(3, 0, *mode, &options),
                LaunchError::EmptyInput { .. }
            ));
        }
        assert!(matches!(
            refused::<f32>(usize::MAX, 2, ConvMode::Full, &options),
            LaunchError::SizeOverflow { .. }
        ));
        let tiled = with(ConvKernel::Tiled);
        let error = refused::<f32>(usize::MAX, usize::MAX, ConvMode::Valid, &tiled);
        assert!(matches!(error, LaunchError::SizeOverflow { .. }), "{error}");
    }

    #[test]
    fn threads_and_grid_are_as_asked_for_or_refused() {
        let asked = |threads, grid_cap| ConvOptions {
            threads: Some(threads),
            grid_cap: Some(grid_cap),
            ..ConvOptions::default()
        };
        let plan = planned::<f64>(1000, 5, ConvMode::Same, &asked(33, 7)).launch;
        assert_eq!(
            (plan.grid, plan.block, plan.dynamic_shared_bytes),
            ([7, 1, 1], [33, 1, 1], (33 + 4) * 8)
        );
        assert!(matches!(
            refused::<f64>(9, 3, ConvMode::Full, &asked(0, 1)),
            LaunchError::ZeroThreads { .. }
        ));
        assert!(matches!(
            refused::<f64>(9, 3, ConvMode::Full, &asked(1025, 1)),
            LaunchError::TooManyThreads { .. }
        ));
        assert!(matches!(
            refused::<f64>(9, 3, ConvMode::Full, &asked(32, 0)),
            LaunchError::ZeroGrid { .. }
        ));
    }
}
