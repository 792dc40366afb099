//! Reductions over an axis of an array of any size.

use std::ops::Range;

use blockwise::{AnyView, AnyViewMut, Device, Event, StagedBuffer, Stream};

use super::ring::{Ring, fit};
use super::times::DeviceTimes;
use crate::operation::{self, Call, Fold, Given, Operation, Options, Parts, Problem};
use crate::reduce::{Axis, Number, Reduction, Total, each, part_of};
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
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.rows.len() * self.cols.len()
    }
}

/// Rows of a piece, at least, where columns are cut: a result may be larger than an element.
const ROWS: usize = 64;

/// Reduces an array over one axis, piece by piece: [`SUM`](crate::reduce::SUM),
/// [`MEAN`](crate::reduce::MEAN), [`MIN`](crate::reduce::MIN), [`MAX`](crate::reduce::MAX),
/// [`ARGMIN`](crate::reduce::ARGMIN) or [`ARGMAX`](crate::reduce::ARGMAX). Results come in
/// row-major order, as bytes of the type that the operation [gives](Operation::gives), and are
/// those of the whole, whatever the pieces; of sums and means of floats
/// [as exactly](mod@crate::reduce#how-exact-sums-are).
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::LaunchError;
/// use blockwise_ops::pipeline::AxisReducer;
/// use blockwise_ops::reduce::{Axis, SUM};
///
/// let device = Device::any()?;
/// // 4 rows of 2 numbers, 2 rows at a time.
/// let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let rows = Axis::of(&[4, 2], Some(1))?;
/// let mut sums = Vec::new();
/// let mut emit = |bytes: &[u8]| -> Result<(), LaunchError> {
///     sums.extend(bytemuck::pod_collect_to_vec::<u8, f64>(bytes));
///     Ok(())
/// };
/// let mut reducer = AxisReducer::new(&device, &SUM, rows, 4)?;
/// while let Some(piece) = reducer.next_piece() {
///     let fill = |values: &mut [f64]| {
///         // Over the last axis, each number is a row of one column.
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
    /// Outer indices per step, at most; `rows` and `cols` likewise.
    outers: usize,
    rows: usize,
    cols: usize,
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
}

/// The results of the steps so far.
struct Results<T: Number> {
    /// The problem of the whole array.
    problem: Problem,
    fold: &'static Fold,
    /// The results so far of the current columns, if their axis takes several steps: of sums and
    /// extremes, or of indices.
    totals: Vec<Total<T>>,
    extremes: Vec<(T, i64)>,
    times: DeviceTimes,
}

/// The resources of one step.
struct Lane<T: Number> {
    stream: Stream,
    call: Call,
    input: Option<StagedBuffer<T>>,
    /// What the launch leaves for each line.
    output: Option<StagedBuffer<u8>>,
    /// The step in flight.
    step: Option<(Step, [Event; 4])>,
}

impl Cut {
    /// Cuts into steps of at most `chunk` elements, but at least [`ROWS`] rows of one column.
    fn new(axis: Axis, chunk: usize) -> Self {
        let Axis {
            outer,
            extent,
            inner,
        } = axis;
        let (lane, columns) = (extent.max(1), inner.max(1));
        let least = lane.min(ROWS);
        let outers = (chunk / lane.saturating_mul(columns)).min(outer);
        let (outers, rows, cols) = if outers > 0 {
            (outers, extent, inner)
        } else if least.saturating_mul(columns) <= chunk {
            // Whole rows are contiguous in a file.
            (1, chunk / columns, inner)
        } else {
            (1, least, (chunk / least).max(1))
        };
        Self {
            axis,
            outers,
            rows,
            cols,
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
        Some(Step {
            outers: upto(at.outer, self.outers, outer),
            rows: upto(at.row, self.rows, extent),
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

    /// Its problem; of whole lines, or of a part of each.
    fn problem(&self, of: &Problem) -> Problem {
        let mut problem = match self.rows.len() == of.extents[0] {
            true => *of,
            false => part_of(of, self.rows.len()),
        };
        problem.extents[1] = self.outers.len();
        problem.extents[2] = self.cols.len();
        problem
    }

    fn outputs(&self) -> usize {
        self.outers.len() * self.cols.len()
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
    /// Reduces an array in pieces of at most `chunk` elements, but at least 64 rows of one column.
    ///
    /// # Errors
    /// Another operation, an extreme along an empty axis, and an overflow of the array's size.
    pub fn new(
        device: &Device,
        of: &'static Operation,
        axis: Axis,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let operation = of.name;
        let fold = match of.parts {
            Parts::Folded(fold) if of.operands.len() == 1 => fold,
            _ => return Err(LaunchError::NotDivided { operation }),
        };
        // Every limit is checked before any element is read.
        matrix_len(matrix_len(axis.outer, axis.extent)?, axis.inner)?;
        let shape = [axis.outer, axis.extent, axis.inner];
        let along = Given {
            axis: Some(1),
            ..Given::default()
        };
        let problem = (of.pose)(T::TYPE, &[&shape], &along)?.problem;
        operation::plan(of, &problem, &Options::default(), device.properties())?;
        let lane = |stream| {
            Ok(Lane {
                stream,
                call: Call::new(device, of, Options::default()),
                input: None,
                output: None,
                step: None,
            })
        };
        Ok(Self {
            cut: Cut::new(axis, chunk),
            at: Place::default(),
            results: Results {
                problem,
                fold,
                totals: Vec::new(),
                extremes: Vec::new(),
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
    /// its reduction. If all streams are busy, it first waits for the oldest piece, and `emit` gets
    /// the results that this one completes.
    ///
    /// # Errors
    /// Those of the closures, and errors of the device. After an error the reduction cannot
    /// continue.
    pub fn push<E: From<LaunchError>>(
        &mut self,
        fill: impl FnOnce(&mut [T]) -> Result<(), E>,
        emit: impl FnMut(&[u8]) -> Result<(), E>,
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
        Ok(lane.start(step, &self.results)?)
    }

    /// Waits for the pieces in flight; `emit` gets the last results. Returns the device's time for
    /// all pieces.
    ///
    /// # Errors
    /// Those of the closure, and errors of the device.
    pub fn finish<E: From<LaunchError>>(
        mut self,
        mut emit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<DeviceTimes, E> {
        for lane in self.lanes.drain() {
            self.results.take(lane, &mut emit)?;
        }
        Ok(self.results.times)
    }
}

impl<T: Number> Lane<T> {
    /// Starts the reduction of the input.
    fn start(&mut self, step: Step, of: &Results<T>) -> Result<(), LaunchError> {
        let Some(input) = &mut self.input else {
            return Ok(()); // Unreachable: `push` has filled it.
        };
        let (stream, call) = (&self.stream, &mut self.call);
        let problem = step.problem(&of.problem);
        let output = fit(&mut self.output, stream, step.outputs() * of.bytes(&step))?;
        let begun = stream.record()?;
        input.upload()?;
        let copied = stream.record()?;
        let inputs: [AnyView<'_>; 1] = [input.device().as_view().into()];
        let memory = output.device_mut();
        if of.leaves_totals(&step) {
            call.enqueue_totals(Some(stream), &problem, &inputs, memory.into())?;
        } else {
            let memory: AnyViewMut<'_> = match of.fold.is_index {
                true => memory.cast::<i64>()?.into(),
                false => memory.cast::<T>()?.into(),
            };
            call.enqueue(Some(stream), &problem, &inputs, memory)?;
        }
        let computed = stream.record()?;
        output.download()?;
        self.step = Some((step, [begun, copied, computed, stream.record()?]));
        Ok(())
    }
}

impl<T: Number> Results<T> {
    /// Whether a step has whole lines, whose results are complete.
    fn is_whole(&self, step: &Step) -> bool {
        step.rows.len() == self.problem.extents[0]
    }

    /// Whether a step's launch leaves of each line what is merged with its other parts: a sum that
    /// is not rounded; or first the indices of all extremes, then the extremes. A minimum or
    /// maximum is merged as it is.
    fn leaves_totals(&self, step: &Step) -> bool {
        !self.is_whole(step) && (self.fold.is_index || self.fold.by == Reduction::Sum)
    }

    /// Bytes that a step's launch leaves for each line.
    fn bytes(&self, step: &Step) -> usize {
        match (self.leaves_totals(step), self.fold.is_index) {
            (false, false) => size_of::<T>(),
            (false, true) => size_of::<i64>(),
            (true, false) => each::<T>(),
            (true, true) => size_of::<i64>() + size_of::<T>(),
        }
    }

    /// Waits for a step, and emits the results that it completes.
    fn take<E: From<LaunchError>>(
        &mut self,
        lane: &mut Lane<T>,
        mut emit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (Some((step, events)), Some(output)) = (lane.step.take(), &mut lane.output) else {
            return Ok(());
        };
        let bytes: &[u8] = output.host().map_err(LaunchError::from)?;
        if self.is_whole(&step) {
            emit(bytes)?;
            return Ok(self.times.add(&events)?);
        }
        if step.rows.start == 0 {
            self.totals.clear();
            self.extremes.clear();
        }
        match (self.fold.is_index, self.fold.by) {
            (true, _) => {
                let (at, values) = bytes.split_at(step.outputs() * size_of::<i64>());
                let (first, at) = (step.rows.start as i64, numbers::<i64>(at));
                let at = at.into_iter().map(|at| first + at);
                self.first(numbers::<T>(values).into_iter().zip(at));
            }
            (false, Reduction::Sum) => {
                let sums = bytes.chunks_exact(each::<T>());
                self.fold(sums.map(|sum| Total::of_results(sum, Reduction::Sum)));
            }
            (false, _) => self.fold(numbers::<T>(bytes).into_iter().map(Total::from)),
        }
        if step.rows.end == self.problem.extents[0] {
            if self.fold.is_index {
                let indices = self.extremes.iter().map(|&(_, at)| at);
                emit(bytemuck::cast_slice(&Vec::from_iter(indices)))?;
            } else {
                let results = self.totals.iter().map(|total| total.result(&self.problem));
                emit(bytemuck::cast_slice(&Vec::from_iter(results)))?;
            }
        }
        Ok(self.times.add(&events)?)
    }

    /// Folds a row of totals into those of earlier rows.
    fn fold(&mut self, next: impl Iterator<Item = Total<T>>) {
        if self.totals.is_empty() {
            self.totals.extend(next);
            return;
        }
        for (total, next) in self.totals.iter_mut().zip(next) {
            *total = total.fold(next, self.fold.by);
        }
    }

    /// Folds a row of extremes into those of earlier rows, the first of equals.
    fn first(&mut self, next: impl Iterator<Item = (T, i64)>) {
        if self.extremes.is_empty() {
            self.extremes.extend(next);
            return;
        }
        let is_nan = |value: T| value.partial_cmp(&value).is_none();
        for (extreme, next) in self.extremes.iter_mut().zip(next) {
            let is_better = match self.fold.by {
                _ if is_nan(extreme.0) => false,
                Reduction::Max => next.0 > extreme.0 || is_nan(next.0),
                Reduction::Min | Reduction::Sum => next.0 < extreme.0 || is_nan(next.0),
            };
            if is_better {
                *extreme = next;
            }
        }
    }
}

fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}
