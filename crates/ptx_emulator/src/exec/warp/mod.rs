//! A warp: its lanes, grouped into splits at different instructions, and the order in which the
//! splits run.

mod calls;
mod cluster;
mod special;
mod turn;
mod waits;

use super::activity::Activity;
use super::frame::{ALL, Frame, Row32, Row64, lanes};
use super::launch::Launch;
use super::memory::{Memory, SharedWords};
use super::observe::{Arrived, Observer};
use super::raise::Raised;
use super::rounds::Loops;
use super::run::Cursor;
use super::schedule::Schedule;
use super::split::{Base, Split, State};
use crate::fault::Place;
pub(super) use cluster::ClusterPhase;
use special::special_row;

/// Quantum: backward branches of a warp before other splits, warps and blocks get a turn.
const QUANTUM: u32 = 1024;
/// Quantum in a loop that has used up a whole one before: probably a spin lock.
const SPIN_QUANTUM: u32 = 32;
/// Limit for the rows of each file in all active calls of a warp: more than the largest stack has
/// calls for, and few enough for the host's memory.
const MAX_STACK_ROWS: u32 = 1 << 22;

/// 32 threads, their registers and local memory.
#[derive(Clone)]
pub(crate) struct Warp {
    pub(super) index: u32,
    /// Lanes that exist; the last warp of a block may have fewer than 32.
    pub(super) exists: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    pub(super) splits: Vec<Split>,
    pub(super) exits: Vec<(u32, u32)>,
    pub(super) cluster: ClusterPhase,
    pub(super) w32: Vec<Row32>,
    pub(super) w64: Vec<Row64>,
    pub(super) predicates: Vec<u32>,
    pub(super) local: Vec<Row32>,
    offsets: Row64,
    quantum: u32,
    /// A loop that has used up a whole quantum.
    spin: Option<(u32, u32)>,
    /// The next split is the one that waited longest instead of the one at the lowest address.
    fair: bool,
    /// The turn that the launch paused in.
    pub(super) paused: Option<(Split, Cursor)>,
    pub(super) runs: u64,
    pub(super) loops: Loops,
}

/// The surroundings of a running warp.
pub(super) struct WarpContext<'a, 'l, O: ?Sized> {
    pub(super) launch: &'a Launch<'l>,
    pub(super) observer: &'a mut O,
    pub(super) schedule: Option<&'a mut Schedule>,
    /// The block's index among its worker's blocks.
    pub(super) slot: usize,
    pub(super) block: [u32; 3],
    pub(super) shared: &'a mut SharedWords,
    /// Shared memory of the other blocks of the cluster.
    pub(super) peers: Vec<&'a mut SharedWords>,
    /// The block's rank in the cluster.
    pub(super) rank: u32,
    pub(super) hints: &'a mut [u32],
    pub(super) activity: &'a mut Activity,
    /// `bar.arrive`: barrier, thread count, threads.
    pub(super) arrivals: &'a mut Vec<Arrival>,
    pub(super) ticket: &'a mut u64,
    /// The block's clock at the start of the turn.
    pub(super) clock: u64,
    pub(super) warp_instructions: u64,
    pub(super) lane_instructions: u64,
    /// Instructions until the launch pauses.
    pub(super) budget: &'a mut u64,
}

/// Threads that arrived at a barrier without waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) id: u32,
    pub(super) count: u32,
    pub(super) threads: u32,
    pub(super) who: Arrived,
    pub(super) pc: u32,
}

/// How a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// It can continue.
    QuantumEnd,
    /// All its lanes wait or have exited.
    Stopped,
    /// The launch pauses in the middle of it.
    Paused,
}

/// A fault with its instruction.
pub(super) struct RaisedAt {
    pub(super) raised: Box<Raised>,
    pub(super) pc: u32,
}

impl Warp {
    pub(super) fn new(index: u32) -> Self {
        Self {
            index,
            exists: 0,
            live: 0,
            splits: Vec::new(),
            exits: Vec::new(),
            cluster: ClusterPhase::default(),
            w32: Vec::new(),
            w64: Vec::new(),
            predicates: Vec::new(),
            local: Vec::new(),
            offsets: [0; 32],
            quantum: QUANTUM,
            spin: None,
            fair: false,
            paused: None,
            runs: 0,
            loops: Loops::default(),
        }
    }

    /// Starts a warp of a new block at the kernel's first instruction.
    pub(super) fn start<O: Observer + ?Sized>(&mut self, around: &mut WarpContext<'_, '_, O>) {
        let launch = around.launch;
        let threads = launch.threads - 32 * self.index;
        self.exists = if threads >= 32 {
            ALL
        } else {
            (1 << threads) - 1
        };
        self.live = self.exists;
        self.paused = None;
        self.exits.clear();
        self.splits.clear();
        self.cluster = ClusterPhase::default();
        (self.quantum, self.spin, self.fair) = (QUANTUM, None, false);
        self.loops = Loops::default();
        let base = Base {
            function: launch.entry,
            ..Base::default()
        };
        self.enter(around, base, ALL);
        let function = &launch.program.functions[launch.entry as usize];
        let pc = function.start.unwrap_or(0);
        let (mask, state) = (self.exists, State::Runnable);
        self.splits.push(Split {
            pc,
            mask,
            state,
            base,
            stack: Vec::new(),
            last_run: 0,
        });
    }

    /// Creates a frame for a function, with its constants, special registers and zeros, in some
    /// lanes.
    fn enter<O: Observer + ?Sized>(
        &mut self,
        around: &mut WarpContext<'_, '_, O>,
        base: Base,
        mask: u32,
    ) {
        let (launch, block) = (around.launch, around.block);
        around.observer.enters(&self.turn(around, base), mask);
        fn grow<T: Clone>(rows: &mut Vec<T>, end: u32, zero: T) {
            if rows.len() < end as usize {
                rows.resize(end as usize, zero);
            }
        }
        let function = &launch.program.functions[base.function as usize];
        grow(&mut self.w32, base.w32 + function.rows.w32, [0; 32]);
        grow(&mut self.w64, base.w64 + function.rows.w64, [0; 32]);
        grow(
            &mut self.predicates,
            base.predicates + function.rows.predicates,
            0,
        );
        let local_end = (base.local + function.local_bytes).div_ceil(4) + 1;
        grow(&mut self.local, local_end, [0; 32]);

        for row in &mut self.local[(base.local / 4) as usize..local_end as usize] {
            lanes(mask).for_each(|lane| row[lane] = 0);
        }
        let predicates = &mut self.predicates[base.predicates as usize..];
        predicates[..function.rows.predicates as usize]
            .iter_mut()
            .for_each(|lanes| *lanes &= !mask);
        // Not in other lanes: they may be in another function that uses the same row.
        predicates[0] |= mask;
        let mut frame = Frame {
            w32: &mut self.w32[base.w32 as usize..],
            w64: &mut self.w64[base.w64 as usize..],
            predicates,
            dead: 0,
        };
        for &row in &function.registers32 {
            frame.set32(row, &[0; 32], mask);
        }
        for &row in &function.registers64 {
            frame.set64(row, &[0; 32], mask);
        }
        let constants = &launch.constants[base.function as usize];
        for &(row, value) in &constants.w32 {
            frame.set32(row, &[value; 32], mask);
        }
        for &(row, value) in &constants.w64 {
            frame.set64(row, &[value; 32], mask);
        }
        if let Some(row) = function.local_base {
            frame.set64(row, &[u64::from(base.local); 32], mask);
        }
        for &(row, special) in &function.specials {
            let value = special_row(special, launch, (block, around.rank), self.index);
            frame.set32(row, &value, mask);
        }
    }

    /// Lets all lanes of a split except `mask` continue past its instruction; returns the split of
    /// `mask`, still at it.
    fn leave_others(&mut self, split: Split, mask: u32) -> Split {
        self.push(Split {
            pc: split.pc + 1,
            mask: split.mask & !mask,
            ..split.clone()
        });
        Split { mask, ..split }
    }

    /// Adds a split, merging it with one at the same place.
    pub(super) fn push(&mut self, split: Split) {
        if split.mask == 0 {
            return;
        }
        match self.splits.iter_mut().find(|other| other.meets(&split)) {
            Some(other) => {
                other.mask |= split.mask;
                other.state = other.state.later(split.state);
            }
            None => self.splits.push(split),
        }
    }

    /// Merges splits at the same place.
    pub(super) fn merge(&mut self) {
        if self.splits.len() > 1 {
            for split in std::mem::take(&mut self.splits) {
                self.push(split);
            }
        }
    }

    fn exit<O: Observer + ?Sized>(
        &mut self,
        split: Split,
        mask: u32,
        around: &mut WarpContext<'_, '_, O>,
    ) {
        if around.observer.watches() {
            self.tell_of_members(&split, mask, around);
        }
        self.live &= !mask;
        match self.exits.iter_mut().find(|(pc, _)| *pc == split.pc) {
            Some((_, lanes)) => *lanes |= mask,
            None => self.exits.push((split.pc, mask)),
        }
        self.leave_others(split, mask);
    }

    /// The memory that lanes of this warp see.
    fn memory<'a, O: ?Sized>(
        &'a mut self,
        around: &'a mut WarpContext<'_, '_, O>,
        local_bytes: u64,
    ) -> Memory<'a> {
        let launch = around.launch;
        Memory {
            table: launch.table,
            hints: around.hints,
            changed: &mut around.activity.changed,
            alone: launch.alone,
            shared: around.shared,
            shared_bytes: launch.shared_bytes,
            peers: around.peers.iter_mut().map(|peer| &mut **peer).collect(),
            rank: around.rank,
            local: &mut self.local,
            local_bytes,
            params: &launch.params,
            offsets: &mut self.offsets,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.live == 0
    }

    pub(super) fn has_runnable(&self) -> bool {
        self.splits.iter().any(Split::is_runnable)
    }

    pub(super) fn awaits_members(&self) -> bool {
        self.splits
            .iter()
            .any(|split| split.state == State::Members)
    }

    /// Where its waiting splits are, for reports.
    pub(super) fn waiting_places<'s>(
        &'s self,
        launch: &'s Launch<'_>,
    ) -> impl Iterator<Item = (u32, Place)> + 's {
        self.splits
            .iter()
            .map(|split| (split.mask.count_ones(), launch.program.place(split.pc)))
    }
}
