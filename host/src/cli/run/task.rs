//! An operation on arrays of files.

use blockwise_ops::Options;
use blockwise_ops::operation::{Operation, Posed};

use super::inputs::Inputs;
use crate::cli::failure::Failure;
use crate::cli::operation::Arguments;
use crate::io::Reader;

/// An operation on opened files, with its problem and options.
pub(super) struct Task {
    pub(super) of: &'static Operation,
    pub(super) inputs: Inputs,
    pub(super) posed: Posed,
    pub(super) options: Options,
}

impl Task {
    pub(super) fn new(arguments: &Arguments, readers: Vec<Reader>) -> Result<Self, Failure> {
        let inputs = Inputs::new(arguments, readers)?;
        Ok(Self {
            of: arguments.of,
            posed: inputs.posed(arguments)?,
            inputs,
            options: Options {
                kernel: arguments.kernel,
                ..Options::default()
            },
        })
    }
}
