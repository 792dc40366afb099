//! The one way to run an operation.

use std::time::{Duration, Instant};

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, DeviceProperties, Stream, Type};

use ndarray::{ArrayD, ArrayViewD};

use super::{Held, Lens, Operands, Operation, Options, Plan, Posed, Problem, Task, Variant};
use crate::array::AnyArray;
use crate::launch::On;
use crate::{Element, LaunchError, check_len, tuning};

/// Bytes at whose multiples packs begin.
const PACK: u64 = kernels::pack::BYTES as u64;

/// The variant: what was asked for, else what was saved for the device, else the fastest by its
/// model.
fn chosen<'a>(
    operation: &'static Operation,
    problem: &'a Problem,
    aligned: bool,
    options: &'a Options,
    device: &'a DeviceProperties,
) -> Result<Task<'a>, LaunchError> {
    let task = |variant| Task {
        problem,
        options,
        device,
        aligned,
        variant,
    };
    if let Some(variant) = options.kernel {
        if !operation.variants.contains(&variant) {
            let (kernel, operation) = (variant.name, operation.name);
            return Err(LaunchError::NotOf { kernel, operation });
        }
        return Ok(task(variant));
    }
    let first = operation.variants[0];
    let saved = tuning::name(
        device,
        operation.name,
        problem.ty.name(),
        operation.extents(problem),
    );
    let named = |name: &str| (operation.variants.iter().copied()).find(|it| it.name == name);
    let saved = saved.and_then(named).map(task);
    // One that was saved may refuse this problem: it is for sizes near its own.
    let saved = saved.filter(|task| (task.variant.plan)(task).is_ok());
    Ok(saved.unwrap_or_else(|| task((operation.choice)(&task(first)))))
}

impl Operation {
    /// The problem's extents, as [`sizes`](Self::sizes) names them.
    pub fn extents<'a>(&self, problem: &'a Problem) -> &'a [usize] {
        &problem.extents[..self.sizes.len().min(problem.extents.len())]
    }

    /// The variant of this name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        (self.variants.iter().copied()).find(|variant| variant.name == name)
    }
}

/// Plans a launch on whole buffers. `None` when there is nothing to compute; limits are checked all
/// the same.
///
/// # Errors
/// What the variant cannot do, and limits that are broken.
pub fn plan(
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    device: &DeviceProperties,
) -> Result<Option<Plan>, LaunchError> {
    let task = chosen(operation, problem, true, options, device)?;
    let plan = (task.variant.plan)(&task)?;
    Ok(((operation.lens)(problem).output > 0).then_some(plan))
}

/// Starts a launch of a variant without memory of its own. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`plan`], operands of other lengths or types, a variant with memory, and what goes wrong
/// on the device.
pub fn enqueue(
    device: &Device,
    stream: Option<&Stream>,
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    inputs: &[AnyView<'_>],
    output: AnyViewMut<'_>,
) -> Result<Option<Plan>, LaunchError> {
    let operands = Given {
        inputs,
        output,
        before: None,
        after: None,
    };
    let mut memory = Memory::None;
    start(
        (device, stream),
        operation,
        problem,
        options,
        operands,
        &mut memory,
    )
}

/// The operands of a launch, as a caller gives them.
struct Given<'a> {
    inputs: &'a [AnyView<'a>],
    output: AnyViewMut<'a>,
    before: Option<AnyView<'a>>,
    after: Option<AnyViewMut<'a>>,
}

/// A variant's own memory.
enum Memory {
    /// None may be allocated.
    None,
    /// Allocated by the first launch.
    Open,
    /// This, which was made for a launch of a variant.
    Of(&'static Variant, AnyBuffer),
    /// This, which was prepared for a problem.
    Held(&'static Variant, Problem, Box<dyn Held>),
}

fn start(
    (device, stream): (&Device, Option<&Stream>),
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    given: Given<'_>,
    memory: &mut Memory,
) -> Result<Option<Plan>, LaunchError> {
    let Given {
        inputs,
        output,
        before,
        after,
    } = given;
    // What was prepared for this problem was chosen and planned then.
    if let Memory::Held(_, of, held) = memory
        && of == problem
        && after.is_none()
    {
        let lens = checked(operation, problem, inputs)?;
        check_len("output", output.len(), lens.output)?;
        return match lens.output {
            0 => Ok(None),
            _ => held.enqueue(stream, problem, inputs, output),
        };
    }
    let aligned = output.is_aligned(PACK) && inputs.iter().all(|input| input.is_aligned(PACK));
    let task = chosen(operation, problem, aligned, options, device.properties())?;
    let plan = (task.variant.plan)(&task)?;
    let lens = checked(operation, problem, inputs)?;
    // Without an output the totals are asked for.
    let totals = output.is_empty() && after.is_some();
    if !totals {
        check_len("output", output.len(), lens.output)?;
    }
    if lens.output == 0 {
        return Ok(None);
    }
    let alone = matches!(memory, Memory::None) && (task.variant.alone)(&task);
    if let Some(hold) = task.variant.hold.filter(|_| !alone) {
        if after.is_some() {
            return Err(LaunchError::NotDivided {
                operation: operation.name,
            });
        }
        let fits = match memory {
            Memory::None => return Err(needs_memory(task.variant)),
            Memory::Held(variant, of, _) => *variant == task.variant && of == problem,
            Memory::Open | Memory::Of(..) => false,
        };
        if !fits {
            // What it was before is freed first.
            *memory = Memory::Open;
            *memory = Memory::Held(task.variant, *problem, hold(device, &task)?);
        }
        if let Memory::Held(_, _, held) = memory {
            return held.enqueue(stream, problem, inputs, output);
        }
    }
    let bytes = (task.variant.memory)(&task);
    if bytes > 0 {
        let fits = match memory {
            Memory::None => return Err(needs_memory(task.variant)),
            Memory::Open | Memory::Held(..) => false,
            Memory::Of(variant, buffer) => *variant == task.variant && buffer.len() >= bytes,
        };
        if !fits {
            let buffer = AnyBuffer::filled(device, Type::U8, bytes, 0)?;
            *memory = Memory::Of(task.variant, buffer);
        }
    }
    let memory = match memory {
        Memory::Of(_, buffer) if bytes > 0 => Some(buffer.as_view_mut().into_view_mut(..bytes)),
        _ => None,
    };
    let operands = Operands {
        problem: *problem,
        inputs,
        output,
        memory,
        before,
        after,
    };
    (plan.kernel.launch)(On::new(device, stream, &plan.launch), operands)?;
    Ok(Some(plan))
}

/// The lengths of the problem's operands, which these inputs have.
fn checked(
    operation: &Operation,
    problem: &Problem,
    inputs: &[AnyView<'_>],
) -> Result<Lens, LaunchError> {
    let lens = (operation.lens)(problem);
    for (at, operand) in operation.operands.iter().enumerate() {
        let Some(input) = inputs.get(at).filter(|input| input.ty() == problem.ty) else {
            return Err(LaunchError::OperandType {
                what: operand.name,
                wanted: problem.ty,
                given: inputs.get(at).map(AnyView::ty),
            });
        };
        check_len(operand.name, input.len(), lens.inputs[at])?;
    }
    Ok(lens)
}

fn needs_memory(variant: &Variant) -> LaunchError {
    LaunchError::NeedsMemory {
        kernel: variant.name,
    }
}

/// Launches of an operation that keep a variant's own memory from one to the next. They must follow
/// each other, as in one stream.
pub struct Call {
    device: Device,
    operation: &'static Operation,
    options: Options,
    memory: Memory,
}

impl Call {
    /// Prepares launches.
    pub fn new(device: &Device, operation: &'static Operation, options: Options) -> Self {
        Self {
            device: device.clone(),
            operation,
            options,
            memory: Memory::Open,
        }
    }

    /// Allocates now what launches for a problem need, not with the first one.
    ///
    /// # Errors
    /// Those of [`plan`], and a lack of memory.
    pub fn prepare(&mut self, problem: &Problem) -> Result<(), LaunchError> {
        let properties = self.device.properties();
        let task = chosen(self.operation, problem, true, &self.options, properties)?;
        (task.variant.plan)(&task)?;
        if let Some(hold) = task.variant.hold {
            self.memory = Memory::Open;
            self.memory = Memory::Held(task.variant, *problem, hold(&self.device, &task)?);
        }
        Ok(())
    }

    /// Starts a launch. `None` when there was nothing to launch.
    ///
    /// # Errors
    /// Those of [`plan`], operands of other lengths or types, and what goes wrong on the device.
    pub fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let operands = Given {
            inputs,
            output,
            before: None,
            after: None,
        };
        self.start(stream, problem, operands)
    }

    /// Starts the launch of a part of a problem whose parts are
    /// [carried](super::Parts::Carried). `before` is what the parts before it come to: nothing of
    /// the first. `after` gets the same for the next one; without an output, the totals of what the
    /// part adds.
    ///
    /// # Errors
    /// As for [`enqueue`](Self::enqueue).
    pub fn enqueue_part(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        output: AnyViewMut<'_>,
        (before, after): (Option<AnyView<'_>>, AnyViewMut<'_>),
    ) -> Result<Option<Plan>, LaunchError> {
        let operands = Given {
            inputs,
            output,
            before,
            after: Some(after),
        };
        self.start(stream, problem, operands)
    }

    fn start(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        operands: Given<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let Self {
            device,
            operation,
            options,
            memory,
        } = self;
        start(
            (device, stream),
            operation,
            problem,
            options,
            operands,
            memory,
        )
    }
}

/// An operation on arrays of any shape: copies them to the device, computes, and copies the result
/// back.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::operation::{Given, array};
/// use blockwise_ops::{Options, scan::SCAN};
/// use ndarray::array;
///
/// let device = Device::any()?; // the GPU if there is one, else the emulator
/// let rows = array![[1.0_f32, 2.0, 3.0], [10.0, 20.0, 30.0]].into_dyn();
/// let along = Given { axis: Some(1), ..Given::default() };
/// let sums = array(&device, &SCAN, &along, &Options::default(), &[rows.view()])?;
/// assert_eq!(sums, array![[1.0, 3.0, 6.0], [10.0, 30.0, 60.0]].into_dyn());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Shapes that the operation does not take, a type that it has no kernel for, and what goes wrong on
/// the device.
pub fn array<T: Element>(
    device: &Device,
    operation: &'static Operation,
    given: &super::Given,
    options: &Options,
    inputs: &[ArrayViewD<'_, T>],
) -> Result<ArrayD<T>, LaunchError> {
    if let Some(missing) = operation.operands.get(inputs.len()) {
        return Err(LaunchError::OperandType {
            what: missing.name,
            wanted: T::TYPE,
            given: None,
        });
    }
    let shapes: Vec<_> = inputs.iter().map(ArrayViewD::shape).collect();
    let posed = (operation.pose)(T::TYPE, &shapes, given)?;
    let inputs = inputs.iter().map(|input| AnyArray::of(input.view()));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let (result, _) = run(device, operation, &posed, options, &inputs)?;
    let wrong = LaunchError::NoInstance {
        kernel: operation.name,
        given: T::TYPE,
    };
    result.into_typed().ok_or(wrong)
}

/// Copies the operands to the device, computes, and copies the result back. How long the device
/// took, without the copies, is the second value.
///
/// # Errors
/// Those of [`Call::enqueue`].
pub fn run(
    device: &Device,
    operation: &'static Operation,
    posed: &Posed,
    options: &Options,
    inputs: &[AnyArray],
) -> Result<(AnyArray, Duration), LaunchError> {
    let problem = &posed.problem;
    // Checked before anything is copied.
    plan(operation, problem, options, device.properties())?;
    let upload = |array: &AnyArray| AnyBuffer::upload(device, array.ty(), array.bytes());
    let buffers = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<_> = buffers.iter().map(AnyBuffer::as_view).collect();
    let ty = problem.ty;
    let mut output = AnyBuffer::filled(device, ty, (operation.lens)(problem).output, 0xFF)?;
    let mut call = Call::new(device, operation, *options);
    device.synchronize()?;
    let begin = Instant::now();
    call.enqueue(None, problem, &views, output.as_view_mut())?;
    device.synchronize()?;
    let elapsed = begin.elapsed();
    let mut result = AnyArray::zeros(ty, &posed.result)?;
    output.as_view().copy_to_slice(result.bytes_mut())?;
    Ok((result, elapsed))
}
