use crate::decode::{InstructionClass, Precision};
use std::ops::AddAssign;

/// Counts for one instruction, a source line, or a whole launch.
///
/// Instructions and requests are counted once per warp, or once per group of lanes if a warp has
/// diverged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions executed, including those whose guard was false in every lane.
    pub warp_instructions: u64,
    /// Lanes that executed them: those whose guard was true; for branches, all lanes that reached
    /// it.
    pub lane_instructions: u64,
    /// The same instructions by class, in the order of [`InstructionClass::ALL`].
    pub by_class: [u64; InstructionClass::ALL.len()],
    /// Floating-point operations of all lanes, in the order of [`Precision::ALL`].
    pub flops: [u64; Precision::ALL.len()],
    /// Branches executed.
    pub branches: u64,
    /// Branches at which the lanes of a group diverged.
    pub divergent_branches: u64,
    /// Barriers of the block or of a warp, counted per warp.
    pub barriers: u64,
    /// Loads from shared memory.
    pub shared_loads: SharedTraffic,
    /// Stores to shared memory, including asynchronous copies.
    pub shared_stores: SharedTraffic,
    /// Atomics in shared memory.
    pub shared_atomics: SharedTraffic,
    /// Loads from global memory, including asynchronous copies.
    pub global_loads: GlobalTraffic,
    /// Stores to global memory.
    pub global_stores: GlobalTraffic,
    /// Atomics in global memory.
    pub global_atomics: GlobalTraffic,
    /// Requests to local memory: spilled registers, or arrays indexed at run time.
    pub local_requests: u64,
}

/// Requests to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Instructions that accessed shared memory.
    pub requests: u64,
    /// Wavefronts needed.
    pub wavefronts: u64,
    /// Wavefronts that would suffice without bank conflicts.
    pub needed: u64,
}

/// Requests to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Instructions that accessed global memory.
    pub requests: u64,
    /// Sectors of 32 bytes touched.
    pub sectors: u64,
    /// Sectors that would suffice if the bytes of each request were contiguous.
    pub needed: u64,
    /// Distinct bytes per request, summed.
    pub bytes: u64,
}

impl Counters {
    /// The instructions of one class.
    pub fn of_class(&self, class: InstructionClass) -> u64 {
        self.by_class[class as usize]
    }

    /// The floating-point operations in one precision.
    pub fn flops_in(&self, precision: Precision) -> u64 {
        self.flops[precision as usize]
    }

    /// Average active lanes per instruction, of 32. `None` if nothing ran.
    pub fn active_lanes(&self) -> Option<f64> {
        ratio(self.lane_instructions, self.warp_instructions)
    }

    /// All traffic of shared memory.
    pub fn shared(&self) -> SharedTraffic {
        let mut sum = self.shared_loads;
        sum += self.shared_stores;
        sum += self.shared_atomics;
        sum
    }

    /// All traffic of global memory.
    pub fn global(&self) -> GlobalTraffic {
        let mut sum = self.global_loads;
        sum += self.global_stores;
        sum += self.global_atomics;
        sum
    }
}

impl SharedTraffic {
    /// Slowdown of the requests by bank conflicts. `None` without requests.
    pub fn conflict_degree(&self) -> Option<f64> {
        ratio(self.wavefronts, self.needed)
    }

    /// Average wavefronts per request. `None` without requests.
    pub fn wavefronts_per_request(&self) -> Option<f64> {
        ratio(self.wavefronts, self.requests)
    }
}

impl GlobalTraffic {
    /// Average sectors per request. `None` without requests.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests)
    }

    /// Fraction of the sectors that is necessary; 1 for coalesced requests. `None` without
    /// requests.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.needed, self.sectors)
    }
}

fn ratio(of: u64, to: u64) -> Option<f64> {
    (to > 0).then(|| of as f64 / to as f64)
}

impl AddAssign for SharedTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.needed += other.needed;
    }
}

impl AddAssign for GlobalTraffic {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.needed += other.needed;
        self.bytes += other.bytes;
    }
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Counters) {
        self.warp_instructions += other.warp_instructions;
        self.lane_instructions += other.lane_instructions;
        for (sum, count) in self.by_class.iter_mut().zip(other.by_class) {
            *sum += count;
        }
        for (sum, count) in self.flops.iter_mut().zip(other.flops) {
            *sum += count;
        }
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.barriers += other.barriers;
        self.shared_loads += other.shared_loads;
        self.shared_stores += other.shared_stores;
        self.shared_atomics += other.shared_atomics;
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.global_atomics += other.global_atomics;
        self.local_requests += other.local_requests;
    }
}
