//! Events and accesses of a range of steps, observed while it runs.

use super::instruction::Instruction;
use crate::decode::Program;
use crate::exec::{Base, Complete, Frame, Machine, Memory, Observer, Region, Seen, Turn, lanes};
use crate::fault::{Access, Space};
use crate::memory::{CONST_BASE, Table};

/// Something that happens in a step: see [`Replay::scan`](super::Replay::scan).
pub enum Event<'a> {
    /// A step begins.
    Step(Instruction),
    /// Its instruction is about to access memory: one event for each space that its lanes access.
    Access(Instruction, Accesses<'a>),
    /// A barrier of a block is complete after the step.
    Barrier {
        /// The block's number.
        block: u64,
        /// Whether all threads of the block take part.
        whole: bool,
    },
}

/// An access by some lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// The state space.
    pub space: Space,
    /// Read, write or atomic.
    pub access: Access,
    /// Bytes of each lane.
    pub size: u32,
    /// The block whose shared memory it is; else the warp's own.
    pub block: u64,
    /// The lanes that take part.
    pub lanes: u32,
    /// Each lane's address; an offset in the shared, local and param spaces.
    pub addresses: &'a [u64; 32],
}

/// An access that a step made, with what it read or wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The state space.
    pub space: Space,
    /// Read, write or atomic.
    pub access: Access,
    /// The block whose shared memory it is; else the warp's own.
    pub block: u64,
    /// What each lane did.
    pub lanes: Vec<LaneAccess>,
}

/// The part of one lane in a [`Touch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneAccess {
    /// The lane.
    pub lane: u32,
    /// The first byte; an offset in the shared, local and param spaces.
    pub address: u64,
    /// The bytes before the step.
    pub before: Vec<u8>,
    /// The bytes after it.
    pub after: Vec<u8>,
}

/// Records nothing, but lets the launch pause.
pub(super) struct Nothing;

impl Observer for Nothing {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }
}

/// Records the accesses of one step.
pub(super) struct Recorder {
    places: Places,
    turn: Option<Turn>,
    touched: Vec<Touch>,
}

impl Recorder {
    pub(super) fn new(machine: &Machine) -> Self {
        Self {
            places: Places::of(machine),
            turn: None,
            touched: Vec::new(),
        }
    }

    /// The accesses, with the bytes after the step.
    pub(super) fn finish(mut self, machine: &Machine, table: &Table) -> Vec<Touch> {
        for touch in &mut self.touched {
            if touch.access == Access::Read {
                continue;
            }
            let block = machine.block(touch.block);
            for lane in &mut touch.lanes {
                let bytes = &mut lane.after[..];
                match (touch.space, block) {
                    (Space::Shared, Some(block)) => {
                        copy_shared(block.shared(), lane.address, bytes)
                    }
                    (Space::Local, Some(block)) => {
                        let warp = self.turn.map_or(0, |turn| turn.warp);
                        let warp = &block.warps()[warp as usize];
                        for (byte, at) in bytes.iter_mut().zip(lane.address..) {
                            *byte = warp.local_byte(at, lane.lane as usize).unwrap_or(*byte);
                        }
                    }
                    // It was just accessed.
                    (Space::Global, _) => table.read(lane.address, bytes).unwrap_or_default(),
                    _ => {}
                }
            }
        }
        self.touched
    }
}

/// Bytes of shared memory from an offset on.
pub(super) fn copy_shared(words: &[u32], offset: u64, bytes: &mut [u8]) {
    for (byte, at) in bytes.iter_mut().zip(offset..) {
        if let Some(word) = words.get((at / 4) as usize) {
            *byte = word.to_le_bytes()[(at % 4) as usize];
        }
    }
}

impl Observer for Recorder {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn turn(&mut self, turn: &Turn) {
        self.turn = Some(*turn);
    }

    fn access(&mut self, _pc: u32, seen: &Seen<'_>, _frame: &Frame<'_>, memory: &Memory<'_>) {
        let (space, base) = space_of(seen);
        let slot = self.turn.map_or(0, |turn| turn.slot);
        let block = self.places.owner(slot, seen.region);
        let one = |lane: usize| {
            let offset = seen.offsets[lane];
            let bytes =
                (0..u64::from(seen.size)).map(|at| memory.look(seen.region, offset + at, lane));
            let before: Vec<u8> = bytes.collect();
            LaneAccess {
                lane: lane as u32,
                address: base + offset,
                after: before.clone(),
                before,
            }
        };
        let lanes: Vec<LaneAccess> = lanes(seen.lanes).map(one).collect();
        // The elements of one access may arrive one by one.
        self.touched.push(Touch {
            space,
            access: seen.access,
            block,
            lanes,
        });
    }
}

/// Forwards events, step by step.
pub(super) struct Scanner<'v> {
    places: Places,
    turn: Turn,
    /// The running step's number, plus one.
    steps: u64,
    visit: &'v mut (dyn FnMut(u64, &Event<'_>) + Send),
    now: Option<Instruction>,
}

impl<'v> Scanner<'v> {
    /// A scanner that starts at the machine's moment.
    pub(super) fn new(
        machine: &Machine,
        at: u64,
        visit: &'v mut (dyn FnMut(u64, &Event<'_>) + Send),
    ) -> Self {
        Self {
            places: Places::of(machine),
            turn: Turn {
                slot: 0,
                warp: 0,
                base: Base::default(),
                live: 0,
            },
            steps: at,
            visit,
            now: None,
        }
    }

    fn begins(&mut self, pc: u32, lanes: u32, active: u32, waits: bool) {
        let now = Instruction {
            block: self.places.number(self.turn.slot),
            warp: self.turn.warp,
            pc,
            lanes,
            active,
            waits,
        };
        self.now = Some(now);
        self.steps += 1;
        (self.visit)(self.steps - 1, &Event::Step(now));
    }
}

impl Observer for Scanner<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, _index: [u32; 3]) {
        self.places.block(slot, number);
    }

    fn turn(&mut self, turn: &Turn) {
        self.turn = *turn;
    }

    fn step(&mut self, _: &Program, pc: u32, mask: u32, active: u32, _: &Frame<'_>) {
        self.begins(pc, mask, active, false);
    }

    fn skip(&mut self, pc: u32, active: u32, _: &Frame<'_>) {
        self.begins(pc, 0, active, false);
    }

    fn waits(&mut self, pc: u32, mask: u32) {
        self.begins(pc, mask, mask, true);
    }

    fn access(&mut self, _pc: u32, seen: &Seen<'_>, _: &Frame<'_>, _: &Memory<'_>) {
        let Some(now) = self.now else {
            return;
        };
        let (space, base) = space_of(seen);
        let addresses = seen.offsets.map(|offset| base.wrapping_add(offset));
        let accesses = Accesses {
            space,
            access: seen.access,
            size: seen.size,
            block: self.places.owner(self.turn.slot, seen.region),
            lanes: seen.lanes,
            addresses: &addresses,
        };
        (self.visit)(self.steps - 1, &Event::Access(now, accesses));
    }

    fn barrier(&mut self, slot: usize, complete: &Complete<'_>) {
        let block = self.places.number(slot);
        let whole = complete.whole;
        let step = self.steps.saturating_sub(1);
        (self.visit)(step, &Event::Barrier { block, whole });
    }
}

/// The space that an access goes to, and the address of offset 0.
fn space_of(seen: &Seen<'_>) -> (Space, u64) {
    match seen.region {
        Region::Global(allocation) if allocation.base >= CONST_BASE => {
            (Space::Const, allocation.base)
        }
        Region::Global(allocation) => (Space::Global, allocation.base),
        Region::Shared | Region::Peer(_) => (Space::Shared, 0),
        Region::Local => (Space::Local, 0),
        Region::Param => (Space::Param, 0),
    }
}

/// Which block is in which slot of the worker.
struct Places {
    /// Blocks of a cluster, whose slots lie together.
    cluster: usize,
    numbers: Vec<u64>,
}

impl Places {
    fn of(machine: &Machine) -> Self {
        let mut places = Self {
            cluster: machine.cluster_blocks(),
            numbers: Vec::new(),
        };
        for block in machine.blocks() {
            places.block(block.slot(), block.number());
        }
        places
    }

    fn block(&mut self, slot: usize, number: u64) {
        if self.numbers.len() <= slot {
            self.numbers.resize(slot + 1, 0);
        }
        self.numbers[slot] = number;
    }

    fn number(&self, slot: usize) -> u64 {
        self.numbers.get(slot).copied().unwrap_or(0)
    }

    /// The block that owns a region, as seen from the block in a slot.
    fn owner(&self, slot: usize, region: Region<'_>) -> u64 {
        match region {
            Region::Peer(rank) => self.number(slot - slot % self.cluster + rank as usize),
            _ => self.number(slot),
        }
    }
}
