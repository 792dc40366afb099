//! The registers that say where a thread is: only this file of the folder reads them.

/// The position registers along x, y and z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// The thread in its block.
    pub(super) thread: [u32; 3],
    /// Threads of the block.
    pub(super) block: [u32; 3],
    /// The block in the grid.
    pub(super) at: [u32; 3],
    /// Blocks of the grid.
    pub(super) grid: [u32; 3],
}

#[cfg(not(test))]
#[inline(always)]
pub(super) fn registers() -> Registers {
    use crate::thread::*;
    Registers {
        thread: [thread_idx_x(), thread_idx_y(), thread_idx_z()],
        block: [block_dim_x(), block_dim_y(), block_dim_z()],
        at: [block_idx_x(), block_idx_y(), block_idx_z()],
        grid: [grid_dim_x(), grid_dim_y(), grid_dim_z()],
    }
}

#[cfg(test)]
pub(super) use simulated::{registers, set};

#[cfg(test)]
mod simulated {
    use super::Registers;
    use std::cell::Cell;

    thread_local! {
        static REGISTERS: Cell<Registers> = const {
            Cell::new(Registers { thread: [0; 3], block: [1; 3], at: [0; 3], grid: [1; 3] })
        };
    }

    pub(in crate::block) fn registers() -> Registers {
        REGISTERS.get()
    }

    pub(in crate::block) fn set(registers: Registers) {
        REGISTERS.set(registers);
    }
}
