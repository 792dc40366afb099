//! What the integration tests share: devices, inputs, comparisons, and a reader of PTX text.

pub mod alarms;
mod arguments;
pub mod bench;
pub mod check;
pub mod corpus;
pub mod coverage;
pub mod data;
pub mod devices;
pub mod hardware;
pub mod jobs;
pub mod mutation;
pub mod ncu;
pub mod objects;
pub mod ptx;

pub use arguments::Arguments;
