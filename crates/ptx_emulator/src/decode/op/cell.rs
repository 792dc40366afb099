//! The registers of a frame by their files.

use super::{Address, NO_ROW, Pred, Reg, Row, Transfer, Width};

/// A row in one of a frame's three register files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cell {
    /// Includes 16-bit registers.
    R32(Row),
    R64(Row),
    Predicate(Row),
}

impl Cell {
    pub(super) fn wide(wide: bool, row: Row) -> Self {
        if wide { Cell::R64(row) } else { Cell::R32(row) }
    }
}

impl From<Reg> for Cell {
    fn from(reg: Reg) -> Self {
        match reg {
            Reg::R16(row) | Reg::R32(row) => Cell::R32(row),
            Reg::R64(row) => Cell::R64(row),
        }
    }
}

impl From<Pred> for Cell {
    fn from(pred: Pred) -> Self {
        Cell::Predicate(pred.row())
    }
}

impl From<Address> for Cell {
    fn from(address: Address) -> Self {
        Cell::wide(address.wide, address.row)
    }
}

impl Transfer {
    /// The register of an element; `None` for the `_` of a vector.
    pub(crate) fn cell(&self, element: usize) -> Option<Cell> {
        let wide = self.size == 8 || self.width == Width::R64;
        let row = self.rows[..usize::from(self.count)].get(element);
        row.filter(|&&row| row != NO_ROW)
            .map(|&row| Cell::wide(wide, row))
    }
}
