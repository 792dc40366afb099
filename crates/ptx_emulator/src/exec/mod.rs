//! Runs decoded programs. A launch consists of blocks, a block of warps, a warp of splits: groups
//! of lanes at the same instruction.
mod atomics;
mod barrier;
mod block;
mod bulk;
mod exchange;
mod float;
mod frame;
mod launch;
mod matrix;
mod mbarrier;
mod memory;
mod observe;
mod printf;
mod rounds;
mod run;
mod sampling;
mod schedule;
mod simd;
mod split;
mod standstill;
mod surface;
mod system;
mod team;
mod tensor;
mod texture;
mod trouble;
mod warp;
mod wgmma;

pub(crate) use exchange::{groups, incomplete, shuffle_sources};
pub(crate) use frame::{Frame, Row64, lanes};
pub(crate) use launch::{Addresses, Outcome, Request, launch, watch};
pub(crate) use mbarrier::phase_of;
pub(crate) use memory::{MAX_SHARED_BYTES, Memory, Region};
pub(crate) use observe::{Arrived, Complete, Left, Observer, Seen, Stray, Turn};
pub(crate) use split::Base;
pub(crate) use system::replaces;
