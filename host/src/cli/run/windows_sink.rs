//! Where the outputs of a signal go.

use std::path::Path;

use blockwise_mesh::Mesh;
use blockwise_ops::operation::Operation;
use serde_json::json;

use super::windows_check::Check;
use super::windows_task::Task;
use crate::cli::chosen::Chosen;
use crate::cli::failure::Failure;
use crate::cli::mesh;
use crate::cli::recording::{self, Operands, Place, Sample, Writer};
use crate::cli::report::{self, Report};
use crate::cli::seconds::Seconds;
use crate::io::Sound;

/// The file of the outputs, and their comparison with a reference.
pub(super) struct Sink<'a, T: Sample> {
    writer: Writer,
    check: Option<Check<'a, T>>,
    shape: Vec<usize>,
    /// The format of the recording, if it is one.
    recording: Option<Sound>,
}

impl<'a, T: Sample> Sink<'a, T> {
    pub(super) fn prepare(
        task: &Task<'a>,
        operands: &Operands<T>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let outputs = task.outputs();
        let check = Check::prepare(task, operands, chosen.choice.variant)?;
        let place = Place::prepare(task.arguments.output()?, operands.sound())?;
        let shape = recording::shape(outputs, operands.channels());
        let metadata = operands.metadata(outputs)?;
        Ok(Self {
            check,
            recording: place.recording(),
            writer: place.create::<T>(&shape, metadata)?,
            shape,
        })
    }

    /// Writes the next samples, and compares them.
    pub(super) fn take(&mut self, samples: &[T]) -> Result<(), Failure> {
        self.writer.write(samples)?;
        match &mut self.check {
            Some(check) => check.add(samples),
            None => Ok(()),
        }
    }

    /// Finishes the output file.
    pub(super) fn finish(
        self,
        of: &Operation,
        mesh: &Mesh,
        output: &Path,
        seconds: Seconds,
    ) -> Result<Report, Failure> {
        let finished = self.writer.finish()?;
        let report = match self.recording {
            Some(sound) => recording::recorded(of.name, mesh, output, &self.shape, sound, finished),
            None => report::made(of.name, output, &mesh::names(mesh), &self.shape, T::NAME),
        };
        let report = report.with("seconds", json!(seconds));
        Ok(match self.check {
            Some(check) => check.report(report),
            None => report,
        })
    }
}
