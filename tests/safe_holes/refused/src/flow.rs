//! Control flow of every kind.

use cuda_std::prelude::*;

/// A barrier in a branch.
#[kernel]
pub fn in_a_branch(block: &mut Block<64>) {
    let thread = block.thread();
    // parts
    if thread < 40 {
        block.sync_threads(()); // waits
    }
}

/// A barrier in each branch: they are two barriers.
#[kernel]
pub fn in_both_branches(block: &mut Block<64>) {
    let thread = block.thread();
    // parts
    if thread < 40 {
        block.sync_threads(()); // waits
    } else {
        block.sync_threads(());
    }
}

/// A return of some threads before the barrier.
#[kernel]
pub fn after_a_return(block: &mut Block<64>) {
    let thread = block.thread();
    // parts
    if thread >= 40 {
        return;
    }
    block.sync_threads(()); // waits
}

/// A loop that some threads never leave.
#[kernel]
pub fn after_an_endless_loop(block: &mut Block<64>) {
    let thread = block.thread();
    // parts
    if thread >= 40 {
        loop {
            core::hint::spin_loop();
        }
    }
    block.sync_threads(()); // waits
}

/// A loop whose rounds are the thread's number.
#[kernel]
pub fn in_a_loop(block: &mut Block<64>) {
    let thread = block.thread();
    let mut round = 0;
    // parts
    while round < thread {
        block.sync_threads(()); // waits
        round += 1;
    }
}

/// A `break` in a round that differs between threads.
#[kernel]
pub fn after_a_break(block: &mut Block<64>) {
    let thread = block.thread();
    for round in 0..8 {
        // parts
        if round == thread {
            break;
        }
        block.sync_threads(()); // waits
    }
}

/// A `continue` in a round that differs between threads.
#[kernel]
pub fn after_a_continue(block: &mut Block<64>) {
    let thread = block.thread();
    for round in 0..8 {
        // parts
        if round == thread {
            continue;
        }
        block.sync_threads(()); // waits
    }
}

/// A `break` out of two loops.
#[kernel]
pub fn after_a_labelled_break(block: &mut Block<64>) {
    let thread = block.thread();
    'rows: for row in 0..4 {
        for col in 0..4 {
            // parts
            if 4 * row + col == thread {
                break 'rows;
            }
        }
        block.sync_threads(()); // waits
    }
}

/// A loop by a count that another loop made: all threads leave that one by the same condition, but
/// after different numbers of rounds.
#[kernel]
pub fn by_rounds_of_another_loop(block: &mut Block<64>) {
    let thread = block.thread() as u32;
    let mut steps = 0;
    let mut left = thread;
    while left > 0 {
        left /= 2;
        steps += 1;
    }
    // parts
    while steps > 0 {
        block.sync_threads(()); // waits
        steps -= 1;
    }
}

/// A barrier in one arm of a `match`.
#[kernel]
pub fn in_a_match(block: &mut Block<64>) {
    let thread = block.thread();
    // parts
    match thread % 8 {
        0 => {}
        1 | 5 => block.sync_threads(()), // waits
        _ => {}
    }
}

/// A barrier on the right side of `&&`.
#[kernel]
pub fn behind_an_and(block: &mut Block<64>, mut output: Out<u32>) {
    let thread = block.thread();
    // parts
    let all = thread < 40 && block.sync_threads_and(true); // waits
    output
        .mine()
        .for_each(|(_, element)| *element = u32::from(all));
}

/// A barrier that `?` skips.
#[kernel]
pub fn behind_a_question_mark(block: &mut Block<64>, input: &[u32]) {
    fn wait(block: &mut Block<64>, input: &[u32]) -> Option<u32> {
        let mine = input.get(block.thread())?; // parts
        block.sync_threads(()); // waits
        Some(*mine)
    }
    let _ = wait(block, input);
}

/// A barrier in a destructor, at the end of a scope.
#[kernel]
pub fn in_a_drop(block: &mut Block<64>) {
    struct AtTheEnd<'b>(&'b mut Block<64>);
    impl Drop for AtTheEnd<'_> {
        fn drop(&mut self) {
            self.0.sync_threads(()); // waits
        }
    }
    let thread = block.thread();
    // parts
    if thread < 40 {
        let _end = AtTheEnd(block);
    }
}

/// Tiles of a length that each thread chooses.
#[kernel]
pub fn by_tiles_of_a_threads_length(block: &mut Block<64>) {
    let tiles = block.tiles(block.thread() * 100);
    // parts
    for _ in tiles {
        block.sync_threads(()); // waits
    }
}
