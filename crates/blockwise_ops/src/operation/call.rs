//! The one way to run an operation.

use std::time::{Duration, Instant};

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, DeviceProperties, Stream, Type};

use ndarray::{ArrayD, ArrayViewD};

use super::{
    Fold, Held, Hold, Lens, Operands, Operation, Options, Plan, Posed, Problem, Task, Tier, Variant,
};
use crate::array::AnyArray;
use crate::{Element, LaunchError, check_len, tuning};

/// The alignment of packs, in bytes.
pub(crate) const PACK: u64 = kernels::pack::BYTES as u64;

/// Whether all operands begin at multiples of 16 bytes.
pub(crate) fn are_aligned(inputs: &[AnyView<'_>], output: &AnyViewMut<'_>) -> bool {
    output.is_aligned(PACK) && inputs.iter().all(|input| input.is_aligned(PACK))
}

/// The variant: the caller's choice, else the one saved for the device, else the fastest by the
/// model.
fn chosen<'a>(
    operation: &'static Operation,
    problem: &'a Problem,
    aligned: bool,
    options: &'a Options,
    device: &'a DeviceProperties,
) -> Result<(Task<'a>, Reason), LaunchError> {
    let task = |variant| Task {
        aligned,
        ..Task::new(variant, problem, options, device)
    };
    if let Some(variant) = options.kernel {
        if !variant.is_of(operation) {
            let (kernel, operation) = (variant.name, operation.name);
            return Err(LaunchError::NotOf { kernel, operation });
        }
        return Ok((task(variant), Reason::Request));
    }
    let first = operation.variants[0];
    let saved = tuning::name(
        device,
        operation.label(problem.settings),
        problem.ty.name(),
        operation.extents(problem),
    );
    let named = |name: &str| (operation.variants.iter().copied()).find(|it| it.name == name);
    let saved = saved.and_then(named).map(task);
    // A saved variant was timed at another size and may refuse this problem. A document's kernel
    // may round differently, so it runs only if it is asked for.
    let saved = saved.filter(|task| task.variant.tier != Tier::Document);
    let saved = saved.filter(|task| (task.variant.plan)(task).is_ok());
    Ok(match saved {
        Some(saved) => (saved, Reason::Saved),
        None => (task((operation.choice)(&task(first))), Reason::Model),
    })
}

/// Which variant is launched, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The variant.
    pub variant: &'static Variant,
    /// Why.
    pub by: Reason,
}

/// Why a variant is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was asked for.
    Request,
    /// It was saved for the device (`blockwise tune --save`).
    Saved,
    /// It is the fastest by its model.
    Model,
}

/// Chooses a variant for whole buffers.
///
/// # Errors
/// A variant of another operation.
pub fn choose(
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    device: &DeviceProperties,
) -> Result<Choice, LaunchError> {
    let (task, by) = chosen(operation, problem, true, options, device)?;
    let variant = task.variant;
    Ok(Choice { variant, by })
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
    let (task, _) = chosen(operation, problem, true, options, device)?;
    let plan = (task.variant.plan)(&task)?;
    Ok(((operation.lens)(problem).output > 0).then_some(plan))
}

/// Starts a launch of a variant without memory of its own. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`plan`], operands of other lengths or types, a variant with memory, and what goes
/// wrong on the device.
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
        (&mut memory, None),
    )
}

/// Starts a launch that allocates nothing: each block's result goes to `after`, and the variant
/// works in `memory`.
pub(crate) fn enqueue_part<'a>(
    (device, stream): (&Device, Option<&Stream>),
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    inputs: &'a [AnyView<'a>],
    [after, memory]: [AnyViewMut<'a>; 2],
) -> Result<Plan, LaunchError> {
    // There is no output besides these results.
    let (output, after) = after.plain::<u8>()?.split_at_mut(0);
    let operands = Given {
        inputs,
        output: output.into(),
        before: None,
        after: Some(after.into()),
    };
    let mut memory = Memory::Lent(memory);
    let on = (device, stream);
    let lent = (&mut memory, None);
    let plan = start(on, operation, problem, options, operands, lent)?;
    plan.ok_or(LaunchError::EmptyInput {
        what: "the list of partial results (nothing was launched)",
    })
}

/// The operands of a launch, as a caller gives them.
struct Given<'a> {
    inputs: &'a [AnyView<'a>],
    output: AnyViewMut<'a>,
    before: Option<AnyView<'a>>,
    after: Option<AnyViewMut<'a>>,
}

/// A variant's own memory.
enum Memory<'a> {
    /// Memory that the caller keeps.
    Lent(AnyViewMut<'a>),
    /// There is none, and none may be allocated.
    None,
    /// Not yet allocated: the first launch does.
    Open,
    /// A buffer that was allocated for this variant.
    Of(&'static Variant, AnyBuffer),
    /// State that was prepared for this variant, problem and alignment.
    Held(&'static Variant, (Problem, bool), Box<dyn Held>),
}

fn start(
    (device, stream): (&Device, Option<&Stream>),
    operation: &'static Operation,
    problem: &Problem,
    options: &Options,
    given: Given<'_>,
    (memory, prepared): (&mut Memory<'_>, Option<(Problem, bool)>),
) -> Result<Option<Plan>, LaunchError> {
    let Given {
        inputs,
        output,
        before,
        after,
    } = given;
    let aligned = are_aligned(inputs, &output);
    // A prepared problem keeps its variant.
    let prepared = prepared.filter(|(of, _)| of == problem);
    let expected = prepared.map_or(aligned, |(_, aligned)| aligned);
    // The variant was chosen and planned when this state was prepared.
    if let Memory::Held(_, of, held) = memory
        && *of == (*problem, expected)
        && after.is_none()
    {
        let lens = checked(operation, problem, inputs)?;
        check_len("output", output.len(), lens.output)?;
        return match lens.output {
            0 => Ok(None),
            _ => held.enqueue(stream, problem, inputs, output),
        };
    }
    let (chosen, _) = chosen(operation, problem, expected, options, device.properties())?;
    let task = Task {
        aligned,
        // An empty output: the caller wants the totals only.
        totals: output.is_empty() && after.is_some(),
        ..chosen
    };
    let plan = (task.variant.plan)(&task)?;
    let lens = checked(operation, problem, inputs)?;
    if !task.totals {
        check_len("output", output.len(), lens.output)?;
    }
    if lens.output == 0 {
        return Ok(None);
    }
    if let Some(fold) = operation.parts.fold(problem) {
        let room = after.as_ref().map_or(0, AnyViewMut::len);
        let needed = fold.room(problem, &plan);
        if room < needed {
            let each = (fold.bytes)(problem.ty);
            return Err(LaunchError::BufferLength {
                what: "the partial results",
                needed: needed / each,
                given: room / each,
            });
        }
    }
    let alone = matches!(memory, Memory::None) && (task.variant.alone)(&task);
    if let Some(hold) = task.variant.hold.filter(|_| !alone) {
        if after.is_some() {
            return Err(LaunchError::NotDivided {
                operation: operation.name,
            });
        }
        memory.hold(device, &chosen, hold)?;
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
            Memory::Lent(view) => view.len() >= bytes,
        };
        if !fits {
            let buffer = AnyBuffer::filled(device, Type::U8, bytes, 0)?;
            *memory = Memory::Of(task.variant, buffer);
        }
    }
    let memory = match memory {
        Memory::Of(_, buffer) if bytes > 0 => Some(buffer.as_view_mut().into_view_mut(..bytes)),
        Memory::Lent(view) if bytes > 0 => Some(view.as_view_mut().into_view_mut(..bytes)),
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
    plan.start((device, stream), operands)?;
    Ok(Some(plan))
}

/// The lengths of the problem's operands; an error if the inputs have other lengths or types.
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

impl Memory<'_> {
    /// Prepares the state of a variant for a problem, unless the present one serves it too.
    fn hold(&mut self, device: &Device, task: &Task<'_>, hold: Hold) -> Result<(), LaunchError> {
        let fits = match self {
            Self::None => return Err(needs_memory(task.variant)),
            Self::Held(variant, of, held) => {
                let is_same = *of == (*task.problem, task.aligned);
                *variant == task.variant && (is_same || held.serves(task.problem))
            }
            Self::Open | Self::Of(..) | Self::Lent(_) => false,
        };
        if !fits {
            // Frees the old state before the new one is allocated.
            *self = Self::Open;
            let of = (*task.problem, task.aligned);
            *self = Self::Held(task.variant, of, hold(device, task)?);
        }
        Ok(())
    }
}

fn needs_memory(variant: &Variant) -> LaunchError {
    LaunchError::NeedsMemory {
        kernel: variant.name,
    }
}

/// An operation that is launched again and again: a variant's own memory is kept from one launch to
/// the next. Launches must not overlap: use one stream.
pub struct Call {
    device: Device,
    operation: &'static Operation,
    options: Options,
    memory: Memory<'static>,
    /// The problem that was prepared, and whether for aligned operands.
    prepared: Option<(Problem, bool)>,
}

impl Call {
    /// Prepares launches.
    pub fn new(device: &Device, operation: &'static Operation, options: Options) -> Self {
        Self {
            device: device.clone(),
            operation,
            options,
            memory: Memory::Open,
            prepared: None,
        }
    }

    /// Chooses a variant for a problem and checks every limit. If the variant takes several
    /// launches, allocates their state: an [`enqueue`](Self::enqueue) then allocates nothing, as a
    /// graph requires.
    ///
    /// `aligned` says whether all operands will begin at multiples of 16 bytes, as whole buffers
    /// do. Operands that do not fit it are computed by the same variant, perhaps not the fastest
    /// for them.
    ///
    /// # Errors
    /// Those of [`plan`], and a lack of memory.
    pub fn prepare(
        &mut self,
        problem: &Problem,
        aligned: bool,
    ) -> Result<&'static Variant, LaunchError> {
        let properties = self.device.properties();
        let (task, _) = chosen(self.operation, problem, aligned, &self.options, properties)?;
        (task.variant.plan)(&task)?;
        if let Some(hold) = task.variant.hold {
            self.memory.hold(&self.device, &task, hold)?;
        }
        self.prepared = Some((*problem, aligned));
        Ok(task.variant)
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

    /// Starts the launch of a part of a problem whose parts are [carried](super::Parts::Carried).
    /// `before` is the state after all earlier parts, `None` for the first part; `after` receives
    /// the state for the next one. If the output is empty, `after` receives the totals of this
    /// part.
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

    /// Starts the launch of a problem that is [folded](super::Parts::Folded). Each block leaves a
    /// result in `results`, which the host merges.
    ///
    /// # Errors
    /// As for [`enqueue`](Self::enqueue).
    pub fn enqueue_totals(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        results: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let (nothing, results) = results.plain::<u8>()?.split_at_mut(0);
        let ends = (None, results.into());
        self.enqueue_part(stream, problem, inputs, nothing.into(), ends)
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
            prepared,
        } = self;
        start(
            (device, stream),
            operation,
            problem,
            options,
            operands,
            (memory, *prepared),
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
/// Shapes that the operation does not take, a type that it has no kernel for, and what goes wrong
/// on the device.
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
        known: result.ty().to_string(),
    };
    result.into_typed().ok_or(wrong)
}

/// Copies the operands to the device, computes, and copies the result back. Also returns the
/// device's time without the copies.
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
    let options = &Options {
        once: true,
        ..*options
    };
    // Checked before anything is copied.
    let plan = plan(operation, problem, options, device.properties())?;
    let upload = |array: &AnyArray| AnyBuffer::upload(device, array.ty(), array.bytes());
    let buffers = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<_> = buffers.iter().map(AnyBuffer::as_view).collect();
    if let (Some(fold), Some(plan)) = (operation.parts.fold(problem), plan) {
        return folded(device, (operation, fold), problem, options, &views, &plan);
    }
    let ty = (operation.gives)(problem.ty);
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

/// The same of a problem that is folded to one number.
fn folded(
    device: &Device,
    (operation, fold): (&'static Operation, &Fold),
    problem: &Problem,
    options: &Options,
    inputs: &[AnyView<'_>],
    plan: &Plan,
) -> Result<(AnyArray, Duration), LaunchError> {
    let mut results = AnyBuffer::filled(device, Type::U8, fold.room(problem, plan), 0xFF)?;
    let mut call = Call::new(device, operation, *options);
    device.synchronize()?;
    let begin = Instant::now();
    call.enqueue_totals(None, problem, inputs, results.as_view_mut())?;
    device.synchronize()?;
    let elapsed = begin.elapsed();
    let mut left = vec![0; fold.left(problem, plan)];
    results
        .as_view()
        .view(..left.len())
        .copy_to_slice(&mut left)?;
    Ok(((fold.number)(problem, &left)?, elapsed))
}
