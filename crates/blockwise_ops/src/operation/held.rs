//! Variants that are more than one launch.

use blockwise::{AnyView, AnyViewMut, Device, Stream};

use super::{Plan, Problem, Task};
use crate::LaunchError;

/// A variant that was prepared for one problem: its memory, and what is computed only once. Its
/// launches must be in order, as in one stream.
pub trait Held: Send {
    /// Starts the launches. The operands' types and lengths are the problem's. Returns the plan of
    /// the launch that does most of the work.
    ///
    /// # Errors
    /// What goes wrong on the device.
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError>;

    /// Whether it serves this problem too, and not only the one that it was prepared for.
    fn serves(&self, _: &Problem) -> bool {
        false
    }
}

/// Prepares a variant for a problem: allocates, and computes what can be computed once.
pub type Hold = fn(&Device, &Task<'_>) -> Result<Box<dyn Held>, LaunchError>;
