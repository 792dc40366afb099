//! A reduction: the sum of a vector.
//!
//! Threads fold many values into one in three steps:
//!
//! - Each thread sums its share: elements index, index + grid threads, … Neighbouring threads read
//!   neighbouring elements.
//! - The block folds its threads' sums in shared memory by a tree: `fold_halves` adds the upper
//!   half of the remaining values to the lower half, until one is left. Halves round up, so any
//!   thread count works. A barrier at the start of each round orders the previous round's writes
//!   before this round's reads.
//! - The block writes one partial sum. A second launch, of one block, sums the partial sums.
//!   Launches of one queue run in order, so the host does not wait in between.
//!
//! The shared array is dynamic: one slot for each thread of a block whose size the launch chooses.
//! `shared(..)` gives its length; the launch computes the bytes.
//!
//! The tree shows how blocks fold. [`Scratch::reduce`] is faster: it uses the shuffles of
//! `12_warps`.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// partials\[block\] = the sum of the elements that the block's threads read. Any grid, any block.
#[kernel(shared(slots = block.threads()))]
pub fn sum(block: &mut Block, slots: Shared<[f32]>, x: &[f32], mut partials: Out<f32, PerBlock>) {
    let share = block.fold_strided(x, 0.0, |sum, x| sum + x);
    // Each thread has a slot, so this is always `Some`.
    let Some(mut slots) = slots.slots(block, share) else {
        return;
    };
    while slots.len() > 1 {
        slots.fold_halves(block, |low, high| low + high);
    }
    // One value is left, and thread 0 has it.
    if let Some(sum) = slots.mine() {
        partials.store(block, sum);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::sum;
    use crate::near::is_near;

    /// Blocks of the first launch.
    pub const BLOCKS: u32 = 16;

    /// The sum of `x`, in blocks of `threads`.
    pub fn sum_on(device: &Device, x: &[f32], threads: u32) -> Result<f32> {
        let x = device.upload(x)?;
        let mut partials = device.zeros::<f32>(BLOCKS as usize)?;
        let mut total = device.zeros::<f32>(1)?;
        let kernel = sum::on(device)?.grid(BLOCKS).block(threads);
        kernel.launch(&x, &mut partials)?;
        let kernel = sum::on(device)?.grid(1).block(threads);
        kernel.launch(&partials, &mut total)?;
        Ok(total.to_vec()?[0])
    }

    /// Compares with the sum in `f64`.
    pub(super) fn check(x: &[f32], got: f32, threads: u32) {
        let exact = x.iter().map(|x| f64::from(*x)).sum();
        let magnitude = x.iter().map(|x| f64::from(x.abs())).sum();
        // The most additions that an element goes through: its thread's share, then the tree, and
        // both again for the partial sums.
        let share = |len: usize, threads: u32| len.div_ceil(threads as usize);
        let tree = threads.next_power_of_two().ilog2() as usize;
        let roundings =
            share(x.len(), BLOCKS * threads) + share(BLOCKS as usize, threads) + 2 * tree;
        assert!(
            is_near(got, exact, magnitude, roundings),
            "{got} for {exact}, {} elements",
            x.len()
        );
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let x: Vec<f32> = (0..100_000)
            .map(|i| (0.37 * i as f32).sin() + 0.5)
            .collect();
        let sum = sum_on(device, &x, 256)?;
        check(&x, sum, 256);
        println!("the sum of {} elements is {sum}", x.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Result};

    use super::{BLOCKS, check, sum_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn sums_are_right_for_every_length_and_block() -> Result<()> {
        on_every_device(|device| {
            for threads in [1, 32, 100, 256] {
                let grid = (BLOCKS * threads) as usize;
                let block = threads as usize;
                for len in [0, 1, block - 1, block, block + 1, 997, grid, 2 * grid + 1] {
                    let x: Vec<f32> = (0..len).map(|i| (0.37 * i as f32).sin() + 0.5).collect();
                    check(&x, sum_on(device, &x, threads)?, threads);
                }
            }
            Ok(())
        })
    }

    #[test]
    fn a_nan_is_not_lost() -> Result<()> {
        let mut x = [1.0; 300];
        x[299] = f32::NAN;
        assert!(sum_on(&Device::checked(), &x, 256)?.is_nan());
        Ok(())
    }
}
