//! What is known of a value: which threads have the same one, and what a pointer leads to.

use super::lanes::Spread;

/// Which threads have the same value at the same point of their way, from most to fewest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// All threads of the block.
    Block,
    /// All threads of a warp.
    Warp,
    /// Each thread may have its own.
    Divergent,
}

/// What a pointer, or a value with pointers in it, leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is no pointer, or null.
    Nothing,
    /// Memory that reads the same for all threads of a block until the next barrier: see the
    /// module's header.
    Steady,
    /// The thread's own variable of this number. Its address may differ between threads.
    Stack(usize),
    /// Anything.
    Unknown,
}

impl Origin {
    /// What a pointer leads to that is one of two.
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
    /// What is known of a number modulo 32.
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

    /// The level of what follows from the address itself, such as its bits. Where it lies in its
    /// memory is the fact's level.
    pub(super) fn address(self) -> Level {
        match self.origin {
            Origin::Nothing | Origin::Steady => self.level,
            Origin::Stack(_) | Origin::Unknown => Level::Divergent,
        }
    }
}
