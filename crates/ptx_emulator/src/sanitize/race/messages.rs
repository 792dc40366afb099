//! Release and acquire: order between threads through memory.
//!
//! A release, or a fence followed by a strong write, publishes its thread's past in a location, and
//! so do strong writes of the same thread to it after the release; an atomic adds to what the
//! location already has. An acquire, or a strong read followed by a fence, receives it. Both scopes
//! must include both threads. This follows the PTX memory consistency model (release and acquire
//! patterns, observation order), except that `fence.sc` does not order other fences: no data race
//! depends on that alone.

use super::chains::{Chains, Past, Place};
use super::clocks::{Block, Lane};
use super::locks::{Change, Hold, Locks, MOST_HELD};
use super::vector_clock::{Shared, union};
use crate::decode::op::{Order, Scope};
use crate::exec::lanes;
use std::collections::HashMap;
use std::sync::Arc;

/// The pasts published in the locations of a memory space, by address.
#[derive(Default)]
pub(super) struct Messages {
    locations: HashMap<u64, Message>,
    /// The program also uses block scope.
    has_narrow: bool,
}

/// The pasts published in a location.
#[derive(Default)]
struct Message {
    /// For all threads of the device.
    wide: Shared,
    /// For the threads of one block, by the block's first warp.
    narrow: HashMap<u32, Shared>,
    /// The last thread to release here, by warp and lane, and what it published.
    released: Option<((u32, usize), [Shared; 2])>,
    /// The chain of the threads that acquire here and then release.
    chain: Option<u32>,
}

/// A strong access.
#[derive(Clone, Copy)]
pub(super) struct Strong {
    pub(super) order: Order,
    pub(super) scope: Scope,
    /// It reads a value that its thread can observe.
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// It preserves what is already published: it is an atomic.
    pub(super) adds: bool,
    /// What it changes, where that may matter to a lock.
    pub(super) change: Change,
    /// The instruction, if it takes a lock by changing them.
    pub(super) takes: Option<u32>,
}

pub(super) fn is_wide(scope: Scope) -> bool {
    scope > Scope::Cluster
}

impl Messages {
    pub(super) fn new(has_narrow: bool) -> Self {
        Self {
            locations: HashMap::new(),
            has_narrow,
        }
    }

    /// A lane accesses a location. Returns whether it takes a lock there, or acquires under one.
    pub(super) fn pass(
        &mut self,
        (chains, locks): (&mut Chains, &Locks),
        address: u64,
        block: &mut Block,
        (warp, at): (u32, usize),
        strong: Strong,
    ) -> bool {
        let first = block.range().start;
        let wide = is_wide(strong.scope);
        let taking = strong.takes.filter(|_| strong.change.bits() != 0);
        let knew = taking.and_then(|_| block.lane(warp, at)?.knows.clone());
        if strong.reads
            && let Some(message) = self.locations.get(&address)
            && let Some(lane) = block.lane(warp, at)
        {
            let narrow = message.narrow.get(&first).cloned().flatten();
            let parts = [narrow, message.wide.clone().filter(|_| wide)];
            let (last, acquired, latest) = &lane.latest;
            let same = *last == address && latest.iter().zip(&parts).all(|(a, b)| is_same(a, b));
            let acquires = strong.order.acquires();
            let known = same && (*acquired || !acquires);
            let acquired = acquires || same && *acquired;
            if !known || strong.writes {
                lane.take(&parts, strong);
                chains.note_precision(&lane.knows);
            }
            lane.latest = (address, acquired, parts);
        }
        let time = block.time(warp);
        let Some(lane) = block.lane(warp, at) else {
            return false;
        };
        let here = lane.holds.iter().position(|hold| hold.address == address);
        if !strong.writes {
            let again = here.filter(|_| strong.order.acquires());
            again.inspect(|&hold| lane.holds[hold].acquire(wide, time));
            return again.is_some();
        }
        let held = here.map(|hold| lane.holds.remove(hold));
        let opened = held.filter(|hold| hold.is_opened_by(strong.change));
        let takes = taking.filter(|_| opened.is_none());
        if let Some(pc) = takes {
            let mut hold = Hold::new(locks, (address, pc), (strong.change, time), knew);
            if strong.order.acquires() {
                hold.acquire(wide, time);
            }
            if lane.holds.len() == MOST_HELD {
                lane.holds.remove(0);
            }
            lane.holds.push(hold);
        }
        self.leave(chains, address, block, (warp, at), strong, opened);
        takes.is_some()
    }

    /// A lane writes to a location, and opens a lock that it held.
    fn leave(
        &mut self,
        chains: &mut Chains,
        address: u64,
        block: &mut Block,
        (warp, at): (u32, usize),
        strong: Strong,
        opened: Option<Hold>,
    ) {
        let first = block.range().start;
        let wide = is_wide(strong.scope);
        let me = (first.wrapping_add(warp), at);
        let known = self.locations.get(&address);
        let mut chain = known.and_then(|message| message.chain);
        let before = known.and_then(|message| message.released.as_ref());
        let before = before.filter(|(thread, _)| *thread == me);
        // A thread that acquires and then adds continues the location's chain.
        let continues = strong.reads && strong.order.acquires();
        let mut publish = |past: &Past, chains: &mut Chains, knows: &Shared| match continues {
            true => {
                let chain = &mut chain;
                past.publish_at(chains, Place { chain, knows })
            }
            false => past.publish(chains),
        };
        let unprotected = [false, true].map(|wide| opened.as_ref()?.unprotected(wide));
        if let Some(hold) = opened {
            chains.note_unprotected((me.0, 1 << at), unprotected, hold.pc);
        }
        let without = |past: &Past, scope: usize| {
            unprotected[scope].map(|window| past.without(window, (me.0, 1 << at)))
        };
        let (published, released) = if strong.order.releases() {
            let past = block.past(chains, warp, 1 << at);
            let Some(lane) = block.lane(warp, at) else {
                return;
            };
            // A thread knows all of its own past, whatever part of it it publishes.
            let cut = [0, 1].map(|scope| without(&past, scope));
            let [narrow, device] =
                cut.map(|past| past.map(|past| publish(&past, chains, &lane.knows)));
            let past = match narrow.is_none() || device.is_none() {
                true => publish(&past, chains, &lane.knows),
                false => past.publish(chains),
            };
            lane.knows = Some(past.clone());
            let [narrow, device] = [narrow, device].map(|cut| cut.or(Some(past.clone())));
            let published = [narrow, device.filter(|_| wide)];
            (published.clone(), Some((me, published)))
        } else {
            let Some(lane) = block.lane(warp, at) else {
                return;
            };
            let mut fenced = |at: usize| {
                let past = lane.fenced[at].as_ref()?;
                let cut = without(past, at);
                Some(publish(cut.as_ref().unwrap_or(past), chains, &lane.knows))
            };
            let fenced = [fenced(0), fenced(1)];
            match before {
                None => (fenced, None),
                Some((_, published)) => {
                    let published = [0, 1].map(|part| union([&fenced[part], &published[part]]));
                    (published, before.cloned())
                }
            }
        };
        let [narrow, published] = published;
        if !strong.adds {
            self.locations.remove(&address);
        }
        if narrow.is_some() {
            let has_narrow = self.has_narrow;
            let message = self.locations.entry(address).or_default();
            if has_narrow {
                add(message.narrow.entry(first).or_default(), narrow);
            }
            if wide {
                add(&mut message.wide, published);
                chains.note_precision(&message.wide);
            }
            if released.is_some() {
                message.released = released;
            }
            message.chain = chain;
        }
    }
}

impl Lane {
    /// Receives what a read finds in its location.
    fn take(&mut self, parts: &[Shared; 2], strong: Strong) {
        let [narrow, wide] = parts;
        if strong.order.acquires() {
            self.knows = union([&self.knows, narrow, wide]);
        } else {
            for (acquired, part) in self.acquired.iter_mut().zip(parts) {
                *acquired = union([&*acquired, part]);
            }
        }
        if strong.writes && !strong.order.acquires() {
            self.claimed = union([&self.claimed, narrow, wide]);
        }
    }
}

fn is_same(a: &Shared, b: &Shared) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Adds what a thread publishes to what is already there. Usually the thread knows that already; if
/// not, it is added in place, because atomics on one location form a long list.
fn add(to: &mut Shared, more: Shared) {
    match (to, more) {
        (_, None) => {}
        (Some(to), Some(more)) if more.holds(to) => *to = more,
        (Some(to), Some(more)) => Arc::make_mut(to).add_all(&more),
        (to, more) => *to = more,
    }
}

/// Lanes execute a fence.
pub(super) fn fence(
    chains: &mut Chains,
    block: &mut Block,
    (warp, mask): (u32, u32),
    order: Order,
    scope: Scope,
) {
    let time = block.time(warp);
    for at in lanes(mask) {
        if order.acquires()
            && let Some(lane) = block.lane(warp, at)
        {
            let holds = lane.holds.iter_mut();
            holds.for_each(|hold| hold.acquire(is_wide(scope), time));
            let [narrow, wide] = &lane.acquired;
            let wide = if is_wide(scope) { wide } else { &None };
            lane.knows = union([&lane.knows, narrow, wide]);
            chains.note_precision(&lane.knows);
        }
        if order.releases() {
            let past = Some(Arc::new(block.past(chains, warp, 1 << at)));
            if let Some(lane) = block.lane(warp, at) {
                lane.fenced[0].clone_from(&past);
                if is_wide(scope) {
                    lane.fenced[1] = past;
                }
            }
        }
    }
    block.tick(warp);
}
