//! Release and acquire: what threads hear of each other through memory.
//!
//! A release, or a fence and then a strong write, leaves in a location what its thread knows, and so do strong writes of the same
//! thread to it after the release; an atomic adds to what it finds there. An acquire, or a strong read and then a fence, takes it. Only scopes that hold both threads carry it.
//! After the PTX ISA's memory consistency model (release and acquire patterns, observation order); that `fence.sc` also
//! orders other fences is left out, because no data race hangs on it alone.

use super::chains::{Chains, Past, Place};
use super::clocks::{Block, Lane};
use super::knowledge::{Shared, union};
use crate::decode::op::{Order, Scope};
use crate::exec::lanes;
use std::collections::HashMap;
use std::sync::Arc;

/// What was left in the locations of a memory space, by address.
#[derive(Default)]
pub(super) struct Messages {
    locations: HashMap<u64, Message>,
    /// The program speaks to threads of the own block alone too.
    has_narrow: bool,
}

/// What was left in a location.
#[derive(Default)]
struct Message {
    /// For every thread of the device.
    wide: Shared,
    /// For the threads of one block, by the block's first warp.
    narrow: HashMap<u32, Shared>,
    /// The thread that released there last, by warp and lane, and what it told.
    released: Option<((u32, usize), [Shared; 2])>,
    /// The chain of those who acquire here what was released, and release in turn.
    chain: Option<u32>,
}

/// A strong access.
#[derive(Clone, Copy)]
pub(super) struct Strong {
    pub(super) order: Order,
    pub(super) scope: Scope,
    /// It finds something there that its thread can see.
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// It keeps what others left there: it is atomic.
    pub(super) adds: bool,
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

    /// A lane accesses a location.
    pub(super) fn pass(
        &mut self,
        chains: &mut Chains,
        address: u64,
        block: &mut Block,
        (warp, at): (u32, usize),
        strong: Strong,
    ) {
        let first = block.range().start;
        let wide = is_wide(strong.scope);
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
                chains.hears(&lane.knows);
            }
            lane.latest = (address, acquired, parts);
        }
        if strong.writes {
            self.leave(chains, address, block, (warp, at), strong);
        }
    }

    /// A lane writes to a location.
    fn leave(
        &mut self,
        chains: &mut Chains,
        address: u64,
        block: &mut Block,
        (warp, at): (u32, usize),
        strong: Strong,
    ) {
        let first = block.range().start;
        let wide = is_wide(strong.scope);
        let me = (first.wrapping_add(warp), at);
        let known = self.locations.get(&address);
        let mut chain = known.and_then(|message| message.chain);
        let before = known.and_then(|message| message.released.as_ref());
        let before = before.filter(|(thread, _)| *thread == me);
        // Who takes what is there and adds to it continues the place's chain.
        let continues = strong.reads && strong.order.acquires();
        let mut tell = |past: &Past, chains: &mut Chains, knows: &Shared| match continues {
            true => {
                let chain = &mut chain;
                past.tell_at(chains, Place { chain, knows })
            }
            false => past.tell(chains),
        };
        let (told, released) = if strong.order.releases() {
            let past = block.past(chains, warp, 1 << at);
            let Some(lane) = block.lane(warp, at) else {
                return;
            };
            let past = Some(tell(&past, chains, &lane.knows));
            lane.knows.clone_from(&past);
            let told = [past.clone(), past.filter(|_| wide)];
            (told.clone(), Some((me, told)))
        } else {
            let Some(lane) = block.lane(warp, at) else {
                return;
            };
            let mut fenced = |at: usize| {
                let past = lane.fenced[at].as_ref();
                past.map(|past| tell(past, chains, &lane.knows))
            };
            let fenced = [fenced(0), fenced(1)];
            match before {
                None => (fenced, None),
                Some((_, told)) => {
                    let told = [0, 1].map(|part| union([&fenced[part], &told[part]]));
                    (told, before.cloned())
                }
            }
        };
        let [narrow, told] = told;
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
                add(&mut message.wide, told);
                chains.hears(&message.wide);
            }
            if released.is_some() {
                message.released = released;
            }
            message.chain = chain;
        }
    }
}

impl Lane {
    /// Takes what a read found in its location.
    fn take(&mut self, parts: &[Shared; 2], strong: Strong) {
        let [narrow, wide] = parts;
        if strong.order.acquires() {
            self.knows = union([&self.knows, narrow, wide]);
        } else {
            for (heard, part) in self.heard.iter_mut().zip(parts) {
                *heard = union([&*heard, part]);
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

/// Adds what a thread tells to what is there, which it may have heard before; if not, in place: atomics on one location make a
/// long list.
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
    for at in lanes(mask) {
        if order.acquires()
            && let Some(lane) = block.lane(warp, at)
        {
            let [narrow, wide] = &lane.heard;
            let wide = if is_wide(scope) { wide } else { &None };
            lane.knows = union([&lane.knows, narrow, wide]);
            chains.hears(&lane.knows);
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
