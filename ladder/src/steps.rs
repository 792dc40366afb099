//! The steps as variants of their operations.

use std::sync::OnceLock;

use blockwise::Type;
use blockwise_ops::conv1d::{CONV, CONVOLVE, TAPS, Transform, Transforms, by_transforms};
use blockwise_ops::operation::{Asked, Case, Operation, Takes, Tier, kernel, words};
use blockwise_ops::reduce::{DOT, Folding, Form, MAX, MIN, SUM, in_one_launch, on_the_host, rows};
use blockwise_ops::transpose::{TRANSPOSE, aligned_plan, caps};
use blockwise_ops::{Variant, oracle, reductions};

use crate::aligned_narrow::{self, transpose_aligned_narrow};
use crate::fft_radix2::{self, conv1d_fft_radix2, conv1d_taps_fft_radix2};
use crate::fft4096_ungapped::{
    Ungapped4096, conv1d_fft4096_ungapped, conv1d_taps_fft4096_ungapped,
};
use crate::kernels::conv1d::fft::shape::{self, Shape};
use crate::shuffle::{dot_shuffle, fold_shuffle};
use crate::single8::{self, dot_single8, fold_single8};

/// All of them.
pub static STEPS: &[&Variant] = &[&SHUFFLE, &SINGLE8, &NARROW, &FFT_RADIX2, &FFT4096_UNGAPPED];

/// Every way to do an operation: the product's, then the steps.
pub fn variants(of: &Operation) -> impl Iterator<Item = &'static Variant> {
    let steps = STEPS.iter().filter(move |step| step.is_of(of));
    of.variants.iter().chain(steps).copied()
}

/// The variant of this name.
pub fn variant(of: &Operation, name: &str) -> Option<&'static Variant> {
    variants(of).find(|variant| variant.name == name)
}

/// The operation's cases for the detectors, and those of its steps.
pub fn cases(of: &Operation) -> impl Iterator<Item = &'static Case> {
    let steps = CASES.iter().filter(move |(operation, _)| *operation == of);
    of.cases.iter().chain(steps.map(|(_, case)| case))
}

/// Cases that the operations do not have, for steps.
pub static CASES: &[(&Operation, Case)] = &[
    (
        &TRANSPOSE,
        Case::of(&[137, 70]).by(&["aligned-narrow"]).capped(1),
    ),
    (
        &CONV,
        Case::of(&[300, 40])
            .by(&["fft-radix2", "fft4096-ungapped"])
            .set(&[[1, 0]]),
    ),
];

/// The reduction `wide` with an element at a time.
pub static SHUFFLE: Variant = on_the_host(
    "shuffle",
    "warps fold by shuffles",
    &reductions!([ELEMENTS, ELEMENTS], fold_shuffle, dot_shuffle, |of| []),
)
.tier(Tier::Ladder {
    of: &[&SUM, &MIN, &MAX, &DOT],
});

const ELEMENTS: Form = Form {
    packs: 0,
    fold: Folding::Host,
};

/// The reduction `single` with twice as many loads in flight.
pub static SINGLE8: Variant = in_one_launch(
    "single8",
    "the same with twice as many loads in flight",
    &reductions!([EIGHT, EIGHT], fold_single8, dot_single8, |of| [
        rows::ticket(of.memory)?
    ]),
)
.tier(Tier::Ladder {
    of: &[&SUM, &MIN, &MAX, &DOT],
});

const EIGHT: Form = Form {
    packs: single8::IN_FLIGHT as u8,
    fold: Folding::LastBlock,
};

/// The transpose `aligned` with tiles of half the width.
pub static NARROW: Variant = Variant::new(
    "aligned-narrow",
    "aligned with tiles of half the width",
    words!([u32 u64], [0, 0], transpose_aligned_narrow, |of, T| (
        of.inputs[0].plain::<T>()?,
        of.output.plain::<T>()?,
        of.problem.extents[0],
        of.problem.extents[1]
    )),
    |task| aligned_plan(task, aligned_narrow::TILE),
)
.tier(Tier::Ladder { of: &[&TRANSPOSE] })
.tuned(caps);

/// By FFTs of 2048 points in shared memory, for `f32`, one butterfly per thread and step: the
/// simplest FFT kernel. It loses quiet passages next to loud ones: its error has the largest sample
/// of its two windows.
pub static FFT_RADIX2: Variant = by_transforms(
    "fft-radix2",
    "FFTs of 2048 points in shared memory, one butterfly per thread and step",
    &[
        kernel!(
            Takes::Type(Type::F32),
            [CONVOLVE, 0],
            conv1d_fft_radix2,
            |of| (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.inputs[2].plain::<f32>()?,
                of.inputs[3].plain::<f32>()?,
                of.output.plain::<f32>()?,
                of.problem.extents[2]
            )
        ),
        kernel!(
            Takes::Type(Type::F32),
            [TAPS, 0],
            conv1d_taps_fft_radix2,
            |of| (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.output.plain::<f32>()?
            )
        ),
    ],
    &OF_RADIX2,
)
.off_by(anywhere)
.tier(Tier::Ladder { of: &[&CONV] });

/// The error has the loudest of all samples.
fn anywhere(asked: &Asked<'_>) -> Vec<f64> {
    oracle::of_transforms(asked, |_| None)
}

static OF_RADIX2: Transforms = Transforms {
    of: &[Transform {
        ty: Type::F32,
        points: fft_radix2::POINTS,
        threads: fft_radix2::THREADS,
        shared_bytes: 0,
        most_taps: fft_radix2::MOST_TAPS,
        // Half of a window is old samples, whatever the taps, and nothing is shifted.
        discarded: |_, _| fft_radix2::POINTS / 2,
        spectrum_len: 2 * fft_radix2::POINTS,
        factors: || {
            static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
            bytes(TABLE.get_or_init(|| rounded(&fft_radix2::roots())))
        },
        rows: None,
    }],
};

/// The convolution `fft4096` without gaps in shared memory, of `f32`: with bank conflicts.
pub static FFT4096_UNGAPPED: Variant = by_transforms(
    "fft4096-ungapped",
    "fft4096 without gaps in shared memory: with bank conflicts",
    &[
        kernel!(
            Takes::Type(Type::F32),
            [CONVOLVE, 0],
            conv1d_fft4096_ungapped<f32>,
            |of| (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.inputs[2].plain::<f32>()?,
                of.inputs[3].plain::<f32>()?,
                of.output.plain::<f32>()?,
                of.problem.extents[2],
                shape::shift(of.problem.extents[2])
            )
        ),
        kernel!(
            Takes::Type(Type::F32),
            [TAPS, 0],
            conv1d_taps_fft4096_ungapped<f32>,
            |of| (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.output.plain::<f32>()?,
                shape::shift(of.problem.extents[2])
            )
        ),
    ],
    &OF_UNGAPPED,
)
.tier(Tier::Ladder { of: &[&CONV] });

static OF_UNGAPPED: Transforms = Transforms {
    of: &[Transform {
        ty: Type::F32,
        points: Ungapped4096::POINTS,
        threads: Ungapped4096::THREADS as u32,
        shared_bytes: shape::shared_bytes::<Ungapped4096, f32>(),
        most_taps: shape::most_taps::<Ungapped4096, f32>(),
        discarded: shape::discarded,
        spectrum_len: shape::spectrum_len::<Ungapped4096>(),
        factors: || {
            static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
            bytes(TABLE.get_or_init(|| rounded(&shape::factors::<Ungapped4096>())))
        },
        rows: None,
    }],
};

/// A table's real and imaginary parts in turn.
fn rounded(table: &[[f64; 2]]) -> Vec<f32> {
    let parts = table.as_flattened().iter();
    parts.map(|&part| part as f32).collect()
}

fn bytes(table: &[f32]) -> &[u8] {
    bytemuck::cast_slice(table)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use blockwise_ops::OPERATIONS;
    use blockwise_ops::operation::Tier;

    use super::*;

    /// A step that no operation knows, and no operation that lists one.
    #[test]
    fn a_step_is_of_operations_that_do_not_list_it() {
        for step in STEPS {
            let of: Vec<_> = (OPERATIONS.iter())
                .filter(|operation| step.is_of(operation))
                .collect();
            assert!(!of.is_empty(), "{step}");
            for operation in of {
                assert_eq!(operation.variant(step.name), None, "{step}");
                assert_eq!(variant(operation, step.name), Some(*step));
            }
        }
        let listed = OPERATIONS.iter().flat_map(|of| of.variants);
        for variant in listed {
            assert!(!matches!(variant.tier, Tier::Ladder { .. }), "{variant}");
        }
        for operation in OPERATIONS {
            let names: Vec<_> = variants(operation).map(|it| it.name).collect();
            let once: BTreeSet<_> = names.iter().collect();
            assert_eq!(once.len(), names.len(), "{names:?}");
        }
    }

    /// A kernel that the build script does not name is not embedded.
    #[test]
    fn the_embedded_kernels_are_those_of_the_steps_and_the_peak() {
        let entries = STEPS.iter().flat_map(|step| step.kernels);
        let mut names: BTreeSet<_> = entries.map(|kernel| kernel.entry.name).collect();
        names.insert(crate::peak::peak_fma_f32::entry().name);
        for file in crate::KERNELS.files {
            let text = file.text().expect("as it was built");
            let heads = text.lines().filter_map(|line| {
                let head = line.trim_start().strip_prefix(".visible .entry ")?;
                head.split('(').next()
            });
            assert_eq!(heads.collect::<BTreeSet<_>>(), names, "{}", file.arch);
        }
    }
}
