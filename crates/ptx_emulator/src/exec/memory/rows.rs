//! The common case: all lanes in one region, in a pattern that two addresses determine.
//!
//! No per-lane offsets are stored, and contiguous elements are read and written together.

use super::{Memory, Region, cut, join, paste, shared_index};
use crate::decode::op::Transfer;
use crate::exec::frame::{ALL, Frame, Row32, Row64};
use crate::exec::observe::{Observer, Seen};
use crate::fault::{Access, Space};
use crate::memory::{Allocation, CONST_BASE};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Lanes of half a warp: one row of a tile.
const HALF: usize = 16;
const LANES: [u32; HALF] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// An access by all lanes, with a constant step between lanes within each half warp.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) region: Region<'a>,
    /// The offsets of lanes 0 and 16.
    starts: [u64; 2],
    /// Bytes from lane to lane: 0, the size of an access if contiguous, or a column's stride.
    step: u64,
}

/// The offsets of a half warp's lanes. Their inputs are computed here: otherwise the compiler
/// computes them ahead of every access, even for patterns that do not need them.
#[inline(always)]
fn column(start: u64, step: u64) -> impl Iterator<Item = u64> {
    let step = black_box(step);
    (0..HALF as u64).map(move |lane| start + step * lane)
}

/// The addresses of lanes 0 and 16 and the step from lane to lane, if all lanes follow it.
#[inline(always)]
fn stepped(addresses: &Row64) -> Option<([u64; 2], u64)> {
    let step = addresses[1].wrapping_sub(addresses[0]);
    // 32 bits, so that a product is one instruction and cannot wrap.
    let narrow = step as u32;
    let firsts = [addresses[0], addresses[HALF]];
    // Through memory: knowing the first lanes' values, the compiler would not vectorise.
    let numbers = black_box(&LANES);
    let mut differences = [0; HALF];
    for lane in 0..HALF {
        let away = u64::from(narrow) * u64::from(numbers[lane]);
        let [low, high] = firsts.map(|first| first.wrapping_add(away));
        differences[lane] = (addresses[lane] ^ low) | (addresses[HALF + lane] ^ high);
    }
    let mut sum = [0; 4];
    for lane in 0..HALF {
        sum[lane % 4] |= differences[lane];
    }
    // Not vectorised otherwise: the compiler would emit 32 comparisons.
    let [a, b, c, d] = black_box(sum);
    (a | b | c | d == 0 && step == u64::from(narrow)).then_some((firsts, step))
}

impl<'a> Memory<'a> {
    /// The access in that form, if it has it and passes all checks.
    #[inline(always)]
    pub(super) fn rows(
        &mut self,
        (space, access): (Space, Access),
        frame: &Frame<'_>,
        t: &Transfer,
        pc: u32,
    ) -> Option<Rows<'a>> {
        let bytes = u64::from(t.bytes());
        let (firsts, step) = if t.address.wide {
            let (firsts, step) = stepped(frame.r64(t.address.row))?;
            let shift = i64::from(t.address.offset) as u64;
            (firsts.map(|first| first.wrapping_add(shift)), step)
        } else {
            stepped(&frame.addresses(t.address))?
        };
        let (region, base, length) = self.region(space, firsts[0], pc)?;
        let starts = firsts.map(|address| address.wrapping_sub(base));
        let last = length.checked_sub(bytes + step * (HALF as u64 - 1))?;
        let fits = starts[0] <= last && starts[1] <= last;
        if !fits || (starts[0] | starts[1] | step) & (bytes - 1) != 0 {
            return None;
        }
        let simple = match region {
            // Heap chunks count as separate allocations.
            Region::Global(_) => {
                base != self.table.heap_base() && (access == Access::Read || base < CONST_BASE)
            }
            Region::Shared => true,
            Region::Peer(_) => false,
            Region::Local | Region::Param => {
                step == 0
                    && starts[0] == starts[1]
                    && (access == Access::Read || matches!(region, Region::Local))
            }
        };
        simple.then_some(Rows {
            region,
            starts,
            step,
        })
    }

    /// Reports the access to an observer.
    #[inline(always)]
    pub(super) fn show<O: Observer + ?Sized>(
        &mut self,
        rows: &Rows<'a>,
        (size, access): (u32, Access),
        frame: &Frame<'_>,
        pc: u32,
        observer: &mut O,
    ) {
        if !observer.watches() {
            return;
        }
        for (half, start) in self.offsets.chunks_exact_mut(HALF).zip(rows.starts) {
            for (lane, offset) in half.iter_mut().enumerate() {
                *offset = start + rows.step * lane as u64;
            }
        }
        let seen = Seen {
            region: rows.region,
            offsets: self.offsets,
            lanes: ALL,
            size,
            access,
            step: Some(rows.step),
        };
        observer.access(pc, &seen, frame, self);
    }

    /// Reads the element of `SIZE` bytes at `at` of each lane's access.
    #[inline(always)]
    pub(super) fn read32<const SIZE: u32>(&self, rows: &Rows<'_>, at: u64, into: &mut Row32) {
        let starts = rows.starts.map(|start| start + at);
        match rows.region {
            Region::Global(allocation) => {
                read_global::<SIZE>(allocation, starts, rows.step, into);
            }
            Region::Shared => match rows.step {
                0 => {
                    for (half, start) in into.chunks_exact_mut(HALF).zip(starts) {
                        half.fill(cut::<SIZE>(self.shared[shared_index(start)], start));
                    }
                }
                4 if SIZE == 4 => {
                    for (half, start) in into.chunks_exact_mut(HALF).zip(starts) {
                        let words = &self.shared[shared_index(start)..];
                        if let Some(words) = words.first_chunk::<HALF>() {
                            half.copy_from_slice(words);
                        }
                    }
                }
                _ => {
                    for (half, start) in into.chunks_exact_mut(HALF).zip(starts) {
                        for (value, offset) in half.iter_mut().zip(column(start, rows.step)) {
                            *value = cut::<SIZE>(self.shared[shared_index(offset)], offset);
                        }
                    }
                }
            },
            Region::Local => {
                let row = &self.local[(starts[0] >> 2) as usize];
                for (value, word) in into.iter_mut().zip(row) {
                    *value = cut::<SIZE>(*word, starts[0]);
                }
            }
            // Never accessed in rows.
            Region::Peer(_) => {}
            Region::Param => into.fill(self.param::<SIZE>(starts[0]) as u32),
        }
    }

    /// As `read32`, for 8 bytes.
    #[inline(always)]
    pub(super) fn read64(&self, rows: &Rows<'_>, at: u64, into: &mut Row64) {
        let starts = rows.starts.map(|start| start + at);
        match rows.region {
            Region::Global(allocation) => {
                for (half, start) in into.chunks_exact_mut(HALF).zip(starts) {
                    if rows.step == 0 {
                        half.fill(allocation.load::<8>(start));
                    } else {
                        for (value, offset) in half.iter_mut().zip(column(start, rows.step)) {
                            *value = allocation.load::<8>(offset);
                        }
                    }
                }
            }
            Region::Shared => {
                for (half, start) in into.chunks_exact_mut(HALF).zip(starts) {
                    for (value, offset) in half.iter_mut().zip(column(start, rows.step)) {
                        let index = shared_index(offset);
                        *value = join(self.shared[index], self.shared[index | 1]);
                    }
                }
            }
            Region::Local => {
                let index = (starts[0] >> 2) as usize;
                let (low, high) = (&self.local[index], &self.local[index + 1]);
                for lane in 0..32 {
                    into[lane] = join(low[lane], high[lane]);
                }
            }
            Region::Peer(_) => {}
            Region::Param => into.fill(self.param::<8>(starts[0])),
        }
    }

    /// Writes the element of `SIZE` bytes at `at` of each lane's access. If lanes write the same
    /// address, the last one wins.
    #[inline(always)]
    pub(super) fn write32<const SIZE: u32>(&mut self, rows: &Rows<'_>, at: u64, values: &Row32) {
        let starts = rows.starts.map(|start| start + at);
        match rows.region {
            Region::Global(allocation) => {
                for (half, start) in values.chunks_exact(HALF).zip(starts) {
                    if SIZE == 4 && rows.step == 4 {
                        write_words(allocation, start, half, self.alone);
                        continue;
                    }
                    for (value, offset) in half.iter().zip(column(start, rows.step)) {
                        put::<SIZE>(allocation, offset, *value, self.alone);
                    }
                }
            }
            Region::Shared => {
                for (half, start) in values.chunks_exact(HALF).zip(starts) {
                    let words = &mut self.shared[shared_index(start)..];
                    if SIZE == 4
                        && rows.step == 4
                        && let Some(words) = words.first_chunk_mut::<HALF>()
                    {
                        words.copy_from_slice(half);
                        continue;
                    }
                    for (value, offset) in half.iter().zip(column(start, rows.step)) {
                        let word = &mut self.shared[shared_index(offset)];
                        *word = paste::<SIZE>(*word, offset, *value);
                    }
                }
            }
            Region::Local => {
                let row = &mut self.local[(starts[0] >> 2) as usize];
                for (word, value) in row.iter_mut().zip(values) {
                    *word = paste::<SIZE>(*word, starts[0], *value);
                }
            }
            // Rejected earlier.
            Region::Peer(_) | Region::Param => {}
        }
    }

    /// As `write32`, for 8 bytes.
    #[inline(always)]
    pub(super) fn write64(&mut self, rows: &Rows<'_>, at: u64, values: &Row64) {
        let starts = rows.starts.map(|start| start + at);
        match rows.region {
            Region::Global(allocation) => {
                for (half, start) in values.chunks_exact(HALF).zip(starts) {
                    for (value, offset) in half.iter().zip(column(start, rows.step)) {
                        allocation.store::<8>(offset, *value);
                    }
                }
            }
            Region::Shared => {
                for (half, start) in values.chunks_exact(HALF).zip(starts) {
                    for (value, offset) in half.iter().zip(column(start, rows.step)) {
                        let index = shared_index(offset);
                        self.shared[index] = *value as u32;
                        self.shared[index | 1] = (*value >> 32) as u32;
                    }
                }
            }
            Region::Local => {
                let index = (starts[0] >> 2) as usize;
                for (lane, value) in values.iter().enumerate() {
                    self.local[index][lane] = *value as u32;
                    self.local[index + 1][lane] = (*value >> 32) as u32;
                }
            }
            Region::Peer(_) | Region::Param => {}
        }
    }
}

/// Reads the rows of both half warps.
#[inline(always)]
fn read_global<const SIZE: u32>(
    allocation: &Allocation,
    starts: [u64; 2],
    step: u64,
    into: &mut Row32,
) {
    let (low, high) = into.split_at_mut(HALF);
    let [first, second] = starts;
    match step {
        0 => {
            low.fill(allocation.load::<SIZE>(first) as u32);
            high.fill(allocation.load::<SIZE>(second) as u32);
        }
        4 if SIZE == 4 => {
            read_words(allocation, first, low);
            read_words(allocation, second, high);
        }
        _ => {
            read_column::<SIZE>(allocation, first, step, low);
            if first == second {
                high.copy_from_slice(low);
            } else {
                read_column::<SIZE>(allocation, second, step, high);
            }
        }
    }
}

/// Reads 32-bit words from 64-bit words.
#[inline(always)]
fn read_words(allocation: &Allocation, start: u64, into: &mut [u32]) {
    let both = |word: u64| [word as u32, (word >> 32) as u32];
    if start.is_multiple_of(8) {
        let words = &allocation.words_from(start)[..HALF / 2];
        for (pair, word) in into.chunks_exact_mut(2).zip(words) {
            pair.copy_from_slice(&both(word.load(Relaxed)));
        }
        return;
    }
    let words = &allocation.words_from(start)[..HALF / 2 + 1];
    into[0] = both(words[0].load(Relaxed))[1];
    into[HALF - 1] = words[HALF / 2].load(Relaxed) as u32;
    for (pair, word) in into[1..HALF - 1].chunks_exact_mut(2).zip(&words[1..]) {
        pair.copy_from_slice(&both(word.load(Relaxed)));
    }
}

/// Reads `SIZE` bytes at every `step`.
#[inline(always)]
fn read_column<const SIZE: u32>(allocation: &Allocation, start: u64, step: u64, into: &mut [u32]) {
    let part = |word: &AtomicU64, offset: u64| {
        (word.load(Relaxed) >> (8 * (offset & 7))) as u32 & (u32::MAX >> (32 - 8 * SIZE))
    };
    if step.is_multiple_of(8) {
        // The same part of each word.
        let (words, stride) = (allocation.words_from(start), black_box(step / 8) as usize);
        let mut at = 0;
        for value in into {
            *value = part(&words[at], start);
            at += stride;
        }
        return;
    }
    // One slice for all lanes, so that its bounds are loaded once.
    let words = allocation.words_from(0);
    for (value, offset) in into.iter_mut().zip(column(start, step)) {
        *value = part(&words[(offset >> 3) as usize], offset);
    }
}

#[inline(always)]
fn write_words(allocation: &Allocation, start: u64, values: &[u32], alone: bool) {
    let first = usize::from(!start.is_multiple_of(8));
    if first == 1 {
        put::<4>(allocation, start, values[0], alone);
        let last = start + 4 * (HALF as u64 - 1);
        put::<4>(allocation, last, values[HALF - 1], alone);
    }
    let words = allocation.words_from(start + 4 * first as u64);
    for (pair, word) in values[first..HALF - first].chunks_exact(2).zip(words) {
        word.store(join(pair[0], pair[1]), Relaxed);
    }
}

/// Writes a part of a word.
#[inline(always)]
pub(super) fn put<const SIZE: u32>(allocation: &Allocation, offset: u64, value: u32, alone: bool) {
    if alone {
        allocation.store_alone::<SIZE>(offset, u64::from(value));
    } else {
        allocation.store::<SIZE>(offset, u64::from(value));
    }
}
