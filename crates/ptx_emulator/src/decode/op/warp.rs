//! Operations of a warp or a block: barriers, shuffles, votes.

use super::{Pred, Reg, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// The number of threads whose predicate holds.
    CountTrue {
        d: Row,
        p: Pred,
    },
    All {
        d: Row,
        p: Pred,
    },
    Any {
        d: Row,
        p: Pred,
    },
}

pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    /// All threads of a warp must execute it together.
    pub(crate) aligned: bool,
    pub(crate) id: Row,
    pub(crate) count: Option<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

/// An instruction that exchanges data between the lanes of a warp.
pub(crate) struct WarpOp {
    pub(crate) form: String,
    pub(crate) members: Row,
    pub(crate) kind: WarpKind,
}

pub(crate) enum WarpKind {
    Shuffle {
        mode: ShuffleMode,
        d: Row,
        p: Option<Row>,
        a: Row,
        b: Row,
        c: Row,
    },
    VoteAll {
        d: Row,
        p: Pred,
    },
    VoteAny {
        d: Row,
        p: Pred,
    },
    VoteUniform {
        d: Row,
        p: Pred,
    },
    Ballot {
        d: Row,
        p: Pred,
    },
    MatchAny {
        d: Row,
        a: Reg,
    },
    MatchAll {
        d: Row,
        p: Option<Row>,
        a: Reg,
    },
    Reduce {
        op: Reduce,
        d: Row,
        a: Row,
    },
    /// Not a `.sync` instruction: the lanes that execute it now.
    ActiveMask {
        d: Row,
    },
    Elect {
        d: Option<Row>,
        p: Row,
    },
}
