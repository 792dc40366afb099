//! Slices in parts: `chunks`, `split_at_mut`, `rotate_left`, `copy_within`, `reverse`, `fill`.

use cuda_std::prelude::*;

/// Each thread has 16 numbers of `data`: the halves are rotated against each other, the last four
/// reversed and the first overwritten.
#[kernel]
pub unsafe fn rearranged(data: &mut [u32]) {
    let t = thread::index_1d() as usize;
    let Some(own) = data.chunks_exact_mut(16).nth(t) else {
        return;
    };
    let (low, high) = own.split_at_mut(8);
    low.rotate_left(t % 8);
    high.copy_within(..4, 2);
    high[4..].reverse();
    let total: u32 = low.chunks(3).filter_map(|chunk| chunk.last()).sum();
    own[..1].fill(total);
}
