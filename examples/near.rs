//! When a rounded sum counts as correct.

/// Whether a sum of `f32` is the exact one apart from rounding.
///
/// `magnitude` is the sum of the terms' absolute values, and each term goes through at most
/// `roundings` operations: each of them is off by less than one part in 2²³. A NaN is never near.
pub(crate) fn is_near(got: f32, exact: f64, magnitude: f64, roundings: usize) -> bool {
    let tolerance = roundings as f64 * f64::from(f32::EPSILON) * magnitude;
    (f64::from(got) - exact).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn a_rounded_sum_is_near_and_a_wrong_one_is_not() {
        let exact = 0.1 + 0.2;
        assert!(is_near(0.1 + 0.2, exact, exact, 1));
        assert!(!is_near(0.3001, exact, exact, 1));
        assert!(!is_near(f32::NAN, exact, exact, 1));
        assert!(!is_near(1.0, f64::NAN, 1.0, 1));
    }
}
