//! The panic handler and the handler for allocation failures.

use core::ffi::c_char;
use core::fmt::{self, Arguments};
use core::panic::{Location, PanicInfo};
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Channel, Kind, MESSAGE_BYTES, Report};
use crate::thread;

/// The variable named by [`CHANNEL`](super::CHANNEL). Its linkage lets LLVM remove it if no kernel
/// can reach a panic.
#[linkage = "linkonce_odr"]
// The marks that `#[externally_visible]` adds. They are written out, because it refuses a static
// whose name starts with `cuda_std_`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.externally_visible")]
static mut cuda_std_panics: Channel = Channel {
    report: 0,
    panicked: 0,
    reserved: 0,
};

/// The name is [`NUMBERS`](super::NUMBERS). Visible, so that LLVM keeps the parameters unchanged.
///
/// # Safety
/// `file` is a zero-terminated text.
#[linkage = "linkonce_odr"]
// The marks that `#[externally_visible]` adds.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.externally_visible")]
#[inline(never)]
#[cold]
unsafe fn cuda_std_panic(kind: Kind, a: usize, b: usize, file: *const c_char, line: u32) -> ! {
    if let Some(report) = claim() {
        let numbers = &raw mut report.numbers;
        // SAFETY: `claim` gives the report to this thread alone.
        // Volatile keeps two stores: a combined one would cost each caller a register.
        unsafe {
            (&raw mut (*numbers)[0]).write_volatile(a as u64);
            (&raw mut (*numbers)[1]).write_volatile(b as u64);
        }
        // SAFETY: the caller's promise.
        unsafe { deliver(report, kind, file, line) };
    }
    exit()
}

/// The name is [`TEXT`](super::TEXT).
///
/// # Safety
/// `file` is a zero-terminated text.
#[linkage = "linkonce_odr"]
// The marks that `#[externally_visible]` adds.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.externally_visible")]
#[inline(never)]
#[cold]
unsafe fn cuda_std_panic_text(text: &[u8], file: *const c_char, line: u32) -> ! {
    if let Some(report) = claim() {
        append(&mut report.text.0, 0, text);
        // SAFETY: the caller's promise.
        unsafe { deliver(report, Kind::TEXT, file, line) };
    }
    exit()
}

/// The report for the first thread that panics, `None` for later ones. Without a report, traps.
#[inline(always)]
fn claim() -> Option<&'static mut Report> {
    // SAFETY: the host writes the address before the launch, and nothing writes it during one.
    let report = unsafe { cuda_std_panics.report } as *mut Report;
    if report.is_null() {
        // SAFETY: ends the launch.
        unsafe { core::arch::asm!("trap;", "exit;", options(noreturn, nostack)) }
    }
    // SAFETY: threads access it only atomically, and the host only when no launch runs.
    let panicked = unsafe { AtomicU32::from_ptr(&raw mut cuda_std_panics.panicked) };
    // SAFETY: the address of a report, which no other thread gets.
    (panicked.fetch_add(1, Ordering::Relaxed) == 0).then(|| unsafe { &mut *report })
}

/// Completes the report.
///
/// # Safety
/// `file` is a zero-terminated text.
#[inline(always)]
unsafe fn deliver(report: &mut Report, kind: Kind, file: *const c_char, line: u32) {
    for at in 0..report.file.0.len() {
        // SAFETY: at or before the terminating zero, by the caller's promise.
        let byte = unsafe { *file.add(at) } as u8;
        // SAFETY: inside the array. Its own bounds check would panic.
        unsafe { *report.file.0.get_unchecked_mut(at) = byte };
        if byte == 0 {
            break;
        }
    }
    report.line = line;
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
    report.kind = kind;
    // SAFETY: the host reads it while the kernel runs, after this thread's other writes.
    let state = unsafe { AtomicU32::from_ptr(&raw mut report.state) };
    state.store(Report::WRITTEN, Ordering::Release);
}

#[inline(always)]
fn exit() -> ! {
    // SAFETY: ends only this thread. What ends with it is its local memory, which no other thread
    // accesses.
    unsafe { core::arch::asm!("exit;", options(noreturn, nostack)) }
}

/// Appends to a text of the given length; returns how many bytes were added.
#[inline(always)]
fn append(bytes: &mut [u8; MESSAGE_BYTES], length: usize, text: &[u8]) -> usize {
    let fits = text.len().min(MESSAGE_BYTES - length);
    // SAFETY: the text has these bytes, and there is room for them after `length`. A slice's own
    // bounds check would panic.
    unsafe {
        let end = bytes.as_mut_ptr().add(length);
        core::ptr::copy_nonoverlapping(text.as_ptr(), end, fits);
    }
    fits
}

/// A panic with core's wording.
#[inline(always)]
pub(super) fn numbers((kind, [a, b]): (Kind, [usize; 2]), place: &Location<'_>) -> ! {
    // SAFETY: a C string ends with a zero.
    unsafe { cuda_std_panic(kind, a, b, place.file_as_c_str().as_ptr(), place.line()) }
}

/// A panic with a fixed message.
#[inline(always)]
pub(super) fn text(text: &[u8], place: &Location<'_>) -> ! {
    // SAFETY: a C string ends with a zero.
    unsafe { cuda_std_panic_text(text, place.file_as_c_str().as_ptr(), place.line()) }
}

/// A panic with a message that core formats.
#[inline(never)]
#[cold]
pub(super) fn formatted(message: Arguments<'_>, place: &Location<'_>) -> ! {
    let mut writer = Writer {
        bytes: [0; MESSAGE_BYTES],
        length: 0,
    };
    // An error ends the text: a part that does not fit, or one that an argument returns.
    let _ = fmt::write(&mut writer, message);
    text(writer.bytes.get(..writer.length).unwrap_or_default(), place)
}

struct Writer {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = append(&mut self.bytes, self.length, text.as_bytes());
        self.length += fits;
        // A part that does not fit ends the text: shorter parts after it would be misleading.
        if fits < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// Handles the panics that do not go through [`core_panics`](super::core_panics).
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let place = info.location().unwrap_or(Location::caller());
    formatted(format_args!("{}", info.message()), place)
}

/// Called by `alloc` when the heap is exhausted.
#[alloc_error_handler]
fn out_of_memory(layout: core::alloc::Layout) -> ! {
    panic!(
        "the device's heap has no room for {} bytes (CU_LIMIT_MALLOC_HEAP_SIZE)",
        layout.size()
    )
}

/// rustc adds this symbol only to programs that it links itself.
#[rustc_std_internal_symbol]
fn __rust_no_alloc_shim_is_unstable_v2() {}
