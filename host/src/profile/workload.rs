//! This project's kernels at a size of the user's choice, one launch of each.

use std::fmt;

use blockwise::{Device, Type};
use blockwise_ops::operation::{self, Given, Options, Setting, Takes, Tier};
use blockwise_ops::{
    self as ops, AnyArray, Element, Float, LaunchError, MatmulKernel, MatmulOptions,
};
use ndarray::Array2;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::bench::numbers;

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
        /// Threads of a block.
        threads: Option<u32>,
        /// The variants.
        kernels: Vec<&'static ops::Variant>,
    },
    /// A matrix product.
    Matmul {
        /// Rows of A and C.
        rows: usize,
        /// Columns of A, rows of B.
        inner: usize,
        /// Columns of B and C.
        cols: usize,
        /// The kernels to run; all of the family if empty.
        kernels: Vec<MatmulKernel>,
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
                threads,
                kernels,
            } => return described(&on, ty, (operation, sizes, given), *threads, kernels),
            Self::Matmul {
                rows,
                inner,
                cols,
                kernels,
            } => {
                with!(self, ty, [F32 f32, F64 f64], T => matmul::<T, L>(&on, [*rows, *inner, *cols], kernels))
            }
        })
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Operation { operation, .. } => operation.name,
            Self::Matmul { .. } => "matmul",
        }
    }

    fn check_size(&self) -> Result<(), WorkloadError> {
        let operands = match *self {
            Self::Operation {
                operation,
                ref sizes,
                ..
            } => {
                let shapes = (operation.shapes)(sizes);
                let len = |shape: &Vec<usize>| {
                    let extents = shape.iter().copied();
                    extents.fold(1, usize::saturating_mul)
                };
                let largest = shapes.iter().map(len).max().unwrap_or(0);
                [(largest, 1), (0, 0), (0, 0)]
            }
            Self::Matmul {
                rows, inner, cols, ..
            } => [(rows, inner), (inner, cols), (rows, cols)],
        };
        let fits = |&(rows, cols): &(usize, usize)| {
            rows.checked_mul(cols)
                .is_some_and(|elements| elements <= MAX_ELEMENTS)
        };
        if operands.iter().all(fits) {
            Ok(())
        } else {
            Err(WorkloadError::TooLarge {
                workload: self.to_string(),
            })
        }
    }
}

/// Runs the chosen variants, or each one that the problem does not refuse.
fn described<L>(
    on: &On<'_, L>,
    ty: Type,
    (operation, sizes, given): (&'static ops::Operation, &[usize], &Given),
    threads: Option<u32>,
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
    // Along an axis, some operations have one kernel, which has no name for users.
    let properties = on.device.properties();
    let chosen = Options::default();
    let choice = operation::choose(operation, &posed.problem, &chosen, properties)?.variant;
    let of_users = |variant: &&'static ops::Variant| {
        (variant.tier == Tier::Step) == (choice.tier == Tier::Step)
    };
    let all = || operation.variants.iter().copied().filter(of_users);
    if !all().any(|variant| variant.takes(ty)) {
        let workload = operation.name;
        return Err(WorkloadError::NoKernel { workload, ty });
    }
    // One that is for other types only is left out with a word, unless it goes by the width.
    let told = |variant: &&'static ops::Variant| {
        let mut kernels = variant.kernels.iter();
        let by_type = kernels.any(|kernel| matches!(kernel.takes, Takes::Type(_)));
        !variant.on_request && (by_type || variant.takes(ty))
    };
    let unasked: Vec<_> = all().filter(told).collect();
    let chosen = if kernels.is_empty() {
        &unasked
    } else {
        kernels
    };
    let run = |&variant: &&'static ops::Variant| {
        let options = Options {
            threads,
            ..Options::of(variant)
        };
        let ran = operation::run(on.device, operation, &posed, &options, &inputs);
        Variant {
            name: variant.name,
            outcome: ran.map(|_| (on.take)(on.device)),
        }
    };
    Ok(chosen.iter().map(run).collect())
}

fn matmul<T: Sample + Float, L>(
    on: &On<'_, L>,
    [rows, inner, cols]: [usize; 3],
    kernels: &[MatmulKernel],
) -> Vec<Variant<L>> {
    let (a, b) = (matrix::<T>(rows, inner), matrix::<T>(inner, cols));
    variants(
        on,
        MatmulKernel::ALL,
        kernels,
        MatmulKernel::name,
        |kernel| {
            let options = MatmulOptions {
                kernel: Some(kernel),
                ..MatmulOptions::default()
            };
            blockwise_ops::matmul(on.device, a.view(), b.view(), &options).map(drop)
        },
    )
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family();
        match self {
            Self::Operation {
                operation,
                sizes,
                given,
                ..
            } => match (sizes[..].as_ref(), operation.settings) {
                ([len], _) => write!(f, "{family} of {len} elements"),
                ([samples, taps], [Setting::Mode { values, .. }]) => {
                    let mode = values.get(usize::from(given.settings[0]));
                    let mode = mode.copied().unwrap_or_default();
                    write!(f, "{family} {mode} of {samples} samples with {taps} taps")
                }
                _ => {
                    let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
                    write!(f, "{} {}", operation.name, sizes.join(" x "))
                }
            },
            Self::Matmul {
                rows, inner, cols, ..
            } => {
                write!(f, "{family} {rows} x {inner} * {inner} x {cols}")
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

fn matrix<T: Sample>(rows: usize, cols: usize) -> Array2<T> {
    let mut random = StdRng::seed_from_u64(2);
    Array2::from_shape_simple_fn((rows, cols), || T::sample(&mut random))
}
