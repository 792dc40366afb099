//! The page of `blockwise trace`: one HTML file that holds PTX, arguments and the emulator itself.
//!
//! Nothing is recorded beforehand. The page runs the launch, and computes any step of it again on
//! request. So a reader can also change inputs, sizes, the thread order and the PTX, and run it
//! again.
//!
//! [`Document`] is what a page holds. [`Session`] is one launch: [`Timeline`] has what each step
//! did and cost, [`Session::go_to`] shows memory after one of them. This part is
//! compiled twice, for the host's tests and to WebAssembly, where `wasm.rs` makes it callable.
//! [`page`] puts a page together; `web/` is what draws it.

mod code;
mod cost;
mod document;
mod outputs;
#[cfg(not(target_arch = "wasm32"))]
pub mod page;
#[cfg(not(target_arch = "wasm32"))]
pub mod perfetto;
mod session;
mod spent;
mod step_state;
mod steps;
mod timeline;
#[cfg(target_arch = "wasm32")]
pub mod wasm;
mod writes;

pub use code::Instruction;
pub use document::{Detectors, Document, Launch, Ptx, Source, StoredFile, StoredFiles};
pub use outputs::Output;
pub use session::{Block, Order, Session, Shared, Summary};
pub use spent::{Kind, Spent};
pub use step_state::{Access, StepState};
pub use timeline::Timeline;
