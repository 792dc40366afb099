//! The common case, for many lanes at once: whole words, and nothing to report.
//!
//! What is not so simple is left to [`judge`](super::judge), which looks at lanes one by one.

use super::clocks::Now;
use super::page::{LINE_BYTES, Line, PAGE_BYTES, Page};
use super::shadow::{Cell, Shadow};
use crate::exec::{Row64, Seen, lanes};
use crate::fault::Access;

/// Half the lanes of a warp, as many as a line has words.
const HALF: u32 = 0xffff;

/// Lanes whose words lie in a way that one look is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// The words of a line.
    Line,
    /// All the same word.
    Word,
    Other,
}

/// Looks at an access; the lanes that need a closer look. They are all of those that have a shadow unless the access is
/// `simple`: to whole words, and no other thread may rely on it.
pub(super) fn look(
    shadow: &mut Shadow,
    room: &mut u64,
    now: &Now,
    seen: &Seen<'_>,
    simple: bool,
) -> u32 {
    let (mut rest, mut hard) = (seen.lanes, 0);
    if simple && seen.size == 4 {
        let reads = seen.access == Access::Read;
        let patterns = [0, 1].map(|half| pattern(seen, half, reads));
        let [low, high] = patterns;
        let alike = low == high && seen.offsets[0] == seen.offsets[16];
        for (half, pattern) in patterns.into_iter().enumerate() {
            let lanes = HALF << (16 * half);
            let (lanes, pattern) = match pattern {
                Pattern::Other => continue,
                // Two lanes that write the same word.
                _ if alike && !reads => continue,
                _ if alike && half == 1 => continue,
                _ if alike => (u32::MAX, pattern),
                _ => (lanes, pattern),
            };
            rest &= !lanes;
            let offset = seen.offsets[16 * half];
            let Some(page) = shadow.page((offset / PAGE_BYTES) as usize, room) else {
                continue;
            };
            hard |= match pattern {
                Pattern::Line if reads => read_line(page, now, offset, lanes),
                Pattern::Line => write_line(page, now, offset, lanes),
                _ => hard_unless(read(&mut page.words(offset, 1)[0], now, lanes), lanes),
            };
        }
        if alike && reads && low != Pattern::Other {
            return hard;
        }
    }
    hard | look_at_each(shadow, room, now, seen, (rest, simple))
}

/// How the lanes of half a warp lie.
#[inline(always)]
fn pattern(seen: &Seen<'_>, half: usize, reads: bool) -> Pattern {
    let offsets = &seen.offsets[16 * half..][..16];
    if seen.lanes >> (16 * half) & HALF != HALF {
        return Pattern::Other;
    }
    let (mut line, mut word) = (offsets[0] % LINE_BYTES, 0);
    for (lane, offset) in offsets.iter().enumerate() {
        line |= offset ^ (offsets[0] + 4 * lane as u64);
        word |= offset ^ offsets[0];
    }
    match (line, word) {
        (0, _) => Pattern::Line,
        (_, 0) if reads => Pattern::Word,
        _ => Pattern::Other,
    }
}

/// The lanes that use the first word of a line, and its others moved up, are the first of these.
fn first_word(lanes: u32) -> u32 {
    lanes & (1 | 1 << 16)
}

fn hard_unless(quiet: bool, lanes: u32) -> u32 {
    if quiet { 0 } else { lanes }
}

fn read_line(page: &mut Page, now: &Now, offset: u64, lanes: u32) -> u32 {
    let bits = first_word(lanes);
    match page.line(offset) {
        Line::Whole(cell) => hard_unless(read(cell, now, bits), lanes),
        Line::Spread(cells) => {
            let mut hard = 0;
            for (at, cell) in cells.iter_mut().enumerate() {
                hard |= hard_unless(read(cell, now, bits << at), bits << at);
            }
            hard
        }
    }
}

fn write_line(page: &mut Page, now: &Now, offset: u64, lanes: u32) -> u32 {
    let bit = first_word(lanes);
    match page.line(offset) {
        Line::Whole(cell) => hard_unless(write(cell, now, bit), lanes),
        Line::Spread(cells) => {
            let mut hard = 0;
            for (at, cell) in cells.iter_mut().enumerate() {
                hard |= hard_unless(write(cell, now, bit << at), bit << at);
            }
            if hard == 0 {
                let first = cells[0];
                page.make_whole(offset, first);
            }
            hard
        }
    }
}

/// Looks at lanes page by page, and then word by word.
fn look_at_each(
    shadow: &mut Shadow,
    room: &mut u64,
    now: &Now,
    seen: &Seen<'_>,
    (mut rest, simple): (u32, bool),
) -> u32 {
    let words = seen.size as usize / 4;
    let mut hard = 0;
    while rest != 0 {
        let first = (rest.trailing_zeros() & 31) as usize;
        let number = seen.offsets[first] / PAGE_BYTES;
        let mut here = 0;
        for lane in 0..32 {
            here |= u32::from(seen.offsets[lane] / PAGE_BYTES == number) << lane;
        }
        here &= rest;
        rest &= !here;
        let Some(page) = shadow.page(number as usize, room) else {
            continue;
        };
        hard |= match seen.access {
            Access::Read if simple => read_each(page, now, seen.offsets, here, words),
            Access::Write if simple => write_each(page, now, seen.offsets, here, words),
            _ => here,
        };
    }
    hard
}

/// Lanes read `words` words of a page each.
fn read_each(page: &mut Page, now: &Now, offsets: &Row64, mask: u32, words: usize) -> u32 {
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
        for cell in page.words(offset, words) {
            if !read(cell, now, bits) {
                hard |= bits;
            }
        }
    }
    hard
}

/// Lanes write `words` words of a page each.
fn write_each(page: &mut Page, now: &Now, offsets: &Row64, mask: u32, words: usize) -> u32 {
    let mut hard = 0;
    for lane in lanes(mask) {
        for cell in page.words(offsets[lane], words) {
            if !write(cell, now, 1 << lane) {
                hard |= 1 << lane;
            }
        }
    }
    hard
}

/// Remembers readers of a word where that is simple, and no race.
///
/// Two readers are enough, of different warps when there are any: whoever writes next is not both of them.
#[inline(always)]
fn read(cell: &mut Cell, now: &Now, bits: u32) -> bool {
    if !(now.follows(&cell.write) || now.is_own(&cell.write, bits)) {
        return false;
    }
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

/// Remembers the writer of a word where that is simple, and no race.
#[inline(always)]
fn write(cell: &mut Cell, now: &Now, bit: u32) -> bool {
    let quiet = |record| now.follows(record) || now.is_own(record, bit);
    let [other, another] = &cell.others;
    if cell.more != 0 || !quiet(&cell.write) || !quiet(other) || !quiet(another) {
        return false;
    }
    cell.write = now.record(bit, true);
    cell.forget_others();
    true
}
