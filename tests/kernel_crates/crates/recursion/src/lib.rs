//! Recursion, also by turns between two functions.

use cuda_std::prelude::*;

#[inline(never)]
fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

#[inline(never)]
fn is_even(n: u32) -> bool {
    n == 0 || is_odd(n - 1)
}

#[inline(never)]
fn is_odd(n: u32) -> bool {
    n != 0 && is_even(n - 1)
}

#[inline(never)]
fn deep(n: u64) -> u64 {
    if n == 0 {
        1
    } else {
        deep(n - 1).wrapping_mul(3) ^ n
    }
}

/// Calls of one function, `depth` in each other.
#[kernel]
pub unsafe fn deep_calls(depth: u64, out: *mut u64) {
    *out.add(thread::index_1d() as usize) = deep(depth + u64::from(thread::index_1d()));
}

/// Ackermann's function of 2 and the thread, and whether the thread's number is even.
#[kernel]
pub unsafe fn recursive(out: *mut u32) {
    let t = thread::index_1d();
    *out.add(2 * t as usize) = ackermann(2, t);
    *out.add(2 * t as usize + 1) = u32::from(is_even(t));
}
