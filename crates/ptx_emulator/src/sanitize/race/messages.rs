//! Release and acquire: what threads hear of each other through memory.
//!
//! A release, or a fence and then a strong write, leaves in a location what its thread knows, and so do strong writes of the same
//! thread to it after the release; an atomic adds to what it finds there. An acquire, or a strong read and then a fence, takes it. Only scopes that hold both threads carry it.
//! After the PTX ISA's memory consistency model (release and acquire patterns, observation order); that `fence.sc` also
//! orders other fences is left out, because no data race hangs on it alone.

use super::clocks::{Block, Lane};
use super::knowledge::{Knowledge, Shared, union};
use crate::decode::op::{Order, Scope};
use crate::exec::lanes;
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of knowledge that are handed on in a launch, at most. Beyond, everything counts as ordered that any message
/// could order: no race is invented, some are missed.
const MOST_WORK: usize = 20_000_000;

/// What was left in the locations of a memory space, by address.
#[derive(Default)]
pub(super) struct Messages(HashMap<u64, Message>);

/// What was left in a location.
#[derive(Default)]
struct Message {
    /// For every thread of the device.
    wide: Shared,
    /// For the threads of one block, by the block's first warp.
    narrow: HashMap<u32, Shared>,
    /// The thread that released there last, by warp and lane, and what it told.
    released: Option<((u32, usize), [Shared; 2])>,
}

/// A strong access.
#[derive(Clone, Copy)]
pub(super) struct Strong {
    pub(super) order: Order,
    pub(super) scope: Scope,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

fn is_wide(scope: Scope) -> bool {
    scope > Scope::Cluster
}

impl Messages {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A lane accesses a location; the number of entries that were handed on.
    pub(super) fn pass(
        &mut self,
        address: u64,
        block: &mut Block,
        (warp, at): (u32, usize),
        strong: Strong,
    ) -> usize {
        let first = block.range().start;
        let wide = is_wide(strong.scope);
        let mut work = 0;
        if strong.reads
            && let Some(message) = self.0.get(&address)
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
                work += parts.iter().map(size).sum::<usize>();
                lane.take(&parts, strong);
            }
            lane.latest = (address, acquired, parts);
        }
        if strong.writes {
            let me = (first.wrapping_add(warp), at);
            let before = self
                .0
                .get(&address)
                .and_then(|message| message.released.as_ref());
            let before = before.filter(|(thread, _)| *thread == me);
            let (told, released) = if strong.order.releases() {
                let past = Some(Arc::new(block.past(warp, 1 << at)));
                let told = [past.clone(), past.filter(|_| wide)];
                (told.clone(), Some((me, told)))
            } else {
                let lane = block.lane(warp, at);
                let fenced = lane.map(|lane| lane.fenced.clone()).unwrap_or_default();
                match before {
                    None => (fenced, None),
                    Some((_, told)) => {
                        let told = [0, 1].map(|part| union([&fenced[part], &told[part]]));
                        (told, before.cloned())
                    }
                }
            };
            work += told.iter().map(size).sum::<usize>();
            let [narrow, told] = told;
            if !strong.reads {
                self.0.remove(&address);
            }
            if narrow.is_some() {
                let message = self.0.entry(address).or_default();
                add(message.narrow.entry(first).or_default(), narrow);
                if wide {
                    add(&mut message.wide, told);
                }
                if released.is_some() {
                    message.released = released;
                }
            }
        }
        work
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
        if strong.writes {
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

/// Adds in place: atomics on one location make a long list.
fn add(to: &mut Shared, more: Shared) {
    match (to, more) {
        (_, None) => {}
        (Some(to), Some(more)) => Arc::make_mut(to).add_all(&more),
        (to, more) => *to = more,
    }
}

fn size(part: &Shared) -> usize {
    part.as_deref().map_or(0, Knowledge::len)
}

/// Lanes execute a fence.
pub(super) fn fence(block: &mut Block, warp: u32, mask: u32, order: Order, scope: Scope) {
    for at in lanes(mask) {
        if order.acquires()
            && let Some(lane) = block.lane(warp, at)
        {
            let [narrow, wide] = &lane.heard;
            let wide = if is_wide(scope) { wide } else { &None };
            lane.knows = union([&lane.knows, narrow, wide]);
        }
        if order.releases() {
            let past = Some(Arc::new(block.past(warp, 1 << at)));
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

/// Whether so much was handed on that the detector gives up on messages.
pub(super) fn is_too_much(work: usize) -> bool {
    work > MOST_WORK
}
