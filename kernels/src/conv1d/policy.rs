//! Which of the convolutions is launched, and with how many blocks.

use super::{blocked, window};

/// Outputs from which on a launch is large enough for the kernels in registers, whose tiles are large.
///
/// | µs a launch on an H200, in a graph | 2¹⁶ outputs | 2¹⁷ | 2¹⁸ | 2¹⁹ |
/// | --- | --- | --- | --- | --- |
/// | 5 taps: `tiled`, `window` | 2.2, 3.1 | 2.5, 3.1 | 3.5, 3.2 | 5.5, 3.2 |
/// | 63 taps: `tiled`, `window` with 4 tiles a warp | 3.9, 8.6 | 4.6, 8.8 | 7.0, 8.8 | 11.9, 8.7 |
/// | 255 taps: `tiled`, `blocked` | 9.4, 18.0 | 11.9, 12.3 | 21.3, 12.3 | 39.8, 15.6 |
pub const LARGE: usize = 1 << 18;

/// Tiles that a warp of [`window`] computes one after the other.
///
/// Share of the copy's bandwidth (4.25 TB/s), and from 48 taps on of the FMA peak (65.3 TFLOP/s), on an H200, driver 580.159, 2026-11-21,
/// n = 2²⁶ `f32` and, in the last column, 2²⁸:
///
/// | tiles of a warp | 5 taps | 10 taps | 16 taps | 31 taps | 48 taps | 63 taps | 10, 2²⁸ |
/// | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 1, up to 10 taps | **0.969** | **0.961** | | | | | **0.989** |
/// | 2, up to 16 | 0.956 | 0.954 | **0.959** | | | | 0.978 |
/// | 4, up to 32 | | 0.952 | 0.941 | **0.938** | 0.646 | 0.695 | |
/// | 8, above | | | | 0.914 | **0.658** | **0.715** | |
pub const fn tiles_of_a_warp(taps: usize) -> usize {
    match taps {
        0..=10 => 1,
        11..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Blocks of [`window`] that an H200 holds at once: as long as there are fewer, each warp has a tile only.
const AT_ONCE: usize = 5 * 132;

/// Blocks that [`window`] is launched with for so many outputs of type `T`.
pub const fn window_blocks<T>(outputs: usize, taps: usize) -> usize {
    let tiles = outputs.div_ceil(window::span::<T>());
    let most = tiles.div_ceil(window::WARPS);
    let blocks = tiles.div_ceil(window::WARPS * tiles_of_a_warp(taps));
    if blocks >= AT_ONCE {
        blocks
    } else if most < AT_ONCE {
        most
    } else {
        AT_ONCE
    }
}

/// Blocks that [`blocked`] is launched with for so many outputs of type `T`: one for each tile.
pub const fn blocked_blocks<T>(outputs: usize) -> usize {
    outputs.div_ceil(blocked::span::<T>())
}
