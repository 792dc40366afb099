//! `misc::clock` and `thread::nanosleep`, `misc::profiler_counter`.

use cuda_std::{misc, prelude::*};

/// 1 if the clock ran while the thread slept.
#[kernel]
pub unsafe fn slept(out: *mut u32) {
    misc::profiler_counter(2);
    let start = misc::clock();
    thread::nanosleep(2000);
    let end = misc::clock();
    *out.add(thread::index_1d() as usize) = u32::from(end > start);
}
