//! What every layer needs of a launch: its shape, its counts, the destination of its output.

use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// The configuration of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of the dynamic shared array.
    pub dynamic_shared_bytes: u32,
}

/// Execution counts of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Blocks that ran.
    pub blocks: u64,
    /// Instructions executed, counted once per group of lanes that executed them together.
    pub warp_instructions: u64,
    /// Instructions executed, counted per lane.
    pub lane_instructions: u64,
}

/// Receives the output of device code, one `printf` call at a time.
pub(crate) type Output = Mutex<Box<dyn FnMut(&str) + Send>>;
