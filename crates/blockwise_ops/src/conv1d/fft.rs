//! Convolutions by transforms in shared memory.

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, Stream};

use super::transform::{TAPS, takes_rows, transform};
use super::{ordered, row};
use crate::operation::{Held, Operands, Options, Plan, Problem, Task, Variant};
use crate::{LaunchError, limits};

/// The taps' spectrum, which each call computes, and the twiddle factors: at most 1 MiB.
struct Fft {
    device: Device,
    variant: &'static Variant,
    options: Options,
    taps: Plan,
    factors: AnyBuffer,
    spectrum: AnyBuffer,
}

pub(super) fn hold(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    let ty = task.problem.ty;
    let taps = task.kernel([TAPS, 0])?;
    let of = transform(task.variant, ty).ok_or(LaunchError::NoInstance {
        kernel: task.variant.name,
        given: ty,
        known: task.variant.known(),
    })?;
    let launch = limits::plan_1d(
        taps.entry.name,
        1,
        of.threads,
        of.shared_bytes as u64,
        task.device,
    )?;
    Ok(Box::new(Fft {
        device: device.clone(),
        variant: task.variant,
        options: *task.options,
        taps: Plan {
            launch,
            kernel: taps,
        },
        factors: AnyBuffer::upload(device, ty, (of.factors)())?,
        spectrum: AnyBuffer::filled(device, ty, of.spectrum_len, 0)?,
    }))
}

impl Held for Fft {
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        mut output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let Self {
            device,
            variant,
            options,
            taps: of_taps,
            factors,
            spectrum,
        } = self;
        let plan = (variant.plan)(&Task::new(variant, problem, options, device.properties()))?;
        let on = (&*device, stream);
        let mut launch =
            |problem: Problem, [signal, taps]: [AnyView<'_>; 2], output: AnyViewMut<'_>| {
                let inputs = [taps, factors.as_view()];
                of_taps.start(on, Operands::of(problem, &inputs, spectrum.as_view_mut()))?;
                let inputs = [signal, taps, spectrum.as_view(), factors.as_view()];
                plan.start(on, Operands::of(problem, &inputs, output))
            };
        if problem.rows == [1; 2] || takes_rows(variant, problem) {
            launch(*problem, ordered(problem, inputs), output)?;
            return Ok(Some(plan));
        }
        let len = problem.extents[3];
        for at in 0..problem.all_rows() {
            let outputs = output.as_view_mut().into_view_mut(at * len..(at + 1) * len);
            launch(problem.row(), row(problem, inputs, at), outputs)?;
        }
        Ok(Some(plan))
    }

    fn serves(&self, problem: &Problem) -> bool {
        problem.ty == self.spectrum.ty()
    }
}
