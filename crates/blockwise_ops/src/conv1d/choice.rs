//! Which kernel convolves.
//!
//! Each kernel has a model of a launch's time, and the fastest one is taken. The models' constants
//! are nanoseconds on an H200 (132 multiprocessors, driver 580), fitted to a sweep of 500 sizes of
//! `f32` and 380 of `f64` (docs/log/2026-11-23-choices.md). A device with other multiprocessors shares the blocks
//! out among its own.

use blockwise::DeviceProperties;
use kernels::conv1d::fft::shape::discarded;
use kernels::conv1d::policy::FFT_FROM;
use kernels::conv1d::{THREADS, blocked, window};

use super::long;
use super::routines::most_taps;
use super::{ConvKernel, ConvMode};
use crate::{Float, LaunchError, tuning};

/// How often what a kernel needs is used: the factors of its transforms are made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// In a single call, which pays for them.
    One,
    /// In many.
    Many,
}

impl Calls {
    /// To allocate and copy the factors of a transform: 31 to 65 µs of the host.
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
    pub(super) taps: usize,
    pub(super) outputs: usize,
    pub(super) multiprocessors: f64,
}

impl Task {
    pub(super) fn new(taps: usize, outputs: usize, properties: &DeviceProperties) -> Self {
        Self {
            taps,
            outputs,
            multiprocessors: properties.multiprocessors_to_fill().into(),
        }
    }

    /// Blocks of this many outputs, for each multiprocessor.
    fn blocks(&self, outputs: usize) -> f64 {
        self.outputs.div_ceil(outputs) as f64 / self.multiprocessors
    }
}

/// What the models of the kernels without transforms have for a type.
struct Costs {
    /// A launch, with its loads and stores in flight.
    launch: f64,
    /// [`tiled`](kernels::conv1d::tiled): a tap for a lone block, for each block of a full
    /// multiprocessor, and an output's load and store.
    tiled: [f64; 3],
    /// [`window`]: a tile's start, and a tap, until memory binds.
    window: [f64; 2],
    /// [`blocked`]: a tap for a lone block, and for each further one of a multiprocessor.
    blocked: [f64; 2],
}

const COSTS_F32: Costs = Costs {
    launch: 4760.0,
    tiled: [23.9, 14.3, 6.1e-3],
    window: [1200.0, 54.0],
    blocked: [47.0, 12.3],
};
const COSTS_F64: Costs = Costs {
    launch: 5220.0,
    tiled: [31.9, 21.2, 4.1e-3],
    window: [1570.0, 27.5],
    blocked: [32.6, 13.2],
};

impl Costs {
    const fn of<T>() -> &'static Self {
        match size_of::<T>() {
            4 => &COSTS_F32,
            _ => &COSTS_F64,
        }
    }

    fn tiled(&self, task: Task) -> f64 {
        let [lone, each, output] = self.tiled;
        let tap = (each * task.blocks(THREADS as usize).ceil()).max(lone);
        self.launch + output * task.outputs as f64 + tap * task.taps as f64
    }

    fn window<T>(&self, task: Task) -> f64 {
        let [start, tap] = self.window;
        let bytes = 2.0 * (task.outputs * size_of::<T>()) as f64;
        self.launch + (start + tap * task.taps as f64).max(bytes / long::BANDWIDTH)
    }

    fn blocked<T>(&self, task: Task) -> f64 {
        let [lone, each] = self.blocked;
        let more = (task.blocks(blocked::span::<T>()) - 1.0).max(0.0);
        self.launch + task.taps as f64 * (lone + each * more)
    }
}

/// The time of transforms: of two launches with a block each, and of every further block that a
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
const F64: [Transforms; 1] = [transforms(ConvKernel::Fft4096, 4096, 16_300.0, 9380.0)];

impl Transforms {
    fn time(&self, task: Task) -> f64 {
        let kept = self.points - discarded(task.taps, 0);
        self.first + self.each * task.blocks(2 * kept)
    }
}

/// The kernels that can be the fastest, with their times in nanoseconds.
fn times<T: Float>(task: Task, calls: Calls) -> Vec<(ConvKernel, f64)> {
    let costs = Costs::of::<T>();
    let in_registers = match task.taps {
        taps if taps <= window::MAX_TAPS => (ConvKernel::Window, costs.window::<T>(task)),
        _ => (ConvKernel::Blocked, costs.blocked::<T>(task)),
    };
    let mut times = vec![(ConvKernel::Tiled, costs.tiled(task)), in_registers];
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
    // A size nearby may have more taps.
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

/// The fastest kernel without transforms: it needs no memory but the operands'.
pub(super) fn direct<T: Float>(task: Task) -> ConvKernel {
    let times = times::<T>(task, Calls::Many);
    let direct = times.iter().find(|(kernel, _)| !kernel.is_fft());
    direct.map_or(ConvKernel::Tiled, |(kernel, _)| *kernel)
}

/// The two fastest kernels of a [`Convolution`](super::Convolution) for many calls, with the
/// seconds of a launch that the choice expects: on an H200, for devices that no constants were
/// measured on.
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
    let task = Task::new(signal_len.min(taps_len), outputs.len, properties);
    let times = times::<T>(task, Calls::Many);
    Ok([times[0], times[1]].map(|(kernel, nanoseconds)| (kernel, nanoseconds * 1e-9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn task(taps: usize, outputs: usize) -> Task {
        Task::new(taps, outputs, &h200())
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
            (5, 1 << 16, ConvKernel::Tiled),
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
}
