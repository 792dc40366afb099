//! Transposes and reversals.

use blockwise::DeviceProperties;
use blockwise_ops::compare::ToNumber;
use blockwise_ops::{
    Element, ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions, oracle, reverse,
    transpose,
};

use kernels::transpose::aligned::Tile;

use super::{Job, exact};
use crate::data::{Draw, matrix, vector};

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = transposes(on, &[((40, 70), Some(1)), ((33, 65), None), ((1, 1), None)]);
    // Whole tiles only.
    let whole = transposes(on, &[((64, 32), None)]);
    jobs.extend(whole.into_iter().map(|job| job.with_spare_blocks(2)));
    jobs.extend(aligned(on, (203, 141), None));
    jobs.extend(aligned(on, (144, 270), Some(1)));
    for (shape, grid_cap) in [
        ((37, 150), None),
        ((150, 37), Some(1)),
        ((131, 140), Some(1)),
        // Whole tiles only, and tiles with 1 to 5 elements for a thread.
        ((128, 192), Some(1)),
        ((100, 3), None),
        ((130, 7), None),
        ((130, 9), None),
    ] {
        jobs.extend(of(on, TransposeKernel::Thin, shape, grid_cap));
    }
    for (shape, grid_cap) in [
        ((136, 140), Some(1)),
        ((76, 268), Some(1)),
        ((268, 76), Some(1)),
        ((4, 60), None),
        ((20, 32), None),
        ((60, 12), None),
    ] {
        jobs.extend(of(on, TransposeKernel::Quads, shape, grid_cap));
    }
    // Blocks beyond the edge tiles.
    let edges = of(on, TransposeKernel::Quads, (132, 196), None);
    jobs.extend(edges.into_iter().map(|job| job.with_spare_blocks(2)));
    for (shape, grid_cap) in [((139, 381), None), ((201, 131), Some(1))] {
        jobs.extend(of(on, TransposeKernel::Packs, shape, grid_cap));
    }
    jobs.extend(instance(on, (137, 70), Some(1), Tile::Narrow));
    let whole = aligned(on, (128, 128), None);
    jobs.extend(whole.into_iter().map(|job| job.with_spare_blocks(2)));
    jobs.extend(reversals(
        on,
        &[
            (2100, None, Some(2)),
            (150, Some(64), None),
            (1, None, None),
        ],
    ));
    let whole = reversals(on, &[(512, None, None)]);
    jobs.extend(whole.into_iter().map(|job| job.with_spare_blocks(1)));
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let shapes = [
        (0, 5),
        (1, 1),
        (1, 97),
        (31, 31),
        (32, 32),
        (33, 33),
        (97, 1),
        (13, 71),
    ];
    let mut jobs = transposes(on, &shapes.map(|shape| (shape, None)));
    jobs.extend(transposes(on, &shapes.map(|shape| (shape, Some(1)))));
    for shape in [(63, 127), (64, 64), (65, 129), (137, 128), (200, 257)] {
        jobs.extend(aligned(on, shape, None));
        jobs.extend(instance(on, shape, None, Tile::Narrow));
        jobs.extend(aligned(on, shape, Some(1)));
    }
    for shape in [
        (127, 300),
        (300, 128),
        (129, 200),
        (200, 129),
        (3, 1000),
        (1000, 3),
    ] {
        jobs.extend(of(on, TransposeKernel::Thin, shape, None));
        jobs.extend(of(on, TransposeKernel::Thin, shape, Some(1)));
    }
    for shape in [
        (4, 4),
        (4, 1000),
        (1000, 4),
        (124, 132),
        (128, 300),
        (132, 64),
        (192, 256),
    ] {
        jobs.extend(of(on, TransposeKernel::Quads, shape, None));
        jobs.extend(of(on, TransposeKernel::Quads, shape, Some(1)));
    }
    for shape in [(63, 125), (121, 253), (128, 248), (135, 127), (200, 259)] {
        jobs.extend(of(on, TransposeKernel::Packs, shape, None));
        jobs.extend(of(on, TransposeKernel::Packs, shape, Some(1)));
    }
    for len in [0, 1, 2, 255, 256, 257, 509, 1031] {
        jobs.extend(reversals(
            on,
            &[
                (len, None, None),
                (len, None, Some(2)),
                (len, Some(33), None),
            ],
        ));
    }
    jobs
}

fn transposes(on: &DeviceProperties, cases: &[((usize, usize), Option<u32>)]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &(shape, grid_cap) in cases {
        for &kernel in TransposeKernel::ALL {
            let options = TransposeOptions {
                kernel: Some(kernel),
                grid_cap,
                ..TransposeOptions::default()
            };
            jobs.extend(transposed::<u32>(on, shape, options));
            jobs.extend(transposed::<u64>(on, shape, options));
        }
    }
    jobs
}

/// The kernel with the largest tiles.
fn aligned(on: &DeviceProperties, shape: (usize, usize), grid_cap: Option<u32>) -> Vec<Job> {
    instance(on, shape, grid_cap, Tile::Wide)
}

/// A kernel's jobs.
fn of(
    on: &DeviceProperties,
    kernel: TransposeKernel,
    shape: (usize, usize),
    grid_cap: Option<u32>,
) -> Vec<Job> {
    let options = TransposeOptions {
        kernel: Some(kernel),
        grid_cap,
        tile: None,
    };
    let jobs = [
        transposed::<u32>(on, shape, options),
        transposed::<u64>(on, shape, options),
    ];
    jobs.into_iter().flatten().collect()
}

/// One of its instances.
fn instance(
    on: &DeviceProperties,
    shape: (usize, usize),
    grid_cap: Option<u32>,
    tile: Tile,
) -> Vec<Job> {
    let options = TransposeOptions {
        kernel: Some(TransposeKernel::Aligned),
        grid_cap,
        tile: Some(tile),
    };
    let jobs = [
        transposed::<u32>(on, shape, options),
        transposed::<u64>(on, shape, options),
    ];
    jobs.into_iter().flatten().collect()
}

/// `None` when there is nothing to launch.
fn transposed<T: Element + Draw + ToNumber>(
    on: &DeviceProperties,
    (rows, cols): (usize, usize),
    options: TransposeOptions,
) -> Option<Job> {
    let case = format!("{rows} x {cols}, {options:?}");
    let plan = transpose::plan::<T>(rows, cols, &options, on);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
    let input = matrix::<T>(41, rows, cols);
    let expected = oracle::transpose(input.view());
    let job = Job::new(case, plan, rows * cols, exact(expected));
    let input = input.as_slice().unwrap_or_default();
    let signature = transpose::signature::<T>(options.kernel?);
    if signature.contains("OutMatrix<") {
        return Some(job.matrix(input, [rows, cols]).out_matrix([rows, cols]));
    }
    let job = match signature.contains("Out<") {
        true => job.slice(input).out(rows * cols),
        false => job.slice(input).output(),
    };
    Some(job.value(rows).value(cols))
}

/// The kernels whose block is fixed.
const FIXED_BLOCK: [ReverseKernel; 2] = [ReverseKernel::Static, ReverseKernel::StaticRaw];

/// Length, threads and blocks. The kernels with a fixed block take their own number of threads
/// only.
fn reversals(on: &DeviceProperties, cases: &[(usize, Option<u32>, Option<u32>)]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &(len, threads, grid_cap) in cases {
        for &kernel in ReverseKernel::ALL {
            if FIXED_BLOCK.contains(&kernel) && threads.is_some() {
                continue;
            }
            let options = ReverseOptions {
                kernel,
                threads,
                grid_cap,
            };
            jobs.extend(reversed::<u32>(on, len, options));
            jobs.extend(reversed::<u64>(on, len, options));
        }
    }
    jobs
}

/// `None` when there is nothing to launch.
fn reversed<T: Element + Draw + ToNumber>(
    on: &DeviceProperties,
    len: usize,
    options: ReverseOptions,
) -> Option<Job> {
    let case = format!("{len}, {options:?}");
    let plan = reverse::plan::<T>(len, &options, on);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
    let input = vector::<T>(42, len);
    let expected = oracle::reverse(input.view());
    let job = Job::new(case, plan, len, exact(expected));
    let job = match options.kernel {
        ReverseKernel::Dynamic => job.shared::<T>(),
        _ => job,
    };
    let job = job.slice(input.as_slice().unwrap_or_default());
    Some(match options.kernel {
        ReverseKernel::StaticRaw | ReverseKernel::DynamicRaw => job.output(),
        _ => job.out(len),
    })
}
