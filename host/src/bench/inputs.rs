//! Random inputs, made once for each type and kind, and given out in windows.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use blockwise::Type;
use blockwise_ops::operation::Numbers as Kind;
use blockwise_ops::{AnyArray, Element, LaunchError};
use launch_contract::for_type;
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};

use super::cores;

/// An element type that random inputs exist in.
pub trait Random: Element {
    /// The next number of a kind.
    fn random(kind: Kind, rng: &mut StdRng) -> Self;

    /// A whole number as an integer.
    fn integer(self) -> i64;
}

/// A whole number from −8 to 8.
fn whole(rng: &mut StdRng) -> i8 {
    rng.random_range(-8..=8)
}

macro_rules! random {
    ($(|$word:ident| $($t:ident)*: $uniform:expr;)*) => { $($(
        impl Random for $t {
            fn random(kind: Kind, rng: &mut StdRng) -> Self {
                match kind {
                    Kind::Whole => whole(rng) as Self,
                    Kind::Uniform => {
                        let $word = rng;
                        $uniform
                    }
                }
            }

            fn integer(self) -> i64 {
                self as i64
            }
        }
    )*)* };
}
random! {
    |rng| f32: (rng.next_u32() as i32) as f32 * 2.0_f32.powi(-31);
    |rng| f64: (rng.next_u64() as i64) as f64 * 2.0_f64.powi(-63);
    |rng| i8 u8 i16 u16 i32 u32 i64 u64: rng.next_u64() as Self;
}

/// Windows start at random places of a pool, within N elements.
const SLACK: usize = 1 << 16;

/// Elements that one generator makes.
const CHUNK: usize = 1 << 16;

/// Bytes that one thread copies at a time.
const COPIED: usize = 1 << 23;

/// The source of all inputs of a run.
pub struct Inputs {
    seed: u64,
    places: StdRng,
    pools: HashMap<(Type, Kind), Arc<AnyArray>>,
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
    ///
    /// # Errors
    /// When the host lacks memory.
    pub fn take<T: Random>(&mut self, kind: Kind, len: usize) -> Result<Window<T>, LaunchError> {
        let window = self.any(T::TYPE, kind, len)?;
        Ok(Window {
            window,
            element: PhantomData,
        })
    }

    /// `len` random numbers of a type.
    ///
    /// # Errors
    /// When the host lacks memory.
    pub fn any(&mut self, ty: Type, kind: Kind, len: usize) -> Result<AnyWindow, LaunchError> {
        let start = self.places.random_range(0..SLACK);
        let pool = self.pool(ty, kind, len + SLACK)?;
        Ok(AnyWindow { pool, start, len })
    }

    /// A random number, for what else is chosen at random.
    pub fn number(&mut self) -> u64 {
        self.places.next_u64()
    }

    fn pool(&mut self, ty: Type, kind: Kind, len: usize) -> Result<Arc<AnyArray>, LaunchError> {
        let key = (ty, kind);
        match self.pools.get(&key) {
            Some(pool) if pool.len() >= len => Ok(Arc::clone(pool)),
            _ => {
                // The smaller one goes first: the host need not hold both.
                self.pools.remove(&key);
                let pool = Arc::new(numbers(self.seed, ty, kind, len)?);
                self.pools.insert(key, Arc::clone(&pool));
                Ok(pool)
            }
        }
    }
}

/// Random numbers that follow from a seed. Of `bool` and `f16` there are none, but zeros.
///
/// # Errors
/// When the host lacks memory.
pub(crate) fn numbers(
    seed: u64,
    ty: Type,
    kind: Kind,
    len: usize,
) -> Result<AnyArray, LaunchError> {
    let mut array = AnyArray::zeros(ty, &[len])?;
    for_type!(ty, T => {
        let numbers: &mut [T] = bytemuck::cast_slice_mut(array.bytes_mut());
        cores::each(numbers.chunks_mut(CHUNK).enumerate(), |(chunk, numbers)| {
            let mut rng = StdRng::seed_from_u64(seed);
            rng = StdRng::seed_from_u64(rng.next_u64() ^ chunk as u64);
            for number in numbers {
                *number = T::random(kind, &mut rng);
            }
        });
    }, else ());
    Ok(array)
}

/// Numbers that other windows may show too.
pub struct Window<T> {
    window: AnyWindow,
    element: PhantomData<T>,
}

impl<T: Random> Deref for Window<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(self.window.bytes())
    }
}

/// Numbers of a type that other windows may show too.
pub struct AnyWindow {
    pool: Arc<AnyArray>,
    start: usize,
    len: usize,
}

impl AnyWindow {
    /// The elements' type.
    pub fn ty(&self) -> Type {
        self.pool.ty()
    }

    /// The elements' bytes.
    pub fn bytes(&self) -> &[u8] {
        let width = self.ty().bytes();
        &self.pool.bytes()[self.start * width..(self.start + self.len) * width]
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Leaves out the first elements.
    pub fn skip(&mut self, elements: usize) {
        let skipped = elements.min(self.len);
        self.start += skipped;
        self.len -= skipped;
    }

    /// Some of the elements.
    ///
    /// # Errors
    /// When the host lacks memory.
    ///
    /// # Panics
    /// When the range is not inside.
    pub fn array(&self, range: std::ops::Range<usize>) -> Result<AnyArray, LaunchError> {
        let width = self.ty().bytes();
        let mut array = AnyArray::zeros(self.ty(), &[range.len()])?;
        let bytes = &self.bytes()[range.start * width..range.end * width];
        let pieces = array
            .bytes_mut()
            .chunks_mut(COPIED)
            .zip(bytes.chunks(COPIED));
        cores::each(pieces, |(to, from)| to.copy_from_slice(from));
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_numbers_and_windows_differ() {
        let take = |seed| {
            let mut inputs = Inputs::new(seed);
            let [a, b] = [0; 2].map(|_| inputs.take::<f32>(Kind::Uniform, 1000).unwrap().to_vec());
            assert_ne!(a, b);
            a
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        // The third chunk's numbers are not the first's.
        let long = Inputs::new(1)
            .take::<f32>(Kind::Uniform, 3 * CHUNK)
            .unwrap();
        assert_ne!(long[..100], long[2 * CHUNK..2 * CHUNK + 100]);
    }

    #[test]
    fn whole_numbers_take_every_value_and_have_no_common_sign() {
        let numbers = Inputs::new(3).take::<f32>(Kind::Whole, 10_000).unwrap();
        for value in -8..=8 {
            assert!(numbers.contains(&(value as f32)), "{value}");
        }
        assert!(numbers.iter().sum::<f32>().abs() < 5_000.0);
    }
}
