//! The arithmetic of the kernels that the launcher chooses, in their order, on the host: for arrays
//! that would take the emulator minutes.

use blockwise_ops::operation::Variant;
use blockwise_ops::reduce::{PartialOf, SHUFFLE, SINGLE, Total};
use blockwise_ops::{LaunchPlan, Number, Reduction};
use kernels::pack::lanes;
use kernels::reduce::Partial;
use kernels::reduce::policy::IN_FLIGHT;
use kernels::reduce::warps::{EACH, SLOTS};
use kernels::reduce::wide::{CACHED, DOT_IN_FLIGHT};

const WARP: usize = 32;

/// Σ a·b, or Σ a without `b`, by the kernel and launch of a plan; operands begin at whole packs.
pub fn total<T: Number>(
    kernel: &'static Variant,
    plan: &LaunchPlan,
    a: &[T],
    b: Option<&[T]>,
) -> Total<T> {
    match b {
        Some(b) => {
            let in_flight = match kernel == &SINGLE {
                true => IN_FLIGHT,
                false => DOT_IN_FLIGHT,
            };
            by::<T>(kernel, plan, (false, in_flight), a.len(), |sum, i| {
                a[i].mul_add_to(b[i], sum)
            })
        }
        None => {
            let packs = (T::PAIRS, IN_FLIGHT);
            by::<T>(kernel, plan, packs, a.len(), |sum, i| a[i].add_to(sum))
        }
    }
}

fn by<T: Number>(
    kernel: &'static Variant,
    plan: &LaunchPlan,
    of_packs: (bool, usize),
    len: usize,
    add: impl Fn(PartialOf<T>, usize) -> PartialOf<T>,
) -> Total<T> {
    let (blocks, threads) = (plan.grid[0] as usize, plan.block[0] as usize);
    let block = |block| {
        let share = |thread| match kernel == &SHUFFLE {
            true => strided::<T>(block * threads + thread, blocks * threads, len, &add),
            false => packs::<T>([block, blocks], [thread, threads], of_packs, len, &add),
        };
        let values: Vec<_> = (0..threads).map(share).collect();
        match kernel == &SHUFFLE {
            true => {
                let warps = values
                    .chunks(WARP)
                    .map(|warp| of_warp(warp, [1, 2, 4, 8, 16]));
                warps.reduce(Partial::merge)
            }
            false => Some(of_block(&values)),
        }
        .unwrap_or(Partial::ZERO)
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
fn strided<T: Number>(
    first: usize,
    stride: usize,
    len: usize,
    add: impl Fn(PartialOf<T>, usize) -> PartialOf<T>,
) -> PartialOf<T> {
    (first..len).step_by(stride).fold(Partial::ZERO, add)
}

/// A thread's packs and its element after the last pack, for a number of packs in flight and for
/// lanes that are added in pairs or one by one.
fn packs<T: Number>(
    [block, blocks]: [usize; 2],
    [thread, threads]: [usize; 2],
    (pairs, in_flight): (bool, usize),
    len: usize,
    add: impl Fn(PartialOf<T>, usize) -> PartialOf<T>,
) -> PartialOf<T> {
    let width = lanes::<T>();
    let packs = len / width;
    let mut sums: Vec<PartialOf<T>> = vec![Partial::ZERO; T::SUMS];
    let mut take = |pack: usize| {
        for lane in 0..width {
            let (sum, at) = (&mut sums[lane % T::SUMS], pack * width + lane);
            if !pairs {
                *sum = add(*sum, at);
            } else if lane < T::SUMS {
                *sum = sum.merge(add(add(Partial::ZERO, at), at + T::SUMS));
            }
        }
    };
    let grid = blocks * threads;
    let (mut first, apart) = match packs > CACHED {
        true => (block * threads * in_flight + thread, threads),
        false => (block * threads + thread, grid),
    };
    while first < packs {
        let parts = (0..in_flight).map(|part| first + part * apart);
        parts.filter(|&pack| pack < packs).for_each(&mut take);
        first += grid * in_flight;
    }
    let sum = sums.into_iter().reduce(Partial::merge);
    let sum = sum.unwrap_or(Partial::ZERO);
    let last = packs * width + block * threads + thread;
    match last < len {
        true => add(sum, last),
        false => sum,
    }
}

/// A block's value: each warp folds until its values fit the slots, then the first one's lanes fold
/// those of every 32nd slot.
fn of_block<P: Partial>(values: &[P]) -> P {
    let warps = values.len() / WARP;
    let mut kept = WARP;
    let mut values = values.to_vec();
    while kept * warps > SLOTS as usize {
        kept /= 2;
        let halves = values.chunks(2 * kept);
        values = halves
            .flat_map(|lanes| (0..kept).map(|lane| lanes[lane].merge(lanes[lane + kept])))
            .collect();
    }
    let slot = |at: usize| values.get(at).copied().unwrap_or(P::ZERO);
    P::of_lanes(std::array::from_fn(|lane| {
        std::array::from_fn::<_, EACH, _>(|i| slot(lane + WARP * i))
    }))
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
