//! What each step of a block did and cost, in the order in which it ran: arrays as the page draws them.

use crate::code::{self, Instruction, Sort};
use crate::cost::Costs;
use crate::writes::Writes;
use ptx_emulator::replay::{Accesses, Event, Replay};
use ptx_emulator::{Access, Space};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Steps of a block that are kept, at most.
const MOST_STEPS: usize = 4_000_000;

/// What a step did, as bits.
#[derive(Debug)]
pub struct Kind;

impl Kind {
    /// Read shared memory.
    pub const READS_SHARED: u8 = 1;
    /// Wrote shared memory.
    pub const WRITES_SHARED: u8 = 2;
    /// Read global memory.
    pub const READS_GLOBAL: u8 = 4;
    /// Wrote global memory.
    pub const WRITES_GLOBAL: u8 = 8;
    /// Arrived at a barrier.
    pub const BARRIER: u8 = 16;
    /// Lanes wait at a warp-level instruction for others of their warp.
    pub const WAITS: u8 = 32;
}

/// The steps of one block.
#[derive(Default)]
pub struct Timeline {
    /// The step of the launch.
    pub at: Vec<u32>,
    /// The warp.
    pub warp: Vec<u8>,
    /// The instruction.
    pub pc: Vec<u32>,
    /// The lanes that executed it.
    pub lanes: Vec<u32>,
    /// Bits of [`Kind`].
    pub kind: Vec<u8>,
    /// Wavefronts of shared memory.
    pub wavefronts: Vec<u16>,
    /// Those that would do without bank conflicts.
    pub needed_wavefronts: Vec<u16>,
    /// Sectors of global memory.
    pub sectors: Vec<u16>,
    /// Those that would do if the bytes lay together.
    pub needed_sectors: Vec<u16>,
    /// Steps before each completed barrier of the whole block.
    pub releases: Vec<u32>,
    /// Steps that found no room.
    pub left_out: u64,
    /// What each instruction did in the whole launch, by its number.
    pub spent: BTreeMap<u32, Spent>,
    /// For each stretch of shared memory that starts there, how often lanes stood so many bytes apart.
    pub(crate) strides: HashMap<(u32, u32), u64>,
    pub(crate) writes: Writes,
}

/// What an instruction did, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Steps.
    pub steps: u64,
    /// Steps that reached shared memory.
    pub shared_requests: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Those that would do without bank conflicts.
    pub needed_wavefronts: u64,
    /// Steps that reached global memory.
    pub global_requests: u64,
    /// Sectors of global memory.
    pub sectors: u64,
    /// Those that would do if the bytes lay together.
    pub needed_sectors: u64,
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.shared_requests += other.shared_requests;
        self.wavefronts += other.wavefronts;
        self.needed_wavefronts += other.needed_wavefronts;
        self.global_requests += other.global_requests;
        self.sectors += other.sectors;
        self.needed_sectors += other.needed_sectors;
    }
}

impl Timeline {
    /// Runs the launch from its beginning to its end.
    pub(crate) fn of(
        replay: &mut Replay,
        block: u64,
        code: &[Instruction],
        ptx: &str,
        arrays: &[(u32, u32)],
    ) -> Self {
        let lines: Vec<&str> = ptx.lines().collect();
        let sort = |instruction: &Instruction| {
            let line = lines.get(instruction.line.saturating_sub(1) as usize);
            code::sort(line.unwrap_or(&""))
        };
        let end = code.iter().map(|instruction| instruction.pc).max();
        let mut sorts = vec![Sort::Other; end.map_or(0, |end| end as usize + 1)];
        for instruction in code {
            sorts[instruction.pc as usize] = sort(instruction);
        }
        let mut builder = Builder {
            timeline: Self::default(),
            costs: Costs::default(),
            block,
            sorts,
            arrays,
            shown: false,
            pc: 0,
            step: Spent::default(),
            copy: None,
        };
        replay.scan(0..u64::MAX, &mut |at, event| builder.event(at, event));
        builder.finish_step();
        builder.timeline
    }

    /// The whole launch.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        self.spent.values().for_each(|spent| total.add(spent));
        total
    }

    /// The rows of a shared array: bytes from row to row, where most accesses across rows agree.
    pub(crate) fn row_bytes(&self, array: u32) -> Option<u32> {
        let of = self
            .strides
            .iter()
            .filter(|((start, _), _)| *start == array);
        let all: u64 = of.clone().map(|(_, &count)| count).sum();
        let (&(_, stride), &count) = of.max_by_key(|((_, stride), count)| (**count, *stride))?;
        (2 * count > all).then_some(stride)
    }
}

struct Builder<'a> {
    timeline: Timeline,
    costs: Costs,
    block: u64,
    sorts: Vec<Sort>,
    /// Starts and sizes of the shared arrays.
    arrays: &'a [(u32, u32)],
    /// The running step is one of the block's that are kept.
    shown: bool,
    pc: u32,
    step: Spent,
    copy: Option<Box<Copied>>,
}

/// The lanes of an asynchronous copy, which come one by one: to shared memory, and from global memory.
#[derive(Default)]
struct Copied {
    to: Lanes,
    from: Lanes,
}

#[derive(Default)]
struct Lanes {
    addresses: [u64; 32],
    lanes: u32,
    size: u32,
}

impl Builder<'_> {
    fn event(&mut self, at: u64, event: &Event<'_>) {
        match event {
            Event::Step(instruction) => {
                self.finish_step();
                self.pc = instruction.pc;
                self.step = Spent {
                    steps: 1,
                    ..Spent::default()
                };
                self.shown = instruction.block == self.block;
                if !self.shown {
                    return;
                }
                let timeline = &mut self.timeline;
                if timeline.at.len() == MOST_STEPS {
                    timeline.left_out += 1;
                    self.shown = false;
                    return;
                }
                let barrier = self.sort() == Sort::Barrier;
                let timeline = &mut self.timeline;
                timeline.at.push(at as u32);
                timeline.warp.push(instruction.warp as u8);
                timeline.pc.push(instruction.pc);
                timeline.lanes.push(instruction.lanes);
                let waits = if instruction.waits { Kind::WAITS } else { 0 };
                let barrier = if barrier { Kind::BARRIER } else { 0 };
                timeline.kind.push(waits | barrier);
            }
            Event::Access(instruction, seen) => self.access(instruction.block, seen),
            Event::Barrier { block, whole } if *block == self.block && *whole => {
                let steps = self.timeline.at.len() as u32;
                self.timeline.releases.push(steps);
            }
            Event::Barrier { .. } => {}
        }
    }

    fn access(&mut self, block: u64, seen: &Accesses<'_>) {
        let own = seen.space == Space::Shared && seen.block == block;
        if self.sort() == Sort::Copy {
            let copy = self.copy.get_or_insert_default();
            match seen.space {
                Space::Shared => copy.to.add(seen),
                Space::Global => copy.from.add(seen),
                _ => {}
            }
        } else if own {
            let cost = self.costs.shared(self.pc, seen);
            self.step.wavefronts += u64::from(cost.taken);
            self.step.needed_wavefronts += u64::from(cost.needed);
            self.step.shared_requests = 1;
        } else if seen.space == Space::Global {
            let cost = self.costs.global(self.pc, seen);
            self.step.sectors += u64::from(cost.touched);
            self.step.needed_sectors += u64::from(cost.needed);
            self.step.global_requests = 1;
        }
        if !self.shown {
            return;
        }
        let (reads, writes) = match seen.space {
            Space::Shared => (Kind::READS_SHARED, Kind::WRITES_SHARED),
            Space::Global => (Kind::READS_GLOBAL, Kind::WRITES_GLOBAL),
            _ => return,
        };
        let bits = match seen.access {
            Access::Read => reads,
            Access::Write => writes,
            Access::Atomic => reads | writes,
        };
        if let Some(kind) = self.timeline.kind.last_mut() {
            *kind |= bits;
        }
        if own {
            self.note_stride(seen);
            if seen.access != Access::Read {
                let step = self.timeline.at.len() as u32 - 1;
                self.timeline.writes.add(step, seen);
            }
        }
    }

    /// Looks how far apart neighbouring lanes stand.
    fn note_stride(&mut self, seen: &Accesses<'_>) {
        if seen.lanes & 3 != 3 {
            return;
        }
        let [first, second] = [seen.addresses[0], seen.addresses[1]];
        let stride = first.abs_diff(second) as u32;
        if stride <= seen.size {
            return;
        }
        let inside = |&&(start, size): &&(u32, u32)| {
            (u64::from(start)..u64::from(start + size)).contains(&first)
        };
        if let Some(&(start, _)) = self.arrays.iter().find(inside) {
            *self.timeline.strides.entry((start, stride)).or_default() += 1;
        }
    }

    fn sort(&self) -> Sort {
        let sort = self.sorts.get(self.pc as usize);
        sort.copied().unwrap_or(Sort::Other)
    }

    /// Enters what the last step cost.
    fn finish_step(&mut self) {
        if let Some(copy) = self.copy.take() {
            let cost = self.costs.shared(self.pc, &copy.to.seen(Access::Write));
            self.step.wavefronts += u64::from(cost.taken);
            self.step.needed_wavefronts += u64::from(cost.needed);
            self.step.shared_requests = 1;
            // A copy that only fills with zeros reads nothing.
            let from = copy.from.seen(Access::Read);
            let cost = self.costs.global(self.pc, &from);
            self.step.sectors += u64::from(cost.touched);
            self.step.needed_sectors += u64::from(cost.needed);
            self.step.global_requests = u64::from(from.lanes != 0);
        }
        if self.step.steps == 0 {
            return;
        }
        let timeline = &mut self.timeline;
        timeline.spent.entry(self.pc).or_default().add(&self.step);
        if self.shown {
            let small = |count: u64| u16::try_from(count).unwrap_or(u16::MAX);
            timeline.wavefronts.push(small(self.step.wavefronts));
            timeline
                .needed_wavefronts
                .push(small(self.step.needed_wavefronts));
            timeline.sectors.push(small(self.step.sectors));
            timeline
                .needed_sectors
                .push(small(self.step.needed_sectors));
        }
        self.step = Spent::default();
    }
}

impl Lanes {
    fn add(&mut self, seen: &Accesses<'_>) {
        for lane in (0..32).filter(|lane| seen.lanes >> lane & 1 == 1) {
            self.addresses[lane] = seen.addresses[lane];
        }
        self.lanes |= seen.lanes;
        self.size = self.size.max(seen.size);
    }

    fn seen(&self, access: Access) -> Accesses<'_> {
        Accesses {
            space: Space::Shared,
            access,
            size: self.size,
            block: 0,
            lanes: self.lanes,
            addresses: &self.addresses,
        }
    }
}
