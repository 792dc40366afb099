//! What a terminal shows while a command works. Standard error that is no terminal gets nothing, nor does anybody with `--quiet`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::report;

/// A bar for this many elements.
pub(super) fn bar(what: &str, elements: usize) -> ProgressBar {
    begin(
        ProgressBar::new(elements as u64),
        what,
        "{msg} {bar:40} {percent} % {eta}",
    )
}

/// The time since a work began of which nobody knows how long it takes.
pub(super) fn clock(what: &str) -> ProgressBar {
    begin(ProgressBar::new_spinner(), what, "{msg} {elapsed}")
}

fn begin(bar: ProgressBar, what: &str, template: &str) -> ProgressBar {
    if report::is_quiet() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = bar.with_style(style).with_message(what.to_owned());
    // What ends at once shows nothing.
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
