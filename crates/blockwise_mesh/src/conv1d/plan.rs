//! Which outputs a rank computes, and which samples of other ranks they need.

use std::ops::Range;

use blockwise_ops::conv1d::part;
use blockwise_ops::operation::Problem;

use crate::Split;

/// A convolution over ranks: `taps` elements with a signal that is split and at least as long.
///
/// The outputs are evenly divided. Most of a rank's outputs need its own samples only; those at its
/// edges need up to `taps` − 1 samples of its neighbours, or of several ranks if parts are shorter
/// than that.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(super) signal: Split,
    /// The problem of all outputs: samples, taps, the first output in the full convolution, outputs.
    pub(super) whole: Problem,
    pub(super) outputs: Split,
}

/// What one rank computes. Outputs are numbered as in the full convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Outputs that need the rank's own samples only.
    pub(super) inner: Range<usize>,
    /// Outputs that need other ranks' samples too.
    pub(super) edges: Vec<Edge>,
}

/// Outputs that need samples of other ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) outputs: Range<usize>,
    /// The samples that they are computed from.
    pub(super) window: Range<usize>,
}

/// Outputs of any type are aligned to 16 bytes at multiples of this: a cache line of `f32`.
const ALIGNMENT: usize = 32;

impl Layout {
    pub(crate) fn new(signal: Split, whole: Problem) -> Self {
        let [.., outputs] = whole.extents;
        Self {
            outputs: Split::even(outputs, signal.ranks()),
            signal,
            whole,
        }
    }

    fn taps(&self) -> usize {
        self.whole.extents[1]
    }

    /// The index of the first output in the full convolution.
    fn offset(&self) -> usize {
        self.whole.extents[2]
    }

    /// A problem whose launches have the room that those of a rank need.
    pub(super) fn prepared(&self, rank: usize) -> Problem {
        let mut problem = self.whole;
        problem.extents[3] = self.outputs.range(rank).len();
        problem
    }

    /// Samples that a rank receives from each other one.
    pub(crate) fn received(&self, rank: usize) -> Vec<(usize, usize)> {
        let edges = self.share(rank).edges.into_iter();
        let parts = edges.flat_map(|edge| self.signal.owners(edge.window).collect::<Vec<_>>());
        let parts = parts.filter(|(owner, _)| *owner != rank);
        parts.map(|(owner, part)| (owner, part.len())).collect()
    }

    /// A rank's samples and outputs, and the taps.
    pub(crate) fn lengths(&self, rank: usize) -> [usize; 3] {
        let samples = self.signal.range(rank).len();
        [samples, self.outputs.range(rank).len(), self.taps()]
    }

    /// A rank's outputs, numbered as in the full convolution.
    pub(super) fn outputs_of(&self, rank: usize) -> Range<usize> {
        let Range { start, end } = self.outputs.range(rank);
        self.offset() + start..self.offset() + end
    }

    pub(super) fn share(&self, rank: usize) -> Share {
        let (all, own) = (self.outputs_of(rank), self.signal.range(rank));
        let inner = self.inner(&all, &own);
        let edges = match inner.is_empty() {
            true => vec![all],
            false => vec![all.start..inner.start, inner.end..all.end],
        };
        let edges = edges.into_iter().filter(|outputs| !outputs.is_empty());
        Share {
            inner,
            edges: edges.map(|outputs| self.edge(outputs)).collect(),
        }
    }

    /// The outputs of a rank that need its own samples only.
    fn inner(&self, all: &Range<usize>, own: &Range<usize>) -> Range<usize> {
        // With fewer samples than taps a launch would swap the two, and add in another order.
        if own.len() < self.taps() {
            return 0..0;
        }
        let first = match own.start {
            0 => 0,
            start => start + self.taps() - 1,
        };
        let end = match own.end == self.signal.len() {
            true => all.end,
            false => own.end,
        };
        let (start, end) = (all.start.max(first), all.end.min(end));
        // Kernels make 16-byte stores only if their first output is aligned, and a rank's memory
        // is. Outputs before the first aligned one belong to the edge.
        let start = all.start + (start - all.start).next_multiple_of(ALIGNMENT);
        start.min(end)..end
    }

    /// The samples for some outputs, at least as many as taps.
    fn edge(&self, outputs: Range<usize>) -> Edge {
        let offset = self.offset();
        let part = part(&self.whole, outputs.start - offset..outputs.end - offset);
        let [window, _] = part.inputs;
        Edge { outputs, window }
    }

    /// The samples that one rank sends another, in their order.
    pub(super) fn sent(&self, from: usize, to: usize) -> Vec<Range<usize>> {
        let edges = self.share(to).edges.into_iter();
        let parts = edges.flat_map(|edge| self.signal.owners(edge.window).collect::<Vec<_>>());
        let parts = parts.filter(|(owner, _)| *owner == from);
        parts.map(|(_, part)| part).collect()
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::*;

    fn layout(signal: &[usize], taps: usize, offset: usize, outputs: usize) -> Layout {
        let signal = Split::of(signal);
        let extents = [signal.len(), taps, offset, outputs];
        Layout::new(signal, Problem::new(Type::F32, &extents))
    }

    /// Every output is computed once, from all samples that it needs; inner outputs need no other
    /// rank.
    #[test]
    fn every_output_has_its_samples() {
        for signal in [
            [40, 40, 40, 40],
            [7, 0, 120, 33],
            [0, 0, 160, 0],
            [2, 3, 1, 154],
        ] {
            for taps in [1, 2, 5, 41, 160] {
                let modes = [
                    (0, 160 + taps - 1),
                    ((taps - 1) / 2, 160),
                    (taps - 1, 161 - taps),
                ];
                for (offset, outputs) in modes {
                    let layout = layout(&signal, taps, offset, outputs);
                    let mut next = offset;
                    for rank in 0..4 {
                        let Share { inner, edges } = layout.share(rank);
                        let own = layout.signal.range(rank);
                        let first = layout.outputs_of(rank).start;
                        assert!(
                            inner.is_empty() || (inner.start - first).is_multiple_of(ALIGNMENT)
                        );
                        let mut parts: Vec<_> = edges
                            .iter()
                            .map(|edge| (edge.outputs.clone(), edge.window.clone()))
                            .chain([(inner.clone(), own)])
                            .filter(|(outputs, _)| !outputs.is_empty())
                            .collect();
                        parts.sort_by_key(|(outputs, _)| outputs.start);
                        for (outputs, samples) in parts {
                            assert_eq!(outputs.start, next);
                            next = outputs.end;
                            assert!(samples.start <= (outputs.start + 1).saturating_sub(taps));
                            assert!(samples.end >= outputs.end.min(160));
                            assert!(samples.len() >= taps);
                        }
                    }
                    assert_eq!(next, offset + outputs);
                }
            }
        }
    }

    /// Neighbours send one sample fewer than there are taps; other ranks send none.
    #[test]
    fn a_halo_is_one_sample_less_than_the_taps() {
        let layout = layout(&[100, 100, 100], 31, 15, 300);
        let sent = |from, to| layout.sent(from, to).iter().map(Range::len).sum::<usize>();
        assert_eq!((sent(0, 1), sent(1, 0), sent(0, 2)), (15, 15, 0));
        assert_eq!(layout.sent(0, 1).first(), Some(&(85..100)));
        assert_eq!(layout.sent(2, 1).first(), Some(&(200..215)));
    }
}
