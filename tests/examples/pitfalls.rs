//! Runs the deliberately broken kernels one after the other and shows what the emulator says of each.
//!
//! `cargo xtask pitfalls` builds their PTX and runs this. Numbers are small integers, so every right result is exact.

use std::process::ExitCode;

use blockwise::device::{
    Arguments, Device, DeviceBuffer, DeviceError, Element, EmulatorLimits, LaunchPlan, Module,
    PtxSource,
};
use blockwise_tests::coverage::unwritten;
use broken_kernels::{THREADS, TILE};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), DeviceError> {
    let device = Device::emulator(EmulatorLimits::default());
    let file =
        PtxSource::of_crate("broken_kernels").select(device.properties().compute_capability)?;
    let kernels = device.load_ptx(&file.text, &file.path.display().to_string())?;
    let on = Emulator {
        device,
        kernels,
        ptx: file.text,
    };

    on.conv1d("conv1d_early_return")?;
    on.conv1d("conv1d_halo_off_by_one")?;
    on.reverse("reverse_shared_too_small")?;
    on.matmul("matmul_uncovered_grid", |elements| elements / TILE)?;
    on.matmul("matmul_missing_barrier", |elements| elements.div_ceil(TILE))?;
    on.reverse("reverse_missing_barrier")?;
    on.dot("dot_missing_barrier")
}

/// The device, with the broken kernels loaded.
struct Emulator {
    device: Device,
    kernels: Module,
    ptx: String,
}

impl Emulator {
    /// The Numba document's case: 1000 outputs, 9 taps, the last block has 232 outputs for its 256 threads.
    fn conv1d(&self, kernel: &str) -> Result<(), DeviceError> {
        let (n, m) = (1000, 9);
        let (signal, taps) = (numbers(n, 7), numbers(m, 5));
        let offset = (m - 1) / 2;
        let expected: Vec<f32> = (0..n)
            .map(|i| {
                let terms = (0..m).filter(|&k| i + offset >= k && i + offset - k < n);
                terms.map(|k| taps[k] * signal[i + offset - k]).sum()
            })
            .collect();
        let signal = DeviceBuffer::from_slice(&self.device, &signal)?;
        let taps = DeviceBuffer::from_slice(&self.device, &taps)?;
        let mut output = self.output(n)?;
        let arguments = Arguments::new().slice(&signal).slice(&taps);
        let arguments = arguments.pointer(&mut output).value(n as u64);
        let plan = plan(kernel, line(n), THREADS as usize + m - 1);
        let outcome = self.launch(&plan, &arguments.value(offset as u64));
        self.show(&plan, outcome, &output, &expected)
    }

    fn reverse(&self, kernel: &str) -> Result<(), DeviceError> {
        let input: Vec<u32> = (0..1000).collect();
        let expected: Vec<u32> = input.iter().rev().copied().collect();
        let input = DeviceBuffer::from_slice(&self.device, &input)?;
        let mut output = self.output(expected.len())?;
        let arguments = Arguments::new().slice(&input).pointer(&mut output);
        let plan = plan(kernel, line(expected.len()), 0);
        let outcome = self.launch(&plan, &arguments);
        self.show(&plan, outcome, &output, &expected)
    }

    /// One block, so its partial result is the whole one.
    fn dot(&self, kernel: &str) -> Result<(), DeviceError> {
        let (a, b) = (numbers(3000, 7), numbers(3000, 5));
        let expected: [f32; 1] = [a.iter().zip(&b).map(|(a, b)| a * b).sum()];
        let a = DeviceBuffer::from_slice(&self.device, &a)?;
        let b = DeviceBuffer::from_slice(&self.device, &b)?;
        let mut partials = self.output(1)?;
        let arguments = Arguments::new().slice(&a).slice(&b).pointer(&mut partials);
        let plan = plan(kernel, line(1), THREADS as usize);
        let outcome = self.launch(&plan, &arguments);
        self.show(&plan, outcome, &partials, &expected)
    }

    /// 40 rows and 50 columns: neither is a multiple of the tile. `blocks` says how many cover so many elements.
    fn matmul(&self, kernel: &str, blocks: impl Fn(u32) -> u32) -> Result<(), DeviceError> {
        let (rows, inner, cols) = (40, 36, 50);
        let (a, b) = (numbers(rows * inner, 7), numbers(inner * cols, 5));
        let element = |i: usize| {
            let (row, col) = (i / cols, i % cols);
            let terms = (0..inner).map(|k| a[row * inner + k] * b[k * cols + col]);
            terms.sum::<f32>()
        };
        let expected: Vec<f32> = (0..rows * cols).map(element).collect();
        let a = DeviceBuffer::from_slice(&self.device, &a)?;
        let b = DeviceBuffer::from_slice(&self.device, &b)?;
        let mut c = self.output(rows * cols)?;
        let sizes = [rows, inner, cols].map(|size| size as u64);
        let arguments = Arguments::new().slice(&a).slice(&b).pointer(&mut c);
        let arguments = sizes.into_iter().fold(arguments, Arguments::value);
        let plan = LaunchPlan {
            kernel: kernel.to_owned(),
            grid: [blocks(cols as u32), blocks(rows as u32), 1],
            block: [TILE, TILE, 1],
            dynamic_shared_bytes: 0,
        };
        let outcome = self.launch(&plan, &arguments);
        self.show(&plan, outcome, &c, &expected)
    }

    /// Filled with 0xFF bytes, so that what a kernel does not write shows.
    fn output<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>, DeviceError> {
        let mut buffer = DeviceBuffer::alloc(&self.device, len)?;
        buffer.poison()?;
        Ok(buffer)
    }

    fn launch(&self, plan: &LaunchPlan, arguments: &Arguments<'_>) -> Result<(), DeviceError> {
        // SAFETY: the arguments are those of the kernel's signature, and this device is always the emulator: an access
        // outside the buffers, which some of these kernels make, is a fault in it and nothing else.
        unsafe { self.kernels.launch(plan, arguments) }?;
        self.device.synchronize()
    }

    /// Prints how one kernel ended. Only a fault inside the kernel is what we are here for; any other error is passed on.
    fn show<T: Element + PartialEq + std::fmt::Debug>(
        &self,
        plan: &LaunchPlan,
        outcome: Result<(), DeviceError>,
        output: &DeviceBuffer<T>,
        expected: &[T],
    ) -> Result<(), DeviceError> {
        println!("\n{}", plan.kernel);
        match outcome {
            Err(DeviceError::EmulatorLaunch(fault)) => {
                println!("  reported: {fault}");
                return Ok(());
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        let got = output.copy_to_vec()?;
        let wrong = |i: &usize| got[*i] != expected[*i];
        if let Some(report) = unwritten(&self.ptx, plan, &got) {
            println!("  reported: {report}");
        } else if let Some(i) = (0..got.len()).find(wrong) {
            println!(
                "  a race, not reported yet: {} of {} results are wrong, the first at {i}: {:?} instead of {:?}",
                (0..got.len()).filter(wrong).count(),
                got.len(),
                got[i],
                expected[i]
            );
        } else {
            println!(
                "  a race, not reported yet; the results are right, but only in this order of the warps"
            );
        }
        Ok(())
    }
}

/// Asymmetric integers below `period`.
fn numbers(count: usize, period: usize) -> Vec<f32> {
    (0..count).map(|i| (i * i % period) as f32).collect()
}

/// Blocks of one dimension that cover `n` elements.
fn line(n: usize) -> u32 {
    (n as u32).div_ceil(THREADS)
}

/// A launch of blocks of one dimension with so many slots of dynamic shared memory.
fn plan(kernel: &str, blocks: u32, slots: usize) -> LaunchPlan {
    LaunchPlan {
        kernel: kernel.to_owned(),
        grid: [blocks, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared_bytes: (slots * size_of::<f32>()) as u32,
    }
}
