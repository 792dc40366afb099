//! The device's peak rate of multiply-adds, as a ceiling for the other kernels.

pub mod fma;
