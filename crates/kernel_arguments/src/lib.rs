//! Arguments for the parameters of any kernel, as people write them on the command line and in the
//! viewer's page, and their memory in the emulator.
//!
//! | written | passed |
//! | --- | --- |
//! | `u32:7`, `f64:-1.5`, `i8:0x7f` | the number |
//! | `bytes:00ff20` | these bytes, for a parameter that is a struct |
//! | `f32[1024]` | the address of uninitialised memory |
//! | `f32[1024]=zeros`, `=iota`, `=random:SEED` | the address of 0, 0, 0, … or 0, 1, 2, … or random numbers |
//! | `f32[1024]=x.npy`, `f32[]=x.npy` | the address of a file's array; its length may be left out |
//! | `slice:f32[1024]=…` | two parameters, address and length: a Rust slice |
//! | `matrix:f32[40,50]=…` | three parameters, address, rows and columns: a `Matrix`, an `OutMatrix` |
//! | `… -> out.npy` | the same, and the memory is saved after the launch |
//! | `tex2d:f32=x.npy,linear,wrap,normalized` | the handle of a texture |
//! | `surf2d:u8x4[480,640]=zeros -> out.npy` | the handle of a surface |
//! | `NAME=tex2d:…`, `NAME=surf2d:…` | nothing: the reference `NAME` of the module is bound |
//!
//! The caller reads the files ([`Files`]): the command reads the disk, the page the files embedded
//! in it.

mod bind;
mod buffer;
mod example;
mod fill;
mod image;
mod number;
mod problem;
mod syntax;

pub use bind::{Arguments, Placed, Role};
pub use example::missing;
pub use launch_contract::Type;
pub use number::bytes_of;
pub use problem::Problem;

use std::path::Path;

/// Reads the files that arguments name.
pub trait Files {
    /// The array of a file, with its numbers converted to `ty`.
    ///
    /// # Errors
    /// If there is no such file, or `ty` cannot hold its numbers exactly.
    fn array(&self, path: &Path, ty: Type) -> Result<Array, Problem>;
}

/// A file's array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its extents, outermost first.
    pub extents: Vec<usize>,
    /// Its numbers, in row-major order.
    pub bytes: Vec<u8>,
}
