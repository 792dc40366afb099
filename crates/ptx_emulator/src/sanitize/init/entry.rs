//! Registers that a function may read before writing them: backward liveness analysis.

use crate::decode::op::{Op, TRUE};
use crate::decode::{Cell, Function, Program};

/// The registers live at the function's entry. A guarded write does not end liveness.
pub(super) fn read_first(program: &Program, function: &Function) -> Vec<Cell> {
    let Some(start) = function.start else {
        return Vec::new();
    };
    let end = function.end;
    let files = Files::new(function);

    let mut at_targets: Vec<Option<Live>> = vec![None; (end - start) as usize];
    for inst in &program.code[start as usize..end as usize] {
        let mut mark = |target: u32| at_targets[(target - start) as usize] = Some(files.none());
        match inst.op {
            Op::Branch { target } => mark(target),
            Op::BranchIndex { ref targets, .. } => targets.iter().copied().for_each(mark),
            _ => {}
        }
    }
    loop {
        let mut changed = false;
        let mut live = files.none();
        for pc in (start..end).rev() {
            let inst = &program.code[pc as usize];
            let guarded = inst.guard != TRUE;
            if !guarded && inst.op.ends_a_path() {
                live = files.none();
            }
            let targets = match inst.op {
                Op::Branch { ref target } => std::slice::from_ref(target),
                Op::BranchIndex { ref targets, .. } => targets,
                _ => &[],
            };
            for &target in targets {
                if let Some(other) = &at_targets[(target - start) as usize] {
                    live.join(other);
                }
            }
            if !guarded {
                inst.op.writes(|cell| live.remove(files.number(cell)));
            }
            inst.op.reads(|cell| live.insert(files.number(cell)));
            live.insert(files.number(inst.guard.into()));
            if let Some(known) = &mut at_targets[(pc - start) as usize] {
                changed |= known.join(&live);
            }
        }
        if !changed {
            return files.registers(function, &live);
        }
    }
}

impl Op {
    /// Whether control cannot fall through to the next instruction.
    fn ends_a_path(&self) -> bool {
        matches!(
            self,
            Op::Branch { .. } | Op::BranchIndex { .. } | Op::Return | Op::Exit | Op::Trap
        )
    }
}

/// A set of rows, numbered across all files.
#[derive(Clone)]
struct Live(Vec<u64>);

impl Live {
    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    fn holds(&self, number: usize) -> bool {
        self.0[number / 64] & (1 << (number % 64)) != 0
    }

    /// Adds another set; returns whether this one changed.
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (word, &more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }
}

/// Offset of each file in the common numbering.
struct Files {
    w64: usize,
    predicates: usize,
    all: usize,
}

impl Files {
    fn new(function: &Function) -> Self {
        let rows = function.rows;
        let w64 = rows.w32 as usize;
        let predicates = w64 + rows.w64 as usize;
        Self {
            w64,
            predicates,
            all: predicates + rows.predicates as usize,
        }
    }

    fn none(&self) -> Live {
        Live(vec![0; self.all.div_ceil(64)])
    }

    fn number(&self, cell: Cell) -> usize {
        match cell {
            Cell::R32(row) => usize::from(row),
            Cell::R64(row) => self.w64 + usize::from(row),
            Cell::Predicate(row) => self.predicates + usize::from(row),
        }
    }

    /// The members that are registers; other rows are constants.
    fn registers(&self, function: &Function, live: &Live) -> Vec<Cell> {
        let w32 = function.registers32.iter().map(|&row| Cell::R32(row));
        let w64 = function.registers64.iter().map(|&row| Cell::R64(row));
        // Predicate 0 is the constant true.
        let predicates = (1..function.rows.predicates).map(|row| Cell::Predicate(row as u16));
        w32.chain(w64)
            .chain(predicates)
            .filter(|&cell| live.holds(self.number(cell)))
            .collect()
    }
}
