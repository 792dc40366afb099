//! Kernels with safe launches.

use core::ops::{AddAssign, Mul};

use cuda_std::prelude::*;

/// `out[i] = value`; any launch.
#[kernel(instances(u8, u16, u32, f64))]
pub fn stamped<T: Plain>(value: T, mut out: Out<'_, T>) {
    for (_, element) in out.mine() {
        *element = value;
    }
}

/// `wrong[i] += 1` where `input[i]` is not `expected`; any launch.
#[kernel(require(input.len() == wrong.len()))]
pub fn count_other_than(input: &[u32], expected: u32, mut wrong: Out<'_, u32>) {
    for (i, wrong) in wrong.mine() {
        *wrong += u32::from(input[i] != expected);
    }
}

/// `y[i] += a · x[i]`; any launch.
#[kernel(instances(f32, f64), require(x.len() == y.len()))]
pub fn axpy<T: Plain + Mul<Output = T> + AddAssign>(a: T, x: &[T], mut y: Out<'_, T>) {
    for (i, y) in y.mine() {
        *y += a * x[i];
    }
}

/// Appends the odd elements in any order, by tiles of two elements for each thread. A thread that
/// meets an element that `stop` divides exits, as one that panics does.
#[kernel(allow_divergence = "threads that have exited are not waited for")]
pub unsafe fn append_until_exit(
    block: &mut Block<96>,
    mut scratch: Scratch<u64>,
    x: &[u32],
    stop: u32,
    mut kept: Append<u32>,
) {
    for tile in block.tiles_of::<2>(x.len()) {
        let choose = |x: u32| {
            if x.is_multiple_of(stop) {
                exit();
            }
            (x % 2 == 1).then_some(x)
        };
        kept.store(block, &mut scratch, tile, |i| x.get(i).copied(), choose);
    }
}

#[cfg(target_arch = "nvptx64")]
fn exit() -> ! {
    // SAFETY: ends the thread.
    unsafe { core::arch::asm!("exit;", options(noreturn, nostack)) }
}

#[cfg(not(target_arch = "nvptx64"))]
fn exit() -> ! {
    unimplemented!("a thread of a kernel")
}
