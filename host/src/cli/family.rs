//! What `profile` and `trace` run: the project's kernels by their families, or a kernel of any PTX.

use blockwise_ops::{
    ConvKernel, ConvMode, MatmulKernel, ReduceKernel, ReverseKernel, TransposeKernel,
};
use clap::Subcommand;

use super::kernel_args::{ARGUMENTS_HELP, Launch};
use super::names;
use crate::profile::{Operation, Workload};

/// What to run: every kernel of a family side by side, or some of them; or a kernel of any PTX.
#[derive(Clone, Subcommand)]
pub(super) enum Family {
    /// The transposes of a matrix
    Transpose {
        #[arg(long, default_value_t = 512)]
        rows: usize,
        #[arg(long, default_value_t = 512)]
        cols: usize,
        /// These kernels only, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = names(TransposeKernel::ALL))]
        kernel: Vec<TransposeKernel>,
    },
    /// The products of an M x K and a K x N matrix
    Matmul {
        /// M
        #[arg(long, default_value_t = 128)]
        rows: usize,
        /// K
        #[arg(long, default_value_t = 128)]
        inner: usize,
        /// N
        #[arg(long, default_value_t = 128)]
        cols: usize,
        /// These kernels only, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = names(MatmulKernel::ALL))]
        kernel: Vec<MatmulKernel>,
    },
    /// The reductions of a vector
    Reduce {
        /// What they compute
        #[arg(long, default_value = "sum", value_parser = names(Operation::ALL))]
        operation: Operation,
        /// Elements
        #[arg(long, default_value_t = 1 << 18)]
        len: usize,
        /// Threads of a block
        #[arg(long)]
        threads: Option<u32>,
        /// These kernels only, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = names(ReduceKernel::ALL))]
        kernel: Vec<ReduceKernel>,
    },
    /// The convolutions of a signal with taps
    Conv {
        /// Samples of the signal
        #[arg(long, default_value_t = 1 << 14)]
        len: usize,
        #[arg(long, default_value_t = 31)]
        taps: usize,
        /// Which outputs, as in numpy.convolve
        #[arg(long, default_value = "same", value_parser = names(ConvMode::ALL))]
        mode: ConvMode,
        /// These kernels only, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = names(ConvKernel::ALL))]
        kernel: Vec<ConvKernel>,
    },
    /// The reversals of a vector
    Reverse {
        /// Elements
        #[arg(long, default_value_t = 1 << 16)]
        len: usize,
        /// These kernels only, separated by commas
        #[arg(long, value_delimiter = ',', value_parser = names(ReverseKernel::ALL))]
        kernel: Vec<ReverseKernel>,
    },
    /// Any kernel of any PTX file
    #[command(after_help = ARGUMENTS_HELP)]
    Ptx(Launch),
}

/// What a family's words ask for.
pub(super) enum Subject {
    Workload(Workload),
    File(Launch),
}

impl Family {
    pub(super) fn subject(&self) -> Subject {
        Subject::Workload(match self.clone() {
            Self::Transpose { rows, cols, kernel } => Workload::Transpose {
                rows,
                cols,
                kernels: kernel,
            },
            Self::Matmul {
                rows,
                inner,
                cols,
                kernel,
            } => Workload::Matmul {
                rows,
                inner,
                cols,
                kernels: kernel,
            },
            Self::Reduce {
                operation,
                len,
                threads,
                kernel,
            } => Workload::Reduce {
                operation,
                len,
                threads,
                kernels: kernel,
            },
            Self::Conv {
                len,
                taps,
                mode,
                kernel,
            } => Workload::Conv {
                len,
                taps,
                mode,
                kernels: kernel,
            },
            Self::Reverse { len, kernel } => Workload::Reverse {
                len,
                kernels: kernel,
            },
            Self::Ptx(launch) => return Subject::File(launch),
        })
    }
}
