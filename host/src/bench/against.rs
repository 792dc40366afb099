//! A work's rows: ours, then what the default is compared with.

use blockwise::Device;
use blockwise_ops::LaunchError;

use super::measure::{self, Effort};
use super::pairs::{self, Local, Pairs, Side, Until};
use super::peers::Peer;
use super::protocol::Entry;
use super::work::DEFAULT;
use super::{BenchError, Ceilings, Inputs, Loaded, OURS, Options, Ratio, Row, Rung, Timing, Work};

/// Whom all rows of a run have in common.
pub(super) struct Run<'a> {
    pub device: &'a Device,
    pub options: &'a Options,
    pub ceilings: Ceilings,
}

impl Run<'_> {
    /// Times a work's kernels, and compares the default with each peer, or with our other kernels;
    /// `take` gets each row as soon as it is there.
    pub(super) fn rows(
        &self,
        work: &Work,
        inputs: &mut Inputs,
        peers: &mut [Peer],
        take: &mut dyn FnMut(Row),
    ) {
        let device = self.device;
        // What another build is asked for is the ratio. To compare every copy with the reference
        // takes far longer than that, and is for a run of one build.
        let of_builds = !peers.is_empty() && peers.iter().all(|peer| peer.is_build);
        let brief = self.options.is_brief() || of_builds;
        let copies = measure::copies(device, work.bytes);
        // All sides make their inputs at the same time; nothing is timed until all have them.
        for peer in peers.iter_mut() {
            peer.begin_load(work, brief);
        }
        let loaded = work.problem.load(device, copies, inputs);
        let entries: Vec<_> = peers.iter_mut().map(Peer::end_load).collect();
        let mut loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                let skipped = |rung| Row::skipped(work, rung, &error.to_string());
                return work.rungs.iter().map(skipped).for_each(take);
            }
        };
        // Against our own kernels, only the default is timed by itself.
        let alone = |rung: &&Rung| !self.options.own || rung.name == DEFAULT;
        for rung in work.rungs.iter().filter(alone) {
            let effort = Effort::of(brief);
            let of = (work, rung);
            let row = measure::row(device, of, &mut *loaded, copies, effort, &self.ceilings);
            take(row);
        }
        let ours = match Local::new(device, &mut *loaded, copies, work.bytes) {
            Ok(local) => Ours {
                local,
                selected: None,
            },
            Err(error) => {
                let skipped = |rung| Row::skipped(work, rung, &error.to_string());
                return work.rungs.iter().take(1).map(skipped).for_each(take);
            }
        };
        match self.options.own {
            true => self.own(work, ours, inputs, copies, take),
            false => self.peers(work, ours, peers.iter_mut().zip(entries), take),
        }
    }

    fn peers<'p>(
        &self,
        work: &Work,
        mut ours: Ours<'_, '_>,
        peers: impl Iterator<Item = (&'p mut Peer, Option<Result<Vec<Entry>, String>>)>,
        take: &mut dyn FnMut(Row),
    ) {
        for (peer, entries) in peers {
            let nothing = peer.nothing();
            let entries = match entries {
                None => continue,
                Some(Ok(entries)) => entries,
                Some(Err(reason)) => {
                    take(Row::of_peer(work, nothing, &reason));
                    continue;
                }
            };
            for (at, entry) in entries.into_iter().enumerate() {
                // Another build's kernel is compared with ours of the same name.
                let same = work.rungs.iter().find(|it| it.name == entry.rung);
                let default = || work.rungs.iter().find(|it| it.name == DEFAULT);
                let rung = match peer.is_build {
                    true => same,
                    false => default().or(work.rungs.first()),
                };
                let Some(rung) = rung else { continue };
                let mut remote = peer.entry(at);
                let until = Until::narrow(self.device);
                let compared = ours.select(rung.index).and_then(|()| {
                    let pairs = pairs::compare(&mut ours.local, &mut remote, until)?;
                    Ok((pairs, remote.check()?))
                });
                take(match compared {
                    Ok((pairs, (check, passed))) => Row {
                        passed,
                        ..Row::of_peer(work, entry, &check).compared(pairs)
                    }
                    .with_shares(work, &self.ceilings),
                    Err(reason) => Row::of_peer(work, entry, &reason),
                });
            }
        }
    }

    /// Compares the default with our other kernels.
    fn own(
        &self,
        work: &Work,
        mut ours: Ours<'_, '_>,
        inputs: &mut Inputs,
        copies: usize,
        take: &mut dyn FnMut(Row),
    ) {
        let Some(default) = work.rungs.iter().find(|it| it.name == DEFAULT) else {
            return;
        };
        let others = || work.rungs.iter().filter(|it| it.name != DEFAULT);
        let failed = |rung, reason: &str| Row::skipped(work, rung, reason);
        // Two kernels each keep memory of their own: the inputs are there twice.
        let loaded = work.problem.load(self.device, copies, inputs);
        let mut loaded = match (ours.select(default.index), loaded) {
            (Ok(()), Ok(loaded)) => loaded,
            (Err(reason), _) => return others().for_each(|rung| take(failed(rung, &reason))),
            (_, Err(error)) => {
                return others().for_each(|rung| take(failed(rung, &error.to_string())));
            }
        };
        for rung in others() {
            let row = self.own_row((work, rung), &mut ours.local, &mut *loaded, copies);
            // A kernel that does not exist for this device or these operands is no row.
            if let Some(row) = row.transpose() {
                take(row.unwrap_or_else(|error| failed(rung, &error.to_string())));
            }
        }
    }

    fn own_row(
        &self,
        (work, rung): (&Work, &Rung),
        ours: &mut Local<'_, '_>,
        loaded: &mut dyn Loaded,
        copies: usize,
    ) -> Result<Option<Row>, BenchError> {
        let mut other = Local::new(self.device, loaded, copies, work.bytes)?;
        match other.select(rung.index) {
            Ok(()) => {}
            Err(BenchError::Launch(LaunchError::Device(error))) => return Err(error.into()),
            Err(BenchError::Launch(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let launched = other.loaded.launched();
        if launched == ours.loaded.launched() {
            let row = Row::skipped(work, rung, "what the default launches");
            let (ratio, passed) = (Some(Ratio::SAME), true);
            return Ok(Some(Row {
                ratio,
                passed,
                launched,
                ..row
            }));
        }
        let until = Until {
            bound: Some(1.0 - MARGIN),
            itself: false,
            ..Until::narrow(self.device)
        };
        let pairs = match pairs::compare(ours, &mut other, until) {
            Ok(pairs) => pairs,
            Err(reason) => return Ok(Some(Row::skipped(work, rung, &reason))),
        };
        let effort = Effort::of(self.options.is_brief());
        let check = measure::verified(&*other.loaded, copies, effort)?;
        let row = Row {
            passed: check.wrong == 0,
            launched,
            ..Row::skipped(work, rung, &check.verdict()).compared(pairs)
        };
        Ok(Some(row.with_shares(work, &self.ceilings)))
    }
}

/// Our side, and which kernel is selected.
struct Ours<'a, 'w> {
    local: Local<'a, 'w>,
    selected: Option<usize>,
}

impl Ours<'_, '_> {
    fn select(&mut self, rung: usize) -> Result<(), String> {
        if self.selected != Some(rung) {
            self.selected = None;
            let selected = self.local.select(rung);
            selected.map_err(|error| format!("skipped: {OURS} cannot: {error}"))?;
            self.selected = Some(rung);
        }
        Ok(())
    }
}

impl Row {
    /// Of a peer: what was compared, or why nothing was timed.
    fn of_peer(work: &Work, entry: Entry, check: &str) -> Self {
        let rung = Rung {
            index: 0,
            name: entry.rung,
            policy: entry.policy,
        };
        Self {
            implementation: entry.implementation,
            ..Self::skipped(work, &rung, check)
        }
    }

    fn compared(self, pairs: Pairs) -> Self {
        let Pairs {
            seconds,
            ratio,
            itself,
        } = pairs;
        Self {
            timing: Some(Timing::of(seconds)),
            ratio: Some(ratio),
            itself,
            ..self
        }
    }
}

/// Asks peers for the kernels of the rows that a summary lists.
pub(super) fn name_kernels(
    works: &[Work],
    listed: &[String],
    peers: &mut [Peer],
    mut named: impl FnMut(&str, &Entry, String),
) {
    for name in listed {
        let Some(work) = works.iter().find(|work| work.name() == *name) else {
            continue;
        };
        for peer in peers.iter_mut().filter(|peer| peer.goes_on()) {
            peer.begin_load(work, true);
            let entries = peer.end_load().and_then(Result::ok).unwrap_or_default();
            for (at, entry) in entries.iter().enumerate() {
                let mut remote = peer.entry(at);
                if remote.turn(1).is_ok() {
                    let kernels = remote.kernels();
                    named(name, entry, kernels.join(", "));
                }
            }
        }
    }
}

/// Against our own kernels, the default may be this much slower than the best.
pub(super) const MARGIN: f64 = 0.05;

/// How a row's ratio stands to a bound, by its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The default is not slower than that, or this cannot be told apart.
    Kept,
    /// The whole interval is below the bound.
    Lost,
    /// The interval is wide and holds the bound, and the peer against itself is not as wide.
    Undecided,
}

impl Verdict {
    /// Whether the default takes no longer than the other's time divided by `bound`.
    pub(super) fn of(ratio: &Ratio, itself: Option<&Ratio>, bound: f64) -> Self {
        if ratio.high < bound {
            return Self::Lost;
        }
        let decided = ratio.is_narrow() || ratio.low >= bound;
        let as_wide = itself.is_some_and(|itself| itself.width() >= ratio.width());
        match decided || as_wide {
            true => Self::Kept,
            false => Self::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_follows_from_the_interval_and_what_the_peer_does_against_itself() {
        let ratio = |low: f64, high: f64| Ratio {
            median: (low + high) / 2.0,
            low,
            high,
            pairs: 9,
        };
        let verdict =
            |low, high, itself: Option<Ratio>| Verdict::of(&ratio(low, high), itself.as_ref(), 1.0);
        // Narrow: lost only if the upper end is below the bound.
        assert_eq!(verdict(0.98, 0.999, None), Verdict::Lost);
        assert_eq!(verdict(0.98, 1.0, None), Verdict::Kept);
        assert_eq!(verdict(1.0, 1.03, None), Verdict::Kept);
        // Wide: decided where it does not hold the bound.
        assert_eq!(verdict(0.7, 0.9, None), Verdict::Lost);
        assert_eq!(verdict(1.1, 1.9, None), Verdict::Kept);
        assert_eq!(verdict(0.9, 1.1, None), Verdict::Undecided);
        // As wide against itself: the clock cannot tell more.
        assert_eq!(verdict(0.9, 1.1, Some(ratio(0.9, 1.11))), Verdict::Kept);
        assert_eq!(
            verdict(0.9, 1.1, Some(ratio(0.95, 1.05))),
            Verdict::Undecided
        );
        assert_eq!(Verdict::of(&ratio(0.94, 0.96), None, 0.95), Verdict::Kept);
    }
}
