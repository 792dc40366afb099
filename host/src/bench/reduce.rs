//! Sums, minima, maxima and dot products.

use std::iter;

use blockwise::{Buffer, Device, DeviceProperties};
use blockwise_ops::oracle;
use blockwise_ops::reduce::{self, DEFAULT_GRID_CAP, Partials};
use blockwise_ops::{LaunchError, LaunchPlan, Number, ReduceKernel, ReduceOptions, Reduction};
use kernels::reduce::policy::{self, InFlight, Policy};
use rayon::prelude::*;

use super::search::{CHOICE, Search, distinct};
use super::work::{DEFAULT, rungs};
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Random, Size, Sizes, Work};

/// The table.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let candidate = |&kernel| ReduceOptions {
        kernel: Some(kernel),
        ..ReduceOptions::default()
    };
    let kernels = ReduceKernel::ALL.iter().map(candidate);
    let candidates: Vec<_> = iter::once(ReduceOptions::default())
        .chain(kernels)
        .collect();
    let mut works = table(sizes, &candidates);
    // Of other types what a caller gets, and every kernel at sizes that were asked for.
    let of_others = match sizes {
        Sizes::Given(_) => &candidates[..],
        _ => &candidates[..1],
    };
    for [len] in sizes.pick(false, &[], &[[1 << 27]]) {
        let sum = Operation::Of(Reduction::Sum);
        works.push(work::<i64>(sum, len, of_others));
        works.push(work::<f64>(sum, len, of_others));
        works.push(work::<f64>(Operation::Dot, len, of_others));
    }
    for work in &mut works {
        DEFAULT.clone_into(&mut work.rungs[0].name);
    }
    works
}

fn table(sizes: &Sizes, candidates: &[ReduceOptions]) -> Vec<Work> {
    let mut works = Vec::new();
    for [len] in sizes.pick(false, &[[1 << 24]], &[[1 << 20], [1 << 29]]) {
        for &reduction in Reduction::ALL {
            works.push(work::<f32>(Operation::Of(reduction), len, candidates));
        }
        works.push(work::<f32>(Operation::Dot, len, candidates));
    }
    for [len] in sizes.pick(false, &[], &[[1 << 27]]) {
        works.push(work::<i64>(Operation::Dot, len, candidates));
    }
    works
}

/// The launcher's choice and others: a multiprocessor gets from half of an H200's 2048 threads to
/// twice as many.
pub(super) fn searches(sizes: &Sizes, properties: &DeviceProperties) -> Vec<Search> {
    let own = [None, Some(ReduceKernel::Tree), Some(ReduceKernel::Shuffle)];
    let own = own
        .into_iter()
        .chain([Some(ReduceKernel::Wide), Some(ReduceKernel::Single)]);
    let own = own.map(|kernel| ReduceOptions {
        kernel,
        ..ReduceOptions::default()
    });
    let (mut candidates, mut policies) = (own.collect::<Vec<_>>(), Vec::new());
    let kernels = candidates.len();
    for in_flight in InFlight::ALL {
        for (threads, resident) in [128, 256, 512, 1024]
            .into_iter()
            .flat_map(|threads| [1024, 2048, 4096].map(|resident| (threads, resident)))
        {
            let blocks_each = resident / threads;
            candidates.push(ReduceOptions {
                threads: Some(threads),
                grid_cap: Some(blocks_each * properties.multiprocessors_to_fill()),
                in_flight: Some(in_flight),
                kernel: Some(ReduceKernel::Single),
            });
            policies.push(Policy {
                threads,
                blocks_each,
                in_flight,
            });
        }
    }
    let search = |mut work: Work| {
        for rung in &mut work.rungs[1..kernels] {
            rung.policy.clear();
        }
        for (rung, policy) in work.rungs[kernels..].iter_mut().zip(&policies) {
            rung.policy = described(policy);
        }
        // Few elements need few blocks: then several policies are one launch.
        let len = work.size.0[0];
        let plan = |candidate: &ReduceOptions| match work.ty {
            "i64" => reduce::plan_dot::<i64>(len, len, candidate, properties).ok(),
            _ => reduce::plan_dot::<f32>(len, len, candidate, properties).ok(),
        };
        distinct(&mut work.rungs, |rung| plan(&candidates[rung.index]));
        Search {
            work,
            place: "kernels/src/reduce/policy.rs",
        }
    };
    table(sizes, &candidates).into_iter().map(search).collect()
}

fn described(policy: &Policy) -> String {
    let Policy {
        threads,
        blocks_each,
        in_flight,
    } = policy;
    let packs = in_flight.packs();
    format!("{threads} threads, {blocks_each} blocks a multiprocessor, {packs} packs in flight")
}

#[derive(Clone, Copy)]
enum Operation {
    Of(Reduction),
    Dot,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Of(reduction) => reduction.name(),
            Operation::Dot => "dot",
        }
    }

    /// How partial results are folded.
    fn reduction(self) -> Reduction {
        match self {
            Operation::Of(reduction) => reduction,
            Operation::Dot => Reduction::Sum,
        }
    }

    /// Numbers whose exact result any order of a right kernel gives.
    fn kind(self) -> Kind {
        match self.reduction() {
            Reduction::Sum => Kind::Whole,
            Reduction::Min | Reduction::Max => Kind::Uniform,
        }
    }

    fn operands(self) -> usize {
        match self {
            Operation::Of(_) => 1,
            Operation::Dot => 2,
        }
    }
}

fn work<T: Exact>(operation: Operation, len: usize, candidates: &[ReduceOptions]) -> Work {
    let describe = |options: &ReduceOptions| {
        let row = policy::row(len * size_of::<T>());
        let kernel = match options.kernel {
            Some(kernel) => kernel.name(),
            None => CHOICE,
        };
        let policy = match options.kernel {
            None => String::new(),
            Some(ReduceKernel::Single) => format!("{}: {}", row.name, described(&row.policy)),
            Some(ReduceKernel::Wide) => {
                format!("{}: {}; the host folds", row.name, described(&row.policy))
            }
            _ => format!(
                "{} threads, at most {DEFAULT_GRID_CAP} blocks; the host folds",
                kernels::reduce::THREADS
            ),
        };
        (kernel.to_string(), policy)
    };
    Work {
        operation: operation.name(),
        ty: T::NAME,
        size: Size(vec![len]),
        bytes: (operation.operands() * len * size_of::<T>()) as u64,
        operations: (operation.operands() * len) as u64,
        rungs: rungs(candidates, describe),
        problem: Box::new(Reduce {
            operation,
            len,
            candidates: candidates.to_vec(),
            element: std::marker::PhantomData::<T>,
        }),
    }
}

/// A type whose sums of [`Kind::Whole`] are exact in any order.
trait Exact: Random + Number {
    /// The nearest of this type; the integer itself in the range of the benchmarks.
    fn of(value: i64) -> Self;
    fn integer(self) -> i64;
}

macro_rules! exact {
    ($($t:ty)*) => {$(
        impl Exact for $t {
            fn of(value: i64) -> Self {
                value as $t
            }

            fn integer(self) -> i64 {
                self as i64
            }
        }
    )*};
}
exact!(f32 f64 i64);

struct Reduce<T> {
    operation: Operation,
    len: usize,
    candidates: Vec<ReduceOptions>,
    element: std::marker::PhantomData<T>,
}

struct Copy<T: Exact> {
    operands: Vec<Buffer<T>>,
    partials: Partials<T>,
    expected: T,
}

struct OnDevice<'a, T: Exact> {
    device: &'a Device,
    problem: &'a Reduce<T>,
    options: ReduceOptions,
    copies: Vec<Copy<T>>,
}

impl<T: Exact> Reduce<T> {
    fn plan(&self, device: &Device, options: &ReduceOptions) -> Result<LaunchPlan, LaunchError> {
        let (len, properties) = (self.len, device.properties());
        match self.operation {
            Operation::Dot => reduce::plan_dot::<T>(len, len, options, properties),
            Operation::Of(reduction) => {
                reduce::plan_reduce::<T>(len, reduction, options, properties)
            }
        }
    }
}

impl<T: Exact> Problem for Reduce<T> {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let options = self.candidates[0];
        let plan = self.plan(device, &options)?;
        let mut sets = Vec::new();
        for _ in 0..copies {
            let numbers: Vec<_> = (0..self.operation.operands())
                .map(|_| inputs.take::<T>(self.operation.kind(), self.len))
                .collect::<Result<_, _>>()?;
            let operands: Result<_, _> = (numbers.iter())
                .map(|numbers| device.upload(numbers))
                .collect();
            sets.push(Copy {
                operands: operands?,
                partials: Partials::alloc(device, &plan)?,
                expected: expected(self.operation, &numbers),
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            options,
            copies: sets,
        }))
    }
}

/// The oracle. `operands` are as many as the operation has.
fn expected<T: Exact>(
    operation: Operation,
    operands: &[impl std::ops::Deref<Target = [T]> + Sync],
) -> T {
    let a: &[T] = &operands[0];
    match operation {
        Operation::Of(Reduction::Sum) => T::of(
            a.par_iter()
                .map(|a| a.integer())
                .reduce(|| 0, i64::wrapping_add),
        ),
        Operation::Dot => T::of(
            a.par_iter()
                .zip(&operands[1][..])
                .map(|(a, b)| a.integer().wrapping_mul(b.integer()))
                .reduce(|| 0, i64::wrapping_add),
        ),
        Operation::Of(reduction) => {
            let extreme = match reduction {
                Reduction::Min => oracle::min::<T>,
                _ => oracle::max::<T>,
            };
            let of_chunks: Vec<T> = a
                .par_chunks(1 << 20)
                .filter_map(|chunk| extreme(chunk.into()))
                .collect();
            extreme(of_chunks[..].into()).unwrap_or_default()
        }
    }
}

impl<T: Exact> Loaded for OnDevice<'_, T> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        self.options = self.problem.candidates[rung];
        let plan = self.problem.plan(self.device, &self.options)?;
        for copy in &mut self.copies {
            copy.partials = Partials::alloc(self.device, &plan)?;
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.partials.reset()?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let (device, options) = (self.device, &self.options);
        let copy = &mut self.copies[copy];
        let partials = &mut copy.partials;
        match (self.problem.operation, &copy.operands[..]) {
            (Operation::Of(reduction), [input, ..]) => {
                reduce::enqueue_reduce(device, None, input, partials, reduction, options)
            }
            (Operation::Dot, [a, b, ..]) => {
                reduce::enqueue_dot(device, None, a, b, partials, options)
            }
            _ => Err(LaunchError::EmptyInput {
                what: "the list of operands",
            }),
        }?;
        Ok(())
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let result = copy.partials.fold(self.problem.operation.reduction())?;
        let right = result == copy.expected;
        Ok(Check::exact("exactly", u64::from(!right)))
    }
}
