//! One lane's access to one word, in full: what it races with, and what is remembered of it.

use super::clocks::{Block, Now};
use super::shadow::{Cell, Record, Spilled};
use crate::decode::Program;
use crate::decode::mbarrier::MbarrierKind;
use crate::decode::op::{Op, Order, Scope};
use crate::exec::lanes;

/// What a lane does now.
pub(super) struct Act<'a> {
    pub(super) program: &'a Program,
    pub(super) block: &'a Block,
    pub(super) now: Now,
    pub(super) lane: usize,
    pub(super) writes: bool,
    /// It goes on in the background: an asynchronous copy.
    pub(super) pending: bool,
    /// Messages could not be followed any more: whatever they may have ordered counts as ordered.
    pub(super) lenient: bool,
    pub(super) strength: Option<Strength>,
}

/// A conflict with an earlier access.
#[derive(Clone, Copy)]
pub(super) struct Hazard {
    pub(super) earlier: Record,
    /// The earlier access's lane, in its warp.
    pub(super) lane: usize,
    /// The first byte that both touch.
    pub(super) at: u64,
}

/// That an access is strong: atomic, volatile, or with an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strength {
    pub(super) order: Order,
    pub(super) scope: Scope,
    /// Bytes of each element.
    pub(super) size: u8,
}

enum Relation {
    Ordered,
    /// Perhaps not ordered, but both are strong, and each speaks to the other.
    Strong,
    Race(usize),
}

/// How strong the access of an instruction is.
pub(super) fn strength(program: &Program, pc: u32) -> Option<Strength> {
    let (order, scope, size) = match &program.code[pc as usize].op {
        Op::Load(t) | Op::Store(t) => (t.order, t.scope, t.size),
        Op::Atomic(atomic) => (atomic.order, atomic.scope, atomic.size),
        // What an object tells is followed with the objects; to make or destroy one is a write like any other.
        Op::Mbarrier(op) => match op.kind {
            MbarrierKind::Init { .. } | MbarrierKind::Invalidate => return None,
            _ => (Order::Relaxed, Scope::Block, 8),
        },
        _ => return None,
    };
    (order != Order::Weak).then_some(Strength { order, scope, size })
}

impl Act<'_> {
    /// Judges the access to the cell of the byte at `at`, and remembers it.
    pub(super) fn visit(
        &self,
        at: u64,
        cell: &mut Cell,
        spilled: &mut Spilled,
        hazards: &mut Vec<Hazard>,
    ) {
        let earlier = [cell.write, cell.others[0], cell.others[1]];
        for record in earlier.iter().chain(spilled.of(cell)) {
            if !self.writes && !record.writes() {
                continue;
            }
            // The bytes of a word, and the words of a vector, mostly meet the same access: that is one hazard.
            if !hazards.iter().any(|known| known.earlier == *record)
                && let Relation::Race(lane) = self.relation(record)
            {
                hazards.push(Hazard {
                    earlier: *record,
                    lane,
                    at,
                });
            }
        }
        if self.writes {
            self.note_write(cell, spilled);
        } else {
            self.note_read(cell, spilled);
        }
    }

    fn relation(&self, record: &Record) -> Relation {
        if record.is_pending() {
            let lane = lanes(record.lanes).next();
            return lane.map_or(Relation::Ordered, Relation::Race);
        }
        let own = if record.warp == self.now.warp {
            1 << self.lane
        } else {
            0
        };
        if record.lanes & !own == 0 || self.now.follows(record) {
            return Relation::Ordered;
        }
        // Before the clocks are asked: many lanes spin on one word.
        if self.both_strong(record) {
            return Relation::Strong;
        }
        if self.lenient {
            return Relation::Ordered;
        }
        let me = (self.now.warp_in_block(), self.lane);
        let unordered = self.block.unordered(me, record, record.lanes & !own);
        match lanes(unordered).next() {
            Some(lane) => Relation::Race(lane),
            None => Relation::Ordered,
        }
    }

    /// PTX calls it morally strong: both accesses are strong, each lies in the other's scope, and neither touches only
    /// a part of what the other does.
    fn both_strong(&self, record: &Record) -> bool {
        let Some(here) = self.strength else {
            return false;
        };
        let block = self.now.shares_block(record);
        let reaches = |scope: Scope| scope > Scope::Cluster || block;
        strength(self.program, record.pc()).is_some_and(|there| {
            here.size == there.size && reaches(here.scope) && reaches(there.scope)
        })
    }

    fn record(&self, writes: bool) -> Record {
        let record = self.now.record(1 << self.lane, writes);
        if self.pending {
            record.pending()
        } else {
            record
        }
    }

    fn note_write(&self, cell: &mut Cell, spilled: &mut Spilled) {
        let new = self.record(true);
        if self.strength.is_some() {
            // Whoever comes later may be ordered after this write, and not after others that were allowed beside it.
            let beside = |record: &Record| {
                matches!(self.relation(record), Relation::Strong) || self.hides(record)
            };
            spilled.retain(cell, beside);
            for other in &mut cell.others {
                if !beside(other) {
                    other.lanes = 0;
                }
            }
            if cell.write.joins(&new) {
                cell.write.lanes |= new.lanes;
                return;
            }
            if beside(&cell.write) {
                let write = cell.write;
                self.keep(cell, spilled, write);
            }
        } else {
            spilled.retain(cell, |_| false);
            cell.forget_others();
        }
        cell.write = new;
    }

    /// A weak write that is ordered before this access, but not before those of other threads: they may stand beside this
    /// strong access, and would race with that write.
    fn hides(&self, record: &Record) -> bool {
        record.writes()
            && !self.now.follows(record)
            && strength(self.program, record.pc()).is_none()
    }

    fn note_read(&self, cell: &mut Cell, spilled: &mut Spilled) {
        let new = self.record(false);
        self.keep(cell, spilled, new);
    }

    /// The lane has waited for its copy to or from the cell.
    pub(super) fn complete(&self, cell: &mut Cell, spilled: &mut Spilled) {
        let done = self.now.record(1 << self.lane, self.writes);
        let pending = done.pending();
        if self.writes {
            if cell.write == pending {
                cell.write = done;
            }
            return;
        }
        let records = spilled.of_mut(cell).iter_mut();
        let mut records = records.filter(|record| record.joins(&pending));
        if let Some(record) = records.find(|record| record.lanes & pending.lanes != 0) {
            record.lanes &= !pending.lanes;
            spilled.retain(cell, |record| record.lanes != 0);
            self.keep(cell, spilled, done);
        }
    }

    /// Remembers an access beside the last write.
    fn keep(&self, cell: &mut Cell, spilled: &mut Spilled, new: Record) {
        if new.is_pending() {
            return spilled.push(cell, new);
        }
        for other in &mut cell.others {
            if other.joins(&new) {
                other.lanes |= new.lanes;
                return;
            }
        }
        for other in &mut cell.others {
            if matches!(self.relation(other), Relation::Ordered) && !self.hides(other) {
                *other = new;
                return;
            }
        }
        let [first, second] = &mut cell.others;
        if self.now.keeps_all {
            spilled.push(cell, new);
        } else if second.warp == first.warp {
            *second = new;
        }
    }
}
