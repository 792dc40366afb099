//! Undefined values that threads have stored, with their origins.

use super::registers::Origin;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of bytes tracked at a time.
const MOST: usize = 1 << 20;

/// How many more bytes can be tracked.
pub(super) struct Room {
    left: usize,
    /// The limit was reached: for some undefined bytes it is unknown whether they were stored.
    pub(super) was_too_small: bool,
}

/// Origins of undefined bytes in one memory, by offset and, in local memory, by lane.
#[derive(Default)]
pub(super) struct Stored(HashMap<(u64, usize), Origin>);

impl Room {
    pub(super) fn new() -> Self {
        Self {
            left: MOST,
            was_too_small: false,
        }
    }
}

impl Stored {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records the origin of undefined bytes stored at `offset`, given as bits.
    pub(super) fn put(
        &mut self,
        (offset, lane): (u64, usize),
        bytes: u32,
        origin: Origin,
        room: &mut Room,
    ) {
        for byte in (0..32).filter(|byte| bytes >> byte & 1 != 0) {
            let place = (offset + byte, lane);
            if room.left == 0 && !self.0.contains_key(&place) {
                room.was_too_small = true;
                continue;
            }
            if self.0.insert(place, origin).is_none() {
                room.left -= 1;
            }
        }
    }

    /// The origin of the first of some undefined bytes, if it was stored.
    pub(super) fn get(&self, (offset, lane): (u64, usize), bytes: u32) -> Option<Origin> {
        let byte = u64::from(bytes.trailing_zeros());
        self.0.get(&(offset + byte, lane)).copied()
    }

    /// Clears the memory.
    pub(super) fn clear(&mut self, room: &mut Room) {
        room.left += self.0.len();
        self.0.clear();
    }

    /// Clears some bytes in some lanes.
    pub(super) fn forget(&mut self, bytes: Range<u64>, lanes: u32, room: &mut Room) {
        let before = self.0.len();
        let begins = |offset, lane| bytes.contains(&offset) && lanes >> lane & 1 != 0;
        self.0.retain(|&(offset, lane), _| !begins(offset, lane));
        room.left += before - self.0.len();
    }
}
