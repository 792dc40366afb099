//! Copies of the operands to rows that start at whole memory sectors.

use blockwise::{AnyBuffer, AnyView, Device, Stream, Type};
use kernels::matmul::pitched::{ITEMS, THREADS};
use kernels::matmul::policy::pitch;

use super::kernels::PREPARE;
use super::{PITCHED, extents};
use crate::operation::{Operands, Options, Plan, Problem, Task};
use crate::{LaunchError, matrix_len};

/// The launch that copies A and B; B alone if the problem has no rows.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [rows, inner, cols] = extents(task.problem);
    let widest = if rows > 0 { inner.max(cols) } else { cols };
    let mut plan = task.of(&PITCHED).plan_2d(
        [PREPARE, 0],
        [pitch(widest), rows.max(inner)],
        [THREADS * ITEMS as u32, 1],
        [THREADS, 1],
    )?;
    plan.launch.grid[2] = 2;
    Ok(plan)
}

/// Memory for the copies.
pub(super) struct Copies {
    /// Without rows of A if only B is copied.
    problem: Problem,
    a: AnyBuffer,
    b: AnyBuffer,
}

impl Copies {
    /// Allocates the memory: that of A and B, plus up to seven elements per row.
    pub(super) fn of_both(device: &Device, problem: &Problem) -> Result<Self, LaunchError> {
        let room = |rows, cols| -> Result<_, LaunchError> {
            let len = matrix_len(rows, pitch(cols))?;
            Ok(AnyBuffer::filled(device, Type::F32, len, 0)?)
        };
        let [rows, inner, cols] = extents(problem);
        Ok(Self {
            problem: *problem,
            a: room(rows, inner)?,
            b: room(inner, cols)?,
        })
    }

    /// Allocates memory for a copy of B alone: threads of `sliced` read single elements of A, but vectors of B.
    pub(super) fn of_b(device: &Device, problem: &Problem) -> Result<Self, LaunchError> {
        let mut problem = *problem;
        problem.extents[0] = 0;
        Self::of_both(device, &problem)
    }

    /// Starts the copies, and returns them; without an inner extent there is nothing to copy.
    pub(super) fn enqueue(
        &mut self,
        on: (&Device, Option<&Stream>),
        options: &Options,
        [a, b]: [AnyView<'_>; 2],
    ) -> Result<[AnyView<'_>; 2], LaunchError> {
        let problem = self.problem;
        let [rows, inner, _] = extents(&problem);
        if inner > 0 {
            let task = Task::new(&PITCHED, &problem, options, on.0.properties());
            let plan = plan(&task)?;
            plan.start(
                on,
                Operands::of(problem, &[a.view(..rows * inner), b], self.a.as_view_mut())
                    .with_after(self.b.as_view_mut()),
            )?;
        }
        Ok([self.a.as_view(), self.b.as_view()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    #[test]
    fn the_copies_cover_whole_rows_and_both_operands() {
        let (problem, options) = (
            Problem::new(Type::F32, &[3, 70_000, 1017]),
            Options::default(),
        );
        let planned = plan(&Task::new(&PITCHED, &problem, &options, &h200()));
        let planned = planned.expect("allowed").launch;
        assert_eq!(
            (planned.grid, planned.block),
            ([69, 65_535, 2], [256, 1, 1])
        );
    }
}
