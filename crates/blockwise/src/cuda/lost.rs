//! The GPUs that this process can no longer use.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Error, Result};

/// Why this process can no longer use a GPU: after an error in a kernel, CUDA creates no new
/// context.
pub(super) fn of(ordinal: usize) -> &'static OnceLock<String> {
    static LOST: Mutex<Option<HashMap<usize, &'static OnceLock<String>>>> = Mutex::new(None);
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    // One per GPU of the machine, for the life of the process.
    lost.get_or_insert_default()
        .entry(ordinal)
        .or_insert_with(|| Box::leak(Box::default()))
}

/// Whether this process can use a GPU.
pub(super) fn usable(ordinal: usize) -> Result<()> {
    check(of(ordinal))
}

pub(super) fn check(lost: &OnceLock<String>) -> Result<()> {
    match lost.get() {
        Some(cause) => Err(Error::ContextLost {
            cause: cause.clone(),
        }),
        None => Ok(()),
    }
}
