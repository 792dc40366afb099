//! What happens when device code panics, or runs out of memory.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Channel, MESSAGE_BYTES, Report, Text};
use crate::io::__assertfail;
use crate::thread;

/// The name is [`CHANNEL`](super::CHANNEL). It goes away with the last panic that a kernel can reach: hence the linkage.
#[linkage = "linkonce_odr"]
// As `#[externally_visible]` does, which leaves names like this one to cuda_std.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.externally_visible")]
static mut cuda_std_panic_channel: Channel = Channel {
    report: 0,
    panicked: 0,
    reserved: 0,
};

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let channel = &raw mut cuda_std_panic_channel;
    // SAFETY: the variable lives as long as its module. The host writes `report` before the launch.
    let report = unsafe { (&raw const (*channel).report).read_volatile() } as *mut Report;
    if report.is_null() {
        assert_fail(info)
    }
    // SAFETY: all threads use the counter through atomics, the host after the launch.
    let panicked = unsafe { AtomicU32::from_ptr(&raw mut (*channel).panicked) };
    if panicked.fetch_add(1, Ordering::Relaxed) == 0 {
        // SAFETY: what the host put there is a report, and no other thread gets here.
        unsafe { write(report, info) }
    }
    // SAFETY: ends the thread, which owns nothing that another one could not see.
    unsafe { core::arch::asm!("exit;", options(noreturn, nostack)) }
}

/// # Safety
/// `report` is valid and this thread's alone.
unsafe fn write(report: *mut Report, info: &PanicInfo<'_>) {
    // SAFETY: the caller's promise.
    let report = unsafe { &mut *report };
    // What does not fit is left out, and that is all that can fail.
    let _ = write!(report.message, "{}", info.message());
    if let Some(location) = info.location() {
        let _ = report.file.write_str(location.file());
        report.line = location.line();
    }
    report.block = [
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
    ];
    report.thread = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
    ];
    thread::system_fence();
    // SAFETY: a field of a reference. Volatile and behind the fence: the host reads while the kernel runs.
    unsafe { (&raw mut report.state).write_volatile(Report::WRITTEN) }
}

/// The way without a listener.
fn assert_fail(info: &PanicInfo<'_>) -> ! {
    let mut message = Text::<MESSAGE_BYTES>::EMPTY;
    let _ = write!(message, "{}", info.message());
    let (file, line) = match info.location() {
        Some(location) => (location.file_as_c_str(), location.line()),
        None => (c"unknown file", 0),
    };
    // SAFETY: both are zero-terminated strings that outlive the call. It does not return; the rest only says so to the compiler.
    unsafe {
        __assertfail(
            message.bytes.as_ptr(),
            file.as_ptr().cast(),
            line,
            c"".as_ptr().cast(),
            1,
        );
        core::arch::asm!("trap;", "exit;", options(noreturn, nostack))
    }
}

/// `alloc` calls it when the heap is full.
#[alloc_error_handler]
fn out_of_memory(layout: core::alloc::Layout) -> ! {
    panic!(
        "the device's heap has no room for {} bytes (CU_LIMIT_MALLOC_HEAP_SIZE)",
        layout.size()
    )
}

/// What rustc adds to a program that it links itself; here nobody else does.
#[rustc_std_internal_symbol]
fn __rust_no_alloc_shim_is_unstable_v2() {}
