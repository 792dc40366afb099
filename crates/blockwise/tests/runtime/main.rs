//! The runtime library as its users call it, on every device that is there.

mod common;
mod device;
mod launches;
mod light;
