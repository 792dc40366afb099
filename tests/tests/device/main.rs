//! `cuda_std` in kernels, on every device that is there: functions of threads, warps and blocks,
//! floats, the rest of the library, and printing.

mod floats;
mod functions;
mod library;
mod prints;
