//! Steps with their effects and costs, assembled from the events of a scan.

use crate::code::{self, Instruction as Code, Sort};
use crate::cost::Costs;
use crate::spent::{Kind, Spent};
use ptx_emulator::replay::{Accesses, Event, Instruction};
use ptx_emulator::{Access, Space};

/// A complete step.
pub(crate) struct Step {
    /// Its number in the launch.
    pub(crate) at: u64,
    pub(crate) instruction: Instruction,
    /// Bits of [`Kind`].
    pub(crate) kind: u8,
    pub(crate) spent: Spent,
}

/// Assembles events into steps.
pub(crate) struct Steps {
    costs: Costs,
    sorts: Vec<Sort>,
    running: Option<Step>,
    copy: Option<Box<Copied>>,
}

/// The lanes of an asynchronous copy, which are reported one by one: to shared memory, and from
/// global memory.
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

impl Steps {
    pub(crate) fn of(code: &[Code], ptx: &str) -> Self {
        let lines: Vec<&str> = ptx.lines().collect();
        let end = code.iter().map(|instruction| instruction.pc).max();
        let mut sorts = vec![Sort::Other; end.map_or(0, |end| end as usize + 1)];
        for instruction in code {
            let line = lines.get(instruction.line.saturating_sub(1) as usize);
            sorts[instruction.pc as usize] = code::sort(line.unwrap_or(&""));
        }
        Self {
            costs: Costs::default(),
            sorts,
            running: None,
            copy: None,
        }
    }

    /// Takes the next event. The start of a step completes the previous one.
    pub(crate) fn take(&mut self, at: u64, event: &Event<'_>) -> Option<Step> {
        match event {
            Event::Step(instruction) => {
                let complete = self.finish();
                let waits = if instruction.waits { Kind::WAITS } else { 0 };
                let barrier = match self.sort(instruction.pc) {
                    Sort::Barrier => Kind::BARRIER,
                    _ => 0,
                };
                self.running = Some(Step {
                    at,
                    instruction: *instruction,
                    kind: waits | barrier,
                    spent: Spent {
                        steps: 1,
                        ..Spent::default()
                    },
                });
                complete
            }
            Event::Access(_, seen) => {
                self.access(seen);
                None
            }
            Event::Barrier { .. } => None,
        }
    }

    /// The step that is not complete yet.
    pub(crate) fn running(&self) -> Option<&Step> {
        self.running.as_ref()
    }

    /// Completes the last step.
    pub(crate) fn finish(&mut self) -> Option<Step> {
        let mut step = self.running.take()?;
        if let Some(copy) = self.copy.take() {
            let pc = step.instruction.pc;
            let cost = self.costs.shared(pc, &copy.to.seen(Access::Write));
            step.spent.wavefronts += u64::from(cost.taken);
            step.spent.needed_wavefronts += u64::from(cost.needed);
            step.spent.shared_requests = 1;
            // A copy that only writes zeros reads nothing.
            let from = copy.from.seen(Access::Read);
            let cost = self.costs.global(pc, &from);
            step.spent.sectors += u64::from(cost.touched);
            step.spent.needed_sectors += u64::from(cost.needed);
            step.spent.global_requests = u64::from(from.lanes != 0);
        }
        Some(step)
    }

    fn access(&mut self, seen: &Accesses<'_>) {
        let Some(step) = &mut self.running else {
            return;
        };
        let Instruction { pc, block, .. } = step.instruction;
        let (reads, writes) = match seen.space {
            Space::Shared => (Kind::READS_SHARED, Kind::WRITES_SHARED),
            Space::Global => (Kind::READS_GLOBAL, Kind::WRITES_GLOBAL),
            _ => return,
        };
        step.kind |= match seen.access {
            Access::Read => reads,
            Access::Write => writes,
            Access::Atomic => reads | writes,
        };
        let spent = &mut step.spent;
        if self.sorts.get(pc as usize) == Some(&Sort::Copy) {
            let copy = self.copy.get_or_insert_default();
            match seen.space {
                Space::Shared => copy.to.add(seen),
                _ => copy.from.add(seen),
            }
        } else if seen.space == Space::Global {
            let cost = self.costs.global(pc, seen);
            spent.sectors += u64::from(cost.touched);
            spent.needed_sectors += u64::from(cost.needed);
            spent.global_requests = 1;
        } else if seen.block == block {
            let cost = self.costs.shared(pc, seen);
            spent.wavefronts += u64::from(cost.taken);
            spent.needed_wavefronts += u64::from(cost.needed);
            spent.shared_requests = 1;
        }
    }

    fn sort(&self, pc: u32) -> Sort {
        let sort = self.sorts.get(pc as usize);
        sort.copied().unwrap_or(Sort::Other)
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
