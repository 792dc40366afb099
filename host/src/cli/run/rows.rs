//! Runs an operation by windows on each row of a matrix: some rows at a time, as many as a chunk
//! holds, or one.

use std::time::Instant;

use blockwise::Device;
use blockwise_ops::AnyArray;
use blockwise_ops::operation::{self, Posed, Problem};

use super::expectation::Expectation;
use super::sink::Sink;
use super::task::Task;
use crate::cli::Global;
use crate::cli::chosen::Chosen;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operation::Arguments;
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::io::Reader;

pub(super) fn run(
    global: &Global,
    arguments: &Arguments,
    mut task: Task,
) -> Result<Report, Failure> {
    let (of, problem) = (task.of, task.posed.problem);
    let output = arguments.output()?;
    let [samples, taps, ..] = problem.extents;
    task.inputs.notice_of_products(samples.min(taps))?;
    let reference = Expectation::open(&arguments.reference, &task.posed)?;
    let mesh = global.mesh(arguments.gpus.as_ref(), of.name)?;
    let (Some(device), Some(place)) = (mesh::alone(&mesh), mesh::output(&mesh, output)?) else {
        let refused = "the rows of a matrix are not divided over devices";
        return Err(Failure::new(refused)
            .hint("leave `--gpus` out, or run some of the rows on each device"));
    };
    task.options.once = true;
    let chosen = Chosen::of(of, &problem, &task.options, device.properties())?;
    // Of all rows, however they are divided: their bits do not depend on that.
    task.options.kernel = Some(chosen.choice.variant);
    // Every limit is checked here, before any row is read.
    operation::plan(of, &problem, &task.options, device.properties())?;
    let mut sink = Sink::create(&task, place, reference)?;
    let seconds = task.in_rows(device, arguments.chunk(), &mut sink)?;
    if let Some(line) = chosen.line(device.properties().kind) {
        report::notice(&line);
    }
    let report = sink.finish(&mesh, output, seconds)?;
    Ok(report.with("choice", chosen.json()))
}

impl Task {
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
            let (result, computing) = operation::run(device, self.of, &posed, &self.options, &of)?;
            seconds.computing += computing.as_secs_f64();
            seconds.copying += begin.elapsed().as_secs_f64() - computing.as_secs_f64();
            sink.take(&posed.problem, &of, &result)?;
        }
        Ok(seconds)
    }
}
