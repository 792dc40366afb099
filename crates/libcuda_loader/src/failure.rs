//! The driver's error codes: converted safely to `cust_raw`'s enum, remembered, and described.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_uint};

use cust_raw::CUresult;

use crate::library::{Absence, AnyFunction, Symbol, status};

/// A failed driver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The function that was called, such as `cuLaunchKernel`.
    pub call: &'static str,
    /// The returned code. `cust`'s errors may have lost it: they know fewer codes than the driver.
    pub code: u32,
    /// Why there was nothing to call, if that is what failed.
    pub absence: Option<Absence>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.absence, status()) {
            (Some(Absence::NoFunction), Ok(library)) => write!(
                f,
                "{library} has no function {}: it is not a CUDA driver, or one too old for this program",
                self.call
            ),
            (Some(_), Err(error)) => error.fmt(f),
            _ => write!(f, "{} returned {}", self.call, describe(self.code)),
        }
    }
}

thread_local! {
    static LAST: Cell<Option<Failure>> = const { Cell::new(None) };
}

/// This thread's last failed call, other than one that frees something: what fails is often
/// followed by the release of what was made before it. Successful calls do not clear it.
pub fn last_failure() -> Option<Failure> {
    LAST.get()
}

/// The return value of a forwarding function for the driver's `code`.
pub(crate) fn pass_on(call: &'static str, code: c_uint) -> CUresult {
    if code == CUresult::CUDA_SUCCESS as c_uint {
        return CUresult::CUDA_SUCCESS;
    }
    remember(call, code, None)
}

fn remember(call: &'static str, code: c_uint, absence: Option<Absence>) -> CUresult {
    const FREEING: [&str; 4] = ["Destroy", "Free", "Unload", "Release"];
    if !FREEING.iter().any(|word| call.contains(word)) {
        LAST.set(Some(Failure {
            call,
            code,
            absence,
        }));
    }
    known(code).unwrap_or(CUresult::CUDA_ERROR_UNKNOWN)
}

/// The return value of a forwarding function that has nothing to forward to.
pub(crate) fn pass_on_absence(call: &'static str, absence: Absence) -> CUresult {
    let result = match absence {
        Absence::NoDriver => CUresult::CUDA_ERROR_NO_DEVICE,
        Absence::NoFunction => CUresult::CUDA_ERROR_NOT_FOUND,
    };
    remember(call, result as c_uint, Some(absence))
}

/// Name, number and text of a code, such as `CUDA_ERROR_INVALID_VALUE (1): invalid argument`.
///
/// Also works without a driver, but then without the text.
pub fn describe(code: u32) -> String {
    static NAME: Symbol = Symbol::new(c"cuGetErrorName");
    let name = match (ask(&NAME, code), known(code)) {
        (Some(name), _) => name.to_string_lossy().into_owned(),
        (None, Some(result)) => format!("{result:?}"),
        (None, None) => "an unknown error code".into(),
    };
    match text(code) {
        Some(text) => format!("{name} ({code}): {}", text.to_string_lossy()),
        None => format!("{name} ({code})"),
    }
}

/// The driver's text for `code`.
pub(crate) fn text(code: u32) -> Option<&'static CStr> {
    static TEXT: Symbol = Symbol::new(c"cuGetErrorString");
    ask(&TEXT, code)
}

fn ask(symbol: &Symbol, code: u32) -> Option<&'static CStr> {
    type Getter = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;
    let function = symbol.get().ok()?;
    // SAFETY: both functions that are asked have this type; the C enum of the codes is passed as an
    // unsigned int.
    let getter = unsafe { std::mem::transmute::<AnyFunction, Getter>(function) };
    let mut answer = std::ptr::null();
    // SAFETY: the driver accepts any number here and writes the address of a static string, or
    // null.
    let result = unsafe { getter(code, &mut answer) };
    if result != CUresult::CUDA_SUCCESS as c_uint || answer.is_null() {
        return None;
    }
    // SAFETY: on success `answer` is a static string of the driver, ended by a zero; the driver is
    // never unloaded.
    Some(unsafe { CStr::from_ptr(answer) })
}

fn known(code: c_uint) -> Option<CUresult> {
    KNOWN
        .iter()
        .copied()
        .find(|result| *result as c_uint == code)
}

/// Every code that `cust_raw` has a name for.
const KNOWN: &[CUresult] = {
    use cust_raw::CUresult::*;
    &[
        CUDA_SUCCESS,
        CUDA_ERROR_INVALID_VALUE,
        CUDA_ERROR_OUT_OF_MEMORY,
        CUDA_ERROR_NOT_INITIALIZED,
        CUDA_ERROR_DEINITIALIZED,
        CUDA_ERROR_PROFILER_DISABLED,
        CUDA_ERROR_PROFILER_NOT_INITIALIZED,
        CUDA_ERROR_PROFILER_ALREADY_STARTED,
        CUDA_ERROR_PROFILER_ALREADY_STOPPED,
        CUDA_ERROR_STUB_LIBRARY,
        CUDA_ERROR_NO_DEVICE,
        CUDA_ERROR_INVALID_DEVICE,
        CUDA_ERROR_DEVICE_NOT_LICENSED,
        CUDA_ERROR_INVALID_IMAGE,
        CUDA_ERROR_INVALID_CONTEXT,
        CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
        CUDA_ERROR_MAP_FAILED,
        CUDA_ERROR_UNMAP_FAILED,
        CUDA_ERROR_ARRAY_IS_MAPPED,
        CUDA_ERROR_ALREADY_MAPPED,
        CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUDA_ERROR_ALREADY_ACQUIRED,
        CUDA_ERROR_NOT_MAPPED,
        CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
        CUDA_ERROR_NOT_MAPPED_AS_POINTER,
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_UNSUPPORTED_LIMIT,
        CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
        CUDA_ERROR_INVALID_PTX,
        CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CUDA_ERROR_JIT_COMPILATION_DISABLED,
        CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
        CUDA_ERROR_INVALID_SOURCE,
        CUDA_ERROR_FILE_NOT_FOUND,
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
        CUDA_ERROR_OPERATING_SYSTEM,
        CUDA_ERROR_INVALID_HANDLE,
        CUDA_ERROR_ILLEGAL_STATE,
        CUDA_ERROR_NOT_FOUND,
        CUDA_ERROR_NOT_READY,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
        CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_TOO_MANY_PEERS,
        CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        CUDA_ERROR_NOT_PERMITTED,
        CUDA_ERROR_NOT_SUPPORTED,
        CUDA_ERROR_SYSTEM_NOT_READY,
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
        CUDA_ERROR_MPS_CONNECTION_FAILED,
        CUDA_ERROR_MPS_RPC_FAILURE,
        CUDA_ERROR_MPS_SERVER_NOT_READY,
        CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
        CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        CUDA_ERROR_STREAM_CAPTURE_MERGE,
        CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        CUDA_ERROR_CAPTURED_EVENT,
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
        CUDA_ERROR_TIMEOUT,
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        CUDA_ERROR_EXTERNAL_DEVICE,
        CUDA_ERROR_UNKNOWN,
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_without_a_name_is_passed_on_as_unknown_and_remembered() {
        assert_eq!(pass_on("cuNewer", 12_345), CUresult::CUDA_ERROR_UNKNOWN);
        let expected = Failure {
            call: "cuNewer",
            code: 12_345,
            absence: None,
        };
        assert_eq!(last_failure(), Some(expected));
        assert!(describe(12_345).contains("12345"));
    }

    #[test]
    fn known_codes_pass_unchanged_and_success_leaves_no_trace() {
        for &result in KNOWN {
            assert_eq!(pass_on("cuAny", result as c_uint), result);
        }
        let before = last_failure();
        assert_eq!(pass_on("cuFine", 0), CUresult::CUDA_SUCCESS);
        assert_eq!(last_failure(), before);
    }

    #[test]
    fn a_release_that_fails_does_not_hide_what_failed_before() {
        pass_on("cuCtxSetCurrent", 2);
        pass_on("cuDevicePrimaryCtxRelease_v2", 4);
        assert_eq!(last_failure().map(|failure| failure.code), Some(2));
    }

    #[test]
    fn a_failure_is_told_with_call_name_and_number() {
        let failure = Failure {
            call: "cuLaunchKernel",
            code: 700,
            absence: None,
        };
        let message = failure.to_string();
        assert!(
            message.starts_with("cuLaunchKernel returned CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
            "{message}"
        );
    }
}
