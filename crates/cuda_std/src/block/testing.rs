//! A simulated block on the host: the unit tests set the registers that the ownership maps read.

use super::Block;
use super::registers::{self, Registers};

/// All positions below `extents`, x fastest.
pub(super) fn positions([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

/// Calls `body` as each thread of a launch, one after the other.
pub(super) fn launch(grid: [u32; 3], block: [u32; 3], mut body: impl FnMut()) {
    for at in positions(grid) {
        for thread in positions(block) {
            registers::set(Registers {
                thread,
                block,
                at,
                grid,
            });
            body();
        }
    }
}

/// Calls `body` as one thread.
pub(super) fn as_thread(at: Registers, body: impl FnOnce()) {
    registers::set(at);
    body();
}

/// The token of the thread that runs.
pub(super) fn block<const X: usize, const Y: usize, const Z: usize>() -> Block<X, Y, Z> {
    // SAFETY: no barrier works here; `launch` has the extents that the test gives.
    unsafe { Block::new() }
}

/// Checks that `body` adds 1 to each of `len` elements exactly once.
pub(super) fn owners(len: usize, body: impl FnOnce(*mut u8, &())) {
    let mut elements = vec![0_u8; len];
    body(elements.as_mut_ptr(), &());
    assert!(elements.iter().all(|&times| times == 1), "{elements:?}");
}

/// Grids and blocks of all kinds.
pub(super) const SHAPES: [[u32; 3]; 10] = [
    [1, 1, 1],
    [5, 1, 1],
    [1, 3, 1],
    [1, 1, 2],
    [4, 3, 1],
    [2, 1, 3],
    [1, 2, 2],
    [3, 2, 2],
    [31, 1, 1],
    [32, 2, 1],
];
