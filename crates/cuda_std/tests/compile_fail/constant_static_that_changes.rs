use core::sync::atomic::AtomicU32;

use cuda_std::prelude::*;

#[address_space(constant)]
static COUNT: AtomicU32 = AtomicU32::new(0);

pub struct Counter {
    pub count: AtomicU32,
}

#[address_space(constant)]
static COUNTER: Counter = Counter { count: AtomicU32::new(0) };

// Right: the host alone sets it.
#[address_space(constant)]
static WEIGHTS: [f32; 2] = [0.5, 0.25];

fn main() {
    let _ = (WEIGHTS, &COUNTER.count);
}
