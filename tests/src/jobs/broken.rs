//! The broken kernels. Numbers are small integers, so that every right result is exact.

use blockwise_ops::LaunchPlan;
use broken_kernels::{THREADS, TILE};
use ndarray::Array1;

use super::{Job, exact};

pub(super) fn jobs() -> Vec<Job> {
    let ceil = |extent: u32| extent.div_ceil(TILE);
    vec![
        convolution("conv1d_early_return"),
        convolution("conv1d_halo_not_loaded"),
        convolution("conv1d_halo_off_by_one"),
        copy(),
        dot(),
        load(),
        matmul("matmul_accumulates", ceil).with_fresh_output(),
        matmul("matmul_missing_barrier", ceil),
        matmul("matmul_uncovered_grid", |extent| extent / TILE).with_fresh_output(),
        neighbours(),
        reversal("reverse_copy_too_early", 256, THREADS),
        reversal("reverse_missing_barrier", 1000, 0),
        reversal("reverse_shared_too_small", 1000, 0),
        block_sums("sum_barrier_in_branch", THREADS, 256),
        total(),
        block_sums("sum_shuffle_wrong_mask", 32, 16),
        partials(),
        block_sums("sum_warp_without_sync", 32, 32),
    ]
}

/// Asymmetric integers below `period`.
fn numbers(count: usize, period: usize) -> Vec<f32> {
    (0..count).map(|i| (i * i % period) as f32).collect()
}

/// A launch of blocks of one dimension with N words of dynamic shared memory.
fn line(kernel: &'static str, blocks: usize, threads: u32, words: u32) -> LaunchPlan {
    LaunchPlan {
        kernel,
        grid: [blocks as u32, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 4 * words,
    }
}

/// A job whose output must be exactly this.
fn job(plan: LaunchPlan, case: &str, expected: Vec<f32>) -> Job {
    let len = expected.len();
    Job::new(
        case.to_owned(),
        plan,
        len,
        exact(Array1::from_vec(expected)),
    )
}

/// The Numba document's numbers: 1000 samples, 9 taps, mode same.
fn convolution(kernel: &'static str) -> Job {
    let (n, m) = (1000, 9);
    let (signal, taps) = (numbers(n, 7), numbers(m, 5));
    let offset = (m - 1) / 2;
    let output = |i: usize| {
        let terms = (0..m).filter(|&k| i + offset >= k && i + offset - k < n);
        terms.map(|k| taps[k] * signal[i + offset - k]).sum()
    };
    let expected = (0..n).map(output).collect();
    let plan = line(
        kernel,
        n.div_ceil(THREADS as usize),
        THREADS,
        THREADS + m as u32 - 1,
    );
    let job = job(plan, "1000 samples, 9 taps", expected);
    job.slice(&signal)
        .slice(&taps)
        .output()
        .value(n)
        .value(offset)
}

/// 40 rows and 50 columns: neither is a multiple of the tile. `blocks` says how many are launched
/// for N elements.
fn matmul(kernel: &'static str, blocks: impl Fn(u32) -> u32) -> Job {
    let (rows, inner, cols) = (40, 36, 50);
    let (a, b) = (numbers(rows * inner, 7), numbers(inner * cols, 5));
    let element = |i: usize| {
        let (row, col) = (i / cols, i % cols);
        let terms = (0..inner).map(|k| a[row * inner + k] * b[k * cols + col]);
        terms.sum::<f32>()
    };
    let expected = (0..rows * cols).map(element).collect();
    let plan = LaunchPlan {
        kernel,
        grid: [blocks(cols as u32), blocks(rows as u32), 1],
        block: [TILE, TILE, 1],
        dynamic_shared_bytes: 0,
    };
    let job = job(plan, "40 x 36 x 50", expected);
    job.slice(&a)
        .slice(&b)
        .output()
        .value(rows)
        .value(inner)
        .value(cols)
}

fn reversal(kernel: &'static str, len: u32, words: u32) -> Job {
    let input: Vec<u32> = (0..len).collect();
    let expected = Array1::from_iter((0..len).rev());
    let plan = line(kernel, len.div_ceil(THREADS) as usize, THREADS, words);
    let job = Job::new(
        format!("{len} elements"),
        plan,
        input.len(),
        exact(expected),
    );
    job.slice(&input).output()
}

/// One block, so its partial result is the whole one.
fn dot() -> Job {
    let (a, b) = (numbers(3000, 7), numbers(3000, 5));
    let expected = vec![a.iter().zip(&b).map(|(a, b)| a * b).sum()];
    let plan = line("dot_missing_barrier", 1, THREADS, THREADS);
    job(plan, "3000 elements", expected)
        .slice(&a)
        .slice(&b)
        .output()
}

/// Three blocks, each of which sums `share` elements.
fn block_sums(kernel: &'static str, threads: u32, share: usize) -> Job {
    let input = numbers(3 * share, 7);
    let expected = input
        .chunks(share)
        .map(|share| share.iter().sum())
        .collect();
    let plan = line(kernel, 3, threads, 0);
    job(plan, "3 blocks", expected).slice(&input).output()
}

/// Blocks that add to one total, which begins at zero.
fn total() -> Job {
    let input = numbers(8 * 64, 7);
    let plan = line("sum_blocks_race", 8, 64, 0);
    let mut job = job(plan, "8 blocks", vec![input.iter().sum()]);
    job.fill = Some(0);
    job.slice(&input).output()
}

/// 20 partial results in memory for 32; the first becomes the total.
fn partials() -> Job {
    let input = numbers(20, 7);
    let total: f32 = input.iter().sum();
    let plan = line("sum_unwritten_partials", 1, 32, 0);
    let judge = move |output: Vec<f32>| match output[0] == total {
        true => Ok(()),
        false => Err(format!("{} instead of {total}", output[0])),
    };
    let job = Job::new("20 of 32 partial results".to_owned(), plan, 32, judge);
    job.slice(&input).output().with_fresh_output()
}

/// More threads than elements, as it is when a grid is rounded up.
fn copy() -> Job {
    let input = numbers(1000, 7);
    let expected = input.iter().map(|x| 2.0 * x).collect();
    let plan = line("copy_off_by_one", 4, THREADS, 0);
    job(plan, "1000 elements", expected).slice(&input).output()
}

fn load() -> Job {
    let input = numbers(4 * 64 + 1, 7);
    let expected = input[1..].chunks(4).map(|four| four.iter().sum()).collect();
    let plan = line("load_misaligned", 1, 64, 0);
    job(plan, "64 threads", expected).slice(&input).output()
}

fn neighbours() -> Job {
    let input: Vec<u32> = (0..THREADS).collect();
    let expected = Array1::from_iter((1..THREADS).chain([0]));
    let plan = line("named_barrier_wrong_count", 1, THREADS, 0);
    let job = Job::new("one block".to_owned(), plan, input.len(), exact(expected));
    job.slice(&input).output()
}

impl Job {
    /// The same with an output that is uninitialised before the launch.
    #[must_use]
    fn with_fresh_output(mut self) -> Self {
        self.fill = None;
        self
    }
}
