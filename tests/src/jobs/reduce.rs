//! Dot products, sums, minima and maxima. A job's output is the blocks' partial results, folded as the host folds them.

use blockwise::compare::ToNumber;
use blockwise::device::DeviceProperties;
use blockwise::launch::reduce::{plan_dot, plan_reduce};
use blockwise::launch::{Number, ReduceKernel, ReduceOptions, Reduction};
use blockwise::oracle;
use ndarray::{Array1, arr0};

use super::{Job, exact, within};
use crate::data::{Draw, vector};

/// A type and its oracle of sums.
trait Summed: Number + Draw + ToNumber {
    /// The largest value, and "not a number" where there is one: what must survive all rounds from wherever it stands.
    const HIGHEST: Self;
    const LOWEST: Self;
    const NOT_A_NUMBER: Option<Self>;

    /// Judges Σ a·b, or Σ a without `b`.
    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, roundings: usize) -> Judge<Self>;
}

type Judge<T> = Box<dyn Fn(Vec<T>) -> Result<(), String> + Send + Sync>;

macro_rules! summed_floats {
    ($($t:ident)*) => {$(
        impl Summed for $t {
            const HIGHEST: Self = 100.0;
            const LOWEST: Self = -100.0;
            const NOT_A_NUMBER: Option<Self> = Some($t::NAN);

            fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, roundings: usize) -> Judge<Self> {
                let expected = match b {
                    Some(b) => oracle::dot::<$t>(a.view(), b.view(), roundings),
                    None => oracle::sum::<$t>(a.view(), roundings),
                };
                Box::new(within::<$t, _>(expected))
            }
        }
    )*};
}
summed_floats!(f32 f64);

impl Summed for i64 {
    const HIGHEST: Self = i64::MAX;
    const LOWEST: Self = i64::MIN;
    const NOT_A_NUMBER: Option<Self> = None;

    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, _: usize) -> Judge<Self> {
        let (_, expected) = match b {
            Some(b) => oracle::dot_i64(a.view(), b.view()),
            None => oracle::sum_i64(a.view()),
        };
        Box::new(exact(arr0(expected)))
    }
}

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &kernel in ReduceKernel::ALL {
        let all = |jobs: &mut Vec<Job>, len, threads, cap, special| {
            let options = with(kernel, threads, cap);
            every_type(jobs, on, len, options, special);
        };
        // Threads with three elements and with two; the special value meets each as left and as right operand.
        for special in [None, Some(0), Some(63), Some(149)] {
            all(&mut jobs, 150, 64, Some(1), special);
        }
        // Every lane of every warp has its own share, and the last one the special value.
        all(&mut jobs, 1024, 1024, None, Some(1023));
        all(&mut jobs, 230, 96, Some(2), None);
        // Threads without an element.
        all(&mut jobs, 40, 64, None, None);
    }
    // The tree takes blocks of any size.
    let options = with(ReduceKernel::Tree, 50, Some(2));
    every_type(&mut jobs, on, 233, options, None);
    every_type(&mut jobs, on, 3, with(ReduceKernel::Tree, 1, Some(2)), None);
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for len in [0, 1, 2, 255, 256, 257, 509, 1031] {
        for cap in [None, Some(1)] {
            for &kernel in ReduceKernel::ALL {
                every_type(&mut jobs, on, len, with(kernel, 256, cap), None);
            }
            every_type(&mut jobs, on, len, with(ReduceKernel::Tree, 100, cap), None);
            every_type(
                &mut jobs,
                on,
                len,
                with(ReduceKernel::Shuffle, 96, cap),
                None,
            );
        }
    }
    jobs
}

fn with(kernel: ReduceKernel, threads: u32, grid_cap: Option<u32>) -> ReduceOptions {
    ReduceOptions {
        kernel,
        threads: Some(threads),
        grid_cap,
    }
}

fn every_type(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    len: usize,
    options: ReduceOptions,
    special: Option<usize>,
) {
    every_operation::<i64>(jobs, on, len, options, special);
    every_operation::<f32>(jobs, on, len, options, special);
    every_operation::<f64>(jobs, on, len, options, special);
}

/// With a special value at an index: the extreme that is looked for, and in another job NaN.
fn every_operation<T: Summed>(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    len: usize,
    options: ReduceOptions,
    special: Option<usize>,
) {
    let (a, b) = (vector::<T>(21, len), vector::<T>(22, len));
    let roundings = options.roundings(len);
    if special.is_none_or(|at| at + 1 == len) {
        let dot = T::judge(&a, Some(&b), roundings);
        jobs.push(job(on, "dot", &[&a, &b], options, dot, Reduction::Sum));
        let sum = T::judge(&a, None, roundings);
        jobs.push(job(on, "sum", &[&a], options, sum, Reduction::Sum));
    }
    if len == 0 {
        return;
    }
    for (reduction, extreme) in [(Reduction::Min, T::LOWEST), (Reduction::Max, T::HIGHEST)] {
        let specials = match special {
            Some(at) => [Some((at, extreme)), T::NOT_A_NUMBER.map(|nan| (at, nan))],
            None => [Some((0, a[0])), None],
        };
        for (at, value) in specials.into_iter().flatten() {
            let mut a = a.clone();
            a[at] = value;
            let expected = match reduction {
                Reduction::Max => oracle::max(a.view()),
                _ => oracle::min(a.view()),
            };
            let judge = Box::new(exact(arr0(expected.unwrap_or_default())));
            jobs.push(job(on, reduction.name(), &[&a], options, judge, reduction));
        }
    }
}

fn job<T: Summed>(
    on: &DeviceProperties,
    operation: &str,
    operands: &[&Array1<T>],
    options: ReduceOptions,
    judge: Judge<T>,
    reduction: Reduction,
) -> Job {
    let len = operands[0].len();
    let case = format!("{operation} of {len}, {options:?}");
    let plan = match operands {
        [_] => plan_reduce::<T>(len, reduction, &options, on),
        _ => plan_dot::<T>(len, len, &options, on),
    };
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"));
    let blocks = plan.grid[0] as usize;
    let folded = move |partials: Vec<T>| {
        let fold = |sofar: T, next| sofar.fold(next, reduction);
        judge(partials.into_iter().reduce(fold).into_iter().collect())
    };
    let job = Job::new(case, plan, blocks, folded);
    let slices = operands.iter().map(|operand| operand.as_slice());
    slices
        .fold(job, |job, slice| job.slice(slice.unwrap_or_default()))
        .output()
}
