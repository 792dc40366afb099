//! States of shared arrays that threads would have in different places.

use cuda_std::prelude::*;

/// An array that only some threads publish.
#[kernel]
pub fn published_in_a_branch(block: &mut Block<64>, tile: Shared<[u32; 64]>, mut output: Out<u32>) {
    let written = tile.write(block, |i| i as u32);
    let thread = block.thread();
    // parts
    if thread < 40 {
        let published = block.sync_threads(written); // waits
        for place in block.tiles(64) {
            output.store(block, place, |_| published[63 - thread]);
        }
    }
}

/// An array for loops that threads fill different numbers of times.
#[kernel]
pub fn filled_a_threads_number_of_times(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    mut output: Out<u32>,
) {
    let (mut tile, thread) = (tile.refill(), block.thread());
    let mut sum = 0;
    // parts
    for round in 0..thread / 40 + 1 {
        sum += tile.fill(block, |i| (i + round) as u32)[63 - thread]; // waits
    }
    output.mine().for_each(|(_, element)| *element = sum);
}

/// An array that some threads have put away.
#[kernel]
pub fn in_an_option(block: &mut Block<64>, tile: Shared<[u32; 64]>) {
    let thread = block.thread();
    let written = (thread < 40).then(|| tile.write(block, |i| i as u32));
    // parts
    if let Some(written) = written {
        let _ = block.sync_threads(written); // waits
    }
}

enum Either<'a, 'b> {
    First(Written<'a, [u32; 64]>),
    Second(Written<'b, [u32; 64]>),
}

/// One of two arrays, for each thread as it likes.
#[kernel]
pub fn in_an_enum(block: &mut Block<64>, a: Shared<[u32; 64]>, b: Shared<[u32; 64]>) {
    let thread = block.thread();
    let either = if thread < 32 {
        Either::First(a.write(block, |_| 1))
    } else {
        Either::Second(b.write(block, |_| 2))
    };
    // parts
    match either {
        Either::First(written) => {
            let _ = block.sync_threads(written); // waits
        }
        Either::Second(written) => {
            let _ = block.sync_threads(written);
        }
    }
}

/// A ring that only some threads turn.
#[kernel]
pub fn turned_in_a_branch(
    block: &mut Block<64>,
    mut ring: Ring<[u32; 64], 2>,
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let mut sum = 0;
    // parts
    if thread < 40 {
        sum = ring.next(block, |i| i as u32)[63 - thread]; // waits
    }
    output.mine().for_each(|(_, element)| *element = sum);
}

/// A tree that only some threads climb.
#[kernel]
pub fn folded_in_a_branch(block: &mut Block<64>, tile: Shared<[u32; 64]>) {
    let thread = block.thread();
    let mut slots = tile.slots(block, 1);
    // parts
    while slots.len() > 1 && thread < slots.len() {
        slots.fold_halves(block, |a, b| a + b); // waits
    }
}

/// A reduction that only some threads take part in.
#[kernel]
pub fn reduced_in_a_branch(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let thread = block.thread();
    // parts
    if thread < 40 {
        let _ = scratch.reduce(block, 1, |a, b| a + b); // waits
    }
}

/// A barrier that needs no token, once for each of a thread's own elements.
#[kernel]
pub fn for_each_own_element(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread();
    // parts
    for (_, element) in output.mine() {
        *element = thread as u32;
        thread::sync_threads(); // waits
    }
}

struct Stage<'s>(
    Option<Shared<'s, [u32; 64]>>,
    Option<Published<'s, [u32; 64]>>,
);

trait Publish {
    fn publish(&mut self, block: &mut Block<64>, value: u32);
}

impl Publish for Stage<'_> {
    fn publish(&mut self, block: &mut Block<64>, value: u32) {
        if let Some(tile) = self.0.take() {
            self.1 = Some(block.sync_threads(tile.write(block, |_| value)));
        }
    }
}

/// A trait object forgets which array it was.
#[kernel]
pub fn behind_a_trait_object(
    block: &mut Block<64>,
    a: Shared<[u32; 64]>,
    b: Shared<[u32; 64]>,
    mut output: Out<u32>,
) {
    let thread = block.thread();
    let (mut a, mut b) = (Stage(Some(a), None), Stage(Some(b), None));
    let pick: &mut dyn Publish = if thread < 32 { &mut a } else { &mut b };
    pick.publish(block, 7);
    // Now `a` is published for half of the threads and free for the others.
    if let Some(free) = a.0.take() {
        let _ = free.write(block, |i| i as u32);
    }
    let seen = a.1.as_ref().map_or(0, |tile| tile[63 - thread]);
    output.mine().for_each(|(_, element)| *element = seen);
}
