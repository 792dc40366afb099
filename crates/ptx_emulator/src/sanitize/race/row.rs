//! The common case, for many lanes at a time: whole words, and nothing to report.
//!
//! Everything else is left to [`judge`](super::judge), which analyses lanes one by one.

use super::clocks::Now;
use super::page::{LINE_BYTES, Line, PAGE_BYTES, Page};
use super::record::{Cell, Record};
use super::shadow::Shadow;
use crate::exec::{Row64, Seen, lanes};
use crate::fault::Access;

/// Half the lanes of a warp: the number of words in a line.
const HALF: u32 = 0xffff;

/// The pattern of half a warp's words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// They form a line.
    Line,
    /// Consecutive words.
    Run,
    /// All the same word.
    Word,
    Other,
}

/// Analyses an access; returns the lanes that need the full analysis. These are all lanes with a
/// shadow unless the access is `simple`: to whole words, and not used for synchronisation.
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
        let patterns = [0, 1].map(|half| pattern(seen, half));
        let alike = patterns[0] == patterns[1] && seen.offsets[0] == seen.offsets[16];
        for (half, pattern) in patterns.into_iter().enumerate() {
            let mut lanes = HALF << (16 * half);
            if alike && pattern != Pattern::Run {
                lanes = u32::MAX;
            }
            // Lanes that write the same word race.
            let quiet = reads || (pattern != Pattern::Word && !alike);
            if pattern == Pattern::Other || !quiet || rest & lanes != lanes {
                continue;
            }
            rest &= !lanes;
            let offset = seen.offsets[16 * half];
            if pattern == Pattern::Run {
                hard |= look_at_run(shadow, room, now, (offset, 16 * half), reads);
                continue;
            }
            let Some(page) = shadow.page((offset / PAGE_BYTES) as usize, room) else {
                continue;
            };
            hard |= match pattern {
                Pattern::Word => {
                    hard_unless(read(&mut page.words(offset, 1)[0], now, lanes), lanes)
                }
                _ if reads => read_line(page, now, offset, lanes),
                _ => write_line(page, now, offset, lanes),
            };
        }
        if rest == 0 {
            return hard;
        }
    }
    hard | look_at_each(shadow, room, now, seen, (rest, simple))
}

/// A read of one word by some lanes, and the word's record: repeating the same read gives the same
/// result.
#[derive(PartialEq)]
pub(super) struct Look {
    offset: u64,
    reader: Record,
    cell: Cell,
}

impl Look {
    pub(super) fn of(shadow: &mut Shadow, now: &Now, seen: &Seen<'_>) -> Option<Self> {
        let offset = seen.offsets[(seen.lanes.trailing_zeros() & 31) as usize];
        let mut lanes = lanes(seen.lanes);
        let one = seen.size == 4 && lanes.all(|lane| seen.offsets[lane] == offset);
        if seen.access != Access::Read || !one {
            return None;
        }
        let cell = shadow.known(offset)?;
        Some(Self {
            offset,
            reader: now.record(seen.lanes, false),
            cell,
        })
    }
}

#[inline(always)]
fn pattern(seen: &Seen<'_>, half: usize) -> Pattern {
    let offsets = &seen.offsets[16 * half..][..16];
    let (mut run, mut word) = (0, 0);
    match seen.step {
        Some(step) => (run, word) = (step ^ 4, step),
        None if seen.lanes >> (16 * half) & HALF != HALF => return Pattern::Other,
        None => {
            for (lane, offset) in offsets.iter().enumerate() {
                run |= offset ^ (offsets[0] + 4 * lane as u64);
                word |= offset ^ offsets[0];
            }
        }
    }
    match (run, word) {
        (0, _) if offsets[0].is_multiple_of(LINE_BYTES) => Pattern::Line,
        (0, _) => Pattern::Run,
        (_, 0) => Pattern::Word,
        _ => Pattern::Other,
    }
}

/// Of lanes that access a line each half warp, those at its first word; the other words' records
/// are shifted by one lane each.
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

/// Analyses 16 lanes whose words are consecutive, starting at a lane and its offset.
fn look_at_run(
    shadow: &mut Shadow,
    room: &mut u64,
    now: &Now,
    (mut offset, mut lane): (u64, usize),
    reads: bool,
) -> u32 {
    let mut hard = 0;
    let end = lane + 16;
    while lane < end {
        let in_line = (LINE_BYTES - offset % LINE_BYTES) as usize / 4;
        let count = in_line.min(end - lane);
        if let Some(page) = shadow.page((offset / PAGE_BYTES) as usize, room) {
            for (at, cell) in page.words(offset, count).iter_mut().enumerate() {
                let bit = 1 << (lane + at);
                let quiet = if reads {
                    read(cell, now, bit)
                } else {
                    write(cell, now, bit)
                };
                hard |= hard_unless(quiet, bit);
            }
        }
        lane += count;
        offset += 4 * count as u64;
    }
    hard
}

/// Analyses lanes page by page, then word by word.
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

/// Each lane reads `words` words of a page.
fn read_each(page: &mut Page, now: &Now, offsets: &Row64, mask: u32, words: usize) -> u32 {
    let mut hard = 0;
    let mut rest = mask;
    while rest != 0 {
        // Adjacent lanes that read the same word count as one reader.
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

/// Each lane writes `words` words of a page.
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

/// Records readers of a word in the simple cases without a race.
///
/// Two readers suffice, of different warps if there are any: a later writer is a different thread
/// from at least one of them.
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

/// Records the writer of a word in the simple cases without a race.
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

#[cfg(test)]
mod tests {
    use super::super::chains::Chains;
    use super::super::clocks::Block;
    use super::super::lane_access::LaneAccess;
    use super::*;
    use crate::Module;
    use crate::exec::Region;

    /// Pseudo-random numbers: a linear congruential generator.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 33) % limit
        }

        /// Offsets within 1 KiB: half-warp words in a line, consecutive, all the same, far apart,
        /// or random.
        fn offsets(&mut self) -> Row64 {
            let kind = self.below(6);
            let starts = [self.below(16), self.below(16)].map(|line| LINE_BYTES * line);
            let starts = [starts[0], starts[usize::from(self.below(2) == 0)]];
            let shift = 4 * self.below(16);
            std::array::from_fn(|lane| {
                let (start, at) = (starts[lane / 16], lane as u64 % 16);
                let offset = match kind {
                    0 | 1 => start + 4 * at,
                    2 => start + shift + 4 * at,
                    3 => start + shift,
                    4 => 64 * at + 4 * (lane as u64 / 16),
                    _ => 4 * self.below(256),
                };
                offset % 1024
            })
        }
    }

    /// The lanes that race, by one of the two analyses.
    fn racing(
        shadow: &mut Shadow,
        current: &LaneAccess<'_>,
        seen: &Seen<'_>,
        look: impl Fn(&mut Shadow, &Now) -> u32,
    ) -> u32 {
        let hard = look(shadow, &current.now);
        let mut racing = 0;
        for lane in lanes(hard) {
            let current = LaneAccess { lane, ..*current };
            let mut hazards = Vec::new();
            shadow.visit_all(seen.offsets[lane], 4, |place, cell, spilled| {
                current.visit(place, cell, spilled, &mut hazards);
            });
            racing |= u32::from(!hazards.is_empty()) << lane;
        }
        racing
    }

    #[test]
    fn a_look_at_many_lanes_finds_what_a_look_at_each_does() {
        let module = Module::parse(".version 8.0\n.target sm_90\n.address_size 64\n");
        let program = module.expect("there is nothing wrong in it").program;
        let mut random = Random(1);
        let mut found = [0; 2];
        for _ in 0..200 {
            let mut block = Block::default();
            block.begin(3, 128, false);
            let mut chains = Chains::default();
            let (mut together, mut apart) = (Shadow::default(), Shadow::default());
            for _ in 0..200 {
                let warp = random.below(4) as u32;
                match random.below(4) {
                    0 => block.meet(),
                    1 => block.warp_meets(&mut chains, warp, u32::MAX),
                    _ => {}
                }
                let offsets = random.offsets();
                let masks = [
                    u32::MAX,
                    u32::MAX,
                    HALF,
                    HALF << 16,
                    random.below(1 << 32) as u32,
                ];
                let writes = random.below(3) == 0;
                let seen = Seen {
                    region: Region::Shared,
                    offsets: &offsets,
                    lanes: masks[random.below(5) as usize],
                    size: 4,
                    access: if writes { Access::Write } else { Access::Read },
                    step: None,
                };
                let current = LaneAccess {
                    program: &program,
                    block: &block,
                    now: block.now(warp, random.below(8) as u32),
                    lane: 0,
                    writes,
                    pending: false,
                    chains: &chains,
                    strength: None,
                    clustered: false,
                    wide: false,
                    polls: &Default::default(),
                    gathers: &[],
                };
                let all = racing(&mut together, &current, &seen, |shadow, now| {
                    look(shadow, &mut 1_000, now, &seen, true)
                });
                let each = racing(&mut apart, &current, &seen, |shadow, now| {
                    look_at_each(shadow, &mut 1_000, now, &seen, (seen.lanes, true))
                });
                // Of two lanes that write the same word, the one analysed later races with the
                // other.
                if writes {
                    assert_eq!(all != 0, each != 0);
                } else {
                    assert_eq!(all, each);
                }
                found[usize::from(all != 0)] += 1;
            }
        }
        assert!(found.iter().all(|&times| times > 1000), "{found:?}");
    }
}
