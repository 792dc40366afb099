//! The blocks' results.

use blockwise::{Buffer, Device, View, ViewMut};

use kernels::reduce::Addend;

use super::{Number, PartialOf, ReduceKernel, Reduction, Total};
use crate::{LaunchError, LaunchPlan};

/// Output memory of reductions: one partial result per block. With [`ReduceKernel::Single`] the
/// first one becomes the result.
///
/// It can be used for any number of consecutive launches with at most as many blocks as the plan
/// that it was allocated for.
pub struct Partials<T: Number> {
    values: Buffer<PartialOf<T>>,
    /// The number of blocks that have finished in a launch; 0 between launches.
    ticket: Buffer<u32>,
    /// Number of values that the last launch left for the host to fold.
    results: usize,
}

impl<T: Number> Partials<T> {
    /// Allocates memory for the launch of a plan.
    ///
    /// # Errors
    /// When the device lacks the memory.
    pub fn alloc(device: &Device, plan: &LaunchPlan) -> Result<Self, LaunchError> {
        Ok(Self {
            values: device.zeros(plan.grid[0] as usize)?,
            ticket: ticket(device)?,
            results: 0,
        })
    }

    /// The most blocks that a launch may have.
    pub fn blocks(&self) -> usize {
        self.values.len()
    }

    /// Resets it. Necessary after a launch that failed halfway, whose blocks have incremented the
    /// ticket.
    ///
    /// Fills the memory with bytes of 0xFF, so that an earlier result cannot be mistaken for a
    /// later one's.
    ///
    /// # Errors
    /// When the device fails.
    pub fn reset(&mut self) -> Result<(), LaunchError> {
        self.values.fill_bytes(0xFF)?;
        self.ticket.fill_bytes(0)?;
        self.results = 0;
        Ok(())
    }

    /// The result of the last launch, after its end. Partial results are folded in block order.
    ///
    /// # Errors
    /// When nothing was launched, and failures of the device.
    pub fn fold(&self, reduction: Reduction) -> Result<T, LaunchError> {
        let results = self.results()?.to_vec()?;
        Ok(Total::<T>::of_partials(&results, reduction).round())
    }

    /// The results of the last launch, for a copy of one's own and [`Total::of_partials`].
    ///
    /// # Errors
    /// When nothing was launched.
    pub fn results(&self) -> Result<View<'_, PartialOf<T>>, LaunchError> {
        match self.results {
            0 => Err(LaunchError::EmptyInput {
                what: "the list of partial results (nothing was launched)",
            }),
            results => Ok(self.values.view(..results)),
        }
    }

    /// The memory, for a launch.
    pub(super) fn memory(&mut self) -> Memory<'_, T> {
        Memory {
            values: self.values.as_view_mut(),
            ticket: self.ticket.as_view_mut(),
        }
    }

    /// Records a launch.
    pub(super) fn written(&mut self, kernel: ReduceKernel, plan: &LaunchPlan) {
        self.results = kernel.results(plan);
    }
}

/// A ticket for [`Memory`], at zero.
pub(crate) fn ticket(device: &Device) -> Result<Buffer<u32>, LaunchError> {
    Ok(device.zeros(1)?)
}

/// The output of a launch.
pub(crate) struct Memory<'a, T: Addend> {
    /// At least one per block.
    pub(crate) values: ViewMut<'a, T::Partial>,
    /// 0 before and after each launch.
    pub(crate) ticket: ViewMut<'a, u32>,
}

impl<T: Addend> Memory<'_, T> {
    /// Checks that there is a value for each block.
    pub(super) fn check(&self, plan: &LaunchPlan) -> Result<(), LaunchError> {
        let (needed, given) = (plan.grid[0] as usize, self.values.len());
        if given < needed {
            return Err(LaunchError::BufferLength {
                what: "the partial results",
                needed,
                given,
            });
        }
        Ok(())
    }
}

impl ReduceKernel {
    /// Number of values that a launch leaves for the host to fold, from the first on.
    pub(crate) fn results(self, plan: &LaunchPlan) -> usize {
        match self {
            Self::Single => 1,
            _ => plan.grid[0] as usize,
        }
    }
}
