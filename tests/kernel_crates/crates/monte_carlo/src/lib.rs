//! Random numbers: π from points in a square.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// A linear congruential generator (Numerical Recipes' constants); its upper bits are the random
/// ones.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from(self.0 >> 8)
    }
}

/// Adds to `hits` how many of each thread's `tries` points lie within the quarter circle, computed
/// in integers.
#[kernel]
pub unsafe fn circle_hits(seed: u32, tries: u32, hits: &AtomicU32) {
    let mut random = Random(seed ^ thread::index_1d().wrapping_mul(0x9E37_79B9));
    let inside = (0..tries).filter(|_| {
        let (x, y) = (random.next(), random.next());
        x * x + y * y < 1 << 48
    });
    hits.fetch_add(inside.count() as u32, Ordering::Relaxed);
}
