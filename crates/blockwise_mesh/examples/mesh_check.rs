//! Checks every operation on 1, 2, … GPUs of this machine against the first device alone, and on
//! emulated devices where there are no GPUs. `blockwise bench --gpus` times them.
//! `cargo run -p blockwise_mesh --features cuda --example mesh_check`.
//!
//! `nccl` moves arrays by NCCL, as between processes; `job` is a rank of a launcher's job, which
//! works until it is killed.

use std::time::Duration;

use blockwise::Device;
use blockwise_mesh::{
    Blocks, Error, Grid, JoinOptions, Mesh, Rank, Sharded, ShardedMatmulOptions, ShardedMatrix,
    Split, convolve, dot, matmul, reduce, transpose,
};
use blockwise_ops::{ConvMode, Float, Options, Reduction};

const TAPS: usize = 31;

fn main() {
    if let Err(error) = run() {
        eprintln!("error: {error}");
        std::process::exit(2);
    }
}

fn run() -> Result<(), Error> {
    let given = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if given("job") {
        return job();
    }
    let counts: Vec<usize> = match Device::gpu_count() {
        0 => vec![1, 2, 3],
        there => (1..=there).collect(),
    };
    for count in counts {
        let mesh = mesh(count)?;
        let mesh = match count {
            2.. if given("nccl") => mesh.with_nccl()?,
            _ => mesh,
        };
        lines(&mesh)?;
        println!("{count} devices: sum, dot, max and convolution are a single device's");
        for rows in (1..=count).filter(|rows| count.is_multiple_of(*rows)) {
            let grid = Grid {
                rows,
                cols: count / rows,
            };
            turned(&mesh, grid)?;
            products::<f32>(&mesh, grid)?;
            products::<f64>(&mesh, grid)?;
            let Grid { rows, cols } = grid;
            println!("{rows} x {cols} devices: products are a single device's to the bit");
        }
    }
    Ok(())
}

fn mesh(count: usize) -> Result<Mesh, Error> {
    if Device::gpu_count() > 0 {
        return Mesh::local(count);
    }
    let devices = (0..count).map(|rank| {
        Device::any().map_err(|error| Error::Device {
            rank,
            source: Box::new(error.into()),
        })
    });
    Mesh::of(devices.collect::<Result<_, _>>()?)
}

/// Reductions and convolutions of awkward lengths.
fn lines(mesh: &Mesh) -> Result<(), Error> {
    let single = Mesh::of(vec![mesh.devices()[0].clone()])?;
    for len in [1, 33, 100_003] {
        let values: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
        let whole: Vec<i64> = (0..len as i64).map(|i| i * 7919 % 1_000_003).collect();
        let taps: Vec<f32> = (0..TAPS).map(|i| 1.0 / (i + 1) as f32).collect();
        let program = |rank: &mut Rank| {
            let x = Sharded::part_of(rank, &values)?;
            let whole = Sharded::part_of(rank, &whole)?;
            let options = Options::default();
            let sum = reduce(rank, &whole, Reduction::Sum, &options)?;
            let dot = dot(rank, &whole, &whole, &options)?;
            let max = reduce(rank, &x, Reduction::Max, &options)?;
            let smooth = convolve(rank, &x, &taps, ConvMode::Same, &Options::default())?;
            Ok::<_, Error>((sum, dot, max.to_bits(), smooth.gather(rank)?))
        };
        let expected = single.run(program)?.remove(0);
        for result in mesh.run(program)? {
            assert!(result == expected, "{len} elements");
        }
    }
    Ok(())
}

/// Transposes.
fn turned(mesh: &Mesh, grid: Grid) -> Result<(), Error> {
    let value = |index: usize| (index * 7919 % 1013) as f32;
    for [rows, cols] in [[1, 2], [130, 77], [257, 300]] {
        let a: Vec<f32> = (0..rows * cols).map(value).collect();
        let program = |rank: &mut Rank| {
            let by_rows = Blocks::even([rows, cols], Grid::column(rank.ranks()));
            let a = ShardedMatrix::part_of(rank, &a, by_rows)?;
            transpose(rank, &a, &Options::default())?.gather(rank)
        };
        let expected = |at: usize| a[at % rows * cols + at / rows];
        let expected: Vec<f32> = (0..rows * cols).map(expected).collect();
        for result in mesh.run(program)? {
            assert!(result == expected, "{rows} x {cols} on {grid:?}");
        }
    }
    Ok(())
}

/// Products whose sums are rounded: another order of additions has other bits.
fn products<T: Float + From<f32>>(mesh: &Mesh, grid: Grid) -> Result<(), Error> {
    let single = Mesh::of(vec![mesh.devices()[0].clone()])?;
    let known = [
        [1, 2, 3],
        [130, 77, 600],
        [257, 300, 1025],
        [64, 2048, 64],
        [3, 5000, 301],
        [1000, 3000, 7],
    ];
    // The emulator takes a while.
    let (most, drawn) = match Device::gpu_count() {
        0 => (200, 10),
        _ => (4500, 60),
    };
    let mut state = 52_u64;
    let mut up_to = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((most as f64).ln() * (state >> 11) as f64 / (1_u64 << 53) as f64).exp() as usize
    };
    let drawn = (0..drawn).map(|_| [up_to(), up_to(), up_to()]);
    for [rows, inner, cols] in known.into_iter().chain(drawn) {
        let value = |index: usize| -> T {
            <T as From<f32>>::from((index * 7919 % 1_000_003) as f32 / 7.0 - 60_000.0)
        };
        let a: Vec<T> = (0..rows * inner).map(value).collect();
        let b: Vec<T> = (0..inner * cols).map(value).collect();
        let program = |rank: &mut Rank, grid: Grid| {
            let a = ShardedMatrix::part_of(rank, &a, Blocks::even([rows, inner], grid))?;
            let b = ShardedMatrix::part_of(rank, &b, Blocks::even([inner, cols], grid))?;
            let c = matmul(rank, &a, &b, &ShardedMatmulOptions::default())?;
            c.gather(rank)
        };
        let expected = single.run(|rank| program(rank, Grid::column(1)))?.remove(0);
        for result in mesh.run(|rank| program(rank, grid))? {
            let same =
                bytemuck::cast_slice::<T, u8>(&result) == bytemuck::cast_slice::<T, u8>(&expected);
            assert!(same, "{} {rows} x {inner} x {cols} on {grid:?}", T::TYPE);
        }
    }
    Ok(())
}

/// Exchanges halos and sums without end, over NCCL: what a test of killed ranks runs.
fn job() -> Result<(), Error> {
    println!("started");
    let options = JoinOptions {
        time_limit: Duration::from_secs(20),
        ..JoinOptions::of("check")
    };
    let mesh = Mesh::from_env(&options)?;
    println!("met");
    let mesh = mesh.with_nccl()?;
    println!("linked");
    mesh.run(|rank| {
        let mut signal = Sharded::<f32>::zeros(rank, Split::even(1 << 17, rank.ranks()))?;
        signal.fill_bytes(rank, 0x3f)?;
        let taps = [1.0 / TAPS as f32; TAPS];
        for round in 0_u64.. {
            let (mode, options) = (ConvMode::Same, Options::default());
            let smooth = convolve(rank, &signal, &taps, mode, &options)?;
            let sum = reduce(rank, &smooth, Reduction::Sum, &Options::default())?;
            if round.is_multiple_of(100) {
                println!("round {round}: {sum}");
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok(())
}
