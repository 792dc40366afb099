//! A model of a launch's time, by which the launcher chooses.
//!
//! The busiest multiprocessor decides: its blocks, each of which steps along the inner extent and
//! then stores its tile. The constants are a least-squares fit of logarithms to the 1601 products
//! of two sweeps on an H200 (driver 580, 2026-11-23; docs/log), with random extents up to 20,000,
//! and to the products of the tables there. Half of the predicted times are within 5 % of the
//! measured ones, nine in ten within 17 %.

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
    /// The start of a block, and the stores of a whole tile.
    start: f64,
    store: [f64; 2],
}

/// The smallest inner extent of a slice: the asynchronous copies fill three stages of 16.
pub(super) const SHORTEST: usize = 48;

/// Nanoseconds of a second launch, which adds the slices, and per slice; bytes per nanosecond at
/// which the products of slices are written and read again, mostly in the L2 cache.
const FOLD: f64 = 2050.0;
const SLICE: f64 = 53.0;
const SUMS: f64 = 3000.0;

/// The constants that all kernels without asynchronous copies share.
const SIMPLE: Cost = Cost {
    tile: [TILE as usize; 2],
    depth: 1,
    launch: 3300.0,
    step: [0.0; 2],
    more: 0.0,
    together: 1,
    resident: usize::MAX,
    start: 0.0,
    store: [0.0; 2],
};

/// The costs of the kernels for a type of `bytes` bytes.
pub(super) const fn naive(bytes: usize) -> Cost {
    let (step, more, start) = match bytes {
        4 => (7.7, 4.3, 160.0),
        _ => (12.2, 5.2, 150.0),
    };
    Cost {
        step: [step; 2],
        more,
        start,
        ..SIMPLE
    }
}

pub(super) const fn tiled(bytes: usize) -> Cost {
    let (step, more, start) = match bytes {
        4 => (121.0, 1.75, 96.0),
        _ => (234.0, 1.13, 50.0),
    };
    Cost {
        depth: TILE as usize,
        launch: 3050.0,
        step: [step; 2],
        more,
        start,
        ..SIMPLE
    }
}

pub(super) const fn register_tile(bytes: usize) -> Cost {
    let (step, more, start, store) = match bytes {
        4 => (1100.0, 0.15, 430.0, 2650.0),
        _ => (2100.0, 0.0, 120.0, 3900.0),
    };
    Cost {
        tile: [register_tile::SIDE as usize; 2],
        depth: register_tile::DEPTH as usize,
        step: [step; 2],
        more,
        start,
        store: [store; 2],
        ..SIMPLE
    }
}

/// The tiles and the steps of a policy, whose costs follow.
const fn of(policy: Policy, resident: usize) -> Cost {
    Cost {
        tile: [policy.rows, policy.cols],
        depth: policy.inner,
        launch: 4250.0,
        resident,
        ..SIMPLE
    }
}

pub(super) const fn sliced(cut: Cut) -> Cost {
    let policy = cut.policy(true);
    match cut {
        Cut::Tall => Cost {
            step: [620.0, 745.0],
            more: 0.39,
            store: [1200.0, 5050.0],
            ..of(policy, 3)
        },
        Cut::Square => Cost {
            step: [308.0, 374.0],
            more: 0.67,
            together: 2,
            store: [680.0, 2950.0],
            ..of(policy, 6)
        },
        Cut::Small => Cost {
            step: [204.0, 236.0],
            more: 0.75,
            together: 2,
            store: [320.0, 940.0],
            ..of(policy, 6)
        },
    }
}

/// [`Tiles::Wide`]: 2048³ gives 1280 for a step. The value here is 5 % less, because at 8192³
/// `sliced` takes 6 % longer than its model says, and `pipelined` does not (21.5 and 21.1 ms).
pub(super) const WIDE: Cost = Cost {
    step: [1220.0; 2],
    more: 0.05,
    store: [5000.0; 2],
    ..of(Tiles::Wide.policy(), 1)
};

impl Cost {
    /// Nanoseconds of the launch that multiplies, each product of a batch in as many slices. `vectors` says whether B and C move 16 bytes at a
    /// time.
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
        let [read, stored] = vectors.map(|vectors| usize::from(!vectors));
        let block = self.start + self.store[stored] * inside;
        self.launch + steps * self.step[read] * busy + each as f64 * block
    }
}

/// Nanoseconds of the launch that adds the products of slices, for elements of `bytes` bytes.
pub(super) fn fold([rows, _, cols]: [usize; 3], batch: usize, slices: usize, bytes: usize) -> f64 {
    if slices == 1 {
        return 0.0;
    }
    let outputs = batch as f64 * rows as f64 * cols as f64;
    let moved = 2.0 * (slices * bytes) as f64 * outputs;
    FOLD + SLICE * slices as f64 + moved / SUMS
}
