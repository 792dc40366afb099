//! Dot products, sums, minima and maxima. A job's output is the blocks' partial results, folded as
//! the host folds them.

use blockwise::DeviceProperties;
use blockwise_ops::compare::ToNumber;
use blockwise_ops::reduce::{
    Operands, PartialOf, Total, plan_dot, plan_reduce, sum_error_along_axis,
};
use blockwise_ops::{Number, ReduceKernel, ReduceOptions, Reduction, oracle};
use kernels::reduce::policy::InFlight;
use ndarray::{Array1, arr0};

use super::axis::{at_the_middle, every_axis};
use super::{Job, exact, within};
use crate::data::{Draw, vector};
use crate::sums::{CHOSEN, model};

/// A type and its oracle of sums.
pub(super) trait Summed: Number + Draw + ToNumber {
    /// The largest value, and "not a number" where there is one: what must survive all rounds from
    /// wherever it stands.
    const GREATEST: Self;
    const LEAST: Self;
    const NOT_A_NUMBER: Option<Self>;
    /// A number so large that the others are in the second terms of sums until it cancels; the
    /// same with its sign changed; and 1.
    const HUGE: Option<[Self; 3]>;
    /// The number as one among others of which each adds its own bits to a total's second term;
    /// `None` of types whose totals have another form.
    fn spread(self, at: usize) -> Option<Self>;

    /// Judges Σ a·b, or Σ a without `b`.
    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, error: f64) -> Judge<Self>;

    /// What its sums by such a launch may be off.
    fn error(_: &ReduceOptions, _: Operands, _: usize, _: &DeviceProperties) -> f64 {
        0.0
    }

    /// The same over an axis.
    fn error_along_axis() -> f64 {
        0.0
    }
}

pub(super) type Judge<T> = Box<dyn Fn(Vec<T>) -> Result<(), String> + Send + Sync>;

macro_rules! summed_floats {
    ($($t:ident $huge:expr,)*) => {$(
        impl Summed for $t {
            const GREATEST: Self = 100.0;
            const LEAST: Self = -100.0;
            const NOT_A_NUMBER: Option<Self> = Some($t::NAN);
            const HUGE: Option<[Self; 3]> = $huge;

            fn spread(self, at: usize) -> Option<Self> {
                (size_of::<Self>() == 8).then(|| self * Self::from(2_u8).powi(-17 * (at % 4) as i32))
            }

            fn error(
                options: &ReduceOptions,
                operands: Operands,
                len: usize,
                on: &DeviceProperties,
            ) -> f64 {
                options.sum_error::<$t>(operands, len, on)
            }

            fn error_along_axis() -> f64 {
                sum_error_along_axis::<$t>()
            }

            fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, error: f64) -> Judge<Self> {
                let expected = match b {
                    Some(b) => oracle::dot::<$t>(a.view(), b.view(), error),
                    None => oracle::sum::<$t>(a.view(), error),
                };
                Box::new(within::<$t, _>(expected))
            }
        }
    )*};
}
summed_floats!(
    f32 Some([(1 << 20) as f32, -((1 << 20) as f32), 1.0]),
    f64 Some([(1_u64 << 60) as f64, -((1_u64 << 60) as f64), 1.0]),
);

impl Summed for i64 {
    const GREATEST: Self = i64::MAX;
    const LEAST: Self = i64::MIN;
    const NOT_A_NUMBER: Option<Self> = None;
    const HUGE: Option<[Self; 3]> = None;

    fn spread(self, _: usize) -> Option<Self> {
        None
    }

    fn judge(a: &Array1<Self>, b: Option<&Array1<Self>>, _: f64) -> Judge<Self> {
        let (_, expected) = match b {
            Some(b) => oracle::dot_i64(a.view(), b.view()),
            None => oracle::sum_i64(a.view()),
        };
        Box::new(exact(arr0(expected)))
    }
}

/// Kernels that take blocks of any size.
const OF_ANY_BLOCK: [ReduceKernel; 2] = [ReduceKernel::Tree, ReduceKernel::TreeRaw];

pub(super) fn telling(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &kernel in ReduceKernel::ALL {
        let all = |jobs: &mut Vec<Job>, len, threads, cap, special| {
            let options = with(kernel, threads, cap);
            every_type(jobs, on, len, options, special);
        };
        // Threads with eight elements and with seven. The special value is a thread's first one,
        // the last of eight, or the last of seven: it meets the others as left and as right
        // operand.
        for special in [None, Some(0), Some(63), Some(447), Some(469)] {
            all(&mut jobs, 470, 64, Some(1), special);
        }
        // Every lane of every warp has its own share, and the last one the special value.
        all(&mut jobs, 1024, 1024, None, Some(1023));
        // Threads with four elements and with three.
        all(&mut jobs, 718, 96, Some(2), None);
        // Threads without an element.
        all(&mut jobs, 40, 64, None, None);
    }
    for kernel in [ReduceKernel::Wide, ReduceKernel::Single] {
        // Whole tiles and part of one, for two blocks by turns and for a block each; elements in
        // front of the first pack and after the last; nothing but those.
        for (len, cap, at) in [(7000, Some(2), 6999), (2701, None, 0), (3, None, 2)] {
            let options = with(kernel, 64, cap);
            every_type(&mut jobs, on, len, options, Some(at));
            from_offset::<i64>(&mut jobs, on, len, options, Some(at), [1, 1]);
            from_offset::<f32>(&mut jobs, on, len, options, Some(at), [1, 1]);
            from_offset::<f64>(&mut jobs, on, len, options, Some(at), [1, 1]);
        }
        // Every lane of every warp has a pack of its own, and the last one the special value; the
        // same for the partial results of twice or four times as many blocks as a warp has lanes,
        // and of so many that only some lanes fold another four of them.
        every_type(&mut jobs, on, 4096, with(kernel, 1024, None), Some(4095));
        let last = [64, 115].map(|blocks| blocks * 32 * 16 - 1);
        for (len, at) in [
            (last[0] + 1, last[0]),
            (last[1] + 1, last[1]),
            (last[1] + 1, 200 * 32 * 8),
        ] {
            every_type(&mut jobs, on, len, with(kernel, 32, None), Some(at));
        }
        let options = with(kernel, 32, None);
        from_offset::<f32>(&mut jobs, on, 243 * 32 * 16, options, None, [1, 1]);
        // Partial results that are all alike.
        of_constants::<i64>(&mut jobs, on, 20_480, with(kernel, 32, None));
        of_constants::<f32>(&mut jobs, on, 20_480, with(kernel, 32, None));
        of_constants::<f64>(&mut jobs, on, 20_480, with(kernel, 32, None));
        // Operands whose packs do not begin together, and threads without an element.
        from_offset::<i64>(&mut jobs, on, 5, with(kernel, 64, None), None, [0, 1]);
        from_offset::<f32>(&mut jobs, on, 5, with(kernel, 64, None), None, [0, 1]);
        from_offset::<f64>(&mut jobs, on, 5, with(kernel, 64, None), None, [0, 1]);
        for (len, threads, cap) in [(470, 64, 1), (718, 96, 2)] {
            let options = with(kernel, threads, Some(cap));
            from_offset::<i64>(&mut jobs, on, len, options, None, [0, 1]);
            from_offset::<f32>(&mut jobs, on, len, options, None, [3, 1]);
            from_offset::<f64>(&mut jobs, on, len, options, None, [1, 0]);
        }
    }
    let options = eight(64, Some(2));
    every_type(&mut jobs, on, 7000, options, Some(6999));
    from_offset::<f32>(&mut jobs, on, 2701, options, None, [1, 1]);
    for kernel in OF_ANY_BLOCK {
        every_type(&mut jobs, on, 233, with(kernel, 50, Some(2)), None);
        every_type(&mut jobs, on, 3, with(kernel, 1, Some(2)), None);
    }
    // The special value in each of the warps whose slots are read in another place of the loop over
    // warps; as many warps as leave some of a group of eight; one warp.
    for warp in [1, 2, 3, 4, 5, 6, 7, 8, 29, 30] {
        let options = with(ReduceKernel::Shuffle, 1024, None);
        every_type(&mut jobs, on, 1024, options, Some(32 * warp + 5));
    }
    // As many warps, and as many blocks, as a warp has lanes: each of them has bits of its own in a
    // total's second term.
    for kernel in [ReduceKernel::Wide, ReduceKernel::Single] {
        let options = with(kernel, 1024, Some(1));
        from_offset::<f64>(&mut jobs, on, MANY, options, None, [0, 0]);
    }
    let options = with(ReduceKernel::Single, 32, Some(40));
    from_offset::<f64>(&mut jobs, on, 2 * MANY, options, None, [0, 0]);
    for threads in [160, 32] {
        let options = with(ReduceKernel::Shuffle, threads, None);
        every_type(&mut jobs, on, threads as usize, options, None);
    }
    // More outputs than threads, a block more than once, rows in groups and one by one.
    every_axis(&mut jobs, on, &[[3, 21, 100], [2, 11, 1]], Some(1));
    // Whole groups, one element less, every smaller group left, and no whole group.
    every_axis(
        &mut jobs,
        on,
        &[[2, 8, 5], [3, 15, 2], [2, 14, 3], [4, 3, 2], [2, 1030, 2]],
        None,
    );
    at_the_middle::<f32>(&mut jobs, on);
    at_the_middle::<f64>(&mut jobs, on);
    jobs
}

pub(super) fn sizes(on: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    for len in [0, 1, 2, 255, 256, 257, 509, 1031] {
        for cap in [None, Some(1)] {
            for &kernel in ReduceKernel::ALL {
                every_type(&mut jobs, on, len, with(kernel, 256, cap), None);
            }
            for kernel in OF_ANY_BLOCK {
                every_type(&mut jobs, on, len, with(kernel, 100, cap), None);
            }
            every_type(
                &mut jobs,
                on,
                len,
                with(ReduceKernel::Shuffle, 96, cap),
                None,
            );
        }
    }
    // Tiles of 256 packs with 64 threads: of 1024 elements of four bytes, of 512 of eight.
    for len in [511, 512, 513, 1023, 1024, 1025, 4099] {
        for kernel in [ReduceKernel::Wide, ReduceKernel::Single] {
            for cap in [None, Some(1)] {
                every_type(&mut jobs, on, len, with(kernel, 64, cap), None);
            }
        }
        every_type(&mut jobs, on, len, eight(32, Some(2)), None);
    }
    // Every place that an operand can have in its first pack, and every difference between two.
    for len in [1, 2, 5, 515] {
        for kernel in [ReduceKernel::Wide, ReduceKernel::Single] {
            let options = with(kernel, 32, None);
            for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
                from_offset::<f32>(&mut jobs, on, len, options, None, [a, b]);
                if a < 2 && b < 2 {
                    from_offset::<i64>(&mut jobs, on, len, options, None, [a, b]);
                    from_offset::<f64>(&mut jobs, on, len, options, None, [a, b]);
                }
            }
        }
    }
    for cap in [None, Some(1)] {
        let shapes = [
            [1, 1, 1],
            [1, 0, 5],
            [0, 3, 2],
            [257, 7, 1],
            [1, 2049, 1],
            [1, 8, 255],
            [5, 9, 103],
        ];
        every_axis(&mut jobs, on, &shapes, cap);
    }
    jobs
}

/// Elements from which on sums are tried whose terms are of unlike magnitudes.
const MANY: usize = 5300;

/// What a block has left.
pub(super) fn total<T: Number>(words: &[u64]) -> Total<T> {
    let rest = words.get(1).copied().unwrap_or_default();
    Total::from_words([words[0], rest])
}

fn with(kernel: ReduceKernel, threads: u32, grid_cap: Option<u32>) -> ReduceOptions {
    ReduceOptions {
        kernel: Some(kernel),
        threads: Some(threads),
        grid_cap,
        ..ReduceOptions::default()
    }
}

/// The instance of `single` with eight packs in flight.
fn eight(threads: u32, grid_cap: Option<u32>) -> ReduceOptions {
    ReduceOptions {
        in_flight: Some(InFlight::Eight),
        ..with(ReduceKernel::Single, threads, grid_cap)
    }
}

fn every_type(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    len: usize,
    options: ReduceOptions,
    special: Option<usize>,
) {
    from_offset::<i64>(jobs, on, len, options, special, [0, 0]);
    from_offset::<f32>(jobs, on, len, options, special, [0, 0]);
    from_offset::<f64>(jobs, on, len, options, special, [0, 0]);
}

/// Every operation on `len` elements that lie after N others. With a special value at an
/// index: the extreme that is looked for, and in another job NaN.
fn from_offset<T: Summed>(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    len: usize,
    options: ReduceOptions,
    special: Option<usize>,
    skipped: [usize; 2],
) {
    let (a, b) = (vector::<T>(21, len), vector::<T>(22, len));
    let error = |operands| T::error(&options, operands, len, on);
    if special.is_none_or(|at| at + 1 == len) {
        let dot = T::judge(&a, Some(&b), error(Operands::Two));
        let operands = [(&a, skipped[0]), (&b, skipped[1])];
        jobs.push(job(on, "dot", &operands, options, dot, Reduction::Sum));
        let sum = T::judge(&a, None, error(Operands::One));
        let operands = [(&a, skipped[0])];
        jobs.push(job(on, "sum", &operands, options, sum, Reduction::Sum));
    }
    if len == 0 {
        return;
    }
    if let (Some([huge, negative, one]), None) = (T::HUGE, special) {
        let mut a = a.clone();
        // Each thread has some of them, and none has both of a pair.
        for i in (0..len / 2).step_by(3) {
            (a[i], a[len - 1 - i]) = (huge, negative);
        }
        let ones = Array1::from_elem(len, one);
        let sum = T::judge(&a, None, error(Operands::One));
        jobs.push(job(
            on,
            "sum",
            &[(&a, skipped[0])],
            options,
            sum,
            Reduction::Sum,
        ));
        let dot = T::judge(&a, Some(&ones), error(Operands::Two));
        let operands = [(&a, skipped[0]), (&ones, skipped[1])];
        jobs.push(job(on, "dot", &operands, options, dot, Reduction::Sum));
    }
    let spread: Option<Vec<T>> = a
        .iter()
        .enumerate()
        .map(|(at, value)| value.spread(at))
        .collect();
    if let (Some(spread), None, true) = (spread, special, len >= MANY) {
        let spread = Array1::from(spread);
        let sum = T::judge(&spread, None, error(Operands::One));
        let operands = [(&spread, skipped[0])];
        jobs.push(job(on, "sum", &operands, options, sum, Reduction::Sum));
    }
    for (reduction, extreme) in [(Reduction::Min, T::LEAST), (Reduction::Max, T::GREATEST)] {
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
            let operands = [(&a, skipped[0])];
            let name = reduction.name();
            jobs.push(job(on, name, &operands, options, judge, reduction));
        }
    }
}

/// Every operation on elements that are all alike: zeros for sums, and for minimum and maximum what
/// any other number would replace.
fn of_constants<T: Summed>(
    jobs: &mut Vec<Job>,
    on: &DeviceProperties,
    len: usize,
    options: ReduceOptions,
) {
    let zeros = Array1::from_elem(len, T::default());
    let operands = [(&zeros, 0), (&zeros, 0)];
    let dot = T::judge(&zeros, Some(&zeros), 0.0);
    jobs.push(job(on, "dot", &operands, options, dot, Reduction::Sum));
    let sum = T::judge(&zeros, None, 0.0);
    jobs.push(job(on, "sum", &operands[..1], options, sum, Reduction::Sum));
    for (reduction, value) in [(Reduction::Min, T::GREATEST), (Reduction::Max, T::LEAST)] {
        let values = Array1::from_elem(len, value);
        let judge = Box::new(exact(arr0(value)));
        let operands = [(&values, 0)];
        let name = reduction.name();
        jobs.push(job(on, name, &operands, options, judge, reduction));
    }
}

fn job<T: Summed>(
    on: &DeviceProperties,
    operation: &str,
    operands: &[(&Array1<T>, usize)],
    options: ReduceOptions,
    judge: Judge<T>,
    reduction: Reduction,
) -> Job {
    let len = operands[0].0.len();
    let skipped: Vec<_> = operands.iter().map(|(_, skipped)| skipped).collect();
    let case = format!("{operation} of {len} after {skipped:?}, {options:?}");
    let plan = match operands {
        [_] => plan_reduce::<T>(len, reduction, &options, on),
        _ => plan_dot::<T>(len, len, &options, on),
    };
    let plan = plan.unwrap_or_else(|error| panic!("{case}: {error}"));
    let words = size_of::<PartialOf<T>>() / size_of::<u64>();
    // A rounded result hides most of the bits of its total.
    let total_of = |kernel| {
        let values = |(operand, _): &(&Array1<T>, usize)| operand.to_vec();
        let operands: Vec<_> = operands.iter().map(values).collect();
        let b = operands.get(1).map(|b| &b[..]);
        model::total(kernel, &plan, &operands[0], b)
    };
    let modelled = reduction == Reduction::Sum
        && options.in_flight.is_none()
        && operands.iter().all(|(_, skipped)| *skipped == 0);
    let kernel = options
        .kernel
        .filter(|kernel| modelled && CHOSEN.contains(kernel));
    let exact = kernel.map(total_of);
    let folded = move |partials: Vec<u64>| {
        let results = match options.kernel {
            Some(ReduceKernel::Single) => 1,
            _ => partials.len() / words,
        };
        let results = partials.chunks(words).take(results).map(total::<T>);
        // As `Total::of_partials` does, each with as small a rest as it can have.
        let results = results.map(|total| match reduction {
            Reduction::Sum => Total::default().fold(total, reduction),
            _ => total,
        });
        let folded = results.reduce(|sofar, next| sofar.fold(next, reduction));
        if exact.is_some() && exact != folded {
            return Err(format!("the total is {folded:?}, not {exact:?}"));
        }
        judge(folded.map(Total::round).into_iter().collect())
    };
    let job = Job::new(case, plan, plan.grid[0] as usize * words, folded);
    let add = |job: Job, (operand, skipped): &(&Array1<T>, usize)| {
        let values = vec![T::GREATEST; *skipped].into_iter();
        let values: Vec<T> = values.chain(operand.iter().copied()).collect();
        job.slice_from(&values, *skipped)
    };
    let job = match options.kernel {
        Some(ReduceKernel::Interleaved | ReduceKernel::Tree) => job.shared::<T>(),
        _ => job,
    };
    let job = operands.iter().fold(job, add);
    let blocks = plan.grid[0] as usize;
    match options.kernel {
        Some(ReduceKernel::TreeRaw) => job.output(),
        // The ticket.
        Some(ReduceKernel::Single) => job.out(blocks).slice(&[0_u32]),
        _ => job.out(blocks),
    }
}
