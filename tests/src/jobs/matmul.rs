//! Matrix products.

use blockwise::DeviceProperties;
use blockwise_ops::matmul::{MatmulShape, plan, plan_fold};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::pitched::{self, plan_copy};
use blockwise_ops::{MatmulKernel, MatmulOptions};
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::policy::{self, Tiles};
use kernels::matmul::slices::{Cut, Slicing};
use kernels::number::Scalar;
use ndarray::{Array1, Array2, s};

use super::{Job, exact, within};
use crate::data::{Draw, matrix};

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let shapes = [
        ((33, 40, 18), Some(1)),
        ((18, 35, 33), None),
        ((5, 0, 7), None),
        ((1, 1, 1), None),
        // Every size of the groups in which the naive kernel walks along the inner dimension.
        ((3, 31, 5), None),
        // Tiles for one block that are cut on both sides, and a ring of stages that goes round.
        ((162, 41, 141), Some(1)),
        // A tile with all of its columns and few of its rows.
        ((5, 2, 128), None),
    ];
    let mut jobs = every_kernel(on, &shapes);
    // Likewise with columns that come in vectors.
    for (shape, grid_cap) in [
        ((5, 0, 8), None),
        ((4, 1, 4), None),
        ((162, 41, 260), Some(1)),
    ] {
        jobs.extend(pipelined(on, shape, grid_cap));
    }
    for (shape, slices, grid_cap) in [
        // Slices that are ragged, whole and empty; tiles that are cut, and a grid that strides over
        // both.
        ((67, 50, 36), 2, Some(1)),
        ((5, 40, 8), 7, None),
        ((130, 36, 66), 2, Some(1)),
        ((131, 33, 67), 2, None),
        ((64, 40, 12), 7, None),
        ((3, 0, 12), 2, None),
        ((64, 0, 12), 2, None),
    ] {
        jobs.extend(in_slices(on, shape, slices, grid_cap));
    }
    for (shape, slices, grid_cap) in [
        // Groups of loads of every size, rows of any length, and a grid that strides over rows and
        // slices.
        ((19, 2000, 1), 2, Some(1)),
        ((9, 1047, 1), 3, None),
        ((37, 347, 1), 2, Some(1)),
        ((9, 704, 1), 1, None),
        ((1, 1350, 40), 2, Some(1)),
        ((1, 301, 35), 3, None),
        ((1, 40, 35), 2, Some(1)),
        ((1, 0, 4), 2, None),
        ((4, 0, 1), 2, None),
        ((1, 70, 1), 1, None),
        // Rows of which a warp has two, or four.
        ((37, 200, 1), 1, Some(1)),
        ((21, 29, 1), 1, None),
    ] {
        jobs.extend(in_slices(on, shape, slices, grid_cap));
    }
    for (outputs, slices, blocks) in [
        // A pack more than a block has, a grid that strides, and groups of slices of every size.
        (260, 1, None),
        (132, 5, Some(1)),
        (520, 18, Some(1)),
        (4, 33, None),
        (4, 0, None),
    ] {
        jobs.push(fold::<f32>(on, outputs, slices, blocks));
        jobs.push(fold::<f64>(on, outputs, slices, blocks));
    }
    // Whole tiles only.
    let whole = every_kernel(on, &[((16, 32, 48), None)]);
    jobs.extend(whole.into_iter().map(|job| job.with_spare_blocks(2)));
    jobs.extend(behind_tensor_cores(on));
    for (shape, blocks) in [
        ((162, 41, 141), Some(1)),
        ((5, 0, 7), None),
        ((1, 1, 1), None),
    ] {
        jobs.push(of_copies(on, shape, blocks));
    }
    for (shape, blocks) in [
        ((3, 1025, 2), Some(1)),
        ((2, 3, 1031), Some(1)),
        ((5, 3, 1031), None),
        ((1, 8, 8), None),
        ((1, 1, 1), None),
    ] {
        jobs.extend(copies(on, shape, blocks));
    }
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let shapes = [
        (0, 3, 4),
        (4, 0, 4),
        (1, 1, 1),
        (15, 15, 15),
        (16, 16, 16),
        (17, 17, 17),
        (1, 67, 3),
        (41, 1, 37),
        (7, 32, 53),
    ];
    let capped = shapes.map(|shape| (shape, Some(1)));
    let mut jobs = every_kernel(on, &shapes.map(|shape| (shape, None)));
    jobs.extend(every_kernel(on, &capped));
    for shape in [(0, 3, 4), (3, 67, 4), (41, 1, 36), (130, 32, 52)] {
        jobs.extend(pipelined(on, shape, None));
    }
    for shape in shapes.into_iter().chain([
        (1, 65, 64),
        (1, 67, 33),
        (63, 68, 1),
        (9, 67, 1),
        (65, 34, 20),
    ]) {
        for slices in [1, 3] {
            jobs.extend(in_slices(on, shape, slices, None));
        }
    }
    for outputs in [4, 252, 256, 260, 2048] {
        for slices in [1, 3, 4, 5, 17] {
            jobs.push(fold::<f32>(on, outputs, slices, None));
            jobs.push(fold::<f64>(on, outputs, slices, Some(1)));
        }
    }
    for shape in shapes {
        if shape.0 > 0 && shape.2 > 0 {
            jobs.extend(copies(on, shape, None));
            jobs.push(of_copies(on, shape, None));
        }
    }
    jobs
}

type Shape = (usize, usize, usize);

/// Every kernel without slices.
fn every_kernel(on: &DeviceProperties, shapes: &[(Shape, Option<u32>)]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &(shape, grid_cap) in shapes {
        for kernel in [
            MatmulKernel::Naive,
            MatmulKernel::Tiled,
            MatmulKernel::TiledRaw,
            MatmulKernel::RegisterTile,
        ] {
            let options = MatmulOptions {
                kernel: Some(kernel),
                grid_cap,
                ..MatmulOptions::default()
            };
            jobs.extend(job::<f32>(on, shape, options));
            jobs.extend(job::<f64>(on, shape, options));
        }
        jobs.extend(pipelined(on, shape, grid_cap));
    }
    jobs
}

/// Every instance of `pipelined` that fits the shape.
fn pipelined(
    on: &DeviceProperties,
    shape: Shape,
    grid_cap: Option<u32>,
) -> impl Iterator<Item = Job> {
    let fit = Tiles::ALL
        .into_iter()
        .filter(move |tiles| tiles.fit(shape.2));
    fit.filter_map(move |tiles| {
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            grid_cap,
            tiles: Some(tiles),
            ..MatmulOptions::default()
        };
        job::<f32>(on, shape, options)
    })
}

/// Every kernel with slices that computes the shape.
fn in_slices(
    on: &DeviceProperties,
    shape: Shape,
    slices: usize,
    grid_cap: Option<u32>,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    let options = |kernel, cut| MatmulOptions {
        kernel: Some(kernel),
        grid_cap,
        slicing: Some(Slicing { cut, slices }),
        ..MatmulOptions::default()
    };
    for cut in Cut::ALL {
        jobs.extend(job::<f32>(on, shape, options(MatmulKernel::Sliced, cut)));
    }
    // The others have no cut.
    for mma in MmaTiles::ALL {
        let options = MatmulOptions {
            mma: Some(mma),
            ..options(MatmulKernel::Mma, Cut::Small)
        };
        jobs.extend(job::<f64>(on, shape, options));
    }
    let vector = options(MatmulKernel::Vector, Cut::Small);
    jobs.extend(job::<f32>(on, shape, vector));
    jobs.extend(job::<f64>(on, shape, vector));
    jobs
}

/// `None` when there is nothing to launch, or no such kernel.
fn job<T: Precision + Draw>(
    on: &DeviceProperties,
    (rows, inner, cols): Shape,
    options: MatmulOptions,
) -> Option<Job> {
    let shape = MatmulShape { rows, inner, cols };
    let kernel = options.kernel.filter(|kernel| kernel.takes::<T>(shape))?;
    let case = format!("{rows} x {inner} x {cols}, {options:?}");
    let plan = plan::<T>(shape, &options, on);
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"))?;
    let (a, b) = (matrix::<T>(31, rows, inner), matrix::<T>(32, inner, cols));
    let expected = oracle::matmul::<T>(a.view(), b.view());
    let slices = options.slicing.map_or(1, |slicing| slicing.slices);
    let outputs = slices * rows * cols;
    let judge = within::<T, _>(expected);
    let job = Job::new(case, plan, outputs, move |sums: Vec<T>| {
        let total = |output: usize| {
            let sums = sums.iter().skip(output).step_by(rows * cols);
            sums.fold(T::default(), |total, &sum| Scalar::add(total, sum))
        };
        judge((0..rows * cols).map(total).collect())
    });
    let (a, b) = (
        a.as_slice().unwrap_or_default(),
        b.as_slice().unwrap_or_default(),
    );
    let extents = |job: Job| job.value(rows).value(inner).value(cols);
    Some(match kernel {
        MatmulKernel::Pipelined => extents(job.slice(a).slice(b).out(outputs)).slice::<u32>(&[]),
        MatmulKernel::Sliced => extents(job.slice(a).slice(b).out(outputs))
            .value(cols)
            .value(slices),
        MatmulKernel::Mma | MatmulKernel::Vector => {
            extents(job.slice(a).slice(b).out(outputs)).value(slices)
        }
        MatmulKernel::TiledRaw => extents(job.slice(a).slice(b).output()),
        MatmulKernel::Naive | MatmulKernel::Tiled | MatmulKernel::RegisterTile => job
            .matrix(a, [rows, inner])
            .matrix(b, [inner, cols])
            .out_matrix([rows, cols]),
    })
}

/// The sum of slices.
fn fold<T: Precision + Draw>(
    on: &DeviceProperties,
    outputs: usize,
    slices: usize,
    blocks: Option<u32>,
) -> Job {
    let mut plan = plan_fold::<T>(outputs, on).expect("allowed");
    plan.grid[0] = blocks.unwrap_or(plan.grid[0]);
    let sums = matrix::<T>(33, slices, outputs);
    let ones = Array2::from_elem((1, slices), T::nearest(1.0));
    let expected = oracle::matmul::<T>(ones.view(), sums.view());
    let case = format!("{outputs} outputs in {slices} slices, {blocks:?}");
    Job::new(case, plan, outputs, within::<T, _>(expected))
        .slice(sums.as_slice().unwrap_or_default())
        .out(outputs)
        .value(slices)
}

/// The copies of both operands, one after the other. `None` when there is nothing to copy.
fn copies(on: &DeviceProperties, (rows, inner, cols): Shape, blocks: Option<u32>) -> Option<Job> {
    let (a, b) = (
        matrix::<f32>(31, rows, inner),
        matrix::<f32>(32, inner, cols),
    );
    let mut plan = plan_copy(MatmulShape { rows, inner, cols }, on).expect("allowed");
    for extent in &mut plan.grid[..2] {
        *extent = blocks.unwrap_or(*extent);
    }
    let copy_of_a = pitched_rows(&a);
    let of_a = copy_of_a.len();
    let expected = Array1::from([copy_of_a, pitched_rows(&b)].concat());
    let of_b = expected.len() - of_a;
    let case = format!("{rows} x {inner} x {cols}, copies, {blocks:?}");
    let job = Job::new(case, plan, expected.len(), exact(expected))
        .slice(a.as_slice().unwrap_or_default())
        .slice(b.as_slice().unwrap_or_default())
        .out(of_a)
        .out_from(of_a * size_of::<f32>(), of_b);
    (inner > 0).then(|| job.value(rows).value(inner).value(cols))
}

/// `pipelined` with operands that were copied.
fn of_copies(on: &DeviceProperties, (rows, inner, cols): Shape, blocks: Option<u32>) -> Job {
    let shape = MatmulShape { rows, inner, cols };
    let (a, b) = (
        matrix::<f32>(31, rows, inner),
        matrix::<f32>(32, inner, cols),
    );
    let mut plan = pitched::plan(shape, on).expect("allowed");
    plan.grid[0] = blocks.unwrap_or(plan.grid[0]);
    let expected = oracle::matmul::<f32>(a.view(), b.view());
    let case = format!("{rows} x {inner} x {cols}, of copies, {blocks:?}");
    let job = Job::new(case, plan, rows * cols, within::<f32, _>(expected))
        .slice(&pitched_rows(&a))
        .slice(&pitched_rows(&b))
        .out(rows * cols);
    job.value(rows).value(inner).value(cols)
}

/// A matrix whose rows are filled up with zeros.
fn pitched_rows(matrix: &Array2<f32>) -> Vec<f32> {
    let (rows, cols) = matrix.dim();
    let mut pitched = Array2::zeros((rows, policy::pitch(cols)));
    pitched.slice_mut(s![.., ..cols]).assign(matrix);
    pitched.into_raw_vec_and_offset().0
}

/// `pipelined` after the tensor cores: it computes what they leave out, and nothing else.
fn behind_tensor_cores(on: &DeviceProperties) -> impl Iterator<Item = Job> {
    Tiles::ALL.into_iter().flat_map(move |tiles| {
        let (rows, inner, cols) = (5, 9, 8);
        let (a, b) = (
            matrix::<f32>(31, rows, inner),
            matrix::<f32>(32, inner, cols),
        );
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            tiles: Some(tiles),
            ..MatmulOptions::default()
        };
        let plan = plan::<f32>(MatmulShape { rows, inner, cols }, &options, on);
        let plan = plan.expect("allowed").expect("outputs");
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
            job.slice(&ranges)
        })
    })
}
