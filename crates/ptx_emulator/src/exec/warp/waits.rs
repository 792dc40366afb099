//! Lanes of a warp arrive at barriers and warp-level instructions, wait there and are released.

use super::{Arrival, Warp, WarpContext};
use crate::decode::op::{Barrier, BarrierKind, Op, Row};
use crate::exec::exchange;
use crate::exec::frame::{ALL, Frame, Row32, lanes};
use crate::exec::launch::Launch;
use crate::exec::observe::{Arrived, Left, Observer};
use crate::exec::raise::{Checked, raise};
use crate::exec::split::{Base, Split, State, Waiting};
use crate::fault::FaultKind;

impl Warp {
    /// Arrives at a barrier and waits, or only arrives.
    pub(super) fn arrive<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        around: &mut WarpContext<'_, '_, O>,
    ) -> Checked<()> {
        let barrier = match around.launch.program.code[split.pc as usize].op {
            Op::Barrier(ref barrier) => barrier,
            Op::ClusterBarrier { waits, aligned } => {
                return self.meet_cluster(split, (waits, aligned), around);
            }
            _ => return Ok(()),
        };
        let Barrier {
            kind,
            aligned,
            id,
            count,
        } = **barrier;
        let uniform = |row: Row, what: &str| {
            let values = &self.w32[(split.base.w32 + u32::from(row)) as usize];
            let first = split.mask.trailing_zeros() as usize;
            if *values == [values[first]; 32] {
                return Ok(values[first]);
            }
            match lanes(split.mask).find(|&lane| values[lane] != values[first]) {
                None => Ok(values[first]),
                Some(lane) => {
                    let problem =
                        format!("lanes {first} and {lane} give different {what} to one barrier");
                    Err(raise(lane, FaultKind::InvalidOperand { problem }))
                }
            }
        };
        let invalid = |problem| {
            Err(raise(
                split.mask.trailing_zeros() as usize,
                FaultKind::InvalidOperand { problem },
            ))
        };
        let id = uniform(id, "numbers")?;
        if id >= 16 {
            return invalid(format!("barrier {id}; a block has barriers 0 to 15"));
        }
        let count = count
            .map(|count| uniform(count, "thread counts"))
            .transpose()?;
        if let Some(count) = count.filter(|&count| count == 0 || count % 32 != 0) {
            return invalid(format!(
                "barrier for {count} threads; the count must be a multiple of 32"
            ));
        }
        if kind == BarrierKind::Arrive && aligned && split.mask != self.come_to(split.pc) {
            // Other lanes of the warp may still arrive.
            split.state = State::Members;
            self.push(split);
            return Ok(());
        }
        *around.ticket += 1;
        let ticket = *around.ticket;
        let who = Arrived {
            warp: self.index,
            mask: split.mask,
            ticket,
        };
        if kind == BarrierKind::Arrive {
            around.observer.arrives(around.slot, &who);
            // An aligned instruction counts whole warps.
            let threads = if aligned { 32 } else { split.mask.count_ones() };
            let count = count.unwrap_or(0);
            around.arrivals.push(Arrival {
                id,
                count,
                threads,
                who,
                pc: split.pc,
            });
            // Arrivals alone may complete the barrier: yield, so that it is released before more
            // arrive.
            let all = around.arrivals.iter().filter(|arrival| arrival.id == id);
            if all.map(|arrival| arrival.threads).sum::<u32>() >= count {
                self.quantum = 0;
            }
            split.pc += 1;
            self.push(split);
        } else {
            split.state = State::Barrier(Waiting {
                id,
                count,
                aligned,
                ticket,
            });
            self.push(split);
        }
        Ok(())
    }

    /// Releases the splits that wait at warp-level instructions for members that have now all
    /// arrived; returns whether there were any.
    pub(super) fn release_members<O: Observer + ?Sized>(
        &mut self,
        around: &mut WarpContext<'_, '_, O>,
    ) -> bool {
        let code = &around.launch.program.code;
        let barrier = |split: &Split| match code[split.pc as usize].op {
            Op::WarpBarrier { members } => Some(members),
            _ => None,
        };
        let waiting = self.splits.iter().enumerate();
        let waiting = waiting.filter(|(_, split)| split.state == State::Members);
        // `bar.warp.sync` may be at a different instruction in each lane.
        let (mut at_barriers, mut masks) = (0, [0; 32]);
        for (_, split) in waiting.clone() {
            if let Some(members) = barrier(split) {
                let row = self.row(split, members);
                lanes(split.mask).for_each(|lane| masks[lane] = row[lane]);
                at_barriers |= split.mask;
            }
        }
        let missing_at_barriers = exchange::incomplete(&masks, at_barriers, self.live);
        let mut released = Vec::new();
        for (index, split) in waiting {
            let missing = match code[split.pc as usize].op {
                Op::WarpBarrier { .. } => missing_at_barriers,
                Op::Warp(ref op) => {
                    exchange::incomplete(self.row(split, op.members), split.mask, self.live)
                }
                Op::Barrier(_) if self.come_to(split.pc) == split.mask => 0,
                Op::Matrix(_) | Op::ClusterBarrier { .. } if self.live == split.mask => 0,
                _ => ALL,
            };
            if split.mask & !missing != 0 {
                released.push((index, split.mask & !missing));
            }
        }
        exchange::groups(&masks, at_barriers & !missing_at_barriers, |group| {
            around.observer.warp_barrier(around.slot, self.index, group);
        });
        for &(index, mask) in released.iter().rev() {
            let split = &mut self.splits[index];
            let mut free = Split {
                mask,
                state: State::Runnable,
                ..split.clone()
            };
            free.pc += u32::from(barrier(&free).is_some());
            split.mask &= !mask;
            if split.mask == 0 {
                self.splits.swap_remove(index);
            }
            self.push(free);
        }
        !released.is_empty()
    }

    /// The lanes that must reach an aligned instruction: those that have not exited before it.
    fn come_to(&self, pc: u32) -> u32 {
        let before = self.exits.iter().filter(|(exit, _)| *exit < pc);
        self.exists & !before.fold(0, |all, (_, mask)| all | mask)
    }

    /// A row of 32 bits of the frame that a split is in.
    fn row(&self, split: &Split, row: Row) -> &Row32 {
        &self.w32[(split.base.w32 + u32::from(row)) as usize]
    }

    /// Reports lanes that exit after passing an instruction where others wait for them. Lanes that
    /// exit before reaching it may be members: PTX waits only for lanes that have not exited.
    pub(super) fn tell_of_members<O: Observer + ?Sized>(
        &self,
        leaving: &Split,
        mask: u32,
        around: &mut WarpContext<'_, '_, O>,
    ) {
        let waits = |split: &&Split| {
            let op = &around.launch.program.code[split.pc as usize].op;
            split.state == State::Members
                && matches!(op, Op::Warp(_) | Op::WarpBarrier { .. })
                && split.pc < leaving.pc
                && split.base == leaving.base
                && self.members(around.launch, split) & mask != 0
        };
        for split in self.splits.iter().filter(waits) {
            let left = Left {
                mask: self.members(around.launch, split) & mask,
                pc: leaving.pc,
                waiting: split.mask,
                waiting_pc: split.pc,
            };
            around.observer.leaves(&left);
        }
    }

    /// The live lanes that a waiting split needs.
    pub(in crate::exec) fn members(&self, launch: &Launch<'_>, split: &Split) -> u32 {
        let row = match launch.program.code[split.pc as usize].op {
            Op::WarpBarrier { members } => members,
            Op::Warp(ref op) => op.members,
            _ => return self.live,
        };
        exchange::needed(self.row(split, row), split.mask) & self.live
    }

    /// The predicate operand of a barrier's reduction.
    pub(in crate::exec) fn reduced(&self, split: &Split, kind: BarrierKind) -> Option<u32> {
        let (BarrierKind::CountTrue { p, .. }
        | BarrierKind::All { p, .. }
        | BarrierKind::Any { p, .. }) = kind
        else {
            return None;
        };
        Some(p.lanes(&self.predicates[split.base.predicates as usize..]) & split.mask)
    }

    /// Writes the result of a barrier's reduction from the number of participating threads and the
    /// number whose predicate holds.
    pub(in crate::exec) fn write_reduction(
        &mut self,
        (base, mask): (Base, u32),
        kind: BarrierKind,
        threads: u32,
        held: u32,
    ) {
        let mut frame = Frame {
            w32: &mut self.w32[base.w32 as usize..],
            w64: &mut [],
            predicates: &mut self.predicates[base.predicates as usize..],
            dead: 0,
        };
        let spread = |condition: bool| if condition { ALL } else { 0 };
        match kind {
            BarrierKind::CountTrue { d, .. } => frame.set32(d, &[held; 32], mask),
            BarrierKind::All { d, .. } => frame.set_predicate(d, spread(held == threads), mask),
            BarrierKind::Any { d, .. } => frame.set_predicate(d, spread(held > 0), mask),
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
    }
}
