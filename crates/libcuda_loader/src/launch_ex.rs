//! Launches with attributes, which `cust_raw` does not declare.
//!
//! Source: the driver API's `cuLaunchKernelEx`, `CUlaunchConfig` and `CUlaunchAttribute`, from CUDA
//! 11.8 on.

use std::ffi::{c_int, c_uint, c_void};

use cust_raw::{CUfunction, CUresult, CUstream};

use crate::failure::{pass_on, pass_on_absence};
use crate::library::{AnyFunction, Symbol};

/// The shape of a launch, and its stream.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    /// Blocks along x, y and z.
    pub grid: [c_uint; 3],
    /// Threads of a block along x, y and z.
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: c_uint,
    /// The stream.
    pub stream: CUstream,
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Launch {
    config: Config,
    attributes: *const Attribute,
    count: c_uint,
}

/// `CUlaunchAttribute`: its value is a union of 64 bytes.
#[repr(C, align(8))]
struct Attribute {
    id: c_int,
    _unused: [u8; 4],
    value: [c_int; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the kernel may start before the one
/// before it in the stream has ended.
const PROGRAMMATIC_STREAM_SERIALIZATION: c_int = 6;

type LaunchKernelEx =
    unsafe extern "C" fn(*const Launch, CUfunction, *mut *mut c_void, *mut *mut c_void) -> c_uint;

static SYMBOL: Symbol = Symbol::new(c"cuLaunchKernelEx");

/// Whether the driver has such launches.
pub fn is_known() -> bool {
    SYMBOL.get().is_ok()
}

/// Starts a kernel that may run beside the one before it in its stream.
///
/// # Safety
/// As for the driver's `cuLaunchKernel`. The kernel accesses memory that the one before it uses only
/// after `griddepcontrol.wait`.
pub unsafe fn launch_early(
    function: CUfunction,
    config: Config,
    arguments: *mut *mut c_void,
) -> CUresult {
    let mut value = [0; 16];
    value[0] = 1;
    let attribute = Attribute {
        id: PROGRAMMATIC_STREAM_SERIALIZATION,
        _unused: [0; 4],
        value,
    };
    let launch = Launch {
        config,
        attributes: &attribute,
        count: 1,
    };
    match SYMBOL.get() {
        Ok(symbol) => {
            // SAFETY: the driver's function of this name has these parameters.
            let start = unsafe { std::mem::transmute::<AnyFunction, LaunchKernelEx>(symbol) };
            // SAFETY: the caller's promise; the driver reads the configuration during the call.
            let code = unsafe { start(&launch, function, arguments, std::ptr::null_mut()) };
            pass_on("cuLaunchKernelEx", code)
        }
        Err(absence) => pass_on_absence("cuLaunchKernelEx", absence),
    }
}

const _: () = assert!(size_of::<Launch>() == 56 && size_of::<Attribute>() == 72);
