//! The emulator as a device.

use std::any::Any;
use std::ffi::c_void;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use launch_contract::launch::{Argument, Shape};
use ptx_emulator::metrics::{Demand, DeviceModel, Occupancy, Profile};
use ptx_emulator::report::{Sources, Style, text};
use ptx_emulator::{
    Emulator, Fault, FaultKind, InvalidLaunch, LaunchConfig, LaunchError, Limits, LoadedModule,
    MemoryError, Module,
};

use crate::argument;
use crate::backend::{
    Arrival, Backend, Callable, HostMemory, OWN, Program, Queue, Replay, Rows, Started, Step,
    Timestamp,
};
use crate::progress::Progress;
use crate::{DeviceKind, DeviceProperties, Error, Given, GivenLaunch, Result, Room, Watch, sarif};

/// The default limits are an H200's; this is its compute capability.
const COMPUTE_CAPABILITY: (u32, u32) = (9, 0);

/// An H200 reserves 1 KiB of shared memory per block: 227 KiB for one block are 228 KiB of a
/// multiprocessor.
const RESERVED_SHARED_BYTES: u32 = 1024;

pub(crate) fn start(limits: Limits, watch: Watch) -> Started {
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
    let machine = Arc::new(Machine {
        emulator: Emulator::new(limits),
        properties,
        watch,
        profiles: Mutex::default(),
        launches: Mutex::default(),
    });
    let queue = EmulatorQueue::new(&machine);
    (Arc::new(EmulatorDevice(machine)), queue)
}

struct Machine {
    emulator: Emulator,
    properties: DeviceProperties,
    watch: Watch,
    profiles: Mutex<Vec<Profile>>,
    launches: Mutex<Vec<GivenLaunch>>,
}

impl Machine {
    /// A launch with the initial contents of its memory.
    fn given(&self, kernel: &str, config: LaunchConfig, arguments: &[&[u8]]) -> GivenLaunch {
        let given = |bytes: &&[u8]| {
            let address = <[u8; 8]>::try_from(*bytes).map(u64::from_le_bytes);
            let memory = address.ok().and_then(|at| self.emulator.allocation(at));
            match memory {
                Some((bytes, written)) => Given::Memory { bytes, written },
                None => Given::Bytes(bytes.to_vec()),
            }
        };
        GivenLaunch {
            kernel: kernel.to_owned(),
            config,
            parameters: arguments.iter().map(given).collect(),
        }
    }
}

struct EmulatorDevice(Arc<Machine>);

impl Backend for EmulatorDevice {
    fn properties(&self) -> &DeviceProperties {
        &self.0.properties
    }

    fn alloc(&self, bytes: u64) -> Result<u64> {
        self.0.emulator.alloc(bytes).map_err(|error| match error {
            MemoryError::OutOfMemory {
                requested,
                available,
                limit,
            } => Error::OutOfMemory {
                device: self.0.properties.name.clone(),
                bytes: requested,
                room: Some(Room {
                    free: available,
                    total: limit,
                    own: limit - available,
                }),
            },
            other => other.into(),
        })
    }

    /// Freed memory is watched.
    fn keeps_memory(&self) -> bool {
        false
    }

    unsafe fn free(&self, address: u64) {
        // An address from `alloc` cannot fail otherwise.
        let _ = self.0.emulator.free(address);
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.0.emulator.write(address, bytes)?)
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        Ok(self.0.emulator.read(address, bytes)?)
    }

    fn queue(&self, _urgent: bool) -> Result<Arc<dyn Queue>> {
        Ok(EmulatorQueue::new(&self.0))
    }

    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>> {
        let chunks = bytes.div_ceil(size_of::<Chunk>());
        let mut memory = Vec::new();
        memory
            .try_reserve_exact(chunks)
            .map_err(|_| Error::OutOfHostMemory {
                bytes: bytes as u64,
            })?;
        memory.resize(chunks, Chunk([0; 16]));
        Ok(Box::new(memory))
    }

    fn load(&self, ptx: &str, origin: &str) -> Result<Arc<dyn Program>> {
        let rejected = |reason: String| Error::PtxRejected {
            device: self.0.properties.name.clone(),
            origin: origin.to_owned(),
            reason,
            code: None,
        };
        let module = Module::parse(ptx).map_err(|error| rejected(error.to_string()))?;
        let module = self.0.emulator.load(&module);
        Ok(Arc::new(EmulatorProgram(Arc::new(Loaded {
            module: module.map_err(|error| rejected(error.to_string()))?,
            ptx: ptx.to_owned(),
            origin: origin.to_owned(),
            machine: Arc::clone(&self.0),
        }))))
    }

    fn graph(&self, steps: Vec<Step>) -> Result<Box<dyn Replay>> {
        Ok(Box::new(Steps(steps)))
    }

    fn context(&self) -> *mut c_void {
        std::ptr::null_mut()
    }

    fn stack_bytes(&self) -> Result<usize> {
        Ok(self.0.emulator.stack_bytes() as usize)
    }

    fn set_stack_bytes(&self, bytes: usize) -> Result<()> {
        let limit = self.0.emulator.limits().local_bytes_per_thread;
        match u32::try_from(bytes) {
            Ok(bytes) if bytes <= limit => {
                self.0.emulator.set_stack_bytes(bytes);
                Ok(())
            }
            _ => Err(Error::StackTooLarge {
                bytes,
                limit: limit as usize,
            }),
        }
    }

    fn take_profiles(&self) -> Vec<Profile> {
        std::mem::take(&mut lock(&self.0.profiles))
    }

    fn take_launches(&self) -> Vec<GivenLaunch> {
        std::mem::take(&mut lock(&self.0.launches))
    }

    fn set_progress(&self, listener: Box<dyn FnMut(ptx_emulator::Progress<'_>) + Send>) {
        self.0.emulator.set_progress(listener);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing to wait for: all work has finished when its call returns.
struct EmulatorQueue(Arc<Machine>, Progress);

impl EmulatorQueue {
    fn new(machine: &Arc<Machine>) -> Arc<Self> {
        Arc::new(Self(Arc::clone(machine), Progress::default()))
    }
}

impl Queue for EmulatorQueue {
    fn progress(&self) -> &Progress {
        &self.1
    }

    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.0.emulator.write(address, bytes)?)
    }

    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<Option<Box<dyn Arrival>>> {
        self.0.emulator.read(address, bytes)?;
        Ok(None)
    }

    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.0.emulator.write(address, bytes)?)
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        Ok(self.0.emulator.read(address, bytes)?)
    }

    unsafe fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<()> {
        const PIECE: usize = 1 << 16;
        let piece = [value; PIECE];
        for start in (0..bytes).step_by(PIECE) {
            let len = PIECE.min(bytes - start);
            (self.0.emulator).write(address + start as u64, &piece[..len])?;
        }
        Ok(())
    }

    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        let [from, to] = [from, to].map(|address| Rows {
            address,
            pitch: bytes,
        });
        // SAFETY: the caller's promise.
        unsafe { self.copy_from_peer(self, from, to, bytes, 1) }
    }

    unsafe fn copy_rows(&self, from: Rows, to: Rows, width: usize, rows: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.copy_from_peer(self, from, to, width, rows) }
    }

    unsafe fn copy_from_peer(
        &self,
        other: &dyn Queue,
        from: Rows,
        to: Rows,
        width: usize,
        rows: usize,
    ) -> Result<()> {
        let other: &dyn Any = other;
        let Some(Self(other, _)) = other.downcast_ref() else {
            return Err(Error::ForeignBuffer {
                what: "a copy".to_owned(),
            });
        };
        let mut copied = Vec::new();
        copied
            .try_reserve_exact(width)
            .map_err(|_| Error::OutOfHostMemory {
                bytes: width as u64,
            })?;
        copied.resize(width, 0);
        for number in 0..rows as u64 {
            let [from, to] = [from, to].map(|rows| rows.address + number * rows.pitch as u64);
            other.emulator.read(from, &mut copied)?;
            self.0.emulator.write(to, &copied)?;
        }
        Ok(())
    }

    fn wait_for(&self, _other: &dyn Queue) -> Result<()> {
        Ok(())
    }

    fn record(&self) -> Result<Box<dyn Timestamp>> {
        Ok(Box::new(Instant::now()))
    }

    fn wait(&self, _polling: Duration) -> Result<()> {
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    unsafe fn wait_for_foreign(&self, _stream: *mut c_void) -> Result<()> {
        Ok(())
    }

    unsafe fn hold_foreign(&self, _stream: *mut c_void) -> Result<()> {
        Ok(())
    }

    fn handle(&self) -> Result<*mut c_void> {
        Ok(std::ptr::null_mut())
    }
}

/// Ordinary memory with the alignment of page-locked memory.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Chunk([u8; 16]);

impl HostMemory for Vec<Chunk> {
    fn bytes(&mut self) -> &mut [u8] {
        let bytes = size_of_val(self.as_slice());
        // SAFETY: a chunk consists of exactly 16 bytes.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), bytes) }
    }
}

impl Timestamp for Instant {
    fn seconds_since(&self, start: &dyn Timestamp) -> Result<f64> {
        let start: &dyn Any = start;
        match start.downcast_ref::<Instant>() {
            Some(start) => Ok(self.duration_since(*start).as_secs_f64()),
            None => Err(Error::ForeignEvent),
        }
    }

    fn has_passed(&self) -> Result<bool> {
        Ok(true)
    }
}

struct Loaded {
    module: LoadedModule,
    ptx: String,
    origin: String,
    machine: Arc<Machine>,
}

struct EmulatorProgram(Arc<Loaded>);

impl Program for EmulatorProgram {
    /// Launches run one after the other, whatever the kernel allows.
    fn function(&self, name: &str, _starts_early: bool) -> Result<Arc<dyn Callable>> {
        if self.0.module.module().entry(name).is_none() {
            return Err(Error::UnknownKernel {
                kernel: name.to_owned(),
                origin: self.0.origin.clone(),
            });
        }
        Ok(Arc::new(EmulatorFunction {
            loaded: Arc::clone(&self.0),
            name: name.into(),
        }))
    }
}

struct EmulatorFunction {
    loaded: Arc<Loaded>,
    name: Box<str>,
}

impl Callable for EmulatorFunction {
    unsafe fn launch(
        &self,
        _queue: &dyn Queue,
        shape: Shape,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        let arguments: Vec<_> = arguments.iter().map(argument::bytes).collect();
        let arguments: Vec<&[u8]> = arguments.iter().map(|bytes| &**bytes).collect();
        self.run(shape, &arguments)
    }

    fn suggested_block(&self, shared_bytes: u32) -> Result<u32> {
        let most = (self.loaded.machine.properties).max_threads_per_block;
        let (major, minor) = COMPUTE_CAPABILITY;
        let Ok(model) = format!("sm_{major}{minor}").parse::<DeviceModel>() else {
            return Ok(most.min(256));
        };
        let warps = |threads: u32| {
            let demand = Demand {
                threads,
                registers: None,
                shared_bytes,
            };
            Occupancy::of(demand, &model).warps
        };
        let candidates = || {
            [256, 128, 512, 1024, 64, 32]
                .into_iter()
                .filter(|&n| n <= most)
        };
        let best = candidates().map(warps).max();
        // The first of those that fill the device best.
        let first = candidates().find(|&threads| Some(warps(threads)) == best);
        Ok(first.unwrap_or(most))
    }
}

impl EmulatorFunction {
    fn run(&self, shape: Shape, arguments: &[&[u8]]) -> Result<()> {
        let config = LaunchConfig {
            grid: shape.grid.into(),
            block: shape.block.into(),
            dynamic_shared_bytes: shape.shared_bytes,
        };
        let Loaded {
            module, machine, ..
        } = &*self.loaded;
        let emulator = &machine.emulator;
        let launched = match &machine.watch {
            Watch::Launches if self.loaded.origin != OWN => {
                let given = machine.given(&self.name, config, arguments);
                lock(&machine.launches).push(given);
                (emulator.launch(module, &self.name, config, arguments)).map(drop)
            }
            Watch::Nothing | Watch::Launches => emulator
                .launch(module, &self.name, config, arguments)
                .map(drop),
            Watch::Profile => (emulator.profile(module, &self.name, config, arguments))
                .map(|profile| lock(&machine.profiles).push(profile)),
            Watch::Check(options) => {
                let report = emulator.check(module, &self.name, config, arguments, options);
                match report {
                    Ok(report) if report.is_clean() => Ok(()),
                    Ok(report) => return Err(self.findings(report)),
                    Err(invalid) => Err(LaunchError::Invalid(invalid)),
                }
            }
        };
        match launched {
            Ok(()) => Ok(()),
            Err(LaunchError::Invalid(InvalidLaunch::NoSuchKernel { name, .. })) => {
                Err(Error::UnknownKernel {
                    kernel: name,
                    origin: self.loaded.origin.clone(),
                })
            }
            Err(LaunchError::Fault(fault)) => Err(panic(*fault)),
            Err(error) => Err(error.into()),
        }
    }

    fn findings(&self, report: ptx_emulator::CheckReport) -> Error {
        let Loaded { ptx, origin, .. } = &*self.loaded;
        let sources = Sources::new().with_ptx(Path::new(origin), ptx);
        let mut text = text(std::slice::from_ref(&report), &sources, Style::Plain);
        text.extend(sarif::add(&report, &sources).map(|problem| format!("{problem}\n")));
        Error::Findings {
            report: Box::new(report),
            text,
        }
    }
}

/// A recording: the steps in order.
struct Steps(Vec<Step>);

impl Replay for Steps {
    unsafe fn launch(&self, queue: &dyn Queue) -> Result<()> {
        for step in &self.0 {
            match step {
                Step::Launch {
                    function,
                    shape,
                    arguments,
                } => {
                    let arguments: Vec<_> = arguments
                        .iter()
                        .map(|bytes| Argument::of_bytes(bytes))
                        .collect();
                    // SAFETY: the arguments are the recorded launch's; the caller keeps their
                    // memory.
                    unsafe { function.launch(queue, *shape, &arguments)? };
                }
                Step::Fill {
                    address,
                    bytes,
                    value,
                } => {
                    // SAFETY: the caller keeps the memory.
                    unsafe { queue.fill(*address, *bytes, *value)? };
                }
            }
        }
        Ok(())
    }
}

/// A panic is reported as on a GPU; other faults are the emulator's own.
fn panic(fault: Fault) -> Error {
    match fault.kind {
        // C's `assert` names its function, a panic does not.
        FaultKind::Assert {
            message,
            file,
            line,
            function,
        } if function.is_empty() => Error::Panicked {
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
