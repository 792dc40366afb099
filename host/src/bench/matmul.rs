//! Matrix products.

use std::iter;
use std::marker::PhantomData;

use blockwise::{Buffer, Device, DeviceProperties};
use blockwise_ops::matmul;
use blockwise_ops::oracle::{Precision, Sum};
use blockwise_ops::{
    Float, Matmul, MatmulKernel, MatmulOptions, MatmulShape, PitchedMatmul, TensorMatmul,
};
use kernels::matmul::mma::MmaTiles;
use kernels::matmul::policy::{Policy, Tiles};
use kernels::matmul::slices::{Cut, Slicing};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;

use super::search::{CHOICE, Search, distinct};
use super::work::{Candidate, DEFAULT, rungs};
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Random, Size, Sizes, Work};

/// The table: rows, inner extent, columns; of f32, then of f64.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let table = |standard: &[[usize; 3]]| sizes.pick(true, &[[1024; 3]], standard);
    let singles = table(&[
        [2048; 3],
        [4096; 3],
        [8192; 3],
        [4093, 4099, 4111],
        [512; 3],
        [1536; 3],
        [64, 4096, 4096],
        [600, 4099, 601],
        [128, 8192, 128],
        [256, 65536, 256],
        [1, 4096, 4096],
        [4096, 4096, 1],
    ]);
    let doubles = table(&[
        [1024; 3],
        [2048; 3],
        [4096; 3],
        [8192; 3],
        [1, 4096, 4096],
        [4096, 4096, 1],
    ]);
    let singles = singles.into_iter().map(|size| {
        let mut candidates = ladder::<f32>(size);
        if size.iter().all(|&extent| extent > 1) {
            candidates.push(Candidate::new(Product::Tensor, "tensor", "3 BF16 terms"));
        }
        if pitched(size) {
            candidates.push(Candidate::new(Product::Pitched, "pitched", ""));
        }
        work::<f32>(size, &candidates)
    });
    let doubles = doubles.into_iter().map(|size| {
        let mut candidates = ladder::<f64>(size);
        if candidates
            .iter()
            .any(|it| it.name == MatmulKernel::Mma.name())
        {
            candidates.extend(MmaTiles::ALL.map(tiles_of_mma));
        }
        work::<f64>(size, &candidates)
    });
    singles.chain(doubles).collect()
}

/// The launcher's choice, and every kernel that computes such products.
fn ladder<T: Float>(size: [usize; 3]) -> Vec<Candidate<Product>> {
    let [rows, inner, cols] = size;
    let shape = MatmulShape { rows, inner, cols };
    let default = Candidate::new(Product::By(MatmulOptions::default()), DEFAULT, CHOICE);
    let kernels = MatmulKernel::ALL.iter();
    let kernels = kernels.filter(|kernel| kernel.takes::<T>(shape));
    let kernels = kernels.map(|&kernel| Candidate::new(Product::By(of(kernel)), kernel, ""));
    iter::once(default).chain(kernels).collect()
}

/// `mma` with these tiles, in as many slices as the launcher takes for its own choice of tiles.
fn tiles_of_mma(tiles: MmaTiles) -> Candidate<Product> {
    let options = MatmulOptions {
        mma: Some(tiles),
        ..of(MatmulKernel::Mma)
    };
    let name = format!("mma-{tiles:?}").to_lowercase();
    Candidate::new(Product::By(options), name, described(&tiles.policy(true)))
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

/// The launcher's choice and others: the kernels for small products, the instances of `pipelined`,
/// with a block for each tile or with few blocks that stay, and those of `sliced` with several
/// numbers of slices.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let search = |size: [usize; 3]| {
        let [rows, inner, cols] = size;
        let shape = MatmulShape { rows, inner, cols };
        // With the tiles and slices that they choose themselves.
        let own = |kernel| Candidate::new(of(kernel), kernel, "");
        let mut whole = [
            MatmulKernel::Naive,
            MatmulKernel::Tiled,
            MatmulKernel::RegisterTile,
            MatmulKernel::Pipelined,
        ]
        .map(own)
        .to_vec();
        for tiles in Tiles::ALL {
            for each in [None, Some(2), Some(3), Some(4)] {
                let options = MatmulOptions {
                    tiles: Some(tiles),
                    grid_cap: each.map(|each| each * properties.multiprocessors_to_fill()),
                    ..of(MatmulKernel::Pipelined)
                };
                let blocks = each.map_or_else(String::new, |each| {
                    format!(", {each} blocks a multiprocessor")
                });
                let policy = format!("{tiles:?}: {}", described(&tiles.policy())) + &blocks;
                whole.push(Candidate::new(options, MatmulKernel::Pipelined, policy));
            }
        }
        distinct(&mut whole, |candidate| {
            let planned = matmul::plan::<f32>(shape, &candidate.options, properties);
            planned.ok().flatten()
        });
        let mut in_slices = vec![own(MatmulKernel::Sliced)];
        for cut in Cut::ALL {
            for slices in SLICES
                .into_iter()
                .filter(|slices| 32 * slices <= inner.max(32))
            {
                let options = MatmulOptions {
                    slicing: Some(Slicing { cut, slices }),
                    ..of(MatmulKernel::Sliced)
                };
                let policy = described(&cut.policy(true));
                let policy = format!("{cut:?}: {policy}, {slices} slices");
                in_slices.push(Candidate::new(options, MatmulKernel::Sliced, policy));
            }
        }
        let default = Candidate::new(MatmulOptions::default(), DEFAULT, CHOICE);
        let by = |candidate: Candidate<MatmulOptions>| {
            Candidate::new(
                Product::By(candidate.options),
                candidate.name,
                candidate.policy,
            )
        };
        let all = iter::once(default).chain(whole).chain(in_slices);
        let candidates: Vec<_> = all.map(by).collect();
        Search {
            work: work::<f32>(size, &candidates),
            place: "crates/blockwise_ops/src/matmul/choice.rs or kernels/src/matmul/policy.rs",
        }
    };
    let standard = [[2048; 3], [4096; 3], [8192; 3], [4093, 4099, 4111]];
    let sizes = sizes.pick(true, &[[1024; 3]], &standard);
    sizes.into_iter().map(search).collect()
}

/// Slices that are compared.
const SLICES: [usize; 6] = [1, 2, 4, 8, 16, 64];

fn described(policy: &Policy) -> String {
    let Policy {
        rows,
        cols,
        inner,
        stages,
        ..
    } = policy;
    format!("{rows} x {cols} x {inner}, {stages} stages")
}

fn work<T: Random + Precision>(
    [rows, inner, cols]: [usize; 3],
    candidates: &[Candidate<Product>],
) -> Work {
    Work {
        operation: "matmul",
        ty: T::NAME,
        size: Size(vec![rows, inner, cols]),
        bytes: ((rows * inner + inner * cols + rows * cols) * size_of::<T>()) as u64,
        operations: 2 * (rows * inner * cols) as u64,
        rungs: rungs(candidates, Candidate::described),
        problem: Box::new(Products::<T> {
            shape: MatmulShape { rows, inner, cols },
            candidates: candidates
                .iter()
                .map(|candidate| candidate.options)
                .collect(),
            ty: PhantomData,
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

struct Products<T> {
    shape: MatmulShape,
    candidates: Vec<Product>,
    ty: PhantomData<T>,
}

struct Copy<T: Float> {
    a: Buffer<T>,
    b: Buffer<T>,
    c: Buffer<T>,
    /// The oracle's sums: whole rows, and whole columns.
    rows: Vec<(usize, Vec<Sum>)>,
    cols: Vec<(usize, Vec<Sum>)>,
}

struct OnDevice<'a, T: Float> {
    device: &'a Device,
    problem: &'a Products<T>,
    candidate: Option<Selected<T>>,
    copies: Vec<Copy<T>>,
}

/// A way with the memory that it needs.
enum Selected<T: Float> {
    By(Matmul<T>),
    Pitched(PitchedMatmul<T>),
    Tensor(TensorMatmul),
}

/// Rows that the oracle computes, and columns.
const SAMPLED: usize = 8;

impl<T: Random + Precision> Problem for Products<T> {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let MatmulShape { rows, inner, cols } = self.shape;
        let mut sets = Vec::new();
        for _ in 0..copies {
            let a_here = inputs.take::<T>(Kind::Uniform, rows * inner)?;
            let b_here = inputs.take::<T>(Kind::Uniform, inner * cols)?;
            let mut rng = StdRng::seed_from_u64(inputs.number());
            sets.push(Copy {
                a: device.upload(&a_here)?,
                b: device.upload(&b_here)?,
                c: device.zeros(rows * cols)?,
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
            candidate: None,
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

fn row_of<T: Precision>(a: &[T], b: &[T], row: usize, shape: MatmulShape) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); shape.cols];
    let a = &a[row * shape.inner..][..shape.inner];
    for (&a, b) in a.iter().zip(b.chunks_exact(shape.cols)) {
        for (sum, &b) in sums.iter_mut().zip(b) {
            sum.add(a.into(), b.into());
        }
    }
    sums
}

fn col_of<T: Precision>(a: &[T], b: &[T], col: usize, shape: MatmulShape) -> Vec<Sum> {
    let b: Vec<T> = b.iter().skip(col).step_by(shape.cols).copied().collect();
    let row = |a: &[T]| {
        let mut sum = Sum::default();
        for (&a, &b) in a.iter().zip(&b) {
            sum.add(a.into(), b.into());
        }
        sum
    };
    a.par_chunks_exact(shape.inner).map(row).collect()
}

impl<T: Random + Precision> Loaded for OnDevice<'_, T> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        let (device, shape) = (self.device, self.problem.shape);
        self.candidate = Some(match &self.problem.candidates[rung] {
            Product::By(options) => Selected::By(Matmul::new(device, shape, options)?),
            Product::Pitched => Selected::Pitched(PitchedMatmul::new(device, shape)?),
            Product::Tensor => Selected::Tensor(TensorMatmul::new(device, shape)?),
        });
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
        match &mut self.candidate {
            None => {}
            Some(Selected::By(product)) => {
                product.enqueue(None, a, b, c)?;
            }
            Some(Selected::Pitched(product)) => {
                product.enqueue(None, a, b, c)?;
            }
            Some(Selected::Tensor(product)) => {
                let (a, b) = (a.as_view().cast()?, b.as_view().cast()?);
                product.enqueue(None, a, b, c.as_view_mut().cast()?)?;
            }
        }
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let cols = self.problem.shape.cols;
        let c = copy.c.to_vec()?;
        // The inputs are finite: a NaN was not written.
        let unwritten = c.par_iter().filter(|&&value| value.into().is_nan()).count() as u64;
        let how = format!("{SAMPLED} rows and {SAMPLED} columns, all written");
        let mut check = Check::exact(how, unwritten);
        let mut compare = |value: T, sum: &Sum| {
            check.element(value, sum.value(), sum.tolerance::<T>());
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
