//! Sums, dot products and convolutions on 1, 2, … GPUs of this machine: checks them, then prints
//! medians and how far they are from perfect scaling.
//! `cargo run --release -p blockwise_mesh --features cuda --example scaling`.
//!
//! `check` only checks, on emulated devices where there are no GPUs; `host` copies through the host
//! instead of NCCL; `job` is a rank of a launcher's job, which works until it is killed.

use std::time::{Duration, Instant};

use blockwise::Device;
use blockwise_mesh::{
    Error, JoinOptions, Mesh, Rank, Sharded, ShardedConvolution, Split, convolve, dot, reduce,
};
use blockwise_ops::{ConvMode, ConvOptions, ReduceOptions, Reduction};

/// Elements of the sum and the dot product: 32 GiB of each operand.
const LONG: usize = 1 << 33;
/// Samples of the convolution.
const SAMPLES: usize = 1 << 30;
const TAPS: usize = 31;
const ROUNDS: usize = 25;

fn main() -> Result<(), Error> {
    let given = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if given("job") {
        return job();
    }
    let (only_check, by_host) = (given("check"), given("host"));
    let there = Device::gpu_count();
    let counts = match there {
        0 => vec![1, 2],
        there => (0..).map(|n| 1 << n).take_while(|&n| n <= there).collect(),
    };
    for &count in &counts {
        check(&mesh(count, there, by_host)?)?;
        println!("{count} devices: sum, dot, max and convolution are a single device's");
    }
    if only_check || there == 0 {
        return Ok(());
    }
    println!("| work | GPUs | median ms | 1 GPU / (n GPUs) / n |\n| --- | --- | --- | --- |");
    let row = |work, program| row(work, &counts, by_host, program);
    row("sum of 2^33 f32", sum)?;
    row("dot of 2^32 f32", product)?;
    row("convolution of 2^30 f32, 31 taps", |rank| {
        convolution(rank, 1)
    })?;
    row("the same, ten in flight, each", |rank| {
        convolution(rank, 10)
    })?;
    row("barrier", |rank| rounds(rank, Rank::barrier))
}

fn mesh(count: usize, there: usize, by_host: bool) -> Result<Mesh, Error> {
    let device = |ordinal| match there {
        0 => Device::any(),
        _ => Device::gpu(ordinal),
    };
    if there > 0 && !by_host {
        return Mesh::local(count);
    }
    let devices = (0..count).map(|ordinal| {
        device(ordinal).map_err(|error| Error::Device {
            rank: ordinal,
            source: Box::new(error.into()),
        })
    });
    Mesh::of(devices.collect::<Result<_, _>>()?)
}

/// Compares small works of awkward lengths with the first device alone.
fn check(mesh: &Mesh) -> Result<(), Error> {
    let single = Mesh::of(vec![mesh.devices()[0].clone()])?;
    for len in [1, 33, 100_003] {
        let values: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
        let whole: Vec<i64> = (0..len as i64).map(|i| i * 7919 % 1_000_003).collect();
        let taps: Vec<f32> = (0..TAPS).map(|i| 1.0 / (i + 1) as f32).collect();
        let program = |rank: &mut Rank| {
            let (x, whole) = (
                Sharded::part_of(rank, &values)?,
                Sharded::part_of(rank, &whole)?,
            );
            let options = ReduceOptions::default();
            let sum = reduce(rank, &whole, Reduction::Sum, &options)?;
            let dot = dot(rank, &whole, &whole, &options)?;
            let max = reduce(rank, &x, Reduction::Max, &options)?;
            let smooth = convolve(rank, &x, &taps, ConvMode::Same, &ConvOptions::default())?;
            Ok::<_, Error>((sum, dot, max.to_bits(), smooth.gather(rank)?))
        };
        let expected = single.run(program)?.remove(0);
        for result in mesh.run(program)? {
            assert!(
                result == expected,
                "{len} elements on {} devices",
                mesh.ranks()
            );
        }
    }
    Ok(())
}

/// The median time of a step of each count of GPUs.
fn row(
    work: &str,
    counts: &[usize],
    by_host: bool,
    program: fn(&mut Rank) -> Result<f64, Error>,
) -> Result<(), Error> {
    let mut one = None;
    for &count in counts {
        let times = mesh(count, count, by_host)?.run(program)?;
        let slowest = times.into_iter().fold(0.0, f64::max);
        let one = *one.get_or_insert(slowest);
        let scaling = one / slowest / count as f64;
        println!("| {work} | {count} | {:.3} | {scaling:.3} |", slowest * 1e3);
    }
    Ok(())
}

/// The median of a step's seconds, from a barrier to the rank's end of it.
fn rounds(
    rank: &mut Rank,
    mut step: impl FnMut(&mut Rank) -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        rank.barrier()?;
        let begin = Instant::now();
        step(rank)?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// A shard of an array whose bytes are all the same.
fn filled(rank: &Rank, len: usize, byte: u8) -> Result<Sharded<f32>, Error> {
    let mut array = Sharded::alloc(rank, Split::even(len, rank.ranks()))?;
    array.fill_bytes(rank, byte)?;
    Ok(array)
}

fn sum(rank: &mut Rank) -> Result<f64, Error> {
    // 0x3f3f3f3f is 0.7470588.
    let x = filled(rank, LONG, 0x3f)?;
    let exact = f64::from(f32::from_bits(0x3f3f_3f3f)) * LONG as f64;
    rounds(rank, |rank| {
        let sum = reduce(rank, &x, Reduction::Sum, &ReduceOptions::default())?;
        assert!(
            (f64::from(sum) / exact - 1.0).abs() < 1e-3,
            "{sum}, not {exact}"
        );
        Ok(())
    })
}

fn product(rank: &mut Rank) -> Result<f64, Error> {
    let (a, b) = (filled(rank, LONG / 2, 0x3f)?, filled(rank, LONG / 2, 0x3f)?);
    rounds(rank, |rank| {
        dot(rank, &a, &b, &ReduceOptions::default()).map(drop)
    })
}

/// Seconds of a convolution, with this many between two waits for the device.
fn convolution(rank: &mut Rank, in_flight: usize) -> Result<f64, Error> {
    let signal = filled(rank, SAMPLES, 0x3f)?;
    let taps = [1.0 / TAPS as f32; TAPS];
    let options = ConvOptions::default();
    let mode = ConvMode::Same;
    let mut convolution = ShardedConvolution::new(rank, signal.split(), &taps, mode, &options)?;
    let mut output = Sharded::alloc(rank, convolution.outputs().clone())?;
    let seconds = rounds(rank, |rank| {
        for _ in 0..in_flight {
            convolution.enqueue(rank, &signal, &mut output)?;
        }
        rank.synchronize()
    })?;
    Ok(seconds / in_flight as f64)
}

/// Exchanges halos and sums without end, over NCCL: what a test of killed ranks runs.
fn job() -> Result<(), Error> {
    println!("started");
    let options = JoinOptions {
        time_limit: Duration::from_secs(20),
        ..JoinOptions::of("scaling")
    };
    let mesh = Mesh::from_env(&options)?;
    println!("met");
    let mesh = mesh.with_nccl()?;
    println!("linked");
    mesh.run(|rank| {
        let signal = filled(rank, 1 << 16, 0x3f)?;
        let taps = [1.0 / TAPS as f32; TAPS];
        for round in 0_u64.. {
            let (mode, options) = (ConvMode::Same, ConvOptions::default());
            let smooth = convolve(rank, &signal, &taps, mode, &options)?;
            let sum = reduce(rank, &smooth, Reduction::Sum, &ReduceOptions::default())?;
            if round.is_multiple_of(100) {
                println!("round {round}: {sum}");
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok(())
}
