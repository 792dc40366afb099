//! Atomics: a histogram of bytes.
//!
//! Many threads add to few counters, and plain additions would race: two threads read the same
//! value, and one addition is lost. An atomic addition is a single step. So elements that every
//! thread may change are [`Atomics`] in global memory and `Counting` in shared memory, which have
//! atomic operations only.
//!
//! Additions to one address are serialised, so the block counts in shared memory, where that is
//! fast, and then adds its counts to global memory: 256 additions per block there instead of one
//! per byte.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Values of a byte, counters of the histogram, and threads of a block.
pub const BINS: usize = 256;

// ANCHOR: kernel
/// counts\[v\] += the number of bytes with the value v. Any grid.
#[kernel(require(counts.len() == BINS))]
pub fn histogram(
    block: &mut Block<BINS>,
    bins: Shared<[u32; BINS]>,
    bytes: &[u8],
    counts: Atomics<u32>,
) {
    let thread = block.thread();
    let zeroed = bins.zeroed(block);
    // Orders every thread's zero before any thread's additions to that bin.
    let counting = block.sync_threads(zeroed);
    for tile in block.tiles(bytes.len()) {
        if let Some(&byte) = bytes.get(tile.start() + thread) {
            counting.add(usize::from(byte), 1);
        }
    }
    // Orders every thread's additions to a bin before the read of it.
    let counted = block.sync_threads(counting);
    counts.add(thread, counted[thread]);
}
// ANCHOR_END: kernel

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{BINS, histogram};

    /// How often each byte comes, counted by a grid of `blocks`.
    pub fn histogram_on(device: &Device, bytes: &[u8], blocks: u32) -> Result<Vec<u32>> {
        let bytes = device.upload(bytes)?;
        let mut counts = device.zeros::<u32>(BINS)?;
        let kernel = histogram::on(device)?.grid(blocks);
        kernel.launch(&bytes, &mut counts)?;
        counts.to_vec()
    }

    /// The same on the host.
    pub(super) fn reference(bytes: &[u8]) -> Vec<u32> {
        let mut counts = vec![0; BINS];
        bytes
            .iter()
            .for_each(|byte| counts[usize::from(*byte)] += 1);
        counts
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let bytes = include_bytes!("11_atomics.rs");
        let counts = histogram_on(device, bytes, 4)?;
        assert_eq!(counts, reference(bytes));
        println!(
            "{} letters e in this example's source",
            counts[usize::from(b'e')]
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{histogram_on, reference};
    use crate::test_devices::on_every_device;

    #[test]
    fn every_byte_is_counted_once() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, 255, 256, 257, 997, 10_000] {
                // Few values, many times each: without atomics, additions would be lost.
                let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 5 * 60) as u8).collect();
                for blocks in [1, 4] {
                    let counts = histogram_on(device, &bytes, blocks)?;
                    assert_eq!(counts, reference(&bytes), "{len} bytes, {blocks} blocks");
                }
            }
            Ok(())
        })
    }
}
