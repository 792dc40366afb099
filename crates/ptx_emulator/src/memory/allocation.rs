use super::Defined;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One allocation. Its bytes are in relaxed atomic words, so that racing threads are never
/// undefined behaviour.
///
/// Words have 64 bits, because PTX has 64-bit atomics; a narrower store replaces part of a word.
pub(crate) struct Allocation {
    pub(crate) base: u64,
    pub(crate) size: u64,
    words: Box<[AtomicU64]>,
    /// The bytes that the host or a kernel is known to have written.
    pub(super) defined: Defined,
}

impl Allocation {
    /// Zeroed memory, or `None` if the host has none left.
    pub(crate) fn new(base: u64, size: u64) -> Option<Self> {
        let words = usize::try_from(size.div_ceil(8)).ok()?;
        let words = bytemuck::try_zeroed_slice_box(words).ok()?;
        let defined = Defined::nothing(size);
        Some(Self {
            base,
            size,
            words,
            defined,
        })
    }

    /// The bytes that are initialised, other than by zeroed memory.
    pub(crate) fn defined(&self) -> &Defined {
        &self.defined
    }

    /// The offset of `size` bytes at `address`, if all are inside.
    #[inline(always)]
    pub(crate) fn offset_of(&self, address: u64, size: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        (size <= self.size && offset <= self.size - size).then_some(offset)
    }

    /// The word that contains the byte at `offset`; callers have checked that it is inside.
    #[inline(always)]
    pub(crate) fn word(&self, offset: u64) -> &AtomicU64 {
        &self.words[(offset >> 3) as usize]
    }

    /// The words from the one that contains `offset`.
    #[inline(always)]
    pub(crate) fn words_from(&self, offset: u64) -> &[AtomicU64] {
        &self.words[(offset >> 3) as usize..]
    }

    /// Reads `SIZE` (1, 2, 4 or 8) bytes at an aligned offset.
    #[inline(always)]
    pub(crate) fn load<const SIZE: u32>(&self, offset: u64) -> u64 {
        let word = self.word(offset).load(Relaxed);
        if SIZE == 8 {
            word
        } else {
            (word >> (8 * (offset & 7))) & mask::<SIZE>()
        }
    }

    /// Writes `SIZE` (1, 2, 4 or 8) bytes at an aligned offset. The rest of the word is preserved
    /// even if another thread writes it concurrently.
    #[inline(always)]
    pub(crate) fn store<const SIZE: u32>(&self, offset: u64, value: u64) {
        let word = self.word(offset);
        if SIZE == 8 {
            word.store(value, Relaxed);
        } else {
            let shift = 8 * (offset & 7);
            let insert = |old: u64| Some(insert::<SIZE>(old, shift, value));
            // `insert` always returns a value, so the update cannot fail.
            let _ = word.try_update(Relaxed, Relaxed, insert);
        }
    }

    /// Like [`store`](Self::store), if no other thread uses this memory.
    #[inline(always)]
    pub(crate) fn store_alone<const SIZE: u32>(&self, offset: u64, value: u64) {
        let word = self.word(offset);
        let old = word.load(Relaxed);
        word.store(insert::<SIZE>(old, 8 * (offset & 7), value), Relaxed);
    }

    /// Atomically replaces `SIZE` bytes at an aligned offset by the result of `change`; returns the
    /// old value.
    pub(crate) fn update<const SIZE: u32>(&self, offset: u64, change: impl Fn(u64) -> u64) -> u64 {
        let shift = if SIZE == 8 { 0 } else { 8 * (offset & 7) };
        let part = |word: u64| (word >> shift) & mask::<SIZE>();
        let step = |word: u64| Some(insert::<SIZE>(word, shift, change(part(word))));
        match self.word(offset).try_update(Relaxed, Relaxed, step) {
            Ok(word) | Err(word) => part(word),
        }
    }

    /// Copies bytes out; callers have checked the bounds.
    pub(crate) fn read(&self, mut offset: u64, mut into: &mut [u8]) {
        while !into.is_empty() {
            let within = (offset & 7) as usize;
            let word = self.word(offset).load(Relaxed).to_le_bytes();
            let count = into.len().min(8 - within);
            let (now, later) = into.split_at_mut(count);
            now.copy_from_slice(&word[within..within + count]);
            into = later;
            offset += count as u64;
        }
    }

    /// A copy of all words.
    pub(crate) fn words(&self) -> Vec<u64> {
        self.words.iter().map(|word| word.load(Relaxed)).collect()
    }

    /// Restores all words from [`words`](Self::words).
    pub(crate) fn set_words(&self, words: &[u64]) {
        for (word, &value) in self.words.iter().zip(words) {
            word.store(value, Relaxed);
        }
    }

    /// Copies bytes in; callers have checked the bounds.
    pub(crate) fn write(&self, mut offset: u64, mut from: &[u8]) {
        while !from.is_empty() {
            let within = (offset & 7) as usize;
            let count = from.len().min(8 - within);
            let (now, later) = from.split_at(count);
            let word = self.word(offset);
            let mut bytes = word.load(Relaxed).to_le_bytes();
            bytes[within..within + count].copy_from_slice(now);
            word.store(u64::from_le_bytes(bytes), Relaxed);
            from = later;
            offset += count as u64;
        }
    }
}

const fn mask<const SIZE: u32>() -> u64 {
    u64::MAX >> (64 - 8 * SIZE)
}

#[inline(always)]
fn insert<const SIZE: u32>(word: u64, shift: u64, value: u64) -> u64 {
    let mask = mask::<SIZE>();
    if SIZE == 8 {
        value
    } else {
        (word & !(mask << shift)) | ((value & mask) << shift)
    }
}
