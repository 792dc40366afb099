//! Convolution in one dimension, with the modes of `numpy.convolve`: of vectors, and of each row of
//! a matrix.

mod choice;
mod cost;
mod fft;
mod long;
mod matrix;
mod plan;
mod transform;
mod typed;
mod variants;

use std::ops::Range;

use blockwise::{AnyView, Type};

use crate::operation::{
    Asked, Bench, Case, Expected, Given, Lens, Numbers, Operand, Operation, Part, Parts, Posed,
    Problem, Rank, Setting, Size, Windows, Work,
};
use crate::{AnyArray, LaunchError, named_enum, oracle};

pub use transform::{
    CONVOLVE, Rows, TAPS, Transform, Transforms, is_fft, is_long, most_taps, points,
};
pub use typed::{convolve, convolve_buffers, convolve_rows, enqueue, plan};
pub use variants::{
    BLOCK_PER_OUTPUT, BLOCK_PER_OUTPUT_RAW, BLOCKED, DIRECT, FFT2048, FFT4096, FFT8192, FFT16384,
    FFT65536, FFT131072, FFT262144, FFT524288, ROWS_EACH, TILED, TILED_RAW, WINDOW, by_transforms,
};

/// The convolution: extents are samples, taps, the first output in the full convolution, and
/// outputs. The shorter operand plays the taps.
///
/// A signal of two dimensions is convolved row by row: by [`ROWS_EACH`], or by transforms. Rows
/// that share the taps are one launch of [`FFT2048`], [`FFT16384`] and of `f64` [`FFT4096`];
/// transforms through global memory take the windows of all of them together. The taps are a vector
/// for all rows, or a matrix of as many rows; or the signal is one row, for a matrix of taps. The
/// extents are those of one row. Its result has the same bits as if it were convolved alone,
/// whatever the other rows hold.
///
/// From 64 taps on, where that is faster, it uses fast Fourier transforms: it transforms two
/// windows of N samples together, multiplies by the taps' transform, and transforms back. A block
/// does all of it in shared memory; for many taps, the transforms go through global memory. More
/// than 393,185 taps (98,273 of `f64`) are summed directly. Transforms need memory, which a
/// [`Call`](crate::operation::Call) holds: at most 1 MiB, and 150 MiB for those through global
/// memory.
///
/// **Error.** An output then differs from the exact one by at most 16·u·log₂N·Σ|taps|·max|samples|,
/// where the maximum is over the samples less than one filter's length away from the output's own
/// window, and u is the unit roundoff: a quiet passage keeps its digits next to a loud one. If all
/// those samples are zero, so is the output. The bound of a direct sum is m·u·Σ|tap·sample| for m
/// taps. [`oracle::transform_error`] computes the bound. The constant holds with a margin of four
/// on every signal that was tried, but is not proved: the proved bound of an FFT has the norm of
/// the window in place of the maximum. Below the normal numbers the terms' rounding errors add to
/// it, as in direct sums.
///
/// A block whose samples differ that much in loudness is transformed in parts by loudness, each
/// added to the outputs that it reaches: twice to a few times the work, on the device, for that
/// block alone.
///
/// An infinity, a NaN or a sample so large that a sum might overflow reaches only the outputs whose
/// windows contain it: those are direct sums, with the bits of [`DIRECT`] except for those of NaN.
pub static CONV: Operation = Operation {
    name: "conv",
    about: "Convolve a signal with taps: y[i] = sum of taps[k] * signal[i - k]",
    example: "signal.npy taps.npy -o filtered.npy",
    operands: &[
        Operand {
            name: "signal",
            about: "The signal: a vector, or a matrix, each row by itself (.npy, .csv); or a recording (.wav, each channel by itself)",
            rank: Rank::Signal,
        },
        Operand {
            name: "taps",
            about: "The taps: a vector, or a matrix with a row for each of the signal (.npy, .csv); or a recording of an impulse response (.wav, one channel for all or one for each; full scale is 1). A recording is float64, a signal's in the file's own units",
            rank: Rank::Signal,
        },
    ],
    settings: &[Setting::Mode {
        name: "mode",
        about: "Which outputs, as in numpy.convolve",
        values: &["same", "full", "valid"],
        shown: &["full", "same", "valid"],
        labels: &["conv-same", "conv-full", "conv-valid"],
        bench: &[0, 1],
    }],
    result: "the result (.npy, .csv; .wav keeps a recording's format and sample rate)",
    types: |types, _| match types.iter().all(|ty| matches!(ty, Type::F32 | Type::F16)) {
        true => Type::F32,
        false => Type::F64,
    },
    widens: "Of float32 and float16, results are float32; of all other types, integers too, they are float64.",
    gives: |ty| ty,
    sizes: &[
        Size {
            name: "len",
            about: "Samples of the signal",
            profile: 1 << 14,
        },
        Size {
            name: "taps",
            about: "",
            profile: 31,
        },
    ],
    shapes: |sizes| match *sizes {
        [samples, taps] => vec![vec![samples], vec![taps]],
        [rows, samples, taps] => vec![vec![rows, samples], vec![taps]],
        _ => Vec::new(),
    },
    pose,
    lens: |problem| Lens {
        inputs: [0, 1].map(|at| problem.rows[at].saturating_mul(problem.extents[at])),
        output: problem.all_rows().saturating_mul(problem.extents[3]),
    },
    work: |problem| {
        let [samples, taps, _, outputs] = problem.extents;
        let rows = problem.all_rows();
        let [of_signal, of_taps] = problem.rows;
        let all = [(of_signal, samples), (of_taps, taps), (rows, outputs)];
        let all = all.map(|(rows, len)| rows.saturating_mul(len));
        let elements = all.into_iter().fold(0, usize::saturating_add);
        let outputs = all[2] as u64;
        let products = outputs.saturating_mul(samples.min(taps) as u64);
        Work {
            bytes: problem.bytes(elements),
            operations: products.saturating_mul(2),
        }
    },
    reference,
    variants: &[
        &BLOCK_PER_OUTPUT,
        &BLOCK_PER_OUTPUT_RAW,
        &TILED,
        &TILED_RAW,
        &DIRECT,
        &WINDOW,
        &BLOCKED,
        &ROWS_EACH,
        &FFT2048,
        &FFT4096,
        &FFT8192,
        &FFT16384,
        &FFT65536,
        &FFT131072,
        &FFT262144,
        &FFT524288,
    ],
    choice: choice::fastest,
    parts: Parts::Windows(&Windows {
        part,
        // The bound of a transform's error takes in samples up to a filter's length away.
        reach: |problem| problem.extents[0].min(problem.extents[1]) - 1,
    }),
    bench: Bench {
        types: &[
            (
                Type::F32,
                &[
                    &[1 << 26, 5],
                    &[1 << 26, 10],
                    &[1 << 26, 31],
                    &[1 << 26, 32],
                    &[1 << 26, 63],
                    &[1 << 26, 127],
                    &[1 << 26, 255],
                    &[1 << 26, 1023],
                    &[1 << 26, 4095],
                    &[1 << 26, 8191],
                    &[1 << 26, 16_383],
                    &[1 << 26, 65_535],
                    &[1 << 28, 5],
                    &[1 << 28, 10],
                    &[1 << 28, 31],
                    &[1 << 28, 32],
                    &[1 << 20, 2001],
                    &[768, 4096, 31],
                    &[49_152, 1024, 128],
                    &[2, 28_800_000, 4001],
                    &[64, 1_000_000, 31],
                ],
            ),
            (
                Type::F64,
                &[&[1 << 24, 10], &[1_000_000, 2001], &[768, 4096, 31]],
            ),
        ],
        quick: &[1 << 22, 31],
        drawn: &[400_000_000, 20_000],
        batch: Some(("conv-rows", 20_000)),
        numbers: Numbers::Uniform,
        every: &[Type::F64],
    },
    cases: CASES,
    edges: &[
        &[1, 1],
        &[1, 5],
        &[31, 64],
        &[255, 1],
        &[257, 3],
        &[509, 31],
        &[255, 256],
        &[5, 257, 3],
        &[2, 1283, 31],
        &[3, 99, 70],
    ],
};

named_enum! {
    /// Which outputs of a convolution are computed, for operands of n and m elements.
    pub enum ConvMode("convolution mode") {
        /// All n + m − 1 of them.
        Full = "full",
        /// The central max(n, m).
        Same = "same",
        /// Those for which the operands overlap completely: max(n, m) − min(n, m) + 1.
        Valid = "valid",
    }
}

/// The modes in the order of the setting's words.
const MODES: [ConvMode; 3] = [ConvMode::Same, ConvMode::Full, ConvMode::Valid];

/// A contiguous range of outputs of the full convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOutputs {
    /// The index of the first output in the full convolution.
    pub offset: usize,
    /// The number of outputs.
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

    /// The settings of this mode.
    pub fn given(self) -> Given {
        let at = MODES.iter().position(|&mode| mode == self);
        Given {
            // There are three.
            settings: [at.unwrap_or(0) as u8, 0],
            ..Given::default()
        }
    }
}

fn full_len(long: usize, short: usize) -> Result<usize, LaunchError> {
    long.checked_add(short - 1)
        .ok_or(LaunchError::SizeOverflow {
            what: "the full convolution",
        })
}

/// The problem of a convolution with these lengths.
///
/// # Errors
/// When an operand is empty or a size overflows.
pub fn problem(
    ty: Type,
    [samples, taps]: [usize; 2],
    mode: ConvMode,
) -> Result<Problem, LaunchError> {
    let ConvOutputs { offset, len } = mode.outputs(samples, taps)?;
    Ok(Problem {
        settings: mode.given().settings,
        ..Problem::new(ty, &[samples, taps, offset, len])
    })
}

/// A problem's mode; the problem may have only a part of the mode's outputs.
fn mode(problem: &Problem) -> ConvMode {
    let at = usize::from(problem.settings[0]);
    MODES.get(at).copied().unwrap_or(MODES[0])
}

/// Whether a problem has all outputs of its mode.
fn is_whole(problem: &Problem) -> bool {
    let [samples, taps, offset, len] = problem.extents;
    let all = mode(problem).outputs(samples, taps);
    all.is_ok_and(|all| all == ConvOutputs { offset, len })
}

/// The operand that plays the signal, which is the longer one, and the one that plays the taps.
/// Convolution commutes.
fn ordered<'a>(problem: &Problem, inputs: &[AnyView<'a>]) -> [AnyView<'a>; 2] {
    match problem.extents[1] > problem.extents[0] {
        true => [inputs[1], inputs[0]],
        false => [inputs[0], inputs[1]],
    }
}

fn pose(ty: Type, shapes: &[&[usize]], given: &Given) -> Result<Posed, LaunchError> {
    let rows = |at: usize, what| match *shapes[at] {
        [len] => Ok((1, len)),
        [rows, len] => Ok((rows, len)),
        _ => Err(LaunchError::Rank {
            what,
            shape: shapes[at].to_vec(),
            wanted: "a vector, or a matrix of rows",
        }),
    };
    let [signal, taps] = [rows(0, "the signal")?, rows(1, "the list of taps")?];
    let mode = MODES[usize::from(given.settings[0]).min(MODES.len() - 1)];
    let whole = problem(ty, [signal.1, taps.1], mode)?;
    let problem = match (signal.0, taps.0) {
        (of_signal, of_taps) if of_signal == of_taps || of_signal == 1 || of_taps == 1 => Problem {
            rows: [of_signal, of_taps],
            ..whole
        },
        _ => {
            return Err(LaunchError::ShapeMismatch {
                left_name: "the signal",
                left: shapes[0].to_vec(),
                right_name: "the list of taps",
                right: shapes[1].to_vec(),
                rule: "each row has taps of its own, or all share one row",
            });
        }
    };
    let outputs = problem.extents[3];
    let (longest, all) = (signal.1.max(taps.1).max(outputs), problem.all_rows());
    let what = "the matrix";
    let too_large = LaunchError::SizeOverflow { what };
    longest.checked_mul(all).ok_or(too_large)?;
    let result = match shapes.iter().any(|shape| shape.len() > 1) {
        true => vec![all, outputs],
        false => vec![outputs],
    };
    Ok(Posed { problem, result })
}

/// The operand that plays the signal, and the one that plays the taps, of one row: of matrices that
/// row, or the only one.
fn row<'a>(problem: &Problem, inputs: &[AnyView<'a>], row: usize) -> [AnyView<'a>; 2] {
    let of = [0, 1].map(|at| {
        let len = problem.extents[at];
        let first = if problem.rows[at] == 1 { 0 } else { row * len };
        inputs[at].view(first..first + len)
    });
    ordered(problem, &of)
}

/// Samples and taps of a row, and rows of each: as [`ordered`].
fn lens(problem: &Problem) -> [[usize; 2]; 2] {
    let [samples, taps, ..] = problem.extents;
    let [of_signal, of_taps] = problem.rows;
    match taps > samples {
        true => [[taps, samples], [of_taps, of_signal]],
        false => [[samples, taps], [of_signal, of_taps]],
    }
}

/// Samples, taps and outputs of a row; distances between rows of the first two.
fn of_row(problem: &Problem) -> ([usize; 3], [usize; 2]) {
    let [[samples, taps], [of_signal, of_taps]] = lens(problem);
    let pitch = |rows: usize, len: usize| if rows == 1 { 0 } else { len };
    let pitches = [pitch(of_signal, samples), pitch(of_taps, taps)];
    ([samples, taps, problem.extents[3]], pitches)
}

/// Asks for each run of outputs within a row, with that row's operands.
fn of_rows<R>(
    asked: &Asked<'_>,
    of_row: impl Fn(Asked<'_>) -> Result<Vec<R>, LaunchError>,
) -> Result<Vec<R>, LaunchError> {
    let problem = asked.problem.row();
    let mut all = Vec::new();
    for (row, run) in Problem::in_rows(asked.runs, problem.extents[3]) {
        let operand = |at: usize| {
            let (len, width) = (problem.extents[at], problem.ty.bytes());
            let first = if asked.problem.rows[at] == 1 { 0 } else { row };
            let mut operand = AnyArray::zeros(problem.ty, &[len])?;
            let bytes = &asked.inputs[at].bytes()[first * len * width..][..len * width];
            operand.bytes_mut().copy_from_slice(bytes);
            Ok::<_, LaunchError>(operand)
        };
        all.extend(of_row(Asked {
            problem: &problem,
            inputs: &[operand(0)?, operand(1)?],
            runs: std::slice::from_ref(&run),
            before: &mut [0; 4],
        })?);
    }
    Ok(all)
}

/// A run of outputs is a convolution too: of the samples that it needs, with another first output.
pub fn part(problem: &Problem, outputs: Range<usize>) -> Part {
    let [samples, taps, offset, _] = problem.extents;
    let (long, short) = (samples.max(taps), samples.min(taps));
    let is_swapped = taps > samples;
    let wanted = offset + outputs.start..offset + outputs.end;
    // With fewer samples than taps, a launch would swap the operands and add in another order. If
    // they are swapped already, it would swap them back with as many samples as taps.
    let least = short + usize::from(is_swapped);
    let first = (wanted.start + 1).saturating_sub(short).min(long - least);
    let window = first..wanted.end.max(first + least).min(long);
    let [start, len] = [wanted.start - first, wanted.len()];
    let (inputs, extents) = match is_swapped {
        true => (
            [0..short, window.clone()],
            [short, window.len(), start, len],
        ),
        false => (
            [window.clone(), 0..short],
            [window.len(), short, start, len],
        ),
    };
    Part {
        problem: Problem {
            extents,
            ..*problem
        },
        inputs,
    }
}

fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    if asked.problem.rows != [1; 2] {
        let all = of_rows(&asked, |asked| match reference(asked)? {
            Expected::Near(near) => Ok(near),
            Expected::Exact(_) => Ok(Vec::new()),
        })?;
        return Ok(Expected::Near(all));
    }
    match asked.problem.ty {
        Type::F32 => Ok(Expected::Near(oracle::of_sums::<f32>(&asked))),
        Type::F64 => Ok(Expected::Near(oracle::of_sums::<f64>(&asked))),
        given => Err(LaunchError::NoInstance {
            kernel: CONV.name,
            given,
            known: "f32, f64".to_owned(),
        }),
    }
}

/// Partial and whole tiles, a grid that strides; groups of taps and what is left of them; more taps
/// than threads, and than samples.
static CASES: &[Case] = &[
    Case::of(&[150, 9])
        .by(OF_ANY_BLOCK)
        .set(SAME)
        .blocks_of(32)
        .capped(3),
    Case::of(&[33, 40]).by(OF_ANY_BLOCK).set(FULL).blocks_of(32),
    Case::of(&[64, 5])
        .by(OF_ANY_BLOCK)
        .set(SAME)
        .blocks_of(32)
        .spare(),
    Case::of(&[128, 95])
        .by(OF_ANY_BLOCK)
        .set(FULL)
        .blocks_of(32),
    Case::of(&[1, 1]).by(OF_ANY_BLOCK).set(VALID).blocks_of(32),
    // More taps than shared memory holds at a time.
    Case::of(&[2660, 79]).by(&["blocked"]).set(VALID),
    Case::of(&[1980, 520]).by(&["blocked"]).set(VALID),
    // One tap less than two whole groups of them, where no tile is whole.
    Case::of(&[80, 31]).by(&["blocked"]).set(FULL).capped(1),
    Case::of(&[700, 5])
        .by(&["window", "blocked"])
        .set(FULL)
        .spare(),
    Case::of(&[20, 37]).by(A_BLOCK_EACH).set(FULL).capped(5),
    // Eight products are added at a time: none, two rounds, and a rest.
    Case::of(&[40, 5]).by(A_BLOCK_EACH).set(FULL).spare(),
    Case::of(&[40, 16]).by(A_BLOCK_EACH).set(FULL).spare(),
    Case::of(&[40, 19]).by(A_BLOCK_EACH).set(FULL).spare(),
    Case::of(&[300, 40]).by(BY_TRANSFORMS).set(FULL),
    // Rows of whole tiles and a rest, which do not begin at packs.
    Case::of(&[3, 2575, 5])
        .by(&["rows"])
        .set(FULL)
        .counting(1)
        .capped(1),
    // The same joined; short ones, of which a tile has many; and one tap, which reaches into no
    // other row.
    Case::of(&[3, 2575, 5])
        .by(&["rows"])
        .set(SAME)
        .counting(1)
        .capped(1),
    Case::of(&[80, 37, 21]).by(&["rows"]).set(SAME).counting(1),
    Case::of(&[2, 1300, 1]).by(&["rows"]).set(SAME).counting(1),
    // Groups of taps in the tiles, whole and not, and as many as there may be.
    Case::of(&[2, 1000, 39]).by(&["rows"]).set(SAME).counting(1),
    Case::of(&[2, 1000, 42]).by(&["rows"]).set(SAME).counting(1),
    Case::of(&[2, 1000, 43]).by(&["rows"]).set(SAME).counting(1),
    Case::of(&[2, 1000, 47]).by(&["rows"]).set(SAME).counting(1),
    Case::of(&[2, 1000, 64]).by(&["rows"]).set(SAME).counting(1),
    // Short ones, which share blocks.
    Case::of(&[11, 37, 5]).by(&["rows"]).set(SAME).capped(1),
    Case::of(&[5, 20, 33]).by(&["rows"]).set(FULL).spare(),
    // More blocks than are resident: four rows a thread, and what is left of a group of taps.
    Case::of(&[664, 71, 7]).by(&["rows"]).set(VALID),
    // Wide windows of more taps than a group, in whole groups and not.
    Case::of(&[3, 700, 39]).by(&["rows"]).set(SAME).capped(1),
    Case::of(&[2, 700, 21]).by(&["rows"]).set(SAME),
    Case::of(&[2, 700, 58]).by(&["rows"]).set(SAME),
    Case::of(&[3, 99, 70]).by(BY_TRANSFORMS).set(SAME),
];

const OF_ANY_BLOCK: &[&str] = &["tiled", "tiled-raw", "direct"];
const A_BLOCK_EACH: &[&str] = &["block-per-output", "block-per-output-raw"];
const BY_TRANSFORMS: &[&str] = &["fft2048", "fft4096", "fft8192", "fft16384"];

const SAME: &[[u8; 2]] = &[[0, 0]];
const FULL: &[[u8; 2]] = &[[1, 0]];
const VALID: &[[u8; 2]] = &[[2, 0]];

#[cfg(test)]
mod tests;
