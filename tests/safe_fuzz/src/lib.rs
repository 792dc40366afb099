//! Random safe kernels: whatever the compiler and the builder's checks let through must be clean
//! under every detector.
//!
//! - [`Kernel`] is a kernel of a seed: states of shared arrays, loops, branches on which threads
//!   part or do not, helper functions, elements of all sizes, blocks of one to three dimensions,
//!   and outputs of every map.
//! - [`Workshop`] builds many as one crate and sorts out what does not compile or is refused.
//! - [`check()`] runs them.
//!   Where the host's build sees another contract than the device's, the launch must refuse.
//! - [`round`] does all three; what was refused it builds again without the check, to count how
//!   much of it really diverges.
//!
//! - [`mutants`] takes the library's barriers out of what was built, to see that each is missed.
//!
//! `cargo run -p safe_fuzz --example fuzz -- 3600` goes on for an hour.

mod batch;
mod check;
mod generate;
mod mutation;
mod rng;

pub use batch::{Built, Workshop};
pub use check::{Verdict, check};
pub use generate::{Argument, Kernel, Launch, Style};
pub use mutation::{Mutant, mutants, places};
pub use rng::Rng;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

/// What happened to the kernels of some seeds.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Kernels that were built and ran clean.
    pub clean: usize,
    /// Kernels that were built and reached the limit of steps, with nothing reported before.
    pub unfinished: usize,
    /// Kernels that the builder refused.
    pub refused: usize,
    /// Those among them that the detectors saw diverge when they were built without the check.
    pub diverged: usize,
    /// Kernels that the compiler refused, as it may: names that rules use otherwise.
    pub not_compiled: usize,
    /// Kernels that the launch refused: the host sees another contract than the device.
    pub not_launched: usize,
    /// Kernels that are no Rust: mistakes of the generator, or rules that it does not know.
    pub wrong: Vec<(Kernel, String)>,
    /// Kernels that were built and are not clean.
    pub findings: Vec<Verdict>,
    /// Kernels that were refused and not seen to diverge, each with the builder's report.
    pub alarms: Vec<(Kernel, String)>,
}

/// The kernels of these seeds, of at most N statements, from their text to the verdict.
pub fn round(workshop: &Workshop, seeds: Range<u64>, statements: usize, schedules: u32) -> Tally {
    let kernels = seeds.map(|seed| Kernel::new(seed, statements)).collect();
    judge(workshop, kernels, schedules)
}

/// The same for kernels that are there.
pub fn judge(workshop: &Workshop, kernels: Vec<Kernel>, schedules: u32) -> Tally {
    let built = workshop.build(kernels, Style::Safe);
    let refused = built.refused.len();
    let mut tally = Tally {
        refused,
        wrong: built.wrong,
        not_compiled: built.not_compiled,
        not_launched: built.not_launched.len(),
        ..Tally::default()
    };
    // Both builds of these see one contract.
    let one = built
        .not_launched
        .into_iter()
        .filter(|(kernel, _)| !kernel.differs());
    tally.findings.extend(one.map(|(kernel, error)| Verdict {
        kernel,
        findings: vec![error],
        diverged: false,
        unfinished: false,
    }));
    for verdict in check(&built.ptx, built.kernels, schedules) {
        if !verdict.findings.is_empty() {
            tally.findings.push(verdict);
        } else if verdict.unfinished {
            tally.unfinished += 1;
        } else {
            tally.clean += 1;
        }
    }
    if refused > 0 {
        let reports: HashMap<u64, String> = (built.refused.iter())
            .map(|(kernel, report)| (kernel.seed, report.clone()))
            .collect();
        let kernels = built
            .refused
            .into_iter()
            .map(|(kernel, _)| kernel)
            .collect();
        let unchecked = workshop.build(kernels, Style::Unchecked);
        for verdict in check(&unchecked.ptx, unchecked.kernels, schedules) {
            if verdict.diverged {
                tally.diverged += 1;
            } else {
                let report = reports[&verdict.kernel.seed].clone();
                tally.alarms.push((verdict.kernel, report));
            }
        }
    }
    tally
}

/// The smallest kernel of the same seed that is not clean either, as far as fewer statements show
/// one.
pub fn shrink(workshop: &Workshop, kernel: &Kernel, schedules: u32) -> Verdict {
    let smaller: Vec<_> = (1..=kernel.statements)
        .map(|statements| Kernel::new(kernel.seed, statements))
        .collect();
    let findings = judge(workshop, smaller, schedules).findings;
    let smallest = findings
        .into_iter()
        .min_by_key(|verdict| verdict.kernel.statements);
    smallest.unwrap_or_else(|| Verdict {
        kernel: kernel.clone(),
        findings: Vec::new(),
        diverged: false,
        unfinished: false,
    })
}

impl Tally {
    /// Adds another one's.
    pub fn add(&mut self, other: Self) {
        self.clean += other.clean;
        self.unfinished += other.unfinished;
        self.refused += other.refused;
        self.diverged += other.diverged;
        self.not_compiled += other.not_compiled;
        self.not_launched += other.not_launched;
        self.wrong.extend(other.wrong);
        self.findings.extend(other.findings);
        self.alarms.extend(other.alarms);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} clean, {} at the limit of steps, {} refused ({} seen to diverge), {} not compiled, {} not \
             launched, {} not Rust, {} not clean",
            self.clean,
            self.unfinished,
            self.refused,
            self.diverged,
            self.not_compiled,
            self.not_launched,
            self.wrong.len(),
            self.findings.len()
        )
    }
}
