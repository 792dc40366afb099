//! This project's kernels at a size of the user's choice, one launch of each.

use std::fmt;

use crate::bench::numbers;
use blockwise::{Device, Type};
use blockwise_ops::operation::{self, Given, Options, Setting, Takes, Tier};
use blockwise_ops::{self as ops, AnyArray, LaunchError};

/// The most elements of an operand: 1 GiB of doubles.
const MAX_ELEMENTS: usize = 1 << 27;

/// What to run. Where no kernel is named, every one that does it runs.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The operation.
    pub operation: &'static ops::Operation,
    /// Its sizes.
    pub sizes: Vec<usize>,
    /// Its settings.
    pub given: Given,
    /// Threads of a block.
    pub threads: Option<u32>,
    /// The variants.
    pub kernels: Vec<&'static ops::Variant>,
}

/// One kernel for a [`Workload`]: its name, and the result of its launch or why it cannot run.
#[derive(Debug)]
pub struct Variant<T> {
    /// The kernel's name in its family.
    pub name: &'static str,
    /// What `take` returned after its launch; `None` if there was nothing to launch.
    pub outcome: Result<Option<T>, LaunchError>,
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
        let Self {
            operation,
            sizes,
            given,
            threads,
            kernels,
        } = self;
        let (operation, threads) = (*operation, *threads);
        if largest(operation, sizes, given) > MAX_ELEMENTS {
            let workload = self.to_string();
            return Err(WorkloadError::TooLarge { workload });
        }
        let shapes = (operation.shapes)(sizes);
        let slices: Vec<_> = shapes.iter().map(Vec::as_slice).collect();
        let posed = (operation.pose)(ty, &slices, given)?;
        // Whatever the kernels take: none would be launched.
        if (operation.lens)(&posed.problem).output == 0 {
            return Ok(Vec::new());
        }
        let inputs = shapes.iter().enumerate().map(|(at, shape)| {
            let len = shape.iter().product();
            let numbers = numbers(at as u64 + 1, ty, operation.bench.numbers, len)?;
            Ok(numbers
                .reshaped(shape)
                .unwrap_or(AnyArray::zeros(ty, shape)?))
        });
        let inputs = inputs.collect::<Result<Vec<_>, LaunchError>>()?;
        // Along an axis, some operations have one kernel, which has no name for users.
        let properties = device.properties();
        let chosen = Options::default();
        let choice = operation::choose(operation, &posed.problem, &chosen, properties)?.variant;
        let of_users = |variant: &&'static ops::Variant| {
            (variant.tier == Tier::Step) == (choice.tier == Tier::Step)
        };
        let all = || ladder::variants(operation).filter(of_users);
        if !all().any(|variant| variant.takes(ty)) {
            let workload = operation.name;
            return Err(WorkloadError::NoKernel { workload, ty });
        }
        // One that is for other types only is left out with a word, unless it goes by the width.
        let told = |variant: &&'static ops::Variant| {
            let mut kernels = variant.kernels.iter();
            let by_type = kernels.any(|kernel| matches!(kernel.takes, Takes::Type(_)));
            !variant.on_request && (by_type || variant.takes(ty)) && (variant.worth)(&posed.problem)
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
            let ran = operation::run(device, operation, &posed, &options, &inputs);
            Variant {
                name: variant.name,
                outcome: ran.map(|_| take(device)),
            }
        };
        let mut variants: Vec<_> = chosen.iter().map(run).collect();
        if kernels.is_empty() {
            // What no emulator has is not missed.
            variants.retain(|it| !matches!(it.outcome, Err(LaunchError::TensorCores { .. })));
        }
        Ok(variants)
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

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            sizes,
            given,
            ..
        } = self;
        let family = operation.name;
        match (&sizes[..], operation.settings) {
            ([len], _) => write!(f, "{family} of {len} elements"),
            ([samples, taps], [Setting::Mode { values, .. }]) => {
                let mode = values.get(usize::from(given.settings[0]));
                let mode = mode.copied().unwrap_or_default();
                write!(f, "{family} {mode} of {samples} samples with {taps} taps")
            }
            _ => {
                let shape = |shape: Vec<usize>| {
                    let extents: Vec<_> = shape.iter().map(ToString::to_string).collect();
                    extents.join(" x ")
                };
                let shapes = (operation.shapes)(sizes).into_iter().map(shape);
                write!(f, "{family} {}", shapes.collect::<Vec<_>>().join(" * "))
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
