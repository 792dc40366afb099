//! The state of a launch at one moment: blocks, warps, lanes, registers, program locations.

use super::Replay;
use super::watch::copy_shared;
use crate::decode::Cell;
use crate::exec::{Standing, Wait, Warp};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use crate::source::{SourceLocation, user_frame, user_frames};

/// Where an instruction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The PTX function.
    pub function: String,
    /// The innermost frame in the user's code.
    pub source: Option<SourceLocation>,
    /// Every frame that the compiler inlined there, innermost first.
    pub frames: Vec<SourceLocation>,
}

/// A warp at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpState {
    /// Its number in its block.
    pub warp: u32,
    /// Lanes that exist: the last warp of a block may have fewer than 32.
    pub existing: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// Its lanes, grouped by location.
    pub groups: Vec<Group>,
}

/// Lanes of a warp at the same instruction of the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The lanes.
    pub lanes: u32,
    /// Their next instruction.
    pub pc: u32,
    /// What they wait for.
    pub status: Status,
    /// The calls around the running function, innermost first.
    pub calls: Vec<Call>,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The call instruction.
    pub pc: u32,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing: the next step is theirs.
    Next,
    /// Their turn.
    Ready,
    /// A barrier of the block.
    Barrier {
        /// The barrier's number.
        id: u32,
        /// The number of threads that take part; `None` for the whole block.
        threads: Option<u32>,
    },
    /// The barrier of the cluster.
    Cluster,
    /// Other lanes of the warp, at a warp-level instruction.
    Members,
}

/// A register of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name in the PTX, `%r7`.
    pub name: String,
    /// 1 for a predicate, else 32 or 64; a register of 16 bits has 32.
    pub bits: u32,
    /// Its value, zero-extended.
    pub value: u64,
}

impl Location {
    /// The frames in the user's code, innermost first: not those of the standard library, of the
    /// device API, or of code that they generate.
    pub fn user_frames(&self) -> impl Iterator<Item = &SourceLocation> {
        user_frames(&self.frames)
    }
}

impl Replay {
    /// Where an instruction is.
    pub fn location(&self, pc: u32) -> Location {
        let program = self.plan.program();
        let frames = program.inlined(pc);
        let mut functions = program.functions.iter();
        let holds = |start: u32, end: u32| (start..end).contains(&pc);
        let function = functions.find(|function| {
            function
                .start
                .is_some_and(|start| holds(start, function.end))
        });
        Location {
            ptx_line: program.place(pc).ptx_line,
            function: function.map_or(String::new(), |function| function.name.clone()),
            source: user_frame(&frames).cloned(),
            frames,
        }
    }

    /// All instructions that may run: those of the kernel and of the functions that it reaches.
    pub fn instructions(&self) -> impl Iterator<Item = u32> + use<> {
        let program = self.plan.program();
        let reached = program.reachable(self.plan.kernel.function).into_iter();
        let ranges: Vec<_> = reached
            .filter_map(|index| {
                let function = &program.functions[index as usize];
                Some(function.start?..function.end)
            })
            .collect();
        ranges.into_iter().flatten()
    }

    /// The running blocks, by their numbers in the grid.
    pub fn running(&self) -> Vec<u64> {
        let mut running: Vec<u64> = self.machine.blocks().map(|block| block.number()).collect();
        running.sort_unstable();
        running
    }

    /// A block's index in the grid.
    pub fn block_index(&self, block: u64) -> [u32; 3] {
        self.plan.block_index(block)
    }

    /// The warps of a running block; empty for any other.
    pub fn warps(&self, block: u64) -> Vec<WarpState> {
        let warps = self
            .machine
            .block(block)
            .map_or(&[][..], |block| block.warps());
        warps.iter().map(WarpState::of).collect()
    }

    /// The registers of a lane in one of its calls: 0 is the running function, 1 its caller.
    pub fn registers(&self, block: u64, warp: u32, lane: u32, call: usize) -> Vec<Register> {
        let Some(warp) = self.warp(block, warp) else {
            return Vec::new();
        };
        let mut standing = warp.standing();
        let Some(at) = standing.find(|at| at.lanes >> lane & 1 == 1) else {
            return Vec::new();
        };
        let callers = at.stack.iter().rev().map(|&(base, _)| base);
        let Some(base) = std::iter::once(at.base).chain(callers).nth(call) else {
            return Vec::new();
        };
        let function = &self.plan.program().functions[base.function as usize];
        let names = function.names.iter();
        let registers = names.map(|(cell, name)| Register {
            name: name.clone(),
            bits: match cell {
                Cell::Predicate(_) => 1,
                Cell::R32(_) => 32,
                Cell::R64(_) => 64,
            },
            value: warp.register(base, *cell, lane as usize),
        });
        registers.collect()
    }

    /// Copies bytes of a running block's shared memory; false when they are not all inside.
    pub fn read_shared(&self, block: u64, offset: u64, bytes: &mut [u8]) -> bool {
        let Some(block) = self.machine.block(block) else {
            return false;
        };
        let end = offset.checked_add(bytes.len() as u64);
        let inside = end.is_some_and(|end| end <= self.plan.shared_bytes);
        if inside {
            copy_shared(block.shared(), offset, bytes);
        }
        inside
    }

    /// Copies bytes at a generic address as a lane of a running block sees it: of its local memory,
    /// its block's shared memory, or the memory of the launch. False when they are not all inside.
    pub fn read_for(
        &self,
        (block, warp, lane): (u64, u32, u32),
        address: u64,
        bytes: &mut [u8],
    ) -> bool {
        let within = |window: u64| address.checked_sub(window).filter(|at| *at < WINDOW_SIZE);
        if let Some(offset) = within(SHARED_WINDOW) {
            return self.read_shared(block, offset, bytes);
        }
        let Some(offset) = within(LOCAL_WINDOW) else {
            return self.read(address, bytes).is_ok();
        };
        let Some(warp) = self.warp(block, warp) else {
            return false;
        };
        bytes.iter_mut().zip(offset..).all(|(byte, at)| {
            let found = warp.local_byte(at, lane as usize & 31);
            *byte = found.unwrap_or(0);
            found.is_some()
        })
    }

    /// The generic address of a lane's local memory from an offset on.
    pub fn local_address(offset: u64) -> u64 {
        LOCAL_WINDOW.wrapping_add(offset)
    }

    fn warp(&self, block: u64, warp: u32) -> Option<&Warp> {
        self.machine.block(block)?.warps().get(warp as usize)
    }
}

impl WarpState {
    fn of(warp: &Warp) -> Self {
        Self {
            warp: warp.number(),
            existing: warp.existing(),
            live: warp.living(),
            groups: warp.standing().map(|at| Group::of(&at)).collect(),
        }
    }
}

impl Group {
    fn of(at: &Standing<'_>) -> Self {
        let calls = at.stack.iter().rev();
        Self {
            lanes: at.lanes,
            pc: at.pc,
            status: match at.wait {
                Wait::Next => Status::Next,
                Wait::Turn => Status::Ready,
                Wait::Barrier(id, threads) => Status::Barrier { id, threads },
                Wait::Cluster => Status::Cluster,
                Wait::Members => Status::Members,
            },
            // A caller continues after its call.
            calls: calls
                .map(|&(_, pc)| Call {
                    pc: pc.saturating_sub(1),
                })
                .collect(),
        }
    }
}
