//! Two sides timed by turns, until it is known which is faster.
//!
//! A turn is a few launches of one side; a pair is a turn of each. In every other pair the other
//! side begins, so that a clock that rises or falls favours neither. A pair's ratio is that of the
//! medians of its turns. Pairs are added until the [interval](Ratio) of the ratio is narrow: with
//! peers, when to stop follows from its width, never from where it lies.

use std::time::{Duration, Instant};

use blockwise::{AnyBuffer, Device, DeviceKind, Type};

use super::interval::{FEWEST, Ratio};
use super::measure::{self, Delay};
use super::{BenchError, Loaded};

/// One side.
pub(super) trait Side {
    /// Launches one after the other, each on inputs that are not in the cache. The seconds of each,
    /// or why there are none.
    fn turn(&mut self, launches: usize) -> Result<Vec<f64>, String>;
}

/// Launches of a turn, at most.
const LAUNCHES: usize = 5;
/// Seconds of a turn, as far as one launch allows.
const TURN: f64 = 1e-3;
/// Below this, the first launch of a turn is not counted: it finds caches that the other side has
/// filled with its own instructions.
const SHORT: f64 = 5e-3;
/// Launches to begin with.
const WARM_UP: usize = 3;
/// Seconds of a comparison whose interval does not become narrow.
const LIMIT: Duration = Duration::from_secs(2);
/// The same if not even the fewest pairs fit into that.
const LAST: Duration = Duration::from_secs(30);
/// A side that takes this many times as long as the other, and more than [`SLOW`], is not timed by
/// turns: nothing remains to be decided.
const HOPELESS: f64 = 10.0;
const SLOW: f64 = 0.05;

/// What was timed.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Seconds of each launch of the other side.
    pub seconds: Vec<f64>,
    /// How many times as long the other side takes.
    pub ratio: Ratio,
    /// The same of the other side against itself, if that was wanted.
    pub itself: Option<Ratio>,
}

/// What ends a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The time of one whose interval does not become narrow; zero on a device whose times mean
    /// nothing.
    pub limit: Duration,
    /// A ratio: an interval that does not hold it need not be narrow.
    pub bound: Option<f64>,
    /// Whether the other side is compared with itself too.
    pub itself: bool,
}

impl Until {
    /// The interval is narrow, whatever it holds.
    pub(super) fn narrow(device: &Device) -> Self {
        Self {
            limit: match device.properties().kind {
                DeviceKind::Cuda => LIMIT,
                DeviceKind::Emulator => Duration::ZERO,
            },
            bound: None,
            itself: true,
        }
    }

    fn is_over(self, ratio: &Ratio, begin: Instant) -> bool {
        let decided = |bound| ratio.high < bound || ratio.low >= bound;
        ratio.is_narrow() || self.bound.is_some_and(decided) || begin.elapsed() >= self.limit
    }
}

/// Compares ours with another.
pub(super) fn compare(
    ours: &mut dyn Side,
    other: &mut dyn Side,
    until: Until,
) -> Result<Pairs, String> {
    let first = ours.turn(WARM_UP)?;
    let mut seconds = other.turn(WARM_UP)?;
    let each = [median(&first), median(&seconds)];
    if each[1] > SLOW && each[1] > HOPELESS * each[0] {
        let ratio = Ratio {
            median: each[1] / each[0],
            low: least(&seconds) / most(&first),
            high: most(&seconds) / least(&first),
            pairs: WARM_UP,
        };
        let itself = None;
        return Ok(Pairs {
            seconds,
            ratio,
            itself,
        });
    }
    seconds.clear();
    let launches = each.map(|each| ((TURN / each) as usize).clamp(1, LAUNCHES));
    let unseen = each.map(|each| usize::from(each < SHORT && !until.limit.is_zero()));
    let (mut ratios, mut of_itself) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    loop {
        let mut time_ours = || -> Result<f64, String> {
            let turn = ours.turn(launches[0] + unseen[0])?;
            Ok(median(&turn[unseen[0]..]))
        };
        let mut time_other = || -> Result<f64, String> {
            let turn = other.turn(launches[1] + unseen[1])?;
            seconds.extend(&turn[unseen[1]..]);
            Ok(median(&turn[unseen[1]..]))
        };
        // The turn next to ours is the pair's; the one beyond it is for the other alone.
        let (mine, theirs, again);
        if ratios.len() % 2 == 0 {
            mine = time_ours()?;
            theirs = time_other()?;
            again = until.itself.then(&mut time_other).transpose()?;
        } else {
            again = until.itself.then(&mut time_other).transpose()?;
            theirs = time_other()?;
            mine = time_ours()?;
        }
        ratios.push(theirs / mine);
        of_itself.extend(again.map(|again| again / theirs));
        if let Some(ratio) = Ratio::of(&ratios)
            && until.is_over(&ratio, begin)
        {
            let itself = Ratio::of(&of_itself);
            return Ok(Pairs {
                seconds,
                ratio,
                itself,
            });
        }
        if ratios.len() < FEWEST && begin.elapsed() >= LAST {
            let (pairs, seconds) = (ratios.len(), LAST.as_secs());
            return Err(format!(
                "undecided: {pairs} pairs in {seconds} s, and an interval needs {FEWEST}"
            ));
        }
    }
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn least(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(0.0, f64::max)
}

/// A kernel of this process.
pub(super) struct Local<'a, 'w> {
    pub device: &'a Device,
    pub loaded: &'a mut (dyn Loaded + 'w),
    pub copies: usize,
    /// The next copy of the inputs.
    next: usize,
    delay: Delay<'a>,
    /// Written before each launch where the copies together fit into the L2 cache.
    eviction: Option<AnyBuffer>,
}

impl<'a, 'w> Local<'a, 'w> {
    /// The kernel that is selected.
    pub(super) fn new(
        device: &'a Device,
        loaded: &'a mut (dyn Loaded + 'w),
        copies: usize,
        bytes: u64,
    ) -> Result<Self, BenchError> {
        let l2 = u64::from(device.properties().l2_bytes);
        let cached = copies as u64 * bytes < 2 * l2;
        let is_gpu = device.properties().kind == DeviceKind::Cuda;
        let eviction = (cached && is_gpu)
            .then(|| AnyBuffer::filled(device, Type::U8, 2 * l2 as usize, 0))
            .transpose()?;
        Ok(Self {
            device,
            loaded,
            copies,
            next: 0,
            delay: Delay::short(device)?,
            eviction,
        })
    }

    /// Selects a kernel, and launches it on each copy, and until the clock has risen.
    pub(super) fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        self.loaded.select(rung)?;
        self.loaded.clear()?;
        let loaded = &mut *self.loaded;
        measure::warm_up(self.device, self.copies, |copy| loaded.enqueue(copy))?;
        Ok(())
    }
}

impl Side for Local<'_, '_> {
    fn turn(&mut self, launches: usize) -> Result<Vec<f64>, String> {
        let Self {
            device,
            loaded,
            copies,
            next,
            delay,
            eviction,
        } = self;
        let first = *next;
        *next += launches;
        let launch = |at: usize| loaded.enqueue((first + at) % *copies);
        let mut before = || {
            delay.enqueue()?;
            if let Some(eviction) = eviction {
                eviction.fill_bytes(0)?;
            }
            Ok(())
        };
        let seconds = measure::times(device, &mut before, launches, launch);
        seconds.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    /// A side that takes so long, give or take a share; both sides drift alike.
    struct Pretended {
        seconds: f64,
        noise: f64,
        rng: StdRng,
        launches: usize,
        turns: usize,
    }

    impl Pretended {
        fn new(seconds: f64, noise: f64) -> Self {
            Self {
                seconds,
                noise,
                rng: StdRng::seed_from_u64((seconds * 1e9) as u64),
                launches: 0,
                turns: 0,
            }
        }
    }

    impl Side for Pretended {
        fn turn(&mut self, launches: usize) -> Result<Vec<f64>, String> {
            self.launches += launches;
            self.turns += 1;
            let once = |_| self.seconds * (1.0 + self.noise * self.rng.random_range(-1.0..1.0));
            Ok((0..launches).map(once).collect())
        }
    }

    fn until(milliseconds: u64) -> Until {
        Until {
            limit: Duration::from_millis(milliseconds),
            bound: None,
            itself: true,
        }
    }

    fn compared(ours: [f64; 2], other: [f64; 2]) -> Pairs {
        let [mut ours, mut other] = [ours, other].map(|[at, noise]| Pretended::new(at, noise));
        compare(&mut ours, &mut other, until(60_000)).expect("pairs")
    }

    #[test]
    fn pairs_end_with_a_narrow_interval_around_the_true_ratio() {
        let quiet = compared([1e-4, 0.0], [1.5e-4, 0.0]);
        assert_eq!(quiet.ratio.pairs, FEWEST);
        assert!((quiet.ratio.median - 1.5).abs() < 1e-12, "{quiet:?}");
        assert_eq!(quiet.itself.expect("itself").median, 1.0);
        let noisy = compared([1e-4, 0.1], [0.9e-4, 0.1]);
        assert!(
            noisy.ratio.is_narrow() && noisy.ratio.pairs > FEWEST,
            "{noisy:?}"
        );
        assert!(noisy.ratio.high < 1.0 && (noisy.ratio.median - 0.9).abs() < 0.03);
    }

    #[test]
    fn what_stays_wide_ends_with_the_time() {
        // Every other turn takes twice as long: no number of pairs makes that narrow.
        struct Unsteady(usize);
        impl Side for Unsteady {
            fn turn(&mut self, launches: usize) -> Result<Vec<f64>, String> {
                self.0 += 1;
                Ok(vec![[1e-4, 2e-4][self.0 / 2 % 2]; launches])
            }
        }
        let mut ours = Pretended::new(1e-4, 0.0);
        let pairs = compare(&mut ours, &mut Unsteady(0), until(20)).expect("pairs");
        assert!(!pairs.ratio.is_narrow(), "{pairs:?}");
        assert!(pairs.ratio.pairs >= FEWEST);
        // Unless it is only asked whether it is above or below this.
        let bound = |bound| Until {
            bound: Some(bound),
            itself: false,
            ..until(20)
        };
        let mut compared = |at| compare(&mut ours, &mut Unsteady(0), bound(at)).expect("pairs");
        let [below, within] = [0.9, 1.5].map(&mut compared);
        assert_eq!((below.ratio.pairs, below.itself), (FEWEST, None));
        assert!(!within.ratio.is_narrow());
    }

    #[test]
    fn a_side_ten_times_as_slow_is_launched_three_times() {
        let mut ours = Pretended::new(1e-3, 0.0);
        let mut other = Pretended::new(0.5, 0.0);
        let pairs = compare(&mut ours, &mut other, until(60_000)).expect("pairs");
        assert_eq!((other.launches, pairs.ratio.median), (3, 500.0));
        assert_eq!(pairs.seconds.len(), 3);
        // The same ratio of short launches costs nothing, and is timed.
        assert_eq!(compared([1e-6, 0.0], [5e-4, 0.0]).ratio.pairs, FEWEST);
    }

    #[test]
    fn short_launches_share_a_turn_and_long_ones_have_it_alone() {
        let alone = Until {
            itself: false,
            ..until(60_000)
        };
        let mut short = Pretended::new(1e-5, 0.0);
        let mut long = Pretended::new(2e-2, 0.0);
        compare(&mut short, &mut long, alone).expect("pairs");
        assert_eq!(short.launches, WARM_UP + FEWEST * (LAUNCHES + 1));
        assert_eq!((long.launches, long.turns), (WARM_UP + FEWEST, 1 + FEWEST));
    }

    #[test]
    fn why_a_side_failed_is_the_outcome() {
        struct Lost;
        impl Side for Lost {
            fn turn(&mut self, _: usize) -> Result<Vec<f64>, String> {
                Err("the context is lost".to_owned())
            }
        }
        let mut ours = Pretended::new(1e-4, 0.0);
        let failed = compare(&mut ours, &mut Lost, until(60_000)).expect_err("a reason");
        assert_eq!(failed, "the context is lost");
    }
}
