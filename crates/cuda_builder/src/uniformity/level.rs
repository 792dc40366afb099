//! How uniform a value is, and why it is not more uniform.

use crate::ir::module::Instruction;

/// Which threads have the same value at the same point of execution, from most to fewest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// All threads of the block.
    Block,
    /// All threads of a warp.
    Warp,
    /// Each thread may have a different value.
    Divergent,
}

/// A level, and the cause of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank<'m> {
    pub(super) level: Level,
    /// `None` for [`Level::Block`].
    pub(super) cause: Option<Cause<'m>>,
}

/// The instruction whose result is less uniform than its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause<'m> {
    pub(super) at: &'m Instruction<'m>,
    /// The [context](super::flow::Flow) that the instruction is analysed in.
    pub(super) context: usize,
    pub(super) reason: Reason<'m>,
}

/// Why an instruction's result is not uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason<'m> {
    /// It differs between threads: an index, a lane, a clock, an atomic, a shuffle.
    Thread,
    /// It depends on the address of a variable.
    Address,
    /// It is read through a pointer that was not followed, or from memory that other threads write.
    Memory,
    /// It is the content of a variable whose address escapes here.
    Escape,
    /// It is computed by a function called through a pointer.
    Pointer,
    /// It is computed by an external function.
    Outside(&'m str),
    /// It is computed by inline assembly.
    Assembly,
    /// It is a volatile read.
    Volatile,
    /// It is undefined.
    Undefined,
    /// It is whether an allocation succeeded.
    Allocation,
    /// The program is too large to follow all of its calls.
    Size,
}

impl<'m> Rank<'m> {
    pub(super) const BLOCK: Rank<'static> = Rank {
        level: Level::Block,
        cause: None,
    };

    pub(super) fn new(level: Level, cause: Cause<'m>) -> Self {
        Rank {
            level,
            cause: (level > Level::Block).then_some(cause),
        }
    }

    /// The less uniform of two. Of two causes, the one that is a difference between threads.
    pub(super) fn or(self, other: Rank<'m>) -> Rank<'m> {
        let differs = |rank: Rank<'_>| {
            rank.cause
                .is_some_and(|cause| cause.reason == Reason::Thread)
        };
        let takes_other = match other.level.cmp(&self.level) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => differs(other) && !differs(self),
            std::cmp::Ordering::Greater => true,
        };
        if takes_other { other } else { self }
    }

    /// Raises it; returns whether the level changed.
    pub(super) fn raise(&mut self, other: Rank<'m>) -> bool {
        let old = self.level;
        *self = self.or(other);
        self.level != old
    }
}
