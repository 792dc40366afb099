//! Arrays that are divided over the ranks.

use std::ops::Range;
use std::sync::Arc;

use blockwise::Buffer;
use blockwise_ops::Element;

use crate::call::Digest;
use crate::{Error, Rank, Result};

/// How an array is divided: each rank has one contiguous run, in the order of the ranks. A run may
/// be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Where each rank's run ends.
    ends: Arc<[usize]>,
}

impl Split {
    /// Runs whose lengths differ by at most one, the longer ones first.
    pub fn even(len: usize, ranks: usize) -> Self {
        let (each, more) = (len / ranks.max(1), len % ranks.max(1));
        let end = |rank: usize| (rank + 1) * each + more.min(rank + 1);
        Self {
            ends: (0..ranks).map(end).collect(),
        }
    }

    /// Runs of these lengths.
    pub fn of(lengths: &[usize]) -> Self {
        let mut end = 0;
        let ends = lengths.iter().map(|len| {
            end += len;
            end
        });
        Self {
            ends: ends.collect(),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// True when there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ends.len()
    }

    /// A rank's run.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = match rank {
            0 => 0,
            _ => self.ends[rank - 1],
        };
        start..self.ends[rank]
    }

    /// The ranks that own parts of a range, each with its part.
    pub(crate) fn owners(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (usize, Range<usize>)> {
        (0..self.ranks()).filter_map(move |rank| {
            let own = self.range(rank);
            let part = own.start.max(range.start)..own.end.min(range.end);
            (!part.is_empty()).then_some((rank, part))
        })
    }

    /// Equal for equal splits.
    pub(crate) fn digest(&self, sofar: Digest) -> Digest {
        self.ends
            .iter()
            .fold(sofar, |sofar, &end| sofar.number(end))
    }
}

/// A rank's part of an array that is divided over all ranks.
#[derive(Debug)]
pub struct Sharded<T: Element> {
    split: Split,
    rank: usize,
    part: Buffer<T>,
}

impl<T: Element> Sharded<T> {
    /// Copies this rank's part to its device.
    ///
    /// # Errors
    /// A part whose length is not the split's, a split over a different number of ranks, and a lack
    /// of memory.
    pub fn upload(rank: &Rank, split: Split, part: &[T]) -> Result<Self> {
        rank.check_split(&split)?;
        let needed = split.range(rank.number()).len();
        if part.len() != needed {
            return Err(Error::PartLength {
                rank: rank.number(),
                needed,
                given: part.len(),
            });
        }
        let part = rank.device().upload(part).map_err(|e| rank.failed(e))?;
        Ok(Self::new(rank, split, part))
    }

    /// Takes this rank's part of an array that all ranks have, evenly divided.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn part_of(rank: &Rank, whole: &[T]) -> Result<Self> {
        let split = Split::even(whole.len(), rank.ranks());
        let own = split.range(rank.number());
        Self::upload(rank, split, &whole[own])
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// A split over another number of ranks, a lack of memory, and failures of the device.
    pub fn zeros(rank: &Rank, split: Split) -> Result<Self> {
        rank.check_split(&split)?;
        let len = split.range(rank.number()).len();
        let part = rank.device().zeros(len).map_err(|e| rank.failed(e))?;
        Ok(Self::new(rank, split, part))
    }

    fn new(rank: &Rank, split: Split, part: Buffer<T>) -> Self {
        Self {
            split,
            rank: rank.number(),
            part,
        }
    }

    /// How the array is divided.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The number of elements of the whole array.
    pub fn len(&self) -> usize {
        self.split.len()
    }

    /// True when the whole array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which elements this rank has.
    pub fn range(&self) -> Range<usize> {
        self.split.range(self.rank)
    }

    /// This rank's elements.
    pub fn part(&self) -> &Buffer<T> {
        &self.part
    }

    /// This rank's elements, mutable.
    pub fn part_mut(&mut self) -> blockwise::ViewMut<'_, T> {
        self.part.as_view_mut()
    }

    /// Sets every byte of this rank's part.
    ///
    /// # Errors
    /// When the device fails.
    pub fn fill_bytes(&mut self, rank: &Rank, value: u8) -> Result<()> {
        self.part.fill_bytes(value).map_err(|e| rank.failed(e))
    }

    /// The whole array, on every rank's host.
    ///
    /// # Errors
    /// Failures of a device or of the communication.
    #[track_caller]
    pub fn gather(&self, rank: &mut Rank) -> Result<Vec<T>> {
        self.check(rank, "the array")?;
        let digest = self.split.digest(Digest::new());
        let call = rank.call::<T>("gather", &[self.len()], digest);
        let part = self.part.to_vec().map_err(|e| rank.failed(e))?;
        Ok(rank.all(&call, &part)?.concat())
    }

    /// Refuses another rank's array.
    pub(crate) fn check(&self, rank: &Rank, what: &'static str) -> Result<()> {
        rank.check_split(&self.split)?;
        if self.rank != rank.number() {
            return Err(Error::Foreign {
                rank: rank.number(),
                what,
                of: self.rank,
                ranks: self.split.ranks(),
            });
        }
        Ok(())
    }

    /// Also refuses an array with another split.
    pub(crate) fn check_split(&self, rank: &Rank, what: &'static str, split: &Split) -> Result<()> {
        self.check(rank, what)?;
        if self.split != *split {
            return Err(Error::OtherSplit {
                rank: rank.number(),
                what,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_split_covers_everything_once() {
        for ranks in 1..9 {
            for len in 0..40 {
                let split = Split::even(len, ranks);
                let runs: Vec<_> = (0..ranks).map(|rank| split.range(rank)).collect();
                assert_eq!((runs[0].start, runs[ranks - 1].end), (0, len));
                assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start));
                let lengths: Vec<_> = runs.iter().map(Range::len).collect();
                let (min, max) = (lengths.iter().min(), lengths.iter().max());
                assert!(max.unwrap() - min.unwrap() <= 1, "{lengths:?}");
                assert_eq!(split, Split::of(&lengths));
            }
        }
    }

    #[test]
    fn owners_are_those_with_elements_of_the_range() {
        let split = Split::of(&[3, 0, 2, 4]);
        let owners: Vec<_> = split.owners(1..6).collect();
        assert_eq!(owners, [(0, 1..3), (2, 3..5), (3, 5..6)]);
        assert_eq!(split.owners(4..4).count(), 0);
    }
}
