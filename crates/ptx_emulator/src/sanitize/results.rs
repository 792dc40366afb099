//! The registers that depend on the result of an atomic or a strong read, and so on the thread
//! order.

use crate::decode::op::{Inst, Op, Order};
use crate::decode::{Cell, Program};
use crate::fault::Space;
use std::ops::Range;

/// A function's code, and its registers that depend on such a result.
pub(super) struct Results<'a> {
    program: &'a Program,
    body: Range<u32>,
    cells: Cells,
}

/// A set of registers. Every check of a launch asks for each instruction's: it costs no hash.
#[derive(Default)]
struct Cells {
    /// A flag for each row of the three register files.
    files: [Vec<bool>; 3],
    count: usize,
}

impl Cells {
    fn place(cell: Cell) -> (usize, usize) {
        match cell {
            Cell::R32(row) => (0, row.into()),
            Cell::R64(row) => (1, row.into()),
            Cell::Predicate(row) => (2, row.into()),
        }
    }

    fn contains(&self, cell: Cell) -> bool {
        let (file, row) = Self::place(cell);
        self.files[file].get(row) == Some(&true)
    }

    fn insert(&mut self, cell: Cell) {
        let (file, row) = Self::place(cell);
        let file = &mut self.files[file];
        if file.len() <= row {
            file.resize(row + 1, false);
        }
        self.count += usize::from(!std::mem::replace(&mut file[row], true));
    }
}

/// Those of a kernel and of the functions that it may call.
pub(super) fn of(program: &Program, kernel: u32) -> Vec<Results<'_>> {
    let bodies = program.reachable_bodies(kernel);
    let functions = bodies.map(|body| Results {
        program,
        body,
        cells: Cells::default(),
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
        op.reads(|cell| reaches |= self.cells.contains(cell));
        reaches
    }

    /// Whether its guard does.
    pub(super) fn decide(&self, inst: &Inst) -> bool {
        self.cells.contains(inst.guard.into())
    }

    fn spread(&mut self, memory: &mut bool) {
        loop {
            let before = (self.cells.count, *memory);
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
                    inst.op.writes(|cell| self.cells.insert(cell));
                }
            }
            if before == (self.cells.count, *memory) {
                return;
            }
        }
    }
}

fn is_private(space: Space) -> bool {
    matches!(space, Space::Local | Space::Generic)
}
