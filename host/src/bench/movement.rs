//! Transposes and reversals.

use std::iter;
use std::marker::PhantomData;

use blockwise::{Buffer, Device, DeviceProperties};
use blockwise_ops::{
    Element, ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions, reverse, transpose,
};
use kernels::transpose::aligned::{self, Tile};
use rayon::prelude::*;

use super::search::{CHOICE, Search, distinct};
use super::work::{Candidate, DEFAULT, rungs};
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Random, Size, Sizes, Window, Work};

/// The table.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let mut works = Vec::new();
    let default = Candidate::new(TransposeOptions::default(), DEFAULT, CHOICE);
    let others = TransposeKernel::ALL.iter();
    let others = others.map(|&kernel| Candidate::new(of(kernel), kernel, ""));
    let every: Vec<_> = iter::once(default.clone()).chain(others).collect();
    // Of other types what a caller gets, and every kernel at sizes that were asked for.
    let of_others = match sizes {
        Sizes::Given(_) => every.clone(),
        _ => vec![default],
    };
    for shape in matrices(sizes) {
        works.push(work::<_, f32>("transpose", shape.to_vec(), every.clone()));
    }
    for shape in sizes.pick(true, &[], &[[8192, 8192], [8191, 8209], [100, 1_000_000]]) {
        let candidates = of_others.clone();
        works.push(work::<_, f64>("transpose", shape.to_vec(), candidates));
    }
    let default = Candidate::new(ReverseOptions::default(), DEFAULT, CHOICE);
    let others = ReverseKernel::ALL.iter().map(|&kernel| {
        let options = ReverseOptions {
            kernel,
            ..ReverseOptions::default()
        };
        Candidate::new(options, kernel, "")
    });
    let every: Vec<_> = iter::once(default).chain(others).collect();
    for [len] in sizes.pick(false, &[[1 << 24]], &[[1 << 28]]) {
        works.push(work::<_, f32>("reverse", vec![len], every.clone()));
    }
    works
}

fn matrices(sizes: &Sizes) -> Vec<[usize; 2]> {
    let standard = [
        [16_384, 16_384],
        [16_381, 16_411],
        [1000, 1000],
        [100, 1_000_000],
        [1_000_000, 100],
    ];
    sizes.pick(true, &[[4096, 4096]], &standard)
}

fn of(kernel: TransposeKernel) -> TransposeOptions {
    TransposeOptions {
        kernel: Some(kernel),
        ..TransposeOptions::default()
    }
}

/// The launcher's choice and others: the other kernels, and the instances of `aligned`, with a
/// block for each tile or with few blocks that stay.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let search = |shape: [usize; 2]| {
        let choice = TransposeOptions::default();
        let mut candidates = vec![Candidate::new(choice, DEFAULT, CHOICE)];
        for tile in Tile::ALL {
            let policy = format!(
                "{} x {}, {} threads",
                aligned::ROWS,
                tile.cols::<f32>(),
                tile.threads()
            );
            for cap in [None, Some(16), Some(32), Some(64)] {
                let options = TransposeOptions {
                    tile: Some(tile),
                    grid_cap: cap,
                    ..of(TransposeKernel::Aligned)
                };
                let blocks =
                    cap.map_or_else(String::new, |cap| format!(", at most {cap} x {cap} blocks"));
                candidates.push(Candidate::new(
                    options,
                    TransposeKernel::Aligned,
                    policy.clone() + &blocks,
                ));
            }
        }
        for kernel in [
            TransposeKernel::Quads,
            TransposeKernel::Thin,
            TransposeKernel::Padded,
            TransposeKernel::Tiled,
            TransposeKernel::Naive,
        ] {
            candidates.push(Candidate::new(of(kernel), kernel, ""));
        }
        let [rows, cols] = shape;
        let plan =
            |options: &TransposeOptions| transpose::plan::<f32>(rows, cols, options, properties);
        distinct(&mut candidates, |candidate| {
            plan(&candidate.options).ok().flatten()
        });
        Search {
            work: work::<_, f32>("transpose", shape.to_vec(), candidates),
            place: "crates/blockwise_ops/src/transpose.rs",
        }
    };
    matrices(sizes).into_iter().map(search).collect()
}

fn work<M: Moves + 'static, T: Random + PartialEq>(
    operation: &'static str,
    extents: Vec<usize>,
    candidates: Vec<Candidate<M>>,
) -> Work {
    let len: usize = extents.iter().product();
    Work {
        operation,
        ty: T::NAME,
        bytes: 2 * (len * size_of::<T>()) as u64,
        operations: 0,
        rungs: rungs(&candidates, Candidate::described),
        problem: Box::new(Movement::<M, T> {
            element: PhantomData,
            extents: extents.clone(),
            candidates: candidates
                .into_iter()
                .map(|candidate| candidate.options)
                .collect(),
        }),
        size: Size(extents),
    }
}

/// A way to move the elements of an array to other places.
trait Moves {
    fn enqueue<T: Element>(
        &self,
        device: &Device,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
        extents: &[usize],
    ) -> Result<(), BenchError>;

    /// Where the element that ends up at `at` comes from.
    fn origin(at: usize, extents: &[usize]) -> usize;
}

impl Moves for TransposeOptions {
    fn enqueue<T: Element>(
        &self,
        device: &Device,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
        extents: &[usize],
    ) -> Result<(), BenchError> {
        transpose::enqueue(device, None, from, to, extents[0], extents[1], self)?;
        Ok(())
    }

    fn origin(at: usize, extents: &[usize]) -> usize {
        let (col, row) = (at / extents[0], at % extents[0]);
        row * extents[1] + col
    }
}

impl Moves for ReverseOptions {
    fn enqueue<T: Element>(
        &self,
        device: &Device,
        from: &Buffer<T>,
        to: &mut Buffer<T>,
        _: &[usize],
    ) -> Result<(), BenchError> {
        reverse::enqueue(device, None, from, to, self)?;
        Ok(())
    }

    fn origin(at: usize, extents: &[usize]) -> usize {
        extents[0] - 1 - at
    }
}

struct Movement<W, T> {
    element: PhantomData<fn() -> T>,
    extents: Vec<usize>,
    candidates: Vec<W>,
}

struct Copy<T: Random> {
    input: Window<T>,
    from: Buffer<T>,
    to: Buffer<T>,
}

struct OnDevice<'a, W, T: Random> {
    device: &'a Device,
    problem: &'a Movement<W, T>,
    rung: usize,
    copies: Vec<Copy<T>>,
}

impl<W: Moves, T: Random + PartialEq> Problem for Movement<W, T> {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let len = self.extents.iter().product();
        let mut sets = Vec::new();
        for _ in 0..copies {
            let input = inputs.take::<T>(Kind::Uniform, len);
            sets.push(Copy {
                from: device.upload(&input)?,
                to: device.zeros(len)?,
                input,
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            rung: 0,
            copies: sets,
        }))
    }
}

impl<W: Moves, T: Random + PartialEq> Loaded for OnDevice<'_, W, T> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        self.rung = rung;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.to.fill_bytes(0xFF)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let Movement {
            extents,
            candidates,
            ..
        } = self.problem;
        let Copy { from, to, .. } = &mut self.copies[copy];
        candidates[self.rung].enqueue(self.device, from, to, extents)
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let extents = &self.problem.extents[..];
        let (input, output) = (&copy.input[..], copy.to.to_vec()?);
        let wrong = output
            .par_iter()
            .enumerate()
            .filter(|&(at, value)| *value != input[W::origin(at, extents)])
            .count();
        Ok(Check::exact("every element, exactly", wrong as u64))
    }
}
