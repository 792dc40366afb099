//! An operation by windows on signals of files.

use blockwise_ops::Options;
use blockwise_ops::operation::{Operation, Problem, Setting, Windows};

use crate::cli::operation::Arguments;

/// An operation by windows, with its options and the problem of one channel.
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

    /// The operation as it was asked for, on which all ranks must agree.
    pub(super) fn said(&self) -> String {
        let mut said = self.of.name.to_owned();
        let given = &self.arguments.given.settings;
        for (setting, &value) in self.of.settings.iter().zip(given) {
            if let Setting::Mode { name, values, .. } = *setting
                && let Some(value) = values.get(usize::from(value))
            {
                said += &format!(" --{name} {value}");
            }
        }
        said
    }
}
