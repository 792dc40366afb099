//! The undefined bits of a warp's registers.

use crate::decode::Cell;
use crate::decode::op::Op;
use crate::exec::{Base, lanes};
use crate::fault::Space;
use crate::sanitize::Actor;

/// Origin of an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) actor: Actor,
    pub(super) source: Source,
    /// The memory through which it was stored and reloaded.
    pub(super) through: Option<Space>,
}

/// Where an undefined value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The result of the actor's instruction, an integer division by zero.
    Division,
}

impl Origin {
    /// The origin of another lane, in which the same happened.
    pub(super) fn in_lane(mut self, lane: usize) -> Self {
        self.actor.thread = self.actor.thread / 32 * 32 + lane as u32;
        self
    }

    /// Whether two values have the same instruction and kind of origin.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        let kind = |origin: &Self| std::mem::discriminant(&origin.source);
        self.actor.pc == other.actor.pc && kind(self) == kind(other)
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
    /// The undefined bits of all these lanes and their origin, if the same happened in each: usual
    /// in a loop, and a thirtieth of the work.
    same: Option<(u64, Origin)>,
    /// Those of each lane otherwise. Allocated when first needed, then reused.
    values: Option<Box<[(u64, Origin); 32]>>,
}

impl Register {
    fn get(&self, lane: usize) -> Option<(u64, Origin)> {
        if self.lanes & (1 << lane) == 0 {
            return None;
        }
        match self.same {
            Some((bits, origin)) => Some((bits, origin.in_lane(lane))),
            None => self.values.as_ref().map(|values| values[lane]),
        }
    }

    fn set(&mut self, lane: usize, bits: u64, origin: Origin) {
        let values = self
            .values
            .get_or_insert_with(|| Box::new([(0, origin); 32]));
        if let Some((bits, origin)) = self.same.take() {
            for lane in lanes(self.lanes) {
                values[lane] = (bits, origin.in_lane(lane));
            }
        }
        self.lanes |= 1 << lane;
        values[lane] = (bits, origin);
    }
}

impl Registers {
    /// Whether any register is undefined; usually none is.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.held > 0
    }

    fn register(&self, base: &Base, cell: Cell) -> Option<&Register> {
        let (file, at) = base.place(cell);
        self.files[file].get(at)
    }

    /// The lanes in which a register has undefined bits.
    pub(super) fn lanes(&self, base: &Base, cell: Cell) -> u32 {
        self.register(base, cell)
            .map_or(0, |register| register.lanes)
    }

    /// The undefined bits of a lane, and their origin.
    pub(super) fn get(&self, base: &Base, cell: Cell, lane: usize) -> Option<(u64, Origin)> {
        self.register(base, cell)?.get(lane)
    }

    /// Whether the same happened in all lanes in which a register has undefined bits.
    pub(super) fn is_same(&self, base: &Base, cell: Cell) -> bool {
        self.register(base, cell)
            .is_none_or(|register| register.lanes == 0 || register.same.is_some())
    }

    /// Sets the undefined bits of a lane; with none, the lane is defined.
    pub(super) fn set(&mut self, base: &Base, cell: Cell, lane: usize, bits: u64, origin: Origin) {
        if bits == 0 {
            return self.clear(base, cell, 1 << lane);
        }
        let register = self.undefine(base, cell);
        register.set(lane, bits, origin);
    }

    /// Sets the undefined bits of several lanes, in which the same happened; `origin` is that of
    /// any of them.
    pub(super) fn set_all(
        &mut self,
        base: &Base,
        cell: Cell,
        mask: u32,
        bits: u64,
        origin: Origin,
    ) {
        if bits == 0 || mask == 0 {
            return self.clear(base, cell, mask);
        }
        let register = self.undefine(base, cell);
        let is_known =
            |(known, by): (u64, Origin)| known == bits && by.in_lane(0) == origin.in_lane(0);
        if register.lanes & !mask == 0 {
            register.same = Some((bits, origin));
        } else if !register.same.is_some_and(is_known) {
            return lanes(mask).for_each(|lane| register.set(lane, bits, origin.in_lane(lane)));
        }
        register.lanes |= mask;
    }

    /// A register that gets its first undefined bits, or further ones.
    fn undefine(&mut self, base: &Base, cell: Cell) -> &mut Register {
        let (file, at) = base.place(cell);
        let file = &mut self.files[file];
        if file.len() <= at {
            file.resize_with(at + 1, Register::default);
        }
        let register = &mut file[at];
        self.held += u32::from(register.lanes == 0);
        register
    }

    /// Marks lanes as defined.
    pub(super) fn clear(&mut self, base: &Base, cell: Cell, mask: u32) {
        let (file, at) = base.place(cell);
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
