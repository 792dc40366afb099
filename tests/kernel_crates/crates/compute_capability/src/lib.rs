//! `cfg`: code that depends on the target.

use cuda_std::cfg::ComputeCapability;
use cuda_std::prelude::*;

#[cfg(target_feature = "compute_90")]
const BY_CFG: u32 = 90;
#[cfg(not(target_feature = "compute_90"))]
const BY_CFG: u32 = 80;

/// The target in tens by comparison, by cfg, and by an `if` of a macro.
#[kernel]
pub unsafe fn built_for(out: *mut u32) {
    let capability = ComputeCapability::from_cuda_arch_env();
    *out = match capability {
        ComputeCapability::Compute80 => 80,
        ComputeCapability::Compute90 => 90,
        _ => 0,
    };
    *out.add(1) = BY_CFG;
    *out.add(2) = if cfg!(target_feature = "compute_100") {
        100
    } else {
        0
    };
    *out.add(3) = u32::from(capability > ComputeCapability::Compute75);
}
