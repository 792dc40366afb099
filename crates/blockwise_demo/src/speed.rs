//! How fast a kernel is: what it moves or computes in a second.

use blockwise_ops::operation::Work;
use serde::Serialize;

/// What a row's speed counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Bytes: each input read once, each output written once.
    #[serde(rename = "B/s")]
    Bytes,
    /// Additions and multiplications.
    #[serde(rename = "FLOP/s")]
    Operations,
}

/// The least that a call moves or computes, over its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// In a second.
    pub per_second: f64,
    /// Of what.
    pub unit: Unit,
}

impl Speed {
    /// Of work done in some seconds; none of no time or no work.
    pub(super) fn of(work: Work, unit: Unit, seconds: f64) -> Option<Self> {
        let amount = match unit {
            Unit::Bytes => work.bytes,
            Unit::Operations => work.operations,
        };
        let per_second = amount as f64 / seconds;
        (per_second.is_finite() && per_second > 0.0).then_some(Self { per_second, unit })
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unit = match self.unit {
            Unit::Bytes => "B/s",
            Unit::Operations => "FLOP/s",
        };
        match self.per_second {
            fast @ 1e12.. => write!(f, "{:.2} T{unit}", fast / 1e12),
            fast @ 1e9.. => write!(f, "{:.1} G{unit}", fast / 1e9),
            slow => write!(f, "{:.1} M{unit}", slow / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_the_least_work_over_the_time() {
        let work = Work {
            bytes: 8 << 20,
            operations: 2 << 30,
        };
        let said = |unit, seconds| Speed::of(work, unit, seconds).map(|speed| speed.to_string());
        assert_eq!(said(Unit::Bytes, 1e-5).as_deref(), Some("838.9 GB/s"));
        assert_eq!(said(Unit::Bytes, 4e-6).as_deref(), Some("2.10 TB/s"));
        assert_eq!(said(Unit::Bytes, 1.0).as_deref(), Some("8.4 MB/s"));
        assert_eq!(
            said(Unit::Operations, 1e-3).as_deref(),
            Some("2.15 TFLOP/s")
        );
        let nothing = Work {
            bytes: 0,
            operations: 0,
        };
        assert_eq!(Speed::of(nothing, Unit::Bytes, 1.0), None);
        assert_eq!(said(Unit::Bytes, 0.0), None);
        assert_eq!(said(Unit::Bytes, f64::NAN), None);
    }
}
