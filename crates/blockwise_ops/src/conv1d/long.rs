//! Convolutions by transforms through global memory, in batches of windows.

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, Stream, Type};
use kernels::conv1d::fft::columns::{RADIX, THREADS};

use super::transform::{Batches, COLUMNS, OUTPUTS, ROWS, Rows, Transform, transform};
use super::{lens, ordered, row};
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
    /// Their marks.
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
        marks: zeros(Type::U32, (batches.pairs + 1) * rows.marks_len)?,
    }))
}

impl Held for Long {
    /// All rows that share the taps together; otherwise row by row.
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        mut output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let [_, [_, of_taps]] = lens(problem);
        if of_taps == 1 {
            return self.enqueue_rows(stream, problem, ordered(problem, inputs), output);
        }
        let (one, len) = (problem.row(), problem.extents[3]);
        let mut plan = None;
        for at in 0..problem.all_rows() {
            let outputs = output.as_view_mut().into_view_mut(at * len..(at + 1) * len);
            plan = self.enqueue_rows(stream, &one, row(problem, inputs, at), outputs)?;
        }
        Ok(plan)
    }

    fn serves(&self, problem: &Problem) -> bool {
        problem.ty == self.spectrum.ty()
    }
}

impl Long {
    /// Starts three launches per batch of pairs of windows, and for the taps, whose columns the
    /// first one includes, one more.
    fn enqueue_rows(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        [signal, taps]: [AnyView<'_>; 2],
        mut output: AnyViewMut<'_>,
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
        let [_, _, offset, outputs] = problem.extents;
        let [_, [of_signal, _]] = lens(problem);
        let batches = Batches::new(of, &task);
        if output.is_empty() {
            return Ok(Some(whole));
        }
        for before in (0..batches.all).step_by(batches.pairs.min(room)) {
            let pairs = batches.pairs.min(room).min(batches.all - before);
            let part = Problem {
                extents: [before, pairs, offset, outputs],
                rows: [of_signal, 1],
                ..*problem
            };
            // The first batch includes the taps.
            let with_taps = before == 0;
            let all = pairs + usize::from(with_taps);
            let plan = task.plan_1d([COLUMNS, 0], all * columns, THREADS, 0)?;
            let inputs = [signal, taps, roots.as_view()];
            let transformed = points.as_view_mut().into_view_mut(..all * len);
            let operands = Operands::of(part, &inputs, transformed);
            plan.start(on, operands.with_memory(marks.as_view_mut()))?;
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
                marks.as_view().view(..pairs * rows.marks_len),
            ];
            let transformed = points.as_view_mut().into_view_mut(..pairs * len);
            let operands = Operands::of(part, &inputs, output.as_view_mut());
            plan.start(on, operands.with_memory(transformed))?;
        }
        Ok(Some(whole))
    }
}
