//! The safe kernels of `safe_kernels`, each for blocks of every shape, under all detectors and in
//! several orders of threads, against what is computed here.

mod arrays;
mod atomics;
mod exclusive;
mod outputs;
mod positions;
mod scratch;
mod sizes;
mod slots;
mod warps;

use blockwise::{Buffer, CheckOptions, Device, EmulatorLimits, Watch};
use cuda_std::launch::Plain;

/// Grids of every kind.
const GRIDS: [[u32; 3]; 4] = [[1, 1, 1], [3, 1, 1], [2, 3, 1], [2, 1, 2]];

/// Those of one dimension.
const LINES: [u32; 3] = [1, 3, 40];

/// Lengths around the blocks' sizes.
const LENGTHS: [usize; 7] = [0, 1, 31, 33, 105, 300, 2500];

/// A device on which every launch is checked in the emulator's own order and in two others.
fn device() -> Device {
    let watch = Watch::Check(CheckOptions {
        schedules: 2,
        seed: 11,
        ..CheckOptions::default()
    });
    Device::emulator_with(EmulatorLimits::default(), watch)
}

/// Different numbers below 2¹⁶.
fn numbers(len: usize) -> Vec<u32> {
    (0..len as u32)
        .map(|i| i.wrapping_mul(0x9E37_79B9) >> 16)
        .collect()
}

/// What is in the memory of an output.
fn values<T: Plain>(buffer: &Buffer<T>) -> Vec<T> {
    buffer.to_vec().unwrap()
}

/// Runs the body for each instance of a kernel that is generic in the block's extents, and for the
/// one that leaves them to the launch in several shapes: with the handle and the extents.
macro_rules! for_each_block {
    ($device:expr, $kernel:ident, |$handle:ident, $block:ident| $body:block) => {{
        macro_rules! instance {
            ($x:literal $y:literal $z:literal) => {{
                let $handle = $kernel::<$x, $y, $z>::on($device).unwrap();
                let $block: [u32; 3] = [$x, $y, $z];
                $body
            }};
        }
        instance!(1 1 1);
        instance!(31 1 1);
        instance!(33 1 1);
        instance!(256 1 1);
        instance!(1024 1 1);
        instance!(16 16 1);
        instance!(7 5 3);
        for $block in [[1_u32, 1, 1], [31, 1, 1], [64, 1, 1], [100, 2, 1], [3, 4, 9], [1024, 1, 1]] {
            let $handle = $kernel::<0, 0, 0>::on($device).unwrap().block($block);
            $body
        }
    }};
}
use for_each_block;

/// The threads of a block.
fn threads(block: [u32; 3]) -> usize {
    block.iter().product::<u32>() as usize
}
