//! The common case, for a row of lanes at once: whole words, and nothing to report.
//!
//! Both functions return the lanes that are not so simple; [`judge`](super::judge) looks at those one by one.

use super::clocks::Now;
use super::shadow::{Cell, PAGE_WORDS};
use crate::exec::{Row64, lanes};

#[inline(always)]
fn word(offset: u64) -> usize {
    (offset >> 2) as usize & (PAGE_WORDS - 1)
}

/// Lanes read `words` words of a page each.
pub(super) fn read(page: &mut [Cell], now: &Now, offsets: &Row64, mask: u32, words: usize) -> u32 {
    let mut hard = 0;
    let mut rest = mask;
    while rest != 0 {
        // Neighbours that read the same word are one reader.
        let lane = (rest.trailing_zeros() & 31) as usize;
        let (offset, mut bits) = (offsets[lane], 1 << lane);
        let mut next = lane + 1;
        while next < 32 && offsets[next] == offset && rest & (1 << next) != 0 {
            bits |= 1 << next;
            next += 1;
        }
        rest &= !bits;
        let first = word(offset);
        for cell in &mut page[first..first + words] {
            let quiet = now.follows(&cell.write) || now.is_own(&cell.write, bits);
            if !(quiet && note_read(cell, now, bits)) {
                hard |= bits;
            }
        }
    }
    hard
}

/// Remembers a reader where that is simple.
///
/// Two readers are enough, of different warps when there are any: whoever writes next is not both of them.
#[inline(always)]
fn note_read(cell: &mut Cell, now: &Now, bits: u32) -> bool {
    let new = now.record(bits, false);
    let [first, second] = &mut cell.others;
    if first.joins(&new) {
        first.lanes |= bits;
        return true;
    }
    if now.follows(first) {
        *first = new;
        return true;
    }
    if first.writes() || second.writes() || now.keeps_all {
        return false;
    }
    let enough = first.lanes == bits || !first.lanes.is_power_of_two();
    if first.warp == new.warp && first.time == new.time && enough {
        return true;
    }
    if second.joins(&new) {
        second.lanes |= bits;
    } else if now.follows(second) || second.warp == first.warp {
        *second = new;
    }
    true
}

/// Lanes write `words` words of a page each.
pub(super) fn write(page: &mut [Cell], now: &Now, offsets: &Row64, mask: u32, words: usize) -> u32 {
    let mut hard = 0;
    for lane in lanes(mask) {
        let bit = 1 << lane;
        let first = word(offsets[lane]);
        for cell in &mut page[first..first + words] {
            let quiet = |record| now.follows(record) || now.is_own(record, bit);
            let [other, another] = &cell.others;
            if cell.more == 0 && quiet(&cell.write) && quiet(other) && quiet(another) {
                cell.write = now.record(bit, true);
                cell.forget_others();
            } else {
                hard |= bit;
            }
        }
    }
    hard
}
