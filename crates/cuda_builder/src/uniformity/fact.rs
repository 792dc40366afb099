//! What is known of a value.

use super::lanes::Spread;
use super::level::{Cause, Level, Rank};
use super::targets::Targets;

/// What is known of a value, or of memory's content.
///
/// For an address, the rank is that of the choice of the object and of the offset in it: two
/// threads' variables correspond, wherever they lie.
#[derive(Clone, Debug)]
pub(super) struct Fact<'m> {
    pub(super) rank: Rank<'m>,
    pub(super) targets: Targets<'m>,
    /// Its value modulo 32.
    pub(super) spread: Spread,
}

impl<'m> Fact<'m> {
    /// A number.
    pub(super) fn number(rank: Rank<'m>) -> Self {
        Fact::pointer(rank, Targets::default())
    }

    /// Nothing is known.
    pub(super) fn unknown(cause: Cause<'m>) -> Self {
        Fact::pointer(Rank::new(Level::Divergent, cause), Targets::unknown())
    }

    /// Anything that may be an address.
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
