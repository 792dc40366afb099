//! How much faster one side of a comparison is, and how sure that is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The median of paired ratios, with the interval that covers it in at least 95 % of all runs.
///
/// The ends are two of the ratios themselves: the number of ratios below the true median follows
/// the binomial distribution of a fair coin, whatever the distribution of the times. So nothing is
/// assumed of outliers, of skew or of steps of the clock, as a bootstrap of few pairs would.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The number of pairs.
    pub pairs: usize,
}

/// The fewest pairs that have such an interval: all of six lie on one side of the median in 1 of 32
/// cases, of five in 1 of 16.
pub(super) const FEWEST: usize = 6;
/// How far the ends of a narrow interval are from the median, as a share of it.
const NARROW: f64 = 0.02;
/// The share of runs in which an end may be on the wrong side.
const TAIL: f64 = 0.025;

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            median, low, high, ..
        } = self;
        write!(f, "{median:.3} ({low:.3} to {high:.3})")
    }
}

impl Ratio {
    /// The ratio of two sides that launch the same kernels.
    pub(super) const SAME: Self = Self {
        median: 1.0,
        low: 1.0,
        high: 1.0,
        pairs: 0,
    };

    /// The median and interval of these ratios; `None` if they are fewer than `FEWEST`.
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let pairs = ratios.len();
        let left_out = left_out(pairs)?;
        let mut sorted = ratios.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = [sorted[(pairs - 1) / 2], sorted[pairs / 2]];
        Some(Self {
            median: middle.iter().sum::<f64>() / 2.0,
            low: sorted[left_out],
            high: sorted[pairs - 1 - left_out],
            pairs,
        })
    }

    /// Whether both ends are within 2 % of the median.
    pub fn is_narrow(&self) -> bool {
        let share = |end: f64| (end / self.median - 1.0).abs();
        share(self.low).max(share(self.high)) <= NARROW
    }

    /// The distance between the ends, as a share of the median.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

/// How many ratios lie outside of the interval at each end: the largest k for which k or fewer of
/// `pairs` fair coins show heads in at most [`TAIL`] of all runs.
fn left_out(pairs: usize) -> Option<usize> {
    // Adds the terms of P(at most k of n). They begin at 2^-n, which is 0 for n above 1,074: their
    // logarithms are kept.
    let n = pairs as f64;
    let mut term = -n * std::f64::consts::LN_2;
    let (mut below, mut most) = (0.0, None);
    for k in 0..pairs.div_ceil(2) {
        below += term.exp();
        if below > TAIL {
            break;
        }
        most = Some(k);
        term += ((n - k as f64) / (k as f64 + 1.0)).ln();
    }
    most
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    /// The ranks that tables of the sign test give for 95 %.
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        let table = [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(2)),
            (15, Some(3)),
            (20, Some(5)),
            (25, Some(7)),
            (100, Some(39)),
        ];
        for (pairs, expected) in table {
            assert_eq!(left_out(pairs), expected, "{pairs} pairs");
        }
        let many = left_out(5000).expect("an interval");
        // The normal approximation: n/2 - 0.98 √n.
        assert!((2429..=2431).contains(&many), "{many}");
    }

    #[test]
    fn ends_are_ratios_and_an_outlier_moves_neither() {
        let mut ratios: Vec<f64> = (1..=9).map(|at| 1.0 + f64::from(at) / 100.0).collect();
        let ratio = Ratio::of(&ratios).expect("an interval");
        let Ratio {
            median, low, high, ..
        } = ratio;
        assert_eq!((median, low, high), (1.05, 1.02, 1.08));
        ratios[8] = 1000.0;
        assert_eq!(Ratio::of(&ratios), Some(ratio));
        assert_eq!(Ratio::of(&ratios[..5]), None);
        assert_eq!(Ratio::of(&[]), None);
        // Of an even number, the mean of the middle two.
        let even = Ratio::of(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]).expect("an interval");
        assert_eq!((even.median, even.low, even.high), (1.5, 1.0, 2.0));
    }

    #[test]
    fn narrow_is_within_two_percent_on_both_sides() {
        let ratio = |low, high| Ratio {
            median: 1.0,
            low,
            high,
            pairs: 9,
        };
        assert!(ratio(0.985, 1.015).is_narrow());
        assert!(!ratio(0.975, 1.0).is_narrow() && !ratio(1.0, 1.025).is_narrow());
        assert!((ratio(0.9, 1.1).width() - 0.2).abs() < 1e-12);
    }

    /// Of skewed ratios whose true median is 1, at least 95 % of the intervals hold it; not all do,
    /// or they would be wider than they need to be.
    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        let mut rng = StdRng::seed_from_u64(4);
        for pairs in [9, 20, 40] {
            const RUNS: usize = 4000;
            let covered = (0..RUNS).filter(|_| {
                let mut one = || match rng.random_range(0.0..1.0_f64) {
                    below if below < 0.5 => 0.99 + 0.02 * below,
                    above => 1.0 + (above - 0.5).powi(3),
                };
                let ratios: Vec<f64> = (0..pairs).map(|_| one()).collect();
                let ratio = Ratio::of(&ratios).expect("an interval");
                ratio.low <= 1.0 && 1.0 <= ratio.high
            });
            let share = covered.count() as f64 / RUNS as f64;
            assert!((0.945..0.985).contains(&share), "{pairs} pairs: {share}");
        }
    }
}
