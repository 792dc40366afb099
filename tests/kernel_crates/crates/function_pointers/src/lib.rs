//! Function pointers in a table.

use cuda_std::prelude::*;

fn twice(x: u32) -> u32 {
    2 * x
}

fn square(x: u32) -> u32 {
    x * x
}

fn next(x: u32) -> u32 {
    x + 1
}

static STEPS: [fn(u32) -> u32; 3] = [twice, square, next];

/// The thread's number after two steps that its digits in base 3 choose.
#[kernel]
pub unsafe fn chosen_steps(out: *mut u32) {
    let t = thread::index_1d();
    let steps = core::hint::black_box(&STEPS);
    let (first, second) = (steps[(t % 3) as usize], steps[(t / 3 % 3) as usize]);
    *out.add(t as usize) = second(first(t));
}
