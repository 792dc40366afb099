//! The steps of a stream that is being recorded.

use std::sync::{Arc, Mutex, PoisonError};

use launch_contract::launch::{Argument, Shape};

use crate::argument;
use crate::backend::{Callable, Step};
use crate::memory::Allocation;

/// A step, and the allocations that it uses, each with whether the step writes it.
pub(crate) struct Recorded {
    pub(crate) step: Step,
    pub(crate) uses: Vec<(Arc<Allocation>, bool)>,
}

impl Recorded {
    pub(crate) fn launch(
        function: Arc<dyn Callable>,
        shape: Shape,
        arguments: &[Argument<'_>],
        uses: Vec<(Arc<Allocation>, bool)>,
    ) -> Self {
        let step = Step::Launch {
            function,
            shape,
            arguments: arguments.iter().map(argument::bytes).collect(),
        };
        Self { step, uses }
    }

    pub(crate) fn fill(memory: Arc<Allocation>, value: u8) -> Self {
        Self {
            step: Step::Fill {
                address: memory.address,
                bytes: memory.bytes,
                value,
            },
            uses: vec![(memory, true)],
        }
    }
}

/// Adds a step to a recording.
pub(crate) fn record(recording: &Mutex<Vec<Recorded>>, step: Recorded) {
    recording
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(step);
}
