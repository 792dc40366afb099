//! Memory as a warp sees it.
//!
//! An access goes through [`rows`] if its lanes follow a common pattern. All others are split into
//! parts within one region each ([`place`]) and executed lane by lane ([`lanes`]).

mod lanes;
mod place;
mod rows;
mod transfer;
mod window;
mod wrong;

use super::frame::{Row32, Row64};
use crate::fault::Space;
use crate::memory::{Allocation, Table};

/// Shared memory of one block: a fixed number of words, so that an index truncated to 16 bits needs
/// no bounds check.
pub(crate) type SharedWords = [u32; SHARED_WORDS];
const SHARED_WORDS: usize = 1 << 16;
/// The most shared memory that a block can have here.
pub(crate) const MAX_SHARED_BYTES: u64 = 4 * SHARED_WORDS as u64;

/// All memory that a warp sees.
pub(crate) struct Memory<'a> {
    pub(super) table: &'a Table,
    /// For each instruction, the allocation that it last accessed.
    pub(super) hints: &'a mut [u32],
    /// Set by an atomic operation that changes a value.
    pub(super) changed: &'a mut bool,
    /// No other host thread accesses the device's memory.
    pub(super) alone: bool,
    pub(super) shared: &'a mut SharedWords,
    pub(super) shared_bytes: u64,
    /// Shared memory of the other blocks of the cluster, in rank order; the block itself is
    /// omitted.
    pub(super) peers: Vec<&'a mut SharedWords>,
    /// The block's own rank.
    pub(super) rank: u32,
    /// Local memory of the warp: one row per word, one column per lane.
    pub(super) local: &'a mut [Row32],
    /// Bytes of local memory per thread, up to the end of the running function's frame.
    pub(super) local_bytes: u64,
    pub(super) params: &'a [u8],
    /// Offsets of the current part of an access in its region; lanes outside the part have a valid
    /// offset too.
    ///
    /// Kept in memory on purpose: as a local variable the compiler would hold 32 scalars.
    pub(super) offsets: &'a mut Row64,
}

/// A contiguous range of memory with one base: what a generic address resolves to.
#[derive(Clone, Copy)]
pub(crate) enum Region<'a> {
    Global(&'a Allocation),
    Shared,
    /// Shared memory of another block of the cluster, by its rank.
    Peer(u32),
    Local,
    Param,
}

/// Lanes of an access in one region, at [`Memory::offsets`].
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) region: Region<'a>,
    pub(super) lanes: u32,
}

impl Memory<'_> {
    /// The words of the block's own shared memory, or of a peer's.
    #[inline(always)]
    fn words(&self, region: Region<'_>) -> &SharedWords {
        match region {
            Region::Peer(rank) => self.peers[peer_index(rank, self.rank)],
            _ => self.shared,
        }
    }

    #[inline(always)]
    fn words_mut(&mut self, region: Region<'_>) -> &mut SharedWords {
        words_of(region, self.shared, &mut self.peers, self.rank)
    }

    /// Replaces a value of 4 or 8 bytes by the result of `change`; returns the old value.
    pub(super) fn update(
        &mut self,
        region: Region<'_>,
        offset: u64,
        size: u8,
        change: impl Fn(u64) -> u64,
    ) -> u64 {
        match (region, size) {
            (Region::Global(allocation), 2) => allocation.update::<2>(offset, change),
            (Region::Global(allocation), 4) => allocation.update::<4>(offset, change),
            (Region::Global(allocation), _) => allocation.update::<8>(offset, change),
            (Region::Shared | Region::Peer(_), 2) => {
                let word = &mut self.words_mut(region)[shared_index(offset)];
                let shift = 8 * (offset & 2);
                let old = u64::from(*word >> shift & 0xffff);
                *word = *word & !(0xffff << shift) | (change(old) as u32 & 0xffff) << shift;
                old
            }
            (Region::Shared | Region::Peer(_), 4) => {
                let word = &mut self.words_mut(region)[shared_index(offset)];
                let old = u64::from(*word);
                *word = change(old) as u32;
                old
            }
            (Region::Shared | Region::Peer(_), _) => {
                let index = shared_index(offset);
                let words = self.words_mut(region);
                let old = join(words[index], words[index | 1]);
                let new = change(old);
                words[index] = new as u32;
                words[index | 1] = (new >> 32) as u32;
                old
            }
            (Region::Local | Region::Param, _) => 0,
        }
    }

    /// Reads a byte through a generic address, for messages.
    pub(super) fn byte(&mut self, address: u64, lane: usize, pc: u32) -> Option<u8> {
        let (region, base, length) = self.region(Space::Generic, address, pc)?;
        let offset = address - base;
        if offset >= length {
            return None;
        }
        self.offsets.fill(offset);
        let lanes = 1 << lane;
        Some(self.load_byte(&Part { region, lanes }, 0, lane))
    }

    /// Up to 8 bytes of a region that warps share; callers have checked the bounds.
    pub(crate) fn peek(&self, region: Region<'_>, offset: u64, size: u32) -> u64 {
        let byte = |offset: u64| match region {
            Region::Global(allocation) => allocation.load::<1>(offset),
            Region::Shared | Region::Peer(_) => {
                u64::from(cut::<1>(self.words(region)[shared_index(offset)], offset))
            }
            Region::Local | Region::Param => 0,
        };
        let bytes = (0..u64::from(size)).map(|at| byte(offset + at) << (8 * at));
        bytes.fold(0, |all, byte| all | byte)
    }

    /// A byte of any region as it is now; 0 outside of it.
    pub(crate) fn look(&self, region: Region<'_>, offset: u64, lane: usize) -> u8 {
        match region {
            Region::Local => {
                let row = self.local.get((offset / 4) as usize);
                row.map_or(0, |row| row[lane].to_le_bytes()[(offset % 4) as usize])
            }
            Region::Param => self.params.get(offset as usize).copied().unwrap_or(0),
            shared_or_global => self.peek(shared_or_global, offset, 1) as u8,
        }
    }

    /// Reads `SIZE` bytes of the param space.
    #[inline(always)]
    fn param<const SIZE: u32>(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        let (offset, size) = (offset as usize, SIZE as usize);
        bytes[..size].copy_from_slice(&self.params[offset..offset + size]);
        u64::from_le_bytes(bytes)
    }

    /// Byte `at` of a lane's access.
    pub(super) fn load_byte(&self, part: &Part<'_>, at: u64, lane: usize) -> u8 {
        self.look(part.region, self.offsets[lane] + at, lane)
    }

    /// Four bytes of a lane's access to global memory, at a multiple of four; 0 elsewhere.
    pub(super) fn load_global_word(&self, part: &Part<'_>, at: u64, lane: usize) -> u32 {
        match part.region {
            Region::Global(allocation) => allocation.load::<4>(self.offsets[lane] + at) as u32,
            _ => 0,
        }
    }

    pub(super) fn load_shared_word(&self, offset: u64) -> u32 {
        self.shared[shared_index(offset)]
    }

    pub(super) fn store_shared_word(&mut self, offset: u64, value: u32) {
        self.shared[shared_index(offset)] = value;
    }
}

/// [`Memory::words_mut`], for callers that use other fields at the same time.
#[inline(always)]
fn words_of<'w>(
    region: Region<'_>,
    shared: &'w mut SharedWords,
    peers: &'w mut [&mut SharedWords],
    own: u32,
) -> &'w mut SharedWords {
    match region {
        Region::Peer(rank) => peers[peer_index(rank, own)],
        _ => shared,
    }
}

/// Index of a block of the cluster among the peers of another one.
#[inline(always)]
fn peer_index(rank: u32, own: u32) -> usize {
    (if rank < own {
        rank
    } else {
        rank.saturating_sub(1)
    }) as usize
}

#[inline(always)]
fn shared_index(offset: u64) -> usize {
    (offset >> 2) as usize & (SHARED_WORDS - 1)
}

/// The `SIZE` bytes of a word that an offset selects.
#[inline(always)]
fn cut<const SIZE: u32>(word: u32, offset: u64) -> u32 {
    if SIZE == 4 {
        word
    } else {
        (word >> (8 * (offset as u32 & 3))) & (u32::MAX >> (32 - 8 * SIZE))
    }
}

#[inline(always)]
fn paste<const SIZE: u32>(word: u32, offset: u64, value: u32) -> u32 {
    if SIZE == 4 {
        return value;
    }
    let shift = 8 * (offset as u32 & 3);
    let mask = u32::MAX >> (32 - 8 * SIZE);
    (word & !(mask << shift)) | ((value & mask) << shift)
}

#[inline(always)]
fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
