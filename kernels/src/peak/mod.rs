//! Measures the device's peak rate, as a reference for the other kernels.

pub mod fma;
