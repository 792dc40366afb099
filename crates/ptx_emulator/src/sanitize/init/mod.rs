//! initcheck: uses of uninitialised values.
//!
//! Loading an undefined value is not a mistake: compilers load before the test that decides whether
//! the value is needed, and copy structs with their padding. Undefined bits are therefore tracked
//! through registers ([`follow`]), shared and local memory ([`transfer`]), and reported where they
//! matter: when they decide a branch, are used as an address, or are an operand of a barrier, of a
//! shuffle's lane selection or of an atomic, or are stored to global memory. A store in which only
//! whole bytes are undefined counts as a copy of a struct with padding.
//!
//! Initialised memory is: in registers, shared and local memory, what the program has stored since
//! they came into existence; in global memory, what the host wrote and checked launches stored
//! since the allocation. A launch that this detector did not observe may have written anywhere, so
//! after it everything counts as initialised. A module's variables always do.
//!
//! The heap of device code is treated like shared memory: a chunk is uninitialised when `malloc`
//! returns it, and undefined bits may be stored there, because a growing vector copies its spare
//! capacity too.
//!
//! Most warps hold no undefined value. Then an instruction costs one test, and an access a few.

mod entry;
mod exchange;
mod follow;
mod matrix;
mod outputs;
mod registers;
mod report;
mod spread;
mod stored;
mod transfer;

use super::{Actor, Context, Ledger};
use crate::decode::Cell;
use crate::decode::op::Op;
use crate::exec::{Frame, Region, Request, Turn, lanes};
use crate::memory::{Allocation, Defined};
use follow::Step;
use outputs::Outputs;
use registers::{Origin, Registers, Source};
use std::collections::HashMap;
use std::ops::Range;
use stored::{Room, Stored};

/// The detector's state for one launch.
pub(crate) struct Init {
    shared_bytes: u64,
    /// Number of blocks in a cluster; their slots are adjacent.
    cluster: usize,
    /// Parts of shared memory in no variable, and those that system software sets up.
    preset: Vec<Range<u64>>,
    /// The registers undefined at the entry of each function called.
    entries: HashMap<u32, Vec<Cell>>,
    blocks: Vec<Block>,
    global: Written,
    outputs: Outputs,
    /// Address of device code's heap, which is always in `global`; without a heap, an address in no
    /// allocation.
    heap: u64,
    heap_stored: Stored,
    room: Room,
    /// Shared-memory destination of the running asynchronous copy.
    copy_to: u64,
}

/// What is initialised in allocations that were not entirely initialised at launch, by address.
pub(crate) type Written = HashMap<u64, Defined>;

#[derive(Default)]
struct Block {
    shared: Defined,
    stored: Stored,
    warps: Vec<Warp>,
}

#[derive(Default)]
struct Warp {
    registers: Registers,
    /// For each byte of local memory, the lanes in which it is undefined.
    local: Vec<u32>,
    stored: Stored,
}

/// What is initialised in an allocation, in a form from which bytes can be removed.
fn written(allocation: &Allocation) -> Defined {
    let mut defined = allocation.defined().clone();
    if defined.is_complete() {
        defined = Defined::nothing(allocation.size);
        defined.fill(0, allocation.size);
    }
    defined
}

impl Init {
    pub(crate) fn new(request: &Request<'_>, preset: impl Iterator<Item = Range<u64>>) -> Self {
        let allocations = request.table.allocations().iter();
        let heap = request.table.heap_base();
        let unwritten = allocations
            .filter(|allocation| allocation.base == heap || !allocation.defined().is_complete());
        Self {
            shared_bytes: request.shared_bytes,
            cluster: request.program.functions[request.kernel.function as usize].cluster_blocks()
                as usize,
            preset: preset.collect(),
            entries: HashMap::new(),
            blocks: Vec::new(),
            global: unwritten
                .map(|allocation| (allocation.base, written(allocation)))
                .collect(),
            outputs: Outputs::new(request),
            heap,
            heap_stored: Stored::default(),
            room: Room::new(),
            copy_to: 0,
        }
    }

    /// Reports outputs that a launch without a fault has left partly unwritten.
    pub(crate) fn report_outputs(&self, context: &Context<'_>, ledger: &mut Ledger) {
        self.outputs.report(context, ledger, &self.global);
    }

    /// What the launch has initialised.
    pub(crate) fn finish(self) -> Written {
        self.global
    }

    pub(crate) fn block(&mut self, slot: usize) {
        if self.blocks.len() <= slot {
            self.blocks.resize_with(slot + 1, Block::default);
        }
        let block = &mut self.blocks[slot];
        block.shared.clear(self.shared_bytes);
        // Gaps count as initialised, so that shared memory is complete once all variables are.
        for part in &self.preset {
            block.shared.fill(part.start, part.end - part.start);
        }
        block.stored.clear(&mut self.room);
        for warp in &mut block.warps {
            warp.stored.clear(&mut self.room);
        }
        block.warps.clear();
    }

    pub(crate) fn enters(&mut self, context: &Context<'_>, turn: &Turn, mask: u32) {
        let (program, index) = (context.program, turn.base.function);
        let function = &program.functions[index as usize];
        let entry = self.entries.entry(index);
        let unset = &*entry.or_insert_with(|| entry::read_first(program, function));
        let warps = &mut self.blocks[turn.slot].warps;
        if warps.len() <= turn.warp as usize {
            warps.resize_with(turn.warp as usize + 1, Warp::default);
        }
        let warp = &mut warps[turn.warp as usize];
        warp.registers.leave(&turn.base, mask);
        let slot = &context.slots[turn.slot];
        let entering = mask & turn.live;
        let actor = Actor {
            pc: function.start.unwrap_or(0),
            block: slot.number,
            thread: 32 * turn.warp,
            epoch: slot.epoch,
        };
        for &cell in unset {
            let function = index;
            let source = Source::Register { function, cell };
            let origin = Origin {
                actor,
                source,
                through: None,
            };
            let registers = &mut warp.registers;
            registers.set_all(&turn.base, cell, entering, u64::MAX, origin);
        }
        let local = turn.base.local as usize..(turn.base.local + function.local_bytes) as usize;
        if warp.local.len() < local.end {
            warp.local.resize(local.end, 0);
        }
        let bytes = local.start as u64..local.end as u64;
        warp.stored.forget(bytes, mask, &mut self.room);
        warp.local[local].iter_mut().for_each(|byte| *byte |= mask);
    }

    pub(crate) fn copies_local(&mut self, turn: &Turn, from: u32, to: u32, size: u32, mask: u32) {
        let Warp { local, stored, .. } = &mut self.blocks[turn.slot].warps[turn.warp as usize];
        for byte in 0..size {
            let undefined = local.get((from + byte) as usize).map_or(0, |&lanes| lanes);
            if let Some(lanes) = local.get_mut((to + byte) as usize) {
                *lanes = *lanes & !mask | undefined & mask;
            }
            for lane in lanes(undefined & mask) {
                if let Some(origin) = stored.get((u64::from(from + byte), lane), 1) {
                    stored.put((u64::from(to + byte), lane), 1, origin, &mut self.room);
                }
            }
        }
    }

    pub(crate) fn writes_local(&mut self, turn: &Turn, to: u32, size: u32, mask: u32) {
        let local = &mut self.blocks[turn.slot].warps[turn.warp as usize].local;
        let bytes = local.iter_mut().skip(to as usize).take(size as usize);
        bytes.for_each(|lanes| *lanes &= !mask);
    }

    /// A heap chunk is uninitialised again when it is reallocated.
    pub(crate) fn takes(&mut self, heap: u64, chunk: Range<u64>) {
        self.heap_stored.forget(chunk.clone(), 1, &mut self.room);
        if let Some(defined) = self.global.get_mut(&heap) {
            defined.forget(chunk);
        }
    }

    /// An integer division by zero has an undefined result. Compilers divide in lanes whose result
    /// is unused, so it is reported where it is used.
    pub(crate) fn divides_by_zero(&mut self, context: &Context<'_>, pc: u32, lanes: u32) {
        let Op::Lane(op) = &context.program.code[pc as usize].op else {
            return;
        };
        let turn = &context.turn;
        let origin = Origin {
            actor: context.actor(pc, lanes.trailing_zeros() as usize & 31),
            source: Source::Division,
            through: None,
        };
        let warp = &mut self.blocks[turn.slot].warps[turn.warp as usize];
        if let Some(d) = op.d {
            let registers = &mut warp.registers;
            registers.set_all(&turn.base, d.into(), lanes, u64::MAX, origin);
        }
    }

    /// Whether only device code that loads from the region can see what is stored there.
    fn is_private(&self, region: Region<'_>) -> bool {
        !matches!(region, Region::Global(allocation) if allocation.base != self.heap)
    }

    /// Propagates undefined values through an instruction; `mask` has the lanes of `active` whose
    /// guard is true.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        (mask, active): (u32, u32),
        frame: &Frame<'_>,
    ) {
        let turn = &context.turn;
        let warp = &mut self.blocks[turn.slot].warps[turn.warp as usize];
        if warp.registers.any() {
            let registers = &mut warp.registers;
            Step::new(context, ledger, registers, pc).follow(mask, active, frame);
        }
    }
}
