//! The compute capability that the kernel is built for, known at compile time.
//!
//! `cuda_builder` also sets a cfg for each architecture whose features may be used:
//! `#[cfg(target_feature = "compute_80")]` holds in code for 8.0 and newer.

use crate::gpu_only;

/// A compute capability, ordered by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComputeCapability {
    /// 3.5.
    Compute35,
    /// 3.7.
    Compute37,
    /// 5.0.
    Compute50,
    /// 5.2.
    Compute52,
    /// 5.3.
    Compute53,
    /// 6.0.
    Compute60,
    /// 6.1.
    Compute61,
    /// 6.2.
    Compute62,
    /// 7.0.
    Compute70,
    /// 7.2.
    Compute72,
    /// 7.3.
    Compute73,
    /// 7.5.
    Compute75,
    /// 8.0.
    Compute80,
    /// 8.6.
    Compute86,
    /// 8.7.
    Compute87,
    /// 8.8.
    Compute88,
    /// 8.9.
    Compute89,
    /// 9.0.
    Compute90,
    /// 10.0.
    Compute100,
    /// 10.1.
    Compute101,
    /// 10.3.
    Compute103,
    /// 11.0.
    Compute110,
    /// 12.0.
    Compute120,
    /// 12.1.
    Compute121,
}

impl ComputeCapability {
    /// The capability that `cuda_builder` builds for. Comparisons with it are constants, so
    /// excluded code is removed.
    #[gpu_only]
    #[inline(always)]
    pub fn from_cuda_arch_env() -> Self {
        const BUILT_FOR: ComputeCapability = parse(env!("CUDA_ARCH"));
        BUILT_FOR
    }
}

/// Ten times the number after `sm_`, as `cuda_builder` sets it.
#[cfg(target_arch = "nvptx64")]
const fn parse(cuda_arch: &str) -> ComputeCapability {
    match cuda_arch.as_bytes() {
        b"350" => ComputeCapability::Compute35,
        b"370" => ComputeCapability::Compute37,
        b"500" => ComputeCapability::Compute50,
        b"520" => ComputeCapability::Compute52,
        b"530" => ComputeCapability::Compute53,
        b"600" => ComputeCapability::Compute60,
        b"610" => ComputeCapability::Compute61,
        b"620" => ComputeCapability::Compute62,
        b"700" => ComputeCapability::Compute70,
        b"720" => ComputeCapability::Compute72,
        b"730" => ComputeCapability::Compute73,
        b"750" => ComputeCapability::Compute75,
        b"800" => ComputeCapability::Compute80,
        b"860" => ComputeCapability::Compute86,
        b"870" => ComputeCapability::Compute87,
        b"880" => ComputeCapability::Compute88,
        b"890" => ComputeCapability::Compute89,
        b"900" => ComputeCapability::Compute90,
        b"1000" => ComputeCapability::Compute100,
        b"1010" => ComputeCapability::Compute101,
        b"1030" => ComputeCapability::Compute103,
        b"1100" => ComputeCapability::Compute110,
        b"1200" => ComputeCapability::Compute120,
        b"1210" => ComputeCapability::Compute121,
        _ => panic!(
            "CUDA_ARCH, which cuda_builder sets, names no compute capability that this crate knows"
        ),
    }
}
