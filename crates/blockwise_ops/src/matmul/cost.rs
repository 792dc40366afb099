//! A model of a launch's time, by which the launcher chooses.
//!
//! The busiest multiprocessor decides: its blocks, each of which steps along the inner extent and
//! then stores its tile. The constants of f32 make the best choices among the launches of 300
//! random shapes, timed on an H200 (docs/log/2026-11-27-f32-choices.md): the chosen launch takes
//! 1.014 times as long as the fastest, on average, and 1.008 at 61 other shapes on an H100. The
//! constants of f64 fit 70 shapes on an H100, timed in one run with [`mma`](super::mma) and
//! [`direct`](super::direct), with whose models they compete
//! (docs/log/2026-11-28-doubles-choice.md). Those of `register-tile`, except its launch, fit sweeps
//! on an H200 (2026-11-23).

use blockwise::DeviceProperties;
use kernels::matmul::policy::{Policy, Tiles};
use kernels::matmul::slices::{Cut, slice_len};
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
    step: [f64; 2],
    /// Extra blocks per multiprocessor that account for the latency of few blocks.
    more: f64,
    /// Blocks that together have a warp for each of the four schedulers: fewer take the same time.
    together: usize,
    /// Blocks that fit a multiprocessor, if it matters: the blocks after the last whole wave leave
    /// most multiprocessors idle.
    resident: usize,
    /// The start of a block.
    start: [f64; 2],
    /// The stores of a whole tile; the third is for rows of C that are not whole packs, if B was
    /// copied to rows that are.
    store: [f64; 3],
    /// Of a batch: the fraction of the time by the above, and what each block of a multiprocessor
    /// takes beside.
    of_batch: [[f64; 2]; 2],
}

/// The smallest inner extent of a slice: the asynchronous copies fill three stages of 16.
pub(super) const SHORTEST: usize = 48;

/// Nanoseconds of a second launch, which adds the slices, and per slice; bytes per nanosecond at
/// which the products of slices are written and read again, mostly in the L2 cache.
const fn folds(bytes: usize) -> [f64; 3] {
    match bytes {
        4 => [2150.0, 30.0, 4000.0],
        _ => [2050.0, 53.0, 3000.0],
    }
}
/// What it takes less where it starts early: 512³ 16.2 µs instead of 17.7, f64 64 × 1500 × 640 9.9
/// instead of 11.4 (H200). In products longer than LONG it decides nothing but ties.
const EARLY: f64 = 1500.0;
const LONG: f64 = 40_000.0;

/// The multiply-adds of the largest batches that the corrections for batches were fitted to: beyond,
/// 64 × 512³ took 373 µs by them and 352 without (H200).
const LARGEST: f64 = 3e9;

/// Nanoseconds of a byte of a batch's operands and results, by vectors or single elements.
const OF_BATCH: [f64; 2] = [7e-5, 3e-5];

/// The constants that all kernels without asynchronous copies share.
const SIMPLE: Cost = Cost {
    tile: [TILE as usize; 2],
    depth: 1,
    launch: 3300.0,
    step: [0.0; 2],
    more: 0.0,
    together: 1,
    resident: usize::MAX,
    start: [0.0; 2],
    store: [0.0; 3],
    of_batch: [[1.0, 0.0]; 2],
};

/// The costs of the kernels for a type of `bytes` bytes.
pub(super) const fn naive(bytes: usize) -> Cost {
    let (launch, step, more, start) = match bytes {
        4 => (4320.0, 7.29, 9.89, 151.0),
        _ => (4300.0, 12.2, 9.3, 162.0),
    };
    Cost {
        launch,
        step: [step; 2],
        more,
        start: [start; 2],
        ..SIMPLE
    }
}

pub(super) const fn tiled(bytes: usize) -> Cost {
    let (launch, step, more, start) = match bytes {
        4 => (4320.0, 118.0, 4.01, 55.0),
        _ => (4050.0, 225.0, 2.0, 110.0),
    };
    Cost {
        depth: TILE as usize,
        launch,
        step: [step; 2],
        more,
        start: [start; 2],
        ..SIMPLE
    }
}

pub(super) const fn register_tile(bytes: usize) -> Cost {
    let (launch, step, more, start, store) = match bytes {
        4 => (
            4520.0,
            1020.0,
            0.39,
            [218.0, 547.0],
            [1770.0, 2940.0, 2940.0],
        ),
        _ => (4250.0, 2100.0, 0.0, [120.0; 2], [3900.0; 3]),
    };
    Cost {
        tile: [register_tile::SIDE as usize; 2],
        depth: register_tile::DEPTH as usize,
        launch,
        step: [step; 2],
        more,
        start,
        store,
        ..SIMPLE
    }
}

/// The tiles and the steps of a policy, whose costs follow.
const fn of(policy: Policy, resident: usize) -> Cost {
    Cost {
        tile: [policy.rows, policy.cols],
        depth: policy.inner,
        resident,
        ..SIMPLE
    }
}

pub(super) const fn sliced(cut: Cut) -> Cost {
    let policy = cut.policy(true);
    match cut {
        Cut::Tall => Cost {
            launch: 6900.0,
            step: [622.0, 717.0],
            more: 0.30,
            start: [0.0, 355.0],
            store: [598.0, 978.0, 5050.0],
            of_batch: [[0.89, 800.0], [0.845, 510.0]],
            ..of(policy, 3)
        },
        Cut::Square => Cost {
            launch: 7020.0,
            step: [300.0, 360.0],
            more: 0.52,
            together: 2,
            start: [0.0, 0.0],
            store: [428.0, 936.0, 2950.0],
            of_batch: [[0.89, 410.0], [0.845, 290.0]],
            ..of(policy, 6)
        },
        Cut::Small => Cost {
            launch: 6020.0,
            step: [187.0, 233.0],
            more: 0.48,
            together: 2,
            start: [4.08, 86.0],
            store: [305.0, 441.0, 940.0],
            of_batch: [[0.89, 205.0], [0.845, 143.0]],
            ..of(policy, 6)
        },
        // 128 × 128 × 1408 takes 9.1 µs (9.5 in Small), 64 × 1000 × 2000 15.6 (16.2).
        Cut::Flat => Cost {
            tile: [policy.rows, policy.cols],
            step: [176.0, 222.0],
            ..sliced(Cut::Small)
        },
    }
}

/// [`Tiles::Wide`]. The step is 4 % shorter than in the fit, which has few products that they are
/// for: 8192³ takes 21.1 ms with them and 21.5 with `sliced`.
pub(super) const WIDE: Cost = Cost {
    launch: 6810.0,
    step: [1180.0; 2],
    more: 0.08,
    store: [4040.0; 3],
    of_batch: [[1.0, 500.0]; 2],
    ..of(Tiles::Wide.policy(), 1)
};

impl Cost {
    /// Nanoseconds of the launch that multiplies, each product of a batch in as many slices.
    /// `vectors` says whether B and C move 16 bytes at a time. The corrections for batches fit 406
    /// of them on an H200 (docs/log/2026-11-28-choice-of-batches.md).
    pub(super) fn time(
        &self,
        [rows, inner, cols]: [usize; 3],
        batch: usize,
        slices: usize,
        vectors: [bool; 2],
        multiprocessors: usize,
    ) -> f64 {
        let [high, wide] = self.tile;
        let tiles = rows.div_ceil(high).saturating_mul(cols.div_ceil(wide));
        if tiles.saturating_mul(batch) == 0 {
            return self.launch;
        }
        let len = if slices == 1 {
            inner
        } else {
            slice_len(inner, slices)
        };
        let steps = len.div_ceil(self.depth) as f64;
        let blocks = tiles.saturating_mul(batch).saturating_mul(slices);
        let each = blocks.div_ceil(multiprocessors);
        let turns = each.div_ceil(self.together).saturating_mul(self.together);
        let left = each > self.resident && !each.is_multiple_of(self.resident);
        let last = if left { self.together } else { 0 };
        let busy = turns.saturating_add(last) as f64 + self.more;
        // The fraction of the tiles' area that is inside C.
        let inside = rows as f64 * cols as f64 / (tiles as f64 * (high * wide) as f64);
        let (read, stored) = match vectors {
            [true, true] => (0, 0),
            [true, false] => (0, 2),
            [false, _] => (1, 1),
        };
        let block = self.start[read] + self.store[stored] * inside;
        let time = self.launch + steps * self.step[read] * busy + each as f64 * block;
        let sums = rows as f64 * inner as f64 * cols as f64 * batch as f64;
        if batch == 1 || sums > LARGEST {
            return time;
        }
        let [fraction, block] = self.of_batch[read];
        let moved = size_of::<f32>() as f64 * moved([rows, inner, cols], batch);
        fraction * time + each as f64 * block + moved * OF_BATCH[read]
    }
}

/// Elements of the operands and the results of a batch.
pub(super) fn moved([rows, inner, cols]: [usize; 3], batch: usize) -> f64 {
    let [rows, inner, cols] = [rows, inner, cols].map(|extent| extent as f64);
    batch as f64 * (rows * inner + inner * cols + rows * cols)
}

/// Nanoseconds of the launch that adds the products of slices, for elements of `bytes` bytes, after
/// one that takes `product`.
pub(super) fn fold(
    [rows, _, cols]: [usize; 3],
    batch: usize,
    slices: usize,
    bytes: usize,
    product: f64,
    device: &DeviceProperties,
) -> f64 {
    if slices == 1 {
        return 0.0;
    }
    let [launch, slice, sums] = folds(bytes);
    let is_early = device.compute_capability >= (9, 0) && product < LONG;
    let launch = launch - if is_early { EARLY } else { 0.0 };
    let outputs = batch as f64 * rows as f64 * cols as f64;
    let moved = 2.0 * (slices * bytes) as f64 * outputs;
    launch + slice * slices as f64 + moved / sums
}
