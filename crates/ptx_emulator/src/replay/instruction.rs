use super::plan::Plan;
use crate::exec::Machine;

/// An instruction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The block's number in the grid, x fastest.
    pub block: u64,
    /// The warp's number in its block.
    pub warp: u32,
    /// Names the instruction within the module; [`Replay::location`](super::Replay::location) says where it is.
    pub pc: u32,
    /// The lanes that execute it.
    pub lanes: u32,
    /// The lanes at the instruction, including those whose guard is false.
    pub active: u32,
    /// Whether the lanes only arrive at a warp-level instruction, and wait for its other members.
    pub waits: bool,
}

impl Instruction {
    pub(super) fn next(machine: &Machine, plan: &Plan) -> Option<Self> {
        let (block, warp) = machine.next()?;
        let at = warp.standing().next()?;
        Some(Self {
            block: block.number(),
            warp: warp.number(),
            pc: at.pc,
            lanes: warp.guarded(&at, plan.program()),
            active: at.lanes,
            waits: false,
        })
    }
}
