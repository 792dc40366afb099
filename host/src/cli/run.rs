//! Runs an operation on files.

mod expectation;
mod folded;
mod inputs;
mod panels;
mod rows;
mod windows;
mod windows_check;
mod windows_part;
mod windows_task;

use std::path::Path;
use std::time::Instant;

use blockwise::{AnyBuffer, Device, Type};
use blockwise_mesh::{Blocks, Mesh, Rank, ShardedMatrix, Split, parts};
use blockwise_ops::compare::Comparison;
use blockwise_ops::operation::{self, Call, Operation, Options, Parts, Posed, Problem, Variant};
use blockwise_ops::{AnyArray, Element, LaunchError};
use serde_json::json;

use self::expectation::Expectation;
use self::inputs::Inputs;
use super::Global;
use super::failure::Failure;
use super::mesh;
use super::operand::ArrayOutput;
use super::operation::Arguments;
use super::report::Report;
use super::seconds::{Seconds, timed};
use crate::io::ArrayWriter;

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let of = arguments.of;
    match of.parts {
        Parts::Folded(fold) => return folded::run(global, arguments, fold),
        Parts::Windows(windows) => return windows::run(global, arguments, windows),
        Parts::Whole | Parts::Tiles | Parts::Carried(_) | Parts::Panels => {}
    }
    let output = arguments.output()?;
    let inputs = Inputs::open(of, arguments)?;
    let posed = inputs.posed(of, arguments)?;
    if let Parts::Panels = of.parts {
        inputs.notice_of_products(posed.problem.extents[1])?;
    }
    let reference = Expectation::open(&arguments.reference, &posed)?;
    let mesh = match &arguments.gpus {
        Some(gpus) => global.linked_mesh(gpus)?,
        None => Mesh::of(vec![global.open_alone(of.name)?])?,
    };
    let place = mesh::output(&mesh, output)?;
    let options = Options {
        kernel: arguments.kernel,
        ..Options::default()
    };
    let task = Task {
        of,
        posed: &posed,
        options: &options,
        inputs: &inputs,
    };
    let sink = |place: ArrayOutput| Sink::create(&task, place, reference);
    let alone = mesh::alone(&mesh);
    let (sink, mut seconds) = match (alone, place, task.pieces(arguments)) {
        (Some(device), Some(place), Some(chunk)) => {
            let mut sink = sink(place)?;
            let seconds = task.in_chunks(device, chunk, &mut sink)?;
            (sink, seconds)
        }
        (Some(device), Some(place), None) => {
            let mut sink = sink(place)?;
            let seconds = task.whole(device, &mut sink)?;
            (sink, seconds)
        }
        (_, place, _) => {
            let made = task.divided(&mesh)?;
            let (Some((result, seconds)), Some(place)) = (made, place) else {
                mesh.finish()?;
                return Ok(Report::silent());
            };
            let mut sink = sink(place)?;
            sink.take(&posed.problem, &inputs.read()?, &result)?;
            (sink, seconds)
        }
    };
    seconds.writing = Some(sink.seconds);
    let names = mesh::names(&mesh);
    let report = made(of.name, output, &names, &posed.result, sink.ty.name());
    let report = sink.finish(report)?;
    mesh.finish()?;
    Ok(report.with("seconds", json!(seconds)))
}

/// The report of an array that was written.
pub(super) fn made(
    command: &str,
    output: &Path,
    device: &str,
    shape: &[usize],
    of: &str,
) -> Report {
    let text = format!("{}: {shape:?} {of}", output.display());
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": shape, "type": of, "device": device });
    Report::new(text, json)
}

/// An operation on the files, as it is asked for.
struct Task<'a> {
    of: &'static Operation,
    posed: &'a Posed,
    options: &'a Options,
    inputs: &'a Inputs,
}

impl Task<'_> {
    /// The elements of a chunk, if the work can be divided and is longer than one chunk.
    fn pieces(&self, arguments: &Arguments) -> Option<usize> {
        let (Parts::Carried(carry), Some(chunk)) = (self.of.parts, &arguments.chunk) else {
            return None;
        };
        let problem = &self.posed.problem;
        let len = problem.extents[0];
        let chunk = (chunk.chunk.min(len)).next_multiple_of((carry.align)(problem.ty));
        let is_longer = (carry.is_one_line)(problem) && len > chunk;
        is_longer.then_some(chunk)
    }

    /// All at once, on one device.
    fn whole(&self, device: &Device, sink: &mut Sink<'_>) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let operands = timed(&mut seconds.reading, || self.inputs.read())?;
        let begin = Instant::now();
        let (result, computing) =
            operation::run(device, self.of, self.posed, self.options, &operands)?;
        seconds.computing = computing.as_secs_f64();
        seconds.copying = begin.elapsed().as_secs_f64() - seconds.computing;
        sink.take(&self.posed.problem, &operands, &result)?;
        Ok(seconds)
    }

    /// Chunk by chunk, on one device, which keeps the state after the chunks so far.
    fn in_chunks(
        &self,
        device: &Device,
        chunk: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let problem = &self.posed.problem;
        let (ty, len) = (problem.ty, problem.extents[0]);
        let mut call = Call::new(device, self.of, *self.options);
        let mut output = AnyBuffer::filled(device, ty, chunk.min(len), 0)?;
        let [mut before, mut after] = [
            AnyBuffer::filled(device, ty, 1, 0)?,
            AnyBuffer::filled(device, ty, 1, 0)?,
        ];
        let mut reader = self.inputs.readers[0].again();
        for start in (0..len).step_by(chunk) {
            let mut part = *problem;
            part.extents[0] = chunk.min(len - start);
            let mut operand = AnyArray::zeros(ty, &[part.extents[0]])?;
            timed(&mut seconds.reading, || {
                reader.read_as(ty, operand.bytes_mut())
            })?;
            let mut result = AnyArray::zeros(ty, &[part.extents[0]])?;
            let begin = Instant::now();
            let input = AnyBuffer::upload(device, ty, operand.bytes())?;
            device.synchronize()?;
            timed(&mut seconds.computing, || {
                let output = output.as_view_mut().into_view_mut(..part.extents[0]);
                let before = (start > 0).then(|| before.as_view());
                let ends = (before, after.as_view_mut());
                call.enqueue_part(None, &part, &[input.as_view()], output, ends)?;
                Ok::<_, Failure>(device.synchronize()?)
            })?;
            let output = output.as_view().view(..part.extents[0]);
            output.copy_to_slice(result.bytes_mut())?;
            seconds.copying += begin.elapsed().as_secs_f64();
            std::mem::swap(&mut before, &mut after);
            sink.take(&part, &[operand], &result)?;
        }
        // The copies' time has the computation in it.
        seconds.copying -= seconds.computing;
        Ok(seconds)
    }

    /// The result by several devices, in the process of rank 0.
    fn divided(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        if let Parts::Panels = self.of.parts {
            return self.in_panels(mesh);
        }
        match self.posed.problem.ty.bytes() {
            1 => self.by_words::<u8>(mesh),
            2 => self.by_words::<u16>(mesh),
            4 => self.by_words::<u32>(mesh),
            _ => self.by_words::<u64>(mesh),
        }
    }

    /// As words of the elements' width. Each rank reads its part only.
    fn by_words<W: Element>(&self, mesh: &Mesh) -> Result<Option<(AnyArray, Seconds)>, Failure> {
        let (of, problem, options) = (self.of, &self.posed.problem, self.options);
        let ty = problem.ty;
        let not_divided = || LaunchError::NotDivided { operation: of.name };
        let (rows, cols, shape) = match of.parts {
            Parts::Tiles => {
                let [rows, cols, ..] = problem.extents;
                (Split::even(rows, mesh.ranks()), cols, [cols, rows])
            }
            Parts::Carried(carry) if (carry.is_one_line)(problem) => {
                let len = problem.extents[0];
                (parts(carry, problem, mesh.ranks()), 1, [len, 1])
            }
            Parts::Carried(_)
            | Parts::Folded(_)
            | Parts::Windows(_)
            | Parts::Panels
            | Parts::Whole => return Err(not_divided().into()),
        };
        let wholes = mesh.run(|rank| {
            let mut seconds = Seconds::default();
            let own = rows.range(rank.number());
            let values = timed(&mut seconds.reading, || {
                let mut values = AnyArray::zeros(ty, &[own.len(), cols])?;
                let mut reader = self.inputs.readers[0].again();
                reader.skip(own.start * cols);
                reader.read_as(ty, values.bytes_mut())?;
                Ok::<_, Failure>(values)
            })?;
            let blocks = Blocks::by_rows(rows.clone(), cols);
            let part = timed(&mut seconds.copying, || {
                ShardedMatrix::<W>::upload(rank, blocks, bytemuck::cast_slice(values.bytes()))
            })?;
            let compute = |rank: &mut Rank| match of.parts {
                Parts::Tiles => blockwise_mesh::transpose(rank, &part, options),
                _ => blockwise_mesh::carried(rank, of, problem, &part, options),
            };
            let whole = mesh::collected(rank, &mut seconds, compute)?;
            Ok::<_, Failure>((whole, seconds))
        })?;
        let Some((whole, seconds)) = mesh::whole(wholes, shape[0], shape[1])? else {
            return Ok(None);
        };
        let words = AnyArray::of(whole.view().into_dyn())?;
        let result = words
            .retyped(ty)
            .and_then(|it| it.reshaped(&self.posed.result));
        Ok(result.map(|result| (result, seconds)))
    }
}

/// Where a result goes, piece by piece: its file, and the comparison.
struct Sink<'a> {
    of: &'static Operation,
    /// The kernel, if the operation's kernels differ in their errors.
    variant: Option<&'static Variant>,
    shape: &'a [usize],
    /// The type in the file.
    ty: Type,
    writer: ArrayWriter,
    expected: Option<(Expectation<'a>, Comparison)>,
    /// Elements so far.
    at: usize,
    /// The state after the pieces so far, from which the reference goes on.
    before: [u64; 4],
    /// Seconds spent writing.
    seconds: f64,
}

impl<'a> Sink<'a> {
    fn create(
        task: &Task<'a>,
        place: ArrayOutput,
        expected: Option<Expectation<'a>>,
    ) -> Result<Self, Failure> {
        let Posed {
            problem,
            result: shape,
        } = task.posed;
        let ty = match task.of.parts {
            Parts::Carried(carry) if (carry.picks)(problem) => task.inputs.types[0],
            _ => problem.ty,
        };
        Ok(Self {
            of: task.of,
            ty,
            variant: match task.of.parts {
                Parts::Windows(_) => task.options.kernel,
                _ => None,
            },
            shape,
            writer: place.create(shape, ty)?,
            expected: expected.map(|expected| (expected, Comparison::empty())),
            at: 0,
            before: [0; 4],
            seconds: 0.0,
        })
    }

    /// Takes the next piece, of this problem and these operands.
    fn take(
        &mut self,
        problem: &Problem,
        operands: &[AnyArray],
        result: &AnyArray,
    ) -> Result<(), Failure> {
        let narrow;
        let result = match result.ty() == self.ty {
            true => result,
            false => {
                let of = result.narrowed(self.ty)?;
                narrow = of.ok_or_else(|| Failure::new("the results have another type"))?;
                &narrow
            }
        };
        if let Some((expected, comparison)) = &mut self.expected {
            let is_whole = result.shape() == self.shape;
            let (of, operands) = ((self.of, self.variant), (problem, operands));
            let next = expected.compare(of, operands, result, &mut self.before)?;
            match is_whole {
                true => *comparison = next,
                false => comparison.append(self.at, next),
            }
        }
        self.at += result.len();
        timed(&mut self.seconds, || {
            self.writer.write_bytes(result.bytes())
        })?;
        Ok(())
    }

    /// Puts the file in place, and says how the comparison ended.
    fn finish(self, report: Report) -> Result<Report, Failure> {
        self.writer.finish()?;
        Ok(match self.expected {
            None => report,
            Some((expected, comparison)) => report.comparison(&expected.name, &comparison),
        })
    }
}
