//! Printing, and assertions with values.
//!
//! Output is collected on the device and appears on the process's standard output when the host
//! synchronises. The text of one [`print!`](crate::print) is never split; the order between threads
//! is not fixed. `\0` characters are omitted. On the host the macros are std's.
//!
//! A line is formatted on the device's heap, and formatting floats or structs needs more stack than
//! CUDA's default of 1 KiB per thread (`CU_LIMIT_STACK_SIZE`): 8 KiB suffice.

#[cfg(target_arch = "nvptx64")]
use core::ffi::c_void;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// C's `vprintf`, supplied by the driver: a zero-terminated format and its arguments, each
    /// aligned to its size. Returns the number of arguments, or a negative one.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// Ends the launch with `CUDA_ERROR_ASSERT` and prints the zero-terminated texts with block and
    /// thread. Supplied by the driver.
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
        $crate::io::print($crate::__private::core::format_args!($($argument)*))
    };
}

/// Prints with a newline, as std's macro does.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::io::print($crate::__private::core::format_args!("{}\n", $crate::__private::core::format_args!($($argument)*)))
    };
}

/// Ends the launch unless both values are equal. The message names the expressions instead of their
/// values, which therefore need no `Debug`, and ends with the optional text.
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(, $($message:tt)*)?) => {
        if !($left == $right) {
            $crate::__assertion_failed!(left == right, $left, $right $(, $($message)*)?)
        }
    };
}

/// Ends the launch if both values are equal; the message is like that of
/// [`assert_eq!`](crate::assert_eq).
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
        $crate::__private::core::panic!("{}", $crate::__assertion!($condition, $left, $right))
    };
    ($condition:expr, $left:expr, $right:expr, $($message:tt)+) => {
        $crate::__private::core::panic!(
            "{}: {}",
            $crate::__assertion!($condition, $left, $right),
            $crate::__private::core::format_args!($($message)+)
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __assertion {
    ($condition:expr, $left:expr, $right:expr) => {
        $crate::__private::core::concat!(
            "assertion `",
            $crate::__private::core::stringify!($condition),
            "` failed, left: `",
            $crate::__private::core::stringify!($left),
            "`, right: `",
            $crate::__private::core::stringify!($right),
            "`"
        )
    };
}

/// What `print!` expands to.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn print(text: core::fmt::Arguments<'_>) {
    // The whole text in one call, so that threads do not mix; on the heap, because a thread has
    // little stack.
    let mut line = alloc::fmt::format(text);
    // A zero would truncate the text.
    line.retain(|character| character != '\0');
    line.push('\0');
    let arguments = [line.as_ptr()];
    // SAFETY: one `%s` takes one pointer to a zero-terminated text, which outlives the call.
    unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
}

/// What `print!` expands to.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub fn print(text: core::fmt::Arguments<'_>) {
    std::print!("{text}");
}
