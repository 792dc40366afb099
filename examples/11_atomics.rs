//! Atomics: a histogram of bytes.
//!
//! Many threads add to few counters, and plain additions would race: two threads read the same
//! value, and one addition is lost. An atomic addition is one step. Rust's own `core::sync::atomic`
//! works in kernels.
//!
//! Additions to one address wait for each other, so the block counts in shared memory, where that
//! is fast, and adds its counts to global memory once: 256 additions a block there, not one for
//! each byte.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;

/// Values of a byte, counters of the histogram, and threads of a block.
pub const BINS: usize = 256;

/// counts\[v\] += how often the byte v comes. Any grid.
///
/// # Safety
/// Nobody else uses `counts`. The rest is checked.
#[kernel(require(
    counts.len() == BINS,
    block.x as usize == BINS,
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn histogram(bytes: &[u8], counts: *mut u32) {
    let bins = shared_array![u32; BINS];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: a bin for each thread.
    unsafe { bins.add(thread).write(0) };
    // Every thread's zero comes before any thread's additions to that bin.
    thread::sync_threads();

    let first = thread::block_idx_x() as usize * BINS + thread;
    for i in (first..bytes.len()).step_by(thread::grid_dim_x() as usize * BINS) {
        // SAFETY: a bin for each byte; between the two barriers all additions are atomic.
        let bin = unsafe { AtomicU32::from_ptr(bins.add(bytes[i] as usize)) };
        bin.fetch_add(1, Ordering::Relaxed);
    }
    // Every thread's additions to a bin come before the read of it.
    thread::sync_threads();

    // SAFETY: a counter for each thread; other blocks add to it atomically too.
    unsafe {
        let count = AtomicU32::from_ptr(counts.add(thread));
        count.fetch_add(bins.add(thread).read(), Ordering::Relaxed);
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{BINS, histogram};

    /// How often each byte comes, counted by a grid of `blocks`.
    pub fn histogram_on(device: &Device, bytes: &[u8], blocks: u32) -> Result<Vec<u32>> {
        let bytes = device.upload(bytes)?;
        let mut counts = device.filled::<u32>(BINS, 0)?;
        let kernel = histogram::on(device)?.grid(blocks).block(BINS as u32);
        // SAFETY: `counts` is borrowed mutably.
        unsafe { kernel.launch(&bytes, &mut counts)? };
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
                // Few values, many times: additions that would be lost without atomics.
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
