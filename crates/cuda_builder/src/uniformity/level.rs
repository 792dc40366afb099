//! What is known of a value: its uniformity, and what it points to.

use super::lanes::Spread;

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

/// The target of a pointer, or of the pointers in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Not a pointer, or null.
    Nothing,
    /// Memory that reads the same for all threads of a block until the next barrier: see the
    /// module's header.
    Steady,
    /// The thread's own variable with this number. Its address may differ between threads.
    Stack(usize),
    /// Anything.
    Unknown,
}

impl Origin {
    /// The target of a pointer that is one of two.
    pub(super) fn or(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Nothing, origin) | (origin, Origin::Nothing) => origin,
            (one, other) if one == other => one,
            _ => Origin::Unknown,
        }
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) level: Level,
    pub(super) origin: Origin,
    /// Its value modulo 32.
    pub(super) spread: Spread,
}

impl Fact {
    /// A number of this level.
    pub(super) fn number(level: Level) -> Fact {
        Fact {
            level,
            origin: Origin::Nothing,
            spread: Spread::Any,
        }
    }

    /// Nothing is known.
    pub(super) fn unknown() -> Fact {
        Fact::pointer(Level::Divergent, Origin::Unknown)
    }

    /// A pointer of this level.
    pub(super) fn pointer(level: Level, origin: Origin) -> Fact {
        Fact {
            origin,
            ..Fact::number(level)
        }
    }

    /// The level of what depends on the address itself, such as its bits. The fact's own level is
    /// that of the offset in its memory.
    pub(super) fn address(self) -> Level {
        match self.origin {
            Origin::Nothing | Origin::Steady => self.level,
            Origin::Stack(_) | Origin::Unknown => Level::Divergent,
        }
    }
}
