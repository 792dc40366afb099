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
//! - Beside the fixed sizes, every run draws some at random; `--sweep` times every kernel at many of
//!   them, `--random` only the default.
//! - Peers are processes that answer requests: the default and a peer are timed by turns, until the
//!   interval of their ratio is narrow (`pairs`, `interval`).
//! - Whole commands on files are timed as processes, by the host's clock ([`files()`]), and a
//!   user's step of small calls by one thread and by 16 (`steps.rs`).
//! - [`Ceilings`] are measured in the same run: a copy within the device, and a kernel of nothing
//!   but fused multiply-adds.

mod against;
mod ceilings;
mod compared;
mod cores;
mod cross;
mod draw;
mod files;
mod folded;
mod inputs;
mod interval;
mod launched;
mod measure;
mod mesh;
mod operation;
mod pairs;
mod peers;
mod picture;
mod protocol;
mod random;
mod report;
mod row;
mod sample;
mod search;
mod serve;
mod size;
mod steps;
mod sweep;
mod tune;
mod work;

use blockwise::{Device, DeviceKind};
use blockwise_ops::LaunchError;
use indicatif::{ProgressBar, ProgressStyle};

use draw::{Count, Limits};

pub use blockwise_ops::operation::Numbers as Kind;
pub use ceilings::Ceilings;
pub use files::{Commands, files};
pub(crate) use inputs::numbers;
pub use inputs::{AnyWindow, Inputs, Random, Window};
pub use interval::Ratio;
pub use measure::Timing;
pub use mesh::{
    DevicePhase, GpuPhases, HostPhase, MeshReport, MeshRow, MeshWork, mesh_peers, mesh_row,
    mesh_works,
};
pub use peers::{Peer, PeersError, Source};
pub use picture::svg;
pub use random::{Against, Group, Listed, Summary};
pub use report::Report;
pub use row::{OURS, Row, Run, TWIN};
pub use serve::{ServeError, serve};
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
    /// Whether the default is compared with our other kernels, at sizes drawn at random.
    pub own: bool,
}

impl Options {
    /// Whether there are many works, each of which is to take little time.
    fn is_brief(&self) -> bool {
        matches!(self.sizes, Sizes::Random(_))
    }
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

/// The works that the options choose for a device of this kind, with those of their rungs.
pub(crate) fn works(options: &Options, kind: DeviceKind) -> Vec<Work> {
    if let Sizes::Random(count) = options.sizes {
        let limits = match options.own {
            true => Limits::EVERY_KERNEL,
            false => Limits::DEFAULTS,
        };
        let (count, filter) = (Count::InAll(count as usize), &options.filter);
        return drawn(options.seed, count, filter, limits.on(kind), options.own);
    }
    let mut works = tables(&options.sizes);
    if options.sizes == Sizes::Standard {
        let (count, limits) = (Count::OfEach(DRAWN), Limits::EVERY_KERNEL.on(kind));
        works.extend(drawn(options.seed, count, &[], limits, true));
    }
    for work in &mut works {
        work.choose(&options.filter);
    }
    works.retain(|work| !work.rungs.is_empty());
    works
}

/// Works at sizes that are drawn at random, with the default only or with every kernel that it may
/// be compared with.
fn drawn(seed: u64, count: Count, filter: &[String], limits: Limits, every: bool) -> Vec<Work> {
    let shapes = draw::shapes(seed, count, filter, limits).into_iter();
    let works = shapes.filter_map(|it| operation::work_at(it.of, it.ty, it.size, it.posing, every));
    let mut works: Vec<_> = works.collect();
    for work in &mut works {
        // No launcher chooses it by default: its products are not FP32 arithmetic.
        work.rungs.retain(|rung| rung.name != "tensor");
    }
    works
}

/// The families' works at these sizes.
fn tables(sizes: &Sizes) -> Vec<Work> {
    let tables = [operation::works];
    tables.iter().flat_map(|table| table(sizes)).collect()
}

/// Times the chosen works on `device`, and the peers beside them. A rung or a peer that fails is a
/// row that says so; the others go on. After each row `done` gets what there is so far, so that a
/// run that ends early has that.
///
/// # Errors
/// When nothing is chosen, or the ceilings cannot be measured.
pub fn run(
    device: &Device,
    options: &Options,
    peers: &mut [Peer],
    mut done: impl FnMut(&Report),
) -> Result<Report, BenchError> {
    let works = works(options, device.properties().kind);
    if works.is_empty() && !files::are_chosen(options) && !steps::are_chosen(options) {
        return Err(BenchError::NothingChosen {
            filter: options.filter.clone(),
        });
    }
    let bar = ProgressBar::new(works.len() as u64).with_style(style());
    bar.set_message("ceilings");
    let ceilings = Ceilings::measure(device)?;
    let mut inputs = Inputs::new(options.seed);
    let mut report = Report {
        run: Run::of(device, options.seed),
        ceilings: ceilings.clone(),
        rows: Vec::new(),
        summary: None,
    };
    for peer in peers.iter_mut() {
        report.run.versions.extend(peer.versions());
    }
    let against = match (options.own, options.is_brief()) {
        (true, _) => Some(Against::Own),
        (false, true) => Some(Against::Peers),
        (false, false) => None,
    };
    let run = against::Run {
        device,
        options,
        ceilings,
    };
    for work in &works {
        bar.set_message(work.name());
        run.rows(work, &mut inputs, peers, &mut |row| {
            report.rows.push(row);
            report.summary = against.and_then(|against| Summary::of(&report.rows, against));
            bar.suspend(|| done(&report));
        });
        bar.inc(1);
    }
    if let (Some(against), Some(summary)) = (against, &report.summary) {
        let listed = summary.listed();
        against::name_kernels(&works, &listed, peers, |work, entry, kernels| {
            let of_entry = |row: &&mut Row| {
                let same = row.implementation == entry.implementation && row.rung == entry.rung;
                row.work == work && same
            };
            report.rows.iter_mut().filter(of_entry).for_each(|row| {
                row.launched.clone_from(&kernels);
            });
        });
        report.summary = Summary::of(&report.rows, against);
    }
    if steps::are_chosen(options) {
        report.rows.extend(steps::rows(device));
        bar.suspend(|| done(&report));
    }
    bar.finish_and_clear();
    Ok(report)
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:40} {pos}/{len} {eta} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
