//! Copies of both operands of a product. The library launches the kernel for B alone.

use blockwise::DeviceProperties;
use blockwise_ops::LaunchPlan;
use kernels::matmul::pitched::{ITEMS, THREADS};
use kernels::matmul::policy::pitch;

use super::Job;
use crate::data::matrix;

pub(super) fn telling(_: &DeviceProperties) -> Vec<Job> {
    vec![
        job([162, 41, 141], Some(1)),
        job([1, 1, 1], None),
        // Rows longer than a block copies at once, of A and of B.
        job([3, 1025, 2], Some(1)),
        job([2, 3, 1031], Some(1)),
        job([5, 3, 1031], None),
        job([1, 8, 8], None),
    ]
}

fn job([rows, inner, cols]: [usize; 3], cap: Option<u32>) -> Job {
    let a = matrix::<f32>(31, rows, inner).into_raw_vec_and_offset().0;
    let b = matrix::<f32>(32, inner, cols).into_raw_vec_and_offset().0;
    let blocks = |needed: usize| cap.unwrap_or(u32::MAX).min(needed as u32);
    let across = pitch(inner.max(cols)).div_ceil(THREADS as usize * ITEMS);
    let plan = LaunchPlan {
        kernel: "matmul_pitch_f32",
        grid: [blocks(across), blocks(rows.max(inner)), 2],
        block: [THREADS, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let (of_a, of_b) = (padded(&a, inner), padded(&b, cols));
    let [len_a, len_b] = [&of_a, &of_b].map(Vec::len);
    let expected = [of_a, of_b].concat();
    let judge = move |copies: Vec<u32>| match copies.iter().zip(&expected).position(|(x, y)| x != y)
    {
        None => Ok(()),
        Some(at) => Err(format!("element {at} of the copies is another")),
    };
    let case = format!("copies of both of {rows} x {inner} x {cols}, {cap:?}");
    Job::new(case, plan, len_a + len_b, judge)
        .slice(&a)
        .slice(&b)
        .out(len_a)
        .out_from(4 * len_a, len_b)
        .value(rows)
        .value(inner)
        .value(cols)
}

/// The bits of a matrix whose rows are padded with zeros.
fn padded(matrix: &[f32], cols: usize) -> Vec<u32> {
    let zeros = vec![0; pitch(cols) - cols];
    let row = |row: &[f32]| [row.iter().map(|x| x.to_bits()).collect(), zeros.clone()].concat();
    matrix.chunks(cols).flat_map(row).collect()
}
