//! Trees in shared memory.

use cuda_std::prelude::*;

/// `sums[block]` = the sum of its share of the input; `kind` says by which tree: 0 halves, 1
/// neighbours, 2 both in turn.
#[kernel(instances((0, 0, 0), (1, 1, 1), (31, 1, 1), (33, 1, 1), (256, 1, 1), (1024, 1, 1), (16, 16, 1), (7, 5, 3)))]
pub fn sum_static<const X: usize, const Y: usize, const Z: usize>(
    block: &mut Block<X, Y, Z>,
    slots: Shared<[u32; 1024]>,
    input: &[u32],
    kind: u32,
    mut sums: Out<u32, PerBlock>,
) {
    let share = block.fold_strided(input, 0, |sum, x| sum + x);
    let mut slots = slots.slots(block, share);
    let mut round = 0;
    while slots.len() > 1 {
        if kind == 0 || kind == 2 && round % 2 == 0 {
            slots.fold_halves(block, |low, high| low + high);
        } else {
            slots.fold_interleaved(block, |even, odd| even + odd);
        }
        round += 1;
    }
    if let Some(sum) = slots.mine() {
        sums.store(block, sum);
    }
}

/// The same by halves, through a dynamic array of `slots` elements: with fewer than the block has
/// threads, nothing is stored.
#[kernel(shared(slots = count))]
pub fn sum_dynamic(
    block: &mut Block,
    slots: Shared<[u64]>,
    count: usize,
    input: &[u64],
    mut sums: Out<u64, PerBlock>,
) {
    let _ = count;
    let share = block.fold_strided(input, 0, |sum, x| sum + x);
    let Some(mut slots) = slots.slots(block, share) else {
        return;
    };
    while slots.len() > 1 {
        slots.fold_halves(block, |low, high| low + high);
    }
    if let Some(sum) = slots.mine() {
        sums.store(block, sum);
    }
}

/// `left[i]` = what each thread has left after `rounds` rounds by neighbours: the sum of its
/// 2^rounds values, or 0.
#[kernel(require(left.len() == block.threads(), grid.blocks() == 1))]
pub fn left_after(block: &mut Block, slots: Shared<[u32; 1024]>, rounds: u32, mut left: Out<u32>) {
    let mut slots = slots.slots(block, block.thread() as u32);
    for _ in 0..rounds {
        slots.fold_interleaved(block, |even, odd| even + odd);
    }
    for place in block.tiles(left.len()) {
        left.store(block, place, |_| slots.mine().unwrap_or(0));
    }
}
