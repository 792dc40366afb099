//! What happens when device code panics.

use core::panic::PanicInfo;

unsafe extern "C" {
    /// Supplied by the CUDA driver: prints the message with file, line, block and thread, and ends the launch with
    /// `CUDA_ERROR_ASSERT`. The emulator reports the same.
    fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    ) -> !;
}

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
    // SAFETY: both are zero-terminated strings that outlive the call, which does not return.
    unsafe {
        __assertfail(
            message.0.as_ptr(),
            file.0.as_ptr(),
            line,
            c"".as_ptr().cast(),
            1,
        )
    }
}
