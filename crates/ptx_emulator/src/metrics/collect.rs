use super::InstructionClass;
use super::banks::{Wavefronts, bank_wavefronts};
use super::counters::{GlobalTraffic, SharedTraffic};
use super::footprint::{Footprint, Touched};
use super::sectors::{SECTOR_BYTES, Sectors, sectors};
use crate::decode::Program;
use crate::decode::op::Op;
use crate::exec::{Frame, Memory, Observer, Region, Row64, Seen, lanes};
use crate::fault::Access;
use crate::memory::CONST_BASE;

/// Counts the work of one worker's blocks, per instruction.
pub(crate) struct Collector<'a> {
    program: &'a Program,
    /// For each decoded instruction, the first one decoded from the same PTX instruction.
    leaders: Vec<u32>,
    tallies: Vec<Tally>,
    banks: Vec<Memo<Wavefronts>>,
    sectors: Vec<Memo<Sectors>>,
    touched: Touched,
    /// The running instruction has not accessed memory yet.
    first_access: bool,
    copy: Option<Box<Copy>>,
}

/// The counts of one PTX instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) warps: u64,
    pub(super) lanes: u64,
    pub(super) divergent: u64,
    pub(super) shared: SharedTraffic,
    pub(super) global: GlobalTraffic,
    pub(super) local_requests: u64,
}

/// An asynchronous copy, whose lanes arrive one by one.
struct Copy {
    pc: u32,
    to: Lanes,
    from: Lanes,
}

/// Addresses of some lanes, and the bytes per access.
#[derive(Default)]
struct Lanes {
    addresses: Row64,
    active: u32,
    bytes: u32,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let count = program.code.len();
        let mut leader = 0;
        let leaders = (0..).zip(&program.kinds).map(|(pc, kind)| {
            if kind.is_some() {
                leader = pc;
            }
            leader
        });
        Self {
            program,
            leaders: leaders.collect(),
            tallies: vec![Tally::default(); count],
            banks: vec![Memo::default(); count],
            sectors: vec![Memo::default(); count],
            touched: Touched::default(),
            first_access: false,
            copy: None,
        }
    }

    /// Sums the workers' counts: a tally per decoded instruction, and the memory touched.
    pub(super) fn merge(collectors: Vec<Self>) -> (Vec<Tally>, Footprint) {
        let mut sums: Vec<Tally> = Vec::new();
        let mut touched = Touched::default();
        for mut collector in collectors {
            collector.finish_copy();
            touched.merge(collector.touched);
            if sums.is_empty() {
                sums = collector.tallies;
                continue;
            }
            for (sum, tally) in sums.iter_mut().zip(&collector.tallies) {
                sum.add(tally);
            }
        }
        (sums, touched.footprint())
    }

    /// An instruction is about to execute: `mask` has the lanes whose guard is true.
    fn begin(&mut self, pc: u32, mask: u32, active: u32) {
        self.finish_copy();
        self.first_access = true;
        // Subsequent decoded instructions belong to the same PTX instruction.
        if let Some(kind) = &self.program.kinds[pc as usize] {
            // A lane that does not take a branch still executes it.
            let executing = match kind.class {
                InstructionClass::Branch => active,
                _ => mask,
            };
            let tally = &mut self.tallies[pc as usize];
            tally.warps += 1;
            tally.lanes += u64::from(executing.count_ones());
        }
    }

    fn shared(&mut self, pc: u32, offsets: &Row64, active: u32, bytes: u32, access: Access) {
        // The wavefronts do not change if all addresses move by the same whole number of words.
        let cost = self.banks[pc as usize].recall(offsets, active, 4, |offsets| {
            bank_wavefronts(offsets, active, bytes, access)
        });
        let first = std::mem::take(&mut self.first_access);
        self.tallies[self.leaders[pc as usize] as usize].shared += SharedTraffic {
            requests: u64::from(first),
            wavefronts: cost.taken.into(),
            needed: cost.needed.into(),
        };
    }

    fn global(&mut self, pc: u32, addresses: &Row64, active: u32, bytes: u32, access: Access) {
        let cost = self.sectors[pc as usize].recall(addresses, active, SECTOR_BYTES, |addresses| {
            sectors(addresses, active, bytes, access)
        });
        let first = std::mem::take(&mut self.first_access);
        self.tallies[self.leaders[pc as usize] as usize].global += GlobalTraffic {
            requests: u64::from(first),
            sectors: cost.touched.into(),
            needed: cost.needed.into(),
            bytes: cost.bytes.into(),
        };
    }

    /// Counts the copy whose lanes have all arrived.
    fn finish_copy(&mut self) {
        if let Some(copy) = self.copy.take() {
            let Copy { pc, to, from } = *copy;
            self.first_access = true;
            self.shared(pc, &to.addresses, to.active, to.bytes, Access::Write);
            // A copy that only zero-fills reads nothing.
            self.first_access = from.active != 0;
            self.global(pc, &from.addresses, from.active, from.bytes, Access::Read);
        }
    }

    fn copies(&mut self, pc: u32) -> &mut Copy {
        self.copy.get_or_insert_with(|| {
            let (to, from) = Default::default();
            Box::new(Copy { pc, to, from })
        })
    }
}

impl Observer for Collector<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn step(&mut self, program: &Program, pc: u32, mask: u32, active: u32, frame: &Frame<'_>) {
        self.begin(pc, mask, active);
        let diverges = match &program.code[pc as usize].op {
            Op::Branch { target } => mask != active && *target != pc + 1,
            Op::BranchIndex { index, targets } => {
                let indices = frame.r32(*index);
                let mut places = lanes(mask).map(|lane| targets.get(indices[lane] as usize));
                let first = places.next();
                mask != active || places.any(|place| Some(place) != first)
            }
            _ => false,
        };
        if diverges {
            self.tallies[pc as usize].divergent += 1;
        }
    }

    fn skip(&mut self, pc: u32, active: u32, _: &Frame<'_>) {
        self.begin(pc, 0, active);
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, _frame: &Frame<'_>, _memory: &Memory<'_>) {
        let is_copy = matches!(self.program.code[pc as usize].op, Op::CopyAsync(_));
        match seen.region {
            Region::Shared if is_copy => self.copies(pc).to.add(seen, 0),
            Region::Shared => self.shared(pc, seen.offsets, seen.lanes, seen.size, seen.access),
            Region::Global(allocation) if allocation.base < CONST_BASE => {
                let base = allocation.base;
                if seen.access != Access::Write {
                    let offsets = lanes(seen.lanes).map(|lane| seen.offsets[lane]);
                    self.touched
                        .mark(base, allocation.size, offsets, seen.size, false);
                }
                if seen.access != Access::Read {
                    let offsets = lanes(seen.lanes).map(|lane| seen.offsets[lane]);
                    self.touched
                        .mark(base, allocation.size, offsets, seen.size, true);
                }
                if is_copy {
                    self.copies(pc).from.add(seen, base);
                } else {
                    // Addresses instead of offsets: lanes may access several allocations.
                    let addresses = seen.offsets.map(|offset| base + offset);
                    self.global(pc, &addresses, seen.lanes, seen.size, seen.access);
                }
            }
            Region::Local => {
                let leader = self.leaders[pc as usize] as usize;
                self.tallies[leader].local_requests +=
                    u64::from(std::mem::take(&mut self.first_access));
            }
            // Not counted: another block's shared memory, which the cluster's network reaches.
            Region::Global(_) | Region::Param | Region::Peer(_) => {}
        }
    }
}

impl Lanes {
    fn add(&mut self, seen: &Seen<'_>, base: u64) {
        for lane in lanes(seen.lanes) {
            self.addresses[lane] = base + seen.offsets[lane];
        }
        self.active |= seen.lanes;
        self.bytes = self.bytes.max(seen.size);
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.warps += other.warps;
        self.lanes += other.lanes;
        self.divergent += other.divergent;
        self.shared += other.shared;
        self.global += other.global;
        self.local_requests += other.local_requests;
    }
}

/// The last cost of an instruction: the distances between its lanes rarely change, and with them
/// the cost.
#[derive(Clone)]
struct Memo<T>(Option<Box<Pattern<T>>>);

#[derive(Clone)]
struct Pattern<T> {
    active: u32,
    /// The first active lane's address modulo the unit.
    phase: u64,
    /// Each lane's distance from the first; 0 for inactive lanes.
    distances: Row64,
    cost: T,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: std::marker::Copy> Memo<T> {
    /// The result of `compute` for these addresses, called only for a new pattern. Addresses that
    /// differ by a multiple of `unit` cost the same.
    fn recall(
        &mut self,
        addresses: &Row64,
        active: u32,
        unit: u64,
        compute: impl FnOnce(&Row64) -> T,
    ) -> T {
        let first = addresses[(active.trailing_zeros() & 31) as usize];
        let phase = first % unit;
        let mut distances = [0; 32];
        for lane in 0..32 {
            let listed = 0_u64.wrapping_sub(u64::from(active >> lane & 1));
            distances[lane] = addresses[lane].wrapping_sub(first) & listed;
        }
        match &self.0 {
            Some(known)
                if known.active == active
                    && known.phase == phase
                    && known.distances == distances =>
            {
                known.cost
            }
            _ => {
                let cost = compute(addresses);
                self.0 = Some(Box::new(Pattern {
                    active,
                    phase,
                    distances,
                    cost,
                }));
                cost
            }
        }
    }
}
