//! The page of `blockwise trace`: one HTML file that holds PTX, arguments and the emulator itself.
//!
//! Nothing is precomputed. The page runs the launch, and recomputes any step on request. So a
//! reader can also change inputs, sizes, the thread order and the PTX, and run it again.
//!
//! [`Document`] is the content of a page. [`Session`] is one launch: [`Timeline`] has what each
//! step did and cost, [`Session::go_to`] shows memory after a step. This part is compiled twice:
//! for the host's tests, and to WebAssembly, where `wasm.rs` is its interface. [`page`] assembles a
//! page; `web/` draws it.

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
