//! The timing itself.

use std::time::{Duration, Instant};

use blockwise::{Buffer, Device, DeviceKind};
use blockwise_ops::LaunchError;
use ladder::fma_rate as peak;
use serde::{Deserialize, Serialize};

use super::{BenchError, Ceilings, Check, Loaded, Row, Rung, Work};

/// Seconds of a launch, over all its samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Half of the launches took less.
    pub median: f64,
    /// A tenth of them took less.
    pub p10: f64,
    /// Nine tenths of them took less.
    pub p90: f64,
    /// The number of launches.
    pub samples: usize,
}

impl Timing {
    /// From the seconds of at least one launch.
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len().saturating_sub(1);
        // Linear interpolation between two ranks, as in NumPy's percentile.
        let percentile = |share: f64| {
            let rank = share * last as f64;
            let (low, high) = (seconds[rank as usize], seconds[rank.ceil() as usize]);
            low + (high - low) * rank.fract()
        };
        Timing {
            median: percentile(0.5),
            p10: percentile(0.1),
            p90: percentile(0.9),
            samples: seconds.len(),
        }
    }
}

/// The fewest timed launches: of kernels above 20 ms, whose times differ by less than a percent.
const FEWEST: usize = 10;
/// The most timed launches.
const MOST: usize = 200;
/// Total seconds of a kernel's timed launches, as far as [`FEWEST`] allows.
const SECONDS: f64 = 0.2;
/// Launches before the timed ones: the first loads the code, the next raise the clock.
const WARM_UP: usize = 3;
/// The shortest warm-up in seconds.
const WARM_UP_SECONDS: f64 = 0.02;

/// A kernel that keeps the device busy, with almost no memory traffic, while the host queues a
/// launch and its events.
pub(super) struct Delay<'a> {
    device: &'a Device,
    output: Buffer<f32>,
    rounds: u32,
}

impl<'a> Delay<'a> {
    /// About 250 µs: several times what a host takes. The length is a margin, not a measured need.
    const LONG: u32 = 2000;
    /// About 60 µs, where thousands of kernels are timed.
    const SHORT: u32 = 500;

    pub(super) fn long(device: &'a Device) -> Result<Self, BenchError> {
        Self::of(device, Self::LONG)
    }

    pub(super) fn short(device: &'a Device) -> Result<Self, BenchError> {
        Self::of(device, Self::SHORT)
    }

    fn of(device: &'a Device, rounds: u32) -> Result<Self, BenchError> {
        let output = device.zeros(peak::threads(1))?;
        Ok(Delay {
            device,
            output,
            rounds,
        })
    }

    pub(super) fn enqueue(&mut self) -> Result<(), BenchError> {
        // An emulated launch has ended when it returns: there is no queue.
        if self.device.properties().kind == DeviceKind::Emulator {
            return Ok(());
        }
        peak::enqueue(self.device, None, &mut self.output, 1, self.rounds)?;
        Ok(())
    }
}

/// How much is timed and compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Total seconds of a kernel's timed launches, as far as [`FEWEST`] allows.
    seconds: f64,
    /// Time after which no further copy's results are compared.
    comparing: Option<Duration>,
}

impl Effort {
    pub(super) const WHOLE: Self = Self {
        seconds: SECONDS,
        comparing: None,
    };
    const BRIEF: Self = Self {
        seconds: SECONDS / 10.0,
        comparing: Some(Duration::from_millis(200)),
    };

    pub(super) fn of(brief: bool) -> Self {
        if brief { Self::BRIEF } else { Self::WHOLE }
    }
}

/// Launches until the clock has risen, and each copy at least once; on an emulator, which has no
/// clock, once. The seconds of one.
pub(super) fn warm_up(
    device: &Device,
    copies: usize,
    mut launch: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<f64, BenchError> {
    let (least, long) = match device.properties().kind {
        DeviceKind::Cuda => (WARM_UP.max(copies), WARM_UP_SECONDS),
        DeviceKind::Emulator => (1, 0.0),
    };
    let begin = device.record()?;
    let mut launches = 0;
    loop {
        launch(launches % copies)?;
        launches += 1;
        if launches >= least {
            let seconds = device.record()?.seconds_since(&begin)?;
            if seconds >= long {
                return Ok(seconds / launches as f64);
            }
        }
    }
}

/// Warms up and times `launch`, which receives the copies of the inputs in turn, each at least
/// once.
pub(super) fn samples(
    device: &Device,
    delay: &mut Delay<'_>,
    copies: usize,
    effort: Effort,
    mut launch: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<Timing, BenchError> {
    let each = warm_up(device, copies, &mut launch)?;
    let wanted = match device.properties().kind {
        DeviceKind::Cuda => {
            let within = (effort.seconds / each) as usize;
            within.clamp(FEWEST, MOST).max(copies)
        }
        // An emulator's times are meaningless: each result is wanted once.
        DeviceKind::Emulator => copies,
    };
    timed(device, delay, copies, wanted, launch)
}

/// Times N launches.
fn timed(
    device: &Device,
    delay: &mut Delay<'_>,
    copies: usize,
    wanted: usize,
    mut launch: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<Timing, BenchError> {
    let launch = |sample| launch(sample % copies);
    let mut before = || delay.enqueue();
    Ok(Timing::of(times(device, &mut before, wanted, launch)?))
}

/// Seconds of N launches, each after what keeps the device busy while the host queues it.
pub(super) fn times(
    device: &Device,
    before: &mut dyn FnMut() -> Result<(), BenchError>,
    wanted: usize,
    mut launch: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<Vec<f64>, BenchError> {
    let mut events = Vec::with_capacity(wanted);
    for sample in 0..wanted {
        before()?;
        let start = device.record()?;
        launch(sample)?;
        events.push((start, device.record()?));
    }
    device.synchronize()?;
    let seconds = events.iter().map(|(start, end)| end.seconds_since(start));
    Ok(seconds.collect::<Result<_, _>>()?)
}

/// Launches timed if many kernels are compared.
const FEW: usize = 9;

/// The median of a few launches, in seconds; of a single one if it takes longer than `enough`
/// seconds.
pub(super) fn few(
    device: &Device,
    delay: &mut Delay<'_>,
    copies: usize,
    enough: f64,
    mut launch: impl FnMut(usize) -> Result<(), BenchError>,
) -> Result<f64, BenchError> {
    launch(0)?;
    let once = timed(device, delay, copies, 1, |_| launch(1 % copies))?.median;
    if once > enough {
        return Ok(once);
    }
    Ok(timed(device, delay, copies, FEW.max(copies), launch)?.median)
}

/// The number of input copies: together at least four times the L2 cache, so that a launch finds
/// none of its own data there.
pub(super) fn copies(device: &Device, bytes: u64) -> usize {
    const MOST: u64 = 64;
    if device.properties().kind == DeviceKind::Emulator {
        return 2;
    }
    let cold = 4 * u64::from(device.properties().l2_bytes);
    cold.div_ceil(bytes.max(1)).clamp(2, MOST) as usize
}

/// As [`copies`], but the fewest that leave nothing of a launch in the L2 cache for the next one.
pub(super) fn few_copies(device: &Device, bytes: u64) -> usize {
    const MOST: u64 = 8;
    let cold = 2 * u64::from(device.properties().l2_bytes);
    cold.div_ceil(bytes.max(1)).clamp(2, MOST) as usize
}

/// A row of one kernel on loaded inputs.
pub(super) fn row(
    device: &Device,
    (work, rung): (&Work, &Rung),
    loaded: &mut dyn Loaded,
    copies: usize,
    effort: Effort,
    ceilings: &Ceilings,
) -> Row {
    match one(device, loaded, rung.index, copies, effort) {
        Ok((timing, check)) => Row {
            launched: loaded.launched(),
            ..Row::measured(work, rung, timing, &check, ceilings)
        },
        // A kernel that does not exist on a device is not wrong.
        Err(error) => Row {
            passed: matches!(error, BenchError::Launch(LaunchError::TensorCores { .. })),
            ..Row::skipped(work, rung, &error.to_string())
        },
    }
}

/// Times a kernel on loaded inputs, and checks its results.
pub(super) fn one(
    device: &Device,
    loaded: &mut dyn Loaded,
    rung: usize,
    copies: usize,
    effort: Effort,
) -> Result<(Timing, Check), BenchError> {
    loaded.select(rung)?;
    // Each launch of a kernel does the same, so the timed launches write what the warm-up wrote.
    loaded.clear()?;
    let mut delay = Delay::long(device)?;
    let launch = |copy| loaded.enqueue(copy);
    let timing = samples(device, &mut delay, copies, effort, launch)?;
    Ok((timing, verified(loaded, copies, effort)?))
}

/// Compares the results of the copies: of all of them, or of some if that takes too long.
pub(super) fn verified(
    loaded: &dyn Loaded,
    copies: usize,
    effort: Effort,
) -> Result<Check, BenchError> {
    let begin = Instant::now();
    let mut check = loaded.verify(0)?;
    for copy in 1..copies {
        if effort.comparing.is_some_and(|most| begin.elapsed() >= most) {
            check.how = format!("{}, of {copy} of {copies} copies", check.how);
            break;
        }
        check = check.and(loaded.verify(copy)?);
    }
    Ok(check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numpys() {
        let timing = Timing::of(vec![5.0, 1.0, 2.0, 4.0]);
        assert_eq!((timing.median, timing.samples), (3.0, 4));
        assert!((timing.p10 - 1.3).abs() < 1e-12 && (timing.p90 - 4.7).abs() < 1e-12);
        let one = Timing::of(vec![2.0]);
        assert_eq!((one.p10, one.median, one.p90), (2.0, 2.0, 2.0));
    }
}
