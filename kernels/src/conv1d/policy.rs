//! A convolution kernel's number of blocks.

use super::{blocked, window};

/// Tiles per ten warps of [`window`]. With 27, the blocks that start first compute three tiles per
/// warp, one after the other, and the others two, so that the blocks that finish last are short.
///
/// Share of the copy's bandwidth (4.28 TB/s), and from 48 taps on of the FMA peak (62.9 TFLOP/s),
/// on an H200, driver 580.159, 2026-11-22, n = 2²⁶ `f32` and, in the last columns, 2²⁸:
///
/// | tiles per ten warps | 10 taps | 16 | 20 | 24 | 31 | 36 | 40 | 48 | 63 | 10, 2²⁸ | 20, 2²⁸ | 31, 2²⁸ |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | 10, up to 10 taps | 0.972 | | | | | | | | | **0.993** | | |
/// | 15 | **0.983** | 0.950 | 0.941 | 0.922 | 0.888 | | | | | 0.984 | | |
/// | 18, up to 20 | 0.980 | **0.975** | **0.970** | 0.956 | 0.925 | | | | | 0.983 | **0.982** | 0.953 |
/// | 20 | 0.972 | 0.973 | 0.963 | 0.954 | 0.927 | | | | | 0.978 | 0.982 | 0.964 |
/// | 27, up to 32 | 0.973 | 0.972 | 0.968 | **0.966** | **0.951** | 0.918 | 0.893 | 0.650 | 0.725 | | 0.978 | **0.978** |
/// | 40, up to 40 | | 0.958 | 0.955 | 0.955 | 0.948 | **0.941** | **0.915** | 0.661 | 0.735 | | 0.969 | 0.969 |
/// | 80 | | | | | | 0.914 | 0.912 | 0.667 | 0.741 | | | |
/// | 100, above | | | | | | 0.908 | 0.910 | **0.670** | **0.743** | | | |
///
/// Reallocating the same arrays moves a whole column up or down by up to 1 %.
pub const fn tiles_of_ten_warps(taps: usize) -> usize {
    match taps {
        0..=10 => 10,
        11..=20 => 18,
        21..=32 => 27,
        33..=40 => 40,
        _ => 100,
    }
}

/// Blocks of [`window`] that an H200 holds: with fewer, each warp has one tile.
const AT_ONCE: usize = 5 * 132;

/// Number of blocks that [`window`] is launched with for each of `rows` rows of `outputs` outputs
/// of type `T`.
pub const fn window_blocks<T>(outputs: usize, taps: usize, rows: usize) -> usize {
    let tiles = outputs.div_ceil(window::span::<T>());
    let most = tiles.div_ceil(window::WARPS);
    let blocks = (10 * tiles).div_ceil(window::WARPS * tiles_of_ten_warps(taps));
    let at_once = AT_ONCE.div_ceil(if rows > 1 { rows } else { 1 });
    if blocks >= at_once {
        blocks
    } else if most < at_once {
        most
    } else {
        at_once
    }
}

/// Number of blocks that [`blocked`] is launched with for `outputs` outputs of type `T`: one per
/// tile.
pub const fn blocked_blocks<T>(outputs: usize) -> usize {
    outputs.div_ceil(blocked::span::<T>())
}

/// Number of taps from which a convolution may use transforms.
pub const FFT_FROM: usize = 64;
