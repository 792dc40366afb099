//! The cost of kernels: counts from launches on the emulator, the resources of the machine code,
//! and a device's limits.

mod json;
mod listing;
mod plot;
mod resources;
mod text;
mod workload;

use ptx_emulator::metrics::{Demand, DeviceModel, Occupancy, Profile, Roofline};

pub use cuda_tools::ptxas::Usage;
pub use json::json;
pub use listing::listing;
pub use plot::plot;
pub use resources::Assembler;
pub use text::table;
pub use workload::{Variant, Workload, WorkloadError};

/// One kernel of a report: its launch, and what that means for a device.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// Distinguishes it from the other kernels of the report.
    pub name: String,
    /// The counts.
    pub profile: Profile,
    /// The resources of the machine code, or why they are unknown.
    pub usage: Result<Usage, String>,
    /// How many of its blocks fit a multiprocessor.
    pub occupancy: Occupancy,
    /// The bottleneck.
    pub roofline: Roofline,
}

impl KernelReport {
    /// Combines a profile with the limits of a device.
    pub fn new(
        name: String,
        profile: Profile,
        usage: Result<Usage, String>,
        model: &DeviceModel,
    ) -> Self {
        let demand = Demand {
            threads: profile.config.block.iter().product(),
            registers: usage.as_ref().ok().map(|usage| usage.registers),
            // Within a device's limits, which are far below 4 GiB.
            shared_bytes: u32::try_from(profile.shared_bytes).unwrap_or(u32::MAX),
        };
        let occupancy = Occupancy::of(demand, model);
        let roofline = Roofline::of(&profile.total(), profile.footprint, model);
        Self {
            name,
            profile,
            usage,
            occupancy,
            roofline,
        }
    }
}
