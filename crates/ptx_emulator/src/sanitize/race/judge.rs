//! One lane's access to one word, in full: what it races with, and what is remembered of it.

use super::clocks::Now;
use super::shadow::{Cell, Record, Spilled};
use crate::decode::Program;
use crate::decode::op::{Op, Order, Scope};
use crate::exec::lanes;

/// What a lane does now.
pub(super) struct Act<'a> {
    pub(super) program: &'a Program,
    pub(super) now: Now,
    pub(super) lane: usize,
    pub(super) reads: bool,
    pub(super) writes: bool,
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
    pub(super) scope: Scope,
    /// Bytes of each element.
    size: u8,
}

enum Relation {
    Ordered,
    /// Not ordered, but both are strong, and each speaks to the other.
    Strong,
    Race(usize),
}

/// How strong the access of an instruction is.
pub(super) fn strength(program: &Program, pc: u32) -> Option<Strength> {
    let (order, scope, size) = match &program.code[pc as usize].op {
        Op::Load(t) | Op::Store(t) => (t.order, t.scope, t.size),
        Op::Atomic(atomic) => (atomic.order, atomic.scope, atomic.size),
        _ => return None,
    };
    (order != Order::Weak).then_some(Strength { scope, size })
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
            let known = hazards.iter().any(|known| known.earlier == *record);
            if let Relation::Race(lane) = self.relation(record)
                && !known
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
        let own = if record.warp == self.now.warp {
            1 << self.lane
        } else {
            0
        };
        let Some(lane) = lanes(record.lanes & !own).next() else {
            return Relation::Ordered;
        };
        if self.now.follows(record) {
            Relation::Ordered
        } else if self.both_strong(record) {
            Relation::Strong
        } else {
            Relation::Race(lane)
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

    fn note_write(&self, cell: &mut Cell, spilled: &mut Spilled) {
        let new = self.now.record(1 << self.lane, true);
        if self.strength.is_some() {
            // Whoever comes later may be ordered after this write, and not after others that were allowed beside it.
            let beside = |record: &Record| matches!(self.relation(record), Relation::Strong);
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

    fn note_read(&self, cell: &mut Cell, spilled: &mut Spilled) {
        let new = self.now.record(1 << self.lane, false);
        self.keep(cell, spilled, new);
    }

    /// Remembers an access beside the last write.
    fn keep(&self, cell: &mut Cell, spilled: &mut Spilled, new: Record) {
        for other in &mut cell.others {
            if other.joins(&new) {
                other.lanes |= new.lanes;
                return;
            }
        }
        for other in &mut cell.others {
            if matches!(self.relation(other), Relation::Ordered) {
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
