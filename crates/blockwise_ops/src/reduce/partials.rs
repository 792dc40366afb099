//! The blocks' results.

use std::marker::PhantomData;

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, Stream, Type};

use super::variants::TICKET;
use super::{Number, Total, each};
use crate::operation::{self, Operation, Options, Problem, Reduction};
use crate::{LaunchError, LaunchPlan};

/// Output memory of reductions: one partial result per block. With [`SINGLE`](super::SINGLE) the
/// first one becomes the result.
///
/// It can be used for any number of consecutive launches with at most as many blocks as the plan
/// that it was allocated for.
pub struct Partials<T: Number> {
    values: AnyBuffer,
    /// The number of blocks that have finished in a launch; 0 between launches.
    ticket: AnyBuffer,
    /// Bytes of the values that the last launch left for the host to fold.
    results: usize,
    element: PhantomData<T>,
}

impl<T: Number> Partials<T> {
    /// Allocates memory for the launch of a plan.
    ///
    /// # Errors
    /// When the device lacks the memory.
    pub fn alloc(device: &Device, plan: &LaunchPlan) -> Result<Self, LaunchError> {
        let bytes = plan.grid[0] as usize * each::<T>();
        Ok(Self {
            values: AnyBuffer::filled(device, Type::U8, bytes, 0)?,
            ticket: ticket(device)?,
            results: 0,
            element: PhantomData,
        })
    }

    /// The most blocks that a launch may have.
    pub fn blocks(&self) -> usize {
        self.values.len() / each::<T>()
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
        let results = self.results()?;
        let mut bytes = vec![0; results.len()];
        results.copy_to_slice(&mut bytes)?;
        Ok(Total::<T>::of_results(&bytes, reduction).round())
    }

    /// The bytes of the last launch's results, for a copy of one's own and [`Total::of_results`].
    ///
    /// # Errors
    /// When nothing was launched.
    pub fn results(&self) -> Result<AnyView<'_>, LaunchError> {
        match self.results {
            0 => Err(LaunchError::EmptyInput {
                what: "the list of partial results (nothing was launched)",
            }),
            results => Ok(self.values.as_view().view(..results)),
        }
    }

    /// Starts a launch that leaves its results here.
    pub(super) fn enqueue(
        &mut self,
        on: (&Device, Option<&Stream>),
        of: &'static Operation,
        problem: &Problem,
        options: &Options,
        inputs: &[AnyView<'_>],
    ) -> Result<LaunchPlan, LaunchError> {
        let results = self.values.as_view_mut();
        let ticket = self.ticket.as_view_mut();
        let (plan, left) = enqueue_to(on, of, problem, options, inputs, [results, ticket])?;
        self.results = left;
        Ok(plan)
    }
}

/// A ticket for [`enqueue_to`], at zero.
pub(crate) fn ticket(device: &Device) -> Result<AnyBuffer, LaunchError> {
    Ok(AnyBuffer::filled(device, Type::U8, TICKET, 0)?)
}

/// Starts a launch that leaves the results of its blocks, and takes a ticket that is 0 before and
/// after. Says how many bytes of the results are left for the host to fold.
pub(crate) fn enqueue_to(
    on: (&Device, Option<&Stream>),
    of: &'static Operation,
    problem: &Problem,
    options: &Options,
    inputs: &[AnyView<'_>],
    memory: [AnyViewMut<'_>; 2],
) -> Result<(LaunchPlan, usize), LaunchError> {
    let plan = operation::enqueue_part(on, of, problem, options, inputs, memory)?;
    let fold = of.parts.fold(problem);
    let left = fold.map_or(0, |fold| fold.left(problem, &plan));
    Ok((plan.launch, left))
}
