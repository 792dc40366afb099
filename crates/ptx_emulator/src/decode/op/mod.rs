//! Decoded instructions: operands are row numbers of a frame's register files.
//!
//! A frame has three files: rows of 32 lanes of 32 bits (also `.b16` registers, zero-extended),
//! rows of 32 lanes of 64 bits, and predicates with one bit per lane. Immediates, special registers
//! and uniform parameters are rows too, filled when the frame is created, so no operand needs a
//! case distinction at run time.

mod cell;
mod effects;
mod image;
mod matrix;
mod mbarrier;
mod tensor;
mod transfer;
mod warp;

pub(crate) use cell::Cell;
pub(crate) use image::{
    Outside, Point, Query, QueryOp, SurfaceKind, SurfaceOp, TexelType, TextureOp,
};
pub(crate) use matrix::{Element, GroupMultiply, MatrixKind, MatrixOp, Multiply, StoredMatrix};
pub(crate) use mbarrier::{COUNT_BITS, MbarrierKind, MbarrierOp};
pub(crate) use tensor::{CopyTensor, Direction, Reduction};
pub(crate) use transfer::{
    Address, AtomicKind, AtomicOp, CopyAsync, CopyBulk, Half, Order, PartOfWord, Scope, Transfer,
    Width,
};
pub(crate) use warp::{Barrier, BarrierKind, Reduce, ShuffleMode, WarpKind, WarpOp};

pub(crate) type Row = u16;

/// No row: the `_` of a vector.
pub(crate) const NO_ROW: Row = Row::MAX;
/// Predicate row 0 is always true.
pub(crate) const TRUE: Pred = Pred(0);
/// Predicate row 1 is the carry flag `CC.CF`.
pub(crate) const CARRY: Row = 1;

/// A predicate operand: a row, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pred(u16);

impl Pred {
    pub(crate) fn new(row: Row, negated: bool) -> Self {
        Self(row << 1 | u16::from(negated))
    }

    pub(crate) fn not(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The row of predicates that it reads.
    pub(crate) fn row(self) -> Row {
        self.0 >> 1
    }

    /// Whether the operand holds for a lane, given that lane's bit of the row.
    pub(crate) fn holds(self, bit: u64) -> bool {
        (bit ^ u64::from(self.0)) & 1 != 0
    }

    /// The lanes in which it holds.
    #[inline(always)]
    pub(crate) fn lanes(self, predicates: &[u32]) -> u32 {
        predicates[usize::from(self.0 >> 1)] ^ 0_u32.wrapping_sub(u32::from(self.0 & 1))
    }
}

/// A register operand of an instruction that accepts any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reg {
    R16(Row),
    R32(Row),
    R64(Row),
}

pub(crate) struct Inst {
    pub(crate) guard: Pred,
    pub(crate) op: Op,
}

/// Operations of two integers. Shifts take a 32-bit count in both widths and clamp it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntOp {
    Add,
    Sub,
    Mul,
    MulHiUnsigned,
    MulHiSigned,
    And,
    Or,
    Xor,
    Shl,
    ShrUnsigned,
    ShrSigned,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
}

/// Operations of two floats, rounded to nearest even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    /// 32-bit floats; subnormal results become zeros.
    MulFlushed,
    Div,
    Min,
    Max,
}

/// Operations of one float, rounded to nearest even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFn {
    Neg,
    Abs,
    Sqrt,
    Recip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// How a comparison interprets its operands' bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareType {
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredOp {
    And,
    Or,
    Xor,
}

/// Conversions common enough to have vector code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convert {
    U32ToU64,
    S32ToS64,
    U64ToU32,
    F32ToF64,
    F64ToF32,
    S32ToF32,
    U32ToF32,
    S32ToF64,
    U32ToF64,
}

pub(crate) enum Op {
    Nop,
    Int32 {
        op: IntOp,
        d: Row,
        a: Row,
        b: Row,
    },
    Int64 {
        op: IntOp,
        d: Row,
        a: Row,
        b: Row,
    },
    /// `d = a * b + c`, low half.
    Mad32 {
        d: Row,
        a: Row,
        b: Row,
        c: Row,
    },
    Mad64 {
        d: Row,
        a: Row,
        b: Row,
        c: Row,
    },
    /// 32 × 32 → 64 bits.
    MulWide {
        signed: bool,
        d: Row,
        a: Row,
        b: Row,
    },
    MadWide {
        signed: bool,
        d: Row,
        a: Row,
        b: Row,
        c: Row,
    },
    Float32 {
        op: FloatOp,
        d: Row,
        a: Row,
        b: Row,
    },
    Float64 {
        op: FloatOp,
        d: Row,
        a: Row,
        b: Row,
    },
    Fma32 {
        /// Subnormal results become zeros.
        flush: bool,
        d: Row,
        a: Row,
        b: Row,
        c: Row,
    },
    Fma64 {
        d: Row,
        a: Row,
        b: Row,
        c: Row,
    },
    FloatFn32 {
        op: FloatFn,
        d: Row,
        a: Row,
    },
    FloatFn64 {
        op: FloatFn,
        d: Row,
        a: Row,
    },
    /// Subnormals become zeros: the effect of `.ftz` on operands and results.
    Flush {
        d: Row,
        a: Row,
    },
    /// Clamps to 0..=1, NaN to 0.
    Saturate32 {
        d: Row,
        a: Row,
    },
    /// With `invert`, the lanes in which the comparison does not hold (including NaN).
    Compare {
        compare: Compare,
        ty: CompareType,
        invert: bool,
        d: Row,
        a: Row,
        b: Row,
    },
    Logic {
        op: PredOp,
        d: Row,
        a: Pred,
        b: Pred,
    },
    Select32 {
        d: Row,
        a: Row,
        b: Row,
        p: Pred,
    },
    Select64 {
        d: Row,
        a: Row,
        b: Row,
        p: Pred,
    },
    Mov32 {
        d: Row,
        a: Row,
    },
    Mov64 {
        d: Row,
        a: Row,
    },
    Convert {
        op: Convert,
        d: Row,
        a: Row,
    },
    Lane(Box<LaneOp>),
    /// `mov.b64 d, {low, high}` and back; a half may be `NO_ROW`.
    Pack {
        d: Row,
        low: Row,
        high: Row,
    },
    Unpack {
        low: Row,
        high: Row,
        a: Row,
    },
    Clock {
        d: Reg,
    },
    Load(Transfer),
    Store(Transfer),
    Atomic(Box<AtomicOp>),
    CopyAsync(Box<CopyAsync>),
    CopyBulk(Box<CopyBulk>),
    CopyTensor(Box<CopyTensor>),
    /// `cp.async.commit_group`
    CopyCommit,
    /// `cp.async.wait_group`, until at most N groups are in flight; or `wait_all` without a number,
    /// which also waits for uncommitted copies.
    CopyWait {
        groups: Option<u32>,
    },
    Fence {
        order: Order,
        scope: Scope,
    },
    Branch {
        target: u32,
    },
    BranchIndex {
        index: Row,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Breakpoint,
    Barrier(Box<Barrier>),
    /// `barrier.cluster.arrive`, or `wait`.
    ClusterBarrier {
        waits: bool,
        /// All threads of a warp must execute it together.
        aligned: bool,
    },
    WarpBarrier {
        members: Row,
    },
    Warp(Box<WarpOp>),
    Matrix(Box<MatrixOp>),
    Mbarrier(Box<MbarrierOp>),
    Texture(Box<TextureOp>),
    Surface(Box<SurfaceOp>),
    /// `txq`, `suq`
    Query(Box<QueryOp>),
}

/// Computes one lane: operands and result as raw bits, with a predicate or carry in and out.
pub(crate) type LaneFn = fn([u64; 4], bool) -> (u64, bool);

/// An instruction computed lane by lane, because vector code would not pay.
pub(crate) struct LaneOp {
    pub(crate) eval: LaneFn,
    pub(crate) d: Option<Reg>,
    pub(crate) flag_out: Option<Row>,
    pub(crate) sources: [Option<Reg>; 4],
    pub(crate) flag_in: Pred,
    /// Division: the result is undefined if the second operand is zero.
    pub(crate) divides: bool,
}

/// Offset and size of a parameter in its frame's local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

#[derive(Clone, Copy)]
pub(crate) enum Callee {
    Function(u32),
    Pointer(Row),
}

pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Slot>,
    pub(crate) returns: Vec<Slot>,
}
