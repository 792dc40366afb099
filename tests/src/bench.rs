//! Launches kernels of `device_api` by name, on every device that is there.

use blockwise::device::{
    Arguments, Device, DeviceBuffer, DeviceChoice, DeviceError, Element, LaunchPlan, Module,
    PtxSource,
};

/// Value of every output element before a launch.
pub const POISON: u8 = 0xFF;

/// A device with the kernels of `device_api`.
pub struct Bench {
    /// Where it runs.
    pub device: Device,
    module: Module,
}

/// The emulator, and the GPU where there is one.
pub fn benches() -> Vec<Bench> {
    let mut devices = vec![Device::connect(DeviceChoice::Emulator).unwrap()];
    match Device::connect(DeviceChoice::Gpu) {
        Ok(gpu) => devices.push(gpu),
        Err(error) => eprintln!("skipped on the GPU: {error}"),
    }
    devices.into_iter().map(Bench::new).collect()
}

impl Bench {
    /// Loads the PTX that the device can run.
    pub fn new(device: Device) -> Self {
        let source = PtxSource::of_crate("device_api");
        let file = source
            .select(device.properties().compute_capability)
            .unwrap();
        let module = device
            .load_ptx(&file.text, &file.path.display().to_string())
            .unwrap();
        Bench { device, module }
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
