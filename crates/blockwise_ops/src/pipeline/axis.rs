//! Reductions over an axis of an array of any size.

use std::ops::Range;

use blockwise::{AnyView, AnyViewMut, Device, Event, StagedBuffer, Stream};

use super::{DeviceTimes, Ring, fit};
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

/// Results of lines, in row-major order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LineResults<'a, T> {
    /// Sums, means or extremes.
    Values(&'a [T]),
    /// Indices of extremes.
    Indices(&'a [i64]),
}

/// Rows of a piece, at least, where columns are cut: a result may be larger than an element.
const ROWS: usize = 64;

/// Reduces an array over one axis, piece by piece: [`SUM`](crate::reduce::SUM),
/// [`MEAN`](crate::reduce::MEAN), [`MIN`](crate::reduce::MIN), [`MAX`](crate::reduce::MAX),
/// [`ARGMIN`](crate::reduce::ARGMIN) or [`ARGMAX`](crate::reduce::ARGMAX). Results come in row-major
/// order and are those of the whole, whatever the pieces; of sums and means of floats
/// [as exactly](mod@crate::reduce#how-exact-sums-are).
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::LaunchError;
/// use blockwise_ops::pipeline::{AxisReducer, LineResults};
/// use blockwise_ops::reduce::{Axis, SUM};
///
/// let device = Device::any()?;
/// // 4 rows of 2 numbers, 2 rows at a time.
/// let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let rows = Axis::of(&[4, 2], Some(1))?;
/// let mut sums = Vec::new();
/// let mut emit = |results: LineResults<'_, f64>| -> Result<(), LaunchError> {
///     if let LineResults::Values(values) = results {
///         sums.extend_from_slice(values);
///     }
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
    /// The results so far of the current columns, if their axis takes several steps.
    sofar: SoFar<T>,
    times: DeviceTimes,
}

enum SoFar<T: Number> {
    Totals(Vec<Total<T>>),
    Extremes(Vec<(T, i64)>),
}

/// The resources of one step.
struct Lane<T: Number> {
    stream: Stream,
    call: Call,
    input: Option<StagedBuffer<T>>,
    output: Option<StagedBuffer<T>>,
    /// Indices, and what is not a whole line's: bytes.
    other: Option<StagedBuffer<u8>>,
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
                other: None,
                step: None,
            })
        };
        Ok(Self {
            cut: Cut::new(axis, chunk),
            at: Place::default(),
            results: Results {
                problem,
                fold,
                sofar: match fold.is_index {
                    true => SoFar::Extremes(Vec::new()),
                    false => SoFar::Totals(Vec::new()),
                },
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
        emit: impl FnMut(LineResults<'_, T>) -> Result<(), E>,
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
        mut emit: impl FnMut(LineResults<'_, T>) -> Result<(), E>,
    ) -> Result<DeviceTimes, E> {
        let results = &mut self.results;
        self.lanes.drain(|lane| results.take(lane, &mut emit))?;
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
        let (problem, form) = (step.problem(&of.problem), of.form(&step));
        let begun = stream.record()?;
        input.upload()?;
        let copied = stream.record()?;
        let inputs: [AnyView<'_>; 1] = [input.device().as_view().into()];
        let computed = match form {
            Form::Values => {
                let output = fit(&mut self.output, stream, step.outputs())?;
                let memory: AnyViewMut<'_> = output.device_mut().into();
                call.enqueue(Some(stream), &problem, &inputs, memory)?;
                let computed = stream.record()?;
                output.download()?;
                computed
            }
            Form::Indices | Form::Parts(_) => {
                let bytes = step.outputs() * form.bytes::<T>();
                let output = fit(&mut self.other, stream, bytes)?;
                let memory = output.device_mut();
                match form {
                    Form::Indices => {
                        let indices: AnyViewMut<'_> = memory.cast::<i64>()?.into();
                        call.enqueue(Some(stream), &problem, &inputs, indices)?;
                    }
                    _ => {
                        call.enqueue_totals(Some(stream), &problem, &inputs, memory.into())?;
                    }
                }
                let computed = stream.record()?;
                output.download()?;
                computed
            }
        };
        self.step = Some((step, [begun, copied, computed, stream.record()?]));
        Ok(())
    }
}

/// What a launch returns for each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The value, of a whole line or to be merged as it is.
    Values,
    /// The index of a whole line's extreme.
    Indices,
    /// Of a part of a line: a sum that is not rounded; or first all indices, then all extremes.
    Parts(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    Extreme,
}

impl Form {
    /// Bytes for each line.
    fn bytes<T: Number>(self) -> usize {
        match self {
            Self::Values => size_of::<T>(),
            Self::Indices => size_of::<i64>(),
            Self::Parts(Kind::Sum) => each::<T>(),
            Self::Parts(Kind::Extreme) => size_of::<i64>() + size_of::<T>(),
        }
    }
}

impl<T: Number> Results<T> {
    /// What the launch of a step returns.
    fn form(&self, step: &Step) -> Form {
        let is_whole = step.rows.len() == self.problem.extents[0];
        match (is_whole, self.fold.is_index, self.fold.by) {
            (true, true, _) => Form::Indices,
            (true, false, _) | (false, false, Reduction::Min | Reduction::Max) => Form::Values,
            (false, true, _) => Form::Parts(Kind::Extreme),
            (false, false, Reduction::Sum) => Form::Parts(Kind::Sum),
        }
    }

    /// Waits for a step, and emits the results that it completes.
    fn take<E: From<LaunchError>>(
        &mut self,
        lane: &mut Lane<T>,
        mut emit: impl FnMut(LineResults<'_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some((step, events)) = lane.step.take() else {
            return Ok(());
        };
        let (extent, form) = (self.problem.extents[0], self.form(&step));
        let is_whole = step.rows.len() == extent;
        if step.rows.start == 0 {
            match &mut self.sofar {
                SoFar::Totals(totals) => totals.clear(),
                SoFar::Extremes(extremes) => extremes.clear(),
            }
        }
        match form {
            Form::Values => {
                let values: &[T] = host(&mut lane.output)?;
                match is_whole {
                    true => emit(LineResults::Values(values))?,
                    false => self.fold(values.iter().map(|&value| value.into())),
                }
            }
            Form::Indices => {
                let bytes = host(&mut lane.other)?;
                emit(LineResults::Indices(&indices(bytes)))?;
            }
            Form::Parts(Kind::Sum) => {
                let sums = host(&mut lane.other)?.chunks_exact(each::<T>());
                self.fold(sums.map(|sum| Total::of_results(sum, Reduction::Sum)));
            }
            Form::Parts(Kind::Extreme) => {
                let bytes = host(&mut lane.other)?;
                let (at, values) = bytes.split_at(step.outputs() * size_of::<i64>());
                let first = step.rows.start as i64;
                let at = indices(at).into_iter().map(|at| first + at);
                let values: Vec<T> = bytemuck::pod_collect_to_vec(values);
                self.first(values.into_iter().zip(at));
            }
        }
        if !is_whole && step.rows.end == extent {
            match &self.sofar {
                SoFar::Totals(totals) => {
                    let results = totals.iter().map(|total| total.result(&self.problem));
                    emit(LineResults::Values(&Vec::from_iter(results)))?;
                }
                SoFar::Extremes(extremes) => {
                    let indices = extremes.iter().map(|&(_, at)| at);
                    emit(LineResults::Indices(&Vec::from_iter(indices)))?;
                }
            }
        }
        Ok(self.times.add(&events)?)
    }

    /// Folds a row of totals into those of earlier rows.
    fn fold(&mut self, next: impl Iterator<Item = Total<T>>) {
        let SoFar::Totals(totals) = &mut self.sofar else {
            return; // Unreachable: indices have no totals.
        };
        if totals.is_empty() {
            totals.extend(next);
            return;
        }
        for (total, next) in totals.iter_mut().zip(next) {
            *total = total.fold(next, self.fold.by);
        }
    }

    /// Folds a row of extremes into those of earlier rows, the first of equals.
    fn first(&mut self, next: impl Iterator<Item = (T, i64)>) {
        let SoFar::Extremes(extremes) = &mut self.sofar else {
            return; // Unreachable: it is for indices.
        };
        if extremes.is_empty() {
            extremes.extend(next);
            return;
        }
        let is_nan = |value: T| value.partial_cmp(&value).is_none();
        for (extreme, next) in extremes.iter_mut().zip(next) {
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

fn indices(bytes: &[u8]) -> Vec<i64> {
    let words = bytes.as_chunks().0.iter();
    words.map(|&word| i64::from_ne_bytes(word)).collect()
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
