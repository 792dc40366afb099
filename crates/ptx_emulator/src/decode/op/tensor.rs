//! Copies of boxes of tensors.

use super::{Address, Cell, Row};
use crate::fault::Space;

/// A copy of a box by one thread.
pub(crate) struct CopyTensor {
    /// Address of the tensor map.
    pub(crate) map: Address,
    /// First element of the box, innermost dimension first.
    pub(crate) coordinates: Vec<Row>,
    pub(crate) shared: (Space, Address),
    pub(crate) direction: Direction,
}

pub(crate) enum Direction {
    /// To the shared memory of these blocks, or of one; `bytes` are counted by the mbarrier object.
    Load {
        blocks: Option<Row>,
        bytes: Row,
    },
    Store,
    Reduce(Reduction),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Add,
    Min,
    Max,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
}

impl CopyTensor {
    /// The registers that it reads.
    pub(crate) fn reads(&self, mut each: impl FnMut(Cell)) {
        each(self.map.into());
        self.coordinates
            .iter()
            .for_each(|&row| each(Cell::R32(row)));
        each(self.shared.1.into());
        if let Direction::Load {
            blocks: Some(row), ..
        } = self.direction
        {
            each(Cell::R32(row));
        }
    }
}
