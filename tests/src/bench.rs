//! Launches kernels of a test crate by name, on every device that is there.

use std::sync::LazyLock;

use blockwise::device::{
    Arguments, Device, DeviceBuffer, DeviceChoice, DeviceError, Element, LaunchPlan, Module,
    PtxFile, PtxSource,
};

/// Value of every output element before a launch.
pub const POISON: u8 = 0xFF;

/// A device with the kernels of one PTX file.
pub struct Bench {
    /// Where it runs.
    pub device: Device,
    /// The number behind `sm_` in the PTX.
    pub target: u32,
    module: Module,
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
    let mut devices = vec![Device::connect(DeviceChoice::Emulator).unwrap()];
    match Device::connect(DeviceChoice::Gpu) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => eprintln!("skipped on the GPU: {error}"),
    }
    devices
}

/// The targets that `cargo xtask test` builds `kernel_crates` for.
const KERNEL_CRATES_TARGETS: [u32; 2] = [80, 90];

/// The PTX of `kernel_crates` for each target.
pub fn kernel_crates_ptx() -> Vec<PtxFile> {
    let of_target = |target: u32| {
        let file = PtxSource::of_crate("kernel_crates").select((target / 10, target % 10));
        let file = file.unwrap();
        assert_eq!(file.target, target, "{}", file.path.display());
        file
    };
    KERNEL_CRATES_TARGETS.map(of_target).into()
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
        let file = PtxSource::of_crate(stem).select(capability);
        Self::with(device, &file.unwrap())
    }

    fn with(device: Device, file: &PtxFile) -> Self {
        let module = device
            .load_ptx(&file.text, &file.path.display().to_string())
            .unwrap();
        let target = file.target;
        Bench {
            device,
            target,
            module,
        }
    }

    /// Launches `kernel` with `arguments` and returns what it wrote to a poisoned output of `len` elements, which follows them.
    pub fn run<T: Element>(
        &self,
        kernel: &str,
        launch: Launch,
        arguments: Arguments<'_>,
        len: usize,
    ) -> Vec<T> {
        let mut out = DeviceBuffer::<T>::alloc(&self.device, len).unwrap();
        out.poison().unwrap();
        self.launch(kernel, launch, &arguments.pointer(&mut out))
            .unwrap();
        out.copy_to_vec().unwrap()
    }

    /// Launches `kernel` and waits for it.
    ///
    /// # Errors
    /// Whatever ends the launch.
    pub fn launch(
        &self,
        kernel: &str,
        launch: Launch,
        arguments: &Arguments<'_>,
    ) -> Result<(), DeviceError> {
        let plan = LaunchPlan {
            kernel: kernel.to_owned(),
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
        };
        // SAFETY: each test passes what its kernel's documentation asks for.
        unsafe { self.module.launch(&plan, arguments) }?;
        self.device.synchronize()
    }
}

/// The shape of a launch.
#[derive(Clone, Copy)]
pub struct Launch {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
}

/// One block.
pub fn threads(count: u32) -> Launch {
    blocks(1, count)
}

/// A one-dimensional grid.
pub fn blocks(grid: u32, block: u32) -> Launch {
    Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared_bytes: 0,
    }
}
