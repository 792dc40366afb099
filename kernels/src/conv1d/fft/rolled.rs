//! Transforms as a loop over steps: for levels, which are rare, so that their code is small.
//!
//! A step takes four points a quarter of a line apart, in place. There, lines get shorter, and the
//! spectrum comes out with the bits of its numbers reversed; back, the same steps in reverse order
//! take it so. A thread's points of the longest lines are its places in a window, so the first step
//! and the last one need no barrier around them.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::butterfly::{Of, transform};
use super::complex::{Complex, Pair, Transformed, read_number, write_number};
use super::passes::Worker;
use super::shape::{MOST_PASSES, Pass, Shape, gapped};
use crate::here::zero_here;

/// The roots exp(−2πi·t/N) for t below N/2, as products of two from the tables.
#[derive(Clone, Copy)]
pub(super) struct Roots<T: Transformed> {
    /// Root t for t below 2^`log`, `apart` from each other.
    first: *const Complex<T>,
    apart: usize,
    log: u32,
    /// exp(−2πi·t/32) for t below 16, and the logarithm of how many of them are a step of 2^`log`.
    others: *const Pair<T>,
    step: u32,
}

impl<T: Transformed> Roots<T> {
    /// Of a shape's transforms.
    #[inline(always)]
    pub(super) fn of_shape<S: Shape>(worker: Worker<T>) -> Self {
        let [first, second, ..] = S::PASSES;
        const { assert!(S::PASSES[1].stride == 16 && S::PASSES[0].radix <= 32) };
        Self {
            // The first butterfly output after output 0.
            first: worker.factors.cast::<Complex<T>>().wrapping_add(1),
            apart: 2,
            log: first.stride.ilog2(),
            // The output in the middle of the second pass's butterflies.
            others: (worker.factors)
                .wrapping_add(second.factors + second.radix / 4 * second.stride),
            step: 5 - first.radix.ilog2(),
        }
    }

    /// Of long transforms with rows of a shape. `roots` is the table of the columns.
    #[inline(always)]
    pub(super) fn of_rows<S: Shape>(worker: Worker<T>, roots: *const Complex<T>) -> Self {
        Self {
            first: roots,
            apart: 1,
            log: S::POINTS.ilog2(),
            step: 0,
            ..Self::of_shape::<S>(worker)
        }
    }

    /// Root t, rounded three times: powers of one root would lose digits.
    ///
    /// # Safety
    /// `t` is below N/2, and the tables are the shape's.
    #[inline(always)]
    pub(super) unsafe fn root(self, t: usize) -> Complex<T> {
        let near = t & ((1 << self.log) - 1);
        // SAFETY: the caller's promise.
        unsafe {
            let first = read_number(self.first.add(self.apart * near));
            first * read_number(self.others.add(t >> self.log << self.step).cast())
        }
    }
}

/// Takes points through the steps with quarters from 2^`longest` down to 2^`shortest` points, calls
/// `middle`, and takes them back. `at` gives a point's place in memory, `log` is the logarithm of
/// their number.
///
/// # Safety
/// All threads of the block call it, with their number and the number of threads, which divides the
/// longest quarter. Nothing else uses the points. A thread has written those at its number and
/// multiples of the threads after it; `middle` may use any point, and needs no barriers around it.
#[inline(always)]
pub(super) unsafe fn there_and_back<T: Transformed>(
    at: impl Fn(usize) -> *mut Complex<T>,
    [thread, threads]: [usize; 2],
    roots: Roots<T>,
    log: u32,
    [longest, shortest]: [u32; 2],
    mut middle: impl FnMut(),
) {
    let mut quarter = longest;
    // 0 there and 1 back, which LLVM must not know: a step's code is there once.
    let mut back = zero_here();
    loop {
        let mut n = thread;
        while n < 1 << (log - 2) {
            // SAFETY: the caller's promise.
            unsafe { step(&at, roots, n, [log, quarter], back + zero_here() > 0) };
            n += threads;
        }
        if back > 0 && quarter == longest {
            return;
        }
        // Orders all points of a step before the reads of the next one, or of `middle`.
        thread::sync_threads();
        if back > 0 {
            quarter += 2;
        } else if quarter > shortest {
            quarter -= 2;
        } else {
            middle();
            // Orders what `middle` wrote before the next step's reads.
            thread::sync_threads();
            back += 1;
        }
    }
}

/// Butterfly `n` of a step with lines of four quarters.
///
/// # Safety
/// As for [`there_and_back`]; no other thread uses its points.
#[inline(always)]
unsafe fn step<T: Transformed>(
    at: impl Fn(usize) -> *mut Complex<T>,
    roots: Roots<T>,
    n: usize,
    [log, quarter]: [u32; 2],
    back: bool,
) {
    let place = n & ((1 << quarter) - 1);
    let first = 4 * n - 3 * place;
    // The two points in the middle change places, on one side of the butterfly.
    let (second, third) = if back { (2, 1) } else { (1, 2) };
    let of = |r: usize| at(first + (r << quarter));
    let (inner, others) = ([of(second), of(third)], [of(0), of(3)]);
    // SAFETY: the caller's promise.
    unsafe {
        let turn = |points: &mut [Complex<T>; 4]| {
            let place = place << (log - 2 - quarter);
            let [root, square] = [roots.root(place), roots.root(2 * place)];
            points[1] = points[1] * root;
            points[2] = points[2] * square;
            points[3] = points[3] * (root * square);
        };
        let mut points = [others[0], inner[0], inner[1], others[1]].map(|of| read_number(of));
        if back {
            turn(&mut points);
        }
        transform::<_, Of<4>, _>(&mut points, 0);
        if !back {
            turn(&mut points);
        }
        write_number(others[0], points[0]);
        write_number(inner[1], points[1]);
        write_number(inner[0], points[2]);
        write_number(others[1], points[3]);
    }
}

/// Convolves the window in the shared array with the taps: transforms it, multiplies it by their
/// spectrum and transforms it back with swapped parts.
///
/// # Safety
/// As for [`there_and_back`]; `spectrum` has the shape's numbers.
#[inline(always)]
pub(super) unsafe fn convolve<S: Shape, T: Transformed>(
    worker: Worker<T>,
    spectrum: *const Complex<T>,
) {
    let threads = [worker.thread, S::THREADS];
    let at = |slot: usize| worker.shared.wrapping_add(gapped::<S>(slot));
    let log = S::POINTS.ilog2();
    let roots = Roots::of_shape::<S>(worker);
    // SAFETY: the caller's promise.
    unsafe {
        there_and_back(at, threads, roots, log, [log - 2, log % 2], || {
            let mut slot = 2 * worker.thread;
            while slot < S::POINTS {
                multiply::<S, T>([at(slot), at(slot + 1)], spectrum.add(place::<S>(slot)));
                slot += 2 * S::THREADS;
            }
        });
    }
}

/// Multiplies two adjacent points by the spectrum, of which `spectrum` is the first one's, and
/// swaps their parts. Where the number of points is no power of four, lines of two are left.
///
/// # Safety
/// No other thread uses the points.
#[inline(always)]
unsafe fn multiply<S: Shape, T: Transformed>(
    at: [*mut Complex<T>; 2],
    spectrum: *const Complex<T>,
) {
    let two = const { S::POINTS.ilog2() % 2 == 1 };
    // SAFETY: the caller's promise. The points' numbers differ by half the last pass's radix.
    unsafe {
        let mut points = at.map(|at| read_number(at));
        let factors =
            [0, last::<S>().radix / 2 * S::THREADS].map(|at| read_number(spectrum.add(at)));
        if two {
            transform::<_, Of<2>, _>(&mut points, 0);
        }
        points = [0, 1].map(|i: usize| (points[i] * factors[i]).exchanged());
        if two {
            transform::<_, Of<2>, _>(&mut points, 0);
        }
        write_number(at[0], points[0]);
        write_number(at[1], points[1]);
    }
}

/// The last pass of a shape.
const fn last<S: Shape>() -> Pass {
    let mut pass = MOST_PASSES - 1;
    while S::PASSES[pass].radix == 1 {
        pass -= 1;
    }
    S::PASSES[pass]
}

/// Where a spectrum in the order of registers has the number that is at `slot` here.
#[inline(always)]
fn place<S: Shape>(slot: usize) -> usize {
    // A butterfly's outputs are in natural order there.
    let mut of_passes = 0;
    unrolled::<MOST_PASSES>(|p| {
        let Pass { radix, stride, .. } = S::PASSES[p];
        if radix > 1 {
            let digit = reversed(slot / stride % radix, radix.ilog2());
            of_passes += digit * stride;
        }
    });
    let radix = last::<S>().radix;
    let (line, output) = (of_passes / radix, of_passes % radix);
    let register = line / S::THREADS * radix + output;
    2 * (register / 2 * S::THREADS + line % S::THREADS) + register % 2
}

/// A number with its bits reversed, of which it has `bits`.
#[inline(always)]
pub(super) const fn reversed(number: usize, bits: u32) -> usize {
    ((number as u32).reverse_bits() >> (32 - bits)) as usize
}
