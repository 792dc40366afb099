//! Order between our streams and those of other libraries.

use std::ffi::c_void;

use cust::error::CudaResult;
use cust_raw::{CUevent, CUevent_flags, CUstream};

use super::answer;

/// A point in a stream. `cust`'s events are recorded in `cust`'s streams only.
struct Mark(CUevent);

impl Mark {
    /// # Safety
    /// The stream is alive, and its context is current.
    unsafe fn at_end_of(stream: CUstream) -> CudaResult<Self> {
        let mut event = std::ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: `event` is a valid place for the answer.
        answer(unsafe { cust_raw::cuEventCreate(&mut event, flags) })?;
        let mark = Self(event);
        // SAFETY: event and stream are alive. The driver refuses a stream of another context.
        answer(unsafe { cust_raw::cuEventRecord(mark.0, stream) })?;
        Ok(mark)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: this is the only reference. The driver keeps an event while anything waits for it.
        let _ = unsafe { cust_raw::cuEventDestroy_v2(self.0) };
    }
}

/// Makes later work of one stream wait for all current work of another one.
///
/// # Safety
/// Both streams are alive, and the context of `first` is current.
pub(super) unsafe fn order(first: *mut c_void, then: *mut c_void) -> CudaResult<()> {
    // SAFETY: the caller's promise.
    let mark = unsafe { Mark::at_end_of(first.cast()) }?;
    // SAFETY: mark and stream are alive.
    answer(unsafe { cust_raw::cuStreamWaitEvent(then.cast(), mark.0, 0) })
}
