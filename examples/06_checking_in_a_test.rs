//! Checking in a test: mistakes that a GPU does not report.
//!
//! [`Device::checked()`](blockwise::Device::checked) is the emulator with every detector on. A
//! launch there fails on a race, a read of uninitialised memory, an access out of bounds, or a
//! barrier that only some threads reach; the error names the kernel's Rust line. It needs no GPU:
//! `cargo test` is the check.
//!
//! A safe kernel has none of these mistakes: it can only panic or compute a wrong result. An
//! `unsafe` one can have them all. Three kernels reverse each block's elements through shared
//! memory:
//!
//! - [`reverse_blocks`] is safe. Without its barrier it does not compile.
//! - [`reverse_blocks_raw`] does the same in rust-cuda's style. Nothing enforces its barrier.
//! - [`broken::reverse_without_barrier`] has none. On a GPU the result is often right; under the
//!   detectors the launch fails and reports the lines of the write and of the read.

use cuda_std::prelude::*;

/// Threads per block, and elements that one block reverses at a time.
pub const THREADS: usize = 256;

// ANCHOR: safe
/// Reverses each block of `THREADS` elements; the last may be shorter. Any grid works.
#[kernel(require(x.len() == y.len()))]
pub fn reverse_blocks(
    block: &mut Block<THREADS>,
    mut tile: Shared<[u32; THREADS]>,
    x: &[u32],
    mut y: Out<u32>,
) {
    for place in block.tiles(x.len()) {
        let first = place.start();
        let written = tile.write(block, |slot| x.get(first + slot).copied().unwrap_or(0));
        // Orders each thread's write of a slot before another thread's read of it.
        let loaded = block.sync_threads(written);
        let count = THREADS.min(x.len() - first);
        y.store(block, place, |i| loaded[count - 1 - (i - first)]);
        // Orders every read of this tile before the writes of the next one.
        tile = block.sync_threads(loaded);
    }
}
// ANCHOR_END: safe

// ANCHOR: launch
/// Launches it: the handle's methods are typed by the kernel's signature.
#[cfg(not(target_arch = "nvptx64"))]
pub fn reverse_on(device: &blockwise::Device, x: &[u32]) -> blockwise::Result<Vec<u32>> {
    let (x, mut y) = (device.upload(x)?, device.zeros::<u32>(x.len())?);
    let kernel = reverse_blocks::on(device)?.covering(x.len())?;
    kernel.launch(&x, &mut y)?;
    y.to_vec()
}
// ANCHOR_END: launch

// ANCHOR: raw
/// The same in rust-cuda's style: all threads share a pointer, and each computes the indices of its
/// own slot and element. The grid covers `x`.
///
/// # Safety
/// Nothing else accesses `y` during the launch. The launch checks the rest.
#[kernel(require(
    x.len() == y.len(),
    block.x as usize == THREADS,
    grid.x as usize * THREADS >= x.len(),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn reverse_blocks_raw(x: &[u32], y: *mut u32) {
    let tile = shared_array![u32; THREADS];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    let count = x.len().saturating_sub(first).min(THREADS);
    if thread < count {
        // SAFETY: `thread < count <= THREADS`; each thread has a slot of its own.
        unsafe { tile.add(thread).write(x[first + thread]) };
    }
    // Orders the writes of slots before the reads of them. Outside the `if`: threads without an
    // element must arrive too.
    thread::sync_threads();
    if thread < count {
        // SAFETY: the barrier orders the slot's write before this read; no other thread has this
        // element.
        unsafe { y.add(first + thread).write(*tile.add(count - 1 - thread)) };
    }
}
// ANCHOR_END: raw

/// The kernel with the mistake.
pub mod broken {
    use super::*;

    /// [`reverse_blocks_raw`](super::reverse_blocks_raw()) without its barrier, for whole blocks.
    ///
    /// # Safety
    /// None: that is the point.
    #[kernel(require(
        x.len() == y.len(),
        block.x as usize == THREADS,
        grid.x as usize * THREADS == x.len(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    ))]
    pub unsafe fn reverse_without_barrier(x: &[u32], y: *mut u32) {
        let tile = shared_array![u32; THREADS];
        let thread = thread::thread_idx_x() as usize;
        let first = thread::block_idx_x() as usize * THREADS;
        // SAFETY: each thread has a slot of its own.
        unsafe { tile.add(thread).write(x[first + thread]) }; // the write
        // The mistake: no barrier here.
        // SAFETY: none. Another thread writes that slot, before or after this read.
        unsafe { y.add(first + thread).write(*tile.add(THREADS - 1 - thread)) }; // the read
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::broken::reverse_without_barrier;
    use super::{THREADS, reverse_blocks_raw, reverse_on};

    /// [`reverse_on`] with the `unsafe` kernel.
    pub fn reverse_raw_on(device: &Device, x: &[u32]) -> Result<Vec<u32>> {
        let (x, mut y) = (device.upload(x)?, device.zeros::<u32>(x.len())?);
        let kernel = reverse_blocks_raw::on(device)?
            .block(THREADS as u32)
            .covering(x.len())?;
        // SAFETY: `y` is borrowed mutably.
        unsafe { kernel.launch(&x, &mut y)? };
        y.to_vec()
    }

    /// The same on the host.
    pub(super) fn reference(x: &[u32]) -> Vec<u32> {
        let blocks = x.chunks(THREADS);
        blocks
            .flat_map(|block| block.iter().rev().copied())
            .collect()
    }

    /// Launches the kernel without the barrier, under all detectors.
    ///
    /// # Errors
    /// The race.
    pub fn reverse_with_races() -> Result<()> {
        let device = Device::checked();
        let (x, mut y) = (device.upload(&[7; THREADS])?, device.zeros::<u32>(THREADS)?);
        let kernel = reverse_without_barrier::on(&device)?
            .grid(1)
            .block(THREADS as u32);
        // SAFETY: on the emulator a race changes nothing but the result.
        unsafe { kernel.launch(&x, &mut y) }
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let x: Vec<u32> = (0..1_000).collect();
        assert_eq!(reverse_on(device, &x)?, reference(&x));
        assert_eq!(reverse_raw_on(device, &x)?, reference(&x));
        println!(
            "with the barrier: {} elements reversed in blocks of {THREADS}",
            x.len()
        );

        println!("without it, under the detectors:");
        let race = reverse_with_races().expect_err("a race").to_string();
        // The headline and the place only; the whole report shows the source of both accesses.
        let short = |line: &&str| line.contains("Error: ") || line.contains("-->");
        race.lines()
            .filter(short)
            .for_each(|line| println!("{line}"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{THREADS, reference, reverse_on, reverse_raw_on, reverse_with_races};
    use crate::test_devices::on_every_device;

    #[test]
    fn reversed_blocks_are_in_their_places() -> blockwise::Result<()> {
        let x: Vec<u32> = (0..1000).collect();
        let y = reverse_on(&blockwise::Device::checked(), &x)?;
        assert_eq!((y[0], y[255], y[256], y[999]), (255, 0, 511, 768));
        Ok(())
    }

    #[test]
    fn each_block_is_reversed() -> Result<()> {
        on_every_device(|device| {
            for len in [0, 1, THREADS - 1, THREADS, THREADS + 1, 997, 5 * THREADS] {
                let x: Vec<u32> = (0..len as u32).collect();
                assert_eq!(reverse_on(device, &x)?, reference(&x), "{len} elements");
                assert_eq!(reverse_raw_on(device, &x)?, reference(&x), "{len} elements");
            }
            Ok(())
        })
    }

    #[test]
    fn the_missing_barrier_is_reported_with_its_lines() {
        let report = reverse_with_races().unwrap_err().to_string();
        assert!(report.contains("race"), "{report}");
        let source = include_str!("06_checking_in_a_test.rs");
        for mark in ["// the write", "// the read"] {
            let line = source.lines().position(|line| line.ends_with(mark));
            let place = format!("06_checking_in_a_test.rs:{}", 1 + line.unwrap());
            assert!(report.contains(&place), "{place} is not in:\n{report}");
        }
    }
}
