//! Printing, and assertions with values.
//!
//! Output is collected on the device and appears on the process's standard output when the host synchronises. Each call of
//! [`print!`](crate::print) appears whole; the order between threads is not fixed. Characters `\0` are left out. On the host the
//! macros are std's.
//!
//! A line is formatted on the device's heap, and formatting floats or whole structs takes more stack than the 1 KiB that CUDA gives a
//! thread unless asked (`CU_LIMIT_STACK_SIZE`): 8 KiB do.

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

/// Ends the launch unless both values are equal. The message names the expressions, not their values, which then need no `Debug`,
/// and ends with the text that follows them, if any.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {
        if !($left == $right) {
            $crate::__assertion_failed!(left == right, $left, $right $(, $($message)*)?)
        }
    };
}

/// Ends the launch if both values are equal; the message is as [`assert_eq!`](crate::assert_eq)'s.
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {
        if $left == $right {
            $crate::__assertion_failed!(left != right, $left, $right $(, $($message)*)?)
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assertion_failed {
    ($condition:expr, $left:expr, $right:expr $(,)?) => {
        ::core::panic!("{}", $crate::__assertion!($condition, $left, $right))
    };
    ($condition:expr, $left:expr, $right:expr, $($message:tt)+) => {
        ::core::panic!(
            "{}: {}",
            $crate::__assertion!($condition, $left, $right),
            ::core::format_args!($($message)+)
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assertion {
    ($condition:expr, $left:expr, $right:expr) => {
        ::core::concat!(
            "assertion `",
            ::core::stringify!($condition),
            "` failed, left: `",
            ::core::stringify!($left),
            "`, right: `",
            ::core::stringify!($right),
            "`"
        )
    };
}

/// What `print!` expands to.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn print(text: core::fmt::Arguments<'_>) {
    // The text whole, so that threads do not mix; on the heap, because a thread has little stack.
    let mut line = alloc::fmt::format(text);
    // A zero would end the text before its end.
    line.retain(|character| character != '\0');
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
