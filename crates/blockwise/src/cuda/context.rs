//! A GPU's context, shared by its queues and programs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use cust::CudaApiVersion;
use cust::context::{Context, ContextFlags, CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaResult;
use cust::stream::Stream;
use cust_raw::{CUdevice_attribute, CUresult};

use super::panics::Listener;
use super::slots::Staging;
use super::{driver_error, lost, unbound_error};
use crate::{DeviceKind, DeviceProperties, Result, Room};

/// Stack per thread in bytes for kernels that format, which need more than CUDA's default of 1 KiB.
const STACK_FOR_FORMATTING: usize = 8 << 10;

/// Fields are dropped in this order: page-locked memory before its context.
pub(super) struct CudaContext {
    pub(super) staging: Staging,
    pub(super) context: Context,
    ordinal: usize,
    pub(super) properties: DeviceProperties,
    /// Why this process can no longer use the GPU, once it cannot.
    pub(super) lost: &'static OnceLock<String>,
    /// The user has set the stack size.
    stack_is_set: AtomicBool,
    /// The modules that can panic.
    listeners: Mutex<Vec<Weak<Listener>>>,
    /// The streams of the open queues.
    streams: Mutex<Vec<Weak<Stream>>>,
    /// The bytes of this process's allocations, by address.
    allocated: Mutex<HashMap<u64, u64>>,
    /// The contexts whose memory this one's copies have used.
    peers: Mutex<HashSet<usize>>,
}

impl CudaContext {
    pub(super) fn open(ordinal: usize) -> Result<Self> {
        let failed = |doing: &str| unbound_error(format!("gpu:{ordinal}: {doing}"));
        cust::init(cust::CudaFlags::empty()).map_err(failed("starting the driver"))?;
        // An ordinal that does not fit cannot exist.
        let device = Device::get_device(u32::try_from(ordinal).unwrap_or(i32::MAX as u32))
            .map_err(failed("finding it"))?;
        let properties = properties(device).map_err(failed("reading its properties"))?;
        let context = Context::new(device).map_err(failed("making a context"))?;
        // Waiting threads sleep. If the program already has the context, its setting stays.
        let _ = context.set_flags(ContextFlags::SCHED_BLOCKING_SYNC);
        CurrentContext::set_current(&context).map_err(failed("entering its context"))?;
        Ok(Self {
            staging: Staging::default(),
            context,
            ordinal,
            properties,
            lost: lost::of(ordinal),
            stack_is_set: AtomicBool::new(false),
            listeners: Mutex::default(),
            streams: Mutex::default(),
            allocated: Mutex::default(),
            peers: Mutex::default(),
        })
    }

    /// The device in messages, such as `gpu:1 (NVIDIA H200)`.
    pub(super) fn name(&self) -> String {
        format!("gpu:{} ({})", self.ordinal, self.properties.name)
    }

    /// Notes an allocation of this process.
    pub(super) fn allocated(&self, address: u64, bytes: u64) {
        lock(&self.allocated).insert(address, bytes);
    }

    /// Notes that it was freed.
    pub(super) fn freed(&self, address: u64) {
        lock(&self.allocated).remove(&address);
    }

    /// How the device's memory is used. `None` if the driver does not say.
    pub(super) fn room(&self) -> Option<Room> {
        let (free, total) = cust::memory::mem_get_info().ok()?;
        Some(Room {
            free: free as u64,
            total: total as u64,
            own: lock(&self.allocated).values().sum(),
        })
    }

    /// Makes the context current in this thread, as every call needs.
    pub(super) fn enter(&self) -> Result<()> {
        lost::check(self.lost)?;
        CurrentContext::set_current(&self.context)
            .map_err(driver_error(self, "entering the GPU's context"))
    }

    /// Enters the context, which from then on reaches another one's memory directly if the GPUs can.
    /// Otherwise the driver copies through the host.
    pub(super) fn reach(&self, other: &Self) -> Result<()> {
        self.enter()?;
        let peer = other.context.as_raw();
        if lock(&self.peers).insert(peer.addr()) {
            // SAFETY: the other context is alive. If it goes, so does the access; a program that
            // has allowed it already, and GPUs that cannot, are no failures.
            let _ = unsafe { cust_raw::cuCtxEnablePeerAccess(peer, 0) };
        }
        Ok(())
    }

    pub(super) fn listen(&self, listener: &Arc<Listener>) {
        lock(&self.listeners).push(Arc::downgrade(listener));
    }

    pub(super) fn listeners(&self) -> Vec<Arc<Listener>> {
        alive(&self.listeners)
    }

    pub(super) fn opened(&self, stream: &Arc<Stream>) {
        lock(&self.streams).push(Arc::downgrade(stream));
    }

    pub(super) fn streams(&self) -> Vec<Arc<Stream>> {
        alive(&self.streams)
    }

    pub(super) fn stack_bytes(&self) -> Result<usize> {
        self.enter()?;
        CurrentContext::get_resource_limit(ResourceLimit::StackSize)
            .map_err(driver_error(self, "asking for the stack's size"))
    }

    pub(super) fn set_stack_bytes(&self, bytes: usize) -> Result<()> {
        self.enter()?;
        self.settle_panics()?;
        self.resize_stack(bytes)?;
        self.stack_is_set.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn stack_for_formatting(&self) -> Result<()> {
        let is_set = self.stack_is_set.load(Ordering::Relaxed);
        if is_set || self.stack_bytes()? >= STACK_FOR_FORMATTING {
            return Ok(());
        }
        self.resize_stack(STACK_FOR_FORMATTING)
    }

    fn resize_stack(&self, bytes: usize) -> Result<()> {
        let doing = format!("asking for a stack of {bytes} bytes a thread");
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, bytes)
            .map_err(driver_error(self, doing))
    }
}

impl Drop for CudaContext {
    fn drop(&mut self) {
        // Page-locked memory is freed next: no copy may use it any more.
        if self.enter().is_err() || CurrentContext::synchronize().is_err() {
            std::mem::forget(std::mem::take(&mut self.staging));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes dead entries from the list and returns the live ones.
fn alive<T>(list: &Mutex<Vec<Weak<T>>>) -> Vec<Arc<T>> {
    let mut list = lock(list);
    list.retain(|entry| entry.strong_count() > 0);
    list.iter().filter_map(Weak::upgrade).collect()
}

fn properties(device: Device) -> CudaResult<DeviceProperties> {
    use DeviceAttribute::*;
    let number = |attribute| Ok(device.get_attribute(attribute)?.unsigned_abs());
    let version = CudaApiVersion::get()?;
    let shared_bytes_per_block = number(MaxSharedMemoryPerBlock)?;
    Ok(DeviceProperties {
        name: device.name()?,
        kind: DeviceKind::Cuda,
        compute_capability: (
            number(ComputeCapabilityMajor)?,
            number(ComputeCapabilityMinor)?,
        ),
        multiprocessors: number(MultiprocessorCount)?,
        warp_size: number(WarpSize)?,
        max_threads_per_block: number(MaxThreadsPerBlock)?,
        max_block: [
            number(MaxBlockDimX)?,
            number(MaxBlockDimY)?,
            number(MaxBlockDimZ)?,
        ],
        max_grid: [
            number(MaxGridDimX)?,
            number(MaxGridDimY)?,
            number(MaxGridDimZ)?,
        ],
        shared_bytes_per_block,
        shared_bytes_opt_in: shared_opt_in(device).unwrap_or(shared_bytes_per_block),
        shared_bytes_per_multiprocessor: number(MaxSharedMemoryPerMultiprocessor)?,
        l2_bytes: number(L2CacheSize)?,
        memory_bytes: device.total_memory()? as u64,
        driver: format!("CUDA {}.{}", version.major(), version.minor()),
    })
}

/// `cust` lacks this attribute. `None` if the driver does too.
fn shared_opt_in(device: Device) -> Option<u32> {
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let mut bytes = 0;
    // SAFETY: `bytes` is a valid place for the answer, and `device` came from the driver.
    let result = unsafe { cust_raw::cuDeviceGetAttribute(&mut bytes, attribute, device.as_raw()) };
    if result != CUresult::CUDA_SUCCESS {
        return None;
    }
    u32::try_from(bytes).ok()
}
