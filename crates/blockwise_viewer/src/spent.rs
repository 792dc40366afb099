use serde::Serialize;

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

/// What an instruction did, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Steps.
    pub steps: u64,
    /// Steps that reached shared memory.
    pub shared_requests: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// The number needed without bank conflicts.
    pub needed_wavefronts: u64,
    /// Steps that reached global memory.
    pub global_requests: u64,
    /// Sectors of global memory.
    pub sectors: u64,
    /// The number needed if the bytes were contiguous.
    pub needed_sectors: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.shared_requests += other.shared_requests;
        self.wavefronts += other.wavefronts;
        self.needed_wavefronts += other.needed_wavefronts;
        self.global_requests += other.global_requests;
        self.sectors += other.sectors;
        self.needed_sectors += other.needed_sectors;
    }
}
