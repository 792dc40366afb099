//! Inputs: seeded, and without symmetries that could hide an exchanged or reversed index.

use ndarray::{Array1, Array2};

/// An element type of the kernels, and how to draw values of it.
pub trait Draw: Copy {
    /// A value from 64 random bits.
    fn draw(bits: u64) -> Self;
}

/// Floats in −1..3, with full significands: not centred, so sums grow and signs matter.
macro_rules! draw_float {
    ($($t:ty)*) => {$(
        impl Draw for $t {
            fn draw(bits: u64) -> Self {
                ((bits >> 11) as f64 / (1u64 << 53) as f64 * 4.0 - 1.0) as $t
            }
        }
    )*};
}
draw_float!(f32 f64);

/// Integers of the full range: their sums and products wrap.
macro_rules! draw_integer {
    ($($t:ty)*) => {$(
        impl Draw for $t {
            fn draw(bits: u64) -> Self {
                bits as $t
            }
        }
    )*};
}
draw_integer!(u32 u64 i64);

/// SplitMix64: a few lines, the same values on every machine and in every version.
pub(crate) fn random_bits(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }
}

/// `len` values.
pub fn vector<T: Draw>(seed: u64, len: usize) -> Array1<T> {
    let mut next = random_bits(seed);
    Array1::from_shape_simple_fn(len, || T::draw(next()))
}

/// `rows` × `cols` values.
pub fn matrix<T: Draw>(seed: u64, rows: usize, cols: usize) -> Array2<T> {
    let mut next = random_bits(seed);
    Array2::from_shape_simple_fn((rows, cols), || T::draw(next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_different_values_and_one_seed_the_same() {
        assert_eq!(vector::<u64>(1, 4), vector::<u64>(1, 4));
        assert_ne!(vector::<f32>(1, 4), vector::<f32>(2, 4));
        let values = vector::<f64>(3, 1000);
        assert!(values.iter().all(|x| (-1.0..3.0).contains(x)) && values.iter().any(|&x| x < 0.0));
    }
}
