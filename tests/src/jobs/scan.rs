//! Scans in one step, by launches that no description has: lines of more tiles than a run, and of
//! one; blocks that begin in another order, so that tiles are summed for blocks that wait; what
//! lies before lines and after them; addresses off packs; an empty input; a state that other
//! launches left. All memory is judged, the state too.

use std::ops::Range;
use std::sync::Arc;

use blockwise::DeviceProperties;
use blockwise_ops::LaunchPlan;
use bytemuck::Pod;
use kernels::number::Scalar;
use kernels::reduce::{Extreme, Op, Order, Sum};
use kernels::scan::{THREADS, TILE_BYTES, Way, blocks, state_len, tile};

use super::Job;
use crate::data::random_bits;

/// Tiles of a run.
const RUN: usize = 32;

pub(super) fn telling(_: &DeviceProperties) -> Vec<Job> {
    let mut jobs = Vec::new();
    macro_rules! kernels {
        ($($t:ident, $greatest:ident;)*) => {$(
            let name = concat!("scan_once_sum_", stringify!($t));
            jobs.extend(of_kernel::<$t, Sum>(name, [0; 2]));
            let name = concat!("scan_once_extreme_", stringify!($t));
            let flips = [Order::Least, Order::$greatest].map(Order::flip::<$t>);
            jobs.extend(of_kernel::<$t, Extreme>(name, flips));
        )*};
    }
    kernels! {
        i32, Greatest;
        i64, Greatest;
        f32, GreatestFloat;
        f64, GreatestFloat;
    }
    jobs
}

/// One launch.
struct Launch {
    kernel: &'static str,
    extent: usize,
    lines: usize,
    /// Elements before the first one, of the input and of the output.
    skipped: usize,
    /// Whether lines have a prefix, and whether what follows them is wanted.
    before: bool,
    after: bool,
    exclusive: bool,
    flip: u64,
    /// Launches that used the state, and words that it has beyond this one's.
    launches: u32,
    spare: usize,
}

fn of_kernel<T: Element, O: Terms>(kernel: &'static str, flips: [u64; 2]) -> Vec<Job> {
    let size = tile::<T>();
    let whole = Launch {
        kernel,
        extent: size,
        lines: 2,
        skipped: 0,
        before: false,
        after: false,
        exclusive: false,
        flip: flips[0],
        launches: 0,
        spare: 0,
    };
    let noise = |_: i64, random: u64| (random >> 32) as i64 % 1000;
    let falls = |at: i64, random: u64| (random >> 32) as i64 % 64 - 3 * at;
    // Two runs, and three tiles of the next one; each run has its least in another tile.
    let long = Launch {
        extent: (2 * RUN + 2) * size + 5,
        lines: 1,
        before: true,
        after: true,
        ..whole
    };
    let dips = |at: i64, random: u64| match (at as usize / size, random % 501) {
        (tile, 0) if tile == RUN - 2 => -3000 - noise(at, random),
        (tile, 0) if tile == RUN => -5000 - noise(at, random),
        (_, 0) => -1000 - noise(at, random),
        _ => noise(at, random),
    };
    // Lines of a tile and a few elements, whose last blocks wait for that tile only: nearly all of
    // these begin before it in the first other order.
    let pairs = Launch {
        extent: size + 4,
        lines: 35,
        exclusive: true,
        ..whole
    };
    let mut terms = O::terms(&pairs, noise);
    O::place(&mut terms, &pairs);
    let mut jobs = vec![
        job::<T, O>(&long, O::terms(&long, dips)),
        job::<T, O>(&pairs, terms),
    ];
    jobs.iter_mut().for_each(|job| job.orders = 1);
    // Not a number, where there is one.
    let apart = Launch {
        extent: 2 * size + 37,
        skipped: 1,
        after: true,
        exclusive: true,
        flip: flips[1],
        launches: 14,
        spare: 40,
        ..whole
    };
    let mut terms = O::terms(&apart, falls);
    if let (false, Some(nan)) = (O::ZERO_IS_NOTHING, T::NAN) {
        terms[apart.skipped + apart.extent + size + 70] = nan;
    }
    jobs.push(job::<T, O>(&apart, terms));
    let short = Launch {
        extent: size - 3,
        lines: 3,
        before: true,
        after: true,
        exclusive: true,
        ..whole
    };
    for launch in [short, Launch { lines: 0, ..apart }, whole] {
        jobs.push(job::<T, O>(&launch, O::terms(&launch, falls)));
    }
    jobs
}

/// A type of elements. All sums of its terms are exact, in any order, and have all bits that they
/// can have.
trait Element: Scalar + Pod + Send + Sync {
    /// A term of a sum.
    fn term(random: u64) -> Self;
    /// A number below `value + 1`, with bits of its own.
    fn near(value: i64, random: u64) -> Self;
    const NAN: Option<Self>;
}

macro_rules! elements {
    ($($t:ident $nan:expr, $term:expr, $near:expr;)*) => {$(
        impl Element for $t {
            const NAN: Option<Self> = $nan;

            fn term(random: u64) -> Self {
                $term(random)
            }

            fn near(value: i64, random: u64) -> Self {
                $near(value, random)
            }
        }
    )*};
}
elements! {
    i32 None, |random| random as i32, |value, random| (value as i32) << 12 | (random >> 52) as i32;
    i64 None, |random| random as i64, |value, random| value << 40 | (random >> 24) as i64;
    f32 Some(f32::NAN), |random| f32::from(random as i8 | 1), |value, random| {
        value as f32 + (random >> 40) as f32 * 2_f32.powi(-24)
    };
    f64 Some(f64::NAN), |random| (random as i64 >> 29 | 1) as f64, |value, random| {
        value as f64 + (random >> 11) as f64 * 2_f64.powi(-53)
    };
}

/// The terms of an operation.
trait Terms: Op + 'static {
    /// The elements of a launch's input. Of an extreme, `values` says from an element's place and
    /// random bits where about it lies: the lower, the more extreme.
    fn terms<T: Element>(of: &Launch, values: impl Fn(i64, u64) -> i64) -> Vec<T>;

    /// Puts the most extreme number, or what is not a number, in the first tile of each line: all
    /// places in a thread's packs have one, in other warps and lanes.
    fn place<T: Element>(_: &mut [T], _: &Launch) {}
}

impl Terms for Sum {
    fn terms<T: Element>(of: &Launch, _: impl Fn(i64, u64) -> i64) -> Vec<T> {
        let terms = std::iter::repeat_with(random_bits(5)).map(T::term);
        terms.take(of.skipped + of.lines * of.extent).collect()
    }
}

impl Terms for Extreme {
    fn terms<T: Element>(of: &Launch, values: impl Fn(i64, u64) -> i64) -> Vec<T> {
        let mut random = random_bits(7);
        let term = |at: usize| {
            let near = T::near(values((at % of.extent) as i64, random()), random());
            Self::turned(near, of.flip)
        };
        (0..of.skipped + of.lines * of.extent).map(term).collect()
    }

    fn place<T: Element>(terms: &mut [T], of: &Launch) {
        let lanes = 16 / size_of::<T>();
        let mut random = random_bits(9);
        for (line, terms) in terms.chunks_mut(of.extent).enumerate() {
            let turn = line / 2;
            let (warp, pack, lane) = (turn % 8, turn % 4, (11 * turn + 3) % 32);
            let at = ((warp * 4 + pack) * 32 + lane) * lanes + turn / 4 % lanes;
            let least = T::near(-5000, random());
            terms[at] = match T::NAN {
                Some(nan) if line % 2 == 1 => nan,
                _ => Self::turned(least, of.flip),
            };
        }
    }
}

/// Where operands of a job's output begin.
const PLACE: usize = 256;

fn job<T: Element, O: Terms>(of: &Launch, input: Vec<T>) -> Job {
    let width = size_of::<T>();
    let len = of.lines * of.extent;
    let each = of.extent.div_ceil(tile::<T>());
    let words = match state_len::<T>(Way::Tiles, len, of.extent, 1) {
        0 => 0,
        words => words + of.spare,
    };
    let before = match of.before {
        // As a tile's first terms are.
        true => input[of.skipped + 1..][..of.lines].to_vec(),
        false => Vec::new(),
    };
    let after = if of.after { of.lines } else { 0 };

    // The output, the state, and what comes after each line.
    let output = of.skipped * width..(of.skipped + len) * width;
    let state = place(&output, 8 * words);
    let rest = place(&state, after * width);
    let mut memory = vec![0xFF; rest.end.next_multiple_of(4)];
    // What earlier launches published, as theirs.
    let old = u64::from(of.launches) << 32;
    for (at, word) in memory[state.clone()]
        .as_chunks_mut()
        .0
        .iter_mut()
        .enumerate()
    {
        let value = if at == 0 || old == 0 {
            0
        } else {
            0x5A00 + at as u64
        };
        *word = (old | value).to_le_bytes();
    }

    let plan = LaunchPlan {
        kernel: of.kernel,
        grid: [blocks::<T>(Way::Tiles, len, of.extent, 1) as u32, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared_bytes: TILE_BYTES,
    };
    let case = format!(
        "{} lines of {} tiles from element {} on, {} before, after launch {}{}",
        of.lines,
        each,
        of.skipped,
        before.len(),
        of.launches,
        if of.exclusive { ", exclusive" } else { "" },
    );
    let mut job = Job::new::<u8>(case, plan, memory.len(), |_| Ok(()))
        .slice_from(&input, of.skipped)
        .out_from(output.start, len)
        .out_from(state.start, words)
        .slice(&before)
        .out_from(rest.start, after)
        .value(of.extent)
        .value(of.flip as usize)
        .value(usize::from(of.exclusive));
    job.start = memory.clone();

    let scanned = Scanned::of::<O>(of, &input[of.skipped..], &before);
    memory[output].copy_from_slice(bytemuck::cast_slice(&scanned.output));
    if words > 0 && len > 0 {
        let tag = of.launches + 1;
        let first = u64::from(tag) << 32;
        let values = scanned.published.iter().flat_map(|value| {
            let halves = [value.bits() & 0xFFFF_FFFF, value.bits() >> 32];
            halves.into_iter().take(width / 4)
        });
        let mut left: Vec<u64> = std::iter::once(0)
            .chain(values)
            .map(|half| first | half)
            .collect();
        let others: Vec<u64> =
            bytemuck::pod_collect_to_vec(&memory[state.clone()][8 * left.len()..]);
        let written = left.len() - 1;
        left.extend(others);
        // One word that no value is in has the launch's tag.
        let spare = 1 + tag as usize % (words - 1);
        if spare > written {
            left[spare] = first;
        }
        memory[state].copy_from_slice(bytemuck::cast_slice(&left));
    }
    if of.after {
        memory[rest].copy_from_slice(bytemuck::cast_slice(&scanned.after));
    }
    job.judge = Arc::new(move |bytes| {
        match bytes
            .iter()
            .zip(&memory)
            .position(|(is, wanted)| is != wanted)
        {
            None => Ok(()),
            Some(at) => Err(format!("byte {at} of the memory is another one")),
        }
    });
    job
}

/// The place of so many bytes after another.
fn place(before: &Range<usize>, bytes: usize) -> Range<usize> {
    let start = before.end.next_multiple_of(PLACE);
    start..start + bytes
}

/// What a launch leaves.
struct Scanned<T> {
    output: Vec<T>,
    after: Vec<T>,
    /// The totals of each line's tiles and then of its whole runs.
    published: Vec<T>,
}

impl<T: Element> Scanned<T> {
    fn of<O: Op>(of: &Launch, input: &[T], before: &[T]) -> Self {
        let turned = |value: T| O::turned(value, of.flip);
        let total = |values: &[T]| {
            let turned = values.iter().map(|&value| turned(value));
            turned.fold(O::nothing(), O::apply)
        };
        let (mut output, mut after, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for (number, line) in input.chunks(of.extent).enumerate() {
            let start = match before.get(number) {
                Some(&before) => turned(before),
                None if of.exclusive => O::identity(),
                None => O::nothing(),
            };
            let mut running = O::nothing();
            for &element in line {
                let next = O::apply(running, turned(element));
                let value = if of.exclusive { running } else { next };
                output.push(turned(O::apply(start, value)));
                running = next;
            }
            after.push(turned(O::apply(start, running)));
            let size = tile::<T>();
            published.extend(line.chunks(size).map(total));
            published.extend(line.chunks_exact(RUN * size).map(total));
        }
        Self {
            output,
            after,
            published,
        }
    }
}
