//! Printing, and assertions with values.
//!
//! Output is collected on the device and appears when the host synchronises. Each call of [`print!`](crate::print) appears whole;
//! the order between threads is not fixed. On the host the macros are std's.

#[cfg(target_arch = "nvptx64")]
use core::ffi::c_void;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// C's `vprintf`, supplied by the driver: a zero-terminated format and its arguments, each aligned to its size. Returns the
    /// number of arguments, or a negative one.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Ends the launch with `CUDA_ERROR_ASSERT` and prints the zero-terminated texts with block and thread. Supplied by the
    /// driver.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// Prints without a newline, as std's macro does.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!($($argument)*))
    };
}

/// Prints with a newline, as std's macro does.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($argument)*)))
    };
}

/// Ends the launch unless both values are equal. The message names the expressions, not their values, so that no formatting gets
/// into the kernel.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {
        if !($left == $right) {
            ::core::panic!(::core::concat!(
                "assertion `left == right` failed, left: `",
                ::core::stringify!($left),
                "`, right: `",
                ::core::stringify!($right),
                "`"
            ))
        }
    };
}

/// Ends the launch if both values are equal. The message names the expressions.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {
        if $left == $right {
            ::core::panic!(::core::concat!(
                "assertion `left != right` failed, left: `",
                ::core::stringify!($left),
                "`, right: `",
                ::core::stringify!($right),
                "`"
            ))
        }
    };
}

/// What `print!` expands to.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn print(text: core::fmt::Arguments<'_>) {
    // The text whole, so that threads do not mix; on the heap, because a thread has little stack.
    let mut line = alloc::fmt::format(text);
    line.push('\0');
    let arguments = [line.as_ptr()];
    // SAFETY: one `%s` takes one pointer to a zero-terminated text, which lives until the call returns.
    unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
}

/// What `print!` expands to.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub fn print(text: core::fmt::Arguments<'_>) {
    std::print!("{text}");
}
