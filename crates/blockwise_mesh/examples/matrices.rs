//! Matrix products and transposes on 1, 2, … GPUs of this machine: medians, how far they are from
//! perfect scaling, and a check of every result.
//! `cargo run --release -p blockwise_mesh --features cuda --example matrices -- 16384 32768`.
//!
//! `tensor` adds products on tensor cores, which need kernels for sm_90a (`BLOCKWISE_ARCH`).
//! `panel=N` sets the columns of B that travel at a time. Without GPUs it checks small ones on
//! emulated devices.

use std::time::Instant;

use blockwise::Device;
use blockwise_mesh::{
    Blocks, Error, Grid, Mesh, Rank, ShardedMatmul, ShardedMatmulOptions, ShardedMatrix,
    ShardedTranspose,
};
use blockwise_ops::reduce::reduce_buffer;
use blockwise_ops::{ReduceOptions, Reduction, TransposeOptions};

const ROUNDS: usize = 5;

/// Elements after which a matrix's values repeat: no divisor of any extent.
const PERIOD: usize = 65_521;

fn main() -> Result<(), Error> {
    let there = Device::gpu_count();
    let with_tensor = std::env::args().any(|argument| argument == "tensor");
    let panel = std::env::args().find_map(|argument| argument.strip_prefix("panel=")?.parse().ok());
    let given = std::env::args().skip(1);
    let given: Vec<usize> = given.filter_map(|extent| extent.parse().ok()).collect();
    let (extents, counts) = match there {
        0 => (vec![48], vec![1, 2, 4]),
        there => (
            given,
            (0..).map(|n| 1 << n).take_while(|&n| n <= there).collect(),
        ),
    };
    println!(
        "| work | GPUs | median ms | | 1 GPU / (n GPUs) / n |\n| --- | --- | --- | --- | --- |"
    );
    for extent in extents {
        let rate = 2.0 * (extent as f64).powi(3) / 1e12;
        for tensor in [false, true] {
            let work = match tensor {
                false => format!("product {extent}"),
                true if with_tensor => format!("product {extent} on tensor cores"),
                true => continue,
            };
            let options = ShardedMatmulOptions {
                tensor,
                panel,
                ..ShardedMatmulOptions::default()
            };
            let program = |rank: &mut Rank| product(rank, extent, &options);
            row(&work, (rate, "TFLOP/s"), &counts, program)?;
        }
        let rate = 2.0 * 4.0 * (extent as f64).powi(2) / 1e12;
        row(
            &format!("transpose {extent}"),
            (rate, "TB/s"),
            &counts,
            |rank| transpose(rank, extent),
        )?;
    }
    Ok(())
}

/// The median time of a step on each count of GPUs.
fn row(
    work: &str,
    (amount, unit): (f64, &str),
    counts: &[usize],
    program: impl Fn(&mut Rank) -> Result<f64, Error> + Sync,
) -> Result<(), Error> {
    let mut one = None;
    for &count in counts {
        let mesh = match Device::gpu_count() {
            0 => Mesh::emulated(count)?,
            _ => Mesh::local(count)?,
        };
        let times = mesh.run(&program)?;
        let slowest = times.into_iter().fold(0.0, f64::max);
        let one = *one.get_or_insert(slowest);
        let (rate, scaling) = (amount / slowest, one / slowest / count as f64);
        let slowest = slowest * 1e3;
        println!("| {work} | {count} | {slowest:.3} | {rate:.2} {unit} | {scaling:.3} |");
    }
    Ok(())
}

/// The median of a step's seconds, from a barrier to the rank's end of it, without the first.
fn rounds(
    rank: &mut Rank,
    mut step: impl FnMut(&mut Rank) -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        rank.barrier()?;
        let begin = Instant::now();
        step(rank)?;
        rank.synchronize()?;
        if round > 0 {
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// A matrix's element: a whole number from −8 to 8, so that sums of products are exact.
fn value(index: usize) -> f32 {
    (index % PERIOD * 7919 % 17) as f32 - 8.0
}

/// A square matrix in row shards.
fn matrix(rank: &Rank, extent: usize) -> Result<ShardedMatrix<f32>, Error> {
    let blocks = Blocks::even([extent; 2], Grid::column(rank.ranks()));
    let [rows, _] = blocks.block(rank.number());
    let period: Vec<f32> = (0..2 * PERIOD).map(value).collect();
    let mut part = Vec::with_capacity(rows.len() * extent);
    while part.len() < rows.len() * extent {
        let start = (rows.start * extent + part.len()) % PERIOD;
        let len = PERIOD.min(rows.len() * extent - part.len());
        part.extend_from_slice(&period[start..start + len]);
    }
    ShardedMatrix::upload(rank, blocks, &part)
}

/// Compares elements all over a rank's rows; that all were written, a maximum shows: they were NaN.
fn check(
    rank: &Rank,
    output: &ShardedMatrix<f32>,
    expected: impl Fn(usize, usize) -> f32,
) -> Result<(), Error> {
    let [extent, _] = output.shape();
    let [rows, _] = output.blocks().block(rank.number());
    let options = ReduceOptions::default();
    let max = reduce_buffer(rank.device(), output.part(), Reduction::Max, &options);
    assert!(
        !max.expect("a maximum").0.is_nan(),
        "an element was not written"
    );
    for sample in 0..500 {
        let (row, col) = (sample * 7919 % rows.len(), sample * 104_729 % extent);
        let at = row * extent + col;
        let got = output.part().view(at..=at).to_vec().expect("an element");
        let row = rows.start + row;
        assert_eq!(got, [expected(row, col)], "row {row}, column {col}");
    }
    Ok(())
}

/// The matrix times itself.
fn product(rank: &mut Rank, extent: usize, options: &ShardedMatmulOptions) -> Result<f64, Error> {
    let a = matrix(rank, extent)?;
    let mut product = ShardedMatmul::new(rank, a.blocks(), a.blocks(), options)?;
    let mut c = ShardedMatrix::alloc(rank, product.outputs())?;
    c.fill_bytes(rank, 0xFF)?;
    let median = rounds(rank, |rank| product.enqueue(rank, &a, &a, &mut c))?;
    check(rank, &c, |row, col| {
        let terms = (0..extent).map(|k| value(row * extent + k) * value(k * extent + col));
        terms.sum()
    })?;
    Ok(median)
}

fn transpose(rank: &mut Rank, extent: usize) -> Result<f64, Error> {
    let input = matrix(rank, extent)?;
    let options = TransposeOptions::default();
    let mut transpose = ShardedTranspose::new(rank, input.blocks(), &options)?;
    let mut output = ShardedMatrix::alloc(rank, transpose.outputs())?;
    output.fill_bytes(rank, 0xFF)?;
    let median = rounds(rank, |rank| transpose.enqueue(rank, &input, &mut output))?;
    check(rank, &output, |row, col| value(col * extent + row))?;
    Ok(median)
}
