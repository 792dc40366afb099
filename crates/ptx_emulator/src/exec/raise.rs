use crate::fault::FaultKind;

/// A fault being propagated: callers that know the instruction and thread add them.
pub(super) struct Raised {
    pub(super) kind: FaultKind,
    /// The first faulty lane.
    pub(super) lane: u32,
    /// All faulty lanes, if known.
    pub(super) lanes: u32,
}

/// Results inside the interpreter: errors are rare and boxed to keep results small.
pub(super) type Checked<T> = Result<T, Box<Raised>>;

#[cold]
pub(super) fn raise(lane: usize, kind: FaultKind) -> Box<Raised> {
    Box::new(Raised {
        kind,
        lane: lane as u32,
        lanes: 1 << lane,
    })
}
