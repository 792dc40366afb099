//! Matrix products.

use blockwise::{Buffer, Device, DeviceProperties};
use blockwise_ops::matmul;
use blockwise_ops::oracle::Sum;
use blockwise_ops::{MatmulKernel, MatmulOptions, MatmulShape, PitchedMatmul, TensorMatmul};
use kernels::matmul::policy::{Policy, Tiles};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;

use super::tune::{self, Search};
use super::work::{Way, rungs};
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Size, Sizes, Work};

/// The table: rows, inner extent, columns.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let kernels = MatmulKernel::ALL.iter();
    let kernels = kernels.map(|&kernel| Way::new(Product::By(of(kernel)), kernel, ""));
    let tensor = Way::new(Product::Tensor, "tensor", "3 BF16 terms");
    let ways: Vec<_> = kernels.chain([tensor]).collect();
    let shapes = shapes(sizes).into_iter();
    let work = |shape| {
        let pitched = pitched(shape).then(|| Way::new(Product::Pitched, "pitched", ""));
        let ways: Vec<_> = ways.iter().cloned().chain(pitched).collect();
        work(shape, &ways)
    };
    shapes.map(work).collect()
}

fn shapes(sizes: &Sizes) -> Vec<[usize; 3]> {
    let standard = [[2048; 3], [4096; 3], [8192; 3], [4093, 4099, 4111]];
    sizes.pick(true, &[[1024; 3]], &standard)
}

/// Whether the launcher copies the operands of such a product first.
fn pitched([rows, inner, cols]: [usize; 3]) -> bool {
    PitchedMatmul::<f32>::pays(MatmulShape { rows, inner, cols })
}

fn of(kernel: MatmulKernel) -> MatmulOptions {
    MatmulOptions {
        kernel: Some(kernel),
        ..MatmulOptions::default()
    }
}

/// The launcher's choice and others: the kernels for small products, and the instances of `pipelined`, with a block for each tile or with
/// few blocks that stay.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let search = |[rows, inner, cols]: [usize; 3]| {
        let shape = MatmulShape { rows, inner, cols };
        let plan = |options: &MatmulOptions| {
            matmul::plan::<f32>(shape, options, properties)
                .ok()
                .flatten()
        };
        let choice = MatmulOptions::default();
        let name = plan(&choice).map_or("", |plan| plan.kernel);
        let copied = pitched([rows, inner, cols]);
        let policy = if copied {
            "without copies"
        } else {
            tune::CHOICE
        };
        let mut ways = vec![Way::new(choice, name, policy)];
        for kernel in [MatmulKernel::Tiled, MatmulKernel::RegisterTile] {
            ways.push(Way::new(of(kernel), kernel, ""));
        }
        for tiles in Tiles::ALL {
            let Policy {
                rows,
                cols,
                inner,
                stages,
                ..
            } = tiles.policy();
            let policy = format!("{tiles:?}: {rows} x {cols} x {inner}, {stages} stages");
            for each in [None, Some(2), Some(3), Some(4)] {
                let options = MatmulOptions {
                    tiles: Some(tiles),
                    grid_cap: each.map(|each| each * properties.multiprocessors_to_fill()),
                    ..of(MatmulKernel::Pipelined)
                };
                let blocks = each.map_or_else(String::new, |each| {
                    format!(", {each} blocks a multiprocessor")
                });
                ways.push(Way::new(
                    options,
                    MatmulKernel::Pipelined,
                    policy.clone() + &blocks,
                ));
            }
        }
        tune::distinct(&mut ways, |way| plan(&way.options));
        let by = |way: Way<MatmulOptions>| Way::new(Product::By(way.options), way.name, way.policy);
        let pitched = copied.then(|| Way::new(Product::Pitched, "pitched", tune::CHOICE));
        let ways: Vec<_> = pitched
            .into_iter()
            .chain(ways.into_iter().map(by))
            .collect();
        Search {
            work: work([rows, inner, cols], &ways),
            place: "crates/blockwise_ops/src/matmul/plan.rs (kernel, tiles) or kernels/src/matmul/policy.rs",
        }
    };
    shapes(sizes).into_iter().map(search).collect()
}

fn work([rows, inner, cols]: [usize; 3], ways: &[Way<Product>]) -> Work {
    Work {
        operation: "matmul",
        ty: "f32",
        size: Size(vec![rows, inner, cols]),
        bytes: ((rows * inner + inner * cols + rows * cols) * size_of::<f32>()) as u64,
        operations: 2 * (rows * inner * cols) as u64,
        rungs: rungs(ways, Way::described),
        problem: Box::new(Products {
            shape: MatmulShape { rows, inner, cols },
            ways: ways.iter().map(|way| way.options).collect(),
        }),
    }
}

/// How a product is computed.
#[derive(Clone, Copy)]
enum Product {
    By(MatmulOptions),
    /// With copies of the operands, which are made each time.
    Pitched,
    /// On tensor cores, from the split of the operands on.
    Tensor,
}

struct Products {
    shape: MatmulShape,
    ways: Vec<Product>,
}

struct Copy {
    a: Buffer<f32>,
    b: Buffer<f32>,
    c: Buffer<f32>,
    /// The oracle's sums: whole rows, and whole columns.
    rows: Vec<(usize, Vec<Sum>)>,
    cols: Vec<(usize, Vec<Sum>)>,
}

struct OnDevice<'a> {
    device: &'a Device,
    problem: &'a Products,
    way: Selected,
    copies: Vec<Copy>,
}

/// A way with the memory that it needs.
enum Selected {
    Kernel(MatmulOptions),
    Pitched(PitchedMatmul<f32>),
    Tensor(TensorMatmul),
}

/// Rows that the oracle computes, and columns.
const SAMPLED: usize = 8;

impl Problem for Products {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let MatmulShape { rows, inner, cols } = self.shape;
        let mut sets = Vec::new();
        for _ in 0..copies {
            let a_here = inputs.take::<f32>(Kind::Uniform, rows * inner);
            let b_here = inputs.take::<f32>(Kind::Uniform, inner * cols);
            let mut rng = StdRng::seed_from_u64(inputs.number());
            sets.push(Copy {
                a: device.upload(&a_here)?,
                b: device.upload(&b_here)?,
                c: device.alloc(rows * cols)?,
                rows: chosen(rows, &mut rng)
                    .into_par_iter()
                    .map(|row| (row, row_of(&a_here, &b_here, row, self.shape)))
                    .collect(),
                cols: chosen(cols, &mut rng)
                    .into_iter()
                    .map(|col| (col, col_of(&a_here, &b_here, col, self.shape)))
                    .collect(),
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            way: Selected::Kernel(MatmulOptions::default()),
            copies: sets,
        }))
    }
}

/// The first, the last and some others.
fn chosen(extent: usize, rng: &mut StdRng) -> Vec<usize> {
    let mut chosen = vec![0, extent - 1];
    chosen.extend((2..SAMPLED).map(|_| rng.random_range(0..extent)));
    chosen
}

fn row_of(a: &[f32], b: &[f32], row: usize, shape: MatmulShape) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); shape.cols];
    let a = &a[row * shape.inner..][..shape.inner];
    for (&a, b) in a.iter().zip(b.chunks_exact(shape.cols)) {
        for (sum, &b) in sums.iter_mut().zip(b) {
            sum.add(a.into(), b.into());
        }
    }
    sums
}

fn col_of(a: &[f32], b: &[f32], col: usize, shape: MatmulShape) -> Vec<Sum> {
    let b: Vec<f32> = b.iter().skip(col).step_by(shape.cols).copied().collect();
    let row = |a: &[f32]| {
        let mut sum = Sum::default();
        for (&a, &b) in a.iter().zip(&b) {
            sum.add(a.into(), b.into());
        }
        sum
    };
    a.par_chunks_exact(shape.inner).map(row).collect()
}

impl Loaded for OnDevice<'_> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        self.way = match self.problem.ways[rung] {
            Product::By(options) => Selected::Kernel(options),
            Product::Pitched => {
                Selected::Pitched(PitchedMatmul::new(self.device, self.problem.shape)?)
            }
            Product::Tensor => {
                Selected::Tensor(TensorMatmul::new(self.device, self.problem.shape)?)
            }
        };
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.c.fill_bytes(0xFF)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let copy = &mut self.copies[copy];
        let (a, b, c) = (&copy.a, &copy.b, &mut copy.c);
        match &mut self.way {
            Selected::Kernel(options) => {
                matmul::enqueue(self.device, None, a, b, c, self.problem.shape, options)?;
            }
            Selected::Pitched(product) => product.enqueue(None, a, b, c)?,
            Selected::Tensor(product) => product.enqueue(None, a, b, c)?,
        }
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let cols = self.problem.shape.cols;
        let c = copy.c.to_vec()?;
        // The inputs are finite: a NaN was not written.
        let unwritten = c.par_iter().filter(|value| value.is_nan()).count() as u64;
        let how = format!("{SAMPLED} rows and {SAMPLED} columns, all written");
        let mut check = Check::exact(how, unwritten);
        let mut compare = |value: f32, sum: &Sum| {
            check.element(value, sum.value(), sum.tolerance::<f32>());
        };
        for (row, sums) in &copy.rows {
            for (&value, sum) in c[row * cols..].iter().zip(sums) {
                compare(value, sum);
            }
        }
        for (col, sums) in &copy.cols {
            for (&value, sum) in c.iter().skip(*col).step_by(cols).zip(sums) {
                compare(value, sum);
            }
        }
        Ok(check)
    }
}
