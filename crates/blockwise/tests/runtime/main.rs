//! The runtime library as its users call it, on every device that is there.

mod common;
mod device;
mod foreign;
mod launches;
mod light;
mod permutation;
