//! What is asked of an operation by windows.

use blockwise_ops::Options;
use blockwise_ops::operation::{Operation, Problem, Windows};
use blockwise_ops::pipeline;

use crate::cli::operation::Arguments;

/// What is asked for, of the files.
pub(super) struct Task<'a> {
    pub(super) of: &'static Operation,
    pub(super) windows: &'static Windows,
    pub(super) arguments: &'a Arguments,
    pub(super) options: Options,
    /// Of each channel: the longer operand, then the shorter one.
    pub(super) whole: Problem,
}

impl Task<'_> {
    /// The number of outputs of each channel.
    pub(super) fn outputs(&self) -> usize {
        (self.of.lens)(&self.whole).output
    }

    /// Samples of all channels that are on a device at a time, at most.
    pub(super) fn chunk(&self) -> usize {
        let chunk = self.arguments.chunk.as_ref();
        chunk.map_or(pipeline::CHUNK, |chunk| chunk.chunk)
    }
}
