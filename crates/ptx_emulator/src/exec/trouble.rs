use crate::fault::FaultKind;

/// A fault being propagated: callers that know the instruction and thread add them.
pub(super) struct Trouble {
    pub(super) kind: FaultKind,
    /// The first faulty lane.
    pub(super) lane: u32,
    /// All faulty lanes, if known.
    pub(super) lanes: u32,
}

/// Results inside the interpreter: errors are rare and boxed to keep results small.
pub(super) type Checked<T> = Result<T, Box<Trouble>>;

#[cold]
pub(super) fn trouble(lane: usize, kind: FaultKind) -> Box<Trouble> {
    Box::new(Trouble {
        kind,
        lane: lane as u32,
        lanes: 1 << lane,
    })
}
