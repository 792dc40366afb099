//! Metrics of a launch, as a GPU's profiler counts them: what each instruction and each source line costs.
//!
//! [`Emulator::profile`](crate::Emulator::profile) runs a kernel and gives its [`Profile`]: [`Counters`] for each instruction, by line and
//! in all. The rules of the hardware that turn 32 addresses into wavefronts and sectors are [`bank_wavefronts`] and [`sectors`]; what a device can hold is [`Occupancy`], and how fast it can compute
//! and move data at best is [`Roofline`].
//!
//! The instructions that are counted are PTX's. A GPU runs machine code that its driver makes of them, so numbers of arithmetic
//! instructions differ from a profiler's; accesses to memory are the same.
mod banks;
mod class;
mod collect;
mod counters;
mod footprint;
mod model;
mod occupancy;
mod profile;
mod roofline;
mod sectors;

pub(crate) use class::Kind;
pub(crate) use collect::Collector;
pub(crate) use model::H200;

pub use banks::{Served, Wavefronts, bank_passes, bank_wavefronts};
pub use class::{InstructionClass, Precision};
pub use counters::{Counters, GlobalTraffic, SharedTraffic};
pub use footprint::Footprint;
pub use model::{DeviceModel, UnknownModel};
pub use occupancy::{Demand, Limiter, Occupancy};
pub use profile::{LineProfile, Profile};
pub use roofline::{Roofline, Side};
pub use sectors::{Sectors, sectors};
