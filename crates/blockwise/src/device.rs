//! A GPU or the emulator.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cuda_std::launch::{Entry, Kernels, Plain, Target};

use crate::backend::Backend;
use crate::memory::Core;
use crate::{
    Buffer, DeviceChoice, DeviceProperties, Error, Event, Function, Graph, Module, PeerAccess,
    PtxFile, Result, Stream,
};

#[cfg(feature = "emulator")]
use crate::{EmulatorLimits, Watch};

/// A GPU or the emulator: where buffers live and kernels run. A clone is the same device.
///
/// Launches go to the device's own queue, unless to a [`Stream`]: they run in order, and [`synchronize`](Self::synchronize) waits for
/// them. A device may be used from several threads.
///
/// Kernels are launched by their handles, which carry the PTX that was embedded when their crate was built. The PTX is loaded when the
/// first kernel of a crate is used, and each kernel is looked up, and its signature compared, once.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    core: Arc<Core>,
    fallback: Option<String>,
    /// Kernels that were found, by the address of their entry.
    functions: RwLock<HashMap<usize, Function>>,
    /// Loaded kernel crates, by the address of what they embed.
    modules: Mutex<HashMap<usize, Module>>,
    /// PTX to load instead of what a package embeds.
    replaced: Mutex<HashMap<String, PtxFile>>,
}

impl Device {
    /// The first GPU, if there is one that can be used, else the emulator.
    ///
    /// # Errors
    /// When there is neither: a program without the feature `emulator` on a machine without a GPU.
    pub fn any() -> Result<Self> {
        Self::open(DeviceChoice::Auto)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoGpu`] when a GPU was asked for and cannot be used; [`Error::NoEmulator`] without that feature.
    pub fn open(choice: DeviceChoice) -> Result<Self> {
        match choice {
            DeviceChoice::Gpu(ordinal) => Self::gpu(ordinal),
            DeviceChoice::Emulator => emulated(None),
            DeviceChoice::Auto => match Self::gpu(0) {
                Ok(gpu) => Ok(gpu),
                Err(error) => emulated(Some(error.to_string())).map_err(|_| error),
            },
        }
    }

    /// The GPU with this ordinal, from 0 in the driver's order.
    ///
    /// # Errors
    /// [`Error::NoGpu`] when it is not there or cannot be used.
    pub fn gpu(ordinal: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return Self::new(crate::cuda::connect(ordinal)?, None);
        #[cfg(not(feature = "cuda"))]
        Err(Error::NoGpu {
            reason: format!("GPU {ordinal} needs blockwise's feature `cuda`"),
        })
    }

    /// The number of GPUs that the driver shows; 0 without a driver.
    pub fn gpu_count() -> usize {
        #[cfg(feature = "cuda")]
        return crate::cuda::count();
        #[cfg(not(feature = "cuda"))]
        0
    }

    /// How one GPU reaches another one's memory, by their ordinals; `None` when there are no such two.
    pub fn gpu_peer(from: usize, to: usize) -> Option<PeerAccess> {
        #[cfg(feature = "cuda")]
        return crate::cuda::peer(from, to);
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (from, to);
            None
        }
    }

    /// An emulated device.
    #[cfg(feature = "emulator")]
    pub fn emulator() -> Self {
        Self::emulator_with(EmulatorLimits::default(), Watch::Nothing)
    }

    /// An emulated device that checks each launch for races, bad accesses, divergent barriers and reads of what nobody wrote: a
    /// finding is an [`Error::Findings`] with the Rust lines. For tests.
    #[cfg(feature = "emulator")]
    pub fn checked() -> Self {
        let watch = Watch::Check(crate::CheckOptions::default());
        Self::emulator_with(EmulatorLimits::default(), watch)
    }

    /// An emulated device with limits of your own that watches what its kernels do.
    #[cfg(feature = "emulator")]
    pub fn emulator_with(limits: EmulatorLimits, watch: Watch) -> Self {
        Self::with(crate::emulator::start(limits, watch), None)
    }

    #[cfg(feature = "cuda")]
    fn new((backend, queue): Started, fallback: Option<String>) -> Result<Self> {
        Ok(Self::with((backend, queue), fallback))
    }

    fn with((backend, queue): Started, fallback: Option<String>) -> Self {
        Self(Arc::new(Inner {
            core: Arc::new(Core {
                backend,
                queue,
                enqueueing: Mutex::default(),
            }),
            fallback,
            functions: RwLock::default(),
            modules: Mutex::default(),
            replaced: Mutex::default(),
        }))
    }

    /// What the device is and what it allows.
    pub fn properties(&self) -> &DeviceProperties {
        self.backend().properties()
    }

    /// Why [`DeviceChoice::Auto`] took the emulator, in one line. `None` when it did not.
    pub fn fallback(&self) -> Option<&str> {
        self.0.fallback.as_deref()
    }

    /// Whether two values are one device.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Copies `values` into new memory of the device.
    ///
    /// # Errors
    /// When the device has no room for them, or the copy fails.
    pub fn upload<T: Plain>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(values.len())?;
        buffer.copy_from_slice(values)?;
        Ok(buffer)
    }

    /// Memory for `len` elements whose values are undefined.
    ///
    /// # Errors
    /// When the device has no room for them.
    pub fn alloc<T: Plain>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::alloc(&self.0.core, len)
    }

    /// Memory for `len` elements, each byte of which is `value`.
    ///
    /// # Errors
    /// When the device has no room for them, or fails.
    pub fn filled<T: Plain>(&self, len: usize, value: u8) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_bytes(value)?;
        Ok(buffer)
    }

    /// A stream of its own beside the device's. Work of several overlaps on a GPU.
    ///
    /// # Errors
    /// When the device has none left.
    pub fn stream(&self) -> Result<Stream> {
        Stream::open(&self.0.core)
    }

    /// Records the launches and fills that `steps` makes on the stream that it is given. Nothing runs; copies are errors.
    ///
    /// # Errors
    /// Those of `steps`, and when the device fails.
    pub fn graph<E: From<Error>>(
        &self,
        steps: impl FnOnce(&Stream) -> std::result::Result<(), E>,
    ) -> std::result::Result<Graph, E> {
        Graph::new(&self.0.core, steps)
    }

    /// A timestamp when all earlier work of the device's own queue has ended.
    ///
    /// # Errors
    /// When the device fails.
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.0.core.queue, &self.0.core)
    }

    /// Waits for all work of the device's own queue. The thread sleeps meanwhile.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<()> {
        self.0.core.queue.synchronize()
    }

    /// Loads PTX text. `origin` says where it comes from, for messages. On a GPU, PTX that calls through pointers gets a larger stack:
    /// see [`set_stack_bytes`](Self::set_stack_bytes).
    ///
    /// # Errors
    /// [`Error::PtxRejected`] with the reason of the driver or the emulator.
    ///
    /// # Safety
    /// Kernels that are launched from the module do what the functions of their names in the program say. Their signatures are
    /// compared, their code cannot be.
    pub unsafe fn load_ptx(&self, text: &str, origin: &str) -> Result<Module> {
        Module::load(&self.0.core, text, origin)
    }

    /// Loads kernels of `package` from this PTX from now on instead of what the package embeds.
    ///
    /// # Safety
    /// As for [`load_ptx`](Self::load_ptx), for every kernel of the package.
    pub unsafe fn replace_kernels(&self, package: &str, file: PtxFile) {
        lock(&self.0.replaced).insert(package.to_owned(), file);
        lock(&self.0.modules).clear();
        let mut functions = self.0.functions.write();
        functions
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut())
            .clear();
    }

    /// The PTX that kernels of an embedded crate are loaded from on this device: what replaces it, or the newest embedded one that the
    /// device can run; a GPU takes one for its architecture alone (`sm_90a`) if it is there.
    ///
    /// # Errors
    /// [`Error::NoArchitecture`] when there is none that the device can run, and [`Error::NoKernels`] when nothing is embedded.
    pub fn kernels_file(&self, kernels: &'static Kernels) -> Result<PtxFile> {
        match lock(&self.0.replaced).get(kernels.package) {
            Some(file) => Ok(file.clone()),
            None => PtxFile::of_embedded(kernels, self.properties()),
        }
    }

    /// The bytes of stack that each thread of a kernel may use.
    ///
    /// # Errors
    /// When the device fails.
    pub fn stack_bytes(&self) -> Result<usize> {
        self.backend().stack_bytes()
    }

    /// Sets the bytes of stack for each thread of later launches (`CU_LIMIT_STACK_SIZE`), rounded up to what the device can do.
    ///
    /// CUDA counts what a kernel needs by itself, but for recursion and calls through pointers, as formatting and trait objects make
    /// them: there the default holds, 1 KiB. Loading a module that makes such calls raises that to 8 KiB unless it was set; sorting
    /// more than some hundred elements, which recurses, takes 32 KiB. A stack that is too small ends the launch with an illegal
    /// address, and the context with it. On a GPU every resident thread takes that much device memory: 8 KiB are 2.2 GB on an H200.
    /// The emulator's stack is `EmulatorLimits::local_bytes_per_thread`, 128 KiB unless given, and only what is used takes memory:
    /// there, asking for more than that is an error.
    ///
    /// # Errors
    /// When the device does not have that much.
    pub fn set_stack_bytes(&self, bytes: usize) -> Result<()> {
        self.backend().set_stack_bytes(bytes)
    }

    /// The profiles of the launches since the last call, in their order. Only a device that was made with [`Watch::Profile`] has any.
    #[cfg(feature = "emulator")]
    pub fn take_profiles(&self) -> Vec<ptx_emulator::metrics::Profile> {
        self.backend().take_profiles()
    }

    /// Receives progress while launches run, as [`ptx_emulator::Emulator::set_progress`] says. A GPU reports none.
    #[cfg(feature = "emulator")]
    pub fn set_progress(&self, listener: impl FnMut(ptx_emulator::Progress<'_>) + Send + 'static) {
        self.backend().set_progress(Box::new(listener));
    }

    fn backend(&self) -> &dyn Backend {
        &*self.0.core.backend
    }

    /// The loaded PTX of a kernel crate.
    fn module(&self, kernels: &'static Kernels) -> Result<Module> {
        // Held while loading: a second thread waits instead of loading the same.
        let mut modules = lock(&self.0.modules);
        let key = std::ptr::from_ref(kernels).addr();
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let file = self.kernels_file(kernels)?;
        let module = Module::load(&self.0.core, &file.text, &file.origin)?;
        modules.insert(key, module.clone());
        Ok(module)
    }
}

/// A backend with its own queue.
pub(crate) type Started = (Arc<dyn Backend>, Arc<dyn crate::backend::Queue>);

#[cfg(feature = "emulator")]
fn emulated(fallback: Option<String>) -> Result<Device> {
    let started = crate::emulator::start(EmulatorLimits::default(), Watch::Nothing);
    Ok(Device::with(started, fallback))
}

#[cfg(not(feature = "emulator"))]
fn emulated(_: Option<String>) -> Result<Device> {
    Err(Error::NoEmulator)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// SAFETY: embedded PTX was built from the very crate whose handles ask for it, `replace_kernels`' caller has promised the same, and the
// signatures are compared. `Function::launch` orders the uses of memory, and a buffer frees its memory after them.
unsafe impl Target for Device {
    type Function = Function;
    type Stream = Stream;
    type Error = Error;

    fn function(&self, entry: &'static Entry) -> Result<Function> {
        let key = std::ptr::from_ref(entry).addr();
        {
            let functions = self.0.functions.read();
            let functions = functions.unwrap_or_else(PoisonError::into_inner);
            if let Some(function) = functions.get(&key) {
                return Ok(function.clone());
            }
        }
        let kernels = entry.kernels.ok_or_else(|| Error::NoKernels {
            what: format!("kernel `{}`", entry.name),
        })?;
        let function = self.module(kernels)?.find(entry)?;
        let functions = self.0.functions.write();
        (functions.unwrap_or_else(PoisonError::into_inner)).insert(key, function.clone());
        Ok(function)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("properties", self.properties())
            .field("fallback", &self.0.fallback)
            .finish_non_exhaustive()
    }
}
