//! Which kernel computes a product, and in how many slices.
//!
//! The kernel, its tiles and its slices have the shortest time in a [model](super::cost) of the
//! launches; `blockwise tune` compares the choices on the device at hand.

use std::ops::RangeInclusive;

use blockwise::DeviceProperties;
use kernels::matmul::policy::{Tiles, VECTOR as PACK};
use kernels::matmul::slices::{Cut, MOST_SLICES, Slicing};

use super::cost::{self, Cost, SHORTEST};
use super::rates::{self, WIDE};
use super::vectors::{fit, vectors};
use super::{
    DIRECT, FEW, MATMUL, MMA, NAIVE, PIPELINED, REGISTER_TILE, SHORT, SLICED, SLICED_COPY, SMALL,
    TENSOR, TILED, direct, extents, few, is_one, mma, short, small,
};
use crate::operation::{Options, Task, Variant};

/// The cost of copying B before the product: nanoseconds of the launch and of each row, and the
/// bytes that it reads and writes per nanosecond: 11 µs for 4099 × 601, 6 for 1000 × 1001, 16 for
/// 8192 × 303.
const COPY: f64 = 3200.0;
const ROW: f64 = 0.8;
const COPIED: f64 = 4000.0;
/// B is copied if the product then takes less than this fraction of the time without it:
///
/// | H200 | by the model | measured |
/// | --- | --- | --- |
/// | 2178 × 8712 × 1519 | 0.968 | 0.953 |
/// | 8191³ | 0.980 | 0.978 |
/// | 920 × 2718 × 2053 | 0.982 | 1.017 |
/// | 4093 × 4099 × 4111 | 0.986 | 0.981 |
/// | 1909 × 4823 × 1945 | 0.993 | 0.999 |
/// | 2001³ | 1.002 | 0.979 |
const WORTH: f64 = 0.987;

/// The fastest method: a kernel, perhaps with a copy of B. No copy if the caller set any option but
/// `once`.
pub(super) fn fastest(task: &Task<'_>) -> &'static Variant {
    let (problem, device) = (task.problem, task.device);
    if problem.settings[0] == 1 {
        return &TENSOR;
    }
    let of = extents(problem);
    // `once` is ignored, so that a single call has the bits of repeated ones.
    let once = task.options.once;
    let open = Options {
        once,
        ..Options::default()
    };
    let is_open = is_one(problem) && *task.options == open;
    let one = task.options.count.is_some_and(|count| count.get() == 1);
    let most = if one { 1 } else { MOST_SLICES };
    let kernel = kernel(task, most);
    match is_open && copy_pays(kernel, of, problem.ty.bytes(), device) {
        true => &SLICED_COPY,
        false => kernel,
    }
}

/// The fastest kernel in at most `most` slices, by the model; for a batch, only among the kernels
/// that take batches.
pub(super) fn kernel(task: &Task<'_>, most: usize) -> &'static Variant {
    if few::pays(task.problem, task.device) {
        return &FEW;
    }
    if short::pays(task) {
        return &SHORT;
    }
    fastest_in(MATMUL.variants, task, most).unwrap_or(&TILED)
}

/// The fastest of these for the task's problem; `None` if the model covers none of them.
pub(super) fn fastest_in(
    kernels: &[&'static Variant],
    task: &Task<'_>,
    most: usize,
) -> Option<&'static Variant> {
    let all = kernels.iter().copied();
    let timed = all
        .filter(|kernel| kernel.takes(task.problem.ty))
        .filter_map(|kernel| Some((time(kernel, task, most)?, kernel)));
    let fastest = timed.min_by(|(one, _), (other, _)| one.total_cmp(other));
    fastest.map(|(_, kernel)| kernel)
}

/// Nanoseconds of a kernel in at most `most` slices; `None` if the model does not cover it.
fn time(kernel: &Variant, task: &Task<'_>, most: usize) -> Option<f64> {
    let Task {
        problem,
        device,
        aligned,
        ..
    } = *task;
    let (of, batch, bytes) = (extents(problem), problem.extents[3], problem.ty.bytes());
    let multiprocessors = device.multiprocessors_to_fill() as usize;
    let packs = task.in_packs(&of[2..]);
    let whole = |cost: Cost| Some(cost.time(of, packs, multiprocessors));
    match kernel {
        _ if batch != 1 && [&NAIVE, &TILED, &REGISTER_TILE].contains(&kernel) => None,
        _ if *kernel == SMALL && batch != 1 => small::time(task),
        _ if *kernel == SHORT && (batch != 1 || bytes == 8) => short::time(task),
        _ if *kernel == FEW && batch != 1 => few::time(task),
        _ if *kernel == NAIVE => whole(cost::naive(bytes)),
        _ if *kernel == TILED => whole(cost::tiled(bytes)),
        _ if *kernel == REGISTER_TILE => whole(cost::register_tile(bytes)),
        _ if *kernel == PIPELINED => {
            let fits = batch <= device.max_grid[2] as usize && Tiles::Wide.fit(of[2]);
            (fits && aligned).then(|| wide(of, batch, device))
        }
        _ if *kernel == SLICED => {
            Some(in_slices((of, batch), bytes, most, of[2], aligned, device).0)
        }
        _ if *kernel == DIRECT => direct::time_of(task, most),
        _ if *kernel == MMA && !mma::is_counted(of) => None,
        _ if *kernel == MMA => Some(mma::slices(task, most).0),
        _ => None,
    }
}

/// Nanoseconds of [`Tiles::Wide`].
fn wide(of: [usize; 3], batch: usize, device: &DeviceProperties) -> f64 {
    let multiprocessors = device.multiprocessors_to_fill() as usize;
    WIDE.time(&Tiles::Wide.policy(), of, [batch, 1], 1.0, multiprocessors)
}

/// Whether they are at least as fast as [`Tiles::Tall`].
pub(super) fn wide_is_faster(of: [usize; 3], batch: usize, device: &DeviceProperties) -> bool {
    let tall = in_tiles((of, batch), Cut::Tall, 1, true, device);
    wide(of, batch, device) <= tall
}

/// Nanoseconds of these tiles of `sliced`, with copies of vectors from B or of single elements.
fn in_tiles(
    (of, batch): ([usize; 3], usize),
    cut: Cut,
    slices: usize,
    vectors: bool,
    device: &DeviceProperties,
) -> f64 {
    let multiprocessors = device.multiprocessors_to_fill() as usize;
    let rates = rates::sliced(cut, vectors);
    rates.time(
        &cut.policy(vectors),
        of,
        [batch, slices],
        1.0,
        multiprocessors,
    )
}

/// The number of full waves of tiles of [`Tiles::Wide`]; 0 if these tiles do not fit the columns.
pub(super) fn wide_waves([rows, _, cols]: [usize; 3], device: &DeviceProperties) -> usize {
    let at_once = device.multiprocessors_to_fill() as usize;
    match Tiles::Wide.fit(cols) {
        true => Tiles::Wide.policy().tiles(rows, cols) / at_once.max(1),
        false => 0,
    }
}

/// The slices of the kernel: the requested number, else the fastest within the limit.
pub(super) fn slicing(task: &Task<'_>) -> Slicing {
    let (of, device) = (extents(task.problem), task.device);
    let ([_, inner, cols], batch) = (of, task.problem.extents[3]);
    let bytes = task.problem.ty.bytes();
    let asked = task.options.count.map(|count| count.get() as usize);
    let cut = Cut::Small;
    let with = |slices: usize| Slicing { cut, slices };
    if *task.variant == FEW {
        return with(asked.unwrap_or_else(|| few::fastest(task).1));
    }
    if *task.variant == DIRECT {
        return with(direct::chosen(task).slices);
    }
    if *task.variant == MMA {
        return with(asked.unwrap_or_else(|| mma::slices(task, MOST_SLICES).1[0]));
    }
    let pitch = if *task.variant == SLICED_COPY {
        PACK
    } else {
        cols
    };
    let cuts = match task.options.instance.map(usize::from) {
        Some(at) => Cut::ALL.get(at..=at).unwrap_or_default(),
        None => &Cut::ALL,
    };
    let slices = match asked {
        Some(slices) => slices..=slices,
        None => 1..=longest(inner, MOST_SLICES),
    };
    let vectors = vectors(&SLICED, of, bytes, pitch);
    let aligned = task.aligned || *task.variant == SLICED_COPY;
    let vectors = [vectors, aligned];
    fastest_of((of, batch), bytes, cuts, slices, vectors, device).1
}

fn longest(inner: usize, most: usize) -> usize {
    match inner < SLICED_FROM {
        true => 1,
        false => (inner / SHORTEST).clamp(1, most),
    }
}

/// The inner extent from which on slices are considered: 128 × 128 × 1408 takes 9.2 µs in one, 10.3
/// in two.
const SLICED_FROM: usize = 192;

/// Whether a copy of B in vectors makes `sliced` faster, if that is the kernel.
fn copy_pays(kernel: &Variant, of: [usize; 3], bytes: usize, device: &DeviceProperties) -> bool {
    let [_, inner, cols] = of;
    let with = |pitch| vectors(&SLICED, of, bytes, pitch);
    if *kernel != SLICED || with(cols) || !with(PACK) {
        return false;
    }
    let fastest = |pitch| in_slices((of, 1), bytes, MOST_SLICES, pitch, true, device).0;
    let (single, copied) = (fastest(cols), fastest(PACK));
    let (inner, cols) = (inner as f64, cols as f64);
    let moved = 2.0 * bytes as f64 * inner * cols;
    copied + COPY + ROW * inner + moved / COPIED < WORTH * single
}

/// The nanoseconds of `sliced` in the fastest slices, at most `most`, if rows of B have this pitch
/// and B and C begin at multiples of 16 bytes or not.
fn in_slices(
    (of, batch): ([usize; 3], usize),
    bytes: usize,
    most: usize,
    pitch: usize,
    aligned: bool,
    device: &DeviceProperties,
) -> (f64, Slicing) {
    let vectors = vectors(&SLICED, of, bytes, pitch);
    fastest_of(
        (of, batch),
        bytes,
        &Cut::ALL,
        1..=longest(of[1], most),
        [vectors, aligned],
        device,
    )
}

/// These tiles; those whose blocks stride over layers, if a grid has not as many.
fn within(cut: Cut, layers: usize, device: &DeviceProperties) -> Cut {
    match layers <= device.max_grid[2] as usize {
        true => cut,
        false => Cut::Tall,
    }
}

/// The fastest of these cuts and numbers of slices, and its nanoseconds, of several slices over
/// [`cost::WORTH`]. `vectors`: rows are whole
/// vectors, which pay; `aligned`: B and C begin at multiples of 16 bytes.
fn fastest_of(
    (of, batch): ([usize; 3], usize),
    bytes: usize,
    cuts: &[Cut],
    slices: RangeInclusive<usize>,
    [vectors, aligned]: [bool; 2],
    device: &DeviceProperties,
) -> (f64, Slicing) {
    let all = cuts.iter().flat_map(|&cut| {
        slices.clone().map(move |slices| {
            let cut = within(cut, slices.saturating_mul(batch), device);
            let vectors = vectors && fit(cut, [aligned; 2], of[2]);
            let multiplied = in_tiles((of, batch), cut, slices, vectors, device);
            let time = multiplied + cost::fold(of, batch, slices, bytes, device);
            let worth = if slices == 1 { 1.0 } else { cost::WORTH };
            (time / worth, Slicing { cut, slices })
        })
    });
    let fastest = all.min_by(|(one, _), (other, _)| one.total_cmp(other));
    let (cut, slices) = (Cut::Small, 1);
    fastest.unwrap_or((f64::INFINITY, Slicing { cut, slices }))
}

#[cfg(test)]
mod tests;
