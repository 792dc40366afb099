use super::class::{InstructionClass, Precision};
use std::ops::AddAssign;

/// What instructions did: one of them, those of a source line, or all of a launch.
///
/// Instructions and requests are counted once for each warp, or for each group of lanes of a warp that comes there by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions executed, those included whose guard held for no lane.
    pub warp_instructions: u64,
    /// Lanes that executed them, all together: those whose guard held, and for branches all that came there.
    pub lane_instructions: u64,
    /// The same instructions by what they do, in the order of [`InstructionClass::ALL`].
    pub by_class: [u64; InstructionClass::ALL.len()],
    /// Floating-point operations of all lanes, in the order of [`Precision::ALL`].
    pub flops: [u64; Precision::ALL.len()],
    /// Branches executed.
    pub branches: u64,
    /// Branches that sent lanes of one group to different places.
    pub divergent_branches: u64,
    /// Barriers of the block or of a warp that warps came to.
    pub barriers: u64,
    /// Loads from shared memory.
    pub shared_loads: SharedTraffic,
    /// Stores to shared memory, those of asynchronous copies included.
    pub shared_stores: SharedTraffic,
    /// Atomics in shared memory.
    pub shared_atomics: SharedTraffic,
    /// Loads from global memory, those of asynchronous copies included.
    pub global_loads: GlobalTraffic,
    /// Stores to global memory.
    pub global_stores: GlobalTraffic,
    /// Atomics in global memory.
    pub global_atomics: GlobalTraffic,
    /// Requests to local memory: registers that did not fit, or arrays that are indexed at run time.
    pub local_requests: u64,
}

/// Requests to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Instructions that reached shared memory.
    pub requests: u64,
    /// Wavefronts they took.
    pub wavefronts: u64,
    /// Wavefronts that would do without bank conflicts.
    pub needed: u64,
}

/// Requests to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Instructions that reached global memory.
    pub requests: u64,
    /// Sectors of 32 bytes they touched.
    pub sectors: u64,
    /// Sectors that would do if the bytes of each request lay together.
    pub needed: u64,
    /// Different bytes of each request, all together.
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

    /// Lanes that an instruction had on average, of 32. `None` when nothing ran.
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
    /// How many times longer the requests took than without bank conflicts. `None` without requests.
    pub fn conflict_degree(&self) -> Option<f64> {
        ratio(self.wavefronts, self.needed)
    }

    /// Wavefronts of a request, on average. `None` without requests.
    pub fn wavefronts_per_request(&self) -> Option<f64> {
        ratio(self.wavefronts, self.requests)
    }
}

impl GlobalTraffic {
    /// Sectors of a request, on average. `None` without requests.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests)
    }

    /// The part of the sectors that would do, 1 for coalesced requests. `None` without requests.
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
