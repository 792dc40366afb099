//! Axes: where a value is, and which values have a tick.

/// From one value to another, evenly or by powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Axis {
    /// From `low` to `high`; around them, if they are the same or no numbers.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        let (low, high) = match low < high && (high - low).is_finite() {
            true => (low, high),
            false if low.is_finite() => (low, low + low.abs().max(1.0)),
            false => (0.0, 1.0),
        };
        Self {
            low,
            high,
            is_log: false,
        }
    }

    /// The same by powers of ten; what is not positive has no place on it.
    pub(crate) fn log(low: f64, high: f64) -> Self {
        let high = if high.is_normal() && high > 0.0 {
            high
        } else {
            1.0
        };
        let low = if low.is_normal() && low > 0.0 {
            low
        } else {
            high / 10.0
        };
        Self {
            low,
            high: if high > low { high } else { 10.0 * low },
            is_log: true,
        }
    }

    /// Of the way from the lowest to the highest value; what is beyond is at the end.
    pub(super) fn share(self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value / self.low).log10() / (self.high / self.low).log10(),
            false => (value - self.low) / (self.high - self.low),
        };
        // No number is at the lowest end.
        share.clamp(0.0, 1.0).max(0.0)
    }

    /// About this number of ticks: at 1, 2 or 5 times a power of ten.
    pub(super) fn ticks(self, count: usize) -> Vec<f64> {
        match self.is_log {
            true => self.powers(count),
            false => self.multiples(count),
        }
    }

    fn multiples(self, count: usize) -> Vec<f64> {
        let least = (self.high - self.low) / count.max(1) as f64;
        let power = 10_f64.powf(least.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = steps.into_iter().find(|&step| step >= least * 0.999_999);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    fn powers(self, count: usize) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        let decades = (self.high / self.low).log10();
        // Between powers of ten there are more where these are few.
        let times: &[f64] = match decades < 3.0 {
            true => &[1.0, 2.0, 5.0],
            false => &[1.0],
        };
        let stride = (decades / count.max(1) as f64).ceil().max(1.0) as usize;
        let powers = (first as i32..=last as i32).step_by(stride);
        let ticks =
            powers.flat_map(|power| times.iter().map(move |times| times * 10_f64.powi(power)));
        let inside = self.low * 0.999_999..=self.high * 1.000_001;
        ticks.filter(|tick| inside.contains(tick)).collect()
    }
}

/// A number without zeros at its end.
pub(super) fn trimmed(text: &str) -> String {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    match text {
        "-0" => "0".to_owned(),
        _ => text.to_owned(),
    }
}

/// Three significant digits and the prefix of a unit: `66.9 T`, `7 k`, `20 m`.
pub(crate) fn prefixed(value: f64) -> String {
    const PREFIXES: [(&str, f64); 8] = [
        (" P", 1e15),
        (" T", 1e12),
        (" G", 1e9),
        (" M", 1e6),
        (" k", 1e3),
        ("", 1.0),
        (" m", 1e-3),
        (" µ", 1e-6),
    ];
    if value == 0.0 || !value.is_finite() {
        return value.abs().to_string();
    }
    // What rounds to a thousand is one of the next.
    let fits = |&&(_, unit): &&(&str, f64)| value.abs() >= 0.9995 * unit;
    let &(prefix, unit) = PREFIXES.iter().find(fits).unwrap_or(&PREFIXES[7]);
    let value = value / unit;
    let decimals = match value.abs() {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    trimmed(&format!("{value:.decimals$}")) + prefix
}

/// Three significant digits, with a prefix only far from one.
pub(crate) fn plain(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        far @ (1e6.. | ..1e-3) => return prefixed(value.signum() * far),
        near => (2.0 - near.log10().floor()).max(0.0) as usize,
    };
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis = Axis::linear(-2.1, 2.1);
        assert_eq!(axis.ticks(8), [-2.0, -1.0, 0.0, 1.0, 2.0]);
        assert_eq!(
            Axis::linear(0.0, 40.0).ticks(4),
            [0.0, 10.0, 20.0, 30.0, 40.0]
        );
        let decades = Axis::log(0.05, 2e4).ticks(8);
        let expected = [0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
        assert_eq!(decades.len(), expected.len());
        for (tick, expected) in decades.iter().zip(expected) {
            assert!((tick / expected - 1.0).abs() < 1e-12, "{decades:?}");
        }
        assert_eq!(Axis::log(1.0, 100.0).ticks(8).len(), 7);
        assert!(Axis::log(1e-30, 1e30).ticks(6).len() <= 7);
    }

    #[test]
    fn an_axis_without_extent_has_one() {
        for (low, high) in [
            (3.0, 3.0),
            (f64::NAN, 1.0),
            (0.0, f64::INFINITY),
            (5.0, 2.0),
        ] {
            let axis = Axis::linear(low, high);
            assert!(
                !axis.ticks(5).is_empty() && axis.low < axis.high,
                "{axis:?}"
            );
        }
        for (low, high) in [(0.0, 0.0), (-1.0, 5.0), (7.0, 7.0), (f64::NAN, f64::NAN)] {
            let axis = Axis::log(low, high);
            assert!(
                !axis.ticks(5).is_empty() && axis.low < axis.high,
                "{axis:?}"
            );
            assert_eq!(axis.share(0.0), 0.0);
            assert_eq!(axis.share(f64::NAN), 0.0);
        }
    }

    #[test]
    fn a_value_is_where_its_axis_says() {
        assert_eq!(Axis::linear(-1.0, 3.0).share(1.0), 0.5);
        assert_eq!(Axis::linear(-1.0, 3.0).share(9.0), 1.0);
        assert!((Axis::log(1.0, 10_000.0).share(100.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn numbers_have_prefixes() {
        let pairs = [
            (66.9e12, "66.9 T"),
            (7e3, "7 k"),
            (0.02, "20 m"),
            (999.9, "1 k"),
            (123.4, "123"),
            (0.0, "0"),
            (1.25, "1.25"),
            (-1500.0, "-1.5 k"),
        ];
        for (value, text) in pairs {
            assert_eq!(prefixed(value), text);
        }
        let plainly = [0.0, -1.5, 0.4961, 3e-5, 33_000.0, 2e7].map(plain);
        assert_eq!(plainly, ["0", "-1.5", "0.496", "30 µ", "33000", "20 M"]);
        assert_eq!(trimmed("100"), "100");
    }
}
