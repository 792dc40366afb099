//! The page of `blockwise trace`: one HTML file that holds PTX, arguments and the emulator itself.
//!
//! Nothing is recorded beforehand. The page runs the launch, and computes any moment of it again
//! when it is asked for: so a reader can also change inputs, sizes, the order of threads and the
//! PTX, and run it again.
//!
//! [`Document`] is what a page holds. [`Session`] is one launch that can be looked at: [`Timeline`]
//! says what each step did and cost, [`Session::moment`] shows memory at one of them. This part is
//! compiled twice, for the host's tests and to WebAssembly, where `wasm.rs` makes it callable.
//! [`page`] puts a page together; `web/` is what draws it.

mod code;
mod cost;
mod document;
mod moment;
mod outputs;
#[cfg(not(target_arch = "wasm32"))]
pub mod page;
#[cfg(not(target_arch = "wasm32"))]
pub mod perfetto;
mod session;
mod steps;
mod timeline;
#[cfg(target_arch = "wasm32")]
pub mod wasm;

mod writes;

pub use code::Instruction;
pub use document::{Detectors, Document, Launch, Ptx, Source, StoredFile, StoredFiles};
pub use moment::{Access, Moment};
pub use outputs::Output;
pub use session::{Block, Order, Session, Shared, Summary};
pub use timeline::{Kind, Spent, Timeline};
