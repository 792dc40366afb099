//! racecheck: unordered accesses by different threads to the same bytes, at least one of them a
//! write.
//!
//! Memory has a [`shadow`] in [pages](page): for each word the last write and the accesses since.
//! An access is compared with the conflicting ones: [`clocks`] decide whether the two are ordered,
//! [`judge`] whether they are allowed even if unordered. [`row`] handles the common case,
//! [`report`] writes the messages. Order beyond block barriers is tracked by [events](chains) and
//! vector clocks; [`polls`] classifies `volatile` accesses.
mod chains;
mod clocks;
mod constant;
mod copy;
mod cover;
mod gathers;
mod handed;
mod hints;
mod ignored;
mod judge;
mod lane_access;
mod locks;
mod messages;
#[cfg(test)]
mod model;
mod objects;
mod page;
mod polls;
mod record;
mod report;
mod row;
mod shadow;
mod uses;
mod vector_clock;

use super::{CheckOptions, Context, Ledger, Suspects};
use crate::decode::op::{AtomicKind, MbarrierOp, Op, PartOfWord};
use crate::exec::{
    Arrived, Complete, Frame, Memory, Region, Request, Seen, Turn, change, groups, lanes,
};
use crate::fault::Access;
use crate::memory::CONST_BASE;
use chains::Chains;
use clocks::{Block, Contribution};
use constant::Constant;
use copy::Copies;
use lane_access::{Gather, LaneAccess, Strength};
use locks::{Change, Locks};
use messages::{Messages, Strong};
use objects::{Awaited, Objects};
use page::PAGE_BYTES;
use report::Report;
use row::Look;
use shadow::Shadow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use uses::Uses;

/// The detector's state for one launch.
pub(crate) struct Race {
    threads: u32,
    /// Number of blocks in a cluster; their slots are adjacent.
    cluster: usize,
    uses: Uses,
    slots: Vec<Slot>,
    /// Shadows of allocations, by base address.
    global: Vec<(u64, Shadow)>,
    /// The allocation accessed last.
    recent: usize,
    /// Pages that can still be created for them, and the initial number.
    room: u64,
    budget: u64,
    messages: Messages,
    chains: Chains,
    /// Waits at barrier objects that order nothing.
    ignored: HashSet<u32>,
    /// Strong reads that poll for another thread, if that matters.
    polls: HashSet<u32>,
    locks: Locks,
    /// Exchanges of a warp that may hand on what a lane has acquired.
    handed: HashSet<u32>,
    constant: Option<Constant>,
    /// Some stores do not depend on a lock that their thread may hold.
    open: bool,
    /// Each warp's last polling read of a word, by instruction and warp.
    looks: HashMap<(u32, u32), Look>,
    pub(super) suspects: Suspects,
}

/// A running block.
#[derive(Default)]
struct Slot {
    block: Block,
    shared: Shadow,
    messages: Messages,
    objects: Objects,
    /// Per thread.
    copies: Vec<Copies>,
    /// The lanes of each warp that have used a barrier object since they last met, and where they
    /// met.
    operated: HashMap<u32, u32>,
    gathers: Vec<Gather>,
    /// Contributions of the threads that have arrived at a barrier, by ticket.
    contributions: HashMap<u64, Contribution>,
}

impl Race {
    pub(crate) fn new(request: &Request<'_>, options: &CheckOptions, suspects: Suspects) -> Self {
        let budget = options.race_bytes.div_ceil(PAGE_BYTES);
        let uses = Uses::of(request);
        let (program, kernel) = (request.program, request.kernel.function);
        let ignored = uses.objects.then(|| ignored::waits(program, kernel));
        let polls = uses.volatile.then(|| polls::polls(program, kernel));
        let locks = Locks::of(program, kernel, uses.messages);
        let handed = uses.messages.then(|| handed::exchanges(program, kernel));
        Self {
            threads: request.config.block.iter().product(),
            cluster: request.program.functions[request.kernel.function as usize].cluster_blocks()
                as usize,
            uses,
            ignored: ignored.unwrap_or_default(),
            polls: polls.unwrap_or_default(),
            handed: handed.unwrap_or_default(),
            constant: uses.constant.then(|| Constant::new(budget)),
            open: locks.have_open(),
            locks,
            looks: HashMap::new(),
            suspects,
            slots: Vec::new(),
            global: Vec::new(),
            recent: 0,
            room: budget,
            budget,
            messages: Messages::new(uses.narrow),
            chains: Chains::default(),
        }
    }

    /// What was not checked.
    pub(crate) fn limits(&self) -> impl Iterator<Item = String> {
        let constant = self
            .constant
            .as_ref()
            .is_some_and(|constant| constant.is_cut);
        let touched = constant || self.global.iter().any(|(_, shadow)| shadow.is_cut());
        let bytes = self.budget * PAGE_BYTES;
        let cut = touched.then(|| {
            format!(
                "races on global memory beyond the first {:.1} MiB that the launch touched were not looked for: raise the limit (`--race-memory`, CheckOptions::race_bytes)",
                bytes as f64 / f64::from(1 << 20)
            )
        });
        [cut, self.chains.limit()].into_iter().flatten()
    }

    pub(crate) fn block(&mut self, slot: usize, number: u64) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Slot::default);
        }
        let slot = &mut self.slots[slot];
        let exact = self.uses.counts || self.uses.messages || self.uses.objects;
        slot.block.begin(number, self.threads, exact);
        slot.shared.clear();
        slot.messages = Messages::new(self.uses.narrow);
        slot.objects.clear();
        slot.contributions.clear();
        slot.operated.clear();
        slot.gathers.clear();
        slot.copies.clear();
        if self.uses.copies {
            let threads = self.threads as usize;
            slot.copies.resize_with(threads, Copies::default);
        }
    }

    /// Handles fences, waits and exchanges, which access no memory.
    #[inline(always)]
    pub(crate) fn step(&mut self, context: &Context<'_>, pc: u32, mask: u32, frame: &Frame<'_>) {
        if self.uses.messages || self.uses.copies || self.uses.destroys {
            self.quiet_step(context, pc, mask, frame);
        }
    }

    fn quiet_step(&mut self, context: &Context<'_>, pc: u32, mask: u32, frame: &Frame<'_>) {
        let Turn { slot, warp, .. } = context.turn;
        let slot = &mut self.slots[slot];
        let thread = |lane| 32 * warp as usize + lane;
        match context.program.code[pc as usize].op {
            Op::Fence { order, scope } => {
                let chains = &mut self.chains;
                messages::fence(chains, &mut slot.block, (warp, mask), order, scope);
            }
            Op::CopyCommit if self.uses.copies => {
                lanes(mask).for_each(|lane| slot.copies[thread(lane)].commit());
            }
            Op::CopyWait { groups } if self.uses.copies => {
                for lane in lanes(mask) {
                    self.wait(context, lane, groups);
                }
            }
            Op::Warp(ref op) if self.uses.destroys || self.handed.contains(&pc) => {
                let hands = self.handed.contains(&pc);
                let gathers = self.uses.destroys
                    && gathers::is_exchange(&context.program.code[pc as usize].op);
                groups(frame.r32(op.members), mask, |group| {
                    if hands {
                        slot.block.hear(warp, group);
                    }
                    if gathers {
                        slot.gather(warp, group);
                    }
                });
            }
            _ => {}
        }
    }

    /// A lane waits for its copies.
    fn wait(&mut self, context: &Context<'_>, lane: usize, groups: Option<u32>) {
        let Turn { slot, warp, .. } = context.turn;
        let slot = &mut self.slots[slot];
        let now = slot.block.now(warp, 0);
        for copy in slot.copies[32 * warp as usize + lane].wait(groups) {
            let now = now.at(copy.pc);
            self.complete(context, Awaited { now, lane, copy });
        }
    }

    /// A completed copy counts as an access of its thread, at the time of the wait.
    fn complete(&mut self, context: &Context<'_>, Awaited { now, lane, copy }: Awaited) {
        let slot = &mut self.slots[context.turn.slot];
        let shadow = match copy.source {
            None => &mut slot.shared,
            Some(base) => shadow_of(&mut self.global, &mut self.recent, base),
        };
        let current = LaneAccess {
            program: context.program,
            block: &slot.block,
            now,
            lane,
            writes: copy.source.is_none(),
            pending: false,
            chains: &self.chains,
            strength: None,
            clustered: self.cluster > 1,
            wide: copy.source.is_some(),
            polls: &self.polls,
            gathers: &[],
        };
        shadow.visit_all(copy.offset, copy.size.into(), |_, cell, spilled| {
            current.complete(cell, spilled);
        });
    }

    /// A lane is about to execute an operation on a barrier object.
    fn operate(
        &mut self,
        context: &Context<'_>,
        op: &MbarrierOp,
        seen: &Seen<'_>,
        frame: &Frame<'_>,
        memory: &Memory<'_>,
    ) {
        let Turn { slot, warp, .. } = context.turn;
        for lane in lanes(seen.lanes) {
            let slot = &mut self.slots[slot];
            let offset = seen.offsets[lane];
            let object = (offset, memory.peek(seen.region, offset, 8));
            if self.uses.destroys {
                *slot.operated.entry(warp).or_default() |= 1 << lane;
            }
            let copies = slot.copies.get(32 * warp as usize + lane);
            let copies = copies.into_iter().flat_map(Copies::in_flight);
            let objects = &mut slot.objects;
            let clocks = (&mut slot.block, &mut self.chains);
            let complete = objects.operate(object, op, frame, clocks, (warp, lane), copies);
            for copy in complete {
                self.complete(context, copy);
            }
        }
    }

    pub(crate) fn access(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        frame: &Frame<'_>,
        memory: &Memory<'_>,
    ) {
        if let Region::Peer(rank) = seen.region {
            let slot = context.turn.slot;
            let peer = slot - slot % self.cluster + rank as usize;
            self.visit_peer((slot, peer), |race| {
                race.judge(context, ledger, pc, seen, frame, memory);
            });
            return;
        }
        self.judge(context, ledger, pc, seen, frame, memory);
    }

    /// Calls `visit` with the shared-memory state of `own` and `peer` swapped.
    fn visit_peer(&mut self, (own, peer): (usize, usize), visit: impl FnOnce(&mut Self)) {
        self.exchange(own, peer);
        visit(self);
        self.exchange(own, peer);
    }

    /// Swaps the shared-memory state of two blocks.
    fn exchange(&mut self, own: usize, peer: usize) {
        if let Ok([own, peer]) = self.slots.get_disjoint_mut([own, peer]) {
            std::mem::swap(&mut own.shared, &mut peer.shared);
            std::mem::swap(&mut own.messages, &mut peer.messages);
            std::mem::swap(&mut own.objects, &mut peer.objects);
        }
    }

    fn judge(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        frame: &Frame<'_>,
        memory: &Memory<'_>,
    ) {
        let Turn { slot, warp, .. } = context.turn;
        let slot = &mut self.slots[slot];
        let mut unlimited = u64::MAX;
        let (shadow, room, source) = match seen.region {
            // For a peer block, its state has been swapped in.
            Region::Shared | Region::Peer(_) => (&mut slot.shared, &mut unlimited, None),
            Region::Global(allocation) if allocation.base < CONST_BASE => {
                let shadow = shadow_of(&mut self.global, &mut self.recent, allocation.base);
                (shadow, &mut self.room, Some(allocation.base))
            }
            // Private or read-only memory.
            _ => return,
        };
        let now = slot.block.now(warp, pc);
        let (strength, copies) = match &context.program.code[pc as usize].op {
            Op::CopyAsync(_) => (None, true),
            _ => (judge::strength(context.program, pc), false),
        };
        let simple = strength.is_none() && !copies && seen.size >= 4;
        // A failed compare-and-swap only reads; otherwise every thread spinning on a lock would
        // count as a writer.
        let missed = |lane| misses(context, pc, lane, seen, frame, memory);
        let shown = match seen.access {
            Access::Atomic if lanes(seen.lanes).all(missed) => Seen {
                access: Access::Read,
                ..*seen
            },
            _ => *seen,
        };
        if let Some(constant) = &mut self.constant {
            constant.access(context, ledger, pc, &shown);
        }
        // A waiting warp repeats the same read.
        let look = strength.and_then(|_| Look::of(shadow, &now, &shown));
        let again = look.is_some() && self.looks.get(&(pc, now.warp)) == look.as_ref();
        let hard = match again {
            true => 0,
            false => row::look(shadow, room, &now, &shown, simple),
        };
        if hard == 0 && !again {
            return;
        }
        if self.open && shown.access == Access::Write {
            for lane in lanes(seen.lanes) {
                let lane = slot.block.lane(warp, lane).into_iter();
                let holds = lane.flat_map(|lane| &mut lane.holds);
                holds.for_each(|hold| hold.store(&self.locks, pc));
            }
        }
        let mut hazards = Vec::new();
        for lane in lanes(hard) {
            let (offset, size) = (seen.offsets[lane], seen.size);
            let thread = 32 * warp as usize + lane;
            let began = (pc, now.time);
            let pending = copies && slot.copies[thread].begin(source, (offset, size), began);
            let current = LaneAccess {
                program: context.program,
                block: &slot.block,
                now,
                lane,
                writes: shown.access != Access::Read,
                pending,
                chains: &self.chains,
                strength,
                clustered: self.cluster > 1,
                wide: source.is_some() || self.cluster > 1,
                polls: &self.polls,
                gathers: &slot.gathers,
            };
            shadow.visit_all(offset, size.into(), |place, cell, spilled| {
                current.visit(place, cell, spilled, &mut hazards);
            });
            for hazard in hazards.drain(..) {
                Report {
                    context,
                    seen,
                    frame,
                    memory,
                    current: &current,
                    hazard,
                    copies: &slot.copies,
                    locks: &self.locks,
                    uses: &self.uses,
                }
                .report(ledger, &mut self.suspects);
            }
        }
        // If this access changed nothing, an identical one will not either.
        if let Some(look) = look.filter(|_| !again)
            && Look::of(shadow, &now, &shown).as_ref() == Some(&look)
        {
            self.looks.insert((pc, now.warp), look);
        }
        if let Some(Strength {
            order, scope, size, ..
        }) = strength
            && self.uses.messages
        {
            let (messages, base) = match source {
                None => (&mut slot.messages, 0),
                Some(base) => (&mut self.messages, base),
            };
            let takes = self.locks.takes(pc).then_some(pc);
            let op = &context.program.code[pc as usize].op;
            let mut ticks = order.releases();
            for lane in lanes(seen.lanes) {
                let holds = slot
                    .block
                    .lane(warp, lane)
                    .is_some_and(|lane| !lane.holds.is_empty());
                let change = match takes.is_some() || holds {
                    true => changed(context, pc, lane, seen, frame, memory),
                    false => Change::default(),
                };
                let strong = Strong {
                    order,
                    scope,
                    // An atomic whose result is not read acquires nothing.
                    reads: seen.access != Access::Write && !self.locks.is_blind(pc),
                    writes: seen.access != Access::Read
                        && !misses(context, pc, lane, seen, frame, memory),
                    adds: seen.access == Access::Atomic,
                    change,
                    takes,
                };
                for element in (0..seen.size).step_by(size.into()) {
                    // Threads synchronise through the whole word, or through one byte of it.
                    let offset = match op {
                        Op::Atomic(op) if op.part == PartOfWord::Changed => {
                            op.start(seen.offsets[lane])
                        }
                        _ => seen.offsets[lane],
                    };
                    let address = base + offset + u64::from(element);
                    let order = (&mut self.chains, &self.locks);
                    ticks |= messages.pass(order, address, &mut slot.block, (warp, lane), strong);
                }
            }
            if ticks {
                slot.block.tick(warp);
            }
        }
        if let Op::Mbarrier(op) = &context.program.code[pc as usize].op
            && !self.ignored.contains(&pc)
        {
            self.operate(context, op, seen, frame, memory);
        }
    }

    /// A heap chunk is allocated again: `free` and `malloc` order the earlier accesses to it.
    pub(crate) fn takes(&mut self, heap: u64, chunk: Range<u64>) {
        shadow_of(&mut self.global, &mut self.recent, heap).forget(chunk);
    }

    pub(crate) fn warp_barrier(&mut self, slot: usize, warp: u32, mask: u32) {
        let block = &mut self.slots[slot].block;
        block.warp_meets(&mut self.chains, warp, mask);
    }

    pub(crate) fn arrives(&mut self, slot: usize, arrived: &Arrived) {
        if self.uses.counts {
            let slot = &mut self.slots[slot];
            let chains = &mut self.chains;
            let contribution = slot.block.arrive(chains, arrived.warp, arrived.mask);
            slot.contributions.insert(arrived.ticket, contribution);
        }
    }

    /// All threads of a cluster have synchronised.
    pub(crate) fn cluster_barrier(&mut self, arrivals: &[(usize, Arrived)]) {
        let given = arrivals
            .iter()
            .filter_map(|(slot, who)| self.slots[*slot].contributions.remove(&who.ticket));
        let contribution = Contribution::union(&given.collect::<Vec<_>>());
        for (slot, who) in arrivals {
            let block = &mut self.slots[*slot].block;
            block.leave(&mut self.chains, &contribution, who.warp, who.mask);
        }
    }

    pub(crate) fn barrier(&mut self, slot: usize, complete: &Complete<'_>) {
        let Slot {
            block,
            contributions,
            ..
        } = &mut self.slots[slot];
        let announced = complete.announced.iter();
        let mut given: Vec<Contribution> = announced
            .filter_map(|who| contributions.remove(&who.ticket))
            .collect();
        let waited = complete.waited.iter();
        let threads: u32 = waited.clone().map(|who| who.mask.count_ones()).sum();
        if complete.whole || threads == self.threads {
            block.meet();
        } else {
            // Lanes that wait have done nothing since they arrived.
            given.extend(waited.map(|who| block.arrive(&mut self.chains, who.warp, who.mask)));
            let contribution = Contribution::union(&given);
            for who in complete.waited {
                block.leave(&mut self.chains, &contribution, who.warp, who.mask);
            }
        }
    }
}

impl Slot {
    /// Lanes of a warp meet in an exchange.
    fn gather(&mut self, warp: u32, lanes: u32) {
        let operated = self.operated.entry(warp).or_default();
        if *operated & lanes != 0 {
            *operated &= !lanes;
            let now = self.block.now(warp, 0);
            self.gathers.push(Gather {
                warp: now.warp,
                lanes,
                time: now.time,
            });
            self.block.tick(warp);
        }
    }
}

/// Whether it is a compare-and-swap that fails, and so writes nothing.
fn misses(
    context: &Context<'_>,
    pc: u32,
    lane: usize,
    seen: &Seen<'_>,
    frame: &Frame<'_>,
    memory: &Memory<'_>,
) -> bool {
    let Op::Atomic(op) = &context.program.code[pc as usize].op else {
        return false;
    };
    let offset = op.start(seen.offsets[lane]);
    let found = memory.peek(seen.region, offset, op.size.into());
    op.kind == AtomicKind::CompareAndSwap && found != frame.get(op.b, lane)
}

/// What a lane's atomic or store of one element changes.
fn changed(
    context: &Context<'_>,
    pc: u32,
    lane: usize,
    seen: &Seen<'_>,
    frame: &Frame<'_>,
    memory: &Memory<'_>,
) -> Change {
    let old = memory.peek(seen.region, seen.offsets[lane], seen.size.min(8));
    let new = match &context.program.code[pc as usize].op {
        Op::Atomic(op) => {
            let operands = [
                frame.get(op.b, lane),
                op.c.map_or(0, |c| frame.get(c, lane)),
            ];
            change((op.kind, op.size), old, operands, false)
        }
        Op::Store(t) if t.count == 1 => match t.reg(0) {
            Some(reg) => frame.get(reg, lane),
            None => old,
        },
        _ => old,
    };
    let new = new & (u64::MAX >> (64 - 8 * seen.size.min(8)));
    Change { old, new }
}

/// The shadow of an allocation.
#[inline(always)]
fn shadow_of<'a>(
    global: &'a mut Vec<(u64, Shadow)>,
    recent: &mut usize,
    base: u64,
) -> &'a mut Shadow {
    if global.get(*recent).is_none_or(|(known, _)| *known != base) {
        *recent = match global.iter().position(|(known, _)| *known == base) {
            Some(at) => at,
            None => {
                global.push((base, Shadow::default()));
                global.len() - 1
            }
        };
    }
    &mut global[*recent].1
}
