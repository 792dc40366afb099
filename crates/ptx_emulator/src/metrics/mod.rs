//! Metrics of a launch, as a GPU profiler counts them: the cost of each instruction and source
//! line.
//!
//! [`Emulator::profile`](crate::Emulator::profile) runs a kernel and returns its [`Profile`]:
//! [`Counters`] per instruction, per line and in total. [`bank_wavefronts`] and [`sectors`] are the
//! hardware's rules for turning 32 addresses into wavefronts and sectors. [`Occupancy`] says how
//! many blocks a device can hold, [`Roofline`] how fast it can compute and move data at best.
//!
//! The instructions counted are PTX's. A GPU executes machine code that its driver compiles from
//! them, so arithmetic instruction counts differ from a hardware profiler's; memory accesses are
//! the same.
mod banks;
mod collect;
mod counters;
mod footprint;
mod model;
mod occupancy;
mod profile;
mod roofline;
mod sectors;

pub(crate) use collect::Collector;
pub(crate) use model::H200;

pub use crate::decode::{InstructionClass, Precision};
pub use banks::{Served, Wavefronts, bank_passes, bank_wavefronts};
pub use counters::{Counters, GlobalTraffic, SharedTraffic};
pub use footprint::Footprint;
pub use model::{DeviceModel, UnknownModel};
pub use occupancy::{Demand, Limiter, Occupancy};
pub use profile::{LineProfile, Profile};
pub use roofline::{Roofline, Side};
pub use sectors::{Sectors, sectors};
