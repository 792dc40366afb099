//! The interface that GPU and emulator implement.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use launch_contract::launch::{Argument, Shape};

use crate::progress::Progress;
use crate::{DeviceProperties, Result};

/// A kind of device. Addresses are the device's own; lengths are in bytes and never zero.
pub(crate) trait Backend: Send + Sync {
    fn properties(&self) -> &DeviceProperties;

    fn alloc(&self, bytes: u64) -> Result<u64>;

    /// Whether freed memory is kept for later allocations. A GPU's is, because freeing it waits for
    /// all kernels; the emulator's is not, so that detectors see each allocation.
    fn keeps_memory(&self) -> bool;

    /// Frees memory after all earlier work. Errors are dropped: the caller is a destructor.
    ///
    /// # Safety
    /// The address came from [`alloc`](Self::alloc) and is freed once.
    unsafe fn free(&self, address: u64);

    /// Copies to memory of another library: after all earlier work and before all later work on all
    /// streams. Waits for the copy.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies from memory of another library, after all earlier work on all streams.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Creates a queue, whose work overlaps with that of other queues if the device can. Blocks of
    /// an urgent queue's kernels start before waiting blocks of other queues.
    fn queue(&self, urgent: bool) -> Result<Arc<dyn Queue>>;

    /// Allocates host memory that a [`Queue`] can copy from and to asynchronously.
    fn pin(&self, bytes: usize) -> Result<Box<dyn HostMemory>>;

    /// Loads PTX. `origin` says where it comes from, for messages.
    fn load(&self, ptx: &str, origin: &str) -> Result<Arc<dyn Program>>;

    /// Makes steps replayable, in order.
    fn graph(&self, steps: Vec<Step>) -> Result<Box<dyn Replay>>;

    /// The driver's context; null on the emulator.
    fn context(&self) -> *mut c_void;

    /// Stack size per kernel thread, in bytes.
    fn stack_bytes(&self) -> Result<usize>;

    fn set_stack_bytes(&self, bytes: usize) -> Result<()>;

    /// The profiles since the last call, if the device records them.
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

/// The largest copy, in bytes, that is staged in page-locked host memory that a device keeps.
pub(crate) const STAGED: usize = 64 << 10;

/// The origin of this crate's own PTX. Its launches are not recorded, because with their arguments
/// one could make numbers that wrongly pass the check of a permutation.
pub(crate) const OWN: &str = "blockwise's own PTX";

/// How long a wait polls before it sleeps. The interrupt that ends a sleep adds some 50 µs: a
/// twentieth of this time. So no wait takes much longer than its work, and none keeps a core busy
/// for longer than this.
pub(crate) const ATTENTIVE: Duration = Duration::from_millis(1);

/// A backend with its own queue.
pub(crate) type Started = (Arc<dyn Backend>, Arc<dyn Queue>);

/// The layout of rows in memory.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// The first row's address.
    pub(crate) address: u64,
    /// Bytes between the starts of two rows.
    pub(crate) pitch: usize,
}

/// A point in time on a device's clock.
pub(crate) trait Timestamp: Any + Send + Sync {
    /// Seconds from `start`, of the same kind of device, to this one; waits for both.
    fn seconds_since(&self, start: &dyn Timestamp) -> Result<f64>;

    /// Whether the work before it has finished; does not wait.
    fn has_passed(&self) -> Result<bool>;
}

/// Ordered work, concurrent with other queues. Keeps its device alive.
pub(crate) trait Queue: Any + Send + Sync {
    fn progress(&self) -> &Progress;

    /// Copies to the device. The caller may change `bytes` once it returns. Up to [`STAGED`] bytes
    /// do not wait for the queue's earlier work.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes.
    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Copies from the device. Up to [`STAGED`] bytes may still be in flight when it returns: the
    /// [`Arrival`] waits for them.
    ///
    /// # Safety
    /// As for [`upload`](Self::upload).
    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<Option<Box<dyn Arrival>>>;

    /// Calls `start`, which enqueues work that writes `bytes.len()` bytes to the address that it
    /// gets: `address`, or page-locked host memory, aligned to 16 bytes. Then as
    /// [`download`](Self::download).
    ///
    /// # Safety
    /// As for [`upload`](Self::upload). The work that `start` enqueues is in this queue, and its
    /// only access to that address is to write those bytes.
    unsafe fn deliver(
        &self,
        address: u64,
        bytes: &mut [u8],
        start: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Option<Box<dyn Arrival>>> {
        start(address)?;
        // SAFETY: the caller's promise.
        unsafe { self.download(address, bytes) }
    }

    /// Starts copying to the device.
    ///
    /// # Safety
    /// The memory is allocated and has that many bytes; the host's bytes are pinned, and neither
    /// changed nor freed before [`synchronize`](Self::synchronize) has returned.
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Starts copying from the device.
    ///
    /// # Safety
    /// As for [`write`](Self::write); the host's bytes are not read before then either.
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

    /// Starts copying rows within the device.
    ///
    /// # Safety
    /// Both runs of memory are allocated and have these rows; rows do not overlap.
    unsafe fn copy_rows(&self, from: Rows, to: Rows, width: usize, rows: usize) -> Result<()>;

    /// Starts copying rows from memory of the device of `other`, a queue of the same kind.
    ///
    /// # Safety
    /// As for [`copy_rows`](Self::copy_rows).
    unsafe fn copy_from_peer(
        &self,
        other: &dyn Queue,
        from: Rows,
        to: Rows,
        width: usize,
        rows: usize,
    ) -> Result<()>;

    /// Makes later work of this queue wait for all current work of `other`, a queue of the same
    /// kind of device.
    fn wait_for(&self, other: &dyn Queue) -> Result<()>;

    /// Makes later work of this queue wait for all current work of another library's stream, a
    /// `CUstream`.
    ///
    /// # Safety
    /// The stream is alive.
    unsafe fn wait_for_foreign(&self, stream: *mut c_void) -> Result<()>;

    /// Makes later work of another library's stream wait for all current work of this queue.
    ///
    /// # Safety
    /// As for [`wait_for_foreign`](Self::wait_for_foreign).
    unsafe fn hold_foreign(&self, stream: *mut c_void) -> Result<()>;

    /// A timestamp taken when all earlier work has finished.
    fn record(&self) -> Result<Box<dyn Timestamp>>;

    /// Waits for all work, and reports what failed in it. The thread polls for some time before it
    /// sleeps.
    fn wait(&self, polling: Duration) -> Result<()>;

    /// [Waits](Self::wait), and polls for [`ATTENTIVE`].
    fn synchronize(&self) -> Result<()> {
        self.wait(ATTENTIVE)
    }

    /// Waits for all work, but leaves the panics in it for a later wait to report.
    fn settle(&self) -> Result<()>;

    /// The driver's handle, with its context current in this thread; null on the emulator.
    fn handle(&self) -> Result<*mut c_void>;
}

/// A copy from the device that has been enqueued and may be in flight.
pub(crate) trait Arrival {
    /// Waits for it and for all earlier work, as [`Queue::synchronize`] does. `bytes` has the
    /// length that was requested.
    fn wait(self: Box<Self>, bytes: &mut [u8]) -> Result<()>;
}

/// Page-locked memory of the host, aligned to 16 bytes.
pub(crate) trait HostMemory: Send {
    fn bytes(&mut self) -> &mut [u8];
}

/// PTX loaded into a device. Keeps its device alive.
pub(crate) trait Program: Send + Sync {
    /// Finds an entry point. `starts_early` promises that the kernel itself waits for the one
    /// before it in the queue (`griddepcontrol.wait`), so that a launch may start before that one
    /// ends.
    fn function(&self, name: &str, starts_early: bool) -> Result<Arc<dyn Callable>>;
}

/// An entry point of loaded PTX. Keeps its program alive.
pub(crate) trait Callable: Any + Send + Sync {
    /// Starts it in a queue of the same device. The shape is within the device's limits.
    ///
    /// # Safety
    /// The arguments match the entry point's parameters, and their memory stays allocated until the
    /// kernel has finished.
    unsafe fn launch(
        &self,
        queue: &dyn Queue,
        shape: Shape,
        arguments: &[Argument<'_>],
    ) -> Result<()>;

    /// A number of threads per block that fills the device.
    fn suggested_block(&self, shared_bytes: u32) -> Result<u32>;
}

/// One step of recorded work.
pub(crate) enum Step {
    Launch {
        function: Arc<dyn Callable>,
        shape: Shape,
        /// The bytes of each parameter.
        arguments: Vec<Box<[u8]>>,
    },
    Fill {
        address: u64,
        bytes: usize,
        value: u8,
    },
}

/// Recorded work.
pub(crate) trait Replay: Send + Sync {
    /// Replays the work in a queue of the same device.
    ///
    /// # Safety
    /// All memory that it accesses is still allocated.
    unsafe fn launch(&self, queue: &dyn Queue) -> Result<()>;
}
