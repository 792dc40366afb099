use super::finding::{CheckOptions, Finding, Rule, Severity, Site};
use crate::source::SourceLocation;
use std::collections::{BTreeSet, HashMap};

/// The findings of a check: one per rule and pair of places, with a count.
///
/// Places are source locations if the program has line information, and instructions otherwise: in
/// an unrolled loop one pair of lines is many pairs of instructions.
#[derive(Clone)]
pub(crate) struct Ledger {
    limit: usize,
    strict: bool,
    /// By instruction.
    known: HashMap<Key, Known>,
    /// By source location, including inlined frames.
    places: HashMap<(Rule, Vec<Vec<SourceLocation>>), usize>,
    findings: Vec<Finding>,
    dropped: u64,
    notices: BTreeSet<String>,
    /// Seed of the running schedule.
    pub(crate) seed: Option<u64>,
    /// Steps that have begun, the one that runs included.
    pub(crate) steps: u64,
}

/// A rule and the two instructions.
type Key = (Rule, u32, u32);

/// The status of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Kept, under that index.
    Kept(usize),
    /// It was dropped for lack of space.
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

    /// Counts a finding between two instructions. `tell` creates its text, on the first occurrence
    /// only.
    pub(crate) fn report(&mut self, key: Key, tell: impl FnOnce() -> Finding) {
        self.report_times(key, 1, tell);
    }

    /// Like [`report`](Self::report), for a finding that occurred `times` times at once.
    pub(crate) fn report_times(&mut self, key: Key, times: u64, tell: impl FnOnce() -> Finding) {
        match self.known.get(&key) {
            Some(&Known::Kept(at)) => self.findings[at].count += times,
            Some(Known::Dropped(_)) => {}
            None => self.add(key, times, tell()),
        }
    }

    /// Like [`report`](Self::report), for what is counted once however often it occurs: it is about
    /// a launch as a whole.
    pub(crate) fn report_once(&mut self, key: Key, tell: impl FnOnce() -> Finding) {
        if !self.known.contains_key(&key) {
            self.add(key, 1, tell());
        }
    }

    /// Like [`report`](Self::report), for a rule whose findings vary in severity: `tell` is called
    /// again for a more severe one.
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

    /// The severity after applying the options.
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

    /// Keeps a finding of new instructions, if there is space.
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

    /// Drops the least severe finding in favour of a more severe one; returns its index.
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

    /// Whether an error was found.
    pub(crate) fn has_errors(&self) -> bool {
        let error = |finding: &Finding| finding.severity == Severity::Error;
        self.findings.iter().any(error)
    }

    /// Adds a notice about what was not checked, once.
    pub(crate) fn notice(&mut self, text: String) {
        self.notices.insert(text);
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.iter().cloned().collect()
    }

    /// The findings, most severe first, and the number dropped.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, u64) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        (self.findings, self.dropped)
    }
}
