//! The launch that adds the products of slices.

use blockwise::{AnyView, AnyViewMut, Device, Stream};
use kernels::matmul::fold::{MOST_BLOCKS, THREADS, blocks};

use super::kernels::FOLD;
use super::plan::blocks_of;
use crate::LaunchError;
use crate::by_width::by_width;
use crate::operation::{Operands, PACK, Task};

/// Starts it, for a C of any length at any address.
pub(super) fn enqueue(
    on: (&Device, Option<&Stream>),
    task: &Task<'_>,
    sums: AnyView<'_>,
    c: AnyViewMut<'_>,
) -> Result<(), LaunchError> {
    let slices = sums.len().checked_div(c.len()).unwrap_or_default();
    let aligned = sums.is_aligned(PACK) && c.is_aligned(PACK);
    let blocks = by_width!(task.problem.ty.bytes(), T => blocks::<T>(c.len(), slices, aligned));
    let blocks = blocks.min(MOST_BLOCKS as usize);
    let plan = blocks_of(task, [FOLD, 0], blocks, THREADS, 0)?;
    plan.start(on, Operands::of(*task.problem, &[sums], c))
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

    /// One thread adds all parts, four lanes share them, or each element has its own: the order of
    /// a sum is the same.
    #[test]
    fn the_bits_of_a_sum_depend_on_its_slices_alone() {
        fn bits<T: blockwise::Typed + From<f32> + PartialEq + std::fmt::Debug>() {
            let device = Device::emulator();
            let outputs = 264;
            for slices in [1, 2, 5, 8, 9, 16, 17, 40] {
                let value = |i: usize| T::from(1.0 / (1.0 + (i * 7 % 101) as f32));
                let sums: Vec<T> = (0..outputs * slices).map(value).collect();
                let sums = device.upload(&sums).unwrap();
                let (problem, options) =
                    (Problem::new(T::TYPE, &[1, 1, outputs]), Options::default());
                let variant = match T::TYPE {
                    Type::F32 => &super::super::SLICED,
                    _ => &super::super::MMA,
                };
                let task = Task::new(variant, &problem, &options, device.properties());
                let of = |offset: usize| {
                    let nothing = vec![T::from(f32::NAN); offset + outputs];
                    let mut all = device.upload(&nothing).unwrap();
                    let c = all.as_view_mut().into_view_mut(offset..);
                    enqueue((&device, None), &task, sums.as_view().into(), c.into()).unwrap();
                    all.to_vec().unwrap().split_off(offset)
                };
                assert_eq!(of(0), of(1), "{slices} slices");
            }
        }
        bits::<f32>();
        bits::<f64>();
    }
}
