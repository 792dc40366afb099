//! A model of an operation's time on any number of GPUs, and of its bottleneck.
//!
//! The bytes of each link come from the plans that the operations run; [`Machine`] has the rates of
//! kernels and links. A rank's time is that of what must arrive before its kernels start, plus the
//! longer of its kernels and what arrives during them. A link takes its latency, an overhead per
//! message, and a time per byte. Messages from GPUs of the same host share one link, those from
//! other hosts another. The slowest rank counts.

mod machine;
mod work;

use std::fmt;

use blockwise_ops::LaunchError;

pub use self::machine::{Link, Machine};
pub use self::work::Work;

use self::work::Demand;

/// What takes most of a step's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The kernels' reads and writes.
    Memory,
    /// The kernels' arithmetic.
    Arithmetic,
    /// Bytes on the links.
    Bandwidth,
    /// Launches, and messages of any length.
    Latency,
}

/// For example `link bandwidth`.
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
    /// Number of GPUs.
    pub gpus: usize,
    /// Of the slowest rank.
    pub seconds: f64,
    /// The bottleneck.
    pub bound: Bound,
    /// Bytes that the slowest rank receives.
    pub received: usize,
    /// Whether every rank's arrays fit its memory.
    pub fits: bool,
}

/// Predicts the time of an operation on some number of GPUs.
///
/// # Errors
/// The errors of the operation itself, such as a convolution of an empty signal.
pub fn estimate(
    work: &Work,
    element_bytes: usize,
    gpus: usize,
    machine: &Machine,
) -> Result<Estimate, LaunchError> {
    let machine = &machine.of(gpus);
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

/// The seconds of a rank, by what takes them.
fn terms(rank: usize, demand: &Demand, machine: &Machine) -> [(Bound, f64); 4] {
    let first = Transfer::of(rank, &demand.first, 1, machine);
    let during = Transfer::of(rank, &demand.during, demand.rounds, machine);
    let kernels = demand.moving.max(demand.computing);
    let overlapped = kernels >= during.bytes + during.latency;
    let of_kernels = |wins: bool| if overlapped && wins { kernels } else { 0.0 };
    let of_links = |seconds: f64| if overlapped { 0.0 } else { seconds };
    let moves = demand.moving >= demand.computing;
    [
        (Bound::Memory, demand.ends + of_kernels(moves)),
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
    /// For messages by sender, in a number of consecutive rounds.
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
        // Both links work concurrently.
        let (near, far) = (over(&machine.within, true), over(&machine.between, false));
        match near.bytes + near.latency > far.bytes + far.latency {
            true => near,
            false => far,
        }
    }
}

#[cfg(test)]
mod tests;
