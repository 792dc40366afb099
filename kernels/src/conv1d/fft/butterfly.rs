//! Transforms of 4, 8, 16 and 32 points in registers: Xₖ = Σₙ xₙ exp(−2πi nk/N), both in natural
//! order.
//!
//! Every index is a literal, so that no array is spilled to local memory.

use super::complex::{Complex, Transformed};

#[inline(always)]
fn of_4<T: Transformed>(a: [Complex<T>; 4]) -> [Complex<T>; 4] {
    let (sum, difference) = (a[0] + a[2], a[0] - a[2]);
    let (odd_sum, odd_difference) = (a[1] + a[3], (a[1] - a[3]).rotated::<8>());
    [
        sum + odd_sum,
        difference + odd_difference,
        sum - odd_sum,
        difference - odd_difference,
    ]
}

#[inline(always)]
fn of_8<T: Transformed>(a: [Complex<T>; 8]) -> [Complex<T>; 8] {
    let even = of_4([a[0], a[2], a[4], a[6]]);
    let odd = of_4([a[1], a[3], a[5], a[7]]);
    let odd = [
        odd[0],
        odd[1].rotated::<4>(),
        odd[2].rotated::<8>(),
        odd[3].rotated::<12>(),
    ];
    [
        even[0] + odd[0],
        even[1] + odd[1],
        even[2] + odd[2],
        even[3] + odd[3],
        even[0] - odd[0],
        even[1] - odd[1],
        even[2] - odd[2],
        even[3] - odd[3],
    ]
}

/// One row of the four columns, each multiplied by its twiddle factor: `step` per column.
macro_rules! row {
    ($columns:ident, $row:literal, $step:expr) => {
        of_4([
            $columns[0][$row],
            $columns[1][$row].rotated::<{ $step }>(),
            $columns[2][$row].rotated::<{ 2 * $step }>(),
            $columns[3][$row].rotated::<{ 3 * $step }>(),
        ])
    };
}

#[inline(always)]
fn of_16<T: Transformed>(a: [Complex<T>; 16]) -> [Complex<T>; 16] {
    let columns = [
        of_4([a[0], a[4], a[8], a[12]]),
        of_4([a[1], a[5], a[9], a[13]]),
        of_4([a[2], a[6], a[10], a[14]]),
        of_4([a[3], a[7], a[11], a[15]]),
    ];
    let [a, b, c, d] = [
        row!(columns, 0, 0),
        row!(columns, 1, 2),
        row!(columns, 2, 4),
        row!(columns, 3, 6),
    ];
    [
        a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1], //
        a[2], b[2], c[2], d[2], a[3], b[3], c[3], d[3],
    ]
}

#[inline(always)]
fn of_32<T: Transformed>(a: [Complex<T>; 32]) -> [Complex<T>; 32] {
    let columns = [
        of_8([a[0], a[4], a[8], a[12], a[16], a[20], a[24], a[28]]),
        of_8([a[1], a[5], a[9], a[13], a[17], a[21], a[25], a[29]]),
        of_8([a[2], a[6], a[10], a[14], a[18], a[22], a[26], a[30]]),
        of_8([a[3], a[7], a[11], a[15], a[19], a[23], a[27], a[31]]),
    ];
    let [a, b, c, d, e, f, g, h] = [
        row!(columns, 0, 0),
        row!(columns, 1, 1),
        row!(columns, 2, 2),
        row!(columns, 3, 3),
        row!(columns, 4, 4),
        row!(columns, 5, 5),
        row!(columns, 6, 6),
        row!(columns, 7, 7),
    ];
    [
        a[0], b[0], c[0], d[0], e[0], f[0], g[0], h[0], //
        a[1], b[1], c[1], d[1], e[1], f[1], g[1], h[1], //
        a[2], b[2], c[2], d[2], e[2], f[2], g[2], h[2], //
        a[3], b[3], c[3], d[3], e[3], f[3], g[3], h[3],
    ]
}

/// The points of a butterfly.
pub(super) trait Radix {
    /// How many there are: 2, 4, 8, 16 or 32.
    const RADIX: usize;
}

/// Butterflies of `N` points.
pub(super) struct Of<const N: usize>;

impl<const N: usize> Radix for Of<N> {
    const RADIX: usize = N;
}

/// Transforms the `R::RADIX` numbers starting at `first`, which is a constant. The radix is a
/// parameter of the type, so that the compiler drops the other transforms before it inlines them.
#[inline(always)]
pub(super) fn transform<T: Transformed, R: Radix, const E: usize>(
    values: &mut [Complex<T>; E],
    first: usize,
) {
    macro_rules! from_first {
        ($transform:ident, $($i:literal)*) => {{
            let transformed = $transform([$(values[first + $i]),*]);
            $( values[first + $i] = transformed[$i]; )*
        }};
    }
    match const { R::RADIX } {
        2 => {
            let (a, b) = (values[first], values[first + 1]);
            (values[first], values[first + 1]) = (a + b, a - b);
        }
        4 => from_first!(of_4, 0 1 2 3),
        8 => from_first!(of_8, 0 1 2 3 4 5 6 7),
        16 => from_first!(of_16, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
        _ => {
            from_first!(of_32, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
        }
    }
}

#[cfg(test)]
mod tests {
    use core::f64::consts::TAU;

    use super::super::complex::{Complex, complex};
    use super::{Of, transform};

    #[track_caller]
    fn check<const N: usize>() {
        let input: [Complex<f64>; N] = core::array::from_fn(|i| {
            let i = i as f64;
            complex((i * 1.7).sin(), (i * i * 0.9).cos())
        });
        let mut output = input;
        transform::<_, Of<N>, N>(&mut output, 0);
        for (k, output) in output.iter().enumerate() {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, input) in input.iter().enumerate() {
                let (sin, cos) = (-TAU * (n * k % N) as f64 / N as f64).sin_cos();
                re += input.re * cos - input.im * sin;
                im += input.re * sin + input.im * cos;
            }
            assert!(
                (re - output.re).abs() < 1e-13 && (im - output.im).abs() < 1e-13,
                "{N}: {k}"
            );
        }
    }

    #[test]
    fn every_radix_is_the_sum_that_defines_it() {
        check::<2>();
        check::<4>();
        check::<8>();
        check::<16>();
        check::<32>();
    }
}
