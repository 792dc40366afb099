//! Which kernel convolves.
//!
//! Each kernel has a model of a launch's time, and the fastest one is chosen. The models' constants
//! are nanoseconds on an H200 (132 multiprocessors, driver 580), fitted to sweeps of 500 sizes of
//! `f32` and 732 of `f64` (docs/log/2026-11-23-choices.md). A device with another number of
//! multiprocessors divides the blocks among its own.

use blockwise::DeviceProperties;
use kernels::conv1d::fft::shape::discarded;
use kernels::conv1d::policy::FFT_FROM;
use kernels::conv1d::{THREADS, blocked, window};

use super::long;
use super::routines::most_taps;
use super::{ConvKernel, ConvMode, ConvOutputs};
use crate::{Float, LaunchError, tuning};

/// How often a convolution's twiddle factors are used, which are computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// In a single call, which pays for them.
    One,
    /// In many calls.
    Many,
}

impl Calls {
    /// Time to allocate and copy the twiddle factors: 31 to 65 µs of the host.
    const fn prepare(self) -> f64 {
        match self {
            Self::One => 40_000.0,
            Self::Many => 0.0,
        }
    }
}

/// Taps and outputs of a convolution, and the multiprocessors that share it.
#[derive(Clone, Copy)]
pub(super) struct Task {
    taps: usize,
    outputs: usize,
    /// The most taps of a kernel with one block per output.
    per_output: usize,
    multiprocessors: f64,
}

impl Task {
    /// Some outputs of the convolution of operands of these lengths. Only all outputs of mode full
    /// can have one block each: that kernel has no offset, so a piece of a stream or of a mesh, or
    /// another mode, uses one of the other kernels.
    pub(super) fn new(
        lengths: [usize; 2],
        mode: ConvMode,
        outputs: ConvOutputs,
        properties: &DeviceProperties,
    ) -> Self {
        let [signal, taps] = lengths;
        let all = mode.outputs(signal, taps).is_ok_and(|all| all == outputs);
        let per_output = match mode {
            ConvMode::Full if all => most_threads(properties),
            _ => 0,
        };
        Self {
            taps: signal.min(taps),
            outputs: outputs.len,
            per_output: per_output as usize,
            multiprocessors: properties.multiprocessors_to_fill().into(),
        }
    }

    /// Blocks of this many outputs per multiprocessor.
    fn blocks(&self, outputs: usize) -> f64 {
        self.outputs.div_ceil(outputs) as f64 / self.multiprocessors
    }
}

/// The largest block.
pub(super) fn most_threads(properties: &DeviceProperties) -> u32 {
    let along_x = properties.max_block[0];
    properties.max_threads_per_block.min(along_x)
}

/// A launch of blocks of [`THREADS`] outputs.
struct Spread {
    /// The launch, with its first loads and last stores.
    launch: f64,
    /// An output's load and store.
    output: f64,
    /// One tap of a lone block.
    lone: f64,
    /// One tap for each block of a full multiprocessor.
    each: f64,
}

impl Spread {
    fn time(&self, task: Task) -> f64 {
        let tap = (self.each * task.blocks(THREADS as usize).ceil()).max(self.lone);
        self.launch + self.output * task.outputs as f64 + tap * task.taps as f64
    }
}

/// The constants of the models of kernels without FFTs, for one type. A kernel without constants is
/// never chosen: others are as fast within the models' error.
struct Costs {
    /// [`tiled`](kernels::conv1d::tiled).
    tiled: Spread,
    /// [`direct`](kernels::conv1d::direct), for a few taps.
    direct: Option<Spread>,
    /// [`window`]: a launch, a tile's start, and one tap, until memory is the limit.
    window: Option<[f64; 3]>,
    /// [`blocked`]: a launch, one tap of a lone block, and of each further block of a
    /// multiprocessor, until memory is the limit.
    blocked: [f64; 3],
    /// The smallest number of tiles for [`blocked`]: with fewer, a tap takes up to three times as
    /// long.
    blocked_from: usize,
    /// [`block_per_output`](kernels::conv1d::block_per_output): a launch, one tap of a block, and
    /// each block of a multiprocessor.
    per_output: Option<[f64; 3]>,
}

const COSTS_F32: Costs = Costs {
    tiled: Spread {
        launch: 4760.0,
        output: 6.1e-3,
        lone: 23.9,
        each: 14.3,
    },
    direct: Some(Spread {
        launch: 4500.0,
        output: 5e-3,
        lone: 80.0,
        each: 12.0,
    }),
    window: Some([4760.0, 1200.0, 54.0]),
    blocked: [4760.0, 47.0, 12.3],
    blocked_from: 0,
    per_output: None,
};
const COSTS_F64: Costs = Costs {
    tiled: Spread {
        launch: 3670.0,
        output: 6.8e-3,
        lone: 41.3,
        each: 16.8,
    },
    direct: Some(Spread {
        launch: 3530.0,
        output: 4.0e-3,
        lone: 58.8,
        each: 16.4,
    }),
    window: None,
    blocked: [4270.0, 37.3, 13.4],
    blocked_from: 16,
    per_output: Some([3600.0, 5.87, 85.4]),
};

impl Costs {
    const fn of<T>() -> &'static Self {
        match size_of::<T>() {
            4 => &COSTS_F32,
            _ => &COSTS_F64,
        }
    }

    /// The kernels for a task, with their times.
    fn times<T>(&self, task: Task) -> Vec<(ConvKernel, f64)> {
        let mut times = vec![(ConvKernel::Tiled, self.tiled.time(task))];
        if let Some(direct) = &self.direct {
            times.push((ConvKernel::Direct, direct.time(task)));
        }
        let in_window = self.window.filter(|_| task.taps <= window::MAX_TAPS);
        if let Some(costs) = in_window {
            times.push((ConvKernel::Window, window_time::<T>(costs, task)));
        } else if task.outputs >= self.blocked_from * blocked::span::<T>() {
            times.push((ConvKernel::Blocked, blocked_time::<T>(self.blocked, task)));
        }
        let per_output = self.per_output.filter(|_| task.taps <= task.per_output);
        if let Some(costs) = per_output {
            times.push((ConvKernel::BlockPerOutput, per_output_time(costs, task)));
        }
        times
    }
}

/// The time to read the samples and write the outputs at the bandwidth of global memory.
fn memory<T>(task: Task) -> f64 {
    2.0 * (task.outputs * size_of::<T>()) as f64 / long::BANDWIDTH
}

fn window_time<T>([launch, start, tap]: [f64; 3], task: Task) -> f64 {
    launch + (start + tap * task.taps as f64).max(memory::<T>(task))
}

fn blocked_time<T>([launch, lone, each]: [f64; 3], task: Task) -> f64 {
    let more = (task.blocks(blocked::span::<T>()) - 1.0).max(0.0);
    launch + (task.taps as f64 * (lone + each * more)).max(memory::<T>(task))
}

/// Blocks that are resident together add their taps concurrently, one thread each.
fn per_output_time([launch, tap, block]: [f64; 3], task: Task) -> f64 {
    const THREADS_EACH: usize = 2048;
    const BLOCKS_EACH: usize = 32;
    let resident = THREADS_EACH / task.taps.next_multiple_of(32);
    let waves = task.blocks(resident.min(BLOCKS_EACH)).ceil();
    launch + waves * tap * task.taps as f64 + block * task.blocks(1)
}

/// The time of FFT kernels: of two launches with one block each, and of every further block that a
/// multiprocessor has.
struct Transforms {
    kernel: ConvKernel,
    points: usize,
    first: f64,
    each: f64,
}

const fn transforms(kernel: ConvKernel, points: usize, first: f64, each: f64) -> Transforms {
    Transforms {
        kernel,
        points,
        first,
        each,
    }
}

const F32: [Transforms; 4] = [
    transforms(ConvKernel::Fft2048, 2048, 10_700.0, 914.0),
    transforms(ConvKernel::Fft4096, 4096, 11_900.0, 2110.0),
    transforms(ConvKernel::Fft8192, 8192, 15_200.0, 4820.0),
    transforms(ConvKernel::Fft16384, 16384, 28_500.0, 13_000.0),
];
const F64: [Transforms; 1] = [transforms(ConvKernel::Fft4096, 4096, 17_100.0, 8490.0)];

impl Transforms {
    fn time(&self, task: Task) -> f64 {
        let kept = self.points - discarded(task.taps, 0);
        self.first + self.each * task.blocks(2 * kept)
    }
}

/// The kernels that may be the fastest, with their times in nanoseconds.
fn times<T: Float>(task: Task, calls: Calls) -> Vec<(ConvKernel, f64)> {
    let mut times = Costs::of::<T>().times::<T>(task);
    if task.taps >= FFT_FROM {
        let transforms = match size_of::<T>() {
            4 => &F32[..],
            _ => &F64[..],
        };
        let able = transforms
            .iter()
            .filter(|it| most_taps::<T>(it.kernel) >= Some(task.taps));
        times.extend(able.map(|it| (it.kernel, it.time(task) + calls.prepare())));
        let long = ConvKernel::ALL
            .iter()
            .copied()
            .filter(|kernel| kernel.is_long());
        let able = long.filter(|&kernel| most_taps::<T>(kernel) >= Some(task.taps));
        times.extend(able.map(|kernel| {
            let time = long::time::<T>(kernel, task.taps, task.outputs);
            (kernel, time + calls.prepare())
        }));
    }
    times.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    times
}

/// The kernel that `blockwise tune --save` found for this device.
pub fn saved<T: Float>(
    mode: ConvMode,
    lengths: [usize; 2],
    properties: &DeviceProperties,
) -> Option<ConvKernel> {
    let operation = match mode {
        ConvMode::Full => "conv-full",
        ConvMode::Same => "conv-same",
        ConvMode::Valid => "conv-valid",
    };
    let kernel = tuning::kernel(properties, operation, T::NAME, &lengths)?;
    // The saved size is only nearby, and may have more taps.
    let taps = lengths[0].min(lengths[1]);
    let able = match kernel {
        ConvKernel::Window => taps <= window::MAX_TAPS,
        ConvKernel::Tiled | ConvKernel::TiledRaw => {
            let span = (taps + THREADS as usize).saturating_mul(size_of::<T>());
            span <= properties.shared_bytes_opt_in as usize
        }
        kernel if kernel.is_fft() => most_taps::<T>(kernel) >= Some(taps),
        kernel => !kernel.is_block_per_output(),
    };
    able.then_some(kernel)
}

/// The fastest kernel.
pub(super) fn fastest<T: Float>(task: Task, calls: Calls) -> ConvKernel {
    times::<T>(task, calls)[0].0
}

/// The fastest kernel without FFTs: it needs no memory but the operands'.
pub(super) fn direct<T: Float>(task: Task) -> ConvKernel {
    let times = times::<T>(task, Calls::Many);
    let direct = times.iter().find(|(kernel, _)| !kernel.is_fft());
    direct.map_or(ConvKernel::Tiled, |(kernel, _)| *kernel)
}

/// The two fastest kernels of a [`Convolution`](super::Convolution) for many calls, with the
/// expected seconds of a launch. On devices without measured constants these are an H200's.
///
/// # Errors
/// When an operand is empty or a size overflows.
pub fn expected<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    properties: &DeviceProperties,
) -> Result<[(ConvKernel, f64); 2], LaunchError> {
    let outputs = mode.outputs(signal_len, taps_len)?;
    let task = Task::new([signal_len, taps_len], mode, outputs, properties);
    let times = times::<T>(task, Calls::Many);
    Ok([times[0], times[1]].map(|(kernel, nanoseconds)| (kernel, nanoseconds * 1e-9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    /// Outputs of mode same.
    fn task(taps: usize, outputs: usize) -> Task {
        let lengths = [outputs, taps];
        let all = ConvMode::Same.outputs(outputs, taps).expect("no overflow");
        Task::new(lengths, ConvMode::Same, all, &h200())
    }

    /// Outputs of mode full.
    fn full(samples: usize, taps: usize) -> Task {
        let all = ConvMode::Full.outputs(samples, taps).expect("no overflow");
        Task::new([samples, taps], ConvMode::Full, all, &h200())
    }

    #[test]
    fn transforms_are_taken_where_they_were_measured_to_be_the_fastest() {
        for (taps, outputs, kernel) in [
            (127, 1 << 26, ConvKernel::Fft2048),
            (255, 1 << 22, ConvKernel::Fft2048),
            (1023, 1 << 26, ConvKernel::Fft8192),
            (2001, 1 << 20, ConvKernel::Fft4096),
            (2047, 1 << 24, ConvKernel::Fft8192),
            (4095, 1 << 22, ConvKernel::Fft8192),
            (8191, 1 << 26, ConvKernel::Fft16384),
            (9763, 117_188, ConvKernel::Fft65536),
            (1149, 5104, ConvKernel::Fft2048),
            (16_383, 1 << 26, ConvKernel::Fft262144),
            (65_535, 1 << 26, ConvKernel::Fft262144),
        ] {
            let chosen = fastest::<f32>(task(taps, outputs), Calls::Many);
            assert_eq!(chosen, kernel, "{outputs} outputs, {taps} taps");
        }
        let wide = fastest::<f64>(task(2001, 1 << 20), Calls::Many);
        assert_eq!(wide, ConvKernel::Fft4096);
        for (taps, outputs) in [(63, 1 << 26), (100, 5000), (400_000, 1 << 26)] {
            let chosen = fastest::<f32>(task(taps, outputs), Calls::Many);
            assert!(!chosen.is_fft(), "{outputs} outputs, {taps} taps");
        }
    }

    #[test]
    fn a_single_call_pays_for_the_factors() {
        let small = task(1149, 5104);
        assert_eq!(fastest::<f32>(small, Calls::One), ConvKernel::Tiled);
        assert!(fastest::<f32>(task(1149, 1 << 24), Calls::One).is_fft());
    }

    #[test]
    fn few_outputs_are_tiled_and_many_stay_in_registers() {
        for (taps, outputs, kernel) in [
            (1, 1 << 10, ConvKernel::Direct),
            (4, 1 << 17, ConvKernel::Direct),
            (12, 1 << 16, ConvKernel::Tiled),
            (63, 1 << 17, ConvKernel::Tiled),
            (5, 1 << 20, ConvKernel::Window),
            (63, 1 << 20, ConvKernel::Window),
            (255, 1 << 16, ConvKernel::Tiled),
            (255, 1 << 19, ConvKernel::Blocked),
        ] {
            let chosen = direct::<f32>(task(taps, outputs));
            assert_eq!(chosen, kernel, "{outputs} outputs, {taps} taps");
        }
    }

    #[test]
    fn few_outputs_of_f64_have_a_block_each() {
        for (samples, taps, kernel) in [
            (16, 10, ConvKernel::BlockPerOutput),
            (306, 240, ConvKernel::BlockPerOutput),
            (523, 461, ConvKernel::BlockPerOutput),
            (1442, 243, ConvKernel::BlockPerOutput),
            (1016, 918, ConvKernel::Fft4096),
            (1725, 5, ConvKernel::Direct),
            (5339, 22, ConvKernel::Tiled),
            (12_143, 310, ConvKernel::Tiled),
            (40_000, 84, ConvKernel::Blocked),
            (992_985, 34, ConvKernel::Blocked),
        ] {
            let chosen = fastest::<f64>(full(samples, taps), Calls::Many);
            assert_eq!(chosen, kernel, "{samples} samples, {taps} taps");
        }
        let narrow = fastest::<f32>(full(306, 240), Calls::Many);
        assert_eq!(narrow, ConvKernel::Tiled);
    }

    #[test]
    fn a_part_of_the_outputs_and_another_mode_have_no_block_each() {
        let part = |offset, len| {
            let lengths = [306, 240];
            Task::new(
                lengths,
                ConvMode::Full,
                ConvOutputs { offset, len },
                &h200(),
            )
        };
        assert_eq!(direct::<f64>(part(0, 545)), ConvKernel::BlockPerOutput);
        for task in [part(0, 544), part(1, 544), task(240, 306)] {
            assert_eq!(direct::<f64>(task), ConvKernel::Tiled);
        }
    }
}
