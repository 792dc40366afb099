use super::finding::{Finding, Rule, Severity};
use std::collections::{BTreeSet, HashMap};

/// The findings of a check: one for each rule and pair of places, with a count.
pub(crate) struct Ledger {
    limit: usize,
    known: HashMap<(Rule, u32, u32), Option<usize>>,
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
                let room = self.findings.len() < self.limit;
                let at = room.then_some(self.findings.len());
                self.known.insert(key, at);
                if room {
                    let seed = self.seed;
                    self.findings.push(Finding { seed, ..tell() });
                } else {
                    self.dropped += 1;
                }
            }
        }
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
