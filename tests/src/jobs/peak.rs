//! The kernel of fused multiply-adds.

use blockwise::DeviceProperties;
use ladder::fma_rate as peak;
use ndarray::Array1;

use super::{Job, exact};

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    // Without a round the loop must not begin.
    vec![job(on, 2, 2), job(on, 1, 0)]
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    [(1, 0), (1, 1), (3, 2)]
        .map(|(blocks, rounds)| job(on, blocks, rounds))
        .into()
}

fn job(on: &DeviceProperties, blocks: u32, rounds: u32) -> Job {
    let case = format!("{blocks} blocks, {rounds} rounds");
    let plan = peak::plan(blocks, on).unwrap_or_else(|error| panic!("{case}: {error}"));
    let threads = peak::threads(blocks);
    let expected = Array1::from_shape_fn(threads, |thread| peak::expected(thread, rounds));
    Job::new(case, plan, threads, exact(expected))
        .out(threads)
        .value(rounds as usize)
}
