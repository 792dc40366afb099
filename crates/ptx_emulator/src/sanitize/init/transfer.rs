//! Undefined values moving between registers and memory.

use super::follow::Step;
use super::registers::{Origin, Source};
use super::report::Use;
use super::{Init, Warp};
use crate::decode::Cell;
use crate::decode::op::{
    AtomicKind, AtomicOp, CopyAsync, MatrixKind, Op, SurfaceKind, TextureOp, Transfer,
};
use crate::exec::{Region, Seen, lanes};
use crate::fault::Access;
use crate::sanitize::context::address;
use crate::sanitize::finding::Target;
use crate::sanitize::{Context, Ledger};

impl Init {
    /// An instruction is about to access memory.
    #[inline(always)]
    pub(crate) fn access(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
    ) {
        let slot = context.turn.slot;
        let peer = match seen.region {
            Region::Peer(rank) => slot - slot % self.cluster + rank as usize,
            _ => slot,
        };
        self.exchange(slot, peer);
        self.follow_access(context, ledger, pc, seen);
        self.exchange(slot, peer);
    }

    /// Swaps the shared-memory state of two blocks, so that one can act on the other's.
    #[inline(always)]
    fn exchange(&mut self, own: usize, peer: usize) {
        if own != peer
            && let Ok([own, peer]) = self.blocks.get_disjoint_mut([own, peer])
        {
            std::mem::swap(&mut own.shared, &mut peer.shared);
            std::mem::swap(&mut own.stored, &mut peer.stored);
        }
    }

    #[inline(always)]
    fn follow_access(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
    ) {
        // Nothing is undefined in the memory or the warp: nothing can change.
        let turn = &context.turn;
        let block = &self.blocks[turn.slot];
        let known = match seen.region {
            Region::Global(allocation) => {
                allocation.base != self.heap && allocation.defined().is_complete()
            }
            Region::Shared | Region::Peer(_) => block.shared.is_complete(),
            Region::Param => true,
            Region::Local => false,
        };
        if !known {
            self.outputs.access(context, ledger.steps, pc, seen);
        }
        let block = &self.blocks[turn.slot];
        let concerns = !known || block.warps[turn.warp as usize].registers.any();
        if concerns && !(seen.access == Access::Read && self.has_values(context, seen)) {
            self.transfer(context, ledger, pc, seen);
        }
    }

    /// Whether everything that a load reads is initialised, so that nothing changes.
    fn has_values(&self, context: &Context<'_>, seen: &Seen<'_>) -> bool {
        let defined = match seen.region {
            Region::Global(allocation) => match self.global.get(&allocation.base) {
                Some(defined) => defined,
                None => return true,
            },
            Region::Shared | Region::Peer(_) => &self.blocks[context.turn.slot].shared,
            Region::Local => return false,
            Region::Param => return true,
        };
        lanes(seen.lanes).all(|lane| defined.missing(seen.offsets[lane], seen.size) == 0)
    }

    #[inline(never)]
    fn transfer(&mut self, context: &Context<'_>, ledger: &mut Ledger, pc: u32, seen: &Seen<'_>) {
        match context.program.code[pc as usize].op {
            Op::Load(ref transfer) => self.load(context, pc, seen, transfer),
            Op::Store(ref transfer) => self.store(context, ledger, pc, seen, transfer),
            Op::Atomic(ref op) => self.update(context, ledger, pc, seen, op),
            Op::CopyAsync(ref op) => self.copy(context, pc, seen, op),
            Op::Matrix(ref op) => match op.kind {
                MatrixKind::LoadMatrix { transposed } => {
                    self.load_matrix(context, pc, seen, op, transposed);
                }
                MatrixKind::Group(_) => {}
                MatrixKind::Load(_) => self.load_tile(context, pc, seen, op),
                _ => self.store_matrix(context, ledger, pc, seen, op),
            },
            Op::CopyBulk(_) | Op::CopyTensor(_) if seen.access != Access::Read => {
                lanes(seen.lanes).for_each(|lane| self.define(context, seen, lane, 0));
            }
            Op::Texture(ref op) => self.fetch(context, pc, seen, op),
            Op::Surface(ref op) => match op.kind {
                SurfaceKind::Load(ref t) => self.load(context, pc, seen, t),
                SurfaceKind::Store(ref t) => self.store(context, ledger, pc, seen, t),
                SurfaceKind::StoreTexel(_) => {
                    lanes(seen.lanes).for_each(|lane| self.define(context, seen, lane, 0));
                }
                SurfaceKind::Reduce { ref op, .. } => self.update(context, ledger, pc, seen, op),
            },
            // Any operation but `init` on an uninitialised object is a fault.
            Op::Mbarrier(_) => {
                lanes(seen.lanes).for_each(|lane| self.define(context, seen, lane, 0))
            }
            _ => {}
        }
    }

    /// The uninitialised bytes of a lane's access, as bits.
    pub(super) fn missing(&self, context: &Context<'_>, seen: &Seen<'_>, lane: usize) -> u32 {
        let (offset, size) = (seen.offsets[lane], seen.size);
        match seen.region {
            Region::Global(allocation) => match self.global.get(&allocation.base) {
                Some(defined) => defined.missing(offset, size),
                None => 0,
            },
            Region::Shared | Region::Peer(_) => {
                self.blocks[context.turn.slot].shared.missing(offset, size)
            }
            Region::Local => {
                let warp = &self.blocks[context.turn.slot].warps[context.turn.warp as usize];
                local_bits(warp, offset, size, lane)
            }
            Region::Param => 0,
        }
    }

    /// A lane's access initialises bytes, except those in `undefined`.
    pub(super) fn define(
        &mut self,
        context: &Context<'_>,
        seen: &Seen<'_>,
        lane: usize,
        undefined: u32,
    ) {
        let (offset, size) = (seen.offsets[lane], seen.size);
        let block = &mut self.blocks[context.turn.slot];
        match seen.region {
            Region::Global(allocation) => {
                if let Some(defined) = self.global.get_mut(&allocation.base) {
                    defined.store(offset, size, undefined);
                }
            }
            Region::Shared | Region::Peer(_) => block.shared.store(offset, size, undefined),
            Region::Local => {
                let local = &mut block.warps[context.turn.warp as usize].local;
                for byte in 0..size {
                    if let Some(lanes) = local.get_mut((offset + u64::from(byte)) as usize) {
                        *lanes = *lanes & !(1 << lane) | (undefined >> byte & 1) << lane;
                    }
                }
            }
            Region::Param => {}
        }
    }

    /// Records the origin of undefined bytes of a lane's access, given as bits from `at`.
    pub(super) fn keep(
        &mut self,
        context: &Context<'_>,
        seen: &Seen<'_>,
        lane: usize,
        (at, bytes): (u32, u32),
        origin: Origin,
    ) {
        let offset = seen.offsets[lane] + u64::from(at);
        let block = &mut self.blocks[context.turn.slot];
        let (stored, lane) = match seen.region {
            Region::Global(_) => (&mut self.heap_stored, 0),
            Region::Shared | Region::Peer(_) => (&mut block.stored, 0),
            Region::Local => (&mut block.warps[context.turn.warp as usize].stored, lane),
            Region::Param => return,
        };
        stored.put((offset, lane), bytes, origin, &mut self.room);
    }

    /// The origin of the undefined bytes `missing` that a lane reads.
    pub(super) fn origin(
        &self,
        context: &Context<'_>,
        pc: u32,
        seen: &Seen<'_>,
        lane: usize,
        missing: u32,
    ) -> Origin {
        let offset = seen.offsets[lane];
        let block = &self.blocks[context.turn.slot];
        let stored = match seen.region {
            Region::Global(allocation) if allocation.base == self.heap => {
                self.heap_stored.get((offset, 0), missing)
            }
            Region::Shared | Region::Peer(_) => block.stored.get((offset, 0), missing),
            Region::Local => {
                let warp = &block.warps[context.turn.warp as usize];
                warp.stored.get((offset, lane), missing)
            }
            Region::Global(_) | Region::Param => None,
        };
        let (space, address) = address(seen, lane);
        match stored {
            Some(origin) => Origin {
                through: Some(space),
                ..origin
            },
            None => Origin {
                actor: context.actor(pc, lane),
                source: Source::Memory {
                    space,
                    address,
                    size: seen.size,
                    untouched: !(self.room.was_too_small && self.is_private(seen.region)),
                },
                through: None,
            },
        }
    }

    fn load(&mut self, context: &Context<'_>, pc: u32, seen: &Seen<'_>, transfer: &Transfer) {
        if self.is_one_place(context, seen) {
            let lane = seen.lanes.trailing_zeros() as usize;
            return self.load_lane(context, pc, seen, transfer, (lane, seen.lanes));
        }
        for lane in lanes(seen.lanes) {
            self.load_lane(context, pc, seen, transfer, (lane, 1 << lane));
        }
    }

    /// A lane's load, which is that of all lanes of `mask`.
    fn load_lane(
        &mut self,
        context: &Context<'_>,
        pc: u32,
        seen: &Seen<'_>,
        transfer: &Transfer,
        (lane, mask): (usize, u32),
    ) {
        let missing = self.missing(context, seen, lane);
        if missing == 0 {
            return;
        }
        let turn = &context.turn;
        let size = u32::from(transfer.size);
        for element in 0..usize::from(transfer.count) {
            let at = element as u32 * size;
            let bytes = missing >> at & low_bits(size);
            let Some(cell) = transfer.cell(element).filter(|_| bytes != 0) else {
                continue;
            };
            let origin = self.origin(context, pc, seen, lane, bytes << at);
            let mut bits = spread_bytes(bytes);
            if transfer.signed && bytes >> (size - 1) != 0 {
                bits |= u64::MAX << (8 * size - 1);
            }
            let registers = &mut self.blocks[turn.slot].warps[turn.warp as usize].registers;
            if mask == 1 << lane {
                registers.set(&turn.base, cell, lane, bits, origin);
            } else {
                registers.set_all(&turn.base, cell, mask, bits, origin);
            }
        }
    }

    /// Whether all lanes read the same bytes, in local memory undefined in all of them or in none,
    /// and nothing undefined was stored to that memory.
    fn is_one_place(&self, context: &Context<'_>, seen: &Seen<'_>) -> bool {
        let block = &self.blocks[context.turn.slot];
        let nothing_stored = match seen.region {
            Region::Global(allocation) => {
                allocation.base != self.heap || self.heap_stored.is_empty()
            }
            Region::Shared | Region::Peer(_) => block.stored.is_empty(),
            Region::Local => {
                let warp = &block.warps[context.turn.warp as usize];
                let first = seen.lanes.trailing_zeros() as usize;
                let offset = seen.offsets.get(first).map_or(0, |&offset| offset as usize);
                let bytes = warp.local.iter().skip(offset).take(seen.size as usize);
                let mut undefined = bytes.map(|undefined| undefined & seen.lanes);
                warp.stored.is_empty() && undefined.all(|lanes| lanes == 0 || lanes == seen.lanes)
            }
            Region::Param => false,
        };
        let first = seen.lanes.trailing_zeros() as usize;
        let offset = seen.offsets.get(first);
        nothing_stored && lanes(seen.lanes).all(|lane| seen.offsets.get(lane) == offset)
    }

    pub(super) fn set(
        &mut self,
        context: &Context<'_>,
        cell: Cell,
        lane: usize,
        bits: u64,
        origin: Origin,
    ) {
        let turn = &context.turn;
        let registers = &mut self.blocks[turn.slot].warps[turn.warp as usize].registers;
        registers.set(&turn.base, cell, lane, bits, origin);
    }

    fn store(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        transfer: &Transfer,
    ) {
        let turn = &context.turn;
        let private = self.is_private(seen.region);
        let size = u32::from(transfer.size);
        for lane in lanes(seen.lanes) {
            let mut undefined = 0;
            for element in 0..usize::from(transfer.count) {
                let registers = &mut self.blocks[turn.slot].warps[turn.warp as usize].registers;
                let cell = transfer.cell(element);
                let value = cell.and_then(|cell| registers.get(&turn.base, cell, lane));
                let Some((bits, origin)) = value else {
                    continue;
                };
                let bytes = bytes_of(bits) & low_bits(size);
                let at = element as u32 * size;
                if private {
                    undefined |= bytes << at;
                    self.keep(context, seen, lane, (at, bytes), origin);
                } else if bytes == low_bits(size) || spread_bytes(bytes) & !bits != 0 {
                    let target = target(seen, lane, at, size);
                    let mut step = Step::new(context, ledger, registers, pc);
                    step.report(lane, Use::Stored(target), origin);
                }
            }
            self.define(context, seen, lane, undefined);
        }
    }

    fn update(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
        op: &AtomicOp,
    ) {
        let turn = &context.turn;
        for lane in lanes(seen.lanes) {
            let missing = self.missing(context, seen, lane);
            if missing != 0 {
                let origin = self.origin(context, pc, seen, lane, missing);
                // An exchange only returns the old value.
                if op.kind == AtomicKind::Exchange {
                    if let Some(d) = op.d {
                        self.set(context, d.into(), lane, spread_bytes(missing), origin);
                    }
                } else {
                    let usage = Use::Modified(target(seen, lane, 0, seen.size));
                    let registers = &mut self.blocks[turn.slot].warps[turn.warp as usize].registers;
                    let mut step = Step::new(context, ledger, registers, pc);
                    step.report(lane, usage, origin);
                }
            }
            self.define(context, seen, lane, 0);
        }
    }

    /// An undefined texel makes every result computed from it undefined.
    fn fetch(&mut self, context: &Context<'_>, pc: u32, seen: &Seen<'_>, op: &TextureOp) {
        for lane in lanes(seen.lanes) {
            let missing = self.missing(context, seen, lane);
            if missing != 0 {
                let origin = self.origin(context, pc, seen, lane, missing);
                for &d in op.targets.iter().flatten() {
                    self.set(context, Cell::R32(d), lane, u64::MAX, origin);
                }
            }
        }
    }

    /// An asynchronous copy is observed as a write of the destination, followed by a read of the
    /// source unless all of it is zero-filled.
    fn copy(&mut self, context: &Context<'_>, pc: u32, seen: &Seen<'_>, op: &CopyAsync) {
        for lane in lanes(seen.lanes) {
            if seen.access == Access::Write {
                self.copy_to = seen.offsets[lane];
                self.define(context, seen, lane, 0);
            } else {
                let missing = self.missing(context, seen, lane);
                let block = &mut self.blocks[context.turn.slot];
                block.shared.store(self.copy_to, op.size, missing);
                if missing != 0 {
                    let origin = self.origin(context, pc, seen, lane, missing);
                    let stored = &mut self.blocks[context.turn.slot].stored;
                    stored.put((self.copy_to, 0), missing, origin, &mut self.room);
                }
            }
        }
    }
}

fn local_bits(warp: &Warp, offset: u64, size: u32, lane: usize) -> u32 {
    let bytes = &warp.local[offset as usize..];
    let bytes = bytes.iter().take(size as usize).enumerate();
    bytes.fold(0, |bits, (at, lanes)| bits | (lanes >> lane & 1) << at)
}

pub(super) fn target(seen: &Seen<'_>, lane: usize, at: u32, size: u32) -> Target {
    let (space, address) = address(seen, lane);
    Target {
        access: seen.access,
        space,
        address: address + u64::from(at),
        size,
        value: None,
    }
}

pub(super) fn low_bits(count: u32) -> u32 {
    u32::MAX >> (32 - count)
}

/// Expands each bit to eight.
pub(super) fn spread_bytes(bytes: u32) -> u64 {
    (0..8)
        .filter(|byte| bytes >> byte & 1 != 0)
        .fold(0, |bits, byte| bits | 0xff << (8 * byte))
}

/// One bit per non-zero byte.
fn bytes_of(bits: u64) -> u32 {
    let bytes = bits.to_le_bytes().into_iter().enumerate();
    bytes.fold(0, |mask, (at, byte)| mask | u32::from(byte != 0) << at)
}
