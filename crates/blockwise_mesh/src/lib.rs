#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! | module | what it is | what it must not know |
//! | --- | --- | --- |
//! | `mesh` | the ranks of this process, and the threads that run them | what programs do |
//! | `rank` | one rank: its device, its calls to the others | operations |
//! | `wire` | messages between hosts: `Mailbox` where they wait, in memory, over sockets of a machine and over TCP; who may connect | devices, elements |
//! | `job` | which rank of a job this process is, by a launcher's variables | |
//! | `secret` | what proves a process to be of a job | |
//! | `call` | what a rank announces with each call, for the others to compare | |
//! | `shard` | splits, and arrays that are divided by them | operations |
//! | `funnel` | pieces of any length from every rank to rank 0 | |
//! | `window` | memory that all ranks of a process use, and the detection of races | operations |
//! | `scratch` | a rank's memory that stays from call to call | ranks |
//! | `nccl` | transfers between GPUs by NCCL; all of the crate's `unsafe` is in `nccl/library.rs` | operations |
//! | `matrix` | grids of ranks, matrices that are divided in blocks by them | operations |
//! | `reduce`, `conv1d`, `matmul`, `transpose` | operations, written once for all wires | wires, files, kernels' insides |
//! | `wait` | waiting for a device | ranks |
//! | `traffic` | bytes of each link | |
//! | `scale` | predicts times for any number of GPUs from the operations' plans | devices, wires |
//!
//! The crate knows neither files nor the command line, and `blockwise_ops` does not know it.
//!
//! **A call is compared wherever its data goes.** Each message carries the call that it belongs to:
//! operation, types, lengths, splits, the rank's count of calls, and the caller's line. A receiver
//! whose own call differs reports both lines.
//!
//! **No wait is forever.** A rank that waits is woken by the message, by the end or the failure of
//! another rank, by the proof that no rank can go on, and by the time limit.

#![deny(unsafe_code)]

mod broadcast;
mod call;
mod carried;
mod conv1d;
mod error;
mod funnel;
mod job;
mod matmul;
mod matrix;
mod mesh;
#[cfg(feature = "cuda")]
mod nccl;
mod phases;
mod rank;
mod reduce;
pub mod scale;
mod scratch;
mod secret;
mod shard;
mod traffic;
mod transpose;
mod wait;
mod window;
mod wire;

pub use call::Call;
pub use carried::{ShardedCarried, carried, parts};
pub use conv1d::{ShardedConvolution, convolve};
pub use error::{Error, Result};
pub use funnel::{Funnel, Piece};
pub use job::{ADDRESS_VARIABLE, Job, MeetingPlace};
pub use matmul::{ShardedMatmul, ShardedMatmulOptions, matmul};
pub use matrix::{Blocks, Grid, ShardedMatrix};
pub use mesh::{JoinOptions, MEETING_LIMIT, MOST_EMULATED, MOST_RANKS, Mesh, TIME_LIMIT};
#[cfg(feature = "cuda")]
pub use nccl::LIBRARY_VARIABLE;
pub use phases::{Phases, Span};
pub use rank::Rank;
pub use reduce::{dot, reduce};
pub use secret::{SECRET_FILE_VARIABLE, SECRET_VARIABLE, Secret};
pub use shard::{Sharded, Split};
pub use traffic::Traffic;
pub use transpose::{ShardedTranspose, transpose};
pub use window::{Access, Window};
#[doc(hidden)]
pub use wire::{read_as_a_rank_would, what_a_rank_sends};
