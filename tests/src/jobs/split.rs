//! Splits of matrices for the tensor cores.

use blockwise::DeviceProperties;
use blockwise_ops::matmul::MatmulShape;
use blockwise_ops::tensor::plan_split;
use kernels::matmul::split::{DEPTH, RANGE_WORDS, SIDE, TERMS, TILE_WORDS};

use super::Job;
use crate::data::matrix;

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    vec![
        // Ragged in every direction, and one block for several tiles.
        job(on, (130, 41, 5), Some(1), [Some(LARGE), Some(SMALL)]),
        job(on, (5, 41, 130), Some(1), [Some(SMALL), Some(LARGE)]),
        job(on, (3, 70, 131), None, [None; 2]),
        job(on, (1, 1, 1), None, [None; 2]).with_spare_blocks(2),
    ]
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let extents = [0, 1, 31, 32, 33, 127, 128, 129];
    let shapes = extents.iter().map(|&extent| (extent, 9, 17));
    let shapes = shapes.chain(extents.iter().map(|&extent| (7, extent, 2)));
    let odd = [Some(SMALL), Some(LARGE)];
    shapes.map(|shape| job(on, shape, None, odd)).collect()
}

/// Numbers that the ranges note.
const LARGE: f32 = -1.5e20;
const SMALL: f32 = 2.5e-20;

/// A job whose operands hold zeros, and A and B these odd numbers.
fn job(
    on: &DeviceProperties,
    (rows, inner, cols): (usize, usize, usize),
    cap: Option<u32>,
    odd: [Option<f32>; 2],
) -> Job {
    let mut a = matrix::<f32>(31, rows, inner).into_raw_vec_and_offset().0;
    let mut b = matrix::<f32>(32, inner, cols).into_raw_vec_and_offset().0;
    let mut ranges = [[u32::MAX; RANGE_WORDS]; 2];
    for ((place, odd), range) in [a.first_mut(), b.last_mut()]
        .into_iter()
        .zip(odd)
        .zip(&mut ranges)
    {
        let (Some(place), Some(odd)) = (place, odd) else {
            continue;
        };
        *place = odd;
        match odd.abs() < 1.0 {
            true => range[0] = odd.abs().to_bits(),
            false => range[1] = !odd.abs().to_bits(),
        }
    }
    a.iter_mut().skip(5).step_by(7).for_each(|x| *x = 0.0);
    let mut plan = plan_split(MatmulShape { rows, inner, cols }, on)
        .unwrap_or_else(|error| panic!("{rows} x {inner} x {cols}: {error}"));
    for extent in &mut plan.grid[..2] {
        *extent = cap.unwrap_or(*extent);
    }
    let words = |side: usize| side.div_ceil(SIDE) * inner.div_ceil(DEPTH) * TILE_WORDS;
    let (of_a, of_b) = (words(rows), words(cols));
    let (a_here, b_here) = (a.clone(), b.clone());
    let judge = move |words: Vec<u32>| {
        let (a_tiles, rest) = words.split_at(of_a);
        let (b_tiles, noted) = rest.split_at(of_b);
        tiles(a_tiles, rows, inner, |row, k| a_here[row * inner + k])?;
        tiles(b_tiles, cols, inner, |col, k| b_here[k * cols + col])?;
        match noted == ranges.as_flattened() {
            true => Ok(()),
            false => Err(format!("the ranges are {noted:x?}, not {ranges:x?}")),
        }
    };
    let case = format!("split of {rows} x {inner} x {cols}, {cap:?}, {odd:?}");
    Job::new(case, plan, of_a + of_b + 2 * RANGE_WORDS, judge)
        .slice(&a)
        .slice(&b)
        .out(of_a)
        .out_from(4 * of_a, of_b)
        .out_from(4 * (of_a + of_b), 2 * RANGE_WORDS)
        .value(rows)
        .value(inner)
        .value(cols)
}

/// Each element's terms must add up to it and fall fast, and lie where the tensor cores look for
/// them; all else must be zero.
fn tiles(
    words: &[u32],
    rows: usize,
    inner: usize,
    element: impl Fn(usize, usize) -> f32,
) -> Result<(), String> {
    let across = inner.div_ceil(DEPTH);
    for row in 0..rows.next_multiple_of(SIDE) {
        for k in 0..inner.next_multiple_of(DEPTH) {
            let tile = &words[(row / SIDE * across + k / DEPTH) * TILE_WORDS..][..TILE_WORDS];
            // Rows of 64 bytes, whose pieces of 16 are exchanged by bits 1 and 2 of the row.
            let byte = row % SIDE * 64 + ((k % DEPTH * 2) ^ (row / 2 % 4) << 4);
            let terms = [0, 1, 2].map(|term| {
                let word = tile[term * TILE_WORDS / TERMS + byte / 4];
                let half = word >> (byte % 4 * 8) << 16;
                f64::from(f32::from_bits(half))
            });
            let x = match row < rows && k < inner {
                true => f64::from(element(row, k)),
                false => 0.0,
            };
            let fall = terms[1].abs() <= x.abs() / 256.0 && terms[2].abs() <= x.abs() / 65_536.0;
            if terms.iter().sum::<f64>() != x || !fall {
                return Err(format!("row {row}, position {k}: {terms:?} for {x}"));
            }
        }
    }
    Ok(())
}
