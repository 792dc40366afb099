//! Racy reads whose value is never used.
//!
//! A compiler may run copies of a computation in several warps and let one of them store: Triton
//! does in small blocks. If the kernel works in place, a copy may read what the owner has already
//! written. That is a race, but without effect: the copy stores nothing.
//!
//! After a run with such [suspects](Suspects), the same run is repeated twice: once to learn which
//! threads write which bytes, and once to follow the values that the suspected loads read. If none
//! from a byte of another thread reaches a store, an atomic, an address, a branch or a vote, those
//! reads have no effect. The execution then depends on none of these values, so the repetitions are
//! exact. If no value of the loads is used at all, they are no copies, and the race stays an error.

use super::Context;
use crate::decode::op::{Inst, Op, WarpKind};
use crate::decode::{Cell, Program};
use crate::exec::{
    self, Base, Frame, Memory, Observer, Region, Request, Seen, Turn, lanes, shuffle_sources, waits,
};
use crate::fault::Access;
use crate::memory::Image;
use std::collections::{HashMap, HashSet};

/// Bytes of memory in a page of [`Writers`].
const PAGE_BYTES: u64 = 4096;
/// Limit for the number of pages, which take four times as many bytes on the host.
const MAX_PAGES: usize = 1 << 14;

/// Races of a plain read of global memory with a write: the instructions of both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    pairs: HashSet<(u32, u32)>,
    /// No value that was read from another thread's byte is used.
    unused: bool,
}

impl Suspects {
    /// Adds a pair of a read and a write, if they are not known; returns whether the read is known
    /// to have no effect.
    pub(super) fn is_harmless(&mut self, read: u32, write: u32) -> bool {
        self.unused && self.pairs.contains(&(read, write)) || {
            self.pairs.insert((read, write));
            false
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The suspects of a run that began with the memory `before`, if their values are not used.
    pub(super) fn confirm(mut self, request: &Request<'_>, before: &Image) -> Option<Self> {
        let mut writers = Writers::new(request, self.pairs.iter().map(|pair| pair.1));
        request.table.restore(before);
        exec::watch(request.clone(), &mut [&mut writers]);
        if writers.is_full {
            return None;
        }
        let mut values = Values::new(request, self.pairs.iter().map(|pair| pair.0), writers);
        request.table.restore(before);
        exec::watch(request.clone(), &mut [&mut values]);
        self.unused = values.used[OWN] && !values.used[FOREIGN];
        self.unused.then_some(self)
    }
}

/// The threads that write bytes of global memory.
struct Writers<'a> {
    context: Context<'a>,
    /// The instructions observed.
    writes: HashSet<u32>,
    /// By page of the address: the writer of each byte.
    pages: HashMap<u64, Box<[Writer]>>,
    /// There are more pages than fit.
    is_full: bool,
}

/// One more than the number of the thread in the grid; 0 is none.
type Writer = u32;
const SEVERAL: Writer = Writer::MAX;

impl<'a> Writers<'a> {
    fn new(request: &Request<'a>, writes: impl Iterator<Item = u32>) -> Self {
        let config = request.config;
        let extents = config.grid.iter().chain(&config.block);
        let threads: u128 = extents.map(|&extent| u128::from(extent)).product();
        Self {
            context: Context::new(request),
            writes: writes.collect(),
            pages: HashMap::new(),
            is_full: threads >= SEVERAL.into(),
        }
    }

    /// Whether another thread writes one of the bytes.
    fn is_foreign(&self, thread: Writer, address: u64, size: u32) -> bool {
        (address..address + u64::from(size)).any(|byte| {
            let page = self.pages.get(&(byte / PAGE_BYTES));
            page.is_some_and(|page| ![0, thread].contains(&page[(byte % PAGE_BYTES) as usize]))
        })
    }

    fn note(&mut self, thread: Writer, address: u64, size: u32) {
        for byte in address..address + u64::from(size) {
            let number = byte / PAGE_BYTES;
            if self.pages.len() >= MAX_PAGES && !self.pages.contains_key(&number) {
                self.is_full = true;
                return;
            }
            let page = self.pages.entry(number);
            let page = page.or_insert_with(|| vec![0; PAGE_BYTES as usize].into());
            let writer = &mut page[(byte % PAGE_BYTES) as usize];
            *writer = if [0, thread].contains(writer) {
                thread
            } else {
                SEVERAL
            };
        }
    }
}

/// The lane's thread in the grid, as a writer.
fn writer(context: &Context<'_>, lane: usize) -> Writer {
    let threads = context.config.block.iter().product::<u32>();
    context.slot().number as u32 * threads + 32 * context.turn.warp + lane as u32 + 1
}

impl Observer for Writers<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        self.context.block(slot, number, index);
    }

    fn turn(&mut self, turn: &Turn) {
        self.context.turn = *turn;
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, _: &Frame<'_>, _: &Memory<'_>) {
        if let Region::Global(allocation) = seen.region
            && seen.access != Access::Read
            && self.writes.contains(&pc)
        {
            for lane in lanes(seen.lanes) {
                let thread = writer(&self.context, lane);
                self.note(thread, allocation.base + seen.offsets[lane], seen.size);
            }
        }
    }
}

/// Follows the values that some loads read, through registers.
struct Values<'a> {
    reads: HashSet<u32>,
    writers: Writers<'a>,
    /// By slot and warp.
    warps: HashMap<(usize, u32), [Followed; 2]>,
    /// Whether a value of either kind may have an effect.
    used: [bool; 2],
}

/// The kinds of values: read from bytes that another thread writes, and from others.
const FOREIGN: usize = 0;
const OWN: usize = 1;

/// The lanes of each register that hold a value of one kind.
type Followed = HashMap<(usize, usize), u32>;

impl<'a> Values<'a> {
    fn new(request: &Request<'a>, reads: impl Iterator<Item = u32>, writers: Writers<'a>) -> Self {
        Self {
            reads: reads.collect(),
            writers: Writers {
                context: Context::new(request),
                ..writers
            },
            warps: HashMap::new(),
            used: [false; 2],
        }
    }

    fn follow(&mut self, pc: u32, (mask, active): (u32, u32), frame: &Frame<'_>) {
        let context = &self.writers.context;
        let Turn {
            slot, warp, base, ..
        } = context.turn;
        let inst = &context.program.code[pc as usize];
        let Some(kinds) = self.warps.get_mut(&(slot, warp)) else {
            return;
        };
        if waits(&inst.op, mask, frame) {
            return;
        }
        for (followed, used) in kinds.iter_mut().zip(&mut self.used) {
            if !followed.is_empty() {
                *used |= follow(followed, inst, (mask, active), &base, frame);
            }
        }
    }
}

/// Computes which results hold a followed value; returns whether the instruction uses one in any
/// other way.
fn follow(
    followed: &mut Followed,
    Inst { guard, op }: &Inst,
    (mask, active): (u32, u32),
    base: &Base,
    frame: &Frame<'_>,
) -> bool {
    let lanes_of = |cell: Cell| followed.get(&base.place(cell)).map_or(0, |&lanes| lanes);
    let undecided = lanes_of((*guard).into()) & active;
    let mut operands = 0;
    op.reads(|cell| operands |= lanes_of(cell) & mask);
    let exchange = match op {
        Op::Warp(op) => Some((op.members, &op.kind)),
        _ => None,
    };
    let (result, used) = match exchange {
        Some((members, &WarpKind::Shuffle { mode, a, b, c, .. })) => {
            let selecting = [members, b, c].map(|row| lanes_of(Cell::R32(row)) & mask);
            let (sources, _) = shuffle_sources(mode, frame.r32(b), frame.r32(c));
            let value = lanes_of(Cell::R32(a));
            let result = lanes(mask).filter(|&lane| value >> (sources[lane] & 31) & 1 != 0);
            let result = result.fold(0, |all, lane| all | 1 << lane);
            (result, selecting != [0; 3] || undecided != 0)
        }
        None if op.only_computes() => (operands | undecided, false),
        _ => (0, operands | undecided != 0),
    };
    let mut results = Vec::new();
    op.writes(|d| results.push(base.place(d)));
    for d in results {
        let lanes = followed.get(&d).map_or(0, |&lanes| lanes) & !mask | result;
        if lanes == 0 {
            followed.remove(&d);
        } else {
            followed.insert(d, lanes);
        }
    }
    used
}

impl Observer for Values<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        self.writers.context.block(slot, number, index);
        self.warps.retain(|&(of, _), _| of != slot);
    }

    fn turn(&mut self, turn: &Turn) {
        self.writers.context.turn = *turn;
    }

    fn step(&mut self, _: &Program, pc: u32, mask: u32, active: u32, frame: &Frame<'_>) {
        self.follow(pc, (mask, active), frame);
    }

    fn skip(&mut self, pc: u32, active: u32, frame: &Frame<'_>) {
        self.follow(pc, (0, active), frame);
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, _: &Frame<'_>, _: &Memory<'_>) {
        let Region::Global(allocation) = seen.region else {
            return;
        };
        let context = &self.writers.context;
        let Op::Load(transfer) = &context.program.code[pc as usize].op else {
            return;
        };
        if !self.reads.contains(&pc) {
            return;
        }
        let foreign = lanes(seen.lanes).filter(|&lane| {
            let address = allocation.base + seen.offsets[lane];
            self.writers
                .is_foreign(writer(context, lane), address, seen.size)
        });
        let foreign = foreign.fold(0, |all, lane| all | 1 << lane);
        let Turn {
            slot, warp, base, ..
        } = context.turn;
        let kinds = self.warps.entry((slot, warp)).or_default();
        for cell in (0..usize::from(transfer.count)).filter_map(|at| transfer.cell(at)) {
            *kinds[FOREIGN].entry(base.place(cell)).or_default() |= foreign;
            *kinds[OWN].entry(base.place(cell)).or_default() |= seen.lanes & !foreign;
        }
    }
}
