//! Reductions over an axis of an array of any size.

use std::ops::Range;

use blockwise::{Device, Event, StagedBuffer, Stream};
use kernels::reduce::RUN;

use super::{DeviceTimes, Ring, fit};
use crate::reduce::{
    Axis, Number, Reduction, Total, each, enqueue_axis, enqueue_runs, plan_axis, rounds,
};
use crate::{LaunchError, matrix_len};

/// A part of the array, seen as a matrix of `outer` · `extent` rows and `inner` columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The rows of the part.
    pub rows: Range<usize>,
    /// The columns of the part, in each of those rows.
    pub cols: Range<usize>,
}

impl Piece {
    /// The number of its elements.
    pub fn elements(&self) -> usize {
        self.rows.len() * self.cols.len()
    }
}

/// Reduces an array over one axis; the array arrives in pieces. The results come in row-major order
/// with the bits of [`reduce_axis`](crate::reduce::reduce_axis), whatever the pieces: a sum is cut
/// only between the runs of 1024 rows that are added to its total.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::pipeline::AxisReducer;
/// use blockwise_ops::reduce::Axis;
/// use blockwise_ops::{LaunchError, Reduction};
///
/// let device = Device::any()?;
/// // 4 rows of 2 numbers, 2 rows at a time.
/// let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let rows = Axis::of(&[4, 2], Some(1))?;
/// let mut sums = Vec::new();
/// let mut emit = |results: &[f64]| -> Result<(), LaunchError> {
///     sums.extend_from_slice(results);
///     Ok(())
/// };
/// let mut reducer = AxisReducer::new(&device, rows, Reduction::Sum, 4)?;
/// while let Some(piece) = reducer.next_piece() {
///     let fill = |values: &mut [f64]| {
///         // A row over the last axis is a row of one column for each number.
///         values.copy_from_slice(&numbers[piece.rows.clone()]);
///         Ok(())
///     };
///     reducer.push(fill, &mut emit)?;
/// }
/// reducer.finish(&mut emit)?;
/// assert_eq!(sums, [3.0, 7.0, 11.0, 15.0]);
/// # Ok::<(), LaunchError>(())
/// ```
pub struct AxisReducer<T: Number> {
    device: Device,
    cut: Cut,
    /// The position of the next step.
    at: Place,
    results: Results<T>,
    lanes: Ring<Lane<T>>,
}

/// How an array is cut into steps.
#[derive(Clone, Copy, Debug)]
struct Cut {
    axis: Axis,
    reduction: Reduction,
    /// The most outer indices per step.
    outers: usize,
    rows: usize,
    cols: usize,
    /// Whether sums of runs of rows stay unrounded.
    unrounded: bool,
}

/// The start of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    outer: usize,
    row: usize,
    col: usize,
}

/// The part that one launch reduces: rows of the axis, outer indices and columns.
#[derive(Clone, Debug)]
struct Step {
    outers: Range<usize>,
    rows: Range<usize>,
    cols: Range<usize>,
    /// Rows per run whose sum stays unrounded.
    run: Option<usize>,
}

/// The results of the steps so far.
struct Results<T: Number> {
    reduction: Reduction,
    extent: usize,
    /// The totals of columns whose axis is cut and has not ended.
    totals: Vec<Total<T>>,
    times: DeviceTimes,
}

/// The resources of one step.
struct Lane<T: Number> {
    stream: Stream,
    input: Option<StagedBuffer<T>>,
    output: Option<StagedBuffer<T>>,
    partials: Option<StagedBuffer<u8>>,
    /// The step in flight.
    step: Option<(Step, [Event; 4])>,
}

impl Cut {
    /// Cuts into steps of at most `chunk` elements, but at least one run of one column. `rounds`:
    /// sums must be rounded.
    fn new(axis: Axis, reduction: Reduction, rounds: bool, chunk: usize) -> Self {
        let Axis {
            outer,
            extent,
            inner,
        } = axis;
        let (lane, columns) = (extent.max(1), inner.max(1));
        let run = lane.min(RUN);
        let whole = lane.saturating_mul(columns);
        let sums = rounds && reduction == Reduction::Sum && extent > RUN;
        let outers = (chunk / whole).min(outer);
        // An axis with more runs than outer indices has more threads if it is divided by runs.
        let by_runs = sums && outers < extent / RUN;
        let (outers, rows, cols) = if outers > 0 && !by_runs {
            (outers, extent, inner)
        } else if run.saturating_mul(columns) <= chunk {
            // Whole rows are contiguous in a file.
            (1, chunk / columns / run * run, inner)
        } else {
            (1, run.min(extent), (chunk / run).max(1))
        };
        Self {
            axis,
            reduction,
            outers,
            rows,
            cols,
            unrounded: sums && (by_runs || rows < extent),
        }
    }

    fn step(&self, at: Place) -> Option<Step> {
        let Axis {
            outer,
            extent,
            inner,
        } = self.axis;
        if at.outer >= outer || inner == 0 {
            return None;
        }
        let upto = |from: usize, most: usize, end: usize| from..from.saturating_add(most).min(end);
        let mut rows = upto(at.row, self.rows, extent);
        if self.unrounded && rows.len() > RUN {
            // The rest of a run is a step of its own.
            rows.end -= rows.len() % RUN;
        }
        Some(Step {
            outers: upto(at.outer, self.outers, outer),
            run: self.unrounded.then_some(rows.len().min(RUN)),
            rows,
            cols: upto(at.col, self.cols, inner),
        })
    }

    fn after(&self, step: &Step) -> Place {
        let Place { outer, col, .. } = step.begin();
        match (
            step.rows.end < self.axis.extent,
            step.cols.end < self.axis.inner,
        ) {
            (true, _) => Place {
                outer,
                row: step.rows.end,
                col,
            },
            (false, true) => Place {
                outer,
                row: 0,
                col: step.cols.end,
            },
            (false, false) => Place {
                outer: step.outers.end,
                ..Place::default()
            },
        }
    }
}

impl Step {
    fn begin(&self) -> Place {
        Place {
            outer: self.outers.start,
            row: self.rows.start,
            col: self.cols.start,
        }
    }

    /// The array as its launch sees it.
    fn axis(&self) -> Axis {
        let extent = self.run.unwrap_or(self.rows.len());
        let outer = match self.run {
            Some(run) => self.rows.len() / run,
            None => self.outers.len(),
        };
        Axis {
            outer,
            extent,
            inner: self.cols.len(),
        }
    }

    fn piece(&self, extent: usize) -> Piece {
        let rows = match self.outers.len() {
            1 => {
                let first = self.outers.start * extent;
                first + self.rows.start..first + self.rows.end
            }
            _ => self.outers.start * extent..self.outers.end * extent,
        };
        Piece {
            rows,
            cols: self.cols.clone(),
        }
    }
}

impl<T: Number> AxisReducer<T> {
    /// Reduces an array by pieces of at most `chunk` elements, but at least 1024 rows of one
    /// column.
    ///
    /// # Errors
    /// Those of [`plan_axis`].
    pub fn new(
        device: &Device,
        axis: Axis,
        reduction: Reduction,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        // Every limit is checked before any element is read.
        matrix_len(matrix_len(axis.outer, axis.extent)?, axis.inner)?;
        plan_axis::<T>(axis, reduction, None, device.properties())?;
        let lane = |stream| {
            Ok(Lane {
                stream,
                input: None,
                output: None,
                partials: None,
                step: None,
            })
        };
        Ok(Self {
            device: device.clone(),
            cut: Cut::new(axis, reduction, rounds::<T>(), chunk),
            at: Place::default(),
            results: Results {
                reduction,
                extent: axis.extent,
                totals: Vec::new(),
                times: DeviceTimes::default(),
            },
            lanes: Ring::new(device, lane)?,
        })
    }

    /// The piece for the next [`push`](Self::push); `None` after the last.
    pub fn next_piece(&self) -> Option<Piece> {
        let step = self.cut.step(self.at)?;
        Some(step.piece(self.cut.axis.extent))
    }

    /// Lets `fill` write the elements of the [next piece](Self::next_piece), row by row, and starts
    /// its reduction. If all streams are busy, it first waits for the oldest piece; `emit` gets the
    /// results that are complete then.
    ///
    /// # Errors
    /// Those of the closures, and errors of the device. After an error the reduction cannot
    /// continue.
    pub fn push<E: From<LaunchError>>(
        &mut self,
        fill: impl FnOnce(&mut [T]) -> Result<(), E>,
        emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(step) = self.cut.step(self.at) else {
            return Ok(());
        };
        self.at = self.cut.after(&step);
        let (lane, busy) = self.lanes.turn();
        if busy {
            self.results.take(lane, emit)?;
        }
        let elements = step.piece(self.cut.axis.extent).elements();
        let input = fit(&mut lane.input, &lane.stream, elements)?;
        fill(input.host().map_err(LaunchError::from)?)?;
        Ok(lane.start(&self.device, step, self.cut.reduction)?)
    }

    /// Waits for the pieces in flight; `emit` gets the last results. Returns the device's time for
    /// all pieces.
    ///
    /// # Errors
    /// Those of the closure, and errors of the device.
    pub fn finish<E: From<LaunchError>>(
        mut self,
        mut emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<DeviceTimes, E> {
        let results = &mut self.results;
        self.lanes.drain(|lane| results.take(lane, &mut emit))?;
        Ok(self.results.times)
    }
}

impl<T: Number> Lane<T> {
    /// Starts the reduction of the input.
    fn start(
        &mut self,
        device: &Device,
        step: Step,
        reduction: Reduction,
    ) -> Result<(), LaunchError> {
        let Some(input) = &mut self.input else {
            return Ok(()); // `push` has filled it.
        };
        let axis = step.axis();
        let (stream, outputs) = (&self.stream, axis.outer * axis.inner);
        let begun = stream.record()?;
        input.upload()?;
        let copied = stream.record()?;
        let view = input.device().as_view();
        let computed = match step.run {
            Some(_) => {
                let partials = fit(&mut self.partials, stream, outputs * each::<T>())?;
                enqueue_runs(
                    device,
                    Some(stream),
                    view,
                    partials.device_mut(),
                    axis,
                    None,
                )?;
                let computed = stream.record()?;
                partials.download()?;
                computed
            }
            None => {
                let output = fit(&mut self.output, stream, outputs)?;
                let memory = output.device_mut();
                enqueue_axis(device, Some(stream), view, memory, axis, reduction)?;
                let computed = stream.record()?;
                output.download()?;
                computed
            }
        };
        self.step = Some((step, [begun, copied, computed, stream.record()?]));
        Ok(())
    }
}

impl<T: Number> Results<T> {
    /// Waits for a step, and emits the results that it completes.
    fn take<E: From<LaunchError>>(
        &mut self,
        lane: &mut Lane<T>,
        mut emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((step, events)) = lane.step.take() else {
            return Ok(());
        };
        let output = match step.run {
            None => host(&mut lane.output)?,
            Some(_) => &mut [],
        };
        if step.run.is_none() && step.rows.len() == self.extent {
            emit(output)?;
        } else {
            if step.rows.start == 0 {
                self.totals.clear();
            }
            self.fold(output.iter().map(|&value| value.into()));
            if step.run.is_some() {
                let each = each::<T>();
                for run in host(&mut lane.partials)?.chunks(step.cols.len() * each) {
                    let run = run.chunks_exact(each);
                    let total = |partial| Total::of_results(partial, self.reduction);
                    let totals: Vec<_> = run.map(total).collect();
                    self.fold(totals.into_iter());
                }
            }
            if step.rows.end == self.extent {
                let results: Vec<T> = self.totals.iter().map(|total| total.round()).collect();
                emit(&results)?;
            }
        }
        Ok(self.times.add(&events)?)
    }

    /// Folds a row of results into those of earlier rows.
    fn fold(&mut self, next: impl Iterator<Item = Total<T>>) {
        if self.totals.is_empty() {
            self.totals.extend(next);
            return;
        }
        for (total, next) in self.totals.iter_mut().zip(next) {
            *total = total.fold(next, self.reduction);
        }
    }
}

/// The results of a launch, on the host.
fn host<T: blockwise::Plain>(
    buffer: &mut Option<StagedBuffer<T>>,
) -> Result<&mut [T], LaunchError> {
    match buffer {
        Some(buffer) => Ok(buffer.host()?),
        None => Ok(&mut []),
    }
}
