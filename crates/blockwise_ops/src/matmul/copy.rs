//! A copy of B to rows that start at whole memory sectors ([`kernels::matmul::pitched`]).

use blockwise::{AnyBuffer, AnyView, Device, Stream, Type};
use kernels::matmul::pitched::{ITEMS, THREADS};
use kernels::matmul::policy::pitch;

use super::kernels::PREPARE;
use super::{SLICED_COPY, extents};
use crate::operation::{Operands, Options, Plan, Problem, Task};
use crate::{LaunchError, matrix_len};

/// The launch that copies B, in the kernel's second layer of blocks: the first one copies A, of
/// which it is given no rows.
fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [_, inner, cols] = extents(task.problem);
    let mut plan = task.plan_2d(
        [PREPARE, 0],
        [pitch(cols), inner],
        [THREADS * ITEMS as u32, 1],
        [THREADS, 1],
    )?;
    plan.launch.grid[2] = 2;
    Ok(plan)
}

/// Memory for the copy.
pub(super) struct Copies {
    b: AnyBuffer,
}

impl Copies {
    /// Allocates memory for a copy of B, up to seven elements more per row. A has no copy: threads
    /// of `sliced` read single elements of A, but vectors of B.
    pub(super) fn of_b(device: &Device, problem: &Problem) -> Result<Self, LaunchError> {
        let [_, inner, cols] = extents(problem);
        let len = matrix_len(inner, pitch(cols))?;
        let b = AnyBuffer::filled(device, Type::F32, len, 0)?;
        Ok(Self { b })
    }

    /// Starts the copy, and returns it.
    pub(super) fn enqueue(
        &mut self,
        on: (&Device, Option<&Stream>),
        options: &Options,
        problem: &Problem,
        b: AnyView<'_>,
    ) -> Result<AnyView<'_>, LaunchError> {
        let task = Task::new(&SLICED_COPY, problem, options, on.0.properties());
        plan(&task)?.start(on, Operands::of(*problem, &[b], self.b.as_view_mut()))?;
        Ok(self.b.as_view())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    #[test]
    fn the_copy_covers_whole_rows() {
        let (problem, options) = (
            Problem::new(Type::F32, &[3, 70_000, 1017]),
            Options::default(),
        );
        let planned = plan(&Task::new(&SLICED_COPY, &problem, &options, &h200()));
        let planned = planned.expect("allowed").launch;
        assert_eq!((planned.grid, planned.block), ([1, 65_535, 2], [256, 1, 1]));
    }

    #[test]
    fn sizes_beyond_memory_are_refused() {
        let device = Device::emulator();
        for of in [[3, usize::MAX, 4], [3, 4, usize::MAX]] {
            let problem = Problem::new(Type::F32, &of);
            assert!(Copies::of_b(&device, &problem).is_err(), "{of:?}");
        }
    }
}
