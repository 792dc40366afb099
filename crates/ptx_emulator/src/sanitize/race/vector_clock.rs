//! Vector clocks: for each chain of events, the last event that a thread knows.
//!
//! An event is a published past. A thread that knows an event of a [chain](super::chains) knows all
//! its predecessors.

use std::sync::Arc;

/// Maximum number of chains that one vector clock distinguishes.
const MOST: usize = 1024;
/// Beyond that, chains are distinguished only by their number modulo this.
pub(super) const CLASSES: usize = 256;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) chain: u32,
    /// Its number among all events of the launch.
    pub(super) stamp: u32,
}

/// A vector clock: all events that a thread knows.
#[derive(Clone, Debug)]
pub(super) enum VectorClock {
    /// The last event of each chain, by chain.
    Precise(Vec<Point>),
    /// The last event of each class of chains. All events up to it count as known, which can hide
    /// races but never invents one.
    Coarse(Box<[u32; CLASSES]>),
}

/// A vector clock shared by lanes, or none.
pub(super) type Shared = Option<Arc<VectorClock>>;

impl Default for VectorClock {
    fn default() -> Self {
        Self::Precise(Vec::new())
    }
}

impl VectorClock {
    pub(super) fn is_coarse(&self) -> bool {
        matches!(self, Self::Coarse(_))
    }

    pub(super) fn knows(&self, point: Point) -> bool {
        match self {
            Self::Precise(points) => {
                let at = points.binary_search_by_key(&point.chain, |known| known.chain);
                at.is_ok_and(|at| points[at].stamp >= point.stamp)
            }
            Self::Coarse(stamps) => stamps[class(point)] >= point.stamp,
        }
    }

    pub(super) fn add(&mut self, point: Point) {
        match self {
            Self::Precise(points) => {
                match points.binary_search_by_key(&point.chain, |known| known.chain) {
                    Ok(at) => points[at].stamp = points[at].stamp.max(point.stamp),
                    Err(at) => points.insert(at, point),
                }
                self.limit();
            }
            Self::Coarse(stamps) => {
                let known = &mut stamps[class(point)];
                *known = point.stamp.max(*known);
            }
        }
    }

    pub(super) fn add_all(&mut self, other: &VectorClock) {
        match (&mut *self, other) {
            // Inserting a few events is faster than copying a long list.
            (Self::Precise(_), Self::Precise(theirs)) if theirs.len() < 8 => {
                theirs.iter().for_each(|&point| self.add(point));
            }
            (Self::Precise(ours), Self::Precise(theirs)) => {
                *ours = merged(ours, theirs);
                self.limit();
            }
            (Self::Coarse(_), Self::Precise(theirs)) => {
                theirs.iter().for_each(|&point| self.add(point));
            }
            (Self::Precise(ours), Self::Coarse(theirs)) => {
                let mut all = Self::Coarse(theirs.clone());
                ours.iter().for_each(|&point| all.add(point));
                *self = all;
            }
            (Self::Coarse(ours), Self::Coarse(theirs)) => {
                for (our, their) in ours.iter_mut().zip(theirs.iter()) {
                    *our = (*our).max(*their);
                }
            }
        }
    }

    fn limit(&mut self) {
        if let Self::Precise(points) = self
            && points.len() > MOST
        {
            let mut all = Self::Coarse(Box::new([0; CLASSES]));
            points.iter().for_each(|&point| all.add(point));
            *self = all;
        }
    }

    /// Whether it includes all of another one.
    pub(super) fn holds(&self, other: &VectorClock) -> bool {
        match (self, other) {
            (Self::Precise(ours), Self::Precise(theirs)) if ours.len() < theirs.len() => false,
            (Self::Precise(ours), Self::Precise(theirs)) => {
                let mut ours = ours.iter();
                let held = |point: &Point| {
                    ours.find(|known| known.chain >= point.chain)
                        .is_some_and(|known| {
                            known.chain == point.chain && known.stamp >= point.stamp
                        })
                };
                theirs.iter().all(held)
            }
            (Self::Coarse(_), Self::Precise(theirs)) => {
                theirs.iter().all(|&point| self.knows(point))
            }
            (Self::Precise(_), Self::Coarse(_)) => false,
            (Self::Coarse(ours), Self::Coarse(theirs)) => ours
                .iter()
                .zip(theirs.iter())
                .all(|(our, their)| our >= their),
        }
    }
}

fn class(point: Point) -> usize {
    point.chain as usize % CLASSES
}

fn merged(ours: &[Point], theirs: &[Point]) -> Vec<Point> {
    let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
    let mut all = Vec::with_capacity(ours.len().max(theirs.len()));
    loop {
        let next = match (ours.peek(), theirs.peek()) {
            (Some(a), Some(b)) if a.chain == b.chain => {
                let later = if a.stamp < b.stamp { **b } else { **a };
                ours.next();
                theirs.next();
                later
            }
            (Some(&&a), Some(b)) if a.chain < b.chain => {
                ours.next();
                a
            }
            (Some(&&a), None) => {
                ours.next();
                a
            }
            (_, Some(&&b)) => {
                theirs.next();
                b
            }
            (None, None) => return all,
        };
        all.push(next);
    }
}

/// The union of several vector clocks.
pub(super) fn union<'a>(parts: impl IntoIterator<Item = &'a Shared>) -> Shared {
    let mut distinct: Vec<&Arc<VectorClock>> = parts.into_iter().flatten().collect();
    distinct.sort_unstable_by_key(|part| Arc::as_ptr(part));
    distinct.dedup_by_key(|part| Arc::as_ptr(part));
    let (&first, rest) = distinct.split_first()?;
    let mut all = first.clone();
    for &part in rest {
        if part.holds(&all) {
            all = part.clone();
        } else if !all.holds(part) {
            Arc::make_mut(&mut all).add_all(part);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(chain: u32, stamp: u32) -> Point {
        Point { chain, stamp }
    }

    /// For each chain, the event numbered one more than the chain.
    fn of(chains: impl IntoIterator<Item = u32>) -> Shared {
        let mut clock = VectorClock::default();
        for chain in chains {
            clock.add(point(chain, chain + 1));
        }
        Some(Arc::new(clock))
    }

    #[test]
    fn a_union_holds_both() {
        for (a, b) in [
            (0..20, 10..30),
            (0..3, 2..4),
            (5..6, 0..40),
            (0..0, 0..2),
            (0..2000, 5..6),
            (7..9, 0..2000),
            (0..1500, 1000..3000),
        ] {
            let (first, second) = (of(a.clone()), of(b.clone()));
            let both = union([&first, &second]).expect("it is not nothing");
            for chain in a.chain(b) {
                assert!(both.knows(point(chain, chain + 1)), "{chain}");
            }
            for part in [&first, &second].into_iter().flatten() {
                assert!(both.holds(part));
            }
        }
        let later = Some(Arc::new(VectorClock::Precise(vec![point(3, 9)])));
        let later = union([&of(0..12), &later]).expect("it is not nothing");
        assert!(later.knows(point(3, 9)) && !later.knows(point(4, 6)));
    }

    #[test]
    fn many_chains_are_not_distinguished_and_none_is_forgotten() {
        let few = of(0..1000).expect("it is not nothing");
        assert!(!few.is_coarse() && !few.knows(point(1000, 1)));
        let many = of(0..3000).expect("it is not nothing");
        assert!(many.is_coarse());
        assert!((0..3000).all(|chain| many.knows(point(chain, chain + 1))));
        assert!(!many.knows(point(0, 4000)));
        assert!(many.holds(&few) && !few.holds(&many));
    }
}
