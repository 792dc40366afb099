//! Errors of a mesh. Each names the rank that it is about.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use blockwise_ops::LaunchError;

use crate::{Access, Call};

/// `Result` with an [`Error`] unless another error is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation over a mesh failed. [`hint`](Self::hint) says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This rank's device failed, or refused a launch.
    #[error("rank {rank}: {source}")]
    Device {
        /// The rank.
        rank: usize,
        /// What went wrong.
        source: Box<LaunchError>,
    },
    /// Two ranks call different collectives.
    #[error("ranks {} and {} do not call the same ({difference}): rank {} calls {}; rank {} calls {}", .calls[0].0, .calls[1].0, .calls[0].0, .calls[0].1, .calls[1].0, .calls[1].1)]
    Mismatch {
        /// What they disagree on.
        difference: &'static str,
        /// The two ranks with their calls, the lower rank first.
        calls: Box<[(usize, Call); 2]>,
    },
    /// A rank has ended its program while another still waits for it.
    #[error("rank {missing} has ended its program, and rank {rank} waits for it in {call}")]
    Ended {
        /// The rank that has ended.
        missing: usize,
        /// The rank that waits.
        rank: usize,
        /// The call in which it waits.
        call: Box<Call>,
    },
    /// A rank has not sent anything in time.
    #[error("rank {missing} has sent nothing for {} s, and rank {rank} waits for it in {call}", .limit.as_secs_f64())]
    Late {
        /// The rank that is waited for.
        missing: usize,
        /// The rank that waits.
        rank: usize,
        /// The call in which it waits.
        call: Box<Call>,
        /// The time limit.
        limit: Duration,
    },
    /// Every rank waits for another.
    #[error("no rank can go on: {}", list(.waits))]
    Standstill {
        /// Each rank that waits, which one it waits for, and where.
        waits: Vec<(usize, usize, Call)>,
    },
    /// Another rank has failed.
    #[error("rank {rank} has failed: {reason}")]
    Failed {
        /// The other rank.
        rank: usize,
        /// Its message.
        reason: String,
    },
    /// The connection to another rank has broken: its process was killed, or its machine is gone.
    #[error("rank {rank} is gone: {reason}")]
    Lost {
        /// The other rank.
        rank: usize,
        /// The system's message.
        reason: String,
    },
    /// An array lives on another rank, or is split over another number of ranks.
    #[error("rank {rank}: {what} is not this mesh's: it is rank {of} of {ranks}")]
    Foreign {
        /// This rank.
        rank: usize,
        /// What was passed.
        what: &'static str,
        /// The rank that it belongs to.
        of: usize,
        /// The ranks of its split.
        ranks: usize,
    },
    /// A part of an array does not have the length that its split gives this rank.
    #[error("rank {rank}: a part of {given} elements was given, the split has {needed} there")]
    PartLength {
        /// The rank.
        rank: usize,
        /// The length in the split.
        needed: usize,
        /// The length that was given.
        given: usize,
    },
    /// The split of an array differs from the one that the operation was created for.
    #[error("rank {rank}: {what} is split otherwise than the operation was made for")]
    OtherSplit {
        /// The rank.
        rank: usize,
        /// The array.
        what: &'static str,
    },
    /// A kernel that can only compute all outputs together.
    #[error("kernel `{kernel}` computes all outputs at once, so it cannot be divided over ranks")]
    Indivisible {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// The ranks of a job could not meet.
    #[error("{reason}")]
    Meeting {
        /// Why, with the rank that did not come or differs.
        reason: String,
    },
    /// A process does not know the job's secret.
    #[error("rank {rank}: {problem}")]
    Secret {
        /// The rank.
        rank: usize,
        /// Which rank refused which.
        problem: String,
    },
    /// The ranks would meet over a network without any authentication.
    #[error("the ranks of this job meet at {address}, where anybody could come: it needs a secret")]
    NoSecret {
        /// Where rank 0 would listen.
        address: String,
    },
    /// More ranks than a mesh can have.
    #[error("{ranks} {what} are asked for; a mesh has {most} at most")]
    TooMany {
        /// The number requested.
        ranks: usize,
        /// Of what.
        what: &'static str,
        /// [`MOST_RANKS`](crate::MOST_RANKS) or [`MOST_EMULATED`](crate::MOST_EMULATED).
        most: usize,
    },
    /// The launcher's variables are inconsistent.
    #[error("no rank of a job: {problem}")]
    Job {
        /// The variable, and what is wrong with it.
        problem: String,
    },
    /// No launcher has started this process.
    #[error("this process belongs to no job: no launcher's variables are set")]
    NoJob,
    /// NCCL is missing, or has failed.
    #[error("rank {rank}: {reason}")]
    Nccl {
        /// The rank.
        rank: usize,
        /// NCCL's message, or where to get NCCL.
        reason: String,
    },
    /// Two ranks use the same elements of a [`Window`](crate::Window), one of them writes, and
    /// nothing orders the two accesses.
    #[error("ranks {} and {} race for elements {}..{} of rank {of}'s window: {}; {}; no barrier or other collective orders the two", .accesses[0].rank, .accesses[1].rank, .elements.start, .elements.end, .accesses[0], .accesses[1])]
    Race {
        /// The rank whose memory it is.
        of: usize,
        /// The elements that both use.
        elements: Range<usize>,
        /// Both accesses, in the order of this run.
        accesses: Box<[Access; 2]>,
    },
    /// A rank was sent a message that it never received.
    #[error(
        "rank {rank} has ended its program without receiving what rank {from} sent it in {call}"
    )]
    Unread {
        /// The receiver.
        rank: usize,
        /// The sender.
        from: usize,
        /// The call that it was sent in.
        call: Box<Call>,
    },
    /// Ranks in different processes cannot access each other's memory.
    #[error("rank {rank}: a window needs all ranks in one process")]
    NoPeers {
        /// The rank.
        rank: usize,
    },
    /// There is no such rank.
    #[error("there is no rank {rank}: the mesh has {ranks}")]
    NoRank {
        /// The requested rank.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A mesh without devices.
    #[error("a mesh needs at least one device")]
    NoRanks,
}

const ONE_SECRET: &str = "every rank needs the same BLOCKWISE_MESH_SECRET, or the same contents of the file that BLOCKWISE_MESH_SECRET_FILE names";

impl Error {
    /// What to do about it, in one line.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Device { source, .. } => source.hint(),
            Self::Mismatch { .. }
            | Self::Ended { .. }
            | Self::Standstill { .. }
            | Self::Unread { .. } => Some("every rank must make the same calls in the same order"),
            Self::Race { .. } => Some("a barrier between them orders the two"),
            Self::Late { .. } => {
                Some("is that rank running, and has it as much to do as the others?")
            }
            Self::Failed { .. } => Some("that rank's own error says more"),
            Self::Lost { .. } => Some("look at that rank's machine: was its process killed?"),
            Self::Meeting { reason } if reason.contains("another secret") => Some(ONE_SECRET),
            Self::Meeting { .. } => Some(
                "every rank needs the same program and the same address of rank 0; BLOCKWISE_MESH_ADDRESS=host:port sets another",
            ),
            Self::Job { problem } if problem.contains(crate::SECRET_VARIABLE) => Some(ONE_SECRET),
            Self::Job { problem } if problem.contains(['`']) => Some(
                "the launcher sets these variables; a process that is no rank runs without them (`env -u NAME`)",
            ),
            Self::Job { .. } => {
                Some("BLOCKWISE_MESH_ADDRESS=host:port says where rank 0 listens, for every rank")
            }
            Self::Secret { .. } => Some(ONE_SECRET),
            Self::NoSecret { .. } => Some(
                "`export BLOCKWISE_MESH_SECRET=$(openssl rand -hex 32)` before `srun`, or before `mpirun -x BLOCKWISE_MESH_SECRET`; with torchrun, `export BLOCKWISE_MESH_SECRET_FILE=FILE` on each machine, a file of mode 0600 with the same secret",
            ),
            Self::TooMany { .. } => Some("`blockwise scale` predicts times for any number"),
            Self::NoJob => Some("start it with torchrun, srun or mpirun"),
            Self::Indivisible { .. } => Some("leave the kernel out, or use one device"),
            _ => None,
        }
    }
}

fn list(waits: &[(usize, usize, Call)]) -> impl fmt::Display {
    let wait = |(rank, missing, call): &(usize, usize, Call)| {
        format!("rank {rank} waits for rank {missing} in {call}")
    };
    waits.iter().map(wait).collect::<Vec<_>>().join("; ")
}
