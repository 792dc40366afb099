//! A device's properties and limits.

use std::fmt;

/// The kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// An NVIDIA GPU.
    Cuda,
    /// The PTX emulator.
    Emulator,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cuda => "cuda",
            Self::Emulator => "emulator",
        })
    }
}

/// A device's properties and limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The product's name.
    pub name: String,
    /// GPU or emulator.
    pub kind: DeviceKind,
    /// The compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// The number of streaming multiprocessors; for the emulator, of worker threads.
    pub multiprocessors: u32,
    /// Lanes per warp.
    pub warp_size: u32,
    /// Threads of one block, at most.
    pub max_threads_per_block: u32,
    /// Threads of one block along x, y and z, at most.
    pub max_block: [u32; 3],
    /// Blocks of one launch along x, y and z, at most.
    pub max_grid: [u32; 3],
    /// Shared memory per block without opt-in, in bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory per block with opt-in, in bytes.
    pub shared_bytes_opt_in: u32,
    /// Shared memory per multiprocessor, in bytes.
    pub shared_bytes_per_multiprocessor: u32,
    /// The L2 cache, in bytes; 0 if there is none.
    pub l2_bytes: u32,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// The driver or emulator, with its version.
    pub driver: String,
}

/// How one GPU reaches another one's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAccess {
    /// Without a copy through the host.
    pub direct: bool,
    /// With atomics, as over NVLink.
    pub atomics: bool,
    /// The driver's order of links: 0 is the fastest.
    pub performance_rank: u32,
}

impl DeviceProperties {
    /// The number of multiprocessors that a grid should fill. The emulator uses an H200's, so that
    /// its launches, and with them the bits of its results, equal an H200's.
    pub fn multiprocessors_to_fill(&self) -> u32 {
        const H200: u32 = 132;
        match self.kind {
            DeviceKind::Cuda => self.multiprocessors,
            DeviceKind::Emulator => H200,
        }
    }
}

#[cfg(test)]
impl DeviceProperties {
    /// An arbitrary device.
    pub(crate) fn for_tests() -> Self {
        Self {
            name: "test".into(),
            kind: DeviceKind::Cuda,
            compute_capability: (8, 0),
            multiprocessors: 1,
            warp_size: 32,
            max_threads_per_block: 1024,
            max_block: [1024, 1024, 64],
            max_grid: [i32::MAX as u32, 65_535, 65_535],
            shared_bytes_per_block: 48 << 10,
            shared_bytes_opt_in: 227 << 10,
            shared_bytes_per_multiprocessor: 228 << 10,
            l2_bytes: 0,
            memory_bytes: 1 << 30,
            driver: String::new(),
        }
    }
}
