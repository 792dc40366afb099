//! The effects and costs of each step of a block in execution order, as the arrays that the page
//! draws.

use crate::code::Instruction;
use crate::spent::Spent;
use crate::steps::{Step, Steps};
use crate::writes::Writes;
use ptx_emulator::replay::{Accesses, Event, Replay};
use ptx_emulator::{Access, Space};
use std::collections::{BTreeMap, HashMap};

/// The most steps that are kept per block.
const MOST_STEPS: usize = 4_000_000;

/// The steps of one block.
#[derive(Default)]
pub struct Timeline {
    /// The step's number in the launch.
    pub at: Vec<u32>,
    /// The warp.
    pub warp: Vec<u8>,
    /// The instruction.
    pub pc: Vec<u32>,
    /// The lanes that executed it.
    pub lanes: Vec<u32>,
    /// Bits of [`Kind`](crate::Kind).
    pub kind: Vec<u8>,
    /// Wavefronts of shared memory.
    pub wavefronts: Vec<u16>,
    /// The wavefronts needed without bank conflicts.
    pub needed_wavefronts: Vec<u16>,
    /// Sectors of global memory.
    pub sectors: Vec<u16>,
    /// The sectors needed if the bytes were contiguous.
    pub needed_sectors: Vec<u16>,
    /// The number of steps before each completed block barrier.
    pub releases: Vec<u32>,
    /// The number of steps that did not fit.
    pub left_out: u64,
    /// The totals of each instruction in the whole launch.
    pub spent: BTreeMap<u32, Spent>,
    /// For each range of shared memory from that start, how often neighbouring lanes were N bytes
    /// apart.
    pub(crate) strides: HashMap<(u32, u32), u64>,
    pub(crate) writes: Writes,
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
        let mut builder = Builder {
            timeline: Self::default(),
            steps: Steps::of(code, ptx),
            block,
            arrays,
        };
        replay.scan(0..u64::MAX, &mut |at, event| builder.event(at, event));
        let last = builder.steps.finish();
        builder.enter(last);
        let mut timeline = builder.timeline;
        let bytes = arrays.iter().map(|(start, size)| start + size).max();
        timeline
            .writes
            .index(bytes.unwrap_or(0).div_ceil(4) as usize);
        timeline
    }

    /// The totals of the whole launch.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        self.spent.values().for_each(|spent| total.add(spent));
        total
    }

    /// The pitch in bytes of a shared array, if most accesses across rows agree on one.
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
    steps: Steps,
    block: u64,
    /// Starts and sizes of the shared arrays.
    arrays: &'a [(u32, u32)],
}

impl Builder<'_> {
    fn event(&mut self, at: u64, event: &Event<'_>) {
        let complete = self.steps.take(at, event);
        self.enter(complete);
        match event {
            Event::Access(_, seen) if self.is_shown() => self.access(seen),
            Event::Barrier { block, whole } if *block == self.block && *whole => {
                let steps = self.timeline.at.len() + usize::from(self.is_shown());
                self.timeline.releases.push(steps as u32);
            }
            _ => {}
        }
    }

    /// Whether to keep the current step: it belongs to the block, and there is room.
    fn is_shown(&self) -> bool {
        let running = self.steps.running();
        running.is_some_and(|step| step.instruction.block == self.block)
            && self.timeline.at.len() < MOST_STEPS
    }

    /// Records a complete step.
    fn enter(&mut self, step: Option<Step>) {
        let Some(step) = step else {
            return;
        };
        let (instruction, spent) = (step.instruction, step.spent);
        let timeline = &mut self.timeline;
        let sum = timeline.spent.entry(instruction.pc).or_default();
        sum.add(&spent);
        if instruction.block != self.block {
            return;
        }
        if timeline.at.len() == MOST_STEPS {
            timeline.left_out += 1;
            return;
        }
        let small = |count: u64| u16::try_from(count).unwrap_or(u16::MAX);
        let needed = (spent.needed_wavefronts, spent.needed_sectors);
        timeline.at.push(step.at as u32);
        timeline.warp.push(instruction.warp as u8);
        timeline.pc.push(instruction.pc);
        timeline.lanes.push(instruction.lanes);
        timeline.kind.push(step.kind);
        timeline.wavefronts.push(small(spent.wavefronts));
        timeline.needed_wavefronts.push(small(needed.0));
        timeline.sectors.push(small(spent.sectors));
        timeline.needed_sectors.push(small(needed.1));
    }

    /// Records the current step's accesses to the block's shared memory.
    fn access(&mut self, seen: &Accesses<'_>) {
        if seen.space != Space::Shared || seen.block != self.block {
            return;
        }
        self.note_stride(seen);
        if seen.access != Access::Read {
            let step = self.timeline.at.len() as u32;
            self.timeline.writes.add(step, seen);
        }
    }

    /// Records the distance between neighbouring lanes.
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
}
