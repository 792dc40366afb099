//! Random inputs, made once for each type and kind, and given out in windows.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use blockwise_ops::Element;
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;

/// What the numbers are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Whole numbers from −8 to 8. Their sums, and the sums of their products, are exact in `f32`
    /// as long as every partial sum stays below 2²⁴, which a random walk of 2²⁹ steps does: any
    /// order gives the same bits, and a single element that is left out or taken twice shows.
    Whole,
    /// Floats from −1 to 1 with all bits of the significand in use; integers over the whole range.
    Uniform,
}

/// An element type that random inputs exist in.
pub trait Random: Element {
    /// The next number of a kind.
    fn random(kind: Kind, rng: &mut StdRng) -> Self;
}

/// A whole number from −8 to 8.
fn whole(rng: &mut StdRng) -> i8 {
    rng.random_range(-8..=8)
}

impl Random for f32 {
    fn random(kind: Kind, rng: &mut StdRng) -> Self {
        match kind {
            Kind::Whole => whole(rng).into(),
            Kind::Uniform => (rng.next_u32() as i32) as f32 * 2.0_f32.powi(-31),
        }
    }
}

impl Random for f64 {
    fn random(kind: Kind, rng: &mut StdRng) -> Self {
        match kind {
            Kind::Whole => whole(rng).into(),
            Kind::Uniform => (rng.next_u64() as i64) as f64 * 2.0_f64.powi(-63),
        }
    }
}

impl Random for i64 {
    fn random(kind: Kind, rng: &mut StdRng) -> Self {
        match kind {
            Kind::Whole => whole(rng).into(),
            Kind::Uniform => rng.next_u64() as i64,
        }
    }
}

/// Windows start at random places of a pool, within N elements.
const SLACK: usize = 1 << 16;

/// Elements that one generator makes.
const CHUNK: usize = 1 << 16;

/// The source of all inputs of a run.
pub struct Inputs {
    seed: u64,
    places: StdRng,
    pools: HashMap<(TypeId, Kind), Arc<dyn Any + Send + Sync>>,
}

impl Inputs {
    /// Inputs that follow from `seed` alone.
    pub fn new(seed: u64) -> Self {
        Inputs {
            seed,
            places: StdRng::seed_from_u64(seed),
            pools: HashMap::new(),
        }
    }

    /// `len` random numbers.
    pub fn take<T: Random>(&mut self, kind: Kind, len: usize) -> Window<T> {
        let start = self.places.random_range(0..SLACK);
        let pool = self.pool(kind, len + SLACK);
        Window { pool, start, len }
    }

    /// A random number, for what else is chosen at random.
    pub fn number(&mut self) -> u64 {
        self.places.next_u64()
    }

    fn pool<T: Random>(&mut self, kind: Kind, len: usize) -> Arc<Vec<T>> {
        let key = (TypeId::of::<T>(), kind);
        let there = self.pools.get(&key).cloned();
        match there.and_then(|pool| pool.downcast::<Vec<T>>().ok()) {
            Some(pool) if pool.len() >= len => pool,
            _ => {
                // The smaller one goes first: the host need not hold both.
                self.pools.remove(&key);
                let pool = Arc::new(self.numbers(kind, len));
                let shared: Arc<dyn Any + Send + Sync> = Arc::clone(&pool) as _;
                self.pools.insert(key, shared);
                pool
            }
        }
    }

    fn numbers<T: Random>(&self, kind: Kind, len: usize) -> Vec<T> {
        let mut numbers = vec![T::default(); len];
        numbers
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, numbers)| {
                let mut rng = StdRng::seed_from_u64(self.seed);
                rng = StdRng::seed_from_u64(rng.next_u64() ^ chunk as u64);
                for number in numbers {
                    *number = T::random(kind, &mut rng);
                }
            });
        numbers
    }
}

/// Numbers that other windows may show too.
pub struct Window<T> {
    pool: Arc<Vec<T>>,
    start: usize,
    len: usize,
}

impl<T> Deref for Window<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.pool[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_numbers_and_windows_differ() {
        let take = |seed| {
            let mut inputs = Inputs::new(seed);
            let [a, b] = [0; 2].map(|_| inputs.take::<f32>(Kind::Uniform, 1000).to_vec());
            assert_ne!(a, b);
            a
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        // The third chunk's numbers are not the first's.
        let long = Inputs::new(1).take::<f32>(Kind::Uniform, 3 * CHUNK);
        assert_ne!(long[..100], long[2 * CHUNK..2 * CHUNK + 100]);
    }

    #[test]
    fn whole_numbers_take_every_value_and_have_no_common_sign() {
        let numbers = Inputs::new(3).take::<f32>(Kind::Whole, 10_000);
        for value in -8..=8 {
            assert!(numbers.contains(&(value as f32)), "{value}");
        }
        assert!(numbers.iter().sum::<f32>().abs() < 5_000.0);
    }
}
