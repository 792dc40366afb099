//! An array in reverse order, whole or along an axis.

use blockwise::{AnyView, Device, Stream, Type, View, ViewMut};
use kernels::raw::reverse::{reverse_dynamic_raw, reverse_static_raw};
use kernels::reverse::along::reverse_along;
use kernels::reverse::direct::{self, reverse_direct};
use kernels::reverse::dynamic::reverse_dynamic;
use kernels::reverse::fixed::reverse_static;
use ndarray::{Array1, ArrayView1};

use crate::operation::{
    self, Asked, Axis, Bench, Case, Expected, Given, Lens, Numbers, Operand, Operation, Options,
    Parts, Plan, Posed, Problem, Rank, Setting, Size, Task, Tier, Variant, Work, raw_words, words,
};
use crate::{Element, Execution, LaunchError, dimensions};

/// Reverse. The extents of a problem: all dimensions before the axis, the axis, all after it.
pub static REVERSE: Operation = Operation {
    name: "reverse",
    about: "Reverse an array",
    example: "x.npy -o reversed.npy",
    operands: &[Operand {
        name: "input",
        about: "The array (.npy or .csv), of any shape",
        rank: Rank::Any,
    }],
    settings: &[Setting::Axis {
        about: "Reverse this axis only, counted from the back if negative; all of them without it",
    }],
    result: "the reversed array",
    types: |types, _| types[0],
    widens: "",
    gives: |ty| ty,
    sizes: &[Size {
        name: "len",
        about: "Elements",
        profile: 1 << 16,
    }],
    shapes: |sizes| vec![sizes.to_vec()],
    pose: |ty, shapes, given| {
        let Axis {
            outer,
            extent,
            inner,
        } = Axis::of(shapes[0], given.axis)?;
        Ok(Posed {
            // For a whole array, the first extent is the number of elements, as in `sizes`.
            problem: Problem::new(ty, &[extent, outer, inner]),
            result: shapes[0].to_vec(),
        })
    },
    lens: |problem| Lens {
        inputs: [problem.product(), 0],
        output: problem.product(),
    },
    work: |problem| Work {
        bytes: problem.bytes(problem.product()).saturating_mul(2),
        operations: 0,
    },
    reference,
    variants: &[&STATIC, &STATIC_RAW, &DYNAMIC, &DYNAMIC_RAW, &DIRECT, &AXIS],
    choice: |task| match is_whole(task.problem) {
        true => &DIRECT,
        false => &AXIS,
    },
    parts: Parts::Whole,
    bench: Bench {
        types: &[(Type::F32, &[&[1 << 28]])],
        quick: &[1 << 24],
        drawn: &[400_000_000],
        batch: None,
        numbers: Numbers::Uniform,
        every: &[],
    },
    cases: CASES,
    edges: &[&[0], &[1], &[2], &[255], &[256], &[257], &[509], &[1031]],
};

/// Whether the whole array is reversed, as one row.
fn is_whole(problem: &Problem) -> bool {
    problem.extents[1..] == [1; 3]
}

fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let [extent, _, inner, _] = asked.problem.extents;
    Expected::moved(&asked.inputs[0], asked.runs, |at| {
        let (row, column) = (at / inner, at % inner);
        let (outer, along) = (row / extent, row % extent);
        (outer * extent + extent - 1 - along) * inner + column
    })
}

/// Kernels that take an input and an output, one for each width of word.
macro_rules! slices {
    (unsafe $handle:ident, $words:tt) => {
        raw_words!($words, [0, 0], $handle, |of, T| (
            of.inputs[0].plain::<T>()?,
            of.output.plain::<T>()?
        ))
    };
    ($handle:ident, $words:tt) => {
        words!($words, [0, 0], $handle, |of, T| (
            of.inputs[0].plain::<T>()?,
            of.output.plain::<T>()?
        ))
    };
}

/// A shared array whose length is fixed in the kernel.
pub static STATIC: Variant = Variant::new(
    "static",
    "a shared array whose length is fixed in the kernel",
    slices!(reverse_static, [u32]),
    |task| of_tiles(task, task.fixed_block(kernels::reverse::THREADS)?, 0, 1),
)
.tier(Tier::Document);

/// The same in rust-cuda's form.
pub static STATIC_RAW: Variant = Variant::new(
    "static-raw",
    "the same in rust-cuda's form",
    slices!(unsafe reverse_static_raw, [u32]),
    |task| of_tiles(task, task.fixed_block(kernels::reverse::THREADS)?, 0, 1),
)
.tier(Tier::Document);

/// A shared array whose length the launch gives.
pub static DYNAMIC: Variant = Variant::new(
    "dynamic",
    "a shared array whose length the launch gives",
    slices!(reverse_dynamic, [u32]),
    dynamic_plan,
)
.tier(Tier::Document);

/// The same in rust-cuda's form.
pub static DYNAMIC_RAW: Variant = Variant::new(
    "dynamic-raw",
    "the same in rust-cuda's form",
    slices!(unsafe reverse_dynamic_raw, [u32]),
    dynamic_plan,
)
.tier(Tier::Document);

/// No shared memory, several loads in flight in each thread: the fastest.
pub static DIRECT: Variant = Variant::new(
    "direct",
    "no shared memory, several loads in flight in each thread",
    slices!(reverse_direct, [u8 u16 u32 u64]),
    |task| of_tiles(task, threads(task), 0, direct::ITEMS),
);

/// The same along an axis.
pub static AXIS: Variant = Variant::new(
    "axis",
    "the same along an axis",
    words!([u8 u16 u32 u64], [0, 0], reverse_along, |of, T| (
        of.inputs[0].plain::<T>()?,
        of.output.plain::<T>()?,
        of.problem.extents[0],
        of.problem.extents[2]
    )),
    |task| {
        task.plan_1d(
            [0, 0],
            task.problem.product().div_ceil(direct::ITEMS),
            threads(task),
            0,
        )
    },
);

fn threads(task: &Task<'_>) -> u32 {
    task.options.threads.unwrap_or(kernels::reverse::THREADS)
}

fn dynamic_plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let threads = threads(task);
    of_tiles(
        task,
        threads,
        u64::from(threads) * task.problem.ty.bytes() as u64,
        1,
    )
}

/// A plan of a kernel that reverses a row.
fn of_tiles(
    task: &Task<'_>,
    threads: u32,
    shared_bytes: u64,
    items: usize,
) -> Result<Plan, LaunchError> {
    if !is_whole(task.problem) {
        let kernel = task.variant.name;
        return Err(LaunchError::NoAxes { kernel });
    }
    let len = task.problem.product();
    task.plan_1d([0, 0], len.div_ceil(items), threads, shared_bytes)
}

/// Partial and whole tiles, a grid that strides, one element.
static CASES: &[Case] = &[
    Case::of(&[2100]).capped(2),
    Case::of(&[1]),
    Case::of(&[512]).spare(),
    Case::of(&[]).along(&[7, 5, 61], 1).capped(1),
    Case::of(&[]).along(&[40, 32], 0).spare(),
    Case::of(&[]).along(&[2, 512], -1),
];

/// Starts the reversal of `input` into `output`, of the same length. `None` when there was nothing
/// to launch.
///
/// # Errors
/// Those of [`operation::plan`], an output of another length, and what goes wrong on the device.
pub fn enqueue<'a, T: Element>(
    device: &Device,
    stream: Option<&Stream>,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Plan>, LaunchError> {
    let inputs = [AnyView::from(input.into())];
    let problem = Problem::new(T::TYPE, &[inputs[0].len()]);
    operation::enqueue(
        device,
        stream,
        &REVERSE,
        &problem,
        options,
        &inputs,
        output.into().into(),
    )
}

/// Reverses `input` into `output`, of the same length, and waits. `None` when there was nothing to
/// launch.
///
/// # Errors
/// Those of [`enqueue`].
pub fn reverse_buffers<'a, T: Element>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Execution>, LaunchError> {
    Execution::of(device, || {
        let plan = enqueue(device, None, input, output, options)?;
        Ok(plan.map(|plan| plan.launch))
    })
}

/// The elements in reverse order.
///
/// # Errors
/// As for [`reverse_buffers`].
pub fn reverse<T: Element>(
    device: &Device,
    input: ArrayView1<'_, T>,
    options: &Options,
) -> Result<Array1<T>, LaunchError> {
    let input = [input.into_dyn()];
    let given = Given::default();
    dimensions(operation::array(device, &REVERSE, &given, options, &input)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LaunchPlan;
    use crate::limits::h200;

    fn options(kernel: &'static Variant, threads: u32) -> Options {
        Options {
            threads: Some(threads),
            ..Options::of(kernel)
        }
    }

    fn launch(len: usize, options: &Options) -> Result<Option<LaunchPlan>, LaunchError> {
        let problem = Problem::new(Type::F32, &[len]);
        let plan = operation::plan(&REVERSE, &problem, options, &h200())?;
        Ok(plan.map(|plan| plan.launch))
    }

    #[test]
    fn the_dynamic_kernel_gets_one_slot_per_thread() {
        let problem = Problem::new(Type::F32, &[1000]);
        let plan = operation::plan(&REVERSE, &problem, &options(&DYNAMIC, 100), &h200());
        let plan = plan.expect("allowed").expect("a launch").launch;
        assert_eq!(plan.kernel, "reverse_dynamic_u32");
        assert_eq!(
            (plan.grid, plan.block, plan.dynamic_shared_bytes),
            ([10, 1, 1], [100, 1, 1], 400)
        );
    }

    #[test]
    fn a_thread_of_the_direct_kernel_has_several_elements() {
        for (len, blocks) in [(400, 1), (401, 2)] {
            let plan = launch(len, &options(&DIRECT, 100));
            let plan = plan.expect("allowed").expect("a launch");
            assert_eq!(plan.kernel, "reverse_direct_u32");
            assert_eq!((plan.grid, plan.dynamic_shared_bytes), ([blocks, 1, 1], 0));
        }
    }

    #[test]
    fn the_static_kernel_has_its_own_threads_only() {
        let own = launch(1000, &options(&STATIC, 256))
            .expect("allowed")
            .expect("a launch");
        assert_eq!(
            (own.kernel, own.dynamic_shared_bytes),
            ("reverse_static_u32", 0)
        );
        let error = launch(1000, &options(&STATIC, 128)).expect_err("another block");
        assert!(matches!(
            error,
            LaunchError::FixedBlock {
                needed: 256,
                given: 128,
                ..
            }
        ));
    }

    #[test]
    fn nothing_is_no_launch_but_limits_still_hold() {
        assert_eq!(launch(0, &Options::default()).expect("allowed"), None);
        let refused = |threads| launch(0, &options(&DYNAMIC, threads));
        assert!(matches!(refused(0), Err(LaunchError::ZeroThreads { .. })));
        assert!(matches!(
            refused(1025),
            Err(LaunchError::TooManyThreads { .. })
        ));
    }
}
