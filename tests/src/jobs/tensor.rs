//! What a product on tensor cores launches beside them: the split of the matrices, and the kernel
//! that computes what they leave out. No emulator launches these by itself.

use blockwise::{DeviceProperties, Type};
use blockwise_ops::matmul::{MATMUL, PIPELINED, Tiles, plan_split};
use blockwise_ops::operation::{self, Problem};
use blockwise_ops::{Options, oracle};
use kernels::matmul::split::{DEPTH, RANGE_WORDS, SIDE, TERMS, TILE_WORDS};

use super::{Job, within};
use crate::data::matrix;

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = vec![
        // Ragged in every direction, and one block for several tiles.
        job(on, (130, 41, 5), Some(1), [Some(LARGE), Some(SMALL)]),
        job(on, (5, 41, 130), Some(1), [Some(SMALL), Some(LARGE)]),
        job(on, (3, 70, 131), None, [None; 2]),
        job(on, (1, 1, 1), None, [None; 2]).with_spare_blocks([1, 1, 0]),
    ];
    jobs.extend(behind_tensor_cores(on));
    jobs
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
    let options = Options {
        grid_cap: cap,
        ..Options::default()
    };
    let problem = Problem::new(Type::F32, &[rows, inner, cols]);
    let plan = plan_split(&problem, &options, on)
        .unwrap_or_else(|error| panic!("{rows} x {inner} x {cols}: {error}"))
        .launch;
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

/// `pipelined` after the tensor cores: it computes what they leave out, and nothing else.
fn behind_tensor_cores(on: &DeviceProperties) -> impl Iterator<Item = Job> {
    Tiles::ALL.into_iter().flat_map(move |tiles| {
        let (rows, inner, cols) = (5, 9, 8);
        let (a, b) = (
            matrix::<f32>(31, rows, inner),
            matrix::<f32>(32, inner, cols),
        );
        let options = Options {
            instance: Some(tiles as u8),
            ..Options::of(&PIPELINED)
        };
        let problem = Problem::new(Type::F32, &[rows, inner, cols]);
        let plan = operation::plan(&MATMUL, &problem, &options, on);
        let plan = plan.expect("allowed").expect("outputs").launch;
        let usual = [u32::MAX; 4];
        let range = |smallest: f32, largest: f32| [smallest.to_bits(), !largest.to_bits()];
        let beyond = [range(1.0, f32::NAN), range(1.0, 1e30), range(1e-20, 1.0)];
        let beyond = beyond.map(|[smallest, largest]| [smallest, largest, u32::MAX, u32::MAX]);
        [usual].into_iter().chain(beyond).map(move |ranges| {
            let computed = within::<f32, _>(oracle::matmul::<f32>(a.view(), b.view()));
            let untouched = |c: &[f32]| c.iter().all(|c| c.to_bits() == u32::MAX);
            let judge = move |c: Vec<f32>| match ranges == usual {
                true if untouched(&c) => Ok(()),
                true => Err("something was written".to_owned()),
                false => computed(c),
            };
            let case = format!("{rows} x {inner} x {cols}, {tiles:?}, unless {ranges:x?}");
            let job = Job::new(case, plan, rows * cols, judge)
                .slice(a.as_slice().unwrap_or_default())
                .slice(b.as_slice().unwrap_or_default())
                .out(rows * cols);
            let job = job.value(rows).value(inner).value(cols);
            let job = match tiles {
                Tiles::Wide => job,
                // Two pitches, and one slice.
                Tiles::Tall | Tiles::Ragged => job.value(inner).value(cols).value(1),
            };
            // One matrix of A, and one product.
            job.value(1).value(1).slice(&ranges)
        })
    })
}
