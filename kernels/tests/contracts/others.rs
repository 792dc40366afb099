//! Convolutions, transposes and reversals.

use kernels::conv1d::blocked::conv1d_blocked;
use kernels::conv1d::fft::columns::{RADIX, conv1d_fft_columns, roots_len};
use kernels::conv1d::fft::shape::marks_len;
use kernels::conv1d::rows::conv1d_rows;
use kernels::conv1d::window::{self, MAX_TAPS, conv1d_window};
use kernels::reverse::along::reverse_along;
use kernels::transpose::aligned::{self, transpose_aligned};
use kernels::transpose::packs::{self, transpose_packs};
use kernels::transpose::quads::{self, transpose_quads, transpose_thin_quads};
use kernels::transpose::thin::{self, transpose_thin};

use super::{Device, Error, behind, memory, refused, shape, starts};

/// Launches a convolution: samples, taps, outputs, offset, grid and block.
type Convolve = fn(u64, u64, u64, usize, [u32; 3], [u32; 3]) -> Result<(), Error>;

macro_rules! convolve {
    ($handle:ty) => {
        |samples, taps, outputs, offset, grid, block| {
            let kernel = <$handle>::on(&Device::default())?.shape(shape(grid, block));
            kernel.launch(
                &memory(samples),
                &memory(taps),
                &mut memory(outputs),
                offset,
            )
        }
    };
}

const WINDOW: Convolve = convolve!(conv1d_window<f32>);
const BLOCKED: Convolve = convolve!(conv1d_blocked<f64>);
const GRID: [u32; 3] = [4, 1, 1];
const BLOCK: [u32; 3] = [128, 1, 1];

#[test]
fn convolutions_have_their_block_and_one_row_of_them() {
    for start in [WINDOW, BLOCKED] {
        starts(start(1000, 9, 1000, 4, GRID, BLOCK));
        // Samples may be missing: those outside count as zeros.
        starts(start(0, 9, 1000, 4, GRID, BLOCK));
        for (grid, block, rule) in [
            (GRID, [96, 1, 1], "block.x == THREADS"),
            (GRID, [256, 1, 1], "block.x == THREADS"),
            (GRID, [128, 2, 1], "block.y"),
            (GRID, [128, 1, 2], "block.z"),
            ([4, 2, 1], BLOCK, "grid.y"),
            ([4, 1, 2], BLOCK, "grid.z"),
        ] {
            refused(start(1000, 9, 1000, 4, grid, block), rule);
        }
    }
}

#[test]
fn convolutions_have_taps_and_indices_that_fit() {
    for start in [WINDOW, BLOCKED] {
        refused(start(1000, 0, 1000, 4, GRID, BLOCK), "taps");
        starts(start(1000, 9, 1000, usize::MAX - 1000, GRID, BLOCK));
        let beyond = start(1000, 9, 1000, usize::MAX - 999, GRID, BLOCK);
        refused(beyond, "offset.checked_add(output.len()).is_some()");
    }
    let most = MAX_TAPS as u64;
    starts(WINDOW(1000, most, 1000, 4, GRID, BLOCK));
    refused(WINDOW(1000, most + 1, 1000, 4, GRID, BLOCK), "taps.len()");
}

#[test]
fn rows_have_a_layer_each_and_as_many_elements() {
    let start = |lens: [u64; 3], pitches: [usize; 2], grid: [u32; 3], log_width| {
        let kernel = conv1d_rows::<f32>::on(&Device::default())?.shape(shape(grid, BLOCK));
        let [signal, taps, outputs] = lens.map(memory);
        let [signal_pitch, taps_pitch] = pitches;
        let mut outputs = outputs;
        kernel.launch(
            &signal,
            &taps,
            &mut outputs,
            4,
            100,
            9,
            100,
            signal_pitch,
            taps_pitch,
            log_width,
        )
    };
    for grid in [[4, 3, 1], [4, 1, 3], [4, 2, 2]] {
        starts(start([300, 9, 300], [100, 0], grid, 7));
        starts(start([100, 27, 300], [0, 9], grid, 7));
    }
    starts(start([300, 9, 300], [100, 0], [4, 1, 1], 5));
    for (lens, pitches, grid, log_width, rule) in [
        ([300, 9, 300], [100, 0], [4, 2, 1], 7, "are_layers"),
        ([200, 9, 300], [100, 0], [4, 3, 1], 7, "are_rows"),
        ([300, 18, 300], [100, 9], [4, 3, 1], 7, "are_rows"),
        ([300, 9, 301], [100, 0], [4, 3, 1], 7, "are_rows"),
        ([300, 9, 300], [100, 0], [4, 3, 1], 8, "log_width"),
    ] {
        refused(start(lens, pitches, grid, log_width), rule);
    }
}

#[test]
fn tiles_of_windows_are_counted_in_32_bits() {
    let tiles = (1 << 31) * window::span::<f32>() as u64;
    starts(WINDOW(1000, 9, tiles - 1, 4, GRID, BLOCK));
    refused(WINDOW(1000, 9, tiles, 4, GRID, BLOCK), "1 << 31");
    starts(WINDOW(1000, 9, 1000, 4, [1 << 29, 1, 1], BLOCK));
    let grid = [(1 << 29) + 1, 1, 1];
    refused(WINDOW(1000, 9, 1000, 4, grid, BLOCK), "grid.x <= 1 << 29");
}

#[test]
fn transposes_have_matrices_of_one_size_and_their_block() {
    macro_rules! check {
        ($handle:ty, $threads:expr) => {
            let start = |input, output, rows, cols, grid, block| {
                let kernel = <$handle>::on(&Device::default())?.shape(shape(grid, block));
                kernel.launch(&memory(input), &mut memory(output), rows, cols)
            };
            let (grid, block) = ([3, 2, 1], [$threads, 1, 1]);
            starts(start(6, 6, 2, 3, grid, block));
            refused(start(6, 6, 2, 4, grid, block), "rows.checked_mul(cols)");
            // Their product is 0 in 64 bits.
            refused(start(0, 0, 1 << 32, 1 << 32, grid, block), "checked_mul");
            refused(
                start(6, 5, 2, 3, grid, block),
                "output.len() == input.len()",
            );
            refused(start(6, 6, 2, 3, [1, 1, 2], block), "grid.z");
            for block in [[64, 1, 1], [1024, 1, 1], [$threads, 2, 1], [$threads, 1, 2]] {
                refused(start(6, 6, 2, 3, grid, block), "block.x");
            }
        };
    }
    check!(transpose_aligned<u32>, aligned::TILE.threads);
    check!(transpose_thin<u32>, thin::THREADS);
    check!(transpose_packs<u32>, packs::THREADS);
}

#[test]
fn transposes_by_quads_have_whole_packs_on_both_sides() {
    macro_rules! check {
        ($handle:ty, $lanes:expr) => {
            let start = |input, output, rows, cols, block| {
                let kernel = <$handle>::on(&Device::default())?.shape(shape([3, 2, 1], block));
                kernel.launch(&input, &mut { output }, rows, cols)
            };
            let (all, block) = (8 * $lanes, [quads::THREADS, 1, 1]);
            let (even, odd) = (2 * $lanes, $lanes as usize);
            starts(start(memory(all), memory(all), 8, odd, block));
            for (input, output, [rows, cols], block, rule) in [
                (
                    behind(all),
                    memory(all),
                    [8, odd],
                    block,
                    "input.is_aligned",
                ),
                (
                    memory(all),
                    behind(all),
                    [8, odd],
                    block,
                    "output.is_aligned",
                ),
                (memory(even), memory(even), [1, 2 * odd], block, "lanes"),
                (memory(even), memory(even), [2 * odd, 1], block, "lanes"),
                (memory(all), memory(even), [8, odd], block, "output.len()"),
                (memory(all), memory(all), [8, 2 * odd], block, "checked_mul"),
                (memory(all), memory(all), [8, odd], [32, 8, 1], "block.x"),
            ] {
                refused(start(input, output, rows, cols, block), rule);
            }
        };
    }
    check!(transpose_quads<u32>, 4);
    check!(transpose_thin_quads<u64>, 2);
}

#[test]
fn what_is_reversed_along_an_axis_has_whole_rows() {
    let start = |len: u64, extent, inner| {
        let kernel = reverse_along::<u32>::on(&Device::default())?.shape(shape(GRID, BLOCK));
        kernel.launch(&memory(len), &mut memory(len), extent, inner)
    };
    starts(start(12, 2, 3));
    starts(start(0, 0, 0));
    for (len, extent, inner) in [(5, 2, 1), (12, 0, 1), (12, 2, 0), (12, 1 << 63, 2)] {
        refused(start(len, extent, inner), "is_multiple_of");
    }
}

#[test]
fn columns_of_transforms_are_counted_in_32_bits() {
    let start = |columns: usize, each, shift| {
        let kernel = conv1d_fft_columns::<f32>::on(&Device::default())?;
        kernel.shape(shape([1; 3], BLOCK)).launch(
            &memory(1000),
            &memory(9),
            &memory(roots_len(columns) as u64),
            &mut memory(2 * (RADIX * columns) as u64),
            &mut memory(marks_len(columns) as u64),
            columns,
            0,
            500,
            0,
            1,
            each,
            shift,
            1000,
            0,
        )
    };
    starts(start(32, 1, 31));
    starts(start(1 << 14, (1 << 32) - 1, 0));
    for (columns, each, shift, rule) in [
        (1 << 15, 1, 0, "are_transforms"),
        (32, 1 << 32, 0, "have_pairs"),
        (32, 0, 0, "have_pairs"),
        (32, 1, 32, "shift < 32"),
    ] {
        refused(start(columns, each, shift), rule);
    }
}
