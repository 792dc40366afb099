//! Results of operations in which all threads of a block or a warp take part, and which differ
//! between them all the same.

use cuda_std::prelude::*;

/// The lanes that have the same value: not the same mask in all lanes.
#[kernel]
pub fn of_a_match(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread() as u32;
    let warp = block.warp();
    let mut value = thread;
    let mask = warp.match_any(thread % 3);
    // parts
    if mask & 1 != 0 {
        value = warp.shuffle(value, 0); // waits
    }
    output.mine().for_each(|(_, element)| *element = value);
}

/// What a segment begins with.
#[kernel]
pub fn of_a_fold_of_segments(block: &mut Block<64>) {
    let thread = block.thread();
    let begins = block
        .warp()
        .fold_segments(1_u32, thread.is_multiple_of(5), |a, b| a + b);
    // parts
    if begins.is_some() {
        block.sync_threads(()); // waits
    }
}

/// The warp's lanes: fewer in the block's last one.
#[kernel]
pub fn of_the_number_of_lanes(block: &mut Block<48>) {
    let lanes = block.warp().lanes();
    // parts
    if lanes == 32 {
        block.sync_threads(()); // waits
    }
}

/// A reduction in rounds of which each warp has another number.
#[kernel]
pub fn in_a_warps_rounds(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let rounds = block.warp().index();
    // parts
    for _ in 0..rounds {
        scratch.reduce(block, 1, |a, b| a + b); // waits
    }
}

/// The result that the first thread alone has.
#[kernel]
pub fn of_a_reduction_to_the_first(
    block: &mut Block<64>,
    mut scratch: Scratch<u32>,
    mut sums: Out<u32, PerBlock>,
) {
    let sum = scratch.reduce_to_first(block, 1, |a, b| a + b);
    sums.store_first(block, sum);
    // parts
    if let Some(sum) = sum {
        scratch.reduce(block, sum, |a, b| a + b); // waits
    }
}

/// A value of the thread that it names itself.
#[kernel]
pub fn of_a_broadcast_of_a_threads_choice(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let thread = block.thread();
    let value = scratch.broadcast(block, thread as u32, thread);
    // parts
    if value < 32 {
        block.sync_threads(()); // waits
    }
}

/// The place that an appended element got.
#[kernel]
pub fn of_an_appended_place(block: &mut Block<64>, mut kept: Append<u32>) {
    let place = kept.push(1);
    // parts
    if place.is_some() {
        block.sync_threads(()); // waits
    }
}

/// What reserved elements contained.
#[kernel]
pub fn of_reserved_elements(block: &mut Block<64>, mut kept: Append<u32>) {
    let first = kept.reserve(2).map_or(0, |(_, elements)| elements[0]);
    // parts
    if first == 0 {
        block.sync_threads(()); // waits
    }
}

/// Whether a thread has an element through a permutation.
#[kernel]
pub fn of_an_own_scattered_element(block: &mut Block<64>, mut sorted: Scatter<u32>) {
    // parts
    let Some((_, mut element)) = sorted.own() else {
        return;
    };
    *element = 1;
    block.sync_threads(()); // waits
}

/// What the thread's element of an output was before.
#[kernel]
pub fn of_an_own_element(block: &mut Block<64>, mut output: Out<u32>) {
    let own = output.own().map(|(_, element)| *element);
    // parts
    if own == Some(0) {
        block.sync_threads(()); // waits
    }
}

/// The thread's element of what all have published.
#[kernel]
pub fn of_an_own_published_element(block: &mut Block<64>, mut tiles: Ring<[u32; 64], 2>) {
    let own = tiles.next(block, |i| i as u32)[block.thread()];
    // parts
    if own < 7 {
        tiles.next(block, |i| i as u32); // waits
    }
}

/// A launch that starts early waits once, and that is no barrier of the block.
#[kernel(starts_early)]
pub fn in_a_launch_that_starts_early(block: &mut Block<64>, input: &[u32]) {
    // parts
    if input.get(block.thread()).is_some() {
        block.sync_threads(()); // waits
    }
}
