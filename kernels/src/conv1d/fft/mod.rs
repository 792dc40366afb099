//! Convolution by fast Fourier transforms in shared memory.

mod butterfly;
mod complex;
pub mod kernels;
mod passes;
pub mod shape;
mod window;

pub use complex::Transformed;
