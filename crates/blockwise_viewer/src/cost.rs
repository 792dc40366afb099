//! The cost of accesses, by the rules of `blockwise profile`.

use ptx_emulator::metrics::{Sectors, Wavefronts, bank_wavefronts, sectors};
use ptx_emulator::replay::Accesses;

/// Shifting all addresses by one unit, a bank's word or a sector, does not change the cost.
const BANK_UNIT: u64 = 4;
const SECTOR_UNIT: u64 = 32;

/// Caches each instruction's last cost: from one execution to the next, the distances between its
/// lanes' addresses rarely change.
#[derive(Default)]
pub(crate) struct Costs {
    shared: Vec<Option<Box<Known<Wavefronts>>>>,
    global: Vec<Option<Box<Known<Sectors>>>>,
}

struct Known<T> {
    pattern: Pattern,
    cost: T,
}

#[derive(PartialEq, Eq)]
struct Pattern {
    lanes: u32,
    size: u32,
    /// The first lane's offset within the unit.
    phase: u64,
    /// Each lane's distance from the first.
    distances: [u64; 32],
}

impl Costs {
    /// The wavefronts of a shared-memory access by the instruction `pc`.
    pub(crate) fn shared(&mut self, pc: u32, seen: &Accesses<'_>) -> Wavefronts {
        recall(&mut self.shared, pc, Pattern::of(seen, BANK_UNIT), || {
            bank_wavefronts(seen.addresses, seen.lanes, seen.size, seen.access)
        })
    }

    /// The sectors of a global-memory access.
    pub(crate) fn global(&mut self, pc: u32, seen: &Accesses<'_>) -> Sectors {
        recall(&mut self.global, pc, Pattern::of(seen, SECTOR_UNIT), || {
            sectors(seen.addresses, seen.lanes, seen.size, seen.access)
        })
    }
}

fn recall<T: Copy>(
    known: &mut Vec<Option<Box<Known<T>>>>,
    pc: u32,
    pattern: Pattern,
    compute: impl FnOnce() -> T,
) -> T {
    let at = pc as usize;
    if known.len() <= at {
        known.resize_with(at + 1, || None);
    }
    match &known[at] {
        Some(known) if known.pattern == pattern => known.cost,
        _ => {
            let cost = compute();
            known[at] = Some(Box::new(Known { pattern, cost }));
            cost
        }
    }
}

impl Pattern {
    fn of(seen: &Accesses<'_>, unit: u64) -> Self {
        let first = seen.addresses[(seen.lanes.trailing_zeros() & 31) as usize];
        let distance = |lane: usize| match seen.lanes >> lane & 1 {
            1 => seen.addresses[lane].wrapping_sub(first),
            _ => 0,
        };
        Self {
            lanes: seen.lanes,
            size: seen.size,
            phase: first % unit,
            distances: std::array::from_fn(distance),
        }
    }
}
