//! Warp-level matrix instructions.

use super::{Address, Pred, Reg, Row};
use crate::fault::Space;

/// A matrix instruction; all 32 lanes must execute it.
pub(crate) struct MatrixOp {
    pub(crate) kind: MatrixKind,
    /// Registers that are written.
    pub(crate) targets: Vec<Reg>,
    /// Registers that are read: those of a, b and c, or the values to store.
    pub(crate) sources: Vec<Reg>,
    pub(crate) memory: Option<(Space, Address)>,
}

pub(crate) enum MatrixKind {
    /// `d = a * b + c`
    Multiply(Multiply),
    /// `wgmma.mma_async`
    Group(GroupMultiply),
    /// `wmma.load`
    Load(StoredMatrix),
    /// `wmma.store`
    Store(StoredMatrix),
    /// `ldmatrix`: 8×8 elements of 16 bits per register.
    LoadMatrix { transposed: bool },
    /// `stmatrix`
    StoreMatrix { transposed: bool },
    /// `movmatrix`
    Transpose,
}

pub(crate) struct Multiply {
    /// Rows of a, columns of b, and the inner extent.
    pub(crate) shape: [usize; 3],
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) c: Element,
    pub(crate) d: Element,
    /// Number of registers of a and of b; the rest are c's.
    pub(crate) registers: [usize; 2],
    /// Fragments of `wmma`, whose layout PTX leaves open.
    pub(crate) opaque: bool,
    /// Single bits are combined by xor instead of and.
    pub(crate) exclusive: bool,
}

/// A matrix in memory that `wmma` loads or stores.
pub(crate) struct StoredMatrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Column-major instead of row-major.
    pub(crate) by_column: bool,
    pub(crate) element: Element,
    /// Stride between rows (or columns) in elements; dense if absent.
    pub(crate) stride: Option<Row>,
}

/// `d = a * b + d` with 64 rows of a. The sources are a (four registers, or a descriptor), b (a
/// descriptor) and d.
pub(crate) struct GroupMultiply {
    /// Columns of b and d.
    pub(crate) columns: usize,
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) d: Element,
    /// a is in registers, in the layout of `mma`.
    pub(crate) in_registers: bool,
    /// a is MN-major in shared memory instead of K-major.
    pub(crate) left_transposed: bool,
    /// b is MN-major in shared memory instead of K-major.
    pub(crate) transposed: bool,
    /// Whether d is accumulated; otherwise the sum starts from zero.
    pub(crate) adds: Pred,
    /// The products are subtracted.
    pub(crate) negates: bool,
}

impl GroupMultiply {
    /// The inner extent: 32 bytes of a row of a.
    pub(crate) fn depth(&self) -> usize {
        32 / self.a.bytes()
    }
}

/// Width and encoding of an element. Doubles hold every product of narrower types exactly.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) bits: usize,
    pub(crate) read: fn(u64) -> f64,
    pub(crate) write: fn(f64) -> u64,
}
