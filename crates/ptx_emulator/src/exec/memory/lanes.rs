//! Memory accesses, lane by lane.

use super::rows::put;
use super::{Memory, Part, Region, cut, join, paste, shared_index, words_of};
use crate::exec::frame::{Row32, Row64, lanes};
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

impl Memory<'_> {
    #[inline(always)]
    pub(super) fn gather32<const SIZE: u32>(&self, part: &Part<'_>, at: u64) -> Row32 {
        let mut values = [0; 32];
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                let memory = allocation.words_from(0);
                let mut words = [0; 32];
                for lane in 0..32 {
                    words[lane] = memory[((offsets[lane] + at) >> 3) as usize].load(Relaxed);
                }
                // Forces both arrays into memory: LLVM then vectorises the loop below.
                let (words, offsets) = black_box((&words, offsets));
                for lane in 0..32 {
                    let word = words[lane] >> (8 * ((offsets[lane] + at) & 7));
                    values[lane] = word as u32 & (u32::MAX >> (32 - 8 * SIZE));
                }
            }
            Region::Shared | Region::Peer(_) => {
                let words = self.words(part.region);
                for lane in 0..32 {
                    let offset = offsets[lane] + at;
                    values[lane] = cut::<SIZE>(words[shared_index(offset)], offset);
                }
            }
            Region::Local => {
                for lane in 0..32 {
                    let offset = offsets[lane] + at;
                    values[lane] = cut::<SIZE>(self.local[(offset >> 2) as usize][lane], offset);
                }
            }
            Region::Param => {
                for lane in 0..32 {
                    values[lane] = self.param::<SIZE>(offsets[lane] + at) as u32;
                }
            }
        }
        values
    }

    #[inline(always)]
    pub(super) fn gather64(&self, part: &Part<'_>, at: u64) -> Row64 {
        let mut values = [0; 32];
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                for lane in 0..32 {
                    values[lane] = allocation.load::<8>(offsets[lane] + at);
                }
            }
            Region::Shared | Region::Peer(_) => {
                let words = self.words(part.region);
                for lane in 0..32 {
                    let index = shared_index(offsets[lane] + at);
                    // Aligned to 8, so the second word is in bounds too.
                    values[lane] = join(words[index], words[index | 1]);
                }
            }
            Region::Local => {
                for lane in 0..32 {
                    let index = ((offsets[lane] + at) >> 2) as usize;
                    values[lane] = join(self.local[index][lane], self.local[index + 1][lane]);
                }
            }
            Region::Param => {
                for lane in 0..32 {
                    values[lane] = self.param::<8>(offsets[lane] + at);
                }
            }
        }
        values
    }

    #[inline(always)]
    pub(super) fn scatter32<const SIZE: u32>(&mut self, part: &Part<'_>, at: u64, values: &Row32) {
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                for lane in lanes(part.lanes) {
                    put::<SIZE>(allocation, offsets[lane] + at, values[lane], self.alone);
                }
            }
            Region::Shared | Region::Peer(_) => {
                let words = words_of(part.region, self.shared, &mut self.peers, self.rank);
                for lane in lanes(part.lanes) {
                    let offset = offsets[lane] + at;
                    let word = &mut words[shared_index(offset)];
                    *word = paste::<SIZE>(*word, offset, values[lane]);
                }
            }
            Region::Local => {
                for lane in lanes(part.lanes) {
                    let offset = offsets[lane] + at;
                    let word = &mut self.local[(offset >> 2) as usize][lane];
                    *word = paste::<SIZE>(*word, offset, values[lane]);
                }
            }
            // Rejected earlier.
            Region::Param => {}
        }
    }

    #[inline(always)]
    pub(super) fn scatter64(&mut self, part: &Part<'_>, at: u64, values: &Row64) {
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                for lane in lanes(part.lanes) {
                    allocation.store::<8>(offsets[lane] + at, values[lane]);
                }
            }
            Region::Shared | Region::Peer(_) => {
                let words = words_of(part.region, self.shared, &mut self.peers, self.rank);
                for lane in lanes(part.lanes) {
                    let index = shared_index(offsets[lane] + at);
                    words[index] = values[lane] as u32;
                    words[index | 1] = (values[lane] >> 32) as u32;
                }
            }
            Region::Local => {
                for lane in lanes(part.lanes) {
                    let index = ((offsets[lane] + at) >> 2) as usize;
                    self.local[index][lane] = values[lane] as u32;
                    self.local[index + 1][lane] = (values[lane] >> 32) as u32;
                }
            }
            Region::Param => {}
        }
    }

    /// Elements of 1, 2, 4 or 8 bytes, zero-extended.
    pub(in crate::exec) fn gather(&self, part: &Part<'_>, size: u32) -> Row64 {
        match size {
            1 => self.gather32::<1>(part, 0).map(u64::from),
            2 => self.gather32::<2>(part, 0).map(u64::from),
            4 => self.gather32::<4>(part, 0).map(u64::from),
            _ => self.gather64(part, 0),
        }
    }

    pub(in crate::exec) fn scatter(&mut self, part: &Part<'_>, size: u32, values: &Row64) {
        let narrow = || values.map(|value| value as u32);
        match size {
            1 => self.scatter32::<1>(part, 0, &narrow()),
            2 => self.scatter32::<2>(part, 0, &narrow()),
            4 => self.scatter32::<4>(part, 0, &narrow()),
            _ => self.scatter64(part, 0, values),
        }
    }
}
