//! Propagates undefined values through the registers of a warp.

use super::registers::{Cells, Origin, Registers};
use super::report::{Use, report};
use super::spread::{self, Operand};
use crate::decode::Cell;
use crate::decode::op::{Inst, Op, SurfaceKind, WarpKind};
use crate::exec::{Base, Frame, lanes, waits};
use crate::fault::Access;
use crate::sanitize::{Context, Ledger};

/// One instruction of a warp.
pub(super) struct Step<'a, 's> {
    context: &'a Context<'s>,
    ledger: &'a mut Ledger,
    pub(super) registers: &'a mut Registers,
    pc: u32,
    pub(super) base: Base,
}

impl<'a, 's> Step<'a, 's> {
    pub(super) fn new(
        context: &'a Context<'s>,
        ledger: &'a mut Ledger,
        registers: &'a mut Registers,
        pc: u32,
    ) -> Self {
        Self {
            context,
            ledger,
            registers,
            pc,
            base: context.turn.base,
        }
    }

    pub(super) fn report(&mut self, lane: usize, usage: Use, origin: Origin) {
        self.report_times((lane, origin, 1), usage);
    }

    fn report_times(&mut self, (lane, origin, times): (usize, Origin, u64), usage: Use) {
        let user = self.context.actor(self.pc, lane);
        report(self.context, self.ledger, (user, times), usage, origin);
    }

    /// Lanes of `mask` use a register that must be defined. If it is not, that is reported, and the
    /// register then counts as defined, so that one mistake is reported once.
    fn demand(&mut self, cell: Cell, mask: u32, usage: Use) {
        let undefined = self.registers.lanes(&self.base, cell) & mask;
        if undefined == 0 {
            return;
        }
        if self.registers.is_same(&self.base, cell) {
            let first = undefined.trailing_zeros() as usize;
            if let Some((_, origin)) = self.registers.get(&self.base, cell, first) {
                self.report_times((first, origin, undefined.count_ones().into()), usage);
            }
            return self.registers.clear(&self.base, cell, mask);
        }
        // Lanes whose values have one origin share a report.
        let mut same: Option<(usize, Origin, u64)> = None;
        for lane in lanes(undefined) {
            let Some((_, origin)) = self.registers.get(&self.base, cell, lane) else {
                continue;
            };
            match &mut same {
                Some((_, known, times)) if known.is_at(&origin) => *times += 1,
                other => {
                    if let Some(before) = other.replace((lane, origin, 1)) {
                        self.report_times(before, usage);
                    }
                }
            }
        }
        if let Some(last) = same {
            self.report_times(last, usage);
        }
        self.registers.clear(&self.base, cell, mask);
    }

    /// Reports operands that must be defined, and computes which results are undefined.
    #[inline(never)]
    pub(super) fn follow(mut self, mask: u32, active: u32, frame: &Frame<'_>) {
        let inst = &self.context.program.code[self.pc as usize];
        if waits(&inst.op, mask, frame) {
            return;
        }
        if let Some(usage) = use_of_guard(&inst.op) {
            self.demand(inst.guard.into(), active, usage);
        }
        self.demands(&inst.op, mask);
        match inst.op {
            Op::Return | Op::Exit => self.registers.leave(&self.base, mask),
            Op::Warp(ref op) => self.exchange(op, mask, frame),
            Op::Matrix(ref op) => self.multiply(op, mask),
            _ => self.compute(inst, mask, active, frame),
        }
    }

    /// An instruction that computes each lane independently.
    fn compute(&mut self, inst: &Inst, mask: u32, active: u32, frame: &Frame<'_>) {
        let mut cells = std::mem::take(&mut self.registers.cells);
        cells.of(&inst.op);
        // Lanes with an undefined guard: they may or may not execute it.
        let undecided = self.registers.lanes(&self.base, inst.guard.into()) & active;
        let read = cells.reads.iter();
        let read = read.map(|&cell| self.registers.lanes(&self.base, cell));
        // Values from memory are handled at the access.
        let computes = !matches!(
            inst.op,
            Op::Load(_) | Op::Atomic(_) | Op::Texture(_) | Op::Surface(_)
        );
        let undefined = match computes {
            true => undecided | read.fold(0, |all, lanes| all | lanes) & mask,
            false => undecided,
        };
        for &d in &cells.writes {
            self.registers.clear(&self.base, d, mask & !undefined);
        }
        let together = undecided == 0 && self.compute_together(inst, &mut cells, undefined, frame);
        for lane in lanes(if together { 0 } else { undefined }) {
            let Some(origin) = self.origin(inst, &cells.reads, lane) else {
                continue;
            };
            cells.bits.clear();
            for &d in &cells.writes {
                let get = |cell| self.operand(cell, lane, frame);
                cells.bits.push(match undecided & (1 << lane) {
                    0 => spread::result(&inst.op, &cells.reads, d, get),
                    _ => u64::MAX,
                });
            }
            for (&d, &bits) in cells.writes.iter().zip(&cells.bits) {
                self.registers.set(&self.base, d, lane, bits, origin);
            }
        }
        self.registers.cells = cells;
    }

    /// Computes the results of all lanes at once, if they are alike; returns whether they are.
    fn compute_together(
        &mut self,
        inst: &Inst,
        cells: &mut Cells,
        undefined: u32,
        frame: &Frame<'_>,
    ) -> bool {
        let (registers, base) = (&*self.registers, &self.base);
        let is_alike = |&cell: &Cell| {
            let lanes = registers.lanes(base, cell) & undefined;
            lanes == 0 || lanes == undefined && registers.is_same(base, cell)
        };
        if undefined == 0
            || spread::depends_on_values(&inst.op)
            || !cells.reads.iter().all(is_alike)
        {
            return false;
        }
        let first = undefined.trailing_zeros() as usize;
        let Some(origin) = self.origin(inst, &cells.reads, first) else {
            return false;
        };
        let get = |cell| self.operand(cell, first, frame);
        let results = cells.writes.iter();
        let results = results.map(|&d| spread::result(&inst.op, &cells.reads, d, get));
        cells.bits.clear();
        cells.bits.extend(results);
        for (&d, &bits) in cells.writes.iter().zip(&cells.bits) {
            self.registers
                .set_all(&self.base, d, undefined, bits, origin);
        }
        true
    }

    /// Origin of a lane's first undefined operand.
    fn origin(&self, inst: &Inst, reads: &[Cell], lane: usize) -> Option<Origin> {
        let guard = Cell::from(inst.guard);
        let mut cells = reads.iter().chain([&guard]);
        let found = cells.find_map(|&cell| self.registers.get(&self.base, cell, lane));
        found.map(|(_, origin)| origin)
    }

    fn operand(&self, cell: Cell, lane: usize, frame: &Frame<'_>) -> Operand {
        let value = match cell {
            Cell::R32(row) => frame.r32(row)[lane].into(),
            Cell::R64(row) => frame.r64(row)[lane],
            Cell::Predicate(row) => u64::from(frame.predicates[usize::from(row)] >> lane & 1),
        };
        let known = self.registers.get(&self.base, cell, lane);
        let undefined = known.map_or(0, |(bits, _)| bits & spread::all_bits(cell));
        Operand { value, undefined }
    }

    /// Operands that must be defined.
    fn demands(&mut self, op: &Op, mask: u32) {
        let mut demand = |cell: Cell, usage: Use| self.demand(cell, mask, usage);
        match *op {
            Op::Load(ref t) => demand(t.address.into(), Use::Address(Access::Read)),
            Op::Store(ref t) => demand(t.address.into(), Use::Address(Access::Write)),
            Op::Atomic(ref op) => {
                demand(op.address.into(), Use::Address(Access::Atomic));
                demand(op.b.into(), Use::AtomicOperand);
                op.c.into_iter()
                    .for_each(|c| demand(c.into(), Use::AtomicOperand));
            }
            Op::CopyAsync(ref op) => {
                demand(op.to.into(), Use::Address(Access::Write));
                demand(op.from.into(), Use::Address(Access::Read));
                op.source_size
                    .into_iter()
                    .for_each(|row| demand(Cell::R32(row), Use::CopySize));
            }
            Op::Matrix(ref op) => {
                let access = if op.targets.is_empty() {
                    Access::Write
                } else {
                    Access::Read
                };
                op.memory
                    .into_iter()
                    .for_each(|(_, address)| demand(address.into(), Use::Address(access)));
            }
            Op::CopyBulk(ref op) => {
                demand(op.to.1.into(), Use::Address(Access::Write));
                demand(op.from.1.into(), Use::Address(Access::Read));
                demand(Cell::R32(op.size), Use::CopySize);
            }
            Op::CopyTensor(ref op) => op.reads(|cell| demand(cell, Use::Address(Access::Read))),
            Op::Texture(ref op) => op
                .point
                .reads(|cell| demand(cell, Use::Address(Access::Read))),
            Op::Surface(ref op) => {
                let access = match op.kind {
                    SurfaceKind::Load(_) => Access::Read,
                    SurfaceKind::Reduce { .. } => Access::Atomic,
                    _ => Access::Write,
                };
                op.point.reads(|cell| demand(cell, Use::Address(access)));
                if let SurfaceKind::Reduce { ref op, .. } = op.kind {
                    demand(op.b.into(), Use::AtomicOperand);
                }
            }
            Op::Mbarrier(_) => op.reads(|cell| demand(cell, Use::Control)),
            Op::BranchIndex { .. } => op.reads(|cell| demand(cell, Use::BranchIndex)),
            Op::Call(_) => op.reads(|cell| demand(cell, Use::Callee)),
            Op::Barrier(_) | Op::WarpBarrier { .. } => op.reads(|cell| demand(cell, Use::Control)),
            Op::Warp(ref op) => {
                demand(Cell::R32(op.members), Use::Control);
                if let WarpKind::Shuffle { b, c, .. } = op.kind {
                    demand(Cell::R32(b), Use::Control);
                    demand(Cell::R32(c), Use::Control);
                }
            }
            _ => {}
        }
    }
}

/// The consequence of an undefined guard; `None` for an instruction that only computes a value.
fn use_of_guard(op: &Op) -> Option<Use> {
    match op {
        Op::Branch { .. }
        | Op::BranchIndex { .. }
        | Op::Call(_)
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Breakpoint => Some(Use::Branch),
        Op::Store(_)
        | Op::Atomic(_)
        | Op::CopyAsync(_)
        | Op::CopyBulk(_)
        | Op::Barrier(_)
        | Op::ClusterBarrier { .. }
        | Op::WarpBarrier { .. }
        | Op::Warp(_)
        | Op::Matrix(_)
        | Op::CopyTensor(_)
        | Op::Surface(_)
        | Op::Mbarrier(_) => Some(Use::Guard),
        _ => None,
    }
}
