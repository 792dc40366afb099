//! What is known about a value.

use super::lanes::Spread;
use super::level::{Cause, Level, Rank};
use super::targets::Targets;

/// What is known about a value, or about the contents of memory.
///
/// For an address, the rank covers the choice of the object and the offset in it: two threads'
/// variables correspond, wherever they are.
#[derive(Clone, Debug)]
pub(super) struct Fact<'m> {
    pub(super) rank: Rank<'m>,
    pub(super) targets: Targets<'m>,
    /// Its value modulo 32.
    pub(super) spread: Spread,
}

impl<'m> Fact<'m> {
    /// The fact of a number.
    pub(super) fn number(rank: Rank<'m>) -> Self {
        Fact::pointer(rank, Targets::default())
    }

    /// No information.
    pub(super) fn unknown(cause: Cause<'m>) -> Self {
        Fact::pointer(Rank::new(Level::Divergent, cause), Targets::unknown())
    }

    /// The fact of anything that may be an address.
    pub(super) fn pointer(rank: Rank<'m>, targets: Targets<'m>) -> Self {
        Fact {
            rank,
            targets,
            spread: Spread::Any,
        }
    }

    /// Adds another possible value; returns whether that was new. The spread stays.
    pub(super) fn add(&mut self, other: &Fact<'m>) -> bool {
        self.rank.raise(other.rank) | self.targets.add(&other.targets)
    }
}
