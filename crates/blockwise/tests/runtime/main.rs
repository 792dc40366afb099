//! The runtime library as its users call it, on every available device.

mod common;
mod device;
mod foreign;
mod launches;
mod light;
mod permutation;
