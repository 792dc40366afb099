//! Safe kernels that try what the types seem to allow, pass the builder's checks, and must be clean under every detector.
//!
//! All have the parameters `input: &[u32]` and `output: Out<u32>` or, of two outputs, `other: Out<u32>` too, so that one test launches them all.
#![forbid(unsafe_code)]

pub mod followed;
pub mod travelling;

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::block::Reversed;
use cuda_std::prelude::*;
use cuda_std::unroll::{fold_groups, unrolled};

/// Some threads leak their handles, others drop them.
#[kernel]
pub fn leaked(
    block: &mut Block<64>,
    a: Shared<[u32; 64]>,
    b: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let published = block.sync_threads(a.write(block, |i| i as u32));
    let value = published[63 - thread] ^ input.len() as u32;
    if thread.is_multiple_of(2) {
        #[expect(clippy::forget_non_drop, reason = "what it does is the question")]
        core::mem::forget((published, b));
    } else {
        drop((published, b));
    }
    output.mine().for_each(|(_, element)| *element = value);
}

/// A view of which some threads keep a copy, not a reference.
#[kernel]
pub fn copied_out(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    let copy = *published;
    let free = block.sync_threads(published);
    let _ = free.write(block, |_| input.len() as u32);
    output
        .mine()
        .for_each(|(_, element)| *element = copy[63 - thread]);
}

/// Tiles past the output's end, twice, of a length that each thread chooses.
#[kernel]
pub fn overhang(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    for _ in 0..2 {
        for place in block.tiles(input.len() * 3 + block.thread() * 1000) {
            output.store(block, place, |i| i as u32);
        }
    }
}

/// Tiles that a thread remembers and stores to later, in another order.
#[kernel]
pub fn remembered_tiles(block: &mut Block<32>, input: &[u32], mut output: Out<u32>) {
    let thread = block.thread();
    let mut places = [None; 3];
    for (seen, place) in block.tiles(output.len()).enumerate() {
        places[(seen + thread) % 3] = Some(place);
    }
    for place in places.into_iter().flatten() {
        output.store(block, place, |i| (i + input.len()) as u32);
    }
}

/// Threads that write one array in different lines.
#[kernel]
pub fn written_in_branches(
    block: &mut Block<64>,
    tile: Shared<[u32; 100]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let written = match thread % 3 {
        0 => tile.write(block, |i| i as u32),
        1 => tile.write(block, |_| 77),
        _ => tile.write(block, |i| any(input, i)),
    };
    let published = block.sync_threads(written);
    output
        .mine()
        .for_each(|(_, element)| *element = published[(thread * 7) % 100]);
}

trait Put {
    fn put(&mut self, block: &Block<64>, value: u32);
}
struct Stage<'s>(Option<Shared<'s, [u32; 64]>>);
impl Put for Stage<'_> {
    fn put(&mut self, block: &Block<64>, value: u32) {
        if let Some(tile) = self.0.take() {
            let _ = tile.write(block, |_| value);
        }
    }
}

/// A trait object forgets which array it was, but nothing waits after it: each thread writes its own elements of one array or the other.
#[kernel]
pub fn written_behind_a_trait_object(
    block: &mut Block<64>,
    a: Shared<[u32; 64]>,
    b: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    {
        let (mut a, mut b) = (Stage(Some(a)), Stage(Some(b)));
        let first: &mut dyn Put = if thread < 32 { &mut a } else { &mut b };
        first.put(block, 7);
    }
    output
        .mine()
        .for_each(|(_, element)| *element = input.len() as u32);
}

/// Rounds that an input's first element counts: the same for all threads.
#[kernel]
pub fn rounds_of_an_input(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let (mut tile, thread) = (tile.refill(), block.thread());
    let mut sum = 0_u32;
    for round in 0..any(input, 0) % 4 {
        let view = tile.fill(block, |i| i as u32 + round);
        if view[0] % 2 == 0 {
            sum = sum.wrapping_add(block.sync_threads_count(view[thread] > 9));
        }
    }
    output.mine().for_each(|(_, element)| *element = sum);
}

/// A barrier in a closure that `core` calls a fixed number of times.
#[kernel]
pub fn in_from_fn(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let (mut tile, thread) = (tile.refill(), block.thread());
    let values: [u32; 3] =
        core::array::from_fn(|round| tile.fill(block, |i| any(input, i + round))[63 - thread]);
    let sum = values.into_iter().fold(0, u32::wrapping_add);
    output.mine().for_each(|(_, element)| *element = sum);
}

/// An array in an `Option`, taken out when all threads do.
#[kernel]
pub fn in_an_option(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let (mut free, mut sum) = (Some(tile), 0);
    for round in 0..3 {
        if any(input, round).is_multiple_of(2)
            && let Some(tile) = free.take()
        {
            let published = block.sync_threads(tile.write(block, |i| (i + round) as u32));
            sum += published[63 - thread];
            free = Some(block.sync_threads(published));
        }
    }
    output.mine().for_each(|(_, element)| *element = sum);
}

/// A block of three dimensions, an array shorter than the block, and one longer.
#[kernel]
pub fn of_three_dimensions(
    block: &mut Block<3, 5, 3>,
    short: Shared<[u32; 7]>,
    long: Shared<[u32; 200]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let written = (
        short.write(block, |i| i as u32),
        long.write(block, |i| any(input, i)),
    );
    let (short, long) = block.sync_threads(written);
    for place in block.tiles(output.len()) {
        output.store(block, place, |i| {
            short[i % 7].wrapping_add(long[(i + thread) % 200])
        });
    }
}

/// Arrays without elements.
#[kernel(shared(dynamic = 0 * block.threads()))]
pub fn of_no_elements(
    block: &mut Block,
    fixed: Shared<[u32; 0]>,
    tile: Shared<Tile<u32, 0, 4>>,
    narrow: Shared<Tile<u32, 4, 0, 1>>,
    dynamic: Shared<[u32]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let written = (
        fixed.write(block, |_| 1),
        tile.write(block, |_| 2),
        narrow.write(block, |_| 3),
        dynamic.write(block, |_| 4),
    );
    let (fixed, _, narrow, dynamic) = block.sync_threads(written);
    let len = fixed.len() + narrow[3].len() + dynamic.len() + input.len();
    output.mine().for_each(|(_, element)| *element = len as u32);
}

/// Barriers in unrolled rounds, some of which an input's first element leaves out.
#[kernel]
pub fn in_unrolled_rounds(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let (mut tile, thread, mut sum) = (tile.refill(), block.thread(), 0_u32);
    unrolled::<4>(|round| {
        if !any(input, 0).is_multiple_of(round as u32 + 2) {
            let view = tile.fill(block, |i| (i * round) as u32);
            sum = sum.wrapping_add(view[63 - thread]);
        }
    });
    output.mine().for_each(|(_, element)| *element = sum);
}

/// Operations that wait by themselves, where all threads carry them out.
#[kernel]
pub fn free_barriers(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    mut scratch: Scratch<u32>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    cuda_std::thread::sync_threads();
    let written = tile.write(block, |i| any(input, i));
    cuda_std::thread::sync_threads();
    let total = scratch.reduce(block, thread as u32, |a, b| a.max(b));
    cuda_std::thread::sync_threads();
    let tile = block.sync_threads(written);
    let value = tile[63 - thread] ^ total;
    output.mine().for_each(|(_, element)| *element = value);
}

/// What a variable holds that all threads set up to one length decides about a barrier.
#[kernel]
pub fn set_up_to_one_length(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (mut bytes, len) = ([0_u8; 64], input.len() % 64);
    bytes[..len].fill(1);
    let mut count = 0;
    if bytes[20] == 1 {
        count = block.sync_threads_count(block.thread() > 9);
    }
    output.mine().for_each(|(_, element)| *element = count);
}

/// Ranges that end before they begin, or reach the largest number.
#[kernel]
pub fn folded_over_odd_ranges(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    use core::ops::Bound;
    let add = |sum: u32, x: u32| sum.wrapping_add(x);
    let (thread, most) = (block.thread(), usize::MAX);
    let beyond = (Bound::Excluded(most), Bound::Included(most));
    let mut sum = fold_groups::<8, _, _>(input, thread..5, 0, add);
    sum = fold_groups::<4, _, _>(input, most - 1.., sum, add);
    sum = fold_groups::<2, _, _>(input, ..=most, sum, add);
    sum = fold_groups::<1, _, _>(input, beyond, sum, add);
    let pairs = (Reversed(input), Reversed(&input[input.len() / 2..]));
    sum = fold_groups::<4, _, _>(pairs, thread.., sum, |sum, (x, y)| sum.wrapping_add(x ^ y));
    sum = block.fold_strided(pairs, sum, |sum, (x, y)| sum.wrapping_mul(x | y));
    output.mine().for_each(|(_, element)| *element = sum);
}

/// Values of many and of odd numbers of bytes, between lanes of a warp that is not whole.
#[kernel]
pub fn odd_values_between_lanes(block: &mut Block<45>, input: &[u32], mut output: Out<u32>) {
    let (thread, warp) = (block.thread(), block.warp());
    let long = warp.shuffle_up([any(input, thread); 40], 3);
    let odd = warp.shuffle_xor([thread as u8; 7], 5);
    let last = warp.fold_segments(
        [thread as u16; 3],
        thread.is_multiple_of(7),
        |[a, b, c], [d, e, f]| [a ^ d, b.max(e), c.min(f)],
    );
    let last = u32::from(last.unwrap_or_default()[1]);
    let sum = long[39] ^ u32::from(odd[6]) ^ last;
    output.mine().for_each(|(_, element)| *element = sum);
}

/// Trees of both kinds, mixed.
#[kernel]
pub fn folded_both_ways(
    block: &mut Block<100>,
    tile: Shared<[u32; 128]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let mut slots = tile.slots(block, any(input, thread));
    let mut seen = 0_u32;
    while slots.len() > 1 {
        if slots.len() % 3 == 0 {
            slots.fold_interleaved(block, u32::wrapping_add);
        } else {
            slots.fold_halves(block, u32::wrapping_add);
        }
        seen ^= slots.mine().unwrap_or(1);
    }
    output.mine().for_each(|(_, element)| *element = seen);
}

/// Each thread counts as often as it likes.
#[kernel]
pub fn counted_unevenly(
    block: &mut Block<64>,
    bins: Shared<[u32; 10]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let bins = block.sync_threads(bins.zeroed(block));
    for round in 0..thread % 5 {
        bins.add(any(input, round) as usize % 12, 1);
    }
    let bins = block.sync_threads(bins);
    output
        .mine()
        .for_each(|(_, element)| *element = bins[thread % 10]);
}

/// A broadcast of which each thread names another source: the value of some thread.
#[kernel]
pub fn broadcast_from_anywhere(
    block: &mut Block<100>,
    mut scratch: Scratch<[u32; 3]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let near = scratch.broadcast(block, [thread as u32; 3], 99 - thread);
    let far = scratch.broadcast(block, near, usize::MAX - thread);
    let known = near[0] < 100 && far[2] < 100;
    output
        .mine()
        .for_each(|(_, element)| *element = u32::from(known) + input.len() as u32);
}

/// Lanes that ask for values of lanes that are not there.
#[kernel]
pub fn lanes_that_are_not_there(block: &mut Block<45>, input: &[u32], mut output: Out<u32>) {
    let thread = block.thread();
    let warp = block.warp();
    let value = any(input, thread);
    let mut sum = warp.shuffle(value, 31);
    sum ^= warp.shuffle_down(value, usize::MAX).rotate_left(1);
    sum ^= warp.shuffle_up(value, 20).rotate_left(2);
    sum ^= warp.shuffle_xor(value, 16).rotate_left(3);
    sum ^= warp.fold(value, u32::wrapping_add) ^ warp.ballot(value.is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = sum);
}

/// Whole warps that go different ways.
#[kernel]
pub fn warps_apart(block: &mut Block<96>, input: &[u32], mut output: Out<u32>) {
    let thread = block.thread();
    let warp = block.warp();
    let mut sum = any(input, thread);
    for _ in 0..warp.index() {
        sum = warp.fold(sum, u32::wrapping_add);
    }
    if warp.any(sum.is_multiple_of(2)) {
        sum ^= warp.shuffle(sum, 3);
    }
    output.mine().for_each(|(_, element)| *element = sum);
}

static SEEN: AtomicU32 = AtomicU32::new(0);

/// Threads that take tickets at a static counter, and publish nothing by them.
#[kernel]
pub fn tickets(_block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let ticket = SEEN.fetch_add(1, Ordering::Relaxed);
    let known = u32::from(ticket != u32::MAX) + input.len() as u32;
    output.mine().for_each(|(_, element)| *element = known);
}

/// Two outputs that some threads exchange: a thread's elements are its own in both.
#[kernel]
pub fn exchanged_outputs<'a>(
    block: &mut Block<64>,
    input: &[u32],
    mut output: Out<'a, u32>,
    mut other: Out<'a, u32>,
) {
    if block.thread().is_multiple_of(3) {
        core::mem::swap(&mut output, &mut other);
    }
    output
        .mine()
        .for_each(|(i, element)| *element = (i + input.len()) as u32);
    for place in block.tiles(300) {
        other.store(block, place, |i| i as u32);
    }
}

/// An element of the input, wherever.
fn any(input: &[u32], at: usize) -> u32 {
    match input.len() {
        0 => at as u32,
        len => input[at % len],
    }
}
