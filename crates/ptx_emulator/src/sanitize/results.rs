//! The registers that depend on the result of an atomic or a strong read, and so on the thread
//! order.

use crate::decode::op::{Inst, Op, Order};
use crate::decode::{Cell, Program};
use crate::fault::Space;
use std::collections::HashSet;
use std::ops::Range;

/// A function's code, and its registers that depend on such a result.
pub(super) struct Results<'a> {
    program: &'a Program,
    body: Range<u32>,
    cells: HashSet<Cell>,
}

/// Those of all functions of a program.
pub(super) fn of(program: &Program) -> Vec<Results<'_>> {
    let functions = program.functions.iter().map(|function| Results {
        program,
        body: function.start.unwrap_or(function.end)..function.end,
        cells: HashSet::new(),
    });
    let mut all: Vec<Results<'_>> = functions.collect();
    // Local memory passes arguments and results, so any function may learn of it.
    let mut memory = false;
    loop {
        let before = memory;
        all.iter_mut()
            .for_each(|results| results.spread(&mut memory));
        if memory == before {
            return all;
        }
    }
}

impl Results<'_> {
    pub(super) fn code(&self) -> impl Iterator<Item = (u32, &Inst)> {
        let code = &self.program.code[self.body.start as usize..self.body.end as usize];
        self.body.clone().zip(code)
    }

    /// Whether an operand depends on a result.
    pub(super) fn reach(&self, op: &Op) -> bool {
        let mut reaches = false;
        op.reads(|cell| reaches |= self.cells.contains(&cell));
        reaches
    }

    /// Whether its guard does.
    pub(super) fn decide(&self, inst: &Inst) -> bool {
        self.cells.contains(&inst.guard.into())
    }

    fn spread(&mut self, memory: &mut bool) {
        loop {
            let before = (self.cells.len(), *memory);
            for pc in self.body.clone() {
                let inst = &self.program.code[pc as usize];
                let mut depends = self.decide(inst) || self.reach(&inst.op);
                match &inst.op {
                    Op::Atomic(_) => depends = true,
                    Op::Load(t) if t.order != Order::Weak => depends = true,
                    Op::Load(t) => depends |= *memory && is_private(t.space),
                    Op::Store(t) => *memory |= depends && is_private(t.space),
                    _ => {}
                }
                if depends {
                    inst.op.writes(|cell| {
                        self.cells.insert(cell);
                    });
                }
            }
            if before == (self.cells.len(), *memory) {
                return;
            }
        }
    }
}

fn is_private(space: Space) -> bool {
    matches!(space, Space::Local | Space::Generic)
}
