//! Times the kernels by the device's own clock and checks every timed result.
//!
//! # How
//! - A [`Work`] is an operation at a size, such as the sum of 2²⁹ `f32`; its [`Rung`]s are the
//!   kernels and policies that can do it. A family's file holds the table of its works. A new value
//!   of a launcher's kernel enum is a new rung by itself.
//! - The inputs are random, new in every run (`--seed` repeats one), and lie several times in the
//!   device's memory: successive launches take successive copies, together several times the size
//!   of the L2 cache, so that each launch finds it cold.
//! - Outputs are filled with 0xFF bytes before the timed launches; afterwards the output of every
//!   copy is compared with its oracle. Where the oracle computes only a sample, the row says so.
//! - What is timed is the public call, `enqueue` of [`blockwise_ops`], as every program makes it:
//!   after a warm-up at least 10 calls, each between two events of its own. A short kernel runs
//!   before each, so that launch and events are in the queue before the device gets to them: the
//!   host's part is not in the time.
//! - Beside the fixed sizes, every run draws some at random; `--sweep` compares the launchers'
//!   choices at many of them.
//! - Whole commands on files are timed as processes, by the host's clock ([`files()`]), and a
//!   user's step of small calls by one thread and by 16 (`steps.rs`).
//! - [`Ceilings`] are measured in the same run: a copy within the device, and a kernel of nothing
//!   but fused multiply-adds.

mod ceilings;
mod cross;
mod draw;
mod files;
mod folded;
mod inputs;
mod measure;
mod mesh;
mod operation;
mod peers;
mod picture;
mod row;
mod sample;
mod search;
mod size;
mod steps;
mod sweep;
mod tune;
mod work;

use blockwise::Device;
use blockwise_ops::LaunchError;
use indicatif::{ProgressBar, ProgressStyle};

pub use blockwise_ops::operation::Numbers as Kind;
pub use ceilings::Ceilings;
pub use files::{Commands, files};
pub(crate) use inputs::numbers;
pub use inputs::{AnyWindow, Inputs, Random, Window};
pub use measure::Timing;
pub use mesh::{MeshReport, MeshRow, MeshWork, mesh_peers, mesh_row, mesh_works};
pub use peers::{PeersError, join};
pub use picture::svg;
pub use row::{OURS, Report, Row, Run, TWIN};
pub use size::{BadSize, Size, Sizes};
pub use steps::step_peers;
pub use sweep::{Extent, Sweep, sweep};
pub use tune::{Candidate, Finding, Tuning, tune};
pub use work::{Check, Loaded, Problem, Rung, Work};

/// What to time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only names that contain one of these; all when there are none.
    pub filter: Vec<String>,
    /// The sizes.
    pub sizes: Sizes,
    /// What the random inputs follow from.
    pub seed: u64,
}

/// Why nothing could be timed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] blockwise::Error),
    /// A launch was refused or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The multiply-adds of the peak did not come out as on the host.
    #[error("the kernel that measures the peak of FMA is wrong in thread {thread}")]
    WrongPeak {
        /// The thread's number.
        thread: usize,
    },
    /// Filter and sizes leave nothing.
    #[error("no benchmark has a name that contains {} at these sizes", .filter.join(" or "))]
    NothingChosen {
        /// The parts of names that were given.
        filter: Vec<String>,
    },
}

/// Sizes of each operation that every run draws at random, beside the fixed ones.
const DRAWN: usize = 2;

/// The works that the options choose, with those of their rungs.
pub fn works(options: &Options) -> Vec<Work> {
    let mut works = tables(&options.sizes);
    if options.sizes == Sizes::Standard {
        works.extend(draw::works(options.seed, DRAWN));
    }
    for work in &mut works {
        work.choose(&options.filter);
    }
    works.retain(|work| !work.rungs.is_empty());
    works
}

/// The families' works at these sizes.
fn tables(sizes: &Sizes) -> Vec<Work> {
    let tables = [operation::works];
    tables.iter().flat_map(|table| table(sizes)).collect()
}

/// Times the chosen works on `device`. A rung that fails is a row that says so; the others go on.
/// After each work `done` gets what there is so far, so that a run that ends early has that.
///
/// # Errors
/// When nothing is chosen, or the ceilings cannot be measured.
pub fn run(
    device: &Device,
    options: &Options,
    mut done: impl FnMut(&Report),
) -> Result<Report, BenchError> {
    let works = works(options);
    if works.is_empty() && !files::are_chosen(options) && !steps::are_chosen(options) {
        return Err(BenchError::NothingChosen {
            filter: options.filter.clone(),
        });
    }
    let steps: usize = works.iter().map(|work| work.rungs.len()).sum();
    let bar = ProgressBar::new(steps as u64).with_style(style());
    bar.set_message("ceilings");
    let ceilings = Ceilings::measure(device)?;
    let mut inputs = Inputs::new(options.seed);
    let mut report = Report {
        run: Run::of(device, options.seed),
        ceilings,
        rows: Vec::new(),
    };
    for work in &works {
        let rows = measure::work(device, work, &report.ceilings, &mut inputs, &bar);
        report.rows.extend(rows);
        bar.suspend(|| done(&report));
    }
    if steps::are_chosen(options) {
        report.rows.extend(steps::rows(device));
        bar.suspend(|| done(&report));
    }
    bar.finish_and_clear();
    Ok(report)
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
