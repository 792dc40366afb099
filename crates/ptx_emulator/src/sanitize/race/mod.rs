//! racecheck: two accesses of different threads to the same bytes, at least one of them a write, with nothing that
//! orders them.
//!
//! Memory has a [`shadow`]: for each word the last write and the accesses since. An access is compared with those that
//! conflict with it: [`clocks`] say whether something orders the two, [`judge`] whether they may stand beside each other
//! all the same. [`row`] does this for the common case, [`report`] tells of the rest.
mod clocks;
mod judge;
mod report;
mod row;
mod shadow;

use super::{Ledger, Scene};
use crate::decode::Program;
use crate::decode::op::{Inst, Op, Order};
use crate::emulator::LaunchConfig;
use crate::exec::{Arrived, Complete, Frame, Memory, Region, Seen, lanes};
use crate::fault::Access;
use crate::memory::CONST_BASE;
use clocks::Block;
use judge::Act;
use report::Report;
use shadow::{PAGE_BYTES, Shadow};
use std::collections::HashMap;

/// Pages of shadow for global memory, at most: 256 MiB of it. Beyond, races are not looked for.
const GLOBAL_PAGES: u64 = 1 << 16;

/// The detector's memory of one launch.
pub(crate) struct Race {
    warps: u32,
    /// The program has fences or the like, which this detector does not follow: then it leaves global memory alone.
    fences: bool,
    /// The same for shared memory, when the program has barrier objects.
    objects: bool,
    slots: Vec<Slot>,
    /// By base address.
    global: HashMap<u64, Shadow>,
    room: u64,
}

/// A running block.
#[derive(Default)]
struct Slot {
    block: Block,
    shared: Shadow,
}

impl Race {
    pub(crate) fn new(program: &Program, config: LaunchConfig) -> Self {
        let fences = |inst: &Inst| match &inst.op {
            Op::Load(t) | Op::Store(t) => t.order.acquires() || t.order.releases(),
            Op::Atomic(atomic) => atomic.order != Order::Relaxed,
            Op::Fence { .. } => true,
            _ => false,
        };
        Self {
            warps: config.block.iter().product::<u32>().div_ceil(32),
            fences: program.code.iter().any(fences),
            objects: program
                .code
                .iter()
                .any(|inst| matches!(inst.op, Op::Mbarrier(_))),
            slots: Vec::new(),
            global: HashMap::new(),
            room: GLOBAL_PAGES,
        }
    }

    pub(crate) fn block(&mut self, slot: usize, number: u64) {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Slot::default);
        }
        let slot = &mut self.slots[slot];
        slot.block.begin(number, self.warps);
        slot.shared.clear();
    }

    #[inline(always)]
    pub(crate) fn step(&mut self, _scene: &Scene<'_>, _pc: u32, _mask: u32) {}

    pub(crate) fn access(
        &mut self,
        scene: &Scene<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        frame: &Frame<'_>,
        memory: &Memory<'_>,
    ) {
        let Slot { block, shared } = &mut self.slots[scene.turn.slot];
        let mut unlimited = u64::MAX;
        let (shadow, room) = match seen.region {
            Region::Shared if !self.objects => (shared, &mut unlimited),
            Region::Global(allocation) if allocation.base < CONST_BASE && !self.fences => {
                let shadow = self.global.entry(allocation.base).or_default();
                (shadow, &mut self.room)
            }
            // Nobody else sees it, or nobody may write it.
            _ => return,
        };
        let now = block.now(scene.turn.warp, pc);
        let strength = judge::strength(scene.program, pc);
        let simple = strength.is_none() && seen.size >= 4;
        let words = seen.size as usize / 4;
        let mut hard = 0;
        let mut rest = seen.lanes;
        while rest != 0 {
            let first = (rest.trailing_zeros() & 31) as usize;
            let number = seen.offsets[first] / PAGE_BYTES;
            let mut here = 0;
            for lane in 0..32 {
                here |= u32::from(seen.offsets[lane] / PAGE_BYTES == number) << lane;
            }
            here &= rest;
            rest &= !here;
            let Some(page) = shadow.page(number as usize, room) else {
                continue;
            };
            hard |= match seen.access {
                Access::Read if simple => row::read(page, &now, seen.offsets, here, words),
                Access::Write if simple => row::write(page, &now, seen.offsets, here, words),
                _ => here,
            };
        }
        if hard == 0 {
            return;
        }
        let mut hazards = Vec::new();
        for lane in lanes(hard) {
            let act = Act {
                program: scene.program,
                now,
                lane,
                reads: seen.access != Access::Write,
                writes: seen.access != Access::Read,
                strength,
            };
            let (start, end) = (
                seen.offsets[lane],
                seen.offsets[lane] + u64::from(seen.size),
            );
            let mut at = start;
            while at < end {
                let size = (4 - at % 4).min(end - at);
                shadow.visit(at, size, |at, cell, spilled| {
                    act.visit(at, cell, spilled, &mut hazards);
                });
                at += size;
            }
            for hazard in hazards.drain(..) {
                Report {
                    scene,
                    seen,
                    frame,
                    memory,
                    act: &act,
                    hazard,
                }
                .tell(ledger);
            }
        }
    }

    pub(crate) fn warp_barrier(&mut self, slot: usize, warp: u32, _mask: u32) {
        self.slots[slot].block.warp_meets(warp);
    }

    pub(crate) fn arrives(&mut self, _slot: usize, _arrived: &Arrived) {}

    pub(crate) fn barrier(&mut self, slot: usize, _complete: &Complete<'_>) {
        self.slots[slot].block.meet();
    }
}
