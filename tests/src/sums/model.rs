//! The arithmetic of the kernels that the launcher chooses and of `shuffle`, in their order, on the
//! host: for arrays that would take the emulator minutes.

use blockwise_ops::operation::Variant;
use blockwise_ops::reduce::{PartialOf, SINGLE, Total, WIDE};
use blockwise_ops::{LaunchPlan, Number, Reduction};
use kernels::pack::lanes;
use kernels::reduce::Partial;
use kernels::reduce::Sum;
use kernels::reduce::anchored::{Anchored, MOST, Parts, THREADS, add_parts, small};
use kernels::reduce::policy::IN_FLIGHT;
use kernels::reduce::warps::{EACH, SLOTS};
use kernels::reduce::wide::{CACHED, DOT_IN_FLIGHT, long};
use ladder::SHUFFLE;

const WARP: usize = 32;

/// The terms of a sum, Σ a·b, or Σ a without `b`.
#[derive(Clone, Copy)]
struct Terms<'a, T> {
    a: &'a [T],
    b: Option<&'a [T]>,
    /// Whether the lanes of packs are added in pairs.
    pairs: bool,
    /// Packs in flight: next to an anchor, and else.
    in_flight: [usize; 2],
    /// Whether few terms are added next to a larger number.
    anchored: bool,
}

impl<T: Number> Terms<'_, T> {
    fn add(&self, sum: PartialOf<T>, i: usize) -> PartialOf<T> {
        match self.b {
            Some(b) => self.a[i].mul_add_to(b[i], sum),
            None => self.a[i].add_to(sum),
        }
    }

    fn magnitude(&self, i: usize) -> u32 {
        match self.b {
            Some(b) => T::Anchored::magnitude([self.a[i], b[i]]),
            None => T::Anchored::magnitude([self.a[i]]),
        }
    }

    fn plus(&self, sum: T::Anchored, i: usize) -> T::Anchored {
        match self.b {
            Some(b) => sum.plus([self.a[i], b[i]]),
            None => sum.plus([self.a[i]]),
        }
    }
}

/// Σ a·b, or Σ a without `b`, by the kernel and launch of a plan; operands begin at whole packs.
pub fn total<T: Number>(
    kernel: &'static Variant,
    plan: &LaunchPlan,
    a: &[T],
    b: Option<&[T]>,
) -> Total<T> {
    let terms = Terms {
        a,
        b,
        pairs: b.is_none() && T::PAIRS,
        in_flight: match (kernel == &SINGLE, b) {
            (true, _) => [IN_FLIGHT; 2],
            (false, None) => [IN_FLIGHT, long::<T, Sum>()],
            (false, Some(_)) => [DOT_IN_FLIGHT; 2],
        },
        anchored: T::Anchored::FASTER && kernel == &WIDE,
    };
    let (blocks, threads) = (plan.grid[0] as usize, plan.block[0] as usize);
    let block = |block| {
        if kernel == &SHUFFLE {
            let share = |thread| strided(block * threads + thread, blocks * threads, &terms);
            let values: Vec<_> = (0..threads).map(share).collect();
            let warps = values.chunks(WARP);
            let warps = warps.map(|warp| of_warp(warp, [1, 2, 4, 8, 16]));
            return warps.reduce(Partial::merge).unwrap_or(Partial::ZERO);
        }
        let place = |thread| [[block, blocks], [thread, threads]];
        anchored(place, threads, &terms).unwrap_or_else(|| {
            of_block(
                (0..threads)
                    .map(|thread| packs(place(thread), &terms))
                    .collect(),
            )
        })
    };
    let partials: Vec<_> = (0..blocks).map(block).collect();
    if kernel != &SINGLE {
        return Total::of_partials(&partials, Reduction::Sum);
    }
    let lane = |lane| {
        let partials = partials.iter().skip(lane).step_by(WARP);
        partials.fold(Partial::ZERO, |sum: PartialOf<T>, &partial| {
            sum.merge(partial)
        })
    };
    let lanes = std::array::from_fn(|at| [lane(at)]);
    Total::of_partials(&[Partial::of_lanes(lanes)], Reduction::Sum)
}

/// A thread's elements, a grid's size apart.
fn strided<T: Number>(first: usize, stride: usize, terms: &Terms<'_, T>) -> PartialOf<T> {
    let all = (first..terms.a.len()).step_by(stride);
    all.fold(Partial::ZERO, |sum, i| terms.add(sum, i))
}

/// A thread of a block, each with how many there are.
type Place = [[usize; 2]; 2];

/// A thread's packs, `in_flight` of them a round, and its element after the last pack.
fn own<T: Number>(
    [[block, blocks], [thread, threads]]: Place,
    terms: &Terms<'_, T>,
    anchored: bool,
) -> (Vec<usize>, Option<usize>) {
    let (len, width) = (terms.a.len(), lanes::<T>());
    let packs = len / width;
    let grid = blocks * threads;
    let in_flight = terms.in_flight[usize::from(!anchored)];
    let (tile, apart) = match packs > CACHED {
        true => (threads * in_flight, threads),
        false => (threads, grid),
    };
    let rounds = (block * tile + thread..packs).step_by(grid * in_flight);
    let mine = rounds.flat_map(|first| (0..in_flight).map(move |part| first + part * apart));
    let last = packs * width + block * threads + thread;
    let mine = mine.filter(|&pack| pack < packs).collect();
    (mine, (last < len).then_some(last))
}

/// A block's value next to an anchor; `None` if some thread's sum is none.
fn anchored<T: Number>(
    place: impl Fn(usize) -> Place,
    threads: usize,
    terms: &Terms<'_, T>,
) -> Option<PartialOf<T>> {
    let width = lanes::<T>();
    let packs = terms.a.len() / width;
    let [[block, blocks], _] = place(0);
    let few = threads <= THREADS && packs <= CACHED.min(blocks * threads * (MOST / width));
    if !terms.anchored || !few {
        return None;
    }
    let sample = (block * threads * width..packs * width).take(WARP);
    let most = sample.map(|i| terms.magnitude(i)).max().unwrap_or(0);
    let start = T::Anchored::above(most);
    let sums = (0..threads).map(|thread| {
        let (packs, outside) = own(place(thread), terms, true);
        let elements = packs
            .iter()
            .flat_map(|pack| pack * width..(pack + 1) * width);
        let sum = elements.chain(outside);
        sum.fold(start, |sum, i| terms.plus(sum, i))
    });
    let sums: Vec<_> = sums.collect();
    let warps = sums.chunks(WARP).map(|warp| {
        let parts = warp.iter().map(|sum| sum.parts());
        let sum = parts.fold(Parts::default(), add_parts);
        let has = |one: &T::Anchored| one.fits() && (!small(sum) || one.is_held());
        warp.iter().all(has).then_some(sum)
    });
    let warps: Option<Vec<Parts>> = warps.collect();
    Some(start.total(warps?.into_iter().fold(Parts::default(), add_parts)))
}

/// A thread's sum of its packs and of its element after the last one.
fn packs<T: Number>(place: Place, terms: &Terms<'_, T>) -> PartialOf<T> {
    let width = lanes::<T>();
    let (packs, outside) = own(place, terms, false);
    let mut sums: Vec<PartialOf<T>> = vec![Partial::ZERO; T::SUMS];
    for pack in packs {
        for (lane, at) in (pack * width..(pack + 1) * width).enumerate() {
            let sum = &mut sums[lane % T::SUMS];
            if !terms.pairs {
                *sum = terms.add(*sum, at);
            } else if lane < T::SUMS {
                let two = terms.add(terms.add(Partial::ZERO, at), at + T::SUMS);
                *sum = sum.merge(two);
            }
        }
    }
    let sum = sums.into_iter().reduce(Partial::merge);
    let sum = sum.unwrap_or(Partial::ZERO);
    outside.map_or(sum, |last| terms.add(sum, last))
}

/// A block's value: each warp folds until its values fit the slots, then the first one's lanes fold
/// those of every 32nd slot.
fn of_block<P: Partial>(mut values: Vec<P>) -> P {
    let warps = values.len() / WARP;
    let mut kept = WARP;
    while kept * warps > SLOTS as usize {
        kept /= 2;
        let halves = values.chunks(2 * kept);
        values = halves
            .flat_map(|lanes| (0..kept).map(|lane| lanes[lane].merge(lanes[lane + kept])))
            .collect();
    }
    let slot = |at: usize| values.get(at).copied().unwrap_or(P::ZERO);
    let lane = |lane| std::array::from_fn::<_, EACH, _>(|i| slot(lane + WARP * i));
    P::of_lanes(std::array::from_fn(lane))
}

/// Lane 0's value after the rounds of shuffles; lanes that are missing have zeros.
fn of_warp<P: Partial>(values: &[P], deltas: [usize; 5]) -> P {
    let mut lanes = [P::ZERO; WARP];
    lanes[..values.len()].copy_from_slice(values);
    for delta in deltas {
        let above = lanes;
        for lane in 0..WARP - delta {
            lanes[lane] = above[lane].merge(above[lane + delta]);
        }
    }
    lanes[0]
}
