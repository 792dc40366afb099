//! Reductions of operands of any length.

use blockwise::{AnyBuffer, AnyView, Device, Event, StagedBuffer, Stream};

use super::ring::{Ring, fit};
use super::times::DeviceTimes;
use crate::LaunchError;
use crate::operation::{Fold, Operation, Options, Parts};
use crate::reduce::{Number, Reduction, Total, each, enqueue_to, error_of, plan, ticket, whole};

/// Reduces operands that arrive in chunks; the chunks' [totals](Total) are folded in order. With
/// one chunk the result has the bits of [`reduce`](crate::reduce()) or [`dot`](crate::dot()); with
/// several, it has them whenever [a sum is rounded
/// correctly](mod@crate::reduce#how-exact-sums-are).
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::pipeline::Reducer;
/// use blockwise_ops::reduce::SUM;
/// use blockwise_ops::{LaunchError, Options};
///
/// let device = Device::any()?;
/// // 10 numbers, 4 at a time.
/// let mut sum = Reducer::new(&device, 10, &SUM, &Options::default(), 4)?;
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
    operation: &'static Operation,
    by: Reduction,
    options: Options,
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
    partials: Option<StagedBuffer<u8>>,
    ticket: AnyBuffer,
    /// Bytes of the partial results that the chunk's launch leaves for the host to fold.
    results: usize,
    events: Option<[Event; 4]>,
}

impl<T: Number> Reducer<T> {
    /// Reduces operands of `len` elements by chunks of at most `chunk`.
    ///
    /// # Errors
    /// An operation that is not [folded](Parts::Folded), and those of its plan.
    pub fn new(
        device: &Device,
        len: usize,
        operation: &'static Operation,
        options: &Options,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let Parts::Folded(&Fold {
            by,
            is_index: false,
            ..
        }) = operation.parts
        else {
            let operation = operation.name;
            return Err(LaunchError::NotDivided { operation });
        };
        let chunk = chunk.clamp(1, len.max(1));
        // Checks every limit before any element is read.
        for len in [len, chunk.min(len)] {
            plan::<T>(operation, len, options, device.properties())?;
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
            by,
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

    /// The error of a sum before rounding, relative to the sum of its terms' magnitudes.
    ///
    /// # Errors
    /// Those of the operation's plan.
    pub fn sum_error(&self) -> Result<f64, LaunchError> {
        let problem = whole::<T>(self.operation, self.chunk.min(self.len))?;
        error_of(
            self.operation,
            &problem,
            &self.options,
            self.device.properties(),
        )
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
        let (reduction, result) = (self.by, &mut self.result);
        let (lane, busy) = self.lanes.turn();
        if busy {
            lane.finish(reduction, result, &mut self.times)?;
        }
        let operands = lane.operands.iter_mut().take(self.operation.operands.len());
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
        for lane in self.lanes.drain() {
            lane.finish(self.by, &mut self.result, &mut self.times)?;
        }
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
        operation: &'static Operation,
        options: &Options,
    ) -> Result<(), LaunchError> {
        let plan = plan::<T>(operation, len, options, device.properties())?;
        let room = plan.grid[0] as usize * each::<T>();
        let partials = fit(&mut self.partials, &self.stream, room)?;
        let begun = self.stream.record()?;
        let operands = self.operands.iter_mut().take(operation.operands.len());
        operands.flatten().try_for_each(StagedBuffer::upload)?;
        let copied = self.stream.record()?;
        let operands = self
            .operands
            .iter()
            .take(operation.operands.len())
            .flatten();
        let inputs: Vec<_> = operands
            .map(|of| AnyView::from(of.device().as_view()))
            .collect();
        let memory = [partials.device_mut().into(), self.ticket.as_view_mut()];
        let problem = whole::<T>(operation, len)?;
        let on = (device, Some(&self.stream));
        let (_, left) = enqueue_to(on, operation, &problem, options, &inputs, memory)?;
        let computed = self.stream.record()?;
        self.results = left;
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
            let chunk = Total::of_results(&partials.host()?[..self.results], reduction);
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
