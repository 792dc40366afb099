//! Accesses to memory: plain, atomic and in bulk.

use super::{NO_ROW, Reg, Row};
use crate::fault::Space;

/// An address operand: a row plus a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) row: Row,
    /// The row is a 64-bit one.
    pub(crate) wide: bool,
    pub(crate) offset: i32,
}

/// The width of a load's or store's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    R16,
    R32,
    R64,
}

/// A load or store of 1, 2 or 4 elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) space: Space,
    /// Bytes of one element.
    pub(crate) size: u8,
    pub(crate) count: u8,
    /// Loads sign-extend.
    pub(crate) signed: bool,
    pub(crate) width: Width,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// A load through the non-coherent path: what it reads must not change during the launch.
    pub(crate) constant: bool,
    pub(crate) address: Address,
    pub(crate) rows: [Row; 4],
}

/// The strength of an access and the order it imposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Not meant for communication: races with a conflicting access of another thread.
    Weak,
    /// As `relaxed.sys`.
    Volatile,
    Relaxed,
    Acquire,
    Release,
    Both,
}

impl Order {
    pub(crate) fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::Both)
    }

    pub(crate) fn releases(self) -> bool {
        matches!(self, Order::Release | Order::Both)
    }
}

/// Scopes of strong accesses and fences; each includes the preceding ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Block,
    Cluster,
    Device,
    System,
}

/// A type made of 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    F16,
    BF16,
    F16x2,
    BF16x2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Add,
    Increment,
    Decrement,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    AddF32,
    AddF64,
    AddHalf(Half),
    MinHalf(Half),
    MaxHalf(Half),
}

/// The bytes that a 32-bit atomic counts as an access to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PartOfWord {
    /// All of them.
    #[default]
    Whole,
    /// The one whose address is in this row, if it is in the word.
    Byte(Row),
    /// The bytes that its operands can change.
    Changed,
}

pub(crate) struct AtomicOp {
    pub(crate) kind: AtomicKind,
    pub(crate) space: Space,
    pub(crate) size: u8,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) address: Address,
    pub(crate) d: Option<Reg>,
    pub(crate) b: Reg,
    pub(crate) c: Option<Reg>,
    pub(crate) part: PartOfWord,
}

impl AtomicOp {
    /// The offset of its operand, given that of the bytes that it means.
    #[inline(always)]
    pub(crate) fn start(&self, offset: u64) -> u64 {
        match self.part {
            PartOfWord::Whole => offset,
            _ => offset & !3,
        }
    }
}

pub(crate) struct CopyAsync {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) size: u32,
    /// Bytes to read; the rest is zero-filled.
    pub(crate) source_size: Option<Row>,
}

/// A bulk copy by one thread.
pub(crate) struct CopyBulk {
    pub(crate) to: (Space, Address),
    pub(crate) from: (Space, Address),
    pub(crate) size: Row,
    /// Bit mask of the destination blocks in the cluster.
    pub(crate) blocks: Option<Row>,
    /// A reduction on elements of that size, instead of a copy.
    pub(crate) reduces: Option<(AtomicKind, u8)>,
}

impl Transfer {
    pub(crate) fn bytes(&self) -> u32 {
        u32::from(self.size) * u32::from(self.count)
    }

    /// The register of an element; `None` for the `_` of a vector.
    pub(crate) fn reg(&self, element: usize) -> Option<Reg> {
        let row = *self.rows[..usize::from(self.count)].get(element)?;
        (row != NO_ROW).then_some(match self.width {
            Width::R16 => Reg::R16(row),
            Width::R32 => Reg::R32(row),
            Width::R64 => Reg::R64(row),
        })
    }
}
