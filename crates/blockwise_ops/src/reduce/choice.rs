//! Which kernel reduces.
//!
//! The last block of [`single`](kernels::reduce::single) waits for the others' results and folds
//! them, which takes 1.3 to 1.7 µs longer than leaving them to the host, which copies a result in
//! any case. Medians on an H200, µs (driver 580, 2026-11-23):
//!
//! | | `shuffle` | `wide` | `single` |
//! | --- | --- | --- | --- |
//! | a few thousand `f32`, sum | 5.1 | | 6.8 |
//! | 2¹⁹, sum | 4.4 | 4.2 | 5.5 |
//! | 2¹⁹, minimum | 4.7 | 4.4 | 5.7 |
//! | 2²⁰, sum | 5.5 | 5.8 | 7.0 |
//! | 2²⁰, minimum | 6.1 | 5.6 | 6.7 |
//! | 2²⁰, dot product | 6.5 | 6.6 | 7.7 |
//! | 2²⁹, sum | 494 | 471 | 473 |

use blockwise::DeviceProperties;

use super::{Number, ReduceKernel, ReduceOptions};
use crate::tuning;

/// Elements of one array from which [`ReduceKernel::Wide`] is faster than
/// [`ReduceKernel::Shuffle`], whatever the type: 2¹⁸ take a minimum of `f32` 0.89 of the time, a sum
/// of `f64` 0.70, in graphs on an H200 (2026-11-26).
const WIDE_FROM: usize = 1 << 17;
/// Bytes of each operand from which it is for a dot product: 2²⁰ `f32` take 0.99, `f64` 0.92.
const WIDE_DOT_FROM: usize = 2 << 20;
/// Bytes up to which the last block's fold is more than 2 % of the time of
/// [`ReduceKernel::Single`].
const WIDE_TO: usize = 256 << 20;

/// What is reduced to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// One array: a sum, minimum or maximum.
    One,
    /// Two: a dot product.
    Two,
}

impl ReduceOptions {
    /// The kernel for `len` elements of type `T` in each operand.
    pub fn kernel_for<T: Number>(
        &self,
        operands: Operands,
        len: usize,
        properties: &DeviceProperties,
    ) -> ReduceKernel {
        let untouched =
            self.threads.is_none() && self.grid_cap.is_none() && self.in_flight.is_none();
        let bytes = len.saturating_mul(size_of::<T>());
        let shuffle = match operands {
            Operands::One => len < WIDE_FROM,
            Operands::Two => bytes < WIDE_DOT_FROM,
        };
        let fastest = || match (untouched, shuffle) {
            (true, true) => ReduceKernel::Shuffle,
            (true, false) if bytes <= WIDE_TO => ReduceKernel::Wide,
            _ => ReduceKernel::Single,
        };
        // A sum's saved kernel also applies to the other reductions.
        let saved = || tuning::kernel(properties, "sum", T::NAME, &[len]).filter(|_| untouched);
        self.kernel.or_else(saved).unwrap_or_else(fastest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    #[test]
    fn the_kernel_goes_by_the_bytes_unless_it_is_given() {
        let (options, h200) = (ReduceOptions::default(), h200());
        let floats = |len| options.kernel_for::<f32>(Operands::One, len, &h200);
        assert_eq!(floats(5000), ReduceKernel::Shuffle);
        assert_eq!(floats(1 << 17), ReduceKernel::Wide);
        let dots = |len| options.kernel_for::<f32>(Operands::Two, len, &h200);
        assert_eq!(dots((1 << 19) - 1), ReduceKernel::Shuffle);
        assert_eq!(dots(1 << 19), ReduceKernel::Wide);
        let doubles = options.kernel_for::<f64>(Operands::Two, 1 << 18, &h200);
        assert_eq!(doubles, ReduceKernel::Wide);
        assert_eq!(floats(1 << 29), ReduceKernel::Single);
        assert_eq!(floats(1 << 23), ReduceKernel::Wide);
        let fewer = ReduceOptions {
            grid_cap: Some(1),
            ..options
        };
        assert_eq!(
            fewer.kernel_for::<f32>(Operands::One, 5, &h200),
            ReduceKernel::Single
        );
        let tree = ReduceOptions {
            kernel: Some(ReduceKernel::Tree),
            ..options
        };
        assert_eq!(
            tree.kernel_for::<f32>(Operands::One, 5, &h200),
            ReduceKernel::Tree
        );
    }
}
