//! The emulator as a device.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ptx_emulator::metrics::Profile;
use ptx_emulator::{
    Emulator, Fault, FaultKind, InvalidLaunch, LaunchConfig, LaunchError, Limits, LoadedModule,
    MemoryError, Module,
};

use super::backend::{Backend, HostMemory, Moment, Program, Queue};
use super::{DeviceError, DeviceKind, DeviceProperties, LaunchPlan, Watch};

/// The limits' defaults are an H200's; this is its compute capability.
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);

/// An H200 keeps 1 KiB of shared memory per block for itself: 227 KiB for one block are 228 of a multiprocessor.
const RESERVED_SHARED_BYTES: u32 = 1024;

pub(super) fn start(limits: Limits, watch: Watch) -> Arc<dyn Backend> {
    let workers = limits
        .workers
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let properties = DeviceProperties {
        name: "PTX emulator".into(),
        kind: DeviceKind::Emulator,
        compute_capability: COMPUTE_CAPABILITY,
        multiprocessors: u32::try_from(workers).unwrap_or(u32::MAX),
        warp_size: 32,
        max_threads_per_block: limits.threads_per_block,
        max_block: limits.block_dims,
        max_grid: limits.grid_dims,
        shared_bytes_per_block: limits.shared_bytes_per_block,
        shared_bytes_opt_in: limits.shared_bytes_opt_in,
        shared_bytes_per_multiprocessor: limits
            .shared_bytes_opt_in
            .saturating_add(RESERVED_SHARED_BYTES),
        l2_bytes: 0,
        memory_bytes: limits.memory_bytes,
        driver: format!("blockwise {}", env!("CARGO_PKG_VERSION")),
    };
    Arc::new(EmulatorDevice {
        emulator: Emulator::new(limits),
        properties,
        watch,
        profiles: Mutex::default(),
    })
}

struct EmulatorDevice {
    emulator: Emulator,
    properties: DeviceProperties,
    watch: Watch,
    profiles: Mutex<Vec<Profile>>,
}

struct EmulatorProgram {
    device: Arc<EmulatorDevice>,
    module: LoadedModule,
    origin: String,
}

impl Backend for EmulatorDevice {
    fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    fn alloc(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.emulator.alloc(bytes).map_err(|error| match error {
            MemoryError::OutOfMemory { requested, .. } => DeviceError::OutOfMemory {
                device: self.properties.name.clone(),
                bytes: requested,
            },
            other => other.into(),
        })
    }

    fn free(&self, address: u64) {
        // Only addresses from `alloc` come here, once each.
        let _ = self.emulator.free(address);
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        Ok(self.emulator.write(address, bytes)?)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        Ok(self.emulator.read(address, bytes)?)
    }

    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError> {
        const CHUNK: usize = 1 << 16;
        let chunk = [value; CHUNK];
        for start in (0..bytes).step_by(CHUNK) {
            let len = CHUNK.min(bytes - start);
            self.emulator.write(address + start as u64, &chunk[..len])?;
        }
        Ok(())
    }

    fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<(), DeviceError> {
        let mut copied = vec![0; bytes];
        self.emulator.read(from, &mut copied)?;
        Ok(self.emulator.write(to, &copied)?)
    }

    fn stack_bytes(&self) -> Result<usize, DeviceError> {
        Ok(self.emulator.limits().local_bytes_per_thread as usize)
    }

    fn set_stack_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        let limit = self.stack_bytes()?;
        if bytes > limit {
            return Err(DeviceError::StackTooLarge { bytes, limit });
        }
        Ok(())
    }

    fn record(&self) -> Result<Box<dyn Moment>, DeviceError> {
        // A launch returns when the kernel has ended.
        Ok(Box::new(Instant::now()))
    }

    fn queue(self: Arc<Self>) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(EmulatorQueue(self)))
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>, DeviceError> {
        let mut words = Vec::new();
        words
            .try_reserve_exact(bytes.div_ceil(size_of::<u64>()))
            .map_err(|_| DeviceError::OutOfHostMemory {
                bytes: bytes as u64,
            })?;
        words.resize(bytes.div_ceil(size_of::<u64>()), 0);
        Ok(Box::new(Words { words, bytes }))
    }

    fn load(self: Arc<Self>, ptx: &str, origin: &str) -> Result<Box<dyn Program>, DeviceError> {
        let rejected = |reason: String| DeviceError::PtxRejected {
            device: self.properties.name.clone(),
            origin: origin.to_owned(),
            reason,
            failure: None,
        };
        let module = Module::parse(ptx).map_err(|error| rejected(error.to_string()))?;
        let module = self
            .emulator
            .load(&module)
            .map_err(|error| rejected(error.to_string()))?;
        Ok(Box::new(EmulatorProgram {
            device: self,
            module,
            origin: origin.to_owned(),
        }))
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        // A launch returns when the kernel has ended.
        Ok(())
    }

    fn take_profiles(&self) -> Vec<Profile> {
        std::mem::take(&mut self.profiles.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Nothing to wait for: whatever is asked for has ended when the call returns.
struct EmulatorQueue(Arc<EmulatorDevice>);

impl Queue for EmulatorQueue {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.0.write(address, bytes)
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.0.read(address, bytes)
    }

    fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<(), DeviceError> {
        self.0.fill(address, bytes, value)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Ordinary memory in words of eight bytes.
struct Words {
    words: Vec<u64>,
    bytes: usize,
}

impl HostMemory for Words {
    fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}

impl Moment for Instant {
    fn seconds_since(&self, start: &dyn Moment) -> Result<f64, DeviceError> {
        let start: &dyn Any = start;
        match start.downcast_ref::<Instant>() {
            Some(start) => Ok(self.duration_since(*start).as_secs_f64()),
            None => Err(DeviceError::ForeignEvent),
        }
    }
}

impl EmulatorDevice {
    /// Runs a kernel, and watches it as asked.
    fn launch(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        arguments: &[&[u8]],
    ) -> Result<(), LaunchError> {
        match self.watch {
            Watch::Nothing => {
                self.emulator.launch(module, kernel, config, arguments)?;
            }
            Watch::Profile => {
                let profile = self.emulator.profile(module, kernel, config, arguments)?;
                self.profiles
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(profile);
            }
        }
        Ok(())
    }
}

impl Program for EmulatorProgram {
    unsafe fn launch(
        &self,
        plan: &LaunchPlan,
        arguments: &[&[u8]],
        _queue: Option<&dyn Queue>,
    ) -> Result<(), DeviceError> {
        let config = LaunchConfig {
            grid: plan.grid,
            block: plan.block,
            dynamic_shared_bytes: plan.dynamic_shared_bytes,
        };
        match self
            .device
            .launch(&self.module, &plan.kernel, config, arguments)
        {
            Ok(()) => Ok(()),
            Err(LaunchError::Invalid(InvalidLaunch::NoSuchKernel { name, .. })) => {
                Err(DeviceError::UnknownKernel {
                    kernel: name,
                    origin: self.origin.clone(),
                })
            }
            Err(LaunchError::Fault(fault)) => Err(panic(*fault)),
            Err(error) => Err(error.into()),
        }
    }
}

/// A panic reads as on a GPU; any other fault is the emulator's own.
fn panic(fault: Fault) -> DeviceError {
    match fault.kind {
        // C's `assert` names its function, a panic does not.
        FaultKind::Assert {
            message,
            file,
            line,
            function,
        } if function.is_empty() => DeviceError::Panicked {
            kernel: fault.kernel,
            message,
            file,
            line,
            block: fault.block,
            thread: fault.thread,
        },
        _ => LaunchError::Fault(Box::new(fault)).into(),
    }
}
