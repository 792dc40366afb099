//! Tests that go over a part of a sweep, drawn anew in each run; `cargo xtask test --all` goes over
//! the whole.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::whole_sweeps;

/// The variable that repeats an earlier draw.
const SEED: &str = "BLOCKWISE_TEST_SEED";

/// A part of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What the choice follows from.
    pub seed: u64,
}

impl Sample {
    /// Draws one and prints its seed, which the runner of the tests shows.
    pub fn draw(of: &str) -> Self {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |time| time.subsec_nanos().into());
        let seed = given.unwrap_or(now);
        if !whole_sweeps() {
            println!("drawn: {of}; {SEED}={seed} repeats it");
        }
        Self { seed }
    }

    /// Whether an item is one of the 1 in N that are drawn.
    pub fn takes(self, item: impl Hash, n: u64) -> bool {
        whole_sweeps() || self.random(item).is_multiple_of(n)
    }

    /// Which one is drawn of the N that an item has.
    pub fn one_of(self, n: usize, item: impl Hash) -> usize {
        (self.random(item) % n as u64) as usize
    }

    fn random(self, item: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, item).hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn another_seed_draws_other_items_and_about_as_many_as_wanted() {
        let drawn = |seed| {
            let sample = Sample { seed };
            let items = (0..3000).filter(|item| sample.takes(item, 3));
            items.collect::<Vec<_>>()
        };
        if !crate::whole_sweeps() {
            assert!((850..1150).contains(&drawn(1).len()), "{}", drawn(1).len());
            assert_ne!(drawn(1), drawn(2));
        }
        assert_eq!(drawn(1), drawn(1));
        let one = |seed| Sample { seed }.one_of(3, "item");
        assert!((0..3).all(|wanted| (0..100).any(|seed| one(seed) == wanted)));
        assert_eq!(one(5), one(5));
    }
}
