//! How the matrices of a matrix product are distributed over the registers of a warp.

use super::op::{Element, MatrixOp, Multiply, Reg};

/// One of the four matrices of a product.
#[derive(Clone, Copy)]
enum Which {
    A,
    B,
    C,
}

/// Row and column of an element, from its register, its position in the register, and the lane.
///
/// The layouts of `mma`, with g = lane / 4 and t = lane % 4: g selects the row of a and the column
/// of b, t selects adjacent elements along k; in c, g selects the row and t two adjacent columns.
/// In matrices of 16 rows, the second register of a or c is 8 rows further down.
fn place(
    which: Which,
    rows: usize,
    per: usize,
    register: usize,
    part: usize,
    lane: usize,
) -> (usize, usize) {
    let (g, t) = (lane / 4, lane % 4);
    match which {
        Which::A if rows == 16 => (
            g + 8 * (register % 2),
            per * (t + 4 * (register / 2)) + part,
        ),
        Which::A => (g, per * (t + 4 * register) + part),
        Which::B => (per * (t + 4 * register) + part, g),
        Which::C if per == 1 => (g + 8 * (register / 2), 2 * t + register % 2),
        Which::C => (g + 8 * register, 2 * t + part),
    }
}

/// A `wmma` fragment: consecutive rows over the lanes, starting over when registers remain.
pub(crate) fn opaque_place(
    (rows, columns): (usize, usize),
    slots: usize,
    slot: usize,
    lane: usize,
) -> (usize, usize) {
    let index = (lane * slots + slot) % (rows * columns);
    (index / columns, index % columns)
}

/// One matrix of a product, held in registers.
pub(crate) struct Fragment<'a> {
    pub(crate) registers: &'a [Reg],
    pub(crate) element: Element,
    pub(crate) columns: usize,
    which: Which,
    rows: usize,
    opaque: bool,
}

impl Fragment<'_> {
    /// Calls `each` with register, bit position, lane, row and column of every element.
    pub(crate) fn for_each(&self, mut each: impl FnMut(Reg, usize, usize, usize, usize)) {
        let per = self.element.per_register();
        for (number, &register) in self.registers.iter().enumerate() {
            for part in 0..per {
                for lane in 0..32 {
                    let (row, column) = if self.opaque {
                        let slots = per * self.registers.len();
                        opaque_place((self.rows, self.columns), slots, per * number + part, lane)
                    } else {
                        place(self.which, self.rows, per, number, part, lane)
                    };
                    each(register, self.element.bits * part, lane, row, column);
                }
            }
        }
    }
}

impl Multiply {
    /// a, b, c and d.
    pub(crate) fn fragments<'a>(&self, op: &'a MatrixOp) -> [Fragment<'a>; 4] {
        let [m, n, k] = self.shape;
        let (a, rest) = op.sources.split_at(self.registers[0]);
        let (b, c) = rest.split_at(self.registers[1]);
        let fragment = |registers, which, element, rows, columns| Fragment {
            registers,
            element,
            columns,
            which,
            rows,
            opaque: self.opaque,
        };
        [
            fragment(a, Which::A, self.a, m, k),
            fragment(b, Which::B, self.b, k, n),
            fragment(c, Which::C, self.c, m, n),
            fragment(&op.targets, Which::C, self.d, m, n),
        ]
    }
}
