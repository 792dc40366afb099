//! Barriers in functions, and how threads reach them.

use cuda_std::prelude::*;

/// In a closure that an iterator calls.
#[kernel]
pub fn in_an_iterators_closure(block: &mut Block<64>) {
    let thread = block.thread();
    let rounds = (0..thread).map(|round| {
        block.sync_threads(()); // waits
        2 * round
    });
    let _ = rounds.count(); // parts
}

/// In a function that is not inlined.
#[kernel]
pub fn in_a_function(block: &mut Block<64>) {
    #[inline(never)]
    fn wait(block: &mut Block<64>) {
        block.sync_threads(()); // waits
    }
    let thread = block.thread();
    // parts
    if thread < 40 {
        wait(block);
    }
}

/// In a function that decides by its argument.
#[kernel]
pub fn by_an_argument(block: &mut Block<64>) {
    #[inline(never)]
    fn wait_if(block: &mut Block<64>, does: bool) {
        // parts
        if does {
            block.sync_threads(()); // waits
        }
    }
    let thread = block.thread();
    wait_if(block, thread < 40);
}

trait Wait {
    fn wait(&self, block: &mut Block<64>) {
        block.sync_threads(()); // waits
    }
}
struct Here;
impl Wait for Here {}

/// In a method that a trait provides.
#[kernel]
pub fn in_a_provided_method(block: &mut Block<64>) {
    fn some<W: Wait>(wait: &W, block: &mut Block<64>) {
        let thread = block.thread();
        // parts
        if thread < 40 {
            wait.wait(block);
        }
    }
    some(&Here, block);
}

/// In what a sort compares with.
#[kernel]
pub fn in_a_comparison(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread() as u32;
    let mut values = [thread % 3, thread % 5, thread % 7, thread % 2];
    // parts
    values.sort_unstable_by(|a, b| {
        thread::sync_threads(); // waits
        a.cmp(b)
    });
    output.mine().for_each(|(_, element)| *element = values[1]);
}

/// In a function that calls itself.
#[kernel]
pub fn in_a_recursion(block: &mut Block<64>) {
    fn descend(block: &mut Block<64>, depth: usize) {
        if depth > 0 {
            block.sync_threads(());
            descend(block, depth - 1);
        }
    }
    let depth = block.thread();
    descend(block, depth);
}

/// In functions of which each thread calls another one.
#[kernel]
pub fn behind_a_function_pointer(block: &mut Block<64>) {
    fn once(block: &mut Block<64>) {
        block.sync_threads(());
    }
    fn twice(block: &mut Block<64>) {
        block.sync_threads(());
        block.sync_threads(());
    }
    let wait: fn(&mut Block<64>) = if block.thread() < 40 { once } else { twice };
    wait(block);
}

/// In a future that threads poll different numbers of times.
#[kernel]
pub fn in_a_future(block: &mut Block<64>) {
    use core::future::Future;
    use core::task::{Context, Waker};
    let thread = block.thread();
    let mut wait = core::pin::pin!(async {
        block.sync_threads(()); // waits
    });
    // parts
    if thread < 40 {
        let _ = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}
