//! The operations over meshes of emulated devices: results, and what each mistake or fault of a rank
//! is reported as.

mod common;
mod convolutions;
mod faults;
mod few;
mod meetings;
mod mistakes;
mod predictions;
mod processes;
mod products;
mod reductions;
mod strangers;
mod transposes;
