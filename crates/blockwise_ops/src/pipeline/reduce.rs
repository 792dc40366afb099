//! Reductions of operands of any length.

use blockwise::{Buffer, Device, Event, StagedBuffer, Stream};

use super::{DeviceTimes, Ring, fit};
use crate::oracle::Precision;
use crate::reduce::{
    Memory, Operands, PartialOf, Total, enqueue_dot_to, enqueue_reduce_to, plan_dot, plan_reduce,
    ticket,
};
use crate::{LaunchError, LaunchPlan, Number, ReduceOptions, Reduction};

/// The operation on the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Σ a\[i\]·b\[i\] of two operands.
    Dot,
    /// Sum, minimum or maximum of one.
    Reduce(Reduction),
}

impl Operation {
    /// The number of operands.
    pub fn operands(self) -> usize {
        match self {
            Self::Dot => 2,
            Self::Reduce(_) => 1,
        }
    }

    /// The same, for choosing a kernel.
    fn operands_for_a_choice(self) -> Operands {
        match self {
            Self::Dot => Operands::Two,
            Self::Reduce(_) => Operands::One,
        }
    }

    /// How the chunks' results are folded.
    fn reduction(self) -> Reduction {
        match self {
            Self::Dot => Reduction::Sum,
            Self::Reduce(reduction) => reduction,
        }
    }
}

/// Reduces operands that arrive in chunks; the chunks' [totals](Total) are folded in order. With
/// one chunk the result has the bits of [`reduce`](crate::reduce()) or [`dot`](crate::dot()); with
/// several, it has them whenever [a sum is rounded
/// correctly](mod@crate::reduce#how-exact-sums-are).
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::pipeline::{Operation, Reducer};
/// use blockwise_ops::{LaunchError, ReduceOptions, Reduction};
///
/// let device = Device::any()?;
/// let operation = Operation::Reduce(Reduction::Sum);
/// // 10 numbers, 4 at a time.
/// let mut sum = Reducer::new(&device, 10, operation, &ReduceOptions::default(), 4)?;
/// let mut numbers = (1..=10).map(f64::from);
/// while sum.next_len() > 0 {
///     sum.push(|_, chunk| {
///         chunk.fill_with(|| numbers.next().unwrap_or_default());
///         Ok::<_, LaunchError>(())
///     })?;
/// }
/// let (total, _times) = sum.finish()?;
/// assert_eq!(total.round(), 55.0);
/// # Ok::<(), LaunchError>(())
/// ```
pub struct Reducer<T: Number> {
    device: Device,
    len: usize,
    operation: Operation,
    options: ReduceOptions,
    chunk: usize,
    /// Number of elements of each operand that have arrived.
    arrived: usize,
    result: Option<Total<T>>,
    times: DeviceTimes,
    lanes: Ring<Lane<T>>,
}

/// The resources of one chunk.
struct Lane<T: Number> {
    stream: Stream,
    operands: [Option<StagedBuffer<T>>; 2],
    partials: Option<StagedBuffer<PartialOf<T>>>,
    ticket: Buffer<u32>,
    /// Number of partial results that the chunk's launch leaves for the host to fold.
    results: usize,
    events: Option<[Event; 4]>,
}

impl<T: Number> Reducer<T> {
    /// Reduces operands of `len` elements by chunks of at most `chunk`.
    ///
    /// # Errors
    /// Those of [`plan_dot`] and [`plan_reduce`].
    pub fn new(
        device: &Device,
        len: usize,
        operation: Operation,
        options: &ReduceOptions,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let chunk = chunk.clamp(1, len.max(1));
        // Checks every limit before any element is read.
        for len in [len, chunk.min(len)] {
            plan::<T>(device, len, operation, options)?;
        }
        let lane = |stream| {
            Ok(Lane {
                stream,
                operands: [None, None],
                partials: None,
                ticket: ticket(device)?,
                results: 0,
                events: None,
            })
        };
        Ok(Self {
            device: device.clone(),
            len,
            operation,
            options: *options,
            chunk,
            arrived: 0,
            result: None,
            times: DeviceTimes::default(),
            lanes: Ring::new(device, lane)?,
        })
    }

    /// The number of elements for the next [`push`](Self::push); 0 after the last.
    pub fn next_len(&self) -> usize {
        self.chunk.min(self.len - self.arrived)
    }

    /// The error of a sum before rounding; see [`ReduceOptions::sum_error`].
    pub fn sum_error(&self) -> f64
    where
        T: Precision,
    {
        let (len, properties) = (self.chunk.min(self.len), self.device.properties());
        let operands = self.operation.operands_for_a_choice();
        self.options.sum_error::<T>(operands, len, properties)
    }

    /// Lets `fill` write the next [`next_len`](Self::next_len) elements of each operand, given its
    /// number, and starts their chunk. If all streams are busy, it first waits for the oldest
    /// chunk.
    ///
    /// # Errors
    /// Those of the closure, and errors of the device. After an error the reduction cannot
    /// continue.
    pub fn push<E: From<LaunchError>>(
        &mut self,
        mut fill: impl FnMut(usize, &mut [T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = self.next_len();
        if len == 0 {
            return Ok(());
        }
        let (reduction, result) = (self.operation.reduction(), &mut self.result);
        let (lane, busy) = self.lanes.turn();
        if busy {
            lane.finish(reduction, result, &mut self.times)?;
        }
        let operands = lane.operands.iter_mut().take(self.operation.operands());
        for (number, operand) in operands.enumerate() {
            let operand = fit(operand, &lane.stream, len)?;
            fill(number, operand.host().map_err(LaunchError::from)?)?;
        }
        lane.start(&self.device, len, self.operation, &self.options)?;
        self.arrived += len;
        Ok(())
    }

    /// Waits for the chunks in flight. Returns the result, and the device's time for all chunks.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn finish(mut self) -> Result<(Total<T>, DeviceTimes), LaunchError> {
        let (reduction, result) = (self.operation.reduction(), &mut self.result);
        let times = &mut self.times;
        (self.lanes).drain(|lane| lane.finish(reduction, result, times))?;
        // Only a sum accepts empty operands.
        Ok((self.result.unwrap_or_default(), self.times))
    }
}

impl<T: Number> Lane<T> {
    /// Starts the reduction of the operands.
    fn start(
        &mut self,
        device: &Device,
        len: usize,
        operation: Operation,
        options: &ReduceOptions,
    ) -> Result<(), LaunchError> {
        let plan = plan::<T>(device, len, operation, options)?;
        let partials = fit(&mut self.partials, &self.stream, plan.grid[0] as usize)?;
        let begun = self.stream.record()?;
        let operands = self.operands.iter_mut().take(operation.operands());
        operands.flatten().try_for_each(StagedBuffer::upload)?;
        let copied = self.stream.record()?;
        let memory = Memory {
            values: partials.device_mut(),
            ticket: self.ticket.as_view_mut(),
        };
        let stream = Some(&self.stream);
        match (operation, &self.operands) {
            (Operation::Reduce(reduction), [Some(input), _]) => {
                let input = input.device().as_view();
                enqueue_reduce_to(device, stream, input, memory, reduction, options)?;
            }
            (Operation::Dot, [Some(a), Some(b)]) => {
                let (a, b) = (a.device().as_view(), b.device().as_view());
                enqueue_dot_to(device, stream, a, b, memory, options)?;
            }
            _ => return Ok(()), // `push` has filled all of them.
        }
        let computed = self.stream.record()?;
        let operands = operation.operands_for_a_choice();
        let kernel = options.kernel_for::<T>(operands, len, device.properties());
        self.results = kernel.results(&plan);
        partials.download()?;
        self.events = Some([begun, copied, computed, self.stream.record()?]);
        Ok(())
    }

    /// Waits for the chunk and folds its result into that of the preceding chunks.
    fn finish(
        &mut self,
        reduction: Reduction,
        result: &mut Option<Total<T>>,
        times: &mut DeviceTimes,
    ) -> Result<(), LaunchError> {
        if let Some(partials) = &mut self.partials {
            let chunk = Total::of_partials(&partials.host()?[..self.results], reduction);
            *result = Some(match *result {
                None => chunk,
                Some(sofar) => sofar.fold(chunk, reduction),
            });
        }
        match self.events.take() {
            Some(events) => times.add(&events),
            None => Ok(()),
        }
    }
}

fn plan<T: Number>(
    device: &Device,
    len: usize,
    operation: Operation,
    options: &ReduceOptions,
) -> Result<LaunchPlan, LaunchError> {
    let properties = device.properties();
    match operation {
        Operation::Dot => plan_dot::<T>(len, len, options, properties),
        Operation::Reduce(reduction) => plan_reduce::<T>(len, reduction, options, properties),
    }
}
