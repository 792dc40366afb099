//! An array on the stack that is indexed at run time: local memory.

use cuda_std::prelude::*;

/// How often each of the ten digits occurs in the decimal form of `numbers[i]`, as ten nibbles.
#[kernel]
pub unsafe fn digit_counts(numbers: &[u32], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= numbers.len() {
        return;
    }
    let mut counts = [0_u8; 10];
    let mut rest = numbers[i];
    loop {
        counts[(rest % 10) as usize] += 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let packed = counts
        .iter()
        .rev()
        .fold(0, |all, &count| all << 4 | u64::from(count));
    *out.add(i) = packed;
}
