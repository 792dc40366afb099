//! Lanes, and what stops a launch at one.

use crate::element::Evaluated;
use ptx_emulator::LaunchConfig;
use ptx_emulator::replay::{Instruction, Replay};

/// A lane of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneId {
    pub(crate) block: u64,
    pub(crate) warp: u32,
    pub(crate) lane: u32,
}

/// A frame of a lane's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackFrame {
    pub(crate) lane: LaneId,
    /// Its call: 0 is the running function, 1 its caller.
    pub(crate) call: usize,
    /// The instruction that it is at.
    pub(crate) pc: u32,
    /// Its number among the instruction's frames that are shown, from the innermost.
    pub(crate) inner: usize,
}

/// Why the launch has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// As the protocol names it.
    pub(crate) reason: &'static str,
    pub(crate) text: String,
    /// Numbers of the breakpoints.
    pub(crate) breakpoints: Vec<i64>,
}

impl Stop {
    pub(crate) fn new(reason: &'static str, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: text.into(),
            breakpoints: Vec::new(),
        }
    }
}

/// The first lane that an instruction is executed by.
pub(crate) fn first_lane(at: &Instruction) -> LaneId {
    let lanes = if at.lanes == 0 { at.active } else { at.lanes };
    LaneId {
        block: at.block,
        warp: at.warp,
        lane: lanes.trailing_zeros() & 31,
    }
}

/// The lane of a thread, by the indices of its block and of itself.
pub(crate) fn lane_at(config: LaunchConfig, block: [u32; 3], thread: [u32; 3]) -> LaneId {
    let number = |[x, y, z]: [u32; 3], extents: [u32; 3]| {
        let [width, height, _] = extents.map(u64::from);
        u64::from(x) + width * (u64::from(y) + height * u64::from(z))
    };
    // A block has 1024 threads at most.
    let thread = number(thread, config.block) as u32;
    LaneId {
        block: number(block, config.grid),
        warp: thread / 32,
        lane: thread % 32,
    }
}

/// The index of a lane's thread in its block.
pub(crate) fn thread_index(config: LaunchConfig, at: LaneId) -> [u32; 3] {
    let [x, y, _] = config.block;
    let thread = 32 * at.warp + at.lane;
    [thread % x, thread / x % y, thread / x / y]
}

/// The values that never change: a lane's own indices, for instance.
pub(crate) fn identity(replay: &Replay, at: LaneId, name: &str) -> Option<Evaluated> {
    let block = || replay.block_index(at.block);
    let thread = || thread_index(replay.config(), at);
    let value = match name {
        "lane" => at.lane,
        "warp" => at.warp,
        "block" => return Some(Evaluated::Integer(at.block.into())),
        "thread" => 32 * at.warp + at.lane,
        "block.x" => block()[0],
        "block.y" => block()[1],
        "block.z" => block()[2],
        "thread.x" => thread()[0],
        "thread.y" => thread()[1],
        "thread.z" => thread()[2],
        _ => return None,
    };
    Some(Evaluated::Integer(value.into()))
}
