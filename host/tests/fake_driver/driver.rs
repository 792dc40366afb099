//! A fake CUDA driver: device memory is host memory, kernels do nothing, and chosen calls fail.
//!
//! `FAKE_DRIVER` lists the calls that fail, with their codes: `cuInit=100 cuMemAlloc_v2=2@3` makes
//! every `cuInit` and the third `cuMemAlloc_v2` fail. `FAKE_GPUS` is the number of GPUs, 1 by
//! default, and `FAKE_CUDA` the driver's version, 13000 for CUDA 13.0. The test generates every other function of the driver, as a call of [`answer`].

#![allow(non_snake_case, reason = "the driver's own names")]

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

type Word = *mut usize;

fn answer(call: &'static str) -> c_uint {
    static CALLS: Mutex<Option<HashMap<&'static str, u32>>> = Mutex::new(None);
    let mut calls = CALLS.lock().unwrap();
    let count = calls.get_or_insert_default().entry(call).or_default();
    *count += 1;
    let failing = std::env::var("FAKE_DRIVER").unwrap_or_default();
    for word in failing.split_whitespace() {
        let (name, code) = word.split_once('=').expect("call=code");
        let (code, which) = code.split_once('@').unwrap_or((code, ""));
        if name == call && (which.is_empty() || which.parse() == Ok(*count)) {
            return code.parse().expect("a code");
        }
    }
    0
}

fn gpus() -> c_int {
    std::env::var("FAKE_GPUS").map_or(1, |count| count.parse().expect("a count"))
}

fn cuda() -> c_int {
    std::env::var("FAKE_CUDA").map_or(13_000, |version| version.parse().expect("a version"))
}

/// Functions that write a fixed result through their first parameter.
macro_rules! gives {
    ($($name:ident($type:ty) = $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(place: *mut $type) -> c_uint {
            let code = answer(stringify!($name));
            if code == 0 {
                unsafe { *place = $value };
            }
            code
        }
    )*};
}

gives! {
    cuDriverGetVersion(c_int) = cuda();
    cuDeviceGetCount(c_int) = gpus();
    cuDevicePrimaryCtxRetain(usize) = 16;
    cuCtxCreate_v2(usize) = 16;
    cuCtxGetCurrent(usize) = 16;
    cuCtxGetDevice(c_int) = 0;
    cuCtxGetLimit(usize) = 1024;
    cuStreamCreateWithPriority(usize) = 16;
    cuEventCreate(usize) = 16;
    cuEventElapsedTime(f32) = 1.0;
    cuModuleLoadData(usize) = 16;
    cuModuleLoadDataEx(usize) = 16;
    cuModuleGetFunction(usize) = 16;
    cuFuncGetAttribute(c_int) = 32;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_uint {
    match answer("cuDeviceGet") {
        0 if !(0..gpus()).contains(&ordinal) => 101,
        0 => {
            unsafe { *device = ordinal };
            0
        }
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, _: c_int) -> c_uint {
    let text = b"Fake GPU\0";
    assert!(len as usize >= text.len());
    unsafe { std::ptr::copy(text.as_ptr(), name.cast(), text.len()) };
    answer("cuDeviceGetName")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: Word, _: c_int) -> c_uint {
    unsafe { *bytes = 8 << 30 };
    answer("cuDeviceTotalMem_v2")
}

/// An H100's values for the attributes that matter; 1 for all others.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> c_uint {
    let known = match attribute {
        1..=3 | 39 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => 48 << 10,
        10 => 32,
        16 => 132,
        38 => 50 << 20,
        75 => 9,
        76 => 0,
        81 => 228 << 10,
        97 => 227 << 10,
        _ => 1,
    };
    unsafe { *value = known };
    answer("cuDeviceGetAttribute")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetGlobal_v2(_: Word, _: Word, _: Word, _: *const c_char) -> c_uint {
    match answer("cuModuleGetGlobal_v2") {
        0 => 500,
        code => code,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int) -> c_uint {
    unsafe {
        *grid = 132;
        *block = 256;
    }
    answer("cuOccupancyMaxPotentialBlockSize")
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: Word, total: Word) -> c_uint {
    unsafe {
        *free = 1 << 30;
        *total = 8 << 30;
    }
    answer("cuMemGetInfo_v2")
}

/// Leaks `bytes` of host memory as an allocation.
fn memory(call: &'static str, place: Word, bytes: usize) -> c_uint {
    let code = answer(call);
    if code == 0 {
        let memory: &'static mut [u128] = vec![0_u128; bytes / 16 + 1].leak();
        unsafe { *place = memory.as_mut_ptr() as usize };
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(place: Word, bytes: usize) -> c_uint {
    memory("cuMemAlloc_v2", place, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocHost_v2(place: Word, bytes: usize) -> c_uint {
    memory("cuMemAllocHost_v2", place, bytes)
}

macro_rules! copies {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: *mut c_void, from: *const c_void, bytes: usize) -> c_uint {
            let code = answer(stringify!($name));
            if code == 0 {
                unsafe { std::ptr::copy(from.cast::<u8>(), to.cast(), bytes) };
            }
            code
        }
    )*};
}

copies! {
    cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2
    cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2
}
