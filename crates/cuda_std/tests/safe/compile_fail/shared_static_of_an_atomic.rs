//! A shared static's initialiser never runs, so an atomic would start undefined.
#![forbid(unsafe_code)]

use core::sync::atomic::AtomicU32;

#[cuda_std::address_space(shared)]
static COUNT: AtomicU32 = AtomicU32::new(0);

fn main() {}
