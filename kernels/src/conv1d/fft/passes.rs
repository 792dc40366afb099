//! The passes of a transform: points in registers, exchanged through shared memory.

use core::marker::PhantomData;

use cuda_std::thread;
use cuda_std::unroll::unrolled;

use super::butterfly::{Radix, transform};
use super::complex::{Complex, Pair, Transformed, complex, read_number, write_number};
use super::quiet::Mark;
use super::shape::{
    MARKS, MOST_PASSES, Pass, Shape, factors_at, first_slot, gapped, slot_of, slots,
};
use crate::here::thread_here;

/// The first pairs of a thread's factors in a pass, or of the spectrum, loaded before they are
/// needed.
///
/// - Before the barrier that comes before a pass, when the points are in shared memory and their
///   registers are free: the loads are in flight while the block waits. More than eight pairs would
///   not fit with 32 points, and next to a window's marks they fit only in the largest shape
///   (docs/log/2026-11-26-quiet-passages.md).
/// - For the first pass along with the samples, as many as registers go.
#[derive(Clone, Copy)]
pub(super) struct Ahead<T: Transformed> {
    pairs: [Pair<T>; MOST_AHEAD],
    count: usize,
}

/// The most pairs that are loaded before they are needed.
pub(super) const MOST_AHEAD: usize = 8;

impl<T: Transformed> Ahead<T> {
    /// No pair.
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self::load(0, |_| Pair([Complex::zero(); 2]))
    }

    /// The first `count` pairs, a constant.
    #[inline(always)]
    fn load(count: usize, pair: impl Fn(usize) -> Pair<T>) -> Self {
        let mut pairs = [Pair([Complex::zero(); 2]); MOST_AHEAD];
        unrolled::<MOST_AHEAD>(|i| {
            if i < count {
                pairs[i] = pair(i);
            }
        });
        Self { pairs, count }
    }

    /// A pair, which `load` loads if it is not here.
    #[inline(always)]
    pub(super) fn pair(&self, pair: usize, load: impl FnOnce() -> Pair<T>) -> Pair<T> {
        if pair < self.count {
            self.pairs[pair]
        } else {
            load()
        }
    }
}

/// The most butterflies of a thread in the first pass.
pub(super) const MOST_BUTTERFLIES: usize = 2;

/// One thread's part of a block's transforms.
#[derive(Clone, Copy)]
pub(super) struct Worker<T: Transformed> {
    pub(super) thread: usize,
    /// The shared array, of [`slots`](super::shape::slots) elements.
    pub(super) shared: *mut Complex<T>,
    /// The table of twiddle factors, see [`factors`](super::shape::factors).
    pub(super) factors: *const Pair<T>,
}

impl<T: Transformed> Worker<T> {
    /// The same worker for a rare branch, so that nothing is computed for it ahead of the branch:
    /// see [`thread_here`].
    #[inline(always)]
    pub(super) fn here(self) -> Self {
        let thread = thread_here() as usize;
        Self { thread, ..self }
    }

    /// The warps' marks, after the transform's array.
    #[inline(always)]
    fn marks<S: Shape>(self) -> *mut Mark {
        self.shared.wrapping_add(slots::<S>()).cast()
    }

    /// The memory after the marks.
    #[inline(always)]
    pub(super) fn after_marks<S: Shape>(self) -> *mut u32 {
        self.marks::<S>().wrapping_add(MARKS).cast()
    }

    /// Writes the mark of this thread's warp.
    ///
    /// # Safety
    /// The shared memory has room for marks.
    #[inline(always)]
    pub(super) unsafe fn write_mark<S: Shape>(self, mark: Mark) {
        if self.thread.is_multiple_of(32) {
            // SAFETY: the caller's promise; a block has no more warps than marks.
            unsafe { self.marks::<S>().add(self.thread / 32).write(mark) };
        }
    }

    /// Reads a warp's mark. Needs a barrier after the write.
    ///
    /// # Safety
    /// That warp has written it.
    #[inline(always)]
    pub(super) unsafe fn mark<S: Shape>(self, warp: usize) -> Mark {
        // SAFETY: the caller's promise.
        unsafe { self.marks::<S>().add(warp).read() }
    }

    /// This thread's places in a window, in order, with their slots in the transform's array. A
    /// loop over them needs few registers.
    #[inline(always)]
    pub(super) fn places<S: Shape>(self, mut body: impl FnMut(usize, *mut Complex<T>)) {
        let mut place = self.thread;
        while place < S::POINTS {
            body(place, self.shared.wrapping_add(gapped::<S>(place)));
            place += S::THREADS;
        }
    }

    /// Writes a pass's points to their slots, which only this thread has read before.
    ///
    /// # Safety
    /// The shared array has all slots of the shape, and no other thread uses these.
    #[inline(always)]
    unsafe fn put<S: Shape, const E: usize>(self, points: &[Complex<T>; E], pass: Pass) {
        let first = self.shared.wrapping_add(first_slot::<S>(pass, self.thread));
        unrolled::<E>(|e| {
            let slot = slot_of::<S>(pass, e / pass.radix, e % pass.radix);
            // SAFETY: the caller's promise.
            unsafe { write_number(first.add(slot), points[e]) };
        });
    }

    /// Reads a pass's points from their slots.
    ///
    /// # Safety
    /// As for [`put`](Self::put), and all points have been written.
    #[inline(always)]
    unsafe fn get<S: Shape, const E: usize>(self, points: &mut [Complex<T>; E], pass: Pass) {
        let first = self.shared.wrapping_add(first_slot::<S>(pass, self.thread));
        unrolled::<E>(|e| {
            let slot = slot_of::<S>(pass, e / pass.radix, e % pass.radix);
            // SAFETY: the caller's promise.
            points[e] = unsafe { read_number(first.add(slot)) };
        });
    }

    /// A pass's pair of factors.
    ///
    /// # Safety
    /// The table is the shape's, and has factors for the pass.
    #[inline(always)]
    unsafe fn pair<S: Shape>(self, pass: Pass, pair: usize) -> Pair<T> {
        let first = self.factors.wrapping_add(self.thread % pass.stride);
        let (q, output) = (2 * pair / pass.radix, 2 * pair % pass.radix);
        let at = factors_at::<S>(pass, q) + output / 2 * pass.stride;
        // SAFETY: the caller's promise.
        unsafe { first.add(at).read() }
    }

    /// Loads the first `count` pairs of factors of a pass that is not the last.
    ///
    /// # Safety
    /// The table is the shape's.
    #[inline(always)]
    pub(super) unsafe fn ahead<S: Shape, const P: usize>(self, count: usize) -> Ahead<T> {
        const { assert!(S::PASSES[P].stride > 1) };
        // SAFETY: the caller's promise.
        Ahead::load(count, |pair| unsafe { self.pair::<S>(S::PASSES[P], pair) })
    }

    /// Multiplies a pass's points by their twiddle factors, except where the factor is 1.
    ///
    /// # Safety
    /// The table is the shape's; `ahead` is from it.
    #[inline(always)]
    unsafe fn turn<S: Shape, const E: usize>(
        self,
        points: &mut [Complex<T>; E],
        pass: Pass,
        ahead: Ahead<T>,
    ) {
        if pass.stride == 1 {
            return;
        }
        unrolled::<16>(|pair| {
            if 2 * pair < E {
                // SAFETY: the caller's promise.
                let load = || unsafe { self.pair::<S>(pass, pair) };
                let Pair([even, odd]) = ahead.pair(pair, load);
                if 2 * pair % pass.radix > 0 {
                    points[2 * pair] = points[2 * pair] * even;
                }
                points[2 * pair + 1] = points[2 * pair + 1] * odd;
            }
        });
    }

    /// Transforms the points, from the first pass's registers to the last pass's. The spectrum
    /// stays in the order that the passes produce. Returns the taps' first pairs at `spectrum`, if
    /// there is one.
    ///
    /// # Safety
    /// All threads of the block call it together; the shared array has all slots of the shape and
    /// no other use; the table is the shape's, and `ahead` is from [`ahead`](Self::ahead).
    /// `spectrum` points to this thread's first pair.
    #[inline(always)]
    pub(super) unsafe fn forward<S: Shape, const E: usize, const AHEAD: bool>(
        self,
        points: &mut [Complex<T>; E],
        ahead: Ahead<T>,
        spectrum: Option<*const Pair<T>>,
    ) -> Ahead<T> {
        // SAFETY: the caller's promise.
        unsafe {
            self.forward_pass::<S, E, AHEAD, 0>(points, ahead, spectrum);
            self.forward_pass::<S, E, AHEAD, 1>(points, Ahead::none(), spectrum);
            self.after_second::<S, E, AHEAD>(points, spectrum)
        }
    }

    /// The passes of [`forward`](Self::forward) after the second.
    ///
    /// # Safety
    /// As for it.
    #[inline(always)]
    pub(super) unsafe fn after_second<S: Shape, const E: usize, const AHEAD: bool>(
        self,
        points: &mut [Complex<T>; E],
        spectrum: Option<*const Pair<T>>,
    ) -> Ahead<T> {
        // SAFETY: the caller's promise.
        unsafe {
            let ahead = self.forward_pass::<S, E, AHEAD, 2>(points, Ahead::none(), spectrum);
            self.forward_pass::<S, E, AHEAD, 3>(points, ahead, spectrum)
        }
    }

    /// The first pass's points where only the first of each butterfly is not 0, and real: all
    /// outputs of a butterfly are that number, times their factors.
    ///
    /// # Safety
    /// The table is the shape's; `ahead` is from [`ahead`](Self::ahead).
    #[inline(always)]
    pub(super) unsafe fn spread<S: Shape, const E: usize>(
        self,
        firsts: [T; MOST_BUTTERFLIES],
        ahead: Ahead<T>,
    ) -> [Complex<T>; E] {
        let mut points = [Complex::zero(); E];
        let pass = S::PASSES[0];
        unrolled::<16>(|pair| {
            if 2 * pair < E {
                let first = firsts[2 * pair / pass.radix];
                // SAFETY: the caller's promise.
                let load = || unsafe { self.pair::<S>(pass, pair) };
                let Pair([even, odd]) = ahead.pair(pair, load);
                points[2 * pair] = match 2 * pair % pass.radix {
                    0 => complex(first, T::ZERO),
                    _ => complex(first * even.re, first * even.im),
                };
                points[2 * pair + 1] = complex(first * odd.re, first * odd.im);
            }
        });
        points
    }

    /// One of the passes; `pairs` has the first factors of the first two, if they are loaded.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward); `pairs` is from [`ahead`](Self::ahead).
    #[inline(always)]
    pub(super) unsafe fn forward_pass<
        S: Shape,
        const E: usize,
        const AHEAD: bool,
        const P: usize,
    >(
        self,
        points: &mut [Complex<T>; E],
        mut pairs: Ahead<T>,
        spectrum: Option<*const Pair<T>>,
    ) -> Ahead<T> {
        let pass = S::PASSES[P];
        if const { S::PASSES[P].radix == 1 } {
            return pairs;
        }
        // SAFETY: the caller's promise. Before the barrier a thread writes only slots that it alone
        // reads.
        unsafe {
            if P > 0 {
                self.put::<S, E>(points, S::PASSES[P - 1]);
                pairs = match spectrum {
                    _ if pairs.count > 0 && P == 1 => pairs,
                    _ if !AHEAD => Ahead::none(),
                    _ if pass.stride > 1 => {
                        Ahead::load(MOST_AHEAD, |pair| self.pair::<S>(pass, pair))
                    }
                    Some(pairs) => {
                        Ahead::load(MOST_AHEAD, |pair| pairs.add(pair * S::THREADS).read())
                    }
                    None => Ahead::none(),
                };
                // Orders every thread's points of the last pass before any thread's reads of them.
                thread::sync_threads();
                self.get::<S, E>(points, pass);
            }
            butterflies::<T, OfPass<S, P>, E>(points);
            self.turn::<S, E>(points, pass, pairs);
        }
        pairs
    }

    /// Transforms a spectrum with swapped parts back to points with swapped parts: the passes of
    /// [`forward`](Self::forward) in reverse order, each with its steps reversed. Returns whether
    /// any thread's `vote` was true.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward).
    #[inline(always)]
    pub(super) unsafe fn inverse<S: Shape, const E: usize, const AHEAD: bool>(
        self,
        points: &mut [Complex<T>; E],
        vote: bool,
    ) -> bool {
        // SAFETY: the caller's promise. The last pass has no factors.
        unsafe {
            let (third, ahead) = self.inverse_pass::<S, E, AHEAD, 3>(points, Ahead::none(), vote);
            let (second, ahead) = self.inverse_pass::<S, E, AHEAD, 2>(points, ahead, vote);
            let (_, ahead) = self.inverse_pass::<S, E, AHEAD, 1>(points, ahead, vote);
            self.inverse_pass::<S, E, AHEAD, 0>(points, ahead, vote);
            third | second
        }
    }

    /// One of the passes; the vote is at the first barrier.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward).
    #[inline(always)]
    unsafe fn inverse_pass<S: Shape, const E: usize, const AHEAD: bool, const P: usize>(
        self,
        points: &mut [Complex<T>; E],
        mut pairs: Ahead<T>,
        vote: bool,
    ) -> (bool, Ahead<T>) {
        let pass = S::PASSES[P];
        if const { S::PASSES[P].radix == 1 } {
            return (false, pairs);
        }
        let mut voted = false;
        // SAFETY: as in `forward_pass`.
        unsafe {
            self.turn::<S, E>(points, pass, pairs);
            butterflies::<T, OfPass<S, P>, E>(points);
            if P > 0 {
                self.put::<S, E>(points, pass);
                let count = if AHEAD { MOST_AHEAD } else { 0 };
                pairs = Ahead::load(count, |pair| self.pair::<S>(S::PASSES[P - 1], pair));
                let first = P + 1 == MOST_PASSES || S::PASSES[P + 1].radix == 1;
                // Orders every thread's points of this pass before any thread's reads of them.
                if first {
                    voted = thread::sync_threads_or(u32::from(vote)) != 0;
                } else {
                    thread::sync_threads();
                }
                self.get::<S, E>(points, S::PASSES[P - 1]);
            }
        }
        (voted, pairs)
    }
}

/// A pass's butterflies.
struct OfPass<S: Shape, const P: usize>(PhantomData<S>);

impl<S: Shape, const P: usize> Radix for OfPass<S, P> {
    const RADIX: usize = S::PASSES[P].radix;
}

/// All butterflies of a thread in one pass.
#[inline(always)]
fn butterflies<T: Transformed, R: Radix, const E: usize>(points: &mut [Complex<T>; E]) {
    const { assert!(E <= 32, "four butterflies of eight points, at most") };
    transform::<T, R, E>(points, 0);
    if const { R::RADIX < E } {
        transform::<T, R, E>(points, R::RADIX);
    }
    if const { 2 * R::RADIX < E } {
        transform::<T, R, E>(points, 2 * R::RADIX);
        transform::<T, R, E>(points, 3 * R::RADIX);
    }
}
