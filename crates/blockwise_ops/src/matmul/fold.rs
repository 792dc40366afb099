//! The launch that adds the products of slices.

use blockwise::{AnyView, AnyViewMut, Device, Stream};
use kernels::matmul::fold::{THREADS, blocks};
use kernels::pack::BYTES;

use super::kernels::FOLD;
use super::plan::blocks_of;
use super::vectors::lanes;
use crate::LaunchError;
use crate::by_width::by_width;
use crate::operation::{Operands, Plan, Task};
use crate::reduce::{Axis, Reduction, enqueue_axis};

/// Plans the launch for a C of that many elements, a whole number of 16-byte packs.
fn plan(task: &Task<'_>, outputs: usize) -> Result<Plan, LaunchError> {
    let blocks = by_width!(task.problem.ty.bytes(), T => blocks::<T>(outputs));
    blocks_of(task, [FOLD, 0], blocks, THREADS, 0)
}

/// Starts it. A C that is not a whole number of 16-byte packs, or is not aligned to them, is added
/// element by element.
pub(super) fn enqueue(
    on: (&Device, Option<&Stream>),
    task: &Task<'_>,
    sums: AnyView<'_>,
    c: AnyViewMut<'_>,
) -> Result<(), LaunchError> {
    let (ty, outputs) = (task.problem.ty, c.len());
    let aligned = sums.is_aligned(BYTES as u64) && c.is_aligned(BYTES as u64);
    if outputs.is_multiple_of(lanes(ty.bytes())) && aligned {
        let plan = plan(task, outputs)?;
        return plan.start(on, Operands::of(*task.problem, &[sums], c));
    }
    let axis = Axis {
        outer: 1,
        extent: sums.len() / outputs.max(1),
        inner: outputs,
    };
    by_width!(ty.bytes(), T => {
        let (sums, c) = (sums.plain::<T>()?, c.plain::<T>()?);
        enqueue_axis(on.0, on.1, sums, c, axis, Reduction::Sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Options, Problem};
    use blockwise::Type;

    /// Small integers: every order of additions gives the same sums.
    #[test]
    fn slices_add_up_at_any_length_and_address() {
        let device = Device::emulator();
        for (outputs, slices, offset) in [
            (4, 1, 0),
            (8, 3, 0),
            (260, 17, 0),
            (4096, 5, 0),
            (7, 6, 0),
            (8, 6, 1),
        ] {
            let value = |i: usize| (i * 7 % 23) as f64 - 11.0;
            let sums: Vec<_> = (0..outputs * slices).map(value).collect();
            let expected: Vec<_> = (0..outputs)
                .map(|i| sums.iter().skip(i).step_by(outputs).sum::<f64>())
                .collect();
            let sums = device.upload(&sums).unwrap();
            let mut all = device.upload(&vec![f64::NAN; offset + outputs]).unwrap();
            let c = all.as_view_mut().into_view_mut(offset..);
            let (problem, options) = (
                Problem::new(Type::F64, &[1, 1, outputs]),
                Options::default(),
            );
            let task = Task::new(&super::super::MMA, &problem, &options, device.properties());
            let sums = AnyView::from(sums.as_view());
            enqueue((&device, None), &task, sums, c.into()).unwrap();
            let c = all.to_vec().unwrap().split_off(offset);
            assert_eq!(c, expected, "{outputs} in {slices}, from {offset} on");
        }
    }
}
