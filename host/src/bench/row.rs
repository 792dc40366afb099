//! A result, for people and for machines.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use blockwise::Device;
use serde::{Deserialize, Serialize};

use super::{Ceilings, Check, Ratio, Rung, Timing, Work};

/// The implementation name of our own rows.
pub const OURS: &str = "blockwise";

/// The implementation name of our kernels rewritten in CUDA C++: they separate compiler from
/// algorithm, and are not peers.
pub const TWIN: &str = "nvcc";

/// The columns; a ratio is a peer's time over that of the default.
pub(super) const HEADING: [&str; 13] = [
    "work", "by", "rung", "median", "p10", "p90", "GB/s", "% copy", "TFLOP/s", "% FMA", "ratio",
    "policy", "check",
];

/// Where, when and with what inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The device's name.
    pub device: String,
    /// Its driver.
    pub driver: String,
    /// The day, in UTC: `2026-11-21`.
    pub date: String,
    /// The seed of the random inputs.
    pub seed: u64,
    /// The peers' versions, if there were peers.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
}

/// One implementation of one work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The work: `sum/f32/2^29`.
    pub work: String,
    /// `blockwise`, or a peer's name.
    pub implementation: String,
    /// The kernel's name in its family.
    pub rung: String,
    /// Threads, tiles and the like.
    pub policy: String,
    /// The fewest bytes that must be moved.
    pub bytes: u64,
    /// The operations that must be done.
    pub operations: u64,
    /// Seconds of a launch; `None` if there was none.
    pub timing: Option<Timing>,
    /// Bytes per second, as a fraction of the copy's.
    pub of_copy: Option<f64>,
    /// Operations per second, as a fraction of the multiply-adds'; for `f32` only.
    pub of_fma: Option<f64>,
    /// What was compared with the oracle, or why nothing was timed.
    pub check: String,
    /// Whether the result was correct, or this device cannot run the kernel.
    pub passed: bool,
    /// Of what is compared with the default: how many times as long as that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// The same of a peer against itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itself: Option<Ratio>,
    /// What a launch was: variant, kernel, grid and block, or a peer's kernels; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub launched: String,
}

impl Run {
    /// Where and when, in a line.
    pub(super) fn heading(&self) -> String {
        let Run {
            device,
            driver,
            date,
            seed,
            versions,
        } = self;
        let versions: String = versions
            .iter()
            .map(|(name, version)| format!(", {name} {version}"))
            .collect();
        format!("{device}, {driver}{versions}, {date}, seed {seed}")
    }

    /// The current time, on this device.
    pub fn of(device: &Device, seed: u64) -> Self {
        let properties = device.properties();
        Run {
            device: properties.name.clone(),
            driver: properties.driver.clone(),
            date: today(),
            seed,
            versions: BTreeMap::new(),
        }
    }
}

impl Row {
    pub(super) fn measured(
        work: &Work,
        rung: &Rung,
        timing: Timing,
        check: &Check,
        ceilings: &Ceilings,
    ) -> Self {
        Row {
            timing: Some(timing),
            passed: check.wrong == 0,
            ..Row::skipped(work, rung, &check.verdict())
        }
        .with_shares(work, ceilings)
    }

    /// The row with the fractions of the ceilings that follow from the median.
    pub(super) fn with_shares(self, work: &Work, ceilings: &Ceilings) -> Self {
        let share = |amount: u64, ceiling: f64| {
            let timing = self.timing.as_ref()?;
            (amount > 0).then(|| amount as f64 / timing.median / ceiling)
        };
        let operations = if work.ty == "f32" { work.operations } else { 0 };
        Row {
            of_copy: share(work.bytes, ceilings.copy_bytes_per_second),
            of_fma: share(operations, ceilings.fma_per_second),
            ..self
        }
    }

    /// The larger of the two fractions.
    pub fn of_ceiling(&self) -> Option<f64> {
        match (self.of_copy, self.of_fma) {
            (Some(copy), Some(fma)) => Some(copy.max(fma)),
            (copy, fma) => copy.or(fma),
        }
    }

    pub(super) fn skipped(work: &Work, rung: &Rung, reason: &str) -> Self {
        Row {
            work: work.name(),
            implementation: OURS.to_owned(),
            rung: rung.name.clone(),
            policy: rung.policy.clone(),
            bytes: work.bytes,
            operations: work.operations,
            check: reason.to_owned(),
            ..Row::default()
        }
    }
}

impl Row {
    pub(super) fn cells(&self) -> [String; 13] {
        let time = |pick: fn(&Timing) -> f64| {
            (self.timing.as_ref()).map_or_else(|| "-".to_owned(), |timing| seconds(pick(timing)))
        };
        let per_second = |amount: u64, unit: f64| match &self.timing {
            Some(timing) if amount > 0 => format!("{:.2}", amount as f64 / timing.median / unit),
            _ => "-".to_owned(),
        };
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", 100.0 * share))
        };
        [
            self.work.clone(),
            self.implementation.clone(),
            self.rung.clone(),
            time(|timing| timing.median),
            time(|timing| timing.p10),
            time(|timing| timing.p90),
            per_second(self.bytes, 1e9),
            percent(self.of_copy),
            per_second(self.operations, 1e12),
            percent(self.of_fma),
            self.ratio
                .map_or_else(|| "-".to_owned(), |it| it.to_string()),
            self.policy.clone(),
            self.check.clone(),
        ]
    }
}

/// Seconds in a suitable unit.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.2} µs", seconds * 1e6)
    } else {
        format!("{:.3} ms", seconds * 1e3)
    }
}

/// The day in UTC.
fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a day after 1970-01-01, in the Gregorian calendar. Years are counted from
/// March on, so that the leap day is the last (Hinnant, *chrono-compatible low-level date
/// algorithms*).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_819), (2027, 1, 1));
    }
}
