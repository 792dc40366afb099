//! A model of the time that an operation takes on any number of GPUs, and of what binds it.
//!
//! Bytes of each link come from the plans by which the operations run; [`Machine`] has the rates of
//! kernels and links. A rank's time is that of what arrives before its kernels start, and then the
//! longer of its kernels and what arrives meanwhile. A link takes its latency, an overhead for each
//! message, and a time for each byte; messages from GPUs of the same host share one link, those
//! from other hosts another one. The slowest rank counts.

mod machine;
mod work;

use std::fmt;

use blockwise_ops::LaunchError;

pub use self::machine::{Link, Machine};
pub use self::work::Work;

use self::work::Demand;

/// What most of a step's time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The kernels' reads and writes.
    Memory,
    /// The kernels' arithmetic.
    Arithmetic,
    /// Bytes on the links.
    Bandwidth,
    /// Launches, and messages however short.
    Latency,
}

/// `link bandwidth`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
            Self::Bandwidth => "link bandwidth",
            Self::Latency => "latency",
        })
    }
}

/// What the model predicts for one number of GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// GPUs.
    pub gpus: usize,
    /// Of the slowest rank.
    pub seconds: f64,
    /// What binds it.
    pub bound: Bound,
    /// Bytes that it receives.
    pub received: usize,
    /// Whether every rank's arrays fit into its memory.
    pub fits: bool,
}

/// Predicts a step of an operation on some GPUs.
///
/// # Errors
/// What the operation itself refuses, such as a convolution of nothing.
pub fn estimate(
    work: &Work,
    element_bytes: usize,
    gpus: usize,
    machine: &Machine,
) -> Result<Estimate, LaunchError> {
    let mut slowest = Estimate {
        gpus,
        seconds: 0.0,
        bound: Bound::Latency,
        received: 0,
        fits: true,
    };
    for (rank, demand) in work.demands(gpus, element_bytes, machine)?.enumerate() {
        slowest.fits &= demand.memory <= machine.memory;
        let terms = terms(rank, &demand, machine);
        let seconds = terms.iter().map(|(_, seconds)| seconds).sum();
        let largest = terms
            .iter()
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        if seconds > slowest.seconds {
            slowest.seconds = seconds;
            slowest.bound = largest.map_or(Bound::Latency, |(bound, _)| *bound);
            let links = demand.first.iter().chain(&demand.during);
            slowest.received = links.map(|(_, bytes)| bytes).sum();
        }
    }
    Ok(slowest)
}

/// The seconds of a rank, by what they go to.
fn terms(rank: usize, demand: &Demand, machine: &Machine) -> [(Bound, f64); 4] {
    let first = Transfer::of(rank, &demand.first, 1, machine);
    let during = Transfer::of(rank, &demand.during, demand.rounds, machine);
    let kernels = demand.moving.max(demand.computing);
    let overlapped = kernels >= during.bytes + during.latency;
    let of_kernels = |wins: bool| if overlapped && wins { kernels } else { 0.0 };
    let of_links = |seconds: f64| if overlapped { 0.0 } else { seconds };
    let moves = demand.moving >= demand.computing;
    [
        (Bound::Memory, of_kernels(moves)),
        (Bound::Arithmetic, of_kernels(!moves)),
        (Bound::Bandwidth, first.bytes + of_links(during.bytes)),
        (
            Bound::Latency,
            machine.fixed + first.latency + of_links(during.latency),
        ),
    ]
}

/// Seconds until messages have arrived.
#[derive(Clone, Copy, Default)]
struct Transfer {
    bytes: f64,
    latency: f64,
}

impl Transfer {
    /// Of messages by sender, in some rounds that follow each other.
    fn of(rank: usize, links: &[(usize, usize)], rounds: usize, machine: &Machine) -> Self {
        let host = |rank: usize| rank / machine.gpus_per_host;
        let over = |link: &Link, near: bool| {
            let links = links.iter();
            let links = links.filter(|(from, _)| (host(*from) == host(rank)) == near);
            let (messages, bytes) = links.fold((0, 0), |(messages, sum), (_, bytes)| {
                (messages + rounds, sum + bytes)
            });
            match messages {
                0 => Self::default(),
                _ => Self {
                    bytes: bytes as f64 / link.bandwidth,
                    latency: link.latency * rounds as f64 + link.overhead * messages as f64,
                },
            }
        };
        // Both links work at the same time.
        let (near, far) = (over(&machine.within, true), over(&machine.between, false));
        match near.bytes + near.latency > far.bytes + far.latency {
            true => near,
            false => far,
        }
    }
}

#[cfg(test)]
mod tests;
