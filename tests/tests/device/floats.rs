//! `FloatExt` and what `accuracy` leaves of `GpuFloat`: the kernels of `device_api` on every device
//! that is there, against libm in double precision and exact rules.
//!
//! The bounds are those of the CUDA C++ programming guide's tables "Mathematical Standard Library
//! Functions with Maximum ULP Error", for `f64` with a few steps more for libm's own errors.

use cuda_std::launch::Shape;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

use blockwise_ops::Element;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, benches, blocks};

/// A function of one argument.
struct Special {
    /// The kernel is `<name>_f32` or `<name>_f64`.
    name: &'static str,
    reference: fn(f64) -> f64,
    /// CUDA's greatest error in steps of `f32` and of `f64`.
    bounds: [f64; 2],
    interval: (f64, f64),
    /// Near a zero the error is relative to this magnitude.
    floor: f64,
}

const fn special(
    name: &'static str,
    reference: fn(f64) -> f64,
    bounds: [f64; 2],
    interval: (f64, f64),
    floor: f64,
) -> Special {
    Special {
        name,
        reference,
        bounds,
        interval,
        floor,
    }
}

/// What libm's errors and the argument's own rounding add, in steps of `f64`.
const REFERENCE_STEPS: f64 = 6.0;

const SPECIALS: &[Special] = &[
    special("sinpi", |x| sincospi(x).0, [2.0, 1.0], (-9.0, 9.0), 0.0),
    special("cospi", |x| sincospi(x).1, [2.0, 1.0], (-9.0, 9.0), 0.0),
    special("error_function", libm::erf, [2.0, 2.0], (-3.0, 3.0), 0.0),
    special(
        "complementary_error_function",
        libm::erfc,
        [4.0, 4.0],
        (-2.0, 5.0),
        0.0,
    ),
    special(
        "inv_complementary_error_function",
        |y| falling_inverse(libm::erfc, y),
        [2.0, 6.0],
        (0.01, 1.6),
        0.5,
    ),
    special(
        "scaled_complementary_error_function",
        |x| (x * x).exp() * libm::erfc(x),
        [4.0, 3.0],
        (-1.0, 1.5),
        0.0,
    ),
    special("norm_cdf", norm_cdf, [5.0, 5.0], (-3.0, 3.0), 0.0),
    special(
        "inv_norm_cdf",
        |p| -falling_inverse(|x| norm_cdf(-x), p),
        [5.0, 7.0],
        (0.005, 0.995),
        0.5,
    ),
    special("j0", libm::j0, [9.0, 7.0], (-8.0, 8.0), 0.5),
    special("j1", libm::j1, [9.0, 7.0], (-8.0, 8.0), 0.5),
    special("y0", libm::y0, [9.0, 7.0], (0.1, 8.0), 0.5),
    special("y1", libm::y1, [9.0, 7.0], (0.1, 8.0), 0.5),
    special("gamma", libm::tgamma, [11.0, 8.0], (0.05, 25.0), 0.0),
    special("log_gamma", libm::lgamma, [6.0, 4.0], (0.05, 40.0), 0.5),
    special("log1p", f64::ln_1p, [1.0, 1.0], (-0.9, 9.0), 0.0),
    special("rcbrt", |x| 1.0 / x.cbrt(), [1.0, 1.0], (0.01, 900.0), 0.0),
];

/// Sine and cosine of πx: the argument is reduced exactly first.
fn sincospi(x: f64) -> (f64, f64) {
    let quarter = (2.0 * x).round();
    let (sin, cos) = ((x - quarter / 2.0) * PI).sin_cos();
    match quarter.rem_euclid(4.0) as u32 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

fn norm_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The argument in [−8, 8] at which a falling function has this value, by bisection.
fn falling_inverse(function: fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if function(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// `f32` and `f64`.
trait Float: Element + Into<f64> {
    const BOUND: usize;
    const STEP: f64;
    fn from_f64(x: f64) -> Self;
}

impl Float for f32 {
    const BOUND: usize = 0;
    const STEP: f64 = f32::EPSILON as f64;
    fn from_f64(x: f64) -> Self {
        x as f32
    }
}

impl Float for f64 {
    const BOUND: usize = 1;
    const STEP: f64 = f64::EPSILON;
    fn from_f64(x: f64) -> Self {
        x
    }
}

/// Numbers from one end of an interval to the other, the ends left out.
fn spread<T: Float>((low, high): (f64, f64), count: u32) -> Vec<T> {
    let width = (high - low) / f64::from(count);
    let at = |i: u32| T::from_f64(low + (f64::from(i) + 0.4871) * width);
    (0..count).map(at).collect()
}

/// Enough blocks for `n` threads.
fn covering(n: usize) -> Shape {
    blocks(n.div_ceil(128) as u32, 128)
}

fn check_specials<T: Float>() {
    for bench in benches() {
        for function in SPECIALS {
            let x: Vec<T> = spread(function.interval, 1001);
            let input = bench.device.upload(&x).unwrap();
            let kernel = format!("{}_{}", function.name, T::NAME);
            let arguments = Arguments::new().slice(&input);
            let got: Vec<T> = bench.run(&kernel, covering(x.len()), arguments, x.len());
            let steps = function.bounds[T::BOUND] + 0.5;
            for (x, got) in x.into_iter().zip(got) {
                let (x, got) = (x.into(), got.into());
                let expected = (function.reference)(x);
                let magnitude = expected.abs().max(function.floor);
                let tolerance = (steps * T::STEP + REFERENCE_STEPS * f64::EPSILON) * magnitude;
                let error = (got - expected).abs();
                assert!(
                    error <= tolerance,
                    "{kernel}({x:e}) = {got:e}, not {expected:e}"
                );
            }
        }
    }
}

#[test]
fn special_functions_in_single_precision() {
    check_specials::<f32>();
}

#[test]
fn special_functions_in_double_precision() {
    check_specials::<f64>();
}

/// Numbers of all kinds: edges, then from tiny to huge, of both signs.
fn all_kinds<T: Float>() -> Vec<T> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.5,
        -2.5,
    ];
    let powers = (-148..128).map(|e| (1.0 + f64::from(e + 150) / 301.0) * f64::powi(2.0, e));
    let signed = powers
        .enumerate()
        .map(|(i, x)| if i % 3 == 1 { -x } else { x });
    edges.into_iter().chain(signed).map(T::from_f64).collect()
}

/// Runs a kernel of slices `x` and `y`; each result is to be the reference's, bit for bit or both
/// NaN.
fn check_exact<T: Float, U: Element>(name: &str, x: &[T], y: &[U], reference: fn(T, U) -> T) {
    let kernel = format!("{name}_{}", T::NAME);
    for bench in benches() {
        let first = bench.device.upload(x).unwrap();
        let second = bench.device.upload(y).unwrap();
        let arguments = Arguments::new().slice(&first).slice(&second);
        let got: Vec<T> = bench.run(&kernel, covering(x.len()), arguments, x.len());
        for ((&x, &y), got) in x.iter().zip(y).zip(got) {
            let expected = reference(x, y);
            let same = bytemuck::bytes_of(&got) == bytemuck::bytes_of(&expected);
            let both_nan = got.into().is_nan() && expected.into().is_nan();
            assert!(
                same || both_nan,
                "{kernel}({x}, {y}) = {got}, not {expected}"
            );
        }
    }
}

#[test]
fn euclidean_quotients_and_remainders_are_those_of_std() {
    let x: Vec<f32> = all_kinds();
    let mut y = x.clone();
    for by in [1, 5, 70, 200] {
        y.rotate_left(by);
        check_exact("div_euclid", &x, &y, f32::div_euclid);
        check_exact("rem_euclid", &x, &y, f32::rem_euclid);
        let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&x| x.into()).collect() };
        check_exact("div_euclid", &wide(&x), &wide(&y), f64::div_euclid);
        check_exact("rem_euclid", &wide(&x), &wide(&y), f64::rem_euclid);
    }
}

#[test]
fn scaling_by_powers_of_two_rounds_once() {
    let x: Vec<f32> = all_kinds();
    let exponents: Vec<i32> = (0..x.len() as i32).map(|i| i * 37 % 331 - 165).collect();
    for name in ["ldexp", "scale_by_n"] {
        check_exact(name, &x, &exponents, libm::ldexpf);
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x) * 1e-290).collect();
        check_exact(name, &wide, &exponents, libm::ldexp);
    }
}

#[test]
fn whole_powers() {
    for bench in benches() {
        let x: Vec<f64> = spread((-3.0, 3.0), 400);
        let n: Vec<i32> = (0..400).map(|i| i % 41 - 20).collect();
        let base = bench.device.upload(&x).unwrap();
        let exponent = bench.device.upload(&n).unwrap();
        let arguments = Arguments::new().slice(&base).slice(&exponent);
        let got: Vec<f64> = bench.run("powi_f64", covering(400), arguments, 400);
        for ((x, n), got) in x.iter().zip(n).zip(got) {
            // n factors take |n| - 1 products, each half a step; the reciprocal and the reference
            // add one and a half.
            let expected = x.powf(n.into());
            let error = (got - expected).abs();
            let steps = f64::from(n.abs()) / 2.0 + 2.0;
            assert!(
                error <= steps * f64::EPSILON * expected.abs(),
                "{x}^{n} = {got:e}"
            );
        }
    }
}

/// What a kernel of one slice and two outputs writes.
fn pairs<T: Element, U: Element>(bench: &Bench, kernel: &str, x: &[T]) -> (Vec<T>, Vec<U>) {
    let input = bench.device.upload(x).unwrap();
    let mut first = bench.poisoned::<T>(x.len());
    let arguments = Arguments::new().slice(&input).pointer(&mut first);
    let second = bench.run(kernel, covering(x.len()), arguments, x.len());
    (first.to_vec().unwrap(), second)
}

#[test]
fn sines_and_cosines_in_pairs() {
    for bench in benches() {
        let x: Vec<f64> = spread((-20.0, 20.0), 999);
        for (kernel, reference, steps) in [
            ("sin_cos_f64", f64::sin_cos as fn(f64) -> (f64, f64), 2.5),
            ("sincospi_f64", sincospi, 1.5 + REFERENCE_STEPS),
        ] {
            let (sines, cosines) = pairs::<f64, f64>(&bench, kernel, &x);
            for ((&x, sin), cos) in x.iter().zip(sines).zip(cosines) {
                let (expected_sin, expected_cos) = reference(x);
                for (got, expected) in [(sin, expected_sin), (cos, expected_cos)] {
                    let error = (got - expected).abs();
                    let tolerance = steps * f64::EPSILON * expected.abs();
                    assert!(
                        error <= tolerance,
                        "{kernel}({x:e}): {got:e}, not {expected:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn fractions_and_exponents() {
    for bench in benches() {
        let x: Vec<f32> = all_kinds();
        let (fractions, exponents) = pairs::<f32, i32>(&bench, "frexp_f32", &x);
        let input = bench.device.upload(&x).unwrap();
        let arguments = Arguments::new().slice(&input);
        let unbiased: Vec<i32> =
            bench.run("unbiased_exp_f32", covering(x.len()), arguments, x.len());
        for (i, &x) in x.iter().enumerate() {
            let (fraction, exponent) = if x.is_finite() {
                libm::frexpf(x)
            } else {
                (x, 0)
            };
            let same = fractions[i].to_bits() == fraction.to_bits() || x.is_nan();
            assert!(same && exponents[i] == exponent, "{x:e}: {}", fractions[i]);
            let expected = match x {
                _ if x == 0.0 || x.is_nan() => i32::MIN,
                _ if x.is_infinite() => i32::MAX,
                _ => exponent - 1,
            };
            assert_eq!(unbiased[i], expected, "{x:e}");
        }
    }
}

fn check_signs_and_saturation<T: Float>() {
    for bench in benches() {
        let x: Vec<T> = all_kinds();
        let input = bench.device.upload(&x).unwrap();
        let values = |name: &str| -> Vec<T> {
            let kernel = format!("{name}_{}", T::NAME);
            let arguments = Arguments::new().slice(&input);
            bench.run(&kernel, covering(x.len()), arguments, x.len())
        };
        let (signs, saturated) = (values("signum"), values("saturate"));
        for ((&x, sign), saturated) in x.iter().zip(signs).zip(saturated) {
            let [x, sign, saturated] = [x, sign, saturated].map(Into::<f64>::into);
            assert!(
                sign == x.signum() || (sign.is_nan() && x.is_nan()),
                "{x}: {sign}"
            );
            let expected = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
            assert_eq!(saturated, expected, "{x}");
            assert!(saturated.is_sign_positive(), "{x}: -0.0");
        }
    }
}

#[test]
fn signs_and_saturation() {
    check_signs_and_saturation::<f32>();
    check_signs_and_saturation::<f64>();
}

#[test]
fn bessel_functions_of_higher_orders() {
    for bench in benches() {
        let x: Vec<f64> = spread((0.5, 8.0), 300);
        let orders: Vec<i32> = (0..300).map(|i| i % 7).collect();
        let input = bench.device.upload(&x).unwrap();
        let order = bench.device.upload(&orders).unwrap();
        for (kernel, reference) in [
            ("jn_f64", libm::jn as fn(i32, f64) -> f64),
            ("yn_f64", libm::yn),
        ] {
            let arguments = Arguments::new().slice(&input).slice(&order);
            let got: Vec<f64> = bench.run(kernel, covering(300), arguments, 300);
            for ((&x, &n), got) in x.iter().zip(&orders).zip(got) {
                // CUDA states 5 · 10⁻¹² for them.
                let expected = reference(n, x);
                let error = (got - expected).abs();
                assert!(
                    error <= 5e-12 * expected.abs().max(1.0),
                    "{kernel}({n}, {x}): {got:e}"
                );
            }
        }
    }
}
