//! A GPU or the emulator.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use launch_contract::launch::{DevicePointer, Entry, Kernels, Plain, Target};

use crate::backend::{Backend, Started};
use crate::memory::Core;
use crate::ptx::{damaged, embedded, origin};
use crate::split::Split;
use crate::{
    Buffer, DeviceChoice, DeviceProperties, Error, Event, Function, Graph, Module, PeerAccess,
    PtxFile, Result, Stream,
};

#[cfg(feature = "emulator")]
use crate::{EmulatorLimits, Watch};

/// A GPU or the emulator: owns buffers and runs kernels. A clone is the same device.
///
/// Launches go to the device's own queue, unless to a [`Stream`]: they run in order, and
/// [`synchronize`](Self::synchronize) waits for them. A device may be used from several threads.
///
/// Kernels are launched through their handles, which refer to the PTX embedded when their crate was
/// built. A GPU's driver compiles each kernel when it is first used, or all of a crate's kernels if
/// they have variables in global memory, which they may share; its signature is compared once.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    core: Arc<Core>,
    fallback: Option<String>,
    /// Kernels found so far, by the address of their entry.
    functions: RwLock<HashMap<usize, Function>>,
    /// PTX of kernel crates in use, by the address of the crate's list or of its embedded file.
    packages: Mutex<HashMap<usize, Package>>,
    /// PTX that replaces a package's embedded PTX.
    replaced: Mutex<HashMap<String, PtxFile>>,
}

/// The PTX of a kernel crate.
enum Package {
    Loaded(Module),
    /// Each kernel is loaded by itself.
    Split(Split),
}

impl Device {
    /// The first usable GPU, otherwise the emulator.
    ///
    /// # Errors
    /// If there is neither: a program without the feature `emulator` on a machine without a GPU.
    pub fn any() -> Result<Self> {
        Self::open(DeviceChoice::Auto)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// [`Error::NoGpu`] if a GPU was requested and cannot be used; [`Error::NoEmulator`] without
    /// that feature.
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
    /// [`Error::NoGpu`] if it does not exist or cannot be used.
    pub fn gpu(ordinal: usize) -> Result<Self> {
        #[cfg(feature = "cuda")]
        return Self::new(crate::cuda::connect(ordinal)?, None);
        #[cfg(not(feature = "cuda"))]
        Err(Error::NoGpu {
            reason: format!("this program was built without GPUs, so there is no gpu:{ordinal}"),
            advice: "build with blockwise's feature `cuda`",
        })
    }

    /// The number of GPUs that the driver reports; 0 without a driver.
    pub fn gpu_count() -> usize {
        #[cfg(feature = "cuda")]
        return crate::cuda::count();
        #[cfg(not(feature = "cuda"))]
        0
    }

    /// The driver's library as a file, such as `/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04`;
    /// `None` without a driver.
    pub fn driver_library() -> Option<&'static str> {
        #[cfg(feature = "cuda")]
        return libcuda_loader::status().ok();
        #[cfg(not(feature = "cuda"))]
        None
    }

    /// How one GPU reaches another one's memory, by their ordinals; `None` if either does not
    /// exist.
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

    /// An emulated device that checks each launch for races, bad accesses, divergent barriers and
    /// uninitialised reads: a finding is an [`Error::Findings`] with the Rust lines. For tests.
    #[cfg(feature = "emulator")]
    pub fn checked() -> Self {
        let watch = Watch::Check(crate::CheckOptions::default());
        Self::emulator_with(EmulatorLimits::default(), watch)
    }

    /// An emulated device with custom limits that observes its kernels.
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
            core: Arc::new(Core::new(backend, queue)),
            fallback,
            functions: RwLock::default(),
            packages: Mutex::default(),
            replaced: Mutex::default(),
        }))
    }

    /// The device's properties and limits.
    pub fn properties(&self) -> &DeviceProperties {
        self.backend().properties()
    }

    /// Why [`DeviceChoice::Auto`] chose the emulator, in one line. `None` if it did not.
    pub fn fallback(&self) -> Option<&str> {
        self.0.fallback.as_deref()
    }

    /// Whether two values are the same device.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Allocates memory on the device and copies `values` to it, in the order of the device's own
    /// queue: work on streams that uses them waits for it.
    ///
    /// # Errors
    /// If the device lacks memory, or the copy fails.
    #[doc(alias = "cudaMemcpy")]
    pub fn upload<T: Plain>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = Buffer::alloc(&self.0.core, values.len())?;
        buffer.copy_from_slice(values)?;
        Ok(buffer)
    }

    /// Allocates `len` elements of which every byte is 0: zeros as numbers.
    ///
    /// # Errors
    /// If the device lacks memory, or fails.
    #[doc(alias = "cudaMalloc")]
    pub fn zeros<T: Plain>(&self, len: usize) -> Result<Buffer<T>> {
        self.filled(len, 0)
    }

    /// Allocates `len` elements with every byte set to `value`. `0xFF` makes elements visible that
    /// a kernel does not write: they are NaN as floats.
    ///
    /// # Errors
    /// If the device lacks memory, or fails.
    pub fn filled<T: Plain>(&self, len: usize, value: u8) -> Result<Buffer<T>> {
        Buffer::filled(&self.0.core, None, len, value)
    }

    /// Allocates `len` elements without writing them: [`zeros`](Self::zeros) without the pass over
    /// the memory. The device may return freed memory with its old contents.
    ///
    /// # Safety
    /// Every element is written before it is read: by a whole copy or fill, or by a kernel that
    /// writes each element of its output and reads none of them first. Reads are those of kernels
    /// (of `Out` and `Atomics` too), copies from the buffer, and [`Buffer::to_vec`].
    ///
    /// ```
    /// use blockwise::Device;
    ///
    /// let device = Device::any()?;
    /// let squares = device.upload(&[1, 4, 9])?;
    /// // SAFETY: the copy writes every element.
    /// let mut copy = unsafe { device.alloc::<i32>(3)? };
    /// copy.copy_from_buffer(&squares)?;
    /// assert_eq!(copy.to_vec()?, [1, 4, 9]);
    /// # Ok::<(), blockwise::Error>(())
    /// ```
    ///
    /// Safe code cannot:
    ///
    /// ```compile_fail,E0133
    /// # let device = blockwise::Device::any()?;
    /// let anything = device.alloc::<i32>(3)?;
    /// # Ok::<(), blockwise::Error>(())
    /// ```
    pub unsafe fn alloc<T: Plain>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::alloc(&self.0.core, len)
    }

    /// `len` elements that another library has allocated, as a buffer that does not free them.
    /// Nothing is copied. Kernels take it like any other buffer.
    ///
    /// The library must use the device's primary context, as cudarc, PyTorch and CUDA's runtime do:
    /// [`context`](Self::context). Its streams and the device's know nothing of each other:
    /// [`Stream::within`] orders them. On the emulator the address is one of its own.
    ///
    /// # Errors
    /// An address that is not aligned for `T`, and lengths of more than `isize::MAX` bytes.
    ///
    /// # Safety
    /// The address holds `len` elements, every byte of them initialised. They stay allocated until
    /// the buffer is dropped and the work that uses it has ended. Until then the library reads them
    /// only while nothing here writes them, and writes them only while nothing here uses them: a
    /// stream or events order the two.
    pub unsafe fn foreign<T: Plain>(
        &self,
        address: DevicePointer<T>,
        len: usize,
    ) -> Result<Buffer<T>> {
        // SAFETY: the caller's promise.
        unsafe { Buffer::foreign(&self.0.core, address.address, len) }
    }

    /// The driver's context as a `CUcontext`, for other libraries: the GPU's primary context. Valid
    /// while the device lives; null on the emulator.
    pub fn context(&self) -> *mut c_void {
        self.backend().context()
    }

    /// A stream in addition to the device's own queue. Work of several streams overlaps on a GPU.
    ///
    /// # Errors
    /// If the device cannot create more.
    #[doc(alias = "cudaStreamCreate")]
    pub fn stream(&self) -> Result<Stream> {
        Stream::open(&self.0.core, false)
    }

    /// The same, but if blocks of several streams wait for a free multiprocessor, this stream's
    /// start first: for short work, such as transfers, beside long kernels.
    ///
    /// # Errors
    /// As for [`stream`](Self::stream).
    pub fn urgent_stream(&self) -> Result<Stream> {
        Stream::open(&self.0.core, true)
    }

    /// The device's own queue as a stream.
    pub fn own_stream(&self) -> Stream {
        Stream::of(&self.0.core)
    }

    /// Records the launches and fills that `steps` makes on the given stream. Nothing runs; copies
    /// are errors.
    ///
    /// # Errors
    /// Those of `steps`, and when the device fails.
    pub fn graph<E: From<Error>>(
        &self,
        steps: impl FnOnce(&Stream) -> std::result::Result<(), E>,
    ) -> std::result::Result<Graph, E> {
        Graph::new(&self.0.core, steps)
    }

    /// A timestamp taken when all earlier work of the device's own queue has finished.
    ///
    /// # Errors
    /// When the device fails.
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.0.core.queue, &self.0.core)
    }

    /// Waits for all work of the device's own queue. The thread sleeps after a millisecond.
    ///
    /// # Errors
    /// Failures of that work.
    #[doc(alias = "cudaDeviceSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.0.core.queue.synchronize()?;
        self.0.core.waited()
    }

    /// The same, but the thread polls for `polling` before it sleeps: the interrupt that ends a
    /// sleep may take 0.3 ms.
    ///
    /// # Errors
    /// As for [`synchronize`](Self::synchronize).
    pub fn synchronize_polling(&self, polling: Duration) -> Result<()> {
        self.0.core.queue.wait(polling)?;
        self.0.core.waited()
    }

    /// Limits the total bytes of this device's buffers. An allocation beyond it is an
    /// [`Error::OutOfMemory`]. What kernels, streams and other libraries take by themselves is not
    /// counted.
    ///
    /// ```
    /// use blockwise::Device;
    ///
    /// let device = Device::emulator();
    /// device.limit_memory(1000);
    /// let most = device.zeros::<f32>(250)?;
    /// assert!(device.zeros::<u8>(1).is_err());
    /// drop(most);
    /// device.zeros::<u8>(1)?;
    /// # Ok::<(), blockwise::Error>(())
    /// ```
    pub fn limit_memory(&self, bytes: u64) {
        self.0.core.budget.limit(bytes);
    }

    /// Makes every later launch, copy and wait of this device an [`Error::Spoiled`]: for a library
    /// whose work failed after it was enqueued, such as a transfer whose sender has died. The first
    /// cause is kept. [`Device::gpu`] reopens the same GPU.
    pub fn spoil(&self, cause: impl Into<String>) {
        self.0.core.spoiled.get_or_init(|| cause.into());
    }

    /// Loads PTX text. `origin` describes its source in messages. On a GPU, PTX with indirect calls
    /// gets a larger stack: see [`set_stack_bytes`](Self::set_stack_bytes).
    ///
    /// # Errors
    /// [`Error::PtxRejected`] with the reason of the driver or the emulator.
    ///
    /// # Safety
    /// Kernels launched from the module do what the functions of their names in the program say.
    /// Their signatures are compared; their code cannot be.
    pub unsafe fn load_ptx(&self, text: &str, origin: &str) -> Result<Module> {
        Module::load(&self.0.core, text, origin)
    }

    /// Makes later launches load kernels of `package` from this PTX instead of the embedded one.
    ///
    /// # Safety
    /// As for [`load_ptx`](Self::load_ptx), for every kernel of the package.
    pub unsafe fn replace_kernels(&self, package: &str, file: PtxFile) {
        lock(&self.0.replaced).insert(package.to_owned(), file);
        lock(&self.0.packages).clear();
        let mut functions = self.0.functions.write();
        functions
            .as_mut()
            .unwrap_or_else(|poisoned| poisoned.get_mut())
            .clear();
    }

    /// The PTX from which kernels of an embedded crate are loaded on this device: its replacement,
    /// or the newest embedded one that the device can run; a GPU prefers one for exactly its
    /// architecture (`sm_90a`). Files with only some of the crate's kernels are not considered.
    ///
    /// # Errors
    /// [`Error::NoArchitecture`] if the device can run none of them, and [`Error::NoKernels`] if
    /// nothing is embedded.
    pub fn kernels_file(&self, kernels: &'static Kernels) -> Result<PtxFile> {
        match lock(&self.0.replaced).get(kernels.package) {
            Some(file) => Ok(file.clone()),
            None => PtxFile::of_embedded(kernels, self.properties()),
        }
    }

    /// Stack size per kernel thread, in bytes.
    ///
    /// # Errors
    /// When the device fails.
    pub fn stack_bytes(&self) -> Result<usize> {
        self.backend().stack_bytes()
    }

    /// Sets the stack per thread for later launches in bytes (`CU_LIMIT_STACK_SIZE`), rounded up to
    /// what the device supports.
    ///
    /// CUDA computes a kernel's stack size itself, except for recursion and indirect calls, as in
    /// formatting and trait objects: there the default of 1 KiB applies. Loading a module with
    /// indirect calls raises it to 8 KiB unless it was set; sorting more than a few hundred
    /// elements, which recurses, needs 32 KiB. A stack that is too small ends the launch with an
    /// illegal address, and destroys the context. On a GPU every resident thread reserves that much
    /// device memory: 8 KiB are 2.2 GB on an H200. The emulator's stack is 128 KiB by default and
    /// allocates only what is used; more than `EmulatorLimits::local_bytes_per_thread`, 512 KiB by
    /// default, is an error. It also bounds the depth of recursion there: a call counts its arrays,
    /// parameters and results, at least 16 bytes, but not the registers that a GPU saves.
    ///
    /// # Errors
    /// If the device does not support that much.
    pub fn set_stack_bytes(&self, bytes: usize) -> Result<()> {
        (self.0.core).with_room(|| self.backend().set_stack_bytes(bytes))
    }

    /// The profiles of the launches since the last call, in order. Only a device created with
    /// [`Watch::Profile`] has any.
    #[cfg(feature = "emulator")]
    pub fn take_profiles(&self) -> Vec<ptx_emulator::metrics::Profile> {
        self.backend().take_profiles()
    }

    /// The arguments of the launches since the last call, in order. Only a device created with
    /// [`Watch::Launches`] has any.
    #[cfg(feature = "emulator")]
    pub fn take_launches(&self) -> Vec<crate::GivenLaunch> {
        self.backend().take_launches()
    }

    /// Receives progress while launches run, as [`ptx_emulator::Emulator::set_progress`] says. A
    /// GPU reports none.
    #[cfg(feature = "emulator")]
    pub fn set_progress(&self, listener: impl FnMut(ptx_emulator::Progress<'_>) + Send + 'static) {
        self.backend().set_progress(Box::new(listener));
    }

    fn backend(&self) -> &dyn Backend {
        &*self.0.core.backend
    }

    /// The loaded PTX that has a kernel of the crate: the best for this device.
    fn module(&self, kernels: &'static Kernels, kernel: &str) -> Result<Module> {
        // Held while loading: a second thread waits instead of loading the same PTX.
        let mut packages = lock(&self.0.packages);
        let replaced = lock(&self.0.replaced).get(kernels.package).cloned();
        if let Some(file) = replaced {
            let key = std::ptr::from_ref(kernels).addr();
            return self.loaded(&mut packages, key, kernel, || match Split::of(file) {
                Ok(split) => Ok(Package::Split(split)),
                Err(file) => self.whole(&file),
            });
        }
        let file = embedded(kernels, |file| file.has(kernel), self.properties())?;
        if file.is_divided() {
            let origin = origin(kernels, file);
            let text = file.text_of(kernel);
            let text = text.ok_or_else(|| damaged(origin.clone()))?;
            return Module::load(&self.0.core, &text, &origin);
        }
        let key = std::ptr::from_ref(file).addr();
        self.loaded(&mut packages, key, kernel, || {
            self.whole(&PtxFile::of_file(kernels, file)?)
        })
    }

    /// A kernel's module, from the file that `key` stands for. `read` loads the file at its first
    /// use.
    fn loaded(
        &self,
        packages: &mut HashMap<usize, Package>,
        key: usize,
        kernel: &str,
        read: impl FnOnce() -> Result<Package>,
    ) -> Result<Module> {
        let package = match packages.entry(key) {
            Occupied(package) => package.into_mut(),
            Vacant(place) => place.insert(read()?),
        };
        match package {
            Package::Loaded(module) => Ok(module.clone()),
            Package::Split(split) => {
                Module::load(&self.0.core, &split.only(kernel), &split.file.origin)
            }
        }
    }

    /// All kernels of a file as one module, because they may share variables.
    fn whole(&self, file: &PtxFile) -> Result<Package> {
        let module = Module::load(&self.0.core, &file.text, &file.origin)?;
        Ok(Package::Loaded(module))
    }
}

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

// SAFETY: embedded PTX was built from the very crate whose handles request it, `replace_kernels`'
// caller has promised the same, and the signatures are compared. `Function::launch` orders the uses
// of memory, and a buffer frees its memory after them.
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
        let function = self.module(kernels, entry.name)?.find(entry)?;
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
