//! Runs decoded programs: a launch is blocks, a block is warps, a warp is splits of lanes that stand at one place.
mod atomics;
mod barrier;
mod block;
mod exchange;
mod frame;
mod launch;
mod matrix;
mod memory;
mod run;
mod simd;
mod split;
mod system;
mod trouble;
mod warp;

pub(crate) use launch::{Request, launch};
pub(crate) use memory::MAX_SHARED_BYTES;
