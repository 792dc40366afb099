//! What kernels cost: launches on the emulator that are counted, put beside the resources that
//! machine code needs and a device's limits.

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
pub use workload::{Operation, Variant, Workload, WorkloadError};

/// One kernel of a report: a launch, and what follows from it for a device.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// The name that tells it from the others of the report.
    pub name: String,
    /// What was counted.
    pub profile: Profile,
    /// What the machine code needs, or why that is not known.
    pub usage: Result<Usage, String>,
    /// How many of its blocks a multiprocessor holds.
    pub occupancy: Occupancy,
    /// What bounds its time.
    pub roofline: Roofline,
}

impl KernelReport {
    /// Puts a profile beside what one device allows.
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
