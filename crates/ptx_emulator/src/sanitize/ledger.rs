use super::finding::{CheckOptions, Finding, Rule, Severity, Site};
use crate::source::SourceLocation;
use std::collections::{BTreeSet, HashMap};

/// The findings of a check: one for each rule and pair of places, with a count.
///
/// Places are those of the source where the program has its lines, and instructions elsewhere: one pair of lines in an
/// unrolled loop is many pairs of instructions.
pub(crate) struct Ledger {
    limit: usize,
    strict: bool,
    /// By instructions.
    known: HashMap<Key, Known>,
    /// By the places in the source, and what was inlined there.
    places: HashMap<(Rule, Vec<Vec<SourceLocation>>), usize>,
    findings: Vec<Finding>,
    dropped: u64,
    notices: BTreeSet<String>,
    /// The seed of the schedule that runs now.
    pub(crate) seed: Option<u64>,
    /// Steps that have begun, the one that runs included.
    pub(crate) steps: u64,
}

/// A rule and the instructions of the two ends.
type Key = (Rule, u32, u32);

/// What became of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It is the one with that number.
    Kept(usize),
    /// There was no room for it.
    Dropped(Severity),
}

impl Ledger {
    pub(crate) fn new(options: &CheckOptions) -> Self {
        Self {
            limit: options.max_findings,
            strict: options.strict,
            known: HashMap::new(),
            places: HashMap::new(),
            findings: Vec::new(),
            dropped: 0,
            notices: BTreeSet::new(),
            seed: None,
            steps: 0,
        }
    }

    /// Counts a finding between two instructions. `tell` makes its text, the first time only.
    pub(crate) fn report(&mut self, key: Key, tell: impl FnOnce() -> Finding) {
        self.report_times(key, 1, tell);
    }

    /// Like [`report`](Self::report), for a finding that happened so many times at once.
    pub(crate) fn report_times(&mut self, key: Key, times: u64, tell: impl FnOnce() -> Finding) {
        match self.known.get(&key) {
            Some(&Known::Kept(at)) => self.findings[at].count += times,
            Some(Known::Dropped(_)) => {}
            None => self.add(key, times, tell()),
        }
    }

    /// Like [`report`](Self::report), for a rule whose findings are not all equally bad: `tell` is asked again when
    /// there is a worse one than before.
    pub(crate) fn report_worst(
        &mut self,
        key: Key,
        severity: Severity,
        tell: impl FnOnce() -> Finding,
    ) {
        let severity = self.raised(severity);
        match self.known.get(&key) {
            Some(&Known::Kept(at)) if self.findings[at].severity < severity => {
                let (count, seed) = (self.findings[at].count + 1, self.seed);
                let step = self.steps.saturating_sub(1);
                self.findings[at] = Finding {
                    severity,
                    count,
                    seed,
                    step,
                    ..tell()
                };
            }
            Some(&Known::Dropped(before)) if before < severity => {
                self.dropped -= 1;
                self.add(key, 1, tell());
            }
            _ => self.report(key, tell),
        }
    }

    /// What counts as that severity here.
    fn raised(&self, severity: Severity) -> Severity {
        match severity {
            Severity::Information if self.strict => Severity::Error,
            severity => severity,
        }
    }

    fn add(&mut self, key: Key, times: u64, finding: Finding) {
        let finding = Finding {
            severity: self.raised(finding.severity),
            count: times,
            seed: self.seed,
            step: self.steps.saturating_sub(1),
            ..finding
        };
        let known = self.keep(finding);
        self.known.insert(key, known);
    }

    /// Keeps a finding of other instructions than before, if there is room.
    fn keep(&mut self, finding: Finding) -> Known {
        let sites = std::iter::once(&finding.site).chain(&finding.others);
        let places: Option<Vec<_>> = sites.map(Site::source_frames).collect();
        let places = places.map(|places| (finding.rule, places));
        if let Some(&at) = places.as_ref().and_then(|places| self.places.get(places)) {
            let known = &mut self.findings[at];
            let count = known.count + finding.count;
            if known.severity < finding.severity {
                *known = finding;
            }
            known.count = count;
            return Known::Kept(at);
        }
        let at = if self.findings.len() < self.limit {
            self.findings.push(finding);
            self.findings.len() - 1
        } else {
            self.dropped += 1;
            let severity = finding.severity;
            let Some(at) = self.make_room(severity) else {
                return Known::Dropped(severity);
            };
            self.findings[at] = finding;
            at
        };
        self.places.extend(places.map(|places| (places, at)));
        Known::Kept(at)
    }

    /// Forgets the least severe finding for a worse one; its number.
    fn make_room(&mut self, severity: Severity) -> Option<usize> {
        let findings = self.findings.iter().enumerate();
        let (at, least) = findings.min_by_key(|(_, finding)| finding.severity)?;
        let least = least.severity;
        if least >= severity {
            return None;
        }
        self.places.retain(|_, place| *place != at);
        let known = self.known.values_mut();
        known
            .filter(|known| **known == Known::Kept(at))
            .for_each(|known| *known = Known::Dropped(least));
        Some(at)
    }

    /// Keeps a sentence about what was not looked for, once.
    pub(crate) fn notice(&mut self, text: String) {
        self.notices.insert(text);
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.iter().cloned().collect()
    }

    /// The findings, the worst first, and how many found no room.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, u64) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        (self.findings, self.dropped)
    }
}
