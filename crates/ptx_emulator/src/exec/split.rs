use crate::decode::{Cell, Function};

/// Lanes of a warp at the same instruction of the same call.
#[derive(Clone)]
pub(super) struct Split {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) state: State,
    pub(super) base: Base,
    /// The callers, outermost first, with their return addresses.
    pub(super) stack: Vec<(Base, u32)>,
    /// When it last ran, by the warp's own counter.
    pub(super) last_run: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runnable,
    /// At a barrier instruction.
    Barrier(Waiting),
    /// At `barrier.cluster.wait`.
    Cluster,
    /// At a warp-level instruction that some members have not reached.
    Members,
}

impl State {
    /// The state of two merged splits: at a barrier, lanes that arrived one by one count as having
    /// arrived with the last.
    pub(super) fn later(self, other: Self) -> Self {
        match (self, other) {
            (Self::Barrier(a), Self::Barrier(b)) if b.ticket > a.ticket => other,
            _ => self,
        }
    }
}

/// The barrier that a split waits at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: u32,
    /// Number of threads that must arrive; `None` is the whole block.
    pub(super) count: Option<u32>,
    pub(super) aligned: bool,
    /// Increases in order of arrival.
    pub(super) ticket: u64,
}

/// Start of a call's rows and local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) function: u32,
    pub(crate) w32: u32,
    pub(crate) w64: u32,
    pub(crate) predicates: u32,
    pub(crate) local: u32,
    /// Bytes of the thread's stack in use, from the first function that the kernel calls to this
    /// one.
    pub(crate) stack: u32,
}

impl Base {
    /// A register's file (32 bits, 64 bits, predicates) and row, counted over all frames.
    pub(crate) fn place(&self, cell: Cell) -> (usize, usize) {
        match cell {
            Cell::R32(row) => (0, self.w32 as usize + usize::from(row)),
            Cell::R64(row) => (1, self.w64 as usize + usize::from(row)),
            Cell::Predicate(row) => (2, self.predicates as usize + usize::from(row)),
        }
    }

    /// The base of a call made from here.
    pub(super) fn next(self, caller: &Function, (index, callee): (u32, &Function)) -> Self {
        Self {
            function: index,
            w32: self.w32 + caller.rows.w32,
            w64: self.w64 + caller.rows.w64,
            predicates: self.predicates + caller.rows.predicates,
            local: (self.local + caller.local_bytes).next_multiple_of(16),
            stack: self.stack.saturating_add(callee.stack_bytes()),
        }
    }
}

impl Split {
    /// Whether two splits are at the same place, so that they can be merged.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let same_wait = match (self.state, other.state) {
            (State::Barrier(a), State::Barrier(b)) => {
                (a.id, a.count, a.aligned) == (b.id, b.count, b.aligned)
            }
            (a, b) => a == b,
        };
        self.pc == other.pc && same_wait && self.is_in_call_of(other)
    }

    pub(super) fn is_runnable(&self) -> bool {
        self.state == State::Runnable
    }

    /// Whether both are in the same call of a function.
    pub(super) fn is_in_call_of(&self, other: &Self) -> bool {
        self.base == other.base && self.stack == other.stack
    }

    /// Deeper calls first, then lower addresses, so that lagging lanes catch up.
    pub(super) fn order(&self) -> (std::cmp::Reverse<usize>, u32) {
        (std::cmp::Reverse(self.stack.len()), self.pc)
    }
}
