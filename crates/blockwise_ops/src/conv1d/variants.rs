//! The kernels, as rows.

use std::num::NonZeroU32;

use blockwise::{AnyViewMut, Error, Plain, Type, View, ViewMut};
use kernels::conv1d::policy::FFT_FROM;
use kernels::conv1d::{block_per_output, blocked, direct, rows, tiled, window};
use kernels::raw::conv1d as raw;

use super::transform::*;
use super::{cost, fft, long, matrix, of_row, of_rows, ordered, plan};
use crate::operation::{
    Asked, Kernel, Operands, Options, Problem, Takes, Task, Tier, Variant, kernel, raw_kernel,
};
use crate::oracle;

/// The operand that plays the signal.
fn signal<'a, T: Plain>(of: &Operands<'a>) -> Result<View<'a, T>, Error> {
    ordered(&of.problem, of.inputs)[0].plain()
}

/// The operand that plays the taps.
fn taps<'a, T: Plain>(of: &Operands<'a>) -> Result<View<'a, T>, Error> {
    ordered(&of.problem, of.inputs)[1].plain()
}

/// The output as a matrix of one row.
fn row<T: Plain>(output: AnyViewMut<'_>) -> Result<(ViewMut<'_, T>, usize, usize), Error> {
    let len = output.len();
    Ok((output.plain()?, 1, len))
}

/// The kernels for rows, in each form.
macro_rules! sums_of_rows {
    ($($Type:ident $t:ident)*) => {
        &[$(
            sums_of_rows!(@ $Type $t NARROW of matrix::log_width(&of.problem)),
            sums_of_rows!(@ $Type $t WIDE of rows::LOG_THREADS),
            sums_of_rows!(@ $Type $t JOINED of rows::JOINED),
        )*]
    };
    (@ $Type:ident $t:ident $form:ident $of:ident $log_width:expr) => {
        kernel!(Takes::Type(Type::$Type), [matrix::$form, 0], rows::conv1d_rows<$t>, |$of| {
            let ([samples, count, outputs], [signal_pitch, taps_pitch]) = of_row(&$of.problem);
            (
                signal::<$t>(&$of)?,
                taps::<$t>(&$of)?,
                $of.output.plain::<$t>()?,
                $of.problem.extents[2],
                samples,
                count,
                outputs,
                signal_pitch,
                taps_pitch,
                $log_width
            )
        })
    };
}

macro_rules! sums {
    (@ $Type:ident $t:ident $make:ident $handle:path) => {
        $make!(Takes::Type(Type::$Type), [0, 0], $handle, |of| (
            signal::<$t>(&of)?,
            taps::<$t>(&of)?,
            of.output.plain::<$t>()?,
            of.problem.extents[2]
        ))
    };
    (unsafe $($part:ident)::+) => {
        &[
            sums!(@ F32 f32 raw_kernel $($part)::+<f32>),
            sums!(@ F64 f64 raw_kernel $($part)::+<f64>),
        ]
    };
    ($($part:ident)::+) => {
        &[sums!(@ F32 f32 kernel $($part)::+<f32>), sums!(@ F64 f64 kernel $($part)::+<f64>)]
    };
}

/// One block per output and one thread per tap, for `f64` in mode full: the MATLAB document's
/// kernel.
pub static BLOCK_PER_OUTPUT: Variant = Variant::new(
    "block-per-output",
    "one block per output and one thread per tap, for f64 in mode full",
    &[kernel!(
        Takes::Type(Type::F64),
        [0, 0],
        block_per_output::conv1d_block_per_output_f64,
        |of| (
            signal::<f64>(&of)?,
            taps::<f64>(&of)?,
            row::<f64>(of.output)?
        )
    )],
    plan::block_per_output,
)
.tier(Tier::Document)
.modelled(cost::per_output)
.worth(few_taps);

/// The same in rust-cuda's form.
pub static BLOCK_PER_OUTPUT_RAW: Variant = Variant::new(
    "block-per-output-raw",
    "the same in rust-cuda's form",
    &[raw_kernel!(
        Takes::Type(Type::F64),
        [0, 0],
        raw::conv1d_block_per_output_raw_f64,
        |of| (
            signal::<f64>(&of)?,
            taps::<f64>(&of)?,
            of.output.plain::<f64>()?
        )
    )],
    plan::block_per_output,
)
.tier(Tier::Document)
.worth(few_taps);

/// Each block loads its span of the signal and a halo into shared memory.
pub static TILED: Variant = Variant::new(
    "tiled",
    "each block loads its span of the signal and a halo into shared memory",
    sums!(tiled::conv1d_tiled),
    plan::tiled,
)
.modelled(cost::tiled)
.worth(few_taps)
.tuned(threads);

/// The same in rust-cuda's form.
pub static TILED_RAW: Variant = Variant::new(
    "tiled-raw",
    "the same in rust-cuda's form",
    sums!(unsafe raw::conv1d_tiled_raw),
    plan::tiled,
)
.tier(Tier::Document)
.worth(few_taps);

/// No shared memory: each thread reads what it needs.
pub static DIRECT: Variant = Variant::new(
    "direct",
    "no shared memory: each thread reads what it needs",
    sums!(direct::conv1d_direct),
    plan::direct,
)
.modelled(cost::direct)
.worth(few_taps)
.tuned(threads);

/// Outputs and samples in registers, for few taps; each warp copies its next tile while it computes
/// one.
pub static WINDOW: Variant = Variant::new(
    "window",
    "outputs and samples in registers, for few taps",
    sums!(window::conv1d_window),
    plan::window,
)
.modelled(cost::window)
.worth(|problem| problem.rows == [1; 2] && taps_of(problem) <= window::MAX_TAPS)
.tuned(|task| tiles(task, "warp"));

/// Outputs and samples in registers, for any number of taps.
pub static BLOCKED: Variant = Variant::new(
    "blocked",
    "outputs and samples in registers, for any number of taps",
    sums!(blocked::conv1d_blocked),
    plan::blocked,
)
.modelled(cost::blocked)
.worth(|problem| problem.rows == [1; 2])
.tuned(|task| tiles(task, "block"));

/// Each row of a matrix, in one launch: all of them or each as in [`WINDOW`], or with a thread for
/// each output.
pub static ROWS_EACH: Variant = Variant::new(
    "rows",
    "each row of a matrix, as window or with a thread for each output",
    sums_of_rows!(F32 f32 F64 f64),
    matrix::plan,
)
.modelled(matrix::time)
.worth(|problem| problem.rows != [1; 2])
.tuned(|task| match matrix::form(task) {
    matrix::NARROW => Vec::new(),
    _ => tiles(task, "warp"),
});

/// A variant by transforms in shared memory, without a model of its time.
pub const fn by_transforms(
    name: &'static str,
    about: &'static str,
    kernels: &'static [Kernel],
    transforms: &'static Transforms,
) -> Variant {
    Variant::new(name, about, kernels, super::transform::plan)
        .with(transforms)
        .held(fft::hold)
        .off_by(near)
        .worth(|problem| problem.rows == [1; 2] && many_taps(problem))
}

/// A variant by transforms through global memory.
const fn by_long_transforms(
    name: &'static str,
    about: &'static str,
    kernels: &'static [Kernel],
    transforms: &'static Transforms,
) -> Variant {
    by_transforms(name, about, kernels, transforms)
        .held(long::hold)
        .modelled(cost::long_transforms)
        .worth(|problem| taps_of(problem) >= LONG_FROM)
        .on_request()
}

/// By FFTs of 2048 points in shared memory, of `f32`, four steps at a time in a thread's registers,
/// for hundreds of taps.
pub static FFT2048: Variant = by_transforms(
    "fft2048",
    "FFTs of 2048 points in shared memory, four steps at a time in registers, for hundreds of taps",
    FFT2048_KERNELS,
    &FFT2048_TRANSFORMS,
)
.modelled(cost::transforms)
.worth(many_taps);

/// The same with 4096 points, also of `f64`.
pub static FFT4096: Variant = by_transforms(
    "fft4096",
    "the same with 4096 points, also of f64",
    FFT4096_KERNELS,
    &FFT4096_TRANSFORMS,
)
.modelled(cost::transforms)
.worth(many_taps);

/// The same with 8192 points, of `f32`.
pub static FFT8192: Variant = by_transforms(
    "fft8192",
    "the same with 8192 points",
    FFT8192_KERNELS,
    &FFT8192_TRANSFORMS,
)
.modelled(cost::transforms)
.worth(many_taps);

/// The same with 16384 points, of `f32`.
pub static FFT16384: Variant = by_transforms(
    "fft16384",
    "the same with 16384 points",
    FFT16384_KERNELS,
    &FFT16384_TRANSFORMS,
)
.modelled(cost::transforms)
.worth(many_taps);

/// By FFTs of 65,536 points through global memory, for tens of thousands of taps, for `f32`.
pub static FFT65536: Variant = by_long_transforms(
    "fft65536",
    "FFTs of 65,536 points through global memory, for tens of thousands of taps",
    FFT65536_KERNELS,
    &FFT65536_TRANSFORMS,
);

/// The same with 131,072 points, also of `f64`.
pub static FFT131072: Variant = by_long_transforms(
    "fft131072",
    "the same with 131,072 points, also of f64",
    FFT131072_KERNELS,
    &FFT131072_TRANSFORMS,
);

/// The same with 262,144 points, of `f32`.
pub static FFT262144: Variant = by_long_transforms(
    "fft262144",
    "the same with 262,144 points",
    FFT262144_KERNELS,
    &FFT262144_TRANSFORMS,
);

/// The same with 524,288 points, of `f32`.
pub static FFT524288: Variant = by_long_transforms(
    "fft524288",
    "the same with 524,288 points",
    FFT524288_KERNELS,
    &FFT524288_TRANSFORMS,
);

/// Taps from which on direct sums of many outputs take too long to be timed, but for the fastest.
const MANY_TAPS: usize = 1024;

/// Taps from which on transforms through global memory are timed.
const LONG_FROM: usize = 4095;

fn many_taps(problem: &Problem) -> bool {
    taps_of(problem) >= FFT_FROM
}

/// The operand that plays the taps, in elements.
fn taps_of(problem: &Problem) -> usize {
    problem.extents[0].min(problem.extents[1])
}

fn few_taps(problem: &Problem) -> bool {
    problem.rows == [1; 2] && taps_of(problem) < MANY_TAPS
}

/// What transforms add to the error: it has the loudest sample near an output.
fn near(asked: &Asked<'_>) -> Vec<f64> {
    let of_row = |asked: &Asked<'_>| oracle::of_transforms(asked, |reach| Some([2 * reach, reach]));
    match asked.problem.rows {
        [1, 1] => of_row(asked),
        // Only without memory are there none, and then the reference says so.
        _ => of_rows(asked, |asked| Ok(of_row(&asked))).unwrap_or_default(),
    }
}

/// More and fewer tiles for each warp or block.
fn tiles(task: &Task<'_>, whose: &str) -> Vec<(Options, String)> {
    let each = [1, 2, 3, 4, 8].map(|each| {
        let options = Options {
            count: NonZeroU32::new(each),
            ..Options::of(task.variant)
        };
        (options, format!("tiles a {whose}: {each}"))
    });
    each.into()
}

/// Smaller and larger blocks.
fn threads(task: &Task<'_>) -> Vec<(Options, String)> {
    let threads = [128, 256, 512].map(|threads| {
        let options = Options {
            threads: Some(threads),
            ..Options::of(task.variant)
        };
        (options, format!("{threads} threads"))
    });
    threads.into()
}
