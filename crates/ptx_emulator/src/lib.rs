//! Executes PTX on the CPU and reports what a GPU hides.
//!
//! ```
//! use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};
//!
//! let ptx = "
//! .version 7.0
//! .target sm_80
//! .address_size 64
//! .visible .entry store_index(.param .u64 out) {
//!     .reg .b32 %r<2>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [out];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     st.global.u32 [%rd3], %r1;
//!     ret;
//! }";
//! let emulator = Emulator::new(Limits::default());
//! let module = emulator.load(&Module::parse(ptx)?)?;
//! let out = emulator.alloc(4 * 64)?;
//! let config = LaunchConfig { grid: [1, 1, 1], block: [64, 1, 1], dynamic_shared_bytes: 0 };
//! emulator.launch(&module, "store_index", config, &[&out.to_le_bytes()])?;
//!
//! let mut bytes = [0; 4 * 64];
//! emulator.read(out, &mut bytes)?;
//! assert_eq!(bytes[4 * 63], 63);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program's mistakes are returned as values: [`Fault`] has the kind, kernel, PTX line, source
//! line, block and thread. A kernel that uses an unsupported form is refused
//! ([`Entry::unsupported`]); the emulator never guesses.
#![deny(unsafe_code)]

mod access;
mod check;
mod decode;
mod emulator;
mod error;
mod exec;
mod fault;
mod launch;
mod limits;
mod loaded;
mod memory;
pub mod metrics;
mod module;
mod parse;
mod positions;
mod progress;
pub mod replay;
pub mod report;
mod sanitize;
mod signature;
mod source;
mod tensor;
pub mod testing;
mod texture;
mod variables;

pub use access::{Access, Nearest, Space};
pub use decode::{Entry, Param};
pub use emulator::Emulator;
pub use error::{InvalidLaunch, LaunchError, MemoryError, ParseError, ParseErrorKind};
pub use fault::{Fault, FaultKind, Loop, Place};
pub use launch::{LaunchConfig, Statistics};
pub use limits::Limits;
pub use loaded::LoadedModule;
pub use module::Module;
pub use parse::OPCODES;
pub use progress::{Progress, Running};
pub use sanitize::{CheckOptions, CheckReport, Finding, Rule, Severity, Site, Target, Tool};
pub use signature::{RustParameter, SIGNATURE_SUFFIX, record_text, rust_parameters};
pub use source::SourceLocation;
pub use tensor::{Swizzle, TensorElement, TensorMap};
pub use texture::{AddressMode, Channel, Filter, Image, Sampling, Shape};
