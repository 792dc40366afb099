//! Runs an operation on a line chunk by chunk.

use std::time::Instant;

use blockwise::{AnyBuffer, Device};
use blockwise_ops::AnyArray;
use blockwise_ops::operation::{Call, Parts};

use super::sink::Sink;
use super::task::Task;
use crate::cli::failure::Failure;
use crate::cli::operation::Arguments;
use crate::cli::seconds::{Seconds, timed};

impl Task {
    /// The elements of a chunk, if the work can be divided and is longer than one chunk.
    pub(super) fn pieces(&self, arguments: &Arguments) -> Option<usize> {
        let (Parts::Carried(carry), Some(chunk)) = (self.of.parts, &arguments.chunk) else {
            return None;
        };
        let problem = &self.posed.problem;
        let len = problem.extents[0];
        let chunk = (chunk.chunk.min(len)).next_multiple_of((carry.align)(problem.ty));
        let is_longer = (carry.is_one_line)(problem) && len > chunk;
        is_longer.then_some(chunk)
    }

    /// Chunk by chunk, on one device, which keeps the state after the chunks so far.
    pub(super) fn in_chunks(
        &self,
        device: &Device,
        chunk: usize,
        sink: &mut Sink<'_>,
    ) -> Result<Seconds, Failure> {
        let mut seconds = Seconds::default();
        let problem = &self.posed.problem;
        let (ty, len) = (problem.ty, problem.extents[0]);
        let mut call = Call::new(device, self.of, self.options);
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
}
