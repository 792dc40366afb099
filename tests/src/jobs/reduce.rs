//! Dot products, sums, minima and maxima of operands that reveal kernels' mistakes: special values,
//! places in memory, magnitudes. A job's output is the blocks' partial results, folded as the host
//! folds them.

use std::num::NonZeroU32;
use std::sync::Arc;

use blockwise::{Device, DeviceProperties};
use blockwise_ops::operation::{self, Operation, Options, Parts, Variant};
use blockwise_ops::reduce::{
    DOT, KERNELS, MAX, MIN, PartialOf, SINGLE, SUM, TREE, TREE_RAW, Total, WIDE, rows,
};
use blockwise_ops::{AnyArray, Reduction, oracle};
use ladder::{SHUFFLE, SINGLE8};
use ndarray::{Array1, arr0};

use super::axis::{Divided, at_the_middle, every_axis};
use super::described::{recorded, recorder};
use super::summed::{Judge, Summed};
use super::{Job, Parameter, exact};
use crate::data::vector;
use crate::sums::{CHOSEN, model};

/// Kernels that take blocks of any size.
static OF_ANY_BLOCK: [&Variant; 2] = [&TREE, &TREE_RAW];

pub(super) fn telling(_: &DeviceProperties) -> Vec<Job> {
    let on = &recorder();
    let mut jobs = Vec::new();
    for kernel in KERNELS.into_iter().chain([&SHUFFLE]) {
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
    for kernel in [&WIDE, &SINGLE] {
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
        // The special value in the first lane and in the last of each of eight warps, whose values
        // lie in different slots of the first warp's lanes. Each thread has a pack.
        for thread in (0..8).flat_map(|warp| [32 * warp, 32 * warp + 31]) {
            let options = with(kernel, 256, None);
            let [four, eight] = [4 * thread, 2 * thread].map(Some);
            from_offset::<f32>(&mut jobs, on, 1024, options, four, [0, 0]);
            from_offset::<f64>(&mut jobs, on, 512, options, eight, [0, 0]);
            from_offset::<i64>(&mut jobs, on, 512, options, eight, [0, 0]);
        }
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
    let options = with(&SINGLE8, 64, Some(2));
    every_type(&mut jobs, on, 7000, options, Some(6999));
    from_offset::<f32>(&mut jobs, on, 2701, options, None, [1, 1]);
    for kernel in OF_ANY_BLOCK {
        every_type(&mut jobs, on, 233, with(kernel, 50, Some(2)), None);
        every_type(&mut jobs, on, 3, with(kernel, 1, Some(2)), None);
    }
    // The special value in each of the warps whose slots are read in another place of the loop over
    // warps; as many warps as leave some of a group of eight; one warp.
    for warp in [1, 2, 3, 4, 5, 6, 7, 8, 29, 30] {
        let options = with(&SHUFFLE, 1024, None);
        every_type(&mut jobs, on, 1024, options, Some(32 * warp + 5));
    }
    // As many warps, and as many blocks, as a warp has lanes: each of them has bits of its own in a
    // total's second term.
    for kernel in [&WIDE, &SINGLE] {
        let options = with(kernel, 1024, Some(1));
        from_offset::<f64>(&mut jobs, on, MANY, options, None, [0, 0]);
    }
    let options = with(&SINGLE, 32, Some(40));
    from_offset::<f64>(&mut jobs, on, 2 * MANY, options, None, [0, 0]);
    // Sums that are too large to be divided are merged.
    let large = |jobs: &mut Vec<Job>, len, options| {
        with_ones(jobs, on, &near_overflow(len), options);
    };
    for kernel in [&WIDE, &SINGLE] {
        large(&mut jobs, 1024, with(kernel, 256, None));
    }
    large(&mut jobs, 2 * MANY, with(&SINGLE, 32, Some(40)));
    large(&mut jobs, 1024, with(&WIDE, 32, None));
    // Several rounds next to an anchor, in blocks of one warp and of four; the last round has packs
    // of which some threads have one, or all have two and some a third.
    for (threads, cap) in [(32, 16), (128, 2)] {
        let options = with(&WIDE, threads, Some(cap));
        from_offset::<f64>(&mut jobs, on, MANY, options, None, [0, 0]);
    }
    // More terms than are added next to an anchor, an anchor that is too small, and a total that
    // has fewer bits than its parts next to an anchor.
    let options = with(&WIDE, 64, Some(1));
    from_offset::<f64>(&mut jobs, on, MANY, options, None, [0, 0]);
    with_ones(&mut jobs, on, &late(), with(&WIDE, 32, None));
    with_ones(&mut jobs, on, &nearly_cancelled(), with(&WIDE, 32, None));
    for kernel in [&WIDE, &SINGLE] {
        // The special value in each pack of the second round, of eight bytes and of four, and
        // outside of packs.
        for at in [261, 325, 389, 453, 517, 645, 773, 901, 1030] {
            every_type(&mut jobs, on, 1031, with(kernel, 32, Some(1)), Some(at));
        }
        // In the last slot, and in one that comes into another's.
        for at in [254, 508] {
            every_type(&mut jobs, on, 1024, with(kernel, 128, Some(1)), Some(at));
        }
        every_type(&mut jobs, on, 1024, with(kernel, 256, None), Some(800));
        every_type(&mut jobs, on, 2048, with(kernel, 512, None), Some(1200));
        // No pack.
        every_type(&mut jobs, on, 1, with(kernel, 32, None), None);
    }
    for threads in [160, 32] {
        let options = with(&SHUFFLE, threads, None);
        every_type(&mut jobs, on, threads as usize, options, None);
    }
    // More tiles than blocks, in every dimension: of lines, of columns, of parts.
    let one = Divided {
        cap: Some(1),
        ..Divided::default()
    };
    let three = NonZeroU32::new(3);
    every_axis(&mut jobs, on, &[[3, 21, 100], [200, 11, 1]], one);
    // Lines of several warps, one after the other.
    every_axis(&mut jobs, on, &[[3, 700, 1]], one);
    // Short lines, whose threads have several at a time: packs of columns, once and in rounds;
    // columns that are none, lines, and both, the last time with less than all.
    every_axis(
        &mut jobs,
        on,
        &[
            [3, 4, 600],
            [2, 7, 1064],
            [3, 4, 601],
            [700, 5, 1],
            [450, 1, 2],
            [300, 4, 3],
            [2, 2, 1101],
        ],
        one,
    );
    let parts = |of: Divided| Divided { parts: three, ..of };
    every_axis(&mut jobs, on, &[[3, 77, 100]], parts(one));
    // Threads of whole groups, of one row less and more, of none; lines of one thread and of
    // several, in one block; columns that leave threads idle.
    every_axis(
        &mut jobs,
        on,
        &[
            [2, 8, 5],
            [3, 15, 2],
            [70, 130, 3],
            [4, 3, 2],
            [2, 1030, 2],
            [9, 40, 1],
            [5, 200, 1],
        ],
        Divided::default(),
    );
    every_axis(
        &mut jobs,
        on,
        &[[1, 1030, 2], [20, 37, 1], [2, 130, 67]],
        parts(Divided::default()),
    );
    at_the_middle::<f32>(&mut jobs, on);
    at_the_middle::<f64>(&mut jobs, on);
    jobs
}

pub(super) fn sizes(_: &DeviceProperties) -> Vec<Job> {
    let on = &recorder();
    let mut jobs = Vec::new();
    for cap in [None, Some(1)] {
        for kernel in KERNELS.into_iter().chain([&SHUFFLE]) {
            every_type(&mut jobs, on, 0, with(kernel, 256, cap), None);
        }
        for len in [0, 1, 2, 255, 256, 257, 509, 1031] {
            for kernel in OF_ANY_BLOCK {
                every_type(&mut jobs, on, len, with(kernel, 100, cap), None);
            }
            every_type(&mut jobs, on, len, with(&SHUFFLE, 96, cap), None);
        }
    }
    // Tiles of 256 packs with 64 threads: of 1024 elements of four bytes, of 512 of eight.
    for len in [511, 512, 513, 1023, 1024, 1025, 4099] {
        for kernel in [&WIDE, &SINGLE] {
            for cap in [None, Some(1)] {
                every_type(&mut jobs, on, len, with(kernel, 64, cap), None);
            }
        }
        every_type(&mut jobs, on, len, with(&SINGLE8, 32, Some(2)), None);
    }
    // Every place that an operand can have in its first pack, and every difference between two.
    for len in [1, 2, 5, 515] {
        for kernel in [&WIDE, &SINGLE] {
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
        for parts in [None, NonZeroU32::new(2)] {
            every_axis(&mut jobs, on, &shapes, Divided { cap, parts });
        }
    }
    jobs
}

/// Elements from which on sums are tried whose terms are of unlike magnitudes.
const MANY: usize = 5300;

fn with(kernel: &'static Variant, threads: u32, grid_cap: Option<u32>) -> Options {
    Options {
        threads: Some(threads),
        grid_cap,
        ..Options::of(kernel)
    }
}

fn every_type(
    jobs: &mut Vec<Job>,
    on: &Device,
    len: usize,
    options: Options,
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
    on: &Device,
    len: usize,
    options: Options,
    special: Option<usize>,
    skipped: [usize; 2],
) {
    let takes = |code| {
        let has = |kernel: &Variant| {
            let mut kernels = kernel.kernels.iter();
            kernels.any(|it| it.code == code && it.takes.has(T::TYPE))
        };
        options.kernel.is_none_or(has)
    };
    if !takes(rows::DOT) {
        return;
    }
    let (a, b) = (vector::<T>(21, len), vector::<T>(22, len));
    let error = |of| T::error(of, &options, len, on.properties());
    if special.is_none_or(|at| at + 1 == len) {
        let dot = T::judge(&a, Some(&b), error(&DOT));
        let operands = [(&a, skipped[0]), (&b, skipped[1])];
        jobs.push(job(on, &DOT, &operands, options, dot));
        if takes(rows::SUM) {
            let sum = T::judge(&a, None, error(&SUM));
            let operands = [(&a, skipped[0])];
            jobs.push(job(on, &SUM, &operands, options, sum));
        }
    }
    if len == 0 || !takes(rows::SUM) {
        return;
    }
    if let (Some([huge, negative, one]), None) = (T::HUGE, special) {
        let mut a = a.clone();
        // Each thread has some of them, and none has both of a pair.
        for i in (0..len / 2).step_by(3) {
            (a[i], a[len - 1 - i]) = (huge, negative);
        }
        let ones = Array1::from_elem(len, one);
        let sum = T::judge(&a, None, error(&SUM));
        jobs.push(job(on, &SUM, &[(&a, skipped[0])], options, sum));
        let dot = T::judge(&a, Some(&ones), error(&DOT));
        let operands = [(&a, skipped[0]), (&ones, skipped[1])];
        jobs.push(job(on, &DOT, &operands, options, dot));
    }
    let spread: Option<Vec<T>> = a
        .iter()
        .enumerate()
        .map(|(at, value)| value.spread(at))
        .collect();
    if let (Some(spread), None, true) = (spread, special, len >= MANY) {
        let spread = Array1::from(spread);
        let sum = T::judge(&spread, None, error(&SUM));
        let operands = [(&spread, skipped[0])];
        jobs.push(job(on, &SUM, &operands, options, sum));
    }
    for (of, extreme) in [(&MIN, T::LEAST), (&MAX, T::GREATEST)] {
        let specials = match special {
            Some(at) => [Some((at, extreme)), T::NOT_A_NUMBER.map(|nan| (at, nan))],
            None => [Some((0, a[0])), None],
        };
        for (at, value) in specials.into_iter().flatten() {
            let mut a = a.clone();
            a[at] = value;
            let expected = match of.name {
                "max" => oracle::max(a.view()),
                _ => oracle::min(a.view()),
            };
            let judge = Box::new(exact(arr0(expected.unwrap_or_default())));
            let operands = [(&a, skipped[0])];
            jobs.push(job(on, of, &operands, options, judge));
        }
    }
}

/// Values whose sums reach 2¹⁰¹⁴, and stay finite. Magnitudes are unlike, so that the second terms
/// have many bits.
fn near_overflow(len: usize) -> Array1<f64> {
    let values = vector::<f64>(23, len);
    let largest = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    (values.iter().zip(0..))
        .map(|(value, at): (_, i32)| value / largest * 2f64.powi(1014 - at * 7 % 60))
        .collect()
}

/// Values of which the first ones are much smaller than the others.
fn late() -> Array1<f64> {
    let mut values = vector::<f64>(24, 300);
    for value in values.iter_mut().take(64) {
        *value *= 2f64.powi(-300);
    }
    values
}

/// Values that nearly cancel next to an anchor whose last place is 2⁻⁴⁴. Its parts hold what is
/// left, 511 of these places and 2⁻⁹⁰, but the total that they are turned into does not.
fn nearly_cancelled() -> Array1<f64> {
    let mut values = Array1::zeros(64);
    let four = [1.0, -1.0, 511.0 * 2f64.powi(-44), 2f64.powi(-90)];
    for (value, one) in values.iter_mut().step_by(2).zip(four) {
        *value = one;
    }
    values
}

/// Sums and dot products of values that are `f64` for a reason.
fn with_ones(jobs: &mut Vec<Job>, on: &Device, values: &Array1<f64>, options: Options) {
    let ones = Array1::from_elem(values.len(), 1.0);
    let operands = [(values, 0), (&ones, 0)];
    let error = |of| f64::error(of, &options, values.len(), on.properties());
    let sum = f64::judge(values, None, error(&SUM));
    jobs.push(job(on, &SUM, &operands[..1], options, sum));
    let dot = f64::judge(values, Some(&ones), error(&DOT));
    jobs.push(job(on, &DOT, &operands, options, dot));
}

/// Every operation on elements that are all alike: zeros for sums, and for minimum and maximum what
/// any other number would replace.
fn of_constants<T: Summed>(jobs: &mut Vec<Job>, on: &Device, len: usize, options: Options) {
    let zeros = Array1::from_elem(len, T::default());
    let operands = [(&zeros, 0), (&zeros, 0)];
    let dot = T::judge(&zeros, Some(&zeros), 0.0);
    jobs.push(job(on, &DOT, &operands, options, dot));
    let sum = T::judge(&zeros, None, 0.0);
    jobs.push(job(on, &SUM, &operands[..1], options, sum));
    for (of, value) in [(&MIN, T::GREATEST), (&MAX, T::LEAST)] {
        let values = Array1::from_elem(len, value);
        let judge = Box::new(exact(arr0(value)));
        let operands = [(&values, 0)];
        jobs.push(job(on, of, &operands, options, judge));
    }
}

fn job<T: Summed>(
    on: &Device,
    of: &'static Operation,
    operands: &[(&Array1<T>, usize)],
    options: Options,
    judge: Judge<T>,
) -> Job {
    let len = operands[0].0.len();
    let skipped: Vec<_> = operands.iter().map(|(_, skipped)| skipped).collect();
    let case = format!("{} of {len} after {skipped:?}, {options:?}", of.name);
    let Parts::Folded(fold) = of.parts else {
        panic!("{case}: it has no total");
    };
    let shape = [len];
    let shapes = [&shape[..]; 2];
    let posed = (of.pose)(
        T::TYPE,
        &shapes[..operands.len()],
        &operation::Given::default(),
    );
    let posed = posed.unwrap_or_else(|error| panic!("{case}: {error}"));
    let plan = operation::plan(of, &posed.problem, &options, on.properties());
    let plan = plan
        .ok()
        .flatten()
        .unwrap_or_else(|| panic!("{case}: no plan"));
    let inputs: Vec<_> = (operands.iter())
        .map(|(operand, _)| AnyArray::of(operand.view().into_dyn()).expect("a small array"))
        .collect();
    if let Err(error) = operation::run(on, of, &posed, &options, &inputs) {
        panic!("{case}: {error}");
    }
    let (mut job, place) = recorded(on, case, &plan);
    // The operands begin after others.
    for (operand, (_, skipped)) in operands.iter().enumerate() {
        let others = vec![T::GREATEST; *skipped];
        let bytes = bytemuck::cast_slice::<T, u8>(&others);
        job.inputs[operand].splice(0..0, bytes.iter().copied());
        for parameter in &mut job.parameters {
            if *parameter == Parameter::Input(operand, 0) {
                *parameter = Parameter::Input(operand, bytes.len() as u64);
            }
        }
    }
    // A rounded result hides most of the bits of its total.
    let total_of = |kernel| {
        let values = |(operand, _): &(&Array1<T>, usize)| operand.to_vec();
        let operands: Vec<_> = operands.iter().map(values).collect();
        let b = operands.get(1).map(|b| &b[..]);
        model::total(kernel, &plan.launch, &operands[0], b)
    };
    let modelled = fold.by == Reduction::Sum && operands.iter().all(|(_, skipped)| *skipped == 0);
    let kernel = options
        .kernel
        .filter(|kernel| modelled && CHOSEN.contains(kernel));
    let exact = kernel.map(total_of);
    let (each, left) = (size_of::<PartialOf<T>>(), fold.left(&posed.problem, &plan));
    job.judge = Arc::new(move |bytes| {
        let results = bytes.get(place.clone()).ok_or("the output is too short")?;
        let results = results[..left].chunks(each);
        let results = results.map(|result| Total::<T>::of_results(result, fold.by));
        // As `Total::of_partials` does, each with as small a rest as it can have.
        let results = results.map(|total| match fold.by {
            Reduction::Sum => Total::default().fold(total, fold.by),
            _ => total,
        });
        let folded = results.reduce(|sofar, next| sofar.fold(next, fold.by));
        if exact.is_some() && exact != folded {
            return Err(format!("the total is {folded:?}, not {exact:?}"));
        }
        judge(folded.map(Total::round).into_iter().collect())
    });
    job
}
