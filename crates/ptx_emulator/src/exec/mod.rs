//! Runs decoded programs: a launch is blocks, a block is warps, a warp is splits of lanes that stand at one place.
mod atomics;
mod barrier;
mod block;
mod exchange;
mod float;
mod frame;
mod launch;
mod matrix;
mod mbarrier;
mod memory;
mod observe;
mod printf;
mod run;
mod schedule;
mod simd;
mod split;
mod system;
mod trouble;
mod warp;

pub(crate) use exchange::{groups, incomplete, shuffle_sources};
pub(crate) use frame::{Frame, Row64, lanes};
pub(crate) use launch::{Addresses, Outcome, Request, launch, watch};
pub(crate) use mbarrier::phase_of;
pub(crate) use memory::{MAX_SHARED_BYTES, Memory, Region};
pub(crate) use observe::{Arrived, Complete, Left, Observer, Seen, Stray, Turn};
pub(crate) use split::Base;
pub(crate) use system::replaces;
