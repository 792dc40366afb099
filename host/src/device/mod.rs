//! The two devices that run PTX: a GPU through `cust`, and the emulator.
//!
//! [`Device`] is one of them; [`DeviceBuffer`] is memory on it; [`Module`] is PTX loaded into it. Whatever differs
//! between the two is behind the private trait `Backend`, so that the same bytes run on both.

mod arguments;
mod backend;
mod buffer;
mod cuda;
mod emulator;
mod error;
mod event;
mod module;
mod panics;
mod properties;
mod ptx;
mod stream;
mod waiting;
mod watch;

use std::sync::Arc;

use backend::Backend;
use ptx_emulator::metrics::Profile;

use crate::named::named_enum;

pub use arguments::Arguments;
pub use buffer::{DeviceBuffer, Element};
pub use error::DeviceError;
pub use event::Event;
pub use module::{LaunchPlan, Module};
pub use properties::{DeviceKind, DeviceProperties};
pub use ptx::{PTX_FOLDER_VARIABLE, PtxFile, PtxSource};
pub use stream::{StagedBuffer, Stream};
pub use watch::Watch;

/// The limits of an emulated device, for [`Device::emulator`].
pub use ptx_emulator::Limits as EmulatorLimits;

named_enum! {
    /// Which device to use.
    pub enum DeviceChoice("device") {
        /// The GPU if there is one, else the emulator.
        Auto = "auto",
        /// The GPU, or an error.
        Gpu = "gpu",
        /// The emulator.
        Emulator = "emulator",
    }
}

/// A device, and the kernels loaded into it.
///
/// Launches go to one queue of the device, unless to a [`Stream`]: they run in order, and
/// [`synchronize`](Self::synchronize) waits for them.
/// A device may be used from several threads.
pub struct Device {
    backend: Arc<dyn Backend>,
    fallback: Option<String>,
    kernels: Option<(Module, PtxFile)>,
}

impl Device {
    /// Connects to a device and loads the kernels from `source` into it.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect) and [`load_kernels`](Self::load_kernels). A GPU that is there but refuses
    /// the kernels is an error under [`DeviceChoice::Auto`] too.
    pub fn open(choice: DeviceChoice, source: &PtxSource) -> Result<Self, DeviceError> {
        let mut device = Self::connect(choice)?;
        device.load_kernels(source)?;
        Ok(device)
    }

    /// Connects to a device without loading anything.
    ///
    /// # Errors
    /// [`DeviceError::NoGpu`] when a GPU was asked for and cannot be used.
    pub fn connect(choice: DeviceChoice) -> Result<Self, DeviceError> {
        match choice {
            DeviceChoice::Gpu => Ok(Self::new(cuda::connect()?)),
            DeviceChoice::Emulator => Ok(Self::emulator(EmulatorLimits::default())),
            DeviceChoice::Auto => match cuda::connect() {
                Ok(backend) => Ok(Self::new(backend)),
                Err(error) => Ok(Self {
                    fallback: Some(error.to_string()),
                    ..Self::emulator(EmulatorLimits::default())
                }),
            },
        }
    }

    /// An emulated device with limits of your own.
    pub fn emulator(limits: EmulatorLimits) -> Self {
        Self::watched_emulator(limits, Watch::Nothing)
    }

    /// An emulated device that watches what its kernels do. What it sees is handed out by
    /// [`take_profiles`](Self::take_profiles).
    pub fn watched_emulator(limits: EmulatorLimits, watch: Watch) -> Self {
        Self::new(emulator::start(limits, watch))
    }

    fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            fallback: None,
            kernels: None,
        }
    }

    /// What the device is and what it allows.
    pub fn properties(&self) -> &DeviceProperties {
        self.backend.properties()
    }

    /// Why [`DeviceChoice::Auto`] took the emulator, in one line. `None` when it did not.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Loads the newest PTX of `source` that the device can run; beside it, on a GPU, that for its architecture alone
    /// (`sm_90a`) if there is one. The typed launchers use it from then on.
    ///
    /// # Errors
    /// When there is none, or the device refuses it.
    pub fn load_kernels(&mut self, source: &PtxSource) -> Result<(), DeviceError> {
        let properties = self.properties();
        let newest = source.select(properties.compute_capability)?;
        let file = match (source, properties.kind) {
            (PtxSource::Folders { .. }, DeviceKind::Cuda) => {
                newest.for_exactly(properties.compute_capability)?
            }
            _ => newest,
        };
        let module = self.load_ptx(&file.text, &file.path.display().to_string())?;
        self.kernels = Some((module, file));
        Ok(())
    }

    /// The module that [`load_kernels`](Self::load_kernels) loaded.
    ///
    /// # Errors
    /// [`DeviceError::NoKernels`] when nothing was loaded.
    pub fn kernels(&self) -> Result<&Module, DeviceError> {
        let (module, _) = self.kernels.as_ref().ok_or(DeviceError::NoKernels)?;
        Ok(module)
    }

    /// The file that [`load_kernels`](Self::load_kernels) chose.
    pub fn kernels_file(&self) -> Option<&PtxFile> {
        self.kernels.as_ref().map(|(_, file)| file)
    }

    /// Loads any PTX text. `origin` says where it comes from, for messages. On a GPU, PTX that calls through pointers gets a larger
    /// stack: see [`set_stack_bytes`](Self::set_stack_bytes).
    ///
    /// # Errors
    /// [`DeviceError::PtxRejected`] with the reason of the driver or the emulator.
    pub fn load_ptx(&self, text: &str, origin: &str) -> Result<Module, DeviceError> {
        Module::load(&self.backend, text, origin)
    }

    /// The bytes of stack that each thread of a kernel may use.
    ///
    /// # Errors
    /// When the device fails.
    pub fn stack_bytes(&self) -> Result<usize, DeviceError> {
        self.backend.stack_bytes()
    }

    /// Gives each thread of later launches so many bytes of stack (`CU_LIMIT_STACK_SIZE`), rounded up to what the device can do.
    ///
    /// CUDA counts what a kernel needs by itself, but for recursion and calls through pointers, as formatting and trait objects make
    /// them: there the default holds, 1 KiB. [`load_ptx`](Self::load_ptx) raises that to 8 KiB when a module makes such calls and
    /// nobody has set it; sorting more than some hundred elements, which recurses, takes 32 KiB. A stack that is too small ends the
    /// launch with an illegal address, and the context with it. On a GPU every resident thread takes so much device memory: 8 KiB are 2.2 GB on an H200. On the
    /// emulator the stack is [`EmulatorLimits::local_bytes_per_thread`] from the beginning, 128 KiB unless given, and takes no memory
    /// that is not used: there, only asking for more than that is an error.
    ///
    /// # Errors
    /// When the device cannot give so much.
    pub fn set_stack_bytes(&self, bytes: usize) -> Result<(), DeviceError> {
        self.backend.set_stack_bytes(bytes)
    }

    /// The profiles of the launches since the last call, in their order. Only a device that was made with
    /// [`Watch::Profile`] has any.
    pub fn take_profiles(&self) -> Vec<Profile> {
        self.backend.take_profiles()
    }

    /// A stream of its own beside the device's. Work of several overlaps on a GPU.
    ///
    /// # Errors
    /// When the device has none left.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::open(&self.backend)
    }

    /// Notes the moment when all that was started before has ended, by the device's own clock.
    ///
    /// # Errors
    /// When the device fails.
    pub fn record(&self) -> Result<Event, DeviceError> {
        Event::record(&self.backend)
    }

    /// Waits for all launches.
    ///
    /// # Errors
    /// What went wrong in one of them.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.backend.synchronize()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("properties", self.properties())
            .field("fallback", &self.fallback)
            .field("kernels", &self.kernels_file().map(|file| &file.path))
            .finish()
    }
}

#[cfg(test)]
mod tests;
