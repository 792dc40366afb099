//! Results, piece by piece, to their file.

use std::path::Path;

use blockwise::Type;
use blockwise_mesh::Mesh;
use blockwise_ops::AnyArray;
use blockwise_ops::compare::Comparison;
use blockwise_ops::operation::{Parts, Problem};
use serde_json::json;

use super::expectation::Expectation;
use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::operand::ArrayOutput;
use crate::cli::report::{self, Report};
use crate::cli::seconds::{Seconds, timed};
use crate::io::ArrayWriter;

/// Where a result goes, piece by piece: its file, and the comparison.
pub(super) struct Sink<'a> {
    task: &'a Task,
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
    pub(super) fn create(
        task: &'a Task,
        place: ArrayOutput,
        expected: Option<Expectation<'a>>,
    ) -> Result<Self, Failure> {
        let problem = &task.posed.problem;
        let ty = match task.of.parts {
            Parts::Carried(carry) if (carry.picks)(problem) => task.inputs.types[0],
            _ => problem.ty,
        };
        Ok(Self {
            task,
            ty,
            writer: place.create(&task.posed.result, ty)?,
            expected: expected.map(|expected| (expected, Comparison::empty())),
            at: 0,
            before: [0; 4],
            seconds: 0.0,
        })
    }

    /// Takes the next piece, of this problem and these operands.
    pub(super) fn take(
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
            let is_whole = result.shape() == self.task.posed.result;
            // Kernels by windows differ in their errors.
            let variant = match self.task.of.parts {
                Parts::Windows(_) => self.task.options.kernel,
                _ => None,
            };
            let (of, operands) = ((self.task.of, variant), (problem, operands));
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
    pub(super) fn finish(
        self,
        mesh: &Mesh,
        output: &Path,
        mut seconds: Seconds,
    ) -> Result<Report, Failure> {
        self.writer.finish()?;
        seconds.writing = Some(self.seconds);
        let (name, shape) = (self.task.of.name, &self.task.posed.result);
        let report = report::made(name, output, &mesh::names(mesh), shape, self.ty.name());
        let report = report.with("seconds", json!(seconds));
        Ok(match self.expected {
            None => report,
            Some((expected, comparison)) => report.comparison(&expected.name, &comparison),
        })
    }
}
