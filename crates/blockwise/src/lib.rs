#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(any(feature = "cuda", feature = "emulator")),
    allow(dead_code, reason = "without a device nothing runs")
)]

mod any;
mod argument;
mod backend;
mod buffer;
mod busy;
mod choice;
mod contract;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
#[cfg(feature = "emulator")]
mod emulator;
mod error;
mod event;
mod function;
mod graph;
mod lent;
mod matrix;
mod memory;
mod module;
mod parameters;
mod permutation;
mod progress;
mod properties;
mod ptx;
mod recording;
#[cfg(feature = "emulator")]
mod sarif;
mod shape;
mod signature;
mod split;
mod staged;
mod stream;
mod unused;
mod uses;
mod view;
#[cfg(feature = "emulator")]
mod watch;

pub use any::{AnyBuffer, AnyView, AnyViewMut, Typed};
pub use buffer::Buffer;
pub use choice::{DeviceChoice, UnknownDevice};
pub use device::Device;
pub use error::{Error, Result, Room};
pub use event::Event;
pub use function::Function;
pub use graph::Graph;
pub use launch_contract::Type;
pub use launch_contract::launch::{
    Argument, DevicePointer, Dim, Instance, Memory, Plain, Refusal, Shape, Target,
};
pub use lent::{Columns, Lent};
pub use matrix::Matrix;
pub use module::Module;
pub use permutation::Permutation;
pub use properties::{DeviceKind, DeviceProperties, PeerAccess};
pub use ptx::{PtxFile, PtxSource};
pub use staged::StagedBuffer;
pub use stream::Stream;
pub use view::{View, ViewMut};
#[cfg(feature = "emulator")]
pub use watch::{Given, GivenLaunch, Watch};

/// Limits of an emulated device, for [`Device::emulator_with`].
#[cfg(feature = "emulator")]
pub use ptx_emulator::Limits as EmulatorLimits;

/// Checks of a launch, for [`Watch::Check`].
#[cfg(feature = "emulator")]
pub use ptx_emulator::CheckOptions;

/// The cost of a launch: [`Device::take_profiles`].
#[cfg(feature = "emulator")]
pub use ptx_emulator::metrics::Profile;

/// The usual imports of a host program: `use blockwise::prelude::*;`
pub mod prelude {
    pub use crate::{Buffer, Device, DeviceChoice, Dim, Plain, Shape, Stream};
}
