//! This project's kernels at a size of the user's choice, one launch of each.

use std::fmt;

use blockwise::{Device, Type};
use blockwise_ops::operation::{self, Given};
use blockwise_ops::{
    self as ops, AnyArray, ConvKernel, ConvMode, ConvOptions, Element, Float, LaunchError, Number,
    Options, ReduceKernel, ReduceOptions, Reduction, named_enum,
};
use ndarray::Array1;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::bench::numbers;

named_enum! {
    /// What a reduction computes.
    pub enum Operation("reduction") {
        /// The dot product of two vectors.
        Dot = "dot",
        /// The sum.
        Sum = "sum",
        /// The smallest element.
        Min = "min",
        /// The largest element.
        Max = "max",
    }
}

/// The most elements of an operand: 1 GiB of doubles.
const MAX_ELEMENTS: usize = 1 << 27;

/// What to run. Where no kernel is named, every one that does it runs.
#[derive(Clone, Debug)]
pub enum Workload {
    /// An operation that has a description.
    Operation {
        /// Which one.
        operation: &'static ops::Operation,
        /// Its sizes.
        sizes: Vec<usize>,
        /// Its settings.
        given: Given,
        /// The variants.
        kernels: Vec<&'static ops::Variant>,
    },
    /// A dot product, sum, minimum or maximum.
    Reduce {
        /// Which reduction.
        operation: Operation,
        /// Elements.
        len: usize,
        /// Threads of a block.
        threads: Option<u32>,
        /// The kernels to run; all of the family if empty.
        kernels: Vec<ReduceKernel>,
    },
    /// A convolution.
    Conv {
        /// Samples.
        len: usize,
        /// Taps.
        taps: usize,
        /// Which outputs.
        mode: ConvMode,
        /// The kernels to run; all of the family if empty.
        kernels: Vec<ConvKernel>,
    },
}

/// One kernel for a [`Workload`]: its name, and the result of its launch or why it cannot run.
#[derive(Debug)]
pub struct Variant<T> {
    /// The kernel's name in its family.
    pub name: &'static str,
    /// What `take` returned after its launch; `None` if there was nothing to launch.
    pub outcome: Result<Option<T>, LaunchError>,
}

/// `$body` with `$T` as the element type that `$ty` names, of those that there are kernels for.
macro_rules! with {
    ($self:expr, $ty:expr, [$($Type:ident $t:ty),*], $T:ident => $body:expr) => {
        match $ty {
            $(Type::$Type => {
                type $T = $t;
                $body
            })*
            ty => {
                let workload = $self.family();
                return Err(WorkloadError::NoKernel { workload, ty });
            }
        }
    };
}

impl Workload {
    /// Runs it with the same inputs every time. `take` reads from the device what its last launch
    /// left: a profile, or its arguments.
    ///
    /// # Errors
    /// When no kernel takes elements of that type, or the inputs are too large to emulate.
    pub fn run<L>(
        &self,
        device: &Device,
        ty: Type,
        take: fn(&Device) -> Option<L>,
    ) -> Result<Vec<Variant<L>>, WorkloadError> {
        let on = On { device, take };
        self.check_size()?;
        Ok(match self {
            Self::Operation {
                operation,
                sizes,
                given,
                kernels,
            } => return described(&on, ty, (operation, sizes, given), kernels),
            Self::Reduce {
                operation,
                len,
                threads,
                kernels,
            } => {
                with!(self, ty, [F32 f32, F64 f64, I64 i64], T => reduce::<T, L>(&on, *operation, *len, *threads, kernels))
            }
            Self::Conv {
                len,
                taps,
                mode,
                kernels,
            } => {
                with!(self, ty, [F32 f32, F64 f64], T => conv::<T, L>(&on, [*len, *taps], *mode, kernels))
            }
        })
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Operation { operation, .. } => operation.name,
            Self::Reduce { operation, .. } => operation.name(),
            Self::Conv { .. } => "conv",
        }
    }

    fn check_size(&self) -> Result<(), WorkloadError> {
        let elements = match *self {
            Self::Operation {
                operation,
                ref sizes,
                ref given,
                ..
            } => largest(operation, sizes, given),
            Self::Reduce { len, .. } => len,
            Self::Conv { len, taps, .. } => len.max(taps),
        };
        if elements <= MAX_ELEMENTS {
            Ok(())
        } else {
            Err(WorkloadError::TooLarge {
                workload: self.to_string(),
            })
        }
    }
}

/// The elements of the largest operand, or of the result.
fn largest(operation: &ops::Operation, sizes: &[usize], given: &Given) -> usize {
    let shapes = (operation.shapes)(sizes);
    let len = |shape: &Vec<usize>| shape.iter().copied().fold(1, usize::saturating_mul);
    let largest = shapes.iter().map(len).max().unwrap_or(0);
    let slices: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    match (operation.pose)(Type::F32, &slices, given) {
        Ok(posed) => largest.max((operation.lens)(&posed.problem).output),
        // It is refused for its own reason.
        Err(_) => largest,
    }
}

/// Runs the chosen variants, or each one that the problem does not refuse.
fn described<L>(
    on: &On<'_, L>,
    ty: Type,
    (operation, sizes, given): (&'static ops::Operation, &[usize], &Given),
    kernels: &[&'static ops::Variant],
) -> Result<Vec<Variant<L>>, WorkloadError> {
    let shapes = (operation.shapes)(sizes);
    let slices: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
    let posed = (operation.pose)(ty, &slices, given)?;
    let inputs = shapes.iter().enumerate().map(|(at, shape)| {
        let len = shape.iter().product();
        let numbers = numbers(at as u64 + 1, ty, operation.bench.numbers, len)?;
        Ok(numbers
            .reshaped(shape)
            .unwrap_or(AnyArray::zeros(ty, shape)?))
    });
    let inputs = inputs.collect::<Result<Vec<_>, LaunchError>>()?;
    let takes: Vec<_> = (operation.variants.iter().copied())
        .filter(|variant| variant.takes(ty))
        .collect();
    if takes.is_empty() {
        let workload = operation.name;
        return Err(WorkloadError::NoKernel { workload, ty });
    }
    let suits: Vec<_> = (takes.iter().copied())
        .filter(|variant| (variant.suits)(&posed.problem))
        .collect();
    let chosen = if kernels.is_empty() { &suits } else { kernels };
    let run = |&variant: &&'static ops::Variant| {
        let ran = operation::run(on.device, operation, &posed, &Options::of(variant), &inputs);
        Variant {
            name: variant.name,
            outcome: ran.map(|_| (on.take)(on.device)),
        }
    };
    let mut variants: Vec<_> = chosen.iter().map(run).collect();
    if kernels.is_empty() {
        // What no emulator has is not missed.
        variants.retain(|it| !matches!(it.outcome, Err(LaunchError::TensorCores { .. })));
    }
    Ok(variants)
}

fn reduce<T: Sample + Number, L>(
    on: &On<'_, L>,
    operation: Operation,
    len: usize,
    threads: Option<u32>,
    kernels: &[ReduceKernel],
) -> Vec<Variant<L>> {
    let input = vector::<T>(len);
    variants(
        on,
        ReduceKernel::ALL,
        kernels,
        ReduceKernel::name,
        |kernel| {
            let options = ReduceOptions {
                kernel: Some(kernel),
                threads,
                ..ReduceOptions::default()
            };
            let reduction = match operation {
                Operation::Dot => {
                    return blockwise_ops::dot(on.device, input.view(), input.view(), &options)
                        .map(drop);
                }
                Operation::Sum => Reduction::Sum,
                Operation::Min => Reduction::Min,
                Operation::Max => Reduction::Max,
            };
            blockwise_ops::reduce(on.device, input.view(), reduction, &options).map(drop)
        },
    )
}

fn conv<T: Sample + Float, L>(
    on: &On<'_, L>,
    [len, taps]: [usize; 2],
    mode: ConvMode,
    kernels: &[ConvKernel],
) -> Vec<Variant<L>> {
    let (signal, taps) = (vector::<T>(len), vector::<T>(taps));
    // A long FFT has at least 65,536 points, whatever the signal, so it runs only on request.
    let all = ConvKernel::ALL.iter().copied();
    let others: Vec<_> = all.filter(|kernel| !kernel.is_long()).collect();
    let kernels = match kernels {
        [] => &others[..],
        chosen => chosen,
    };
    variants(on, ConvKernel::ALL, kernels, ConvKernel::name, |kernel| {
        let options = ConvOptions {
            kernel: Some(kernel),
            ..ConvOptions::default()
        };
        blockwise_ops::convolve(on.device, signal.view(), taps.view(), mode, &options).map(drop)
    })
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family();
        match self {
            Self::Operation {
                operation, sizes, ..
            } => match sizes[..] {
                [len] => write!(f, "{family} of {len} elements"),
                _ => {
                    let shape = |shape: Vec<usize>| {
                        let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
                        extents.join(" x ")
                    };
                    let shapes = (operation.shapes)(sizes).into_iter().map(shape);
                    write!(f, "{family} {}", shapes.collect::<Vec<_>>().join(" * "))
                }
            },
            Self::Reduce { len, .. } => {
                write!(f, "{family} of {len} elements")
            }
            Self::Conv {
                len, taps, mode, ..
            } => {
                write!(f, "{family} {mode} of {len} samples with {taps} taps")
            }
        }
    }
}

/// Why a [`Workload`] cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The sizes, or the memory for them.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is no kernel for such elements.
    #[error("there are no `{workload}` kernels for {ty}")]
    NoKernel {
        /// The family.
        workload: &'static str,
        /// The element type.
        ty: Type,
    },
    /// An operand or the result is too large.
    #[error(
        "{workload} is too large to be emulated: a matrix or vector may have {MAX_ELEMENTS} elements"
    )]
    TooLarge {
        /// The requested workload.
        workload: String,
    },
}

/// Where launches run, and what is taken from each.
struct On<'a, L> {
    device: &'a Device,
    take: fn(&Device) -> Option<L>,
}

/// Runs the chosen kernels, or all.
fn variants<K: Copy, L>(
    on: &On<'_, L>,
    all: &'static [K],
    chosen: &[K],
    name: fn(K) -> &'static str,
    mut launch: impl FnMut(K) -> Result<(), LaunchError>,
) -> Vec<Variant<L>> {
    let chosen = if chosen.is_empty() { all } else { chosen };
    let run = |&kernel: &K| Variant {
        name: name(kernel),
        outcome: launch(kernel).map(|()| (on.take)(on.device)),
    };
    chosen.iter().map(run).collect()
}

/// Random inputs.
trait Sample: Element {
    fn sample(random: &mut StdRng) -> Self;
}

impl Sample for f32 {
    fn sample(random: &mut StdRng) -> Self {
        random.random_range(-1.0..1.0)
    }
}

impl Sample for f64 {
    fn sample(random: &mut StdRng) -> Self {
        random.random_range(-1.0..1.0)
    }
}

impl Sample for i64 {
    fn sample(random: &mut StdRng) -> Self {
        random.random_range(-1000..1000)
    }
}

fn vector<T: Sample>(len: usize) -> Array1<T> {
    let mut random = StdRng::seed_from_u64(1);
    Array1::from_shape_simple_fn(len, || T::sample(&mut random))
}
