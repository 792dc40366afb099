//! Order between streams, ours and those of other libraries.

use std::ffi::c_void;

use cust::error::CudaResult;
use cust_raw::{CUevent, CUevent_flags, CUstream};

use super::answer;

/// A point in a stream, to be waited for in others. `cust`'s events are recorded and waited for in
/// `cust`'s streams only, and each is waited for once.
pub(super) struct Mark(CUevent);

// SAFETY: the driver's events may be used from any thread, also at the same time.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// A mark of the current context, which outlives it.
    pub(super) fn new() -> CudaResult<Self> {
        let mut event = std::ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: `event` is a valid place for the answer.
        answer(unsafe { cust_raw::cuEventCreate(&mut event, flags) })?;
        Ok(Self(event))
    }

    /// Makes later work of one stream wait for all current work of another one. If two threads do
    /// this at once, both streams wait for the later of the two points.
    ///
    /// # Safety
    /// Both streams are alive, and the context of `first` is current and the mark's.
    pub(super) unsafe fn order(&self, first: *mut c_void, then: *mut c_void) -> CudaResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            self.record(first)?;
            self.hold(then)
        }
    }

    /// Marks all current work of a stream.
    ///
    /// # Safety
    /// The stream is alive, and its context is current and the mark's.
    pub(super) unsafe fn record(&self, first: *mut c_void) -> CudaResult<()> {
        let first: CUstream = first.cast();
        // SAFETY: event and stream are alive. The driver refuses a stream of another context.
        answer(unsafe { cust_raw::cuEventRecord(self.0, first) })
    }

    /// Makes later work of a stream, of any context, wait for what was marked last.
    ///
    /// # Safety
    /// The stream is alive, and its context is current.
    pub(super) unsafe fn hold(&self, then: *mut c_void) -> CudaResult<()> {
        let then: CUstream = then.cast();
        // SAFETY: as above. The wait is for the point recorded last, also if another one follows.
        answer(unsafe { cust_raw::cuStreamWaitEvent(then, self.0, 0) })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: this is the only reference. The driver keeps an event while anything waits for it.
        let _ = unsafe { cust_raw::cuEventDestroy_v2(self.0) };
    }
}
