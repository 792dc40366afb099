use crate::fault::FaultKind;

/// A fault on its way up: the instruction and thread are filled in by those who know them.
pub(super) struct Trouble {
    pub(super) kind: FaultKind,
    /// The first lane at fault.
    pub(super) lane: u32,
    /// All lanes at fault, where they are known.
    pub(super) lanes: u32,
}

/// Results inside the interpreter: the error is rare and boxed, so that results stay small.
pub(super) type Checked<T> = Result<T, Box<Trouble>>;

#[cold]
pub(super) fn trouble(lane: usize, kind: FaultKind) -> Box<Trouble> {
    Box::new(Trouble {
        kind,
        lane: lane as u32,
        lanes: 1 << lane,
    })
}
