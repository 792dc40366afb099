//! This project's kernels at a size of the user's choice, one launch of each.

use std::fmt;

use blockwise::Device;
use blockwise_ops::{
    ConvKernel, ConvMode, ConvOptions, Element, Float, LaunchError, MatmulKernel, MatmulOptions,
    Number, ReduceKernel, ReduceOptions, Reduction, ReverseKernel, ReverseOptions, TransposeKernel,
    TransposeOptions, named_enum,
};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng, rngs::StdRng};

named_enum! {
    /// The element types that have kernels.
    pub enum ElementType("element type") {
        /// 32-bit floats.
        F32 = "f32",
        /// 64-bit floats.
        F64 = "f64",
        /// 64-bit integers; not for convolutions and matrix products.
        I64 = "i64",
    }
}

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

/// What to run. Without named kernels, every kernel of the family runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// A transpose.
    Transpose {
        /// Rows of the matrix.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// The kernels to run; all of the family if empty.
        kernels: Vec<TransposeKernel>,
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
    /// A reversal.
    Reverse {
        /// Elements.
        len: usize,
        /// The kernels to run; all of the family if empty.
        kernels: Vec<ReverseKernel>,
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

/// `$body` with `$T` as the element type that `$ty` names.
macro_rules! with_number {
    ($ty:expr, $T:ident => $body:expr) => {
        match $ty {
            ElementType::F32 => {
                type $T = f32;
                $body
            }
            ElementType::F64 => {
                type $T = f64;
                $body
            }
            ElementType::I64 => {
                type $T = i64;
                $body
            }
        }
    };
}

/// The same for kernels that only take floats.
macro_rules! with_float {
    ($self:expr, $ty:expr, $T:ident => $body:expr) => {
        match $ty {
            ElementType::F32 => {
                type $T = f32;
                $body
            }
            ElementType::F64 => {
                type $T = f64;
                $body
            }
            ElementType::I64 => {
                let (workload, ty) = ($self.family(), $ty);
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
        ty: ElementType,
        take: fn(&Device) -> Option<L>,
    ) -> Result<Vec<Variant<L>>, WorkloadError> {
        let on = On { device, take };
        self.check_size()?;
        Ok(match self {
            Self::Transpose {
                rows,
                cols,
                kernels,
            } => {
                with_number!(ty, T => transpose::<T, L>(&on, [*rows, *cols], kernels))
            }
            Self::Reverse { len, kernels } => {
                with_number!(ty, T => reverse::<T, L>(&on, *len, kernels))
            }
            Self::Reduce {
                operation,
                len,
                threads,
                kernels,
            } => {
                with_number!(ty, T => reduce::<T, L>(&on, *operation, *len, *threads, kernels))
            }
            Self::Matmul {
                rows,
                inner,
                cols,
                kernels,
            } => {
                with_float!(self, ty, T => matmul::<T, L>(&on, [*rows, *inner, *cols], kernels))
            }
            Self::Conv {
                len,
                taps,
                mode,
                kernels,
            } => {
                with_float!(self, ty, T => conv::<T, L>(&on, [*len, *taps], *mode, kernels))
            }
        })
    }

    /// The family's name.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Transpose { .. } => "transpose",
            Self::Matmul { .. } => "matmul",
            Self::Reduce { operation, .. } => operation.name(),
            Self::Conv { .. } => "conv",
            Self::Reverse { .. } => "reverse",
        }
    }

    fn check_size(&self) -> Result<(), WorkloadError> {
        let operands = match *self {
            Self::Transpose { rows, cols, .. } => [(rows, cols), (0, 0), (0, 0)],
            Self::Matmul {
                rows, inner, cols, ..
            } => [(rows, inner), (inner, cols), (rows, cols)],
            Self::Reduce { len, .. } | Self::Reverse { len, .. } => [(len, 1), (0, 0), (0, 0)],
            Self::Conv { len, taps, .. } => [(len, 1), (taps, 1), (0, 0)],
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

fn transpose<T: Sample, L>(
    on: &On<'_, L>,
    [rows, cols]: [usize; 2],
    kernels: &[TransposeKernel],
) -> Vec<Variant<L>> {
    let input = matrix::<T>(rows, cols);
    variants(
        on,
        TransposeKernel::ALL,
        kernels,
        TransposeKernel::name,
        |kernel| {
            let options = TransposeOptions {
                kernel: Some(kernel),
                ..TransposeOptions::default()
            };
            blockwise_ops::transpose(on.device, input.view(), &options).map(drop)
        },
    )
}

fn reverse<T: Sample, L>(on: &On<'_, L>, len: usize, kernels: &[ReverseKernel]) -> Vec<Variant<L>> {
    let input = vector::<T>(len);
    variants(
        on,
        ReverseKernel::ALL,
        kernels,
        ReverseKernel::name,
        |kernel| {
            let options = ReverseOptions {
                kernel,
                ..ReverseOptions::default()
            };
            blockwise_ops::reverse(on.device, input.view(), &options).map(drop)
        },
    )
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
            Self::Transpose { rows, cols, .. } => write!(f, "{family} {rows} x {cols}"),
            Self::Matmul {
                rows, inner, cols, ..
            } => {
                write!(f, "{family} {rows} x {inner} * {inner} x {cols}")
            }
            Self::Reduce { len, .. } | Self::Reverse { len, .. } => {
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

/// Why a [`Workload`] cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// No kernel takes these elements.
    #[error("there are no `{workload}` kernels for {ty}")]
    NoKernel {
        /// The family.
        workload: &'static str,
        /// The element type.
        ty: ElementType,
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

fn matrix<T: Sample>(rows: usize, cols: usize) -> Array2<T> {
    let mut random = StdRng::seed_from_u64(2);
    Array2::from_shape_simple_fn((rows, cols), || T::sample(&mut random))
}
