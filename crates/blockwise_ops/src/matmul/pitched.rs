//! The matrix product C = A·B of f32 for extents whose rows start at any address.
//!
//! Two launches in order, without a wait by the host: A and B are copied to rows that start at
//! whole memory sectors ([`kernels::matmul::pitched`]), and the copies are multiplied, 16 bytes at
//! a time. The result has the bits of [`kernels::matmul::pipelined`]'s.

use blockwise::{AnyView, AnyViewMut, Device, Stream, Type};
use kernels::matmul::policy::{PITCHED_FROM, VECTOR};
use kernels::matmul::slices::Cut;

use super::copy::{self, Copies};
use super::plan::{by_blocks, check};
use super::{PITCHED, extents};
use crate::LaunchError;
use crate::operation::{Held, Operands, Options, Plan, Problem, Task};

/// Whether it is worth a trial beside other kernels. It was chosen for such products until the
/// kernels for any address were as fast (docs/log/2026-11-30-choices.md).
pub(super) fn pays(problem: &Problem) -> bool {
    let of = extents(problem);
    problem.ty == Type::F32
        && !of[2].is_multiple_of(VECTOR)
        && of.iter().all(|&extent| extent >= PITCHED_FROM)
}

/// The launch that multiplies the copies, to a C that is aligned to 16 bytes or not.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    check(task)?;
    // Without memory for the copies, which a single slice asks for.
    if task.options.count.is_some() {
        let kernel = PITCHED.name;
        return Err(LaunchError::NeedsMemory { kernel });
    }
    copy::plan(task)?;
    let of = extents(task.problem);
    // Rows of C that are no whole packs are stored by elements, wherever they begin.
    let vectors = task.aligned || !of[2].is_multiple_of(VECTOR);
    by_blocks(task, [u8::from(!vectors), 0], Cut::Tall.policy(vectors), of)
}

/// A product of one shape, with the memory for the copies of its operands.
struct Pitched {
    device: Device,
    options: Options,
    copies: Copies,
}

/// Prepares it.
pub(super) fn hold(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    let copies = Copies::of_both(device, task.problem)?;
    Ok(Box::new(Pitched {
        device: device.clone(),
        options: *task.options,
        copies,
    }))
}

impl Held for Pitched {
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let &[a, b] = inputs else {
            return Ok(None);
        };
        let plan = plan(&Task {
            aligned: output.is_aligned(kernels::pack::BYTES as u64),
            ..Task::new(&PITCHED, problem, &self.options, self.device.properties())
        })?;
        let on = (&self.device, stream);
        plan.start(
            on,
            Operands::of(
                *problem,
                &self.copies.enqueue(on, &self.options, [a, b])?,
                output,
            ),
        )?;
        Ok(Some(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    #[test]
    fn it_is_tried_for_large_products_of_f32_whose_columns_are_no_vectors() {
        for (of, expected) in [
            ([512, 512, 513], true),
            ([512, 512, 516], false),
            ([511, 9000, 9001], false),
            ([9000, 511, 9001], false),
            ([9000, 9000, 511], false),
        ] {
            assert_eq!(pays(&Problem::new(Type::F32, &of)), expected, "{of:?}");
            assert!(!pays(&Problem::new(Type::F64, &of)));
        }
    }

    #[test]
    fn rows_that_are_no_whole_packs_may_begin_anywhere() {
        let device = h200();
        for (cols, ragged) in [(65, false), (64, true)] {
            let (problem, options) = (
                Problem::new(Type::F32, &[129, 5, cols]),
                Options::of(&PITCHED),
            );
            let task = Task {
                aligned: false,
                ..Task::new(&PITCHED, &problem, &options, &device)
            };
            let kernel = plan(&task).expect("allowed").launch.kernel;
            assert_eq!(
                kernel.contains("ragged"),
                ragged,
                "{cols} columns: {kernel}"
            );
        }
    }

    fn planned(ty: Type, of: &[usize]) -> Result<Plan, LaunchError> {
        let options = Options::of(&PITCHED);
        plan(&Task::new(
            &PITCHED,
            &Problem::new(ty, of),
            &options,
            &h200(),
        ))
    }

    #[test]
    fn the_grid_covers_the_tiles() {
        let planned = planned(Type::F32, &[129, 5, 65]).expect("allowed").launch;
        assert_eq!((planned.grid, planned.block), ([4, 1, 1], [128, 1, 1]));
        assert_eq!(planned.dynamic_shared_bytes, 4 * 3 * 16 * (132 + 64));
    }

    #[test]
    fn doubles_and_sizes_beyond_memory_are_refused() {
        let refused = planned(Type::F64, &[3, 4, 5]).expect_err("f32 only");
        assert!(refused.to_string().contains("f32"), "{refused}");
        let device = Device::emulator();
        for of in [[usize::MAX, 3, 4], [3, usize::MAX, 4], [3, 4, usize::MAX]] {
            let problem = Problem::new(Type::F32, &of);
            assert!(Copies::of_both(&device, &problem).is_err(), "{of:?}");
        }
    }
}
