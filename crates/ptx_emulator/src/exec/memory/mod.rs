use super::frame::{ALL, Frame, Row32, Row64, lanes};
use super::observe::{Observer, Seen};
use super::trouble::{Checked, Trouble, trouble};
use crate::decode::op::{NO_ROW, Transfer, Width};
use crate::fault::{Access, FaultKind, Nearest, Space};
use crate::memory::{
    Allocation, CONST_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Table, WINDOW_SIZE,
};
use std::sync::atomic::{self, Ordering::Relaxed};

/// Shared memory of one block: a fixed number of words, so that an index that is cut to 16 bits needs no check.
pub(crate) type SharedWords = [u32; SHARED_WORDS];
const SHARED_WORDS: usize = 1 << 16;
/// The most shared memory that a block can have here.
pub(crate) const MAX_SHARED_BYTES: u64 = 4 * SHARED_WORDS as u64;

/// All memory that a warp sees.
pub(crate) struct Memory<'a> {
    pub(super) table: &'a Table,
    /// For each instruction, the allocation that it used last.
    pub(super) hints: &'a mut [u32],
    /// No other thread of the host works on the device's memory.
    pub(super) alone: bool,
    pub(super) shared: &'a mut SharedWords,
    pub(super) shared_bytes: u64,
    /// Local memory of the warp: a row for each word, a column for each lane.
    pub(super) local: &'a mut [Row32],
    /// Local bytes of each thread, up to the end of the running function's.
    pub(super) local_bytes: u64,
    pub(super) params: &'a [u8],
    /// Offsets of the last part of an access in its region; for lanes that are not in the part, a valid one too.
    ///
    /// They lie in memory on purpose: as a local variable the compiler would keep 32 scalars.
    pub(super) offsets: &'a mut Row64,
}

/// A stretch of memory with one base: what a generic address resolves to.
#[derive(Clone, Copy)]
pub(crate) enum Region<'a> {
    Global(&'a Allocation),
    Shared,
    Local,
    Param,
}

/// Lanes of an access that lie in one region, at [`Memory::offsets`].
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) region: Region<'a>,
    pub(super) lanes: u32,
}

impl<'a> Memory<'a> {
    /// The region of an address, the address of the region's first byte, and its size.
    #[inline(always)]
    fn region(&mut self, space: Space, address: u64, pc: u32) -> Option<(Region<'a>, u64, u64)> {
        let (space, window) = match space {
            Space::Generic => window(address)?,
            space => (space, 0),
        };
        match space {
            Space::Shared => Some((Region::Shared, window, self.shared_bytes)),
            Space::Local => Some((Region::Local, window, self.local_bytes)),
            Space::Param => Some((Region::Param, window, self.params.len() as u64)),
            Space::Global | Space::Const | Space::Generic => {
                let table = self.table;
                let hint = &mut self.hints[pc as usize];
                let hinted = table.allocations().get(*hint as usize);
                let found =
                    match hinted.filter(|allocation| allocation.offset_of(address, 1).is_some()) {
                        Some(allocation) => allocation,
                        None => {
                            let index = table.find(address, 1)?;
                            *hint = index as u32;
                            &table.allocations()[index]
                        }
                    };
                let constant = found.base >= CONST_BASE;
                // `.const` and `.global` do not see each other's variables.
                if constant == (space == Space::Global) {
                    return None;
                }
                Some((Region::Global(found), found.base, found.size))
            }
        }
    }

    /// The next lanes of an access that lie together, checked for bounds and alignment.
    #[inline(always)]
    pub(super) fn part(
        &mut self,
        (space, access): (Space, Access),
        addresses: &Row64,
        size: u32,
        mask: u32,
        pc: u32,
    ) -> Checked<Part<'a>> {
        let first = (mask.trailing_zeros() & 31) as usize;
        let bytes = u64::from(size);
        let found = self.region(space, addresses[first], pc);
        let Some((region, base, length)) = found.filter(|&(_, base, length)| {
            bytes <= length && addresses[first].wrapping_sub(base) <= length - bytes
        }) else {
            return Err(self.out_of_bounds((space, access), addresses, size, mask, pc));
        };
        if access != Access::Read && base >= CONST_BASE && matches!(region, Region::Global(_)) {
            return Err(trouble(
                first,
                FaultKind::ReadOnly {
                    space: Space::Const,
                    address: addresses[first],
                },
            ));
        }
        if access != Access::Read && matches!(region, Region::Param) {
            return Err(trouble(
                first,
                FaultKind::ReadOnly {
                    space: Space::Param,
                    address: addresses[first].wrapping_sub(base),
                },
            ));
        }
        let limit = length - bytes;
        let heap = base == self.table.heap_base() && matches!(region, Region::Global(_));
        if mask == ALL && !heap {
            let mut bits = 0;
            for (offset, address) in self.offsets.iter_mut().zip(addresses) {
                *offset = address.wrapping_sub(base);
                bits |= *offset;
            }
            // No offset is larger than all their bits together.
            if bits <= limit && bits & (bytes - 1) == 0 {
                return Ok(Part { region, lanes: ALL });
            }
        }
        let anchor = addresses[first].wrapping_sub(base);
        let offsets = &mut *self.offsets;
        let mut inside = 0;
        let mut low_bits = 0;
        for lane in 0..32 {
            let offset = addresses[lane].wrapping_sub(base);
            let fits = offset <= limit && mask & (1 << lane) != 0;
            offsets[lane] = if fits { offset } else { anchor };
            inside |= u32::from(fits) << lane;
            low_bits |= offsets[lane];
        }
        if heap {
            self.check_heap((space, access), addresses, size, inside)?;
        }
        // Every base is aligned to more than any access.
        if low_bits & (bytes - 1) != 0 {
            let misaligned = lanes(inside)
                .filter(|&lane| self.offsets[lane] & (bytes - 1) != 0)
                .fold(0, |lanes, lane| lanes | 1 << lane);
            let region = (region, base);
            return Err(misaligned_access(
                region,
                access,
                self.offsets,
                size,
                misaligned,
            ));
        }
        Ok(Part {
            region,
            lanes: inside,
        })
    }

    /// Chunks of the heap are allocations of their own.
    #[inline(never)]
    fn check_heap(
        &self,
        (space, access): (Space, Access),
        addresses: &Row64,
        size: u32,
        mask: u32,
    ) -> Checked<()> {
        for lane in lanes(mask) {
            let address = addresses[lane];
            let checked = self
                .table
                .heap()
                .map(|heap| heap.check(address, size.into()));
            if let Some(Err(nearest)) = checked {
                let kind = FaultKind::OutOfBounds {
                    space: if space == Space::Generic {
                        Space::Global
                    } else {
                        space
                    },
                    access,
                    address,
                    size,
                    nearest,
                };
                return Err(trouble(lane, kind));
            }
        }
        Ok(())
    }

    /// Whether all bytes of an access lie in one region.
    fn fits(&mut self, space: Space, address: u64, size: u32, pc: u32) -> bool {
        let size = u64::from(size);
        self.region(space, address, pc)
            .is_some_and(|(_, base, length)| {
                size <= length && address.wrapping_sub(base) <= length - size
            })
    }

    /// A read of one lane that need not be aligned.
    pub(super) fn stretch(
        &mut self,
        space: Space,
        addresses: &Row64,
        size: u32,
        lane: usize,
        pc: u32,
    ) -> Checked<Part<'a>> {
        let kind = (space, Access::Read);
        if self.fits(space, addresses[lane], size, pc) {
            self.part(kind, addresses, 1, 1 << lane, pc)
        } else {
            Err(self.out_of_bounds(kind, addresses, size, 1 << lane, pc))
        }
    }

    /// What is wrong with an access whose first lane does not fit.
    #[cold]
    fn out_of_bounds(
        &mut self,
        (space, access): (Space, Access),
        addresses: &Row64,
        size: u32,
        mask: u32,
        pc: u32,
    ) -> Box<Trouble> {
        let outside = lanes(mask)
            .filter(|&lane| !self.fits(space, addresses[lane], size, pc))
            .fold(0, |lanes, lane| lanes | 1 << lane);
        let lane = (mask.trailing_zeros() & 31) as usize;
        let address = addresses[lane];
        let (space, window) = match space {
            Space::Generic => window(address).unwrap_or((Space::Generic, 0)),
            space => (space, 0),
        };
        let address = address.wrapping_sub(window);
        let whole = |size: u64| {
            (size > 0).then(|| Nearest {
                base: 0,
                size,
                offset: i128::from(address),
                freed: false,
            })
        };
        let nearest = match space {
            Space::Shared => whole(self.shared_bytes),
            Space::Local => whole(self.local_bytes),
            Space::Param => whole(self.params.len() as u64),
            _ => self.table.nearest(address),
        };
        let kind = FaultKind::OutOfBounds {
            space,
            access,
            address,
            size,
            nearest,
        };
        Box::new(Trouble {
            kind,
            lane: lane as u32,
            lanes: outside,
        })
    }

    /// `ld`
    #[inline(always)]
    pub(super) fn load<O: Observer + ?Sized>(
        &mut self,
        frame: &mut Frame<'_>,
        t: &Transfer,
        mask: u32,
        pc: u32,
        observer: &mut O,
    ) -> Checked<()> {
        let addresses = frame.addresses(t.address);
        let mut rest = mask;
        while rest != 0 {
            let part = self.part((t.space, Access::Read), &addresses, t.bytes(), rest, pc)?;
            rest &= !part.lanes;
            observer.access(
                pc,
                &Seen::new(part, self.offsets, t.bytes(), Access::Read),
                frame,
                self,
            );
            for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                let at = index as u64 * u64::from(t.size);
                if row == NO_ROW {
                    continue;
                }
                if t.size == 8 {
                    let values = self.gather64(&part, at);
                    frame.set64(row, &values, part.lanes);
                    continue;
                }
                let mut values = match t.size {
                    4 => self.gather32::<4>(&part, at),
                    2 => self.gather32::<2>(&part, at),
                    _ => self.gather32::<1>(&part, at),
                };
                if t.signed {
                    let shift = 32 - 8 * u32::from(t.size);
                    for value in &mut values {
                        *value = ((*value << shift) as i32 >> shift) as u32;
                    }
                }
                match t.width {
                    Width::R32 => frame.set32(row, &values, part.lanes),
                    Width::R16 => frame.set32(row, &values.map(|value| value & 0xffff), part.lanes),
                    Width::R64 => {
                        let signed = t.signed;
                        let extend = |value: u32| {
                            if signed {
                                value as i32 as u64
                            } else {
                                u64::from(value)
                            }
                        };
                        frame.set64(row, &values.map(extend), part.lanes);
                    }
                }
            }
        }
        if t.order.acquires() {
            atomic::fence(atomic::Ordering::Acquire);
        }
        Ok(())
    }

    /// `st`
    #[inline(always)]
    pub(super) fn store<O: Observer + ?Sized>(
        &mut self,
        frame: &Frame<'_>,
        t: &Transfer,
        mask: u32,
        pc: u32,
        observer: &mut O,
    ) -> Checked<()> {
        if t.order.releases() {
            atomic::fence(atomic::Ordering::Release);
        }
        let addresses = frame.addresses(t.address);
        let mut rest = mask;
        while rest != 0 {
            let part = self.part((t.space, Access::Write), &addresses, t.bytes(), rest, pc)?;
            rest &= !part.lanes;
            observer.access(
                pc,
                &Seen::new(part, self.offsets, t.bytes(), Access::Write),
                frame,
                self,
            );
            for (index, &row) in t.rows[..usize::from(t.count)].iter().enumerate() {
                let at = index as u64 * u64::from(t.size);
                if t.size == 8 {
                    self.scatter64(&part, at, frame.r64(row));
                    continue;
                }
                let narrowed;
                let values = match t.width {
                    Width::R64 => {
                        narrowed = frame.r64(row).map(|value| value as u32);
                        &narrowed
                    }
                    _ => frame.r32(row),
                };
                match t.size {
                    4 => self.scatter32::<4>(&part, at, values),
                    2 => self.scatter32::<2>(&part, at, values),
                    _ => self.scatter32::<1>(&part, at, values),
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn gather32<const SIZE: u32>(&self, part: &Part<'_>, at: u64) -> Row32 {
        let mut values = [0; 32];
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                let starts = [offsets[0] + at, offsets[16] + at];
                match Layout::of::<SIZE>(offsets) {
                    Layout::Same => {
                        for (half, start) in values.chunks_exact_mut(16).zip(starts) {
                            half.fill(allocation.load::<SIZE>(start) as u32);
                        }
                    }
                    Layout::Next if SIZE == 4 && (starts[0] | starts[1]).is_multiple_of(8) => {
                        for (half, start) in values.chunks_exact_mut(16).zip(starts) {
                            let words = &allocation.words_from(start)[..8];
                            for (pair, word) in half.chunks_exact_mut(2).zip(words) {
                                let word = word.load(Relaxed);
                                (pair[0], pair[1]) = (word as u32, (word >> 32) as u32);
                            }
                        }
                    }
                    _ => {
                        for lane in 0..32 {
                            values[lane] = allocation.load::<SIZE>(offsets[lane] + at) as u32;
                        }
                    }
                }
            }
            Region::Shared => {
                let starts = [offsets[0] + at, offsets[16] + at];
                match Layout::of::<SIZE>(offsets) {
                    Layout::Same => {
                        for (half, start) in values.chunks_exact_mut(16).zip(starts) {
                            half.fill(cut::<SIZE>(self.shared[shared_index(start)], start));
                        }
                    }
                    Layout::Next if SIZE == 4 => {
                        for (half, start) in values.chunks_exact_mut(16).zip(starts) {
                            let words = &self.shared[shared_index(start)..];
                            for (value, word) in half.iter_mut().zip(words) {
                                *value = *word;
                            }
                        }
                    }
                    _ => {
                        for lane in 0..32 {
                            let offset = offsets[lane] + at;
                            values[lane] = cut::<SIZE>(self.shared[shared_index(offset)], offset);
                        }
                    }
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
                    let offset = (offsets[lane] + at) as usize;
                    let mut bytes = [0; 4];
                    bytes[..SIZE as usize]
                        .copy_from_slice(&self.params[offset..offset + SIZE as usize]);
                    values[lane] = u32::from_le_bytes(bytes);
                }
            }
        }
        values
    }

    #[inline(always)]
    fn gather64(&self, part: &Part<'_>, at: u64) -> Row64 {
        let mut values = [0; 32];
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                let start = offsets[0] + at;
                if part.lanes == ALL && is_contiguous::<8>(offsets) {
                    for (value, word) in values.iter_mut().zip(&allocation.words_from(start)[..32])
                    {
                        *value = word.load(Relaxed);
                    }
                } else if is_uniform(offsets) {
                    values = [allocation.load::<8>(start); 32];
                } else {
                    for lane in 0..32 {
                        values[lane] = allocation.load::<8>(offsets[lane] + at);
                    }
                }
            }
            Region::Shared => {
                for lane in 0..32 {
                    let index = shared_index(offsets[lane] + at);
                    // Aligned to 8, so the second word is in the array too.
                    values[lane] = join(self.shared[index], self.shared[index | 1]);
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
                    let offset = (offsets[lane] + at) as usize;
                    let mut bytes = [0; 8];
                    bytes.copy_from_slice(&self.params[offset..offset + 8]);
                    values[lane] = u64::from_le_bytes(bytes);
                }
            }
        }
        values
    }

    #[inline(always)]
    fn scatter32<const SIZE: u32>(&mut self, part: &Part<'_>, at: u64, values: &Row32) {
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                let starts = [offsets[0] + at, offsets[16] + at];
                if SIZE == 4
                    && part.lanes == ALL
                    && (starts[0] | starts[1]).is_multiple_of(8)
                    && Layout::of::<4>(offsets) == Layout::Next
                {
                    for (half, start) in values.chunks_exact(16).zip(starts) {
                        let words = &allocation.words_from(start)[..8];
                        for (pair, word) in half.chunks_exact(2).zip(words) {
                            word.store(join(pair[0], pair[1]), Relaxed);
                        }
                    }
                } else if self.alone {
                    for lane in lanes(part.lanes) {
                        allocation.store_alone::<SIZE>(offsets[lane] + at, u64::from(values[lane]));
                    }
                } else {
                    for lane in lanes(part.lanes) {
                        allocation.store::<SIZE>(offsets[lane] + at, u64::from(values[lane]));
                    }
                }
            }
            Region::Shared
                if SIZE == 4 && part.lanes == ALL && Layout::of::<4>(offsets) == Layout::Next =>
            {
                for (half, start) in values.chunks_exact(16).zip([offsets[0], offsets[16]]) {
                    let words = &mut self.shared[shared_index(start + at)..];
                    for (word, value) in words.iter_mut().zip(half) {
                        *word = *value;
                    }
                }
            }
            Region::Shared => {
                for lane in lanes(part.lanes) {
                    let offset = offsets[lane] + at;
                    let word = &mut self.shared[shared_index(offset)];
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
            // Refused before.
            Region::Param => {}
        }
    }

    #[inline(always)]
    fn scatter64(&mut self, part: &Part<'_>, at: u64, values: &Row64) {
        let offsets = &*self.offsets;
        match part.region {
            Region::Global(allocation) => {
                for lane in lanes(part.lanes) {
                    allocation.store::<8>(offsets[lane] + at, values[lane]);
                }
            }
            Region::Shared => {
                for lane in lanes(part.lanes) {
                    let index = shared_index(offsets[lane] + at);
                    self.shared[index] = values[lane] as u32;
                    self.shared[index | 1] = (values[lane] >> 32) as u32;
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

    /// Replaces a value of 4 or 8 bytes by what `change` makes of it; the old value.
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
            (Region::Shared, 2) => {
                let word = &mut self.shared[shared_index(offset)];
                let shift = 8 * (offset & 2);
                let old = u64::from(*word >> shift & 0xffff);
                *word = *word & !(0xffff << shift) | (change(old) as u32 & 0xffff) << shift;
                old
            }
            (Region::Shared, 4) => {
                let word = &mut self.shared[shared_index(offset)];
                let old = u64::from(*word);
                *word = change(old) as u32;
                old
            }
            (Region::Shared, _) => {
                let index = shared_index(offset);
                let old = join(self.shared[index], self.shared[index | 1]);
                let new = change(old);
                self.shared[index] = new as u32;
                self.shared[index | 1] = (new >> 32) as u32;
                old
            }
            (Region::Local | Region::Param, _) => 0,
        }
    }

    /// Elements of 1, 2, 4 or 8 bytes, zero-extended.
    pub(super) fn gather(&self, part: &Part<'_>, size: u32) -> Row64 {
        match size {
            1 => self.gather32::<1>(part, 0).map(u64::from),
            2 => self.gather32::<2>(part, 0).map(u64::from),
            4 => self.gather32::<4>(part, 0).map(u64::from),
            _ => self.gather64(part, 0),
        }
    }

    pub(super) fn scatter(&mut self, part: &Part<'_>, size: u32, values: &Row64) {
        let narrow = || values.map(|value| value as u32);
        match size {
            1 => self.scatter32::<1>(part, 0, &narrow()),
            2 => self.scatter32::<2>(part, 0, &narrow()),
            4 => self.scatter32::<4>(part, 0, &narrow()),
            _ => self.scatter64(part, 0, values),
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

    /// Up to 8 bytes as they are now, of a region that a warp shares with others; callers have checked the bounds.
    pub(crate) fn peek(&self, region: Region<'_>, offset: u64, size: u32) -> u64 {
        let byte = |offset: u64| match region {
            Region::Global(allocation) => allocation.load::<1>(offset),
            Region::Shared => u64::from(cut::<1>(self.shared[shared_index(offset)], offset)),
            Region::Local | Region::Param => 0,
        };
        let bytes = (0..u64::from(size)).map(|at| byte(offset + at) << (8 * at));
        bytes.fold(0, |all, byte| all | byte)
    }

    /// The `at`th byte of a lane's access.
    pub(super) fn load_byte(&self, part: &Part<'_>, at: u64, lane: usize) -> u8 {
        self.gather32::<1>(part, at)[lane] as u8
    }

    pub(super) fn load_shared_word(&self, offset: u64) -> u32 {
        self.shared[shared_index(offset)]
    }

    pub(super) fn store_shared_word(&mut self, offset: u64, value: u32) {
        self.shared[shared_index(offset)] = value;
    }
}

impl Region<'_> {
    fn space(self, base: u64) -> Space {
        match self {
            Region::Global(_) if base >= CONST_BASE => Space::Const,
            Region::Global(_) => Space::Global,
            Region::Shared => Space::Shared,
            Region::Local => Space::Local,
            Region::Param => Space::Param,
        }
    }
}

#[cold]
fn misaligned_access(
    (region, base): (Region<'_>, u64),
    access: Access,
    offsets: &Row64,
    size: u32,
    lanes: u32,
) -> Box<Trouble> {
    let lane = lanes.trailing_zeros() & 31;
    let offset = offsets[lane as usize];
    let address = match region {
        Region::Global(allocation) => allocation.base + offset,
        _ => offset,
    };
    let space = region.space(base);
    let kind = FaultKind::Misaligned {
        space,
        access,
        address,
        size,
    };
    Box::new(Trouble { kind, lane, lanes })
}

/// The space of a generic address, and where its window begins.
#[inline(always)]
fn window(address: u64) -> Option<(Space, u64)> {
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

/// How the lanes' offsets lie within each half of a warp: 16 lanes are the row of a tile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// All the same.
    Same,
    /// Each behind the one before.
    Next,
    Other,
}

impl Layout {
    #[inline(always)]
    fn of<const SIZE: u32>(offsets: &Row64) -> Self {
        // Element by element first: this becomes vector code, sums in a loop do not.
        let (mut same, mut next) = ([0; 16], [0; 16]);
        for lane in 0..16 {
            let [low, high] = [offsets[lane], offsets[16 + lane]];
            let step = u64::from(SIZE) * lane as u64;
            same[lane] = (low ^ offsets[0]) | (high ^ offsets[16]);
            next[lane] =
                (low ^ offsets[0].wrapping_add(step)) | (high ^ offsets[16].wrapping_add(step));
        }
        let [same, next] = [same, next].map(|bits| bits.iter().fold(0, |all, bits| all | bits));
        match (same, next) {
            (0, _) => Layout::Same,
            (_, 0) => Layout::Next,
            _ => Layout::Other,
        }
    }
}

/// Each lane's bytes follow the lane's before.
#[inline(always)]
fn is_contiguous<const SIZE: u64>(offsets: &Row64) -> bool {
    let mut differences = 0;
    for lane in 0..32 {
        differences |= offsets[lane] ^ offsets[0].wrapping_add(SIZE * lane as u64);
    }
    differences == 0
}

#[inline(always)]
fn is_uniform(offsets: &Row64) -> bool {
    let mut differences = 0;
    for lane in 0..32 {
        differences |= offsets[lane] ^ offsets[0];
    }
    differences == 0
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
