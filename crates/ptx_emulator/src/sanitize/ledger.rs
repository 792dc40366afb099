use super::finding::{Finding, Rule, Severity, Site};
use crate::source::SourceLocation;
use std::collections::{BTreeSet, HashMap};

/// The findings of a check: one for each rule and pair of places, with a count.
///
/// Places are those of the source where the program has its lines, and instructions elsewhere: one pair of lines in an
/// unrolled loop is many pairs of instructions.
pub(crate) struct Ledger {
    limit: usize,
    /// By instructions.
    known: HashMap<(Rule, u32, u32), Option<usize>>,
    /// By the places in the source, and what was inlined there.
    places: HashMap<(Rule, Vec<Vec<SourceLocation>>), usize>,
    findings: Vec<Finding>,
    dropped: u64,
    notices: BTreeSet<String>,
    /// The seed of the schedule that runs now.
    pub(crate) seed: Option<u64>,
}

impl Ledger {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            known: HashMap::new(),
            places: HashMap::new(),
            findings: Vec::new(),
            dropped: 0,
            notices: BTreeSet::new(),
            seed: None,
        }
    }

    /// Counts a finding between two instructions. `tell` makes its text, the first time only.
    pub(crate) fn report(&mut self, key: (Rule, u32, u32), tell: impl FnOnce() -> Finding) {
        self.report_times(key, 1, tell);
    }

    /// Like [`report`](Self::report), for a finding that happened so many times at once.
    pub(crate) fn report_times(
        &mut self,
        key: (Rule, u32, u32),
        times: u64,
        tell: impl FnOnce() -> Finding,
    ) {
        match self.known.get(&key) {
            Some(&Some(at)) => self.findings[at].count += times,
            Some(None) => {}
            None => {
                let at = self.keep(Finding {
                    count: times,
                    seed: self.seed,
                    ..tell()
                });
                self.known.insert(key, at);
            }
        }
    }

    /// Keeps a finding of other instructions than before; its number, if there is room.
    fn keep(&mut self, finding: Finding) -> Option<usize> {
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
            return Some(at);
        }
        if self.findings.len() == self.limit {
            self.dropped += 1;
            return None;
        }
        let at = self.findings.len();
        self.places.extend(places.map(|places| (places, at)));
        self.findings.push(finding);
        Some(at)
    }

    /// Like [`report`](Self::report), for a rule whose findings are not all equally bad: `tell` is asked again when
    /// there is a worse one than before.
    pub(crate) fn report_worst(
        &mut self,
        key: (Rule, u32, u32),
        severity: Severity,
        tell: impl FnOnce() -> Finding,
    ) {
        match self.known.get(&key) {
            Some(&Some(at)) if self.findings[at].severity < severity => {
                let (count, seed) = (self.findings[at].count + 1, self.seed);
                self.findings[at] = Finding {
                    count,
                    seed,
                    ..tell()
                };
            }
            _ => self.report(key, tell),
        }
    }

    /// Keeps a sentence about what was not looked for, once.
    pub(crate) fn notice(&mut self, text: String) {
        self.notices.insert(text);
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.iter().cloned().collect()
    }

    /// The findings, errors first, and how many found no room.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, u64) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        (self.findings, self.dropped)
    }
}
