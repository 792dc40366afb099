//! The text that a launch prints, by the moment of each piece: a step that runs again prints its
//! text again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Printed(Arc<Mutex<Pieces>>);

#[derive(Default)]
struct Pieces {
    /// Where the current range of steps began; `all` has the text of every range.
    at: u64,
    all: Vec<(u64, String)>,
}

impl Printed {
    /// The destination of `printf`.
    pub(super) fn sink(&self) -> Box<dyn FnMut(&str) + Send> {
        let pieces = Arc::clone(&self.0);
        Box::new(move |text| {
            let mut pieces = lock(&pieces);
            let at = pieces.at;
            pieces.all.push((at, text.to_owned()));
        })
    }

    /// Begins a range of steps: text that earlier runs printed from there on is dropped.
    pub(super) fn begin(&self, at: u64) {
        let mut pieces = lock(&self.0);
        pieces.at = at;
        pieces.all.retain(|&(known, _)| known < at);
    }

    /// The text of all ranges that began before a moment.
    pub(super) fn before(&self, at: u64) -> String {
        let pieces = lock(&self.0);
        let before = pieces.all.iter().filter(|&&(known, _)| known < at);
        before.map(|(_, text)| text.as_str()).collect()
    }
}

fn lock(pieces: &Mutex<Pieces>) -> MutexGuard<'_, Pieces> {
    pieces.lock().unwrap_or_else(PoisonError::into_inner)
}
