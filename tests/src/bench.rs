//! The kernels of a test crate, loaded on every available device.

use std::sync::LazyLock;

use blockwise::{Buffer, Device, Module, PtxFile};
use cuda_std::launch::{Plain, Shape};

use crate::ptx::{file, files, load};
use crate::{Arguments, whole_sweeps};

/// Every byte of an output before a launch.
pub const POISON: u8 = 0xFF;

/// A device with the kernels of one PTX file.
pub struct Bench {
    /// Where it runs.
    pub device: Device,
    /// The number after `sm_` in the PTX.
    pub target: u32,
    /// The kernels: `some_kernel::on(&bench.module)`.
    pub module: Module,
}

/// The emulator, and the GPU where there is one, with the kernels of `device_api`.
pub fn benches() -> Vec<Bench> {
    benches_of("device_api")
}

/// The emulator, and the GPU where there is one, with the kernels of a crate.
pub fn benches_of(stem: &str) -> Vec<Bench> {
    let of_crate = |device| Bench::of(stem, device);
    devices().into_iter().map(of_crate).collect()
}

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::emulator()];
    match Device::gpu(0) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => eprintln!("skipped on the GPU: {error}"),
    }
    devices
}

/// The PTX of `kernel_crates` for each target that `cargo xtask test` builds it for: with `--all`
/// for two.
pub fn kernel_crates_ptx() -> Vec<PtxFile> {
    let wanted: &[u32] = if whole_sweeps() { &[80, 90] } else { &[80] };
    let mut files = files("kernel_crates");
    files.retain(|file| wanted.contains(&file.target));
    let targets: Vec<_> = files.iter().map(|file| file.target).collect();
    assert_eq!(targets, wanted, "run `cargo xtask test`");
    files
}

/// The emulator, and the GPU where there is one, each once with every PTX of `kernel_crates`.
pub fn kernel_crates() -> &'static [Bench] {
    static BENCHES: LazyLock<Vec<Bench>> = LazyLock::new(|| {
        let with_all = |file| devices().into_iter().map(move |device| (device, file));
        let files = kernel_crates_ptx();
        let pairs = files.iter().flat_map(with_all);
        pairs
            .map(|(device, file)| Bench::with(device, file))
            .collect()
    });
    &BENCHES
}

impl Bench {
    /// Loads the newest PTX of `device_api` that the device can run.
    pub fn new(device: Device) -> Self {
        Self::of("device_api", device)
    }

    /// Loads the newest PTX of a crate that the device can run.
    pub fn of(stem: &str, device: Device) -> Self {
        let capability = device.properties().compute_capability;
        Self::with(device, &file(stem, capability))
    }

    fn with(device: Device, file: &PtxFile) -> Self {
        Bench {
            module: load(file, &device).unwrap(),
            target: file.target,
            device,
        }
    }

    /// What `launch` leaves in a poisoned output of `len` elements.
    #[track_caller]
    pub fn output<T: Plain>(
        &self,
        len: usize,
        launch: impl FnOnce(&mut Buffer<T>) -> blockwise::Result<()>,
    ) -> Vec<T> {
        let mut out = self.poisoned(len);
        launch(&mut out).unwrap();
        out.to_vec().unwrap()
    }

    /// A buffer filled with [`POISON`], so that elements that a kernel leaves unwritten show.
    pub fn poisoned<T: Plain>(&self, len: usize) -> Buffer<T> {
        self.device.filled(len, POISON).unwrap()
    }

    /// Launches `kernel` with `arguments` and returns what it wrote to a poisoned output of `len`
    /// elements, which follows them.
    pub fn run<T: Plain>(
        &self,
        kernel: &str,
        shape: Shape,
        arguments: Arguments<'_>,
        len: usize,
    ) -> Vec<T> {
        let mut out = self.poisoned(len);
        self.launch(kernel, shape, &arguments.pointer(&mut out))
            .unwrap();
        out.to_vec().unwrap()
    }

    /// Launches `kernel` and waits for it.
    ///
    /// # Errors
    /// Whatever ends the launch.
    pub fn launch(
        &self,
        kernel: &str,
        shape: Shape,
        arguments: &Arguments<'_>,
    ) -> blockwise::Result<()> {
        // SAFETY: each test passes what its kernel's documentation asks for.
        unsafe { arguments.launch(&self.module, kernel, shape) }?;
        self.device.synchronize()
    }
}

/// One block.
pub fn threads(count: u32) -> Shape {
    blocks(1, count)
}

/// A one-dimensional grid.
pub fn blocks(grid: u32, block: u32) -> Shape {
    Shape::new(grid, block)
}
