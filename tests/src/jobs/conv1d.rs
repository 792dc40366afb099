//! Convolutions beyond the description's cases: the kernels in registers at every number of taps
//! that can be left for their last step, and outputs after the signal.

use blockwise::{Device, DeviceProperties, Type};
use blockwise_ops::ConvMode;
use blockwise_ops::conv1d::{BLOCKED, CONV, DIRECT, TILED, TILED_RAW, WINDOW, problem};
use blockwise_ops::operation::{Options, Posed, Variant};

use super::{Job, described};

/// Both types that there are kernels of.
const TYPES: [Type; 2] = [Type::F32, Type::F64];

/// Outputs of a tile of the kernels in registers: 20 of `f32` and 10 of `f64` for each thread of a
/// warp, or of four.
const SPANS: [(&Variant, usize, usize); 2] = [(&WINDOW, 640, 10), (&BLOCKED, 2560, 4)];

pub(super) fn telling(_: &DeviceProperties) -> Vec<Job> {
    let device = described::recorder();
    let mut jobs = Vec::new();
    for kernel in [&TILED, &TILED_RAW, &DIRECT] {
        let options = Options {
            threads: Some(32),
            ..Options::of(kernel)
        };
        jobs.extend(TYPES.map(|ty| longer(&device, ty, &options)));
    }
    for (kernel, span, tiles) in SPANS {
        in_registers(&device, kernel, span, tiles, &mut jobs);
    }
    jobs
}

/// Jobs of a kernel in registers on one block.
fn in_registers(
    device: &Device,
    kernel: &'static Variant,
    span: usize,
    tiles: usize,
    jobs: &mut Vec<Job>,
) {
    let options = capped(kernel, 1);
    for ty in TYPES {
        let mut add = |lengths, mode| jobs.push(job(device, ty, lengths, mode, &options));
        // A pack, and a thread's outputs.
        let [span, lanes, each] = match ty {
            Type::F32 => [span, 4, 20],
            _ => [span / 2, 2, 10],
        };
        // One whole tile, with an end or two. `window` has the taps of one pack before its steps;
        // it moves the taps to a place in that pack that mode valid varies and mode full does not.
        // Every number of taps that can be left for the last step, after none, one and two whole
        // ones.
        for taps in 1..=3 * each {
            match *kernel == WINDOW {
                true => add([2 * span + 3, lanes - 1 + taps], ConvMode::Full),
                false => add([span + taps + 2, taps], ConvMode::Valid),
            }
        }
        for taps in 1..=4 {
            for mode in [ConvMode::Valid, ConvMode::Full] {
                add([2 * span + 3, taps], mode);
            }
        }
        // Several tiles for each warp or block, ends on both sides.
        for (mode, taps) in [(ConvMode::Same, 33), (ConvMode::Full, 64)] {
            add([span * tiles + 7, taps], mode);
        }
        jobs.push(longer(device, ty, &options));
    }
    // As many as two steps in a loop and all but one more, after which it must end.
    let taps = if *kernel == WINDOW { 41 } else { 39 };
    let lengths = [span / 2 + 40, taps];
    jobs.push(job(device, Type::F64, lengths, ConvMode::Valid, &options));
}

pub(super) fn sizes(_: &DeviceProperties) -> Vec<Job> {
    let device = described::recorder();
    let mut jobs = Vec::new();
    for (kernel, span, _) in SPANS {
        let all = [
            [1, 1],
            [31, 64],
            [span - 1, 3],
            [span, 1],
            [span + 62, 63],
            [3 * span + 1, 64],
        ];
        for lengths in all {
            for options in [Options::of(kernel), capped(kernel, 1)] {
                for &mode in ConvMode::ALL {
                    jobs.extend(TYPES.map(|ty| job(&device, ty, lengths, mode, &options)));
                }
            }
        }
    }
    // Around the taps that shared memory holds at a time.
    for taps in [511, 512, 513] {
        let options = Options::of(&BLOCKED);
        jobs.extend(TYPES.map(|ty| job(&device, ty, [3100, taps], ConvMode::Valid, &options)));
    }
    jobs
}

fn capped(kernel: &'static Variant, blocks: u32) -> Options {
    Options {
        grid_cap: Some(blocks),
        ..Options::of(kernel)
    }
}

fn job(device: &Device, ty: Type, lengths: [usize; 2], mode: ConvMode, options: &Options) -> Job {
    extended(device, ty, lengths, mode, options, 0)
}

/// More outputs than the full convolution has: no tap meets the signal there.
fn longer(device: &Device, ty: Type, options: &Options) -> Job {
    extended(device, ty, [20, 4], ConvMode::Full, options, 40)
}

fn extended(
    device: &Device,
    ty: Type,
    lengths: [usize; 2],
    mode: ConvMode,
    options: &Options,
    zeros: usize,
) -> Job {
    let [samples, taps] = lengths;
    let name = format!("{samples} samples, {taps} taps, {mode}, {zeros} zeros, {ty} {options:?}");
    let mut problem = problem(ty, lengths, mode).expect("not empty");
    problem.extents[3] += zeros;
    let result = vec![problem.extents[3]];
    let posed = Posed { problem, result };
    let shapes = lengths.map(|len| vec![len]);
    let job = described::of_problem(device, &CONV, name.clone(), &posed, options, &shapes);
    job.unwrap_or_else(|| panic!("{name}: no launch"))
}
