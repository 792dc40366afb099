//! Runs an operation whose result is an array: all at once, in chunks, or on several devices.

use std::time::Instant;

use blockwise::Device;
use blockwise_ops::operation::{self, Parts};

use super::expectation::Expectation;
use super::sink::Sink;
use super::task::Task;
use crate::cli::Global;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operand::ArrayOutput;
use crate::cli::operation::Arguments;
use crate::cli::report::Report;
use crate::cli::seconds::{Seconds, timed};

pub(super) fn run(global: &Global, arguments: &Arguments, task: &Task) -> Result<Report, Failure> {
    let (of, posed) = (task.of, &task.posed);
    let output = arguments.output()?;
    if let Parts::Panels = of.parts {
        task.inputs.notice_of_products(posed.problem.extents[1])?;
    }
    let reference = Expectation::open(&arguments.reference, posed)?;
    let mesh = mesh::linked(global.mesh(arguments.gpus.as_ref(), of.name)?)?;
    let place = mesh::output(&mesh, output)?;
    let sink = |place: ArrayOutput| Sink::create(task, place, reference);
    let (sink, seconds) = match (mesh::alone(&mesh), place) {
        (Some(device), Some(place)) => {
            let mut sink = sink(place)?;
            let seconds = match task.pieces(arguments) {
                Some(chunk) => task.in_chunks(device, chunk, &mut sink)?,
                None => task.whole(device, &mut sink)?,
            };
            (sink, seconds)
        }
        (_, place) => {
            let whole = task.divided(&mesh)?;
            let (Some((result, seconds)), Some(place)) = (whole, place) else {
                mesh.finish()?;
                return Ok(Report::silent());
            };
            let mut sink = sink(place)?;
            sink.take(&posed.problem, &task.inputs.read()?, &result)?;
            (sink, seconds)
        }
    };
    let report = sink.finish(&mesh, output, seconds)?;
    mesh.finish()?;
    Ok(report)
}

impl Task {
    /// All at once, on one device.
    fn whole(&self, device: &Device, sink: &mut Sink<'_>) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let operands = timed(&mut seconds.reading, || self.inputs.read())?;
        let begin = Instant::now();
        let (result, computing) =
            operation::run(device, self.of, &self.posed, &self.options, &operands)?;
        seconds.computing = computing.as_secs_f64();
        seconds.copying = begin.elapsed().as_secs_f64() - seconds.computing;
        sink.take(&self.posed.problem, &operands, &result)?;
        Ok(seconds)
    }
}
