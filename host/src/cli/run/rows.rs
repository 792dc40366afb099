//! Runs an operation by windows on each row of a matrix: some rows at a time, as many as a chunk
//! holds, or one.

use std::time::Instant;

use blockwise::Device;
use blockwise_mesh::Mesh;
use blockwise_ops::AnyArray;
use blockwise_ops::operation::{self, Options, Posed, Problem};
use blockwise_ops::pipeline;
use serde_json::json;

use super::expectation::Expectation;
use super::inputs::Inputs;
use super::{Sink, Task, made};
use crate::cli::Global;
use crate::cli::chosen::Chosen;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operation::Arguments;
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::io::{Contents, Reader};

/// Whether one of the files holds a matrix.
pub(super) fn are_in(readers: &[Reader]) -> bool {
    readers.iter().any(|reader| match reader.contents() {
        Contents::Array(array) => array.shape().len() == 2,
        Contents::Recording(_) => false,
    })
}

/// A matrix and the recording beside it, which are not convolved.
pub(super) fn beside_sound(readers: &[Reader; 2]) -> Option<(&Reader, &Reader)> {
    let is_sound = |reader: &Reader| matches!(reader.contents(), Contents::Recording(_));
    match readers {
        [signal, taps] if is_sound(signal) => Some((taps, signal)),
        [signal, taps] if is_sound(taps) => Some((signal, taps)),
        _ => None,
    }
}

pub(super) fn run(
    global: &Global,
    arguments: &Arguments,
    readers: Vec<Reader>,
) -> Result<Report, Failure> {
    let of = arguments.of;
    let output = arguments.output()?;
    let inputs = Inputs::of(of, arguments, readers)?;
    let posed = inputs.posed(of, arguments)?;
    let [samples, taps, ..] = posed.problem.extents;
    inputs.notice_of_products(samples.min(taps))?;
    let reference = Expectation::open(&arguments.reference, &posed)?;
    let mesh = match &arguments.gpus {
        Some(gpus) => global.mesh(gpus)?,
        None => Mesh::of(vec![global.open_alone(of.name)?])?,
    };
    let (Some(device), Some(place)) = (mesh::alone(&mesh), mesh::output(&mesh, output)?) else {
        let refused = "the rows of a matrix are not divided over devices";
        return Err(Failure::new(refused)
            .hint("leave `--gpus` out, or run some of the rows on each device"));
    };
    let options = Options {
        kernel: arguments.kernel,
        once: true,
        ..Options::default()
    };
    let chosen = Chosen::of(of, &posed.problem, &options, device.properties())?;
    // Of all rows, however they are divided: their bits do not depend on that.
    let options = Options {
        kernel: Some(chosen.choice.variant),
        ..options
    };
    // Every limit is checked here, before any row is read.
    operation::plan(of, &posed.problem, &options, device.properties())?;
    let task = Task {
        of,
        posed: &posed,
        options: &options,
        inputs: &inputs,
    };
    let mut sink = Sink::create(&task, place, reference)?;
    let chunk = (arguments.chunk.as_ref()).map_or(pipeline::CHUNK, |chunk| chunk.chunk);
    let mut seconds = task.in_rows(device, chunk, &mut sink)?;
    seconds.writing = Some(sink.seconds);
    if let Some(line) = chosen.line(device.properties().kind) {
        report::notice(&line);
    }
    let names = mesh::names(&mesh);
    let ty = posed.problem.ty.name();
    let report = made(of.name, output, &names, &posed.result, ty);
    let report = report.with("seconds", json!(seconds));
    Ok(sink.finish(report)?.with("choice", chosen.json()))
}

impl Task<'_> {
    /// Some rows after the other, of about `chunk` elements each time.
    fn in_rows(
        &self,
        device: &Device,
        chunk: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let problem = &self.posed.problem;
        let [samples, taps, _, outputs] = problem.extents;
        let rows = problem.all_rows();
        let each = (chunk / samples.max(taps).max(outputs)).clamp(1, rows.max(1));
        let readers = self.inputs.readers.iter();
        let mut readers: Vec<_> = readers.map(Reader::again).collect();
        let mut operands = [None, None];
        for first in (0..rows).step_by(each) {
            let some = each.min(rows - first);
            let part = Problem {
                rows: problem.rows.map(|all| if all == 1 { 1 } else { some }),
                ..*problem
            };
            timed(&mut seconds.reading, || {
                for (at, operand) in operands.iter_mut().enumerate() {
                    // The only row of all.
                    if problem.rows[at] == 1 && operand.is_some() {
                        continue;
                    }
                    let shape = [part.rows[at], problem.extents[at]];
                    let mut rows = AnyArray::zeros(problem.ty, &shape)?;
                    readers[at].read_as(problem.ty, rows.bytes_mut())?;
                    *operand = Some(rows);
                }
                Ok::<_, Failure>(())
            })?;
            let posed = Posed {
                problem: part,
                result: vec![some, outputs],
            };
            let of: Vec<AnyArray> = operands.iter().flatten().cloned().collect();
            let begin = Instant::now();
            let (result, computing) = operation::run(device, self.of, &posed, self.options, &of)?;
            seconds.computing += computing.as_secs_f64();
            seconds.copying += begin.elapsed().as_secs_f64() - computing.as_secs_f64();
            sink.take(&posed.problem, &of, &result)?;
        }
        Ok(seconds)
    }
}
