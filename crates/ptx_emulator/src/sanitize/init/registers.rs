//! The undefined bits of a warp's registers.

use crate::decode::Cell;
use crate::decode::op::Op;
use crate::exec::Base;
use crate::fault::Space;
use crate::sanitize::Actor;

/// Origin of an undefined value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) actor: Actor,
    pub(super) source: Source,
    /// The memory through which it was stored and reloaded.
    pub(super) through: Option<Space>,
}

/// The uninitialised object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Memory {
        space: Space,
        address: u64,
        size: u32,
        /// Nothing was ever stored there; otherwise something undefined may have been.
        untouched: bool,
    },
    /// A register of the function that starts at the actor's instruction.
    Register { function: u32, cell: Cell },
}

impl Origin {
    /// Whether two values have the same instruction and kind of origin.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        let is_memory = |origin: &Self| matches!(origin.source, Source::Memory { .. });
        self.actor.pc == other.actor.pc && is_memory(self) == is_memory(other)
    }
}

/// Operands and results of an instruction. The lists are reused for the next one.
#[derive(Default)]
pub(super) struct Cells {
    pub(super) reads: Vec<Cell>,
    pub(super) writes: Vec<Cell>,
    /// Undefined bits of each result of a lane.
    pub(super) bits: Vec<u64>,
}

impl Cells {
    pub(super) fn of(&mut self, op: &Op) {
        self.reads.clear();
        op.reads(|cell| self.reads.push(cell));
        self.writes.clear();
        op.writes(|cell| self.writes.push(cell));
    }
}

/// The registers of a warp, in all frames, that are not defined in all lanes.
#[derive(Default)]
pub(super) struct Registers {
    /// By file: 32 bits, 64 bits, predicates.
    files: [Vec<Register>; 3],
    /// Number of registers with an undefined lane.
    held: u32,
    pub(super) cells: Cells,
}

#[derive(Default)]
struct Register {
    /// Lanes with undefined bits.
    lanes: u32,
    /// Allocated at the first undefined bit, then reused.
    values: Option<Box<[(u64, Origin); 32]>>,
}

impl Registers {
    /// Whether any register is undefined; usually none is.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.held > 0
    }

    fn register(&self, base: &Base, cell: Cell) -> Option<&Register> {
        let (file, at) = place(base, cell);
        self.files[file].get(at)
    }

    /// The lanes in which a register has undefined bits.
    pub(super) fn lanes(&self, base: &Base, cell: Cell) -> u32 {
        self.register(base, cell)
            .map_or(0, |register| register.lanes)
    }

    /// The undefined bits of a lane, and their origin.
    pub(super) fn get(&self, base: &Base, cell: Cell, lane: usize) -> Option<(u64, Origin)> {
        let register = self.register(base, cell)?;
        let values = register.values.as_ref()?;
        (register.lanes & (1 << lane) != 0).then(|| values[lane])
    }

    /// Sets the undefined bits of a lane; with none, the lane is defined.
    pub(super) fn set(&mut self, base: &Base, cell: Cell, lane: usize, bits: u64, origin: Origin) {
        if bits == 0 {
            return self.clear(base, cell, 1 << lane);
        }
        let (file, at) = place(base, cell);
        let file = &mut self.files[file];
        if file.len() <= at {
            file.resize_with(at + 1, Register::default);
        }
        let register = &mut file[at];
        self.held += u32::from(register.lanes == 0);
        register.lanes |= 1 << lane;
        let values = register
            .values
            .get_or_insert_with(|| Box::new([(0, origin); 32]));
        values[lane] = (bits, origin);
    }

    /// Marks lanes as defined.
    pub(super) fn clear(&mut self, base: &Base, cell: Cell, mask: u32) {
        let (file, at) = place(base, cell);
        if let Some(register) = self.files[file].get_mut(at) {
            forget(register, mask, &mut self.held);
        }
    }

    /// Lanes leave the frame at `base` and all frames called from it.
    pub(super) fn leave(&mut self, base: &Base, mask: u32) {
        if self.held == 0 {
            return;
        }
        for (file, from) in [base.w32, base.w64, base.predicates]
            .into_iter()
            .enumerate()
        {
            for register in self.files[file].iter_mut().skip(from as usize) {
                forget(register, mask, &mut self.held);
            }
        }
    }
}

fn forget(register: &mut Register, mask: u32, held: &mut u32) {
    let before = register.lanes;
    register.lanes &= !mask;
    *held -= u32::from(before != 0 && register.lanes == 0);
}

fn place(base: &Base, cell: Cell) -> (usize, usize) {
    match cell {
        Cell::R32(row) => (0, base.w32 as usize + usize::from(row)),
        Cell::R64(row) => (1, base.w64 as usize + usize::from(row)),
        Cell::Predicate(row) => (2, base.predicates as usize + usize::from(row)),
    }
}
