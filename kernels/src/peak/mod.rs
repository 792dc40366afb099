//! What the device can do at most: a measure for the other kernels.

pub mod fma;
