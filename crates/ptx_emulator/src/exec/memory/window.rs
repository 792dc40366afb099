use crate::fault::Space;
use crate::memory::{CONST_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE};

/// The space of a generic address, and the start of its window.
#[inline(always)]
pub(super) fn window(address: u64) -> Option<(Space, u64)> {
    if address < CONST_BASE {
        return Some((Space::Global, 0));
    }
    if address < SHARED_WINDOW {
        return Some((Space::Const, 0));
    }
    [
        (Space::Shared, SHARED_WINDOW),
        (Space::Local, LOCAL_WINDOW),
        (Space::Param, PARAM_WINDOW),
    ]
    .into_iter()
    .find(|&(_, base)| address.wrapping_sub(base) < WINDOW_SIZE)
}
