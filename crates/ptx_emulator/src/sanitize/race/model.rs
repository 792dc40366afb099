//! Tests the happens-before order against a model that records, for each thread, every access
//! ordered before its next one.

use super::chains::Chains;
use super::clocks::{Block, Contribution};
use super::locks::{Change, Locks};
use super::messages::{self, Messages, Strong};
use super::record::Record;
use crate::decode::op::{Order, Scope};
use std::collections::{BTreeSet, HashMap};

type Set = BTreeSet<usize>;

/// Warps per block; their lanes are the threads of the test.
const WARPS: u32 = 2;
const LANES: usize = 3;

/// Pseudo-random numbers: a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        let (factor, step) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(step);
        (self.0 >> 33) as usize % limit
    }
}

/// A thread: its block, warp and lane.
type Who = (usize, u32, usize);

#[derive(Clone, Default)]
struct Thread {
    knows: Set,
    /// For the last fence, and for the last one of device scope.
    fenced: [Set; 2],
    acquired: [Set; 2],
    claimed: Set,
}

#[derive(Default)]
struct Location {
    narrow: HashMap<usize, Set>,
    wide: Set,
    released: Option<(Who, [Set; 2])>,
}

/// The model.
#[derive(Default)]
struct Model {
    threads: HashMap<Who, Thread>,
    locations: HashMap<u64, Location>,
}

impl Model {
    fn thread(&mut self, who: Who) -> &mut Thread {
        self.threads.entry(who).or_default()
    }

    fn access(&mut self, address: u64, who: Who, strong: Strong) {
        let wide = strong.scope > Scope::Cluster;
        if strong.reads {
            let location = self.locations.entry(address).or_default();
            let narrow = location.narrow.get(&who.0).cloned().unwrap_or_default();
            let parts = [
                narrow,
                if wide {
                    location.wide.clone()
                } else {
                    Set::new()
                },
            ];
            let thread = self.thread(who);
            for (at, part) in parts.iter().enumerate() {
                if strong.order.acquires() {
                    thread.knows.extend(part);
                } else {
                    thread.acquired[at].extend(part);
                }
                if strong.writes {
                    thread.claimed.extend(part);
                }
            }
        }
        if strong.writes {
            let thread = self.thread(who).clone();
            let location = self.locations.entry(address).or_default();
            let before = location.released.take().filter(|(by, _)| *by == who);
            if !strong.reads {
                *location = Location::default();
            }
            let mut published = thread.fenced;
            if strong.order.releases() {
                let all = thread.knows;
                published = [all.clone(), if wide { all } else { Set::new() }];
                location.released = Some((who, published.clone()));
            } else if let Some((by, released)) = before {
                published
                    .iter_mut()
                    .zip(&released)
                    .for_each(|(published, more)| published.extend(more));
                location.released = Some((by, released));
            }
            location
                .narrow
                .entry(who.0)
                .or_default()
                .extend(&published[0]);
            if wide {
                location.wide.extend(&published[1]);
            }
        }
    }

    fn fence(&mut self, who: Who, scope: Scope) {
        let wide = scope > Scope::Cluster;
        let thread = self.thread(who);
        let acquired = thread.acquired.clone();
        thread.knows.extend(&acquired[0]);
        if wide {
            thread.knows.extend(&acquired[1]);
        }
        thread.fenced[0] = thread.knows.clone();
        if wide {
            thread.fenced[1] = thread.knows.clone();
        }
    }

    fn meet(&mut self, all: &[Who], whole_block: bool) {
        let mut sum = Thread::default();
        for &who in all {
            let thread = self.thread(who).clone();
            sum.knows.extend(thread.knows);
            if whole_block {
                sum.knows.extend(thread.claimed);
            }
            for at in 0..2 {
                sum.fenced[at].extend(&thread.fenced[at]);
            }
        }
        for &who in all {
            let thread = self.thread(who);
            thread.knows = sum.knows.clone();
            thread.fenced = sum.fenced.clone();
            if whole_block {
                thread.claimed.clear();
            }
        }
    }
}

/// Runs `steps` random operations of two blocks; returns how often detector and model agree on
/// order, and how often only the detector considers two accesses ordered.
fn compare(seed: u64, steps: usize) -> [usize; 2] {
    let mut random = Random(seed);
    let mut model = Model::default();
    let (mut chains, mut messages) = (Chains::default(), Messages::new(true));
    let mut blocks: Vec<Block> = (0..2)
        .map(|number| {
            let mut block = Block::default();
            block.begin(number, 32 * (WARPS - 1) + LANES as u32, true);
            block
        })
        .collect();
    let lanes_of = |warp: u32| if warp + 1 == WARPS { LANES } else { 32 };
    let mut accesses: Vec<(Who, Record)> = Vec::new();
    let mut outcomes = [0; 2];
    for _ in 0..steps {
        let at = random.below(2);
        let warp = random.below(WARPS as usize) as u32;
        let who @ (_, _, lane) = (at, warp, random.below(LANES));
        let block = &mut blocks[at];
        let scope = [Scope::Block, Scope::Device, Scope::Device][random.below(3)];
        let block_of = |at: usize| {
            (0..WARPS).flat_map(move |warp| (0..lanes_of(warp)).map(move |lane| (at, warp, lane)))
        };
        match random.below(40) {
            0 => {
                block.meet();
                model.meet(&block_of(at).collect::<Vec<_>>(), true);
            }
            1 => {
                block.warp_meets(&mut chains, warp, u32::MAX >> (32 - lanes_of(warp)));
                let warp: Vec<Who> = block_of(at).filter(|who| who.1 == warp).collect();
                model.meet(&warp, false);
            }
            2 => {
                block.warp_meets(&mut chains, warp, 0b011);
                model.meet(&[(at, warp, 0), (at, warp, 1)], false);
            }
            3 => {
                let contributions: Vec<Contribution> = (0..WARPS)
                    .map(|warp| block.arrive(&mut chains, warp, 0b110))
                    .collect();
                let contribution = Contribution::union(&contributions);
                (0..WARPS).for_each(|warp| block.leave(&mut chains, &contribution, warp, 0b110));
                let some = block_of(at).filter(|who| who.2 == 1 || who.2 == 2);
                model.meet(&some.collect::<Vec<_>>(), false);
            }
            4..9 => {
                messages::fence(&mut chains, block, (warp, 1 << lane), Order::Both, scope);
                model.fence(who, scope);
            }
            9..28 => {
                let orders = [Order::Relaxed, Order::Acquire, Order::Release, Order::Both];
                let (reads, writes) = [(true, true), (true, false), (false, true)][random.below(3)];
                let strong = Strong {
                    order: orders[random.below(4)],
                    scope,
                    reads,
                    writes,
                    adds: reads,
                    change: Change::default(),
                    takes: None,
                };
                let address = 4 * random.below(3) as u64;
                let order = (&mut chains, &Locks::default());
                messages.pass(order, address, block, (warp, lane), strong);
                if strong.order.releases() {
                    block.tick(warp);
                }
                // A read cannot release, and a write cannot acquire.
                model.access(address, who, strong);
            }
            28..34 => {
                model.thread(who).knows.insert(accesses.len());
                accesses.push((who, block.now(warp, 0).record(1 << lane, true)));
            }
            _ if !accesses.is_empty() => {
                let recent = accesses.len().min(30);
                let number = accesses.len() - 1 - random.below(recent);
                let (by, record) = accesses[number];
                let ordered = model.thread(who).knows.contains(&number);
                let now = block.now(warp, 0);
                let known = by == who
                    || now.follows(&record)
                    || block.unordered(&chains, (warp, lane), &record, record.lanes) == 0;
                assert!(known || !ordered, "seed {seed}: {by:?} before {who:?}");
                outcomes[usize::from(known != ordered)] += 1;
            }
            _ => {}
        }
    }
    outcomes
}

#[test]
fn what_is_ordered_is_known_and_hardly_more() {
    // Each takes a twentieth of a second without optimisation.
    let seeds = match std::env::var_os("BLOCKWISE_TEST_ALL") {
        Some(_) => 0..300,
        None => {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
            let first = u64::from(now.subsec_millis()) % 10 * 30;
            println!(
                "drawn: orders of accesses; the seeds are {first} to {}",
                first + 29
            );
            first..first + 30
        }
    };
    let count = (seeds.end - seeds.start) as usize;
    let mut sum = [0; 2];
    for seed in seeds {
        let outcomes = compare(seed, 600);
        sum.iter_mut()
            .zip(outcomes)
            .for_each(|(sum, count)| *sum += count);
    }
    // A fence's past published in a location counts as known together with everything published
    // there.
    let [same, only_known] = sum;
    let few = if count == 300 { 100 } else { 50 };
    assert!(same * 3 > 200 * count && only_known * few < same, "{sum:?}");
}
