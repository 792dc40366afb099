//! The matrix product C = A·B of f32 on the tensor cores of compute capability 9.0, with an error
//! no larger than that of FP32 arithmetic.
//!
//! Three launches in order, without a wait by the host: A and B are split into three BF16 terms
//! each, and their ranges are recorded ([`kernels::matmul::split`]); the product of the terms is
//! computed if those ranges allow it ([`kernels::matmul::tensor`]); otherwise (infinities, NaN,
//! very large or small elements) the same words make FP32 arithmetic compute it
//! ([`kernels::matmul::pipelined`]).

use blockwise::{AnyView, AnyViewMut, Buffer, Device, DeviceKind, DeviceProperties, Stream};
use kernels::matmul::split::{self, DEPTH, RANGE_WORDS, SIDE};
use kernels::matmul::tensor::{SHARED_BYTES, TENSOR as POLICY, THREADS, matmul_tensor_f32};

use super::kernels::PREPARE;
use super::plan::{self, blocks_of, check};
use super::{PIPELINED, TENSOR, extents};
use crate::LaunchError;
use crate::operation::{Held, Operands, Options, Plan, Problem, Task};

/// The only compute capability that has these instructions.
const CAPABILITY: (u32, u32) = (9, 0);

/// The launch that multiplies: one block per multiprocessor.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    check(task)?;
    let device = task.device;
    if device.kind != DeviceKind::Cuda || device.compute_capability != CAPABILITY {
        return Err(missing(device));
    }
    let [rows, _, cols] = extents(task.problem);
    let tiles = rows
        .div_ceil(POLICY.rows)
        .saturating_mul(cols.div_ceil(POLICY.cols));
    let blocks = tiles.min(device.multiprocessors as usize);
    blocks_of(task, [0, 0], blocks, THREADS, SHARED_BYTES)
}

fn missing(device: &DeviceProperties) -> LaunchError {
    LaunchError::TensorCores {
        device: device.name.clone(),
    }
}

/// The launch that splits A and B.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan_split(
    problem: &Problem,
    options: &Options,
    device: &DeviceProperties,
) -> Result<Plan, LaunchError> {
    let [rows, inner, cols] = extents(problem);
    let task = Task::new(&TENSOR, problem, options, device);
    let mut plan = task.plan_2d(
        [PREPARE, 0],
        [inner, rows.max(cols)],
        [DEPTH as u32, SIDE as u32],
        [split::THREADS, 1],
    )?;
    plan.launch.grid[2] = 2;
    Ok(plan)
}

/// A product of one shape, with the memory for its split operands.
struct Tensor {
    device: Device,
    options: Options,
    a: Buffer<u32>,
    b: Buffer<u32>,
    ranges: Buffer<u32>,
}

/// Prepares it: 6 bytes for each element of A and B, padded to whole tiles.
pub(super) fn hold(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    // PTX for other architectures lacks the kernel.
    match matmul_tensor_f32::on(device) {
        Ok(_) => {}
        Err(blockwise::Error::UnknownKernel { .. }) => return Err(missing(task.device)),
        Err(error) => return Err(error.into()),
    }
    let [rows, inner, cols] = extents(task.problem);
    let words = |side: usize| {
        split::words(side, inner).ok_or(LaunchError::SizeOverflow {
            what: "the split matrix",
        })
    };
    Ok(Box::new(Tensor {
        device: device.clone(),
        options: *task.options,
        a: device.zeros(words(rows)?)?,
        b: device.zeros(words(cols)?)?,
        ranges: device.zeros(2 * RANGE_WORDS)?,
    }))
}

impl Held for Tensor {
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        mut output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let device = &self.device;
        let properties = device.properties();
        let aligned = |view: &AnyView<'_>| view.is_aligned(kernels::pack::BYTES as u64);
        let task = Task::new(&TENSOR, problem, &self.options, properties);
        let plan = plan(&task)?;
        let split = plan_split(problem, &self.options, properties)?;
        let plain = Problem {
            settings: [0; 2],
            ..*problem
        };
        let (own, every) = (
            Options::default(),
            [
                inputs.first().is_some_and(aligned),
                inputs.get(1).is_some_and(aligned),
                aligned(&output.as_view()),
            ],
        );
        let otherwise = Task {
            problem: &plain,
            options: &own,
            ..task.of(&PIPELINED)
        };
        let mut otherwise = plan::launch(&otherwise, problem.extents[2], every)?;
        // Its blocks stride over C, and usually have nothing to do.
        let few = 2 * properties.multiprocessors;
        otherwise.launch.grid[0] = otherwise.launch.grid[0].min(few);

        // All bits set is an empty range.
        self.ranges.fill_bytes_on(stream, 0xFF)?;
        let on = (device, stream);
        let terms = Operands::of(plain, inputs, self.a.as_view_mut().into())
            .with_memory(self.ranges.as_view_mut().into())
            .with_after(self.b.as_view_mut().into());
        split.start(on, terms)?;
        let terms = [&self.a, &self.b, &self.ranges].map(|it| it.as_view().into());
        plan.start(on, Operands::of(plain, &terms, output.as_view_mut()))?;
        otherwise.start(
            on,
            Operands::of(plain, inputs, output).with_before(terms[2]),
        )?;
        Ok(Some(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;
    use crate::matmul::MATMUL;
    use crate::operation::{Given, array};
    use blockwise::Type;
    use ndarray::Array2;

    #[test]
    fn the_emulator_refuses_and_says_what_it_takes() {
        let device = Device::emulator();
        let a = Array2::<f32>::zeros((3, 4)).into_dyn();
        let given = Given {
            settings: [1, 0],
            ..Given::default()
        };
        let error = array(
            &device,
            &MATMUL,
            &given,
            &Options::default(),
            &[a.view(), a.t()],
        );
        let error = error.expect_err("no such instructions");
        assert!(matches!(error, LaunchError::TensorCores { .. }), "{error}");
        assert!(
            error.to_string().contains("compute capability 9.0"),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("sm_90a")));
    }

    #[test]
    fn a_kernel_that_has_none_is_a_contradiction() {
        let device = Device::emulator();
        let a = Array2::<f32>::zeros((3, 4)).into_dyn();
        let given = Given {
            settings: [1, 0],
            ..Given::default()
        };
        let options = Options::of(&PIPELINED);
        let error = array(&device, &MATMUL, &given, &options, &[a.view(), a.t()]);
        let error = error.expect_err("it has none").to_string();
        assert!(error.contains("--tensor"), "{error}");
    }

    #[test]
    fn one_block_a_multiprocessor_and_all_tiles_of_the_split() {
        let properties = DeviceProperties {
            kind: DeviceKind::Cuda,
            compute_capability: CAPABILITY,
            multiprocessors: 132,
            ..h200()
        };
        let options = Options::default();
        let planned = |rows, cols| {
            let problem = Problem::new(Type::F32, &[rows, 100, cols]);
            plan(&Task::new(&TENSOR, &problem, &options, &properties))
                .expect("allowed")
                .launch
        };
        let small = planned(4096, 129);
        assert_eq!((small.grid, small.block), ([64, 1, 1], [384, 1, 1]));
        assert_eq!(planned(4096, 4096).grid, [132, 1, 1]);
        let problem = Problem::new(Type::F32, &[1, 100, 129]);
        let split = plan_split(&problem, &options, &properties).expect("allowed");
        assert_eq!(
            (split.launch.grid, split.launch.block),
            ([4, 2, 2], [256, 1, 1])
        );
    }
}
