//! Steps of the ladders in `docs/ladders.md`: kernels that teach, and ones that show what a change
//! costs. No operation launches them, and `blockwise_ops` does not know them.
//!
//! | step | of | shows |
//! | --- | --- | --- |
//! | [`shuffle`] | sum, min, max, dot | warps fold in registers |
//! | [`single8`] | sum, min, max, dot | twice as many loads in flight |
//! | [`aligned_narrow`] | transpose | tiles of half the width |
//! | [`fft_radix2`] | conv | one butterfly of two points per thread and step |
//! | [`fft4096_ungapped`] | conv | shared memory without gaps, with bank conflicts |
//! | [`peak`] | | multiply-adds at the device's peak, a ceiling for the others |
//!
//! They are [variants](blockwise_ops::Variant) like the product's, of another crate: [`variants`]
//! joins the two lists for whatever takes any kernel (`blockwise bench`, `profile`, `trace`, the
//! detectors' jobs).

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod aligned_narrow;
pub mod fft4096_ungapped;
pub mod fft_radix2;
pub mod peak;
pub mod shuffle;
pub mod single8;

#[cfg(not(target_arch = "nvptx64"))]
pub mod fma_rate;
#[cfg(not(target_arch = "nvptx64"))]
mod steps;

// On the host through `blockwise_ops`: a direct dependency would make cargo run this crate's build
// script after that of `kernels`, though each builds PTX of its own.
#[cfg(not(target_arch = "nvptx64"))]
use blockwise_ops::kernels;
#[cfg(target_arch = "nvptx64")]
extern crate kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub use steps::{
    CASES, FFT_RADIX2, FFT4096_UNGAPPED, NARROW, SHUFFLE, SINGLE8, STEPS, cases, variant, variants,
};

cuda_std::embedded_kernels!();
