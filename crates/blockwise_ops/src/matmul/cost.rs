//! A model of the time of simple kernels, and of the launch that adds slices.
//!
//! The busiest multiprocessor decides: its blocks, each of which steps along the inner extent and
//! then stores its tile. The constants of f32 make the best choices among the launches of 300
//! random shapes, timed on an H200 (docs/log/2026-11-27-f32-choices.md). The constants of f64 fit 70
//! shapes on an H100, timed in one run with [`mma`](super::mma) and [`direct`](super::direct)
//! (docs/log/2026-11-28-doubles-choice.md); their launches were fitted on an H200 since
//! (2026-11-30-rows.md). Those of `register-tile`, except its launch, fit sweeps
//! on an H200 (2026-11-23).

use blockwise::DeviceProperties;
use kernels::matmul::{TILE, register_tile};

/// The costs of a kernel's blocks, in nanoseconds. Pairs are for 16-byte copies and for single
/// elements.
pub(super) struct Cost {
    /// Rows and columns of C that a block computes.
    tile: [usize; 2],
    /// Elements of the inner extent in a step.
    depth: usize,
    /// A launch that computes nothing.
    launch: f64,
    /// One step of each block of a multiprocessor.
    step: f64,
    /// Extra blocks per multiprocessor that account for the latency of few blocks.
    more: f64,
    /// The start of a block, and the stores of a whole tile.
    start: [f64; 2],
    store: [f64; 2],
}

/// The fraction of the time without slices, or with fewer rows in them, that slices may take: they
/// need memory.
pub(super) const WORTH: f64 = 0.98;

/// The smallest inner extent of a slice: the asynchronous copies fill three stages of 16.
pub(super) const SHORTEST: usize = 48;

/// What `naive` and `tiled` share.
const SIMPLE: Cost = Cost {
    tile: [TILE as usize; 2],
    depth: 1,
    launch: 0.0,
    step: 0.0,
    more: 0.0,
    start: [0.0; 2],
    store: [0.0; 2],
};

/// The costs of the kernels for a type of `bytes` bytes.
pub(super) const fn naive(bytes: usize) -> Cost {
    let (launch, step, more, start) = match bytes {
        4 => (4320.0, 7.29, 9.89, 151.0),
        _ => (3950.0, 12.2, 9.3, 162.0),
    };
    Cost {
        launch,
        step,
        more,
        start: [start; 2],
        ..SIMPLE
    }
}

pub(super) const fn tiled(bytes: usize) -> Cost {
    let (launch, step, more, start) = match bytes {
        4 => (4320.0, 118.0, 4.01, 55.0),
        _ => (3750.0, 225.0, 2.0, 110.0),
    };
    Cost {
        depth: TILE as usize,
        launch,
        step,
        more,
        start: [start; 2],
        ..SIMPLE
    }
}

pub(super) const fn register_tile(bytes: usize) -> Cost {
    let (launch, step, more, start, store) = match bytes {
        4 => (4520.0, 1020.0, 0.39, [218.0, 547.0], [1770.0, 2940.0]),
        _ => (4250.0, 2100.0, 0.0, [120.0; 2], [3900.0; 2]),
    };
    Cost {
        tile: [register_tile::SIDE as usize; 2],
        depth: register_tile::DEPTH as usize,
        launch,
        step,
        more,
        start,
        store,
    }
}

impl Cost {
    /// Nanoseconds of the launch. `packs` says whether B and C move 16 bytes at a time.
    pub(super) fn time(
        &self,
        [rows, inner, cols]: [usize; 3],
        packs: bool,
        multiprocessors: usize,
    ) -> f64 {
        let [high, wide] = self.tile;
        let tiles = rows.div_ceil(high).saturating_mul(cols.div_ceil(wide));
        if tiles == 0 {
            return self.launch;
        }
        let steps = inner.div_ceil(self.depth) as f64;
        let each = tiles.div_ceil(multiprocessors) as f64;
        // The fraction of the tiles' area that is inside C.
        let inside = rows as f64 * cols as f64 / (tiles as f64 * (high * wide) as f64);
        let at = usize::from(!packs);
        let block = self.start[at] + self.store[at] * inside;
        self.launch + steps * self.step * (each + self.more) + each * block
    }
}

/// Elements of the operands and the results of a batch.
pub(super) fn moved([rows, inner, cols]: [usize; 3], batch: usize) -> f64 {
    let [rows, inner, cols] = [rows, inner, cols].map(|extent| extent as f64);
    batch as f64 * (rows * inner + inner * cols + rows * cols)
}

/// What the launch that adds slices costs where it starts while the product's last blocks run, what
/// more on devices where it does not, and what for each slice.
const LAUNCH: f64 = 1300.0;
const LATE: f64 = 1500.0;
const SLICE: f64 = 30.0;
/// Bytes per nanosecond, read and written. Each byte beyond HELD, what the L2 cache holds, takes 1 /
/// BEYOND nanoseconds more.
const CACHED: f64 = 5800.0;
const HELD: f64 = 40e6;
const BEYOND: f64 = 10_000.0;

/// Nanoseconds of the launch that adds slices, beside the product's, for elements of `bytes` bytes.
pub(super) fn fold(
    [rows, _, cols]: [usize; 3],
    batch: usize,
    slices: usize,
    bytes: usize,
    properties: &DeviceProperties,
) -> f64 {
    if slices == 1 {
        return 0.0;
    }
    let late = match properties.compute_capability >= (9, 0) {
        true => 0.0,
        false => LATE,
    };
    let outputs = batch as f64 * rows as f64 * cols as f64;
    let moved = (slices as f64 + 1.0) * bytes as f64 * outputs;
    let beyond = (moved - HELD).max(0.0);
    LAUNCH + SLICE * slices as f64 + late + moved / CACHED + beyond / BEYOND
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of 48 elements a slice and this launch, less the product alone, on an H200.
    #[test]
    fn slices_are_added_in_the_time_that_was_measured() {
        let properties = crate::limits::h200();
        for (bytes, outputs, slices, measured) in [
            (8, 32_768, 8, 1860.0),
            (8, 131_072, 4, 2270.0),
            (8, 524_288, 8, 6690.0),
            (8, 1 << 20, 4, 8420.0),
            (8, 1 << 20, 16, 38_430.0),
            (4, 262_144, 16, 4060.0),
            (4, 2 << 20, 8, 18_660.0),
        ] {
            let time = fold([1, 1, outputs], 1, slices, bytes, &properties);
            let error = time / measured - 1.0;
            assert!(
                error.abs() < 0.25,
                "{outputs} in {slices}: {time} for {measured}"
            );
        }
    }
}
