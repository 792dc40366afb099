//! A model of the time of kernels whose blocks compute tiles in steps: `sliced`, `pipelined`,
//! `mma`.
//!
//! The time is that of the busiest multiprocessor: full waves of resident blocks, and a last wave
//! of fewer blocks, which hide less of each other's latency; plus the start of each wave, the
//! stores of each tile (in f64), and what moves from and to memory. The rates are fits to launches of
//! products and batches drawn at random, on an H200, in all tiles and several slices
//! (docs/log/2026-11-30-choices.md): half of them take within 2 % of the model in f32, 3 % in f64,
//! nine in ten within 12 %. Fitted to half of the shapes, it chooses launches that take on average
//! 1.004 to 1.005 of the fastest at the others in f32, 1.004 to 1.011 in f64.

use kernels::matmul::policy::Policy;
use kernels::matmul::slices::{Cut, slice_len};

/// The costs of the blocks of one size, in nanoseconds.
pub(super) struct Rates {
    /// A launch that computes nothing.
    pub(super) launch: f64,
    /// One element of the inner extent, with one, two, … resident blocks per multiprocessor.
    pub(super) element: &'static [f64],
    /// The start of a wave of blocks, and the stores of a whole tile.
    pub(super) start: f64,
    pub(super) store: f64,
    /// An element of A and B; and one whose way no multiplication hides: of the first [`AHEAD`] of
    /// the inner extent, and of C.
    pub(super) read: f64,
    pub(super) moved: f64,
}

/// Elements of the inner extent that a block copies before it multiplies.
const AHEAD: usize = 48;

/// Of [`sliced`](kernels::matmul::sliced), with copies of vectors or of single elements from B.
pub(super) const fn sliced(cut: Cut, vectors: bool) -> Rates {
    let element: &[f64] = match (cut, vectors) {
        (Cut::Tall, true) => &[49.2, 90.3, 125.4],
        (Cut::Tall, false) => &[50.4, 94.0, 128.7],
        (Cut::Square, true) => &[45.1, 48.4, 83.2, 86.6, 125.5, 125.5],
        (Cut::Square, false) => &[47.5, 50.8, 88.8, 94.1, 133.4, 133.4],
        (Cut::Small, true) => &[27.3, 30.4, 49.3, 54.4, 74.1, 78.4],
        (Cut::Small, false) => &[29.1, 31.5, 50.5, 56.3, 78.0, 80.9],
        (Cut::Flat, true) => &[26.4, 28.7, 48.3, 52.0, 71.6, 74.1],
        (Cut::Flat, false) => &[29.7, 31.7, 53.8, 59.7, 78.4, 79.2],
    };
    let (launch, start, read, moved) = match (cut, vectors) {
        (Cut::Tall, true) => (4730.0, 1460.0, 0.00013, 0.00056),
        (Cut::Tall, false) => (4700.0, 1840.0, 0.0002, 0.00056),
        (Cut::Square, true) => (5010.0, 1200.0, 0.00008, 0.00061),
        (Cut::Square, false) => (4690.0, 1770.0, 0.00019, 0.00053),
        (Cut::Small, true) => (4510.0, 1040.0, 0.00031, 0.00058),
        (Cut::Small, false) => (4600.0, 960.0, 0.00045, 0.00061),
        (Cut::Flat, true) => (4290.0, 1140.0, 0.00008, 0.00047),
        (Cut::Flat, false) => (4110.0, 1380.0, 0.00017, 0.00045),
    };
    Rates {
        launch,
        element,
        start,
        store: 0.0,
        read,
        moved,
    }
}

/// Of tiles of 128 × 256, [`pipelined`](kernels::matmul::pipelined)'s. 162 ns stand for the fitted
/// 164.3: the fit has few long products, in which the clock falls. 8192³ takes 21.1 ms with these
/// tiles, 21.5 with `sliced`.
pub(super) const WIDE: Rates = Rates {
    launch: 4170.0,
    element: &[162.0],
    start: 2210.0,
    store: 0.0,
    read: 0.0,
    moved: 0.00046,
};

impl Rates {
    /// Nanoseconds of the launch that multiplies, if an element takes `slower` times as long.
    pub(super) fn time(
        &self,
        policy: &Policy,
        [rows, inner, cols]: [usize; 3],
        [batch, slices]: [usize; 2],
        slower: f64,
        multiprocessors: usize,
    ) -> f64 {
        let tiles = policy.tiles(rows, cols).saturating_mul(batch);
        if tiles == 0 {
            return self.launch;
        }
        let each = tiles
            .saturating_mul(slices)
            .div_ceil(multiprocessors.max(1));
        let resident = self.element.len();
        let (whole, left) = (each / resident, each % resident);
        let last = if left == 0 {
            0.0
        } else {
            self.element[left - 1]
        };
        let elements = whole as f64 * self.element[resident - 1] + last;
        let len = match slices {
            1 => inner,
            _ => slice_len(inner, slices),
        };
        let len = len.div_ceil(policy.inner) as f64 * policy.inner as f64;
        // The fraction of the tiles' area that is inside C.
        let area = (policy.rows * policy.cols) as f64 * tiles as f64;
        let inside = batch as f64 * rows as f64 * cols as f64 / area;
        let sides = batch as f64 * (rows as f64 + cols as f64);
        let ahead = inner.min(AHEAD) as f64 * sides;
        let results = batch as f64 * rows as f64 * cols as f64 * slices as f64;
        self.launch
            + elements * len * slower
            + each.div_ceil(resident) as f64 * self.start
            + each as f64 * self.store * inside
            + inner as f64 * sides * self.read
            + (ahead + results) * self.moved
    }
}
