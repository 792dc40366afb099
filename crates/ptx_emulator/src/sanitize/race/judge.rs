//! The full analysis of one lane's access to one word: which accesses it races with, and what is
//! recorded.

use super::gathers;
use super::lane_access::{LaneAccess, Strength};
use super::record::{Cell, Record};
use super::shadow::Spilled;
use crate::decode::Program;
use crate::decode::op::{Direction, MbarrierKind, Op, Order, PartOfWord, Scope, SurfaceKind};
use crate::exec::lanes;
use std::ops::Range;

/// A conflict with an earlier access.
#[derive(Clone, Copy)]
pub(super) struct Hazard {
    pub(super) earlier: Record,
    /// Lane of the earlier access in its warp.
    pub(super) lane: usize,
    /// First byte accessed by both.
    pub(super) at: u64,
    /// All bytes accessed by both, as bits from `at`.
    pub(super) bytes: u32,
    /// An exchange of the warp hands on an acquire that orders them.
    pub(super) heard: bool,
}

impl Hazard {
    fn add(&mut self, place: &Range<u64>) {
        // No access exceeds 32 bytes.
        let bytes = place.clone().map(|byte| 1 << ((byte - self.at) & 31));
        self.bytes |= bytes.sum::<u32>();
    }

    /// The bytes accessed by both.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        let places = (0..32).filter(|byte| self.bytes >> byte & 1 != 0);
        places.map(|byte| self.at + byte)
    }
}

enum Relation {
    Ordered,
    /// Possibly unordered, but both are strong, and their scopes include each other.
    Strong,
    Race(usize),
}

/// How strong the access of an instruction is.
pub(super) fn strength(program: &Program, pc: u32) -> Option<Strength> {
    let op = &program.code[pc as usize].op;
    let in_part = matches!(op, Op::Atomic(atomic) if atomic.part != PartOfWord::Whole);
    let (order, scope, size) = match op {
        Op::Load(t) | Op::Store(t) => (t.order, t.scope, t.size),
        Op::Atomic(atomic) => (atomic.order, atomic.scope, atomic.size),
        Op::Surface(op) => match &op.kind {
            SurfaceKind::Reduce { op, .. } => (op.order, op.scope, op.size),
            _ => return None,
        },
        Op::CopyBulk(copy) => match copy.reduces {
            Some((_, size)) => (Order::Relaxed, Scope::Device, size),
            None => return None,
        },
        // Elements of any size may be reduced: a byte is part of each.
        Op::CopyTensor(copy) => match copy.direction {
            Direction::Reduce(_) => (Order::Relaxed, Scope::Device, 1),
            _ => return None,
        },
        // Synchronisation through objects is tracked separately; creating or destroying one is a
        // plain write.
        Op::Mbarrier(op) => match op.kind {
            MbarrierKind::Init { .. } | MbarrierKind::Invalidate => return None,
            // Its operations are atomic for every thread that can access it.
            _ => (Order::Relaxed, Scope::System, 8),
        },
        _ => return None,
    };
    let strength = Strength {
        order,
        scope,
        size,
        in_part,
    };
    (order != Order::Weak).then_some(strength)
}

impl LaneAccess<'_> {
    /// Analyses the access to the cell of the bytes at `place`, and records it.
    pub(super) fn visit(
        &self,
        place: Range<u64>,
        cell: &mut Cell,
        spilled: &mut Spilled,
        hazards: &mut Vec<Hazard>,
    ) {
        let earlier = [cell.write, cell.others[0], cell.others[1]];
        for record in earlier.iter().chain(spilled.of(cell)) {
            if !self.writes && !record.writes() {
                continue;
            }
            // The bytes of a word, and the words of a vector, usually conflict with the same
            // access: one hazard.
            if let Some(known) = hazards.iter_mut().find(|known| known.earlier == *record) {
                known.add(&place);
            } else if let Relation::Race(lane) = self.relation(record) {
                let mut hazard = Hazard {
                    earlier: *record,
                    lane,
                    at: place.start,
                    bytes: 0,
                    heard: self.has_heard(record),
                };
                hazard.add(&place);
                hazards.push(hazard);
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
        // Tested before the clocks, because many lanes may spin on one word.
        if self.both_strong(record) && !self.is_volatile_data(record) {
            return Relation::Strong;
        }
        let unordered = self.unordered(record, record.lanes & !own);
        let gathered = |&lane: &usize| !gathers::order(self, record, lane);
        match lanes(unordered).find(gathered) {
            Some(lane) => Relation::Race(lane),
            None => Relation::Ordered,
        }
    }

    /// Whether this lane knows an event of another one that came before an access of it.
    pub(super) fn knows_before(&self, record: &Record, lane: usize) -> bool {
        let me = (self.now.warp_in_block(), self.lane);
        self.block.knows_before(self.chains, me, record, lane)
    }

    /// Whether exchanges of its warp tell this lane of an access of another warp.
    fn has_heard(&self, record: &Record) -> bool {
        let me = (self.now.warp_in_block(), self.lane);
        let unordered = self.unordered(record, record.lanes);
        record.warp != self.now.warp
            && !record.is_pending()
            && self.block.unheard(self.chains, me, record, unordered) == 0
    }

    /// PTX's "morally strong": both accesses are strong, each is within the other's scope, and they
    /// overlap completely.
    pub(super) fn both_strong(&self, record: &Record) -> bool {
        let Some(here) = self.strength else {
            return false;
        };
        let block = self.now.shares_block(record);
        // Cluster membership is not tracked.
        let reaches = |scope: Scope| {
            scope > Scope::Cluster || block || self.clustered && scope == Scope::Cluster
        };
        strength(self.program, record.pc()).is_some_and(|there| {
            here.overlaps(&there) && reaches(here.scope) && reaches(there.scope)
        })
    }

    /// Whether one of the two is `volatile` and neither polls for the other, so that nothing shows
    /// that they are meant to synchronise.
    pub(super) fn is_volatile_data(&self, record: &Record) -> bool {
        let is_volatile = |strength: Option<Strength>| {
            strength.is_some_and(|strength| strength.order == Order::Volatile)
        };
        let [here, there] = [self.now.pc, record.pc()];
        (is_volatile(self.strength) || is_volatile(strength(self.program, there)))
            && !self.polls.contains(&here)
            && !self.polls.contains(&there)
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
            // A later access may be ordered after this write, but not after others that were
            // allowed to be concurrent with it.
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

    /// A weak or volatile write that is ordered before this access but not before those of other
    /// threads, which may be concurrent with this strong access and would race with that write.
    fn hides(&self, record: &Record) -> bool {
        // A block barrier orders it for all threads that can access the memory, if that is shared
        // memory.
        let is_over = || !self.wide && self.now.follows(record);
        let is_data = || {
            let strength = strength(self.program, record.pc());
            strength.is_none_or(|strength| strength.order == Order::Volatile)
        };
        record.lanes != 0 && record.writes() && !is_over() && is_data()
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

    /// Records an access in addition to the last write.
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
