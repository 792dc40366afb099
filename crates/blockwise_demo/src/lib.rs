//! The tutorials' experiments, with each figure checked against a reference or a closed form.
//!
//! One file per demo. A demo computes the rows of a table; one row beyond its tolerance makes the
//! whole demo fail.

mod conv;
mod reduce;
mod row;
mod shared;
mod speed;
mod tiling;
mod timed;

use std::time::{Duration, Instant};

use blockwise::Device;
use blockwise_ops::LaunchError;
use blockwise_ops::compare::ShapeMismatch;
use blockwise_ops::named_enum;
use kernels::reverse::fixed::reverse_static;

pub use row::{Row, table};
pub use speed::{Speed, Unit};

named_enum! {
    /// Which experiments to run.
    pub enum Demo("demo") {
        /// The MATLAB and the Numba document: one-dimensional convolution.
        Conv = "conv",
        /// The Julia document: dot product and other reductions.
        Reduce = "reduce",
        /// The CUDA C++ document: tiled matrix product; and the transpose.
        Tiling = "tiling",
        /// "Using Shared Memory": array reverse.
        Shared = "shared",
        /// All of them.
        All = "all",
    }
}

/// Why a demo could not be carried out. A wrong result is not an error but a row that did not pass.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A launch was refused or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] blockwise::Error),
    /// A result's shape differs from its reference's: a bug in this program.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
}

impl Demo {
    /// The number of rows that it computes.
    pub fn checks(self) -> usize {
        match self {
            Demo::Conv => 20,
            Demo::Reduce => 26,
            Demo::Tiling => 20,
            Demo::Shared => 10,
            Demo::All => {
                let each = [Demo::Conv, Demo::Reduce, Demo::Tiling, Demo::Shared];
                each.map(Demo::checks).iter().sum()
            }
        }
    }
}

impl DemoError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            DemoError::Launch(error) => error.hint(),
            DemoError::Device(error) => error.hint(),
            DemoError::Shape(_) => None,
        }
    }
}

/// Outputs are filled with this before a launch, so that an element that no thread writes is
/// noticed.
const UNWRITTEN: u8 = 0xFF;

/// The results of the demos.
pub struct Outcome<'a> {
    /// One row for each kernel and size.
    pub rows: Vec<Row>,
    /// Remarks for the reader, such as timings over many runs.
    pub remarks: Vec<String>,
    /// What the filter of the MATLAB document did, if that was asked for.
    pub two_tones: Option<TwoTones>,
    /// Called with each row as it is computed.
    watcher: &'a mut dyn FnMut(&Row),
    /// When the current check began.
    began: Instant,
}

/// A signal of two tones, and the same after the filter.
pub struct TwoTones {
    /// In Hz.
    pub sample_rate: f64,
    /// The signal.
    pub before: Vec<f64>,
    /// The filter's output.
    pub after: Vec<f64>,
}

impl Outcome<'_> {
    /// Whether each row passed.
    pub fn passed(&self) -> bool {
        self.rows.iter().all(|row| row.pass)
    }

    /// The table and the remarks, with the verdict in the last line.
    pub fn text(&self) -> String {
        let failed = self.rows.iter().filter(|row| !row.pass).count();
        let verdict = match failed {
            0 => format!("all {} checks passed", self.rows.len()),
            _ => format!("{failed} of {} checks FAILED", self.rows.len()),
        };
        let mut text = vec![table(&self.rows)];
        text.extend(self.remarks.iter().cloned());
        text.push(verdict);
        text.join("\n")
    }

    fn push(&mut self, mut row: Row) {
        row.check_seconds = self.began.elapsed().as_secs_f64();
        (self.watcher)(&row);
        self.rows.push(row);
        self.began = Instant::now();
    }
}

/// About how long the rest of some checks takes, by those that are done: `about 12 s left`.
pub fn left(elapsed: Duration, done: usize, total: usize) -> String {
    let each = elapsed.as_secs_f64() / done.max(1) as f64;
    let seconds = (each * total.saturating_sub(done) as f64).ceil();
    match seconds {
        ..120.0 => format!("about {seconds:.0} s left"),
        _ => format!("about {:.0} min left", (seconds / 60.0).ceil()),
    }
}

/// Runs the experiments on a device, and calls `watcher` with each row as it is computed.
///
/// # Errors
/// [`DemoError`].
pub fn run<'a>(
    device: &Device,
    demo: Demo,
    watcher: &'a mut dyn FnMut(&Row),
) -> Result<Outcome<'a>, DemoError> {
    // Loads the kernels, all of which are in one module. Otherwise the first row's time would
    // include it.
    let _ = reverse_static::<u32>::on(device)?;
    let mut outcome = Outcome {
        rows: Vec::new(),
        remarks: Vec::new(),
        two_tones: None,
        watcher,
        began: Instant::now(),
    };
    let wanted = |one: Demo| demo == one || demo == Demo::All;
    if wanted(Demo::Conv) {
        conv::run(device, &mut outcome)?;
    }
    if wanted(Demo::Reduce) {
        reduce::run(device, &mut outcome)?;
    }
    if wanted(Demo::Tiling) {
        tiling::run(device, &mut outcome)?;
    }
    if wanted(Demo::Shared) {
        shared::run(device, &mut outcome)?;
    }
    debug_assert_eq!(outcome.rows.len(), demo.checks(), "{demo:?}");
    if outcome.rows.iter().any(|row| row.speed.is_some()) {
        outcome.remarks.push(timed::remark());
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let after = |seconds, done| left(Duration::from_secs(seconds), done, 76);
        assert_eq!(after(10, 19), "about 30 s left");
        assert_eq!(after(100, 19), "about 5 min left");
        assert_eq!(after(10, 76), "about 0 s left");
        assert_eq!(after(0, 0), "about 0 s left");
    }
}
