//! Operations of a warp that some of its lanes miss, and barriers that some warps miss.

use cuda_std::prelude::*;

/// A barrier for one warp.
#[kernel]
pub fn barrier_of_a_warp(block: &mut Block<64>) {
    let warp = block.warp().index();
    // parts
    if warp == 0 {
        block.sync_threads(()); // waits
    }
}

/// A vote is the same in a warp, not in a block.
#[kernel]
pub fn barrier_by_a_vote(block: &mut Block<64>) {
    let thread = block.thread();
    let any = block.warp().any(thread == 5);
    // parts
    if any {
        block.sync_threads(()); // waits
    }
}

/// A shuffle's result.
#[kernel]
pub fn barrier_by_a_shuffle(block: &mut Block<64>) {
    let thread = block.thread();
    let next = block.warp().shuffle_down(thread as u32, 1);
    // parts
    if next < 40 {
        block.sync_threads(()); // waits
    }
}

/// A shuffle for some lanes.
#[kernel]
pub fn shuffle_in_a_branch(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread();
    let warp = block.warp();
    let mut value = thread as u32;
    // parts
    if thread % 32 < 5 {
        value = warp.shuffle(value, 0); // waits
    }
    output.mine().for_each(|(_, element)| *element = value);
}

/// The same in a block of a size that only the launch knows, where the mask is computed.
#[kernel]
pub fn shuffle_with_a_computed_mask(block: &mut Block, mut output: Out<u32>) {
    let thread = block.thread();
    let warp = block.warp();
    let mut value = thread as u32;
    // parts
    if warp.lane() < 5 {
        value = warp.shuffle(value, 0); // waits
    }
    output.mine().for_each(|(_, element)| *element = value);
}

/// A vote for some lanes.
#[kernel]
pub fn vote_in_a_loop(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread();
    let warp = block.warp();
    let (mut votes, mut round) = (0, 0);
    // parts
    while round < thread % 7 {
        votes += warp.ballot(round == 2); // waits
        round += 1;
    }
    output.mine().for_each(|(_, element)| *element = votes);
}

/// An operation of the warp in the operation of a scan, which only some lanes carry out.
#[kernel]
pub fn shuffle_in_the_operation_of_a_scan(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread() as u32;
    let warp = block.warp();
    // parts
    let sum = warp.inclusive_scan(thread, |a, b| {
        a + warp.shuffle(b, 0) // waits
    });
    output.mine().for_each(|(_, element)| *element = sum);
}

/// A fold of the warp after some lanes returned.
#[kernel]
pub fn fold_after_a_return(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread();
    // parts
    if thread.is_multiple_of(3) {
        return;
    }
    let warp = block.warp();
    let sum = warp.fold(thread as u32, |a, b| a + b); // waits
    output.mine().for_each(|(_, element)| *element = sum);
}
