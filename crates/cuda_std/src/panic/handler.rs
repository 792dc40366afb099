//! What happens when device code panics, or runs out of memory.

use core::fmt::{self, Arguments};
use core::panic::{Location, PanicInfo};
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Kind, MESSAGE_BYTES, Report};
use crate::thread;

/// A [`Channel`](super::Channel) whose address is known when the module is loaded.
#[repr(C)]
struct Channel {
    report: *mut Report,
    claimed: u32,
    reserved: u32,
}

/// The name is [`CHANNEL`](super::CHANNEL). It goes away with the last panic that a kernel can reach: hence the linkage.
#[linkage = "linkonce_odr"]
// As `#[externally_visible]` does, which leaves names like this one to cuda_std.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.externally_visible")]
static mut cuda_std_panic: Channel = Channel {
    report: &raw mut cuda_std_report,
    claimed: 0,
    reserved: 0,
};

/// The module's own.
#[unsafe(no_mangle)]
static mut cuda_std_report: Report = Report::EMPTY;

/// What a panic says.
pub(super) enum Message<'a> {
    /// The numbers of one of core's messages.
    Numbers(Kind, usize, usize),
    Text(&'a str),
    Formatted(Arguments<'a>),
}

/// Leaves the report and ends the thread. Inlined, so that each caller has the code for its message only.
#[inline(always)]
pub(super) fn panicked(message: Message<'_>, place: Option<&Location<'_>>) -> ! {
    // SAFETY: the host writes both before the launch, and nobody during it.
    let (report, is_heard) = unsafe {
        (
            cuda_std_panic.report,
            (*cuda_std_panic.report).is_heard != 0,
        )
    };
    // SAFETY: all threads use it through atomics, the host after the launch.
    let claimed = unsafe { AtomicU32::from_ptr(&raw mut cuda_std_panic.claimed) };
    while claimed.swap(1, Ordering::Relaxed) != 0 {
        if is_heard {
            exit()
        }
        // The thread that has the report traps: a GPU ends the launch, the emulator takes the report and lets the next thread in.
    }
    // SAFETY: it is this thread's now.
    let report = unsafe { &mut *report };
    let kind = match message {
        Message::Numbers(kind, a, b) => {
            report.numbers = [a as u64, b as u64];
            kind
        }
        Message::Text(text) => {
            append(&mut report.text.0, 0, text);
            Kind::TEXT
        }
        Message::Formatted(arguments) => {
            let text = &mut report.text.0;
            // What does not fit is left out, and that is all that can fail.
            let _ = fmt::write(&mut Writer { text, length: 0 }, arguments);
            Kind::TEXT
        }
    };
    if let Some(place) = place {
        copy_file(place, &mut report.file.0);
        report.line = place.line();
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
    report.kind = kind;
    if !is_heard {
        // SAFETY: ends the launch.
        unsafe { core::arch::asm!("trap;", options(nostack)) }
    }
    // SAFETY: the host reads it while the kernel runs, after this thread's other writes.
    let state = unsafe { AtomicU32::from_ptr(&raw mut report.state) };
    state.store(Report::WRITTEN, Ordering::Release);
    exit()
}

/// Volatile reads, or ptxas unrolls the loop for a file that it knows, and the kernel has its registers.
#[inline(always)]
fn copy_file(place: &Location<'_>, to: &mut [u8]) {
    let from = place.file_as_c_str().as_ptr();
    for at in 0..to.len() {
        // SAFETY: `at` is in the array and in the text, which ends with a zero. A slice's own check could panic.
        let byte = unsafe { from.add(at).read_volatile() } as u8;
        unsafe { *to.get_unchecked_mut(at) = byte };
        if byte == 0 {
            break;
        }
    }
}

#[inline(always)]
fn exit() -> ! {
    // SAFETY: ends the thread, which owns nothing that another one could not see.
    unsafe { core::arch::asm!("exit;", options(noreturn, nostack)) }
}

/// Appends to a text of so many bytes; how many more it has then.
#[inline(always)]
fn append(bytes: &mut [u8; MESSAGE_BYTES], length: usize, text: &str) -> usize {
    let fits = text.len().min(MESSAGE_BYTES - length);
    // SAFETY: the text has these bytes, and after `length` there is room for them. A slice's own check could panic.
    unsafe {
        let end = bytes.as_mut_ptr().add(length);
        core::ptr::copy_nonoverlapping(text.as_ptr(), end, fits);
    }
    fits
}

struct Writer<'a> {
    text: &'a mut [u8; MESSAGE_BYTES],
    length: usize,
}

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = append(self.text, self.length, text);
        self.length += fits;
        // A part that did not fit ends the text: a shorter one after it would make nonsense.
        if fits < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// A panic whose message core formats.
#[inline(never)]
#[cold]
pub(super) fn formatted(message: Arguments<'_>, place: Option<&Location<'_>>) -> ! {
    panicked(Message::Formatted(message), place)
}

/// The panics that do not come through [`core_panics`](super::core_panics).
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    formatted(format_args!("{}", info.message()), info.location())
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
