//! Searches the launchers' policies on the device at hand.
//!
//! A family has a table of [searches](Search), as it has one of works, so every candidate is timed
//! and checked as any rung of a benchmark is. Of many candidates that are alike the luckiest seems
//! fast: the fastest and the launcher's choice are timed again, by turns, and only what is faster
//! every time counts.

use blockwise::{Device, DeviceProperties};
use blockwise_ops::tuning::Rule;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::measure::Effort;
use super::row::seconds;
use super::search::Search;
use super::{BenchError, Inputs, Options, Run, Size, Timing, measure, operation};
use crate::table::lines_up;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The work: `sum/f32/2^29`.
    pub work: String,
    /// Where the launcher's choice is written.
    pub place: String,
    /// The launcher's choice first, then the others in the order of the search.
    pub candidates: Vec<Candidate>,
    /// The launcher's choice and the fastest one, timed again by turns; nothing where they are the
    /// same.
    pub again: Vec<[Timing; 2]>,
    /// Why nothing was searched, if so.
    pub skipped: Option<String>,
}

/// One policy of a work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The kernel's name in its family.
    pub kernel: String,
    /// Threads, blocks, tiles and the like.
    pub policy: String,
    /// Seconds of a launch; `None` when there was none.
    pub timing: Option<Timing>,
    /// What was compared with the oracle, or why nothing was timed.
    pub check: String,
    /// Whether the result was right.
    pub passed: bool,
}

/// All that was searched in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Where, when and with what inputs.
    pub run: Run,
    /// One for each work.
    pub findings: Vec<Finding>,
}

/// A gain below this share is never worth another policy.
const LEAST_GAIN: f64 = 0.01;
/// How many times the two are timed again.
const TURNS: usize = 3;

/// Searches the works whose name contains one of the filter's texts; all when there are none. After
/// each work `done` gets what there is so far.
///
/// # Errors
/// When filter and sizes leave nothing, or the device fails.
pub fn tune(
    device: &Device,
    options: &Options,
    mut done: impl FnMut(&Tuning),
) -> Result<Tuning, BenchError> {
    let searches = searches(options, device.properties());
    if searches.is_empty() {
        return Err(BenchError::NothingChosen {
            filter: options.filter.clone(),
        });
    }
    let steps: usize = searches.iter().map(|it| it.work.rungs.len() + 1).sum();
    let bar = ProgressBar::new(steps as u64).with_style(super::style());
    let mut inputs = Inputs::new(options.seed);
    let mut tuning = Tuning {
        run: Run::of(device, options.seed),
        findings: Vec::new(),
    };
    for search in &searches {
        tuning.findings.push(search.run(device, &mut inputs, &bar));
        bar.suspend(|| done(&tuning));
    }
    bar.finish_and_clear();
    Ok(tuning)
}

fn searches(options: &Options, properties: &DeviceProperties) -> Vec<Search> {
    let tables = [operation::searches];
    let all = tables
        .iter()
        .flat_map(|table| table(&options.sizes, properties));
    let chosen = |search: &Search| {
        let name = search.work.name();
        options.filter.is_empty()
            || options
                .filter
                .iter()
                .any(|text| name.contains(text.as_str()))
    };
    all.filter(chosen).collect()
}

impl Search {
    fn run(&self, device: &Device, inputs: &mut Inputs, bar: &ProgressBar) -> Finding {
        let Search { work, place } = self;
        bar.set_message(work.name());
        let mut finding = Finding {
            work: work.name(),
            place: (*place).to_owned(),
            candidates: Vec::new(),
            again: Vec::new(),
            skipped: None,
        };
        let copies = measure::copies(device, work.bytes);
        let mut loaded = match work.problem.load(device, copies, inputs) {
            Ok(loaded) => loaded,
            Err(error) => {
                bar.inc(work.rungs.len() as u64 + 1);
                finding.skipped = Some(error.to_string());
                return finding;
            }
        };
        for rung in &work.rungs {
            bar.set_message(format!("{}: {}", work.name(), rung.policy));
            let (timing, check, passed) =
                match measure::one(device, &mut *loaded, rung.index, copies, Effort::WHOLE) {
                    Ok((timing, check)) => (Some(timing), check.verdict(), check.wrong == 0),
                    Err(error) => (None, error.to_string(), false),
                };
            finding.candidates.push(Candidate {
                kernel: rung.name.clone(),
                policy: rung.policy.clone(),
                timing,
                check,
                passed,
            });
            bar.inc(1);
        }
        let rung = |index: usize| work.rungs.get(index).map(|rung| rung.index);
        if let (Some(now), Some(best)) = (rung(0), finding.fastest().and_then(rung))
            && now != best
        {
            let mut time = |rung| measure::one(device, &mut *loaded, rung, copies, Effort::WHOLE);
            for _ in 0..TURNS {
                if let (Ok((now, _)), Ok((best, _))) = (time(now), time(best)) {
                    finding.again.push([now, best]);
                }
            }
        }
        bar.inc(1);
        finding
    }
}

impl Finding {
    /// The launcher's choice.
    pub fn now(&self) -> Option<&Candidate> {
        self.candidates.first()
    }

    /// The fastest candidate whose result was right.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.get(self.fastest()?)
    }

    fn fastest(&self) -> Option<usize> {
        let right = self.candidates.iter().enumerate().filter(|it| it.1.passed);
        let fastest = right.min_by(|a, b| a.1.seconds().total_cmp(&b.1.seconds()));
        fastest.map(|(index, _)| index)
    }

    /// What the fastest saves for certain, as a share of the launcher's choice: at its slowest
    /// beside the choice at its fastest. `None` when they are the same.
    pub fn gain(&self) -> Option<f64> {
        let first = [self.now()?.timing?, self.best()?.timing?];
        let turns = self.again.iter().chain([&first]);
        let medians = turns.map(|[now, best]| (now.median, best.median));
        let (now, best) =
            medians.reduce(|(now, best), next| (now.min(next.0), best.max(next.1)))?;
        (!self.again.is_empty()).then_some(1.0 - best / now)
    }

    /// The policy that should take the launcher's place.
    pub fn change(&self) -> Option<&Candidate> {
        (self.gain()? > LEAST_GAIN).then(|| self.best())?
    }

    /// The change as a rule, if it is another kernel with its own policy.
    fn rule(&self) -> Option<Rule> {
        let change = self.change().filter(|change| change.policy.is_empty())?;
        let mut parts = self.work.split('/');
        let (operation, ty, size) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Rule {
            operation: operation.to_owned(),
            ty: ty.to_owned(),
            extents: size.parse::<Size>().map_or_else(|_| Vec::new(), |it| it.0),
            kernel: change.kernel.clone(),
        })
    }

    /// Whether the launcher's choice gives the right result; a candidate that does not is just not
    /// taken.
    fn passed(&self) -> bool {
        self.now().is_some_and(|now| now.passed)
    }
}

impl Candidate {
    fn seconds(&self) -> f64 {
        self.timing.map_or(f64::INFINITY, |timing| timing.median)
    }

    fn name(&self) -> String {
        match &*self.policy {
            "" => self.kernel.clone(),
            policy => format!("{}, {policy}", self.kernel),
        }
    }
}

impl Tuning {
    /// The kernels that launchers should take, by what they compute and at which size.
    pub fn rules(&self) -> Vec<Rule> {
        self.findings.iter().filter_map(Finding::rule).collect()
    }

    /// Whether the launcher's choice was right for each work.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(Finding::passed)
    }

    /// The line of the last work.
    pub fn latest(&self) -> String {
        let lines: Vec<_> = self
            .findings
            .last()
            .map(Finding::cells)
            .into_iter()
            .collect();
        lines_up(&lines, 1..4)
    }

    /// A line for each work, and what should change.
    pub fn table(&self) -> String {
        let heading = [
            "work",
            "median",
            "fastest",
            "sure gain",
            "the launcher's choice",
            "the fastest",
            "candidates",
        ];
        let mut lines = vec![heading.map(str::to_owned)];
        lines.extend(self.findings.iter().map(Finding::cells));
        let mut text = self.run.heading() + "\n" + &lines_up(&lines, 1..4);
        let changes: Vec<_> = self.findings.iter().filter_map(Finding::advice).collect();
        text.push_str("\n\n");
        match &changes[..] {
            [] => text.push_str("nothing to change"),
            changes => text.push_str(&changes.join("\n")),
        }
        text
    }
}

impl Finding {
    fn cells(&self) -> [String; 7] {
        let none = || "-".to_owned();
        let time = |timing: Option<Timing>| timing.map_or_else(none, |it| seconds(it.median));
        let name = |candidate: Option<&Candidate>| candidate.map_or_else(none, Candidate::name);
        let right = self
            .candidates
            .iter()
            .filter(|candidate| candidate.passed)
            .count();
        [
            self.work.clone(),
            time(self.now().and_then(|now| now.timing)),
            time(self.best().and_then(|best| best.timing)),
            self.gain()
                .map_or_else(none, |gain| format!("{:.1} %", 100.0 * gain)),
            self.skipped.clone().unwrap_or_else(|| name(self.now())),
            name(self.best()),
            format!("{right} of {} right", self.candidates.len()),
        ]
    }

    fn advice(&self) -> Option<String> {
        let (now, change) = (self.now()?, self.change()?);
        Some(format!(
            "{}: change {} from `{}` to `{}`",
            self.work,
            self.place,
            now.name(),
            change.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(policy: &str, median: f64, passed: bool) -> Candidate {
        Candidate {
            kernel: "single".to_owned(),
            policy: policy.to_owned(),
            timing: Some(Timing::of(vec![median])),
            check: String::new(),
            passed,
        }
    }

    /// The first candidate took so long when it was timed again; the fastest as long as before.
    fn finding(again: &[f64], candidates: Vec<Candidate>) -> Finding {
        let timing = |median| Timing::of(vec![median]);
        let right = candidates.iter().filter(|it| it.passed);
        let best = right.map(Candidate::seconds).fold(f64::INFINITY, f64::min);
        Finding {
            work: "sum/f32/2^20".to_owned(),
            place: "a table".to_owned(),
            candidates,
            again: again
                .iter()
                .map(|&now| [timing(now), timing(best)])
                .collect(),
            skipped: None,
        }
    }

    #[test]
    fn a_gain_counts_when_it_is_there_every_time() {
        let all = vec![candidate("now", 1.0, true), candidate("better", 0.9, true)];
        let changed = |again: &[f64]| {
            let found = finding(again, all.clone());
            found.change().map(|it| it.policy.clone())
        };
        assert_eq!(changed(&[1.1, 1.0]), Some("better".to_owned()));
        assert_eq!(
            changed(&[1.0, 0.89]),
            None,
            "once the launcher's was faster"
        );
        assert_eq!(changed(&[0.905]), None, "less than is worth it");
        assert_eq!(changed(&[]), None, "not timed again");
    }

    #[test]
    fn a_fast_one_that_is_wrong_is_not_taken() {
        let all = vec![candidate("now", 1.0, true), candidate("wrong", 0.1, false)];
        let found = finding(&[1.0], all);
        assert_eq!(found.best().map(|it| it.policy.as_str()), Some("now"));
        assert_eq!(found.change(), None);
        assert!(found.passed());
    }

    #[test]
    fn another_kernel_becomes_a_rule_and_another_policy_does_not() {
        let rules = |policy: &str| {
            let all = vec![candidate("now", 1.0, true), candidate(policy, 0.9, true)];
            let (run, findings) = (Run::default(), vec![finding(&[1.0], all)]);
            let rules = Tuning { run, findings }.rules();
            rules.iter().map(Rule::to_string).collect::<Vec<_>>()
        };
        assert_eq!(rules(""), ["sum f32 1048576 single"]);
        assert_eq!(rules("1024 threads").len(), 0);
    }

    #[test]
    fn the_report_says_what_to_change_and_where() {
        let all = vec![candidate("now", 1.0, true), candidate("better", 0.9, true)];
        let run = Run {
            device: "a GPU".to_owned(),
            ..Run::default()
        };
        let findings = vec![finding(&[1.0], all)];
        let text = Tuning { run, findings }.table();
        assert!(text.contains("10.0 %"), "{text}");
        let advice = "sum/f32/2^20: change a table from `single, now` to `single, better`";
        assert!(text.ends_with(advice), "{text}");
    }
}
