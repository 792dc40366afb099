//! Convolutions by transforms through global memory, in batches of windows.

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, Stream, Type};
use kernels::conv1d::fft::columns::{RADIX, THREADS};
use kernels::conv1d::fft::shape::shift;

use super::transform::{Batches, COLUMNS, OUTPUTS, ROWS, Rows, Transform, transform};
use super::{lens, row};
use crate::LaunchError;
use crate::limits::plan_1d;
use crate::operation::{Held, Operands, Options, Plan, Problem, Task, Variant};

/// The memory of a convolution by long transforms: at most 150 MiB, unless one pair of windows
/// needs more.
pub(super) struct Long {
    device: Device,
    variant: &'static Variant,
    options: Options,
    of: &'static Transform,
    rows: &'static Rows,
    factors: AnyBuffer,
    roots: AnyBuffer,
    spectrum: AnyBuffer,
    /// The transforms of a batch, and of the taps.
    points: AnyBuffer,
    /// The marks of all pairs of windows, and of the taps.
    marks: AnyBuffer,
}

pub(super) fn hold(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    let ty = task.problem.ty;
    let of = transform(task.variant, ty);
    let Some((of, rows)) = of.and_then(|of| Some((of, of.rows.as_ref()?))) else {
        return Err(LaunchError::NoInstance {
            kernel: task.variant.name,
            given: ty,
            known: task.variant.known(),
        });
    };
    let batches = Batches::new(of, task);
    let zeros = |ty, len| AnyBuffer::filled(device, ty, len, 0);
    Ok(Box::new(Long {
        device: device.clone(),
        variant: task.variant,
        options: *task.options,
        of,
        rows,
        factors: AnyBuffer::upload(device, ty, (of.factors)())?,
        roots: AnyBuffer::upload(device, ty, (rows.roots)())?,
        spectrum: zeros(ty, of.spectrum_len)?,
        points: zeros(ty, (batches.pairs + 1) * 2 * of.points)?,
        // The same number of outputs at another offset may need one pair more.
        marks: zeros(Type::U32, (batches.all + 2) * rows.marks_len)?,
    }))
}

impl Held for Long {
    /// Row by row. Taps that all rows share are transformed for the first one.
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        mut output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let (one, len) = (problem.row(), problem.extents[3]);
        let [_, [_, of_taps]] = lens(problem);
        let mut plan = None;
        for at in 0..problem.all_rows() {
            let outputs = output.as_view_mut().into_view_mut(at * len..(at + 1) * len);
            let operands = row(problem, inputs, at);
            plan = self.enqueue_row(stream, &one, operands, outputs, at == 0 || of_taps != 1)?;
        }
        Ok(plan)
    }

    fn serves(&self, problem: &Problem) -> bool {
        let task = Task::new(
            self.variant,
            problem,
            &self.options,
            self.device.properties(),
        );
        let marks = (Batches::new(self.of, &task).all + 1) * self.rows.marks_len;
        problem.ty == self.spectrum.ty() && marks <= self.marks.len()
    }
}

impl Long {
    /// Starts three launches per batch, and for the taps, whose columns the first one includes, one
    /// more, if `taps_too`.
    fn enqueue_row(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        [signal, taps]: [AnyView<'_>; 2],
        mut output: AnyViewMut<'_>,
        taps_too: bool,
    ) -> Result<Option<Plan>, LaunchError> {
        let Self {
            device,
            variant,
            options,
            of,
            rows,
            factors,
            roots,
            spectrum,
            points,
            marks,
        } = self;
        let task = Task::new(variant, problem, options, device.properties());
        let whole = (variant.plan)(&task)?;
        let on = (&*device, stream);
        let (columns, len) = (rows.columns, 2 * of.points);
        let room = points.len() / len - 1;
        let [shared, levels] = [of.shared_bytes, rows.levels_bytes].map(|bytes| bytes as u64);
        let [samples, taps_len, offset, outputs] = problem.extents;
        let shift = shift(offset);
        let batches = Batches::new(of, &task);
        let pair = 2 * batches.kept;
        let most = batches.pairs.min(room) * pair;
        let step = |extents| Problem {
            extents,
            ..*problem
        };
        for first in (0..outputs).step_by(most) {
            let outputs = most.min(outputs - first);
            let (before, pairs) = (first / pair, outputs.div_ceil(pair));
            // The first batch includes the taps.
            let with_taps = taps_too && first == 0;
            let all = pairs + usize::from(with_taps);
            let plan = task.plan_1d([COLUMNS, 0], all * columns, THREADS, 0)?;
            let start = (offset + first + shift).wrapping_sub(batches.discarded);
            let inputs = [signal, taps, roots.as_view()];
            let transformed = points.as_view_mut().into_view_mut(..all * len);
            let marked = marks.as_view_mut().into_view_mut(before * rows.marks_len..);
            let part = step([start, batches.kept, pairs, shift]);
            plan.start(
                on,
                Operands::of(part, &inputs, transformed).with_memory(marked),
            )?;
            if with_taps {
                // A block for each row, whatever the cap.
                let kernel = task.kernel([ROWS, 0])?;
                let name = kernel.entry.name;
                let launch = plan_1d(name, RADIX as u32, of.threads, shared, task.device)?;
                let inputs = [
                    points.as_view().view(pairs * len..all * len),
                    factors.as_view(),
                    (marks.as_view()).view(pairs * rows.marks_len..all * rows.marks_len),
                ];
                let operands = Operands::of(*problem, &inputs, spectrum.as_view_mut());
                Plan { launch, kernel }.start(on, operands)?;
            }
            let plan = task.plan_blocks([ROWS, 0], pairs * RADIX, of.threads, shared)?;
            let none = marks.as_view().view(..0);
            let inputs = [spectrum.as_view(), factors.as_view(), none];
            let in_place = points.as_view_mut().into_view_mut(..pairs * len);
            plan.start(on, Operands::of(*problem, &inputs, in_place))?;
            let blocks = pairs * (columns / of.threads as usize);
            let plan = task.plan_blocks([OUTPUTS, 0], blocks, of.threads, levels)?;
            let inputs = [
                signal,
                taps,
                spectrum.as_view(),
                factors.as_view(),
                roots.as_view(),
                (marks.as_view()).view(before * rows.marks_len..(before + pairs) * rows.marks_len),
            ];
            let of_batch = output.as_view_mut().into_view_mut(first..first + outputs);
            let transformed = points.as_view_mut().into_view_mut(..pairs * len);
            let part = step([samples, taps_len, offset + first, outputs]);
            let operands = Operands::of(part, &inputs, of_batch).with_memory(transformed);
            plan.start(on, operands)?;
        }
        Ok(Some(whole))
    }
}
