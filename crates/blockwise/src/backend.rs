//! The wall between the devices: what differs between a GPU and the emulator.

use std::any::Any;
use std::sync::Arc;

use cuda_std::launch::{Argument, Shape};

use crate::graph::Node;
use crate::{DeviceProperties, Result};

/// A kind of device. Addresses are the device's own; lengths are in bytes and never zero.
pub(crate) trait Backend: Send + Sync {
    fn properties(&self) -> &DeviceProperties;

    fn alloc(&self, bytes: u64) -> Result<u64>;

    /// Frees memory after all work that was started before. An error has nobody to be reported to.
    ///
    /// # Safety
    /// The address came from [`alloc`](Self::alloc) and is freed once.
    unsafe fn free(&self, address: u64);

    /// Copies to the device, in order with everything that was started on any stream, and waits.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies from the device, after everything that was started on any stream.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Makes a queue that overlaps with others where the device can.
    fn queue(&self) -> Result<Arc<dyn Queue>>;

    /// Allocates memory of the host that a [`Queue`] can copy from and to by itself.
    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>>;

    /// Loads PTX. `origin` says where it comes from, for messages.
    fn load(&self, ptx: &str, origin: &str) -> Result<Arc<dyn Program>>;

    /// Makes launches and fills replayable, in their order.
    fn graph(&self, nodes: Vec<Node>) -> Result<Box<dyn Replay>>;

    /// The bytes of stack of each thread of a kernel.
    fn stack_bytes(&self) -> Result<usize>;

    fn set_stack_bytes(&self, bytes: usize) -> Result<()>;

    /// The profiles since the last call, where the device makes them.
    #[cfg(feature = "emulator")]
    fn take_profiles(&self) -> Vec<ptx_emulator::metrics::Profile> {
        Vec::new()
    }

    /// The launches since the last call, where the device keeps them.
    #[cfg(feature = "emulator")]
    fn take_launches(&self) -> Vec<crate::GivenLaunch> {
        Vec::new()
    }

    /// Receives progress while launches run, where the device reports any.
    #[cfg(feature = "emulator")]
    fn set_progress(&self, _listener: Box<dyn FnMut(ptx_emulator::Progress<'_>) + Send>) {}
}

/// A point in time on a device's own clock.
pub(crate) trait Timestamp: Any + Send + Sync {
    /// Seconds from `start`, of the same kind of device, to this one; waits for both.
    fn seconds_since(&self, start: &dyn Timestamp) -> Result<f64>;
}

/// Work in order, beside other queues. It keeps its device alive.
pub(crate) trait Queue: Any + Send + Sync {
    /// Starts copying to the device.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes; the host's bytes were pinned, and nobody changes or frees them before
    /// [`synchronize`](Self::synchronize) has returned.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Starts copying from the device.
    ///
    /// # Safety
    /// As for [`write`](Self::write); nobody reads the host's bytes before either.
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Starts setting bytes to `value`.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes.
    unsafe fn fill(&self, address: u64, bytes: usize, value: u8) -> Result<()>;

    /// Starts copying within the device.
    ///
    /// # Safety
    /// Both runs of memory are allocated, have that many bytes and don't overlap.
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()>;

    /// Lets later work of this queue wait for all work that `other`, of the same device, has so far.
    fn wait_for(&self, other: &dyn Queue) -> Result<()>;

    /// A timestamp that is taken when all earlier work has ended.
    fn record(&self) -> Result<Box<dyn Timestamp>>;

    /// Waits for everything that was started.
    fn synchronize(&self) -> Result<()>;
}

/// Page-locked memory of the host, aligned to 16 bytes.
pub(crate) trait HostMemory: Send {
    fn bytes(&mut self) -> &mut [u8];
}

/// PTX that was loaded into a device. It keeps its device alive.
pub(crate) trait Program: Send + Sync {
    /// Finds an entry point.
    fn function(&self, name: &str) -> Result<Arc<dyn Callable>>;
}

/// An entry point of loaded PTX. It keeps its program alive.
pub(crate) trait Callable: Any + Send + Sync {
    /// Starts it in a queue of the same device. The shape is within the device's limits.
    ///
    /// # Safety
    /// The arguments are what the entry point's parameters are, and lead to memory that stays allocated until it has ended.
    unsafe fn launch(
        &self,
        queue: &dyn Queue,
        shape: Shape,
        arguments: &[Argument<'_>],
    ) -> Result<()>;

    /// A number of threads for a block that fills the device.
    fn suggested_block(&self, shared_bytes: u32) -> Result<u32>;
}

/// Recorded work.
pub(crate) trait Replay: Send + Sync {
    /// Starts it again in a queue of the same device.
    ///
    /// # Safety
    /// All memory that it leads to is still allocated.
    unsafe fn launch(&self, queue: &dyn Queue) -> Result<()>;
}
