//! What happens when device code panics, or runs out of memory.

use core::panic::PanicInfo;

use crate::io::__assertfail;

/// The text's bytes with a closing zero, cut to the buffer: the driver takes C strings.
struct CString<const N: usize>([u8; N]);

impl<const N: usize> CString<N> {
    #[inline(always)]
    fn new(text: &str) -> Self {
        let mut buffer = [0; N];
        for (slot, byte) in buffer[..N - 1].iter_mut().zip(text.bytes()) {
            *slot = byte;
        }
        CString(buffer)
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // Formatting would pull all of core::fmt into every kernel that indexes a slice; a message without arguments is shown
    // as it is.
    let message = CString::<128>::new(
        info.message()
            .as_str()
            .unwrap_or("Rust panic (its message has arguments)"),
    );
    let (file, line) = match info.location() {
        Some(location) => (CString::<128>::new(location.file()), location.line()),
        None => (CString::new("unknown file"), 0),
    };
    // SAFETY: both are zero-terminated strings that outlive the call. It does not return; the rest only says so to the compiler.
    unsafe {
        __assertfail(
            message.0.as_ptr(),
            file.0.as_ptr(),
            line,
            c"".as_ptr().cast(),
            1,
        );
        core::arch::asm!("trap;", "exit;", options(noreturn, nostack))
    }
}

/// `alloc` calls it when the heap is full.
#[alloc_error_handler]
fn out_of_memory(_: core::alloc::Layout) -> ! {
    panic!("the device's heap is full (CU_LIMIT_MALLOC_HEAP_SIZE)")
}

/// What rustc adds to a program that it links itself; here nobody else does.
#[rustc_std_internal_symbol]
fn __rust_no_alloc_shim_is_unstable_v2() {}
