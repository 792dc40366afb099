use std::ops::Range;

/// Which bytes of a memory range are initialised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined {
    /// Number of uninitialised bytes.
    missing: u64,
    /// One bit per byte, set if initialised; empty if all bytes always were.
    words: Vec<u64>,
}

impl Defined {
    /// `size` uninitialised bytes.
    pub(crate) fn nothing(size: u64) -> Self {
        let words = vec![0; usize::try_from(size.div_ceil(64)).unwrap_or(0)];
        let missing = size;
        Self { missing, words }
    }

    /// Memory that is initialised everywhere.
    pub(crate) fn everything() -> Self {
        Self::default()
    }

    #[inline(always)]
    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Whether nothing is initialised; false for memory that always was.
    pub(crate) fn is_empty(&self) -> bool {
        self.missing > 0 && self.words.iter().all(|&word| word == 0)
    }

    /// The uninitialised ranges among some bytes, in order; two may touch.
    pub(crate) fn gaps(&self, bytes: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let known = self.words.len() as u64 * 64;
        let end = bytes.end.min(if self.missing == 0 { 0 } else { known });
        let mut at = bytes.start;
        std::iter::from_fn(move || {
            while at < end {
                let rest = self.words[(at / 64) as usize] >> (at % 64);
                let in_word = 64 - at % 64;
                let defined = u64::from(rest.trailing_ones()).min(in_word);
                if defined < in_word {
                    let start = at + defined;
                    let undefined = u64::from((rest >> defined).trailing_zeros());
                    let stop = start + undefined.min(in_word - defined);
                    at = stop;
                    return (start < end).then(|| start..stop.min(end));
                }
                at += in_word;
            }
            None
        })
    }

    /// The uninitialised bytes of an access, as bits. Accesses are aligned and have at most 32
    /// bytes, so they are within one word.
    #[inline(always)]
    pub(crate) fn missing(&self, offset: u64, size: u32) -> u32 {
        if self.missing == 0 {
            return 0;
        }
        let word = self.words[(offset / 64) as usize];
        !(word >> (offset % 64)) as u32 & bits(size) as u32
    }

    /// Marks all bytes of an access as initialised, except those in `undefined`.
    #[inline(always)]
    pub(crate) fn store(&mut self, offset: u64, size: u32, undefined: u32) {
        if self.words.is_empty() || (self.missing == 0 && undefined == 0) {
            return;
        }
        let word = &mut self.words[(offset / 64) as usize];
        let before = word.count_ones();
        *word |= bits(size) << (offset % 64);
        *word &= !(u64::from(undefined) << (offset % 64));
        self.missing = self.missing + u64::from(before) - u64::from(word.count_ones());
    }

    /// Marks any number of bytes as initialised.
    pub(crate) fn fill(&mut self, mut offset: u64, size: u64) {
        let end = offset + size;
        while offset < end && self.missing > 0 {
            let count = (64 - offset % 64).min(end - offset);
            let word = &mut self.words[(offset / 64) as usize];
            let before = word.count_ones();
            *word |= bits(count as u32) << (offset % 64);
            self.missing -= u64::from(word.count_ones() - before);
            offset += count;
        }
    }

    /// Marks bytes as uninitialised. Not for [`everything`](Self::everything), which does not know
    /// its size.
    pub(crate) fn forget(&mut self, bytes: Range<u64>) {
        let mut offset = bytes.start;
        while offset < bytes.end {
            let count = (64 - offset % 64).min(bytes.end - offset);
            let word = &mut self.words[(offset / 64) as usize];
            let before = word.count_ones();
            *word &= !(bits(count as u32) << (offset % 64));
            self.missing += u64::from(before - word.count_ones());
            offset += count;
        }
    }

    /// Marks the first `size` bytes as uninitialised.
    pub(crate) fn clear(&mut self, size: u64) {
        self.words.clear();
        self.words.resize(size.div_ceil(64) as usize, 0);
        self.missing = size;
    }
}

fn bits(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_missing_until_they_are_written() {
        let mut defined = Defined::nothing(200);
        assert_eq!(defined.missing(64, 4), 0b1111);
        defined.store(64, 4, 0b0100);
        assert_eq!(defined.missing(64, 4), 0b0100);
        assert_eq!(defined.missing(68, 1), 1);
        defined.fill(0, 199);
        assert_eq!(defined.missing(64, 16), 0);
        assert!(!defined.is_complete());
        defined.fill(199, 1);
        assert!(defined.is_complete());
        defined.store(32, 32, 1 << 31);
        assert!(!defined.is_complete());
        assert_eq!(defined.missing(32, 32), 1 << 31);
        defined.store(32, 32, 0);
        defined.forget(60..130);
        assert_eq!(defined.missing(56, 8), 0b1111_0000);
        assert_eq!(defined.missing(128, 4), 0b0011);
        defined.fill(60, 70);
        assert!(defined.is_complete());
    }
}
