//! The progress that a command shows while it works: bars on a terminal. Elsewhere standard error
//! gets a line about a task or a block that runs long, and now and then one about checks. `--quiet`
//! shows no progress.

use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::thread;
use std::time::{Duration, Instant};

use blockwise_mesh::Rank;
use indicatif::{ProgressBar, ProgressStyle};
use ptx_emulator::{Progress, Running};

use super::report;

/// How long a block is known to run before its loop is reported, and the time between updates.
const PATIENCE: Duration = Duration::from_secs(1);

/// Without a terminal: how long a task runs before one line names it.
const SILENCE: Duration = Duration::from_secs(5);

/// A bar for this many elements.
pub(super) fn bar(what: &str, elements: usize) -> ProgressBar {
    begin(
        ProgressBar::new(elements as u64),
        what,
        "{msg} {bar:40} {percent} % {eta}",
    )
}

/// A bar for rank 0's part, which stands for the parts of all ranks. Other ranks' bars are hidden.
pub(super) fn of_rank(rank: &Rank, what: &str, elements: usize) -> ProgressBar {
    match rank.number() {
        0 => bar(what, elements),
        _ => ProgressBar::hidden(),
    }
}

/// The time since a task of unknown length began.
pub(super) fn clock(what: &str) -> ProgressBar {
    let clock = begin(ProgressBar::new_spinner(), what, "{elapsed} {wide_msg}");
    say_later(&clock);
    clock
}

/// A bar that counts the thread orders in which a launch runs. With one order, a [`clock`].
pub(super) fn orders(what: &str, orders: u64) -> ProgressBar {
    match orders {
        1 => clock(what),
        _ => {
            let template = "order {pos} of {len} {bar:20} {eta} {wide_msg}";
            let bar = begin(ProgressBar::new(orders), what, template);
            say_later(&bar);
            bar
        }
    }
}

fn begin(bar: ProgressBar, what: &str, template: &str) -> ProgressBar {
    if report::is_quiet() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = bar.with_style(style).with_message(what.to_owned());
    // A thread draws the bar, at once and every 200 ms, so that times advance between steps.
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Without a terminal: the shortest time between two lines about checks.
const COUNTED: Duration = Duration::from_secs(5);

/// Counts checks: on a terminal in a bar, elsewhere with a line now and then.
pub(super) struct Checks {
    bar: ProgressBar,
    total: usize,
    done: usize,
    began: Instant,
    shown: Instant,
}

impl Checks {
    pub(super) fn new(total: usize) -> Self {
        Self {
            bar: begin(
                ProgressBar::new(total as u64),
                "",
                "check {pos} of {len} {bar:20} {eta} {wide_msg}",
            ),
            total,
            done: 0,
            began: Instant::now(),
            shown: Instant::now(),
        }
    }

    /// Counts a check that has ended.
    pub(super) fn take(&mut self, what: &str) {
        self.done += 1;
        self.bar.inc(1);
        self.bar.set_message(what.to_owned());
        if !stderr().is_terminal() && self.shown.elapsed() >= COUNTED {
            self.shown = Instant::now();
            let (done, total) = (self.done, self.total);
            let left = blockwise_demo::left(self.began.elapsed(), done, total);
            report::notice(&format!("{done} of {total} checks, {left}: {what}"));
        }
    }

    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Without a terminal: writes one line if the task still runs after [`SILENCE`].
fn say_later(bar: &ProgressBar) {
    if stderr().is_terminal() {
        return;
    }
    let weak = bar.downgrade();
    let word = move || {
        thread::sleep(SILENCE);
        if let Some(text) = weak.upgrade().and_then(|bar| still(&bar)) {
            report::notice(&text);
        }
    };
    // If no thread can be started, the line is omitted.
    let _ = thread::Builder::new().spawn(word);
}

/// The line about a task. `None` if it has ended, or if its message is empty: then a [`Listener`]
/// has already reported a loop in it.
fn still(bar: &ProgressBar) -> Option<String> {
    let what = bar.message();
    if bar.is_finished() || what.is_empty() {
        return None;
    }
    Some(match bar.length() {
        Some(orders @ 1..) => {
            format!("still {what}: order {} of {orders}", bar.position() + 1)
        }
        _ => format!("still {what}"),
    })
}

/// Follows the emulator's launches, and reports the loop that a long-running block is in. A bar on
/// a terminal is kept up to date; without a terminal or a bar, one line says it once.
pub(super) struct Listener {
    what: String,
    bar: Option<ProgressBar>,
    /// Blocks that run long, and when they were first seen.
    blocks: HashMap<[u32; 3], Instant>,
    shown: Option<Instant>,
}

impl Listener {
    /// Follows a task that has a bar.
    pub(super) fn of(what: &str, bar: &ProgressBar) -> Self {
        Self {
            what: what.to_owned(),
            bar: Some(bar.clone()),
            blocks: HashMap::new(),
            shown: None,
        }
    }

    /// Follows launches that have no bar.
    pub(super) fn alone() -> Self {
        Self {
            what: String::new(),
            bar: None,
            blocks: HashMap::new(),
            shown: None,
        }
    }

    /// Takes the emulator's news.
    pub(super) fn hear(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Order(order) => {
                self.blocks.clear();
                if let Some(bar) = &self.bar {
                    bar.set_message(self.what.clone());
                    bar.set_position(order.into());
                }
            }
            Progress::Running(block) => self.running(&block),
            _ => {}
        }
    }

    fn running(&mut self, block: &Running<'_>) {
        let began = *self
            .blocks
            .entry(block.block())
            .or_insert_with(Instant::now);
        let terminal = stderr().is_terminal();
        let due = match self.shown {
            None => true,
            Some(shown) => terminal && self.bar.is_some() && shown.elapsed() >= PATIENCE,
        };
        if report::is_quiet() || !due || began.elapsed() < PATIENCE {
            return;
        }
        let Some((thread, inside)) = block.going_round() else {
            return;
        };
        self.shown = Some(Instant::now());
        let place = format!(
            "block {}, thread {} is in the loop {inside}",
            triple(block.block()),
            triple(thread)
        );
        match &self.bar {
            Some(bar) if terminal => bar.set_message(format!("{}: {place}", self.what)),
            bar => {
                report::notice(&format!("still running: {place}"));
                if let Some(bar) = bar {
                    bar.set_message("");
                }
            }
        }
    }
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_that_goes_on_is_named_and_one_that_has_ended_is_not() {
        let bar = ProgressBar::hidden().with_message("profiling sum");
        bar.unset_length();
        assert_eq!(still(&bar).as_deref(), Some("still profiling sum"));
        bar.set_length(8);
        bar.set_position(2);
        let expected = "still profiling sum: order 3 of 8";
        assert_eq!(still(&bar).as_deref(), Some(expected));
        bar.set_message("");
        assert_eq!(still(&bar), None);
        bar.set_message("profiling sum");
        bar.finish_and_clear();
        assert_eq!(still(&bar), None);
    }
}
