//! `blockwise bench`.

use clap::Args;

use super::Global;
use super::failure::Failure;
use super::report::Report;
use crate::bench::{self, BenchError, Options, Size, Sizes};
use crate::device::{Device, DeviceChoice, DeviceError};

#[derive(Args)]
pub(super) struct Arguments {
    /// Only benchmarks whose name (operation/type/kernel/size) contains one of these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "TEXT")]
    filter: Vec<String>,
    /// Sizes instead of the standard ones, separated by commas: 2^20, 4096 (also a square matrix), 2^26x31 (samples and taps)
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SIZE",
        conflicts_with = "quick"
    )]
    size: Vec<Size>,
    /// One small size of each operation
    #[arg(long)]
    quick: bool,
    /// What the random inputs follow from; without it they are new in every run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            filter: self.filter.clone(),
            sizes: match (&self.size[..], self.quick) {
                ([], false) => Sizes::Standard,
                ([], true) => Sizes::Quick,
                (sizes, _) => Sizes::Given(sizes.to_vec()),
            },
            seed: self.seed.unwrap_or_else(rand::random),
        }
    }
}

/// Times the kernels on the GPU.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let device = gpu(global)?;
    let report = bench::run(&device, &arguments.options()).map_err(Failure::from)?;
    let json = serde_json::to_value(&report).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Report::new(report.table(), json).passed(report.passed()))
}

/// The GPU with the kernels loaded: nothing else has a clock that tells how fast a kernel is.
fn gpu(global: &Global) -> Result<Device, Failure> {
    const ADVICE: &str = "run it on a machine with an NVIDIA GPU and its driver; \
        `cargo bench -p ptx_emulator` measures the emulator, `blockwise profile` counts what a kernel costs";
    if global.device == DeviceChoice::Emulator {
        let message = "the emulator's time says nothing about a GPU's";
        return Err(Failure::new(message).hint(ADVICE));
    }
    match Device::open(DeviceChoice::Gpu, &global.source()) {
        Err(error @ DeviceError::NoGpu { .. }) => Err(Failure::new(error.to_string()).hint(ADVICE)),
        opened => Ok(opened?),
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Device(error) => error.into(),
            BenchError::Launch(error) => error.into(),
            other => Failure::new(other.to_string()),
        }
    }
}
