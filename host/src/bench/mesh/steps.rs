//! The ranks' programs. Every result is checked: inputs are small numbers whose results are known,
//! and outputs are NaN before.

use std::time::Instant;

use blockwise::Type;
use blockwise_mesh::{
    Blocks, Error, Grid, Phases, Rank, Sharded, ShardedCarried, ShardedConvolution, ShardedMatmul,
    ShardedMatmulOptions, ShardedMatrix, ShardedTranspose, Split,
};
use blockwise_ops::operation::{Operation, Problem};
use blockwise_ops::reduce::reduce_buffer;
use blockwise_ops::{ConvMode, Options, Reduction};

use super::worst;

/// An operation, and the options of its launches.
pub(super) type Launch = (&'static Operation, Options);

/// A rank's steps.
#[derive(Default)]
pub(super) struct Timed {
    /// Seconds of each one.
    pub(super) seconds: Vec<f64>,
    /// Of those that were recorded afterwards.
    pub(super) phases: Vec<Phases>,
}

/// How many steps are timed, and how many more are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) timed: usize,
    pub(super) recorded: usize,
}

/// A rank's steps, and the result's largest relative error.
pub(super) struct Outcome {
    pub(super) timed: Timed,
    pub(super) error: f64,
}

/// Seconds of each step, from a barrier to this rank's end of it, after a first one.
fn rounds(
    rank: &mut Rank,
    count: Count,
    mut step: impl FnMut(&mut Rank) -> Result<(), Error>,
) -> Result<Timed, Error> {
    step(rank)?;
    let mut timed = Timed::default();
    for _ in 0..count.timed {
        rank.barrier()?;
        let begin = Instant::now();
        step(rank)?;
        timed.seconds.push(begin.elapsed().as_secs_f64());
    }
    for _ in 0..count.recorded {
        rank.barrier()?;
        rank.record_phases()?;
        step(rank)?;
        timed.phases.push(rank.phases()?);
    }
    Ok(timed)
}

/// Bytes that all elements of a vector consist of, and their value.
const BYTE: u8 = 0x3f;
const VALUE: f32 = f32::from_bits(u32::from_ne_bytes([BYTE; 4]));

fn filled(rank: &Rank, len: usize) -> Result<Sharded<f32>, Error> {
    let mut array = Sharded::zeros(rank, Split::even(len, rank.ranks()))?;
    array.fill_bytes(rank, BYTE)?;
    Ok(array)
}

fn error(result: f32, exact: f64) -> f64 {
    (f64::from(result) / exact - 1.0).abs()
}

/// A sum of elements, or of products.
pub(super) fn folded(
    rank: &mut Rank,
    (of, options): Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    let operands = (of.operands.iter()).map(|_| filled(rank, extents[0]));
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let mut result = 0.0;
    let timed = rounds(rank, count, |rank| {
        result = match &operands[..] {
            [a, b] => blockwise_mesh::dot(rank, a, b, &options)?,
            terms => blockwise_mesh::reduce(rank, &terms[0], Reduction::Sum, &options)?,
        };
        Ok(())
    })?;
    let term = f64::from(VALUE).powi(operands.len() as i32);
    let error = error(result, term * extents[0] as f64);
    Ok(Outcome { timed, error })
}

pub(super) fn windows(
    rank: &mut Rank,
    (_, options): Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    let signal = filled(rank, extents[0])?;
    let taps = vec![1.0 / extents[1] as f32; extents[1]];
    let mode = ConvMode::Valid;
    let mut convolution = ShardedConvolution::new(rank, signal.split(), &taps, mode, &options)?;
    let mut output = Sharded::zeros(rank, convolution.outputs().clone())?;
    output.fill_bytes(rank, 0xff)?;
    let timed = rounds(rank, count, |rank| {
        convolution.enqueue(rank, &signal, &mut output)?;
        rank.synchronize()
    })?;
    // Every output is one element's value: the least and the largest one say whether all are.
    let mut error_of = |reduction| {
        let options = Options::default();
        let found = blockwise_mesh::reduce(rank, &output, reduction, &options)?;
        Ok::<_, Error>(error(found, f64::from(VALUE)))
    };
    let error = worst([error_of(Reduction::Min)?, error_of(Reduction::Max)?]);
    Ok(Outcome { timed, error })
}

/// Running sums, each within the tolerance of its exact value.
pub(super) fn carried(
    rank: &mut Rank,
    (of, options): Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    let problem = Problem::new(Type::F32, &[extents[0], 1, 1]);
    let mut scan = ShardedCarried::<f32>::new(rank, of, &problem, &options)?;
    let mut input = ShardedMatrix::zeros(rank, scan.blocks())?;
    input.fill_bytes(rank, BYTE)?;
    let mut output = ShardedMatrix::zeros(rank, scan.blocks())?;
    output.fill_bytes(rank, 0xff)?;
    let timed = rounds(rank, count, |rank| {
        scan.enqueue(rank, &input, &mut output)?;
        rank.synchronize()
    })?;
    let error = sampled(rank, &output, |row, _| f64::from(VALUE) * (row + 1) as f64)?;
    Ok(Outcome { timed, error })
}

/// Elements after which a matrix's values repeat: a prime, so that rows differ.
const PERIOD: usize = 65_521;

/// A matrix's element: a whole number from −8 to 8, so that sums of products are exact.
fn value(index: usize) -> f32 {
    (index % PERIOD * 7919 % 17) as f32 - 8.0
}

/// A matrix in row shards.
fn matrix(rank: &Rank, shape: [usize; 2]) -> Result<ShardedMatrix<f32>, Error> {
    let blocks = Blocks::even(shape, Grid::column(rank.ranks()));
    let [rows, cols] = blocks.block(rank.number());
    let period: Vec<f32> = (0..2 * PERIOD).map(value).collect();
    let mut part = Vec::with_capacity(rows.len() * cols.len());
    while part.len() < rows.len() * cols.len() {
        let start = (rows.start * cols.len() + part.len()) % PERIOD;
        let len = PERIOD.min(rows.len() * cols.len() - part.len());
        part.extend_from_slice(&period[start..start + len]);
    }
    ShardedMatrix::upload(rank, blocks, &part)
}

/// Elements of each rank's rows that are compared.
const SAMPLES: usize = 500;

/// The largest error of a sample of a rank's elements; NaN when one was not written.
fn sampled(
    rank: &Rank,
    output: &ShardedMatrix<f32>,
    expected: impl Fn(usize, usize) -> f64,
) -> Result<f64, Error> {
    let [rows, cols] = output.blocks().block(rank.number());
    let extent = cols.len();
    if rows.is_empty() || cols.is_empty() {
        return Ok(0.0);
    }
    let failed = |error: blockwise_ops::LaunchError| Error::Device {
        rank: rank.number(),
        source: Box::new(error),
    };
    let options = Options::default();
    let (most, _) =
        reduce_buffer(rank.device(), output.part(), Reduction::Max, &options).map_err(failed)?;
    let mut errors = vec![if most.is_nan() { f64::NAN } else { 0.0 }];
    for sample in 0..SAMPLES {
        // The last row, and rows of the whole range, however many there are.
        let mixed = (sample as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let row = match sample {
            0 => rows.len() - 1,
            _ => (mixed % rows.len() as u64) as usize,
        };
        let col = sample * 104_729 % extent;
        let at = row * extent + col;
        let found = output.part().view(at..=at).to_vec();
        let found = found.map_err(|error| failed(error.into()))?[0];
        let exact = expected(rows.start + row, cols.start + col);
        errors.push((f64::from(found) - exact).abs() / exact.abs().max(1.0));
    }
    Ok(worst(errors))
}

pub(super) fn panels(
    rank: &mut Rank,
    (_, options): Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    let options = ShardedMatmulOptions {
        launch: options,
        ..ShardedMatmulOptions::default()
    };
    let (inner, cols) = (extents[1], extents[2]);
    let (a, b) = (
        matrix(rank, [extents[0], inner])?,
        matrix(rank, [inner, cols])?,
    );
    let mut product = ShardedMatmul::new(rank, a.blocks(), b.blocks(), &options)?;
    let mut c = ShardedMatrix::zeros(rank, product.outputs())?;
    c.fill_bytes(rank, 0xff)?;
    let timed = rounds(rank, count, |rank| {
        product.enqueue(rank, &a, &b, &mut c)?;
        rank.synchronize()
    })?;
    let error = sampled(rank, &c, |row, col| {
        let terms = (0..inner).map(|k| value(row * inner + k) * value(k * cols + col));
        f64::from(terms.sum::<f32>())
    })?;
    Ok(Outcome { timed, error })
}

pub(super) fn tiles(
    rank: &mut Rank,
    launch: Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    tiles_by(rank, launch, extents, count, ShardedTranspose::new)
}

/// As [`tiles`], but each rank keeps its columns of the result.
pub(super) fn tiles_in_columns(
    rank: &mut Rank,
    launch: Launch,
    extents: &[usize],
    count: Count,
) -> Result<Outcome, Error> {
    tiles_by(rank, launch, extents, count, ShardedTranspose::by_columns)
}

fn tiles_by(
    rank: &mut Rank,
    (_, options): Launch,
    extents: &[usize],
    count: Count,
    prepare: impl Fn(&Rank, &Blocks, &Options) -> Result<ShardedTranspose<f32>, Error>,
) -> Result<Outcome, Error> {
    let input = matrix(rank, [extents[0], extents[1]])?;
    let mut transpose = prepare(rank, input.blocks(), &options)?;
    let mut output = ShardedMatrix::zeros(rank, transpose.outputs())?;
    output.fill_bytes(rank, 0xff)?;
    let timed = rounds(rank, count, |rank| {
        transpose.enqueue(rank, &input, &mut output)?;
        rank.synchronize()
    })?;
    let error = sampled(rank, &output, |row, col| {
        f64::from(value(col * extents[1] + row))
    })?;
    Ok(Outcome { timed, error })
}
