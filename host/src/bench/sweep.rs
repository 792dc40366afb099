//! Compares the launcher's default with every kernel, at many random sizes.
//!
//! Each kernel is timed by a few launches, and by a single one if it takes several times as long as
//! the fastest so far. If the default seems slower than the fastest, both are timed again
//! alternately, and the smallest difference counts: among many similar kernels the luckiest seems
//! fast.

use std::time::{Duration, Instant};

use blockwise::Device;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::draw::{Count, Limits};
use super::row::seconds;
use super::work::DEFAULT;
use super::{BenchError, Inputs, Options, Run, Work, measure};
use crate::table::lines_up;

/// How much slower than the fastest kernel the default may be.
const MARGIN: f64 = 0.05;
/// How many times the two are timed again.
const TURNS: usize = 5;
/// The number of works that the report lists, the worst first.
const LISTED: usize = 10;
/// A kernel this many times as slow as the fastest so far is timed by a single launch.
const HOPELESS: f64 = 4.0;
/// Bytes and operations of a work up to which every result is checked. `bench` checks larger ones.
const CHECKED: u64 = 1 << 22;

/// The launcher's default at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The work: `sum/f32/2^29`.
    pub work: String,
    /// Seconds of the launcher's choice.
    pub default: f64,
    /// The fastest rung.
    pub best: String,
    /// Its seconds.
    pub fastest: f64,
    /// Every kernel that was timed.
    pub rungs: Vec<Timed>,
    /// Kernels with a wrong result.
    pub wrong: Vec<String>,
}

/// A rung's times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The kernel's name in its family.
    pub name: String,
    /// Seconds of a launch.
    pub seconds: f64,
    /// Seconds of the host to create what launches share, such as a table of twiddle factors.
    pub prepared: f64,
}

impl Choice {
    /// How much longer the default takes than the fastest kernel, as a fraction.
    pub fn excess(&self) -> f64 {
        self.default / self.fastest - 1.0
    }
}

/// All choices of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Where, when and with what sizes and inputs.
    pub run: Run,
    /// One for each work.
    pub choices: Vec<Choice>,
    /// The operations that ran out of time before all sizes were done.
    pub cut: Vec<String>,
}

/// How much to sweep.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Sizes of each operation.
    pub count: usize,
    /// The longest time for each operation.
    pub most: Option<Duration>,
}

/// Sweeps over random sizes of each operation that passes the filter. After each operation `done`
/// receives the results so far.
///
/// # Errors
/// When nothing passes the filter.
pub fn sweep(
    device: &Device,
    options: &Options,
    extent: Extent,
    mut done: impl FnMut(&Sweep),
) -> Result<Sweep, BenchError> {
    let count = Count::OfEach(extent.count);
    let limits = Limits::EVERY_KERNEL.on(device.properties().kind);
    let mut works = super::drawn(options.seed, count, &options.filter, limits, true);
    works.retain(|work| work.rungs.len() > 1);
    if works.is_empty() {
        return Err(BenchError::NothingChosen {
            filter: options.filter.clone(),
        });
    }
    works.sort_by_key(operation);
    let bar = ProgressBar::new(works.len() as u64).with_style(super::style());
    let mut inputs = Inputs::new(options.seed);
    let mut sweep = Sweep {
        run: Run::of(device, options.seed),
        choices: Vec::new(),
        cut: Vec::new(),
    };
    for works in works.chunk_by(|one, next| operation(one) == operation(next)) {
        let begin = Instant::now();
        for (place, work) in works.iter().enumerate() {
            if extent.most.is_some_and(|most| begin.elapsed() >= most) {
                let [operation, ty] = operation(work);
                let all = works.len();
                let line = format!("{operation}/{ty}: time for {place} of {all} sizes");
                sweep.cut.push(line);
                bar.inc((all - place) as u64);
                break;
            }
            bar.set_message(work.name());
            // Works that do not fit the memory are skipped.
            if let Ok(Some(choice)) = choice(device, work, &mut inputs) {
                sweep.choices.push(choice);
            }
            bar.inc(1);
        }
        bar.suspend(|| done(&sweep));
    }
    bar.finish_and_clear();
    Ok(sweep)
}

fn operation(work: &Work) -> [&'static str; 2] {
    [work.operation, work.ty]
}

fn choice(device: &Device, work: &Work, inputs: &mut Inputs) -> Result<Option<Choice>, BenchError> {
    let copies = measure::few_copies(device, work.bytes);
    let mut loaded = work.problem.load(device, copies, inputs)?;
    let mut delay = measure::Delay::short(device)?;
    let checked = work.bytes + work.operations <= CHECKED;
    let mut time = |rung: usize, enough: f64| -> Result<_, BenchError> {
        let begin = Instant::now();
        loaded.select(rung)?;
        let prepared = begin.elapsed().as_secs_f64();
        if checked {
            loaded.clear()?;
        }
        let launch = |copy| loaded.enqueue(copy);
        let seconds = measure::few(device, &mut delay, copies, enough, launch)?;
        let wrong = checked && loaded.verify(0)?.wrong > 0;
        Ok((seconds, prepared, wrong))
    };
    let (mut rungs, mut wrong) = (Vec::<Timed>::new(), Vec::new());
    let (mut default, mut best) = (None, None::<(usize, f64)>);
    for rung in &work.rungs {
        let enough = best.map_or(f64::INFINITY, |(_, fastest)| HOPELESS * fastest);
        // A kernel that does not exist for this device or size is not wrong.
        let Ok((seconds, prepared, is_wrong)) = time(rung.index, enough) else {
            continue;
        };
        if is_wrong {
            wrong.push(rung.name.clone());
            continue;
        }
        if rung.name == DEFAULT {
            default = Some((rung.index, seconds));
        }
        if best.is_none_or(|(_, fastest)| seconds < fastest) {
            best = Some((rung.index, seconds));
        }
        let name = rung.name.clone();
        rungs.push(Timed {
            name,
            seconds,
            prepared,
        });
    }
    let (Some((now, mut default)), Some((mut index, mut fastest))) = (default, best) else {
        return Ok(None);
    };
    for _ in 0..TURNS {
        if default <= fastest * (1.0 + MARGIN) {
            break;
        }
        let turn = [now, index].map(|rung| time(rung, f64::INFINITY));
        let [of_default, of_best] = turn;
        let (of_default, of_best) = (of_default?.0, of_best?.0);
        if of_default / of_best < default / fastest {
            (default, fastest) = (of_default, of_best);
        }
    }
    // In the alternating runs, the default may have been the faster one.
    if default < fastest {
        (index, fastest) = (now, default);
    }
    let best = work.rungs.iter().find(|rung| rung.index == index);
    Ok(Some(Choice {
        work: work.name(),
        default,
        best: best.map_or_else(String::new, |rung| rung.name.clone()),
        fastest,
        rungs,
        wrong,
    }))
}

impl Sweep {
    /// Whether every result was correct.
    pub fn passed(&self) -> bool {
        self.choices.iter().all(|choice| choice.wrong.is_empty())
    }

    /// A line for each operation, and the works where the choice is worst.
    pub fn table(&self) -> String {
        let operation = |choice: &Choice| {
            let parts: Vec<_> = choice.work.split('/').take(2).collect();
            parts.join("/")
        };
        let mut operations: Vec<String> = self.choices.iter().map(operation).collect();
        operations.dedup();
        operations.sort();
        operations.dedup();
        let heading = ["operation", "sizes", "within 5 %", "median excess", "worst"];
        let mut lines = vec![heading.map(str::to_owned)];
        for name in operations {
            let of = self.choices.iter().filter(|it| operation(it) == name);
            let mut excess: Vec<f64> = of.map(Choice::excess).collect();
            excess.sort_by(f64::total_cmp);
            let within = excess.iter().filter(|&&it| it <= MARGIN).count();
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            lines.push([
                name,
                excess.len().to_string(),
                percent(within as f64 / excess.len() as f64),
                percent(excess[excess.len() / 2]),
                percent(excess[excess.len() - 1]),
            ]);
        }
        let mut worst: Vec<&Choice> = self.choices.iter().collect();
        worst.sort_by(|a, b| b.excess().total_cmp(&a.excess()));
        let heading = ["the worst", "default", "fastest", "by"];
        let mut listed = vec![heading.map(str::to_owned)];
        listed.extend(worst.iter().take(LISTED).map(|choice| {
            [
                choice.work.clone(),
                seconds(choice.default),
                seconds(choice.fastest),
                choice.best.clone(),
            ]
        }));
        let wrong = self.choices.iter().filter(|it| !it.wrong.is_empty());
        let wrong: Vec<_> = wrong
            .map(|it| format!("\nWRONG: {} by {}", it.work, it.wrong.join(", ")))
            .collect();
        let cut: Vec<_> = self.cut.iter().map(|line| format!("\n{line}")).collect();
        format!(
            "{}\n{}\n\n{}{}{}",
            self.run.heading(),
            lines_up(&lines, 1..5),
            lines_up(&listed, 1..3),
            cut.concat(),
            wrong.concat()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockwise_ops::reduce::{DOT, MIN, SUM};

    use crate::bench::{Size, Sizes, operation};

    const ONE: Extent = Extent {
        count: 1,
        most: None,
    };

    fn chosen(work: &str, default: f64, wrong: &[&str]) -> Choice {
        Choice {
            work: work.to_owned(),
            default,
            best: "tiled".to_owned(),
            fastest: 1.0,
            rungs: Vec::new(),
            wrong: wrong.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn the_report_counts_choices_by_operation_and_lists_the_worst_first() {
        let choices = vec![
            chosen("sum/f32/5", 1.04, &[]),
            chosen("sum/f32/6", 1.5, &[]),
            chosen("dot/f32/7", 2.0, &[]),
        ];
        let run = Run::default();
        let cut = vec!["sum/f32: time for 2 of 9 sizes".to_owned()];
        let text = Sweep { run, choices, cut }.table();
        assert!(text.contains("2 of 9"), "{text}");
        let line = |name: &str| text.lines().position(|line| line.starts_with(name));
        let sums = text.lines().nth(line("sum/f32 ").expect("its line"));
        let cells: Vec<_> = sums.unwrap_or_default().split_whitespace().collect();
        assert_eq!(
            cells,
            ["sum/f32", "2", "50.0", "%", "50.0", "%", "50.0", "%"]
        );
        assert!(line("dot/f32/7") < line("sum/f32/6"), "{text}");
    }

    #[test]
    fn a_wrong_result_fails_the_sweep_and_is_named() {
        let choices = vec![chosen("sum/f32/5", 1.0, &["tree"])];
        let run = Run::default();
        let cut = Vec::new();
        let sweep = Sweep { run, choices, cut };
        assert!(!sweep.passed());
        assert!(sweep.table().contains("WRONG: sum/f32/5 by tree"));
    }

    #[test]
    fn a_choice_is_made_from_every_rung_and_each_result_is_checked() {
        let sizes = Sizes::Given(vec![Size(vec![1000])]);
        let device = Device::emulator();
        let mut inputs = Inputs::new(11);
        let works = [&SUM, &MIN, &DOT].map(|of| operation::works_of(of, &sizes));
        for work in works.into_iter().flatten() {
            let made = choice(&device, &work, &mut inputs).expect("a device");
            let made = made.expect("rungs that work");
            assert_eq!(made.work, work.name());
            assert!(made.wrong.is_empty() && made.fastest <= made.default);
            assert_eq!(made.rungs.len(), work.rungs.len());
        }
    }

    #[test]
    fn a_filter_that_leaves_nothing_is_refused() {
        let options = Options {
            filter: vec!["nothing".to_owned()],
            ..Options::default()
        };
        assert!(sweep(&Device::emulator(), &options, ONE, |_| ()).is_err());
    }

    #[test]
    fn an_operation_whose_time_is_over_says_how_many_sizes_it_had() {
        let options = Options {
            filter: vec!["sum/f32".to_owned()],
            ..Options::default()
        };
        let none = Extent {
            most: Some(Duration::ZERO),
            ..ONE
        };
        let mut calls = 0;
        let swept = sweep(&Device::emulator(), &options, none, |_| calls += 1);
        let swept = swept.expect("a device");
        assert_eq!(swept.cut, ["sum/f32: time for 0 of 1 sizes"]);
        assert_eq!((swept.choices.len(), calls), (0, 1));
    }
}
