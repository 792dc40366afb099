//! Copies of a launch's arguments.

use launch_contract::launch::Argument;

/// The bytes of an argument, to read as they are.
///
/// An argument of an `unsafe` kernel may be a struct with padding, which is uninitialised: reading a
/// copy of it would be undefined behaviour. The assembly below is empty, but as far as the compiler
/// knows it has written each byte.
pub(crate) fn bytes(argument: &Argument<'_>) -> Box<[u8]> {
    let mut bytes = vec![0_u8; argument.bytes()].into_boxed_slice();
    let to = bytes.as_mut_ptr();
    // SAFETY: an argument's pointer is valid for its bytes, and the copy has as many.
    unsafe { argument.as_ptr().copy_to_nonoverlapping(to, bytes.len()) };
    // SAFETY: leaves the bytes in memory as they are.
    unsafe { std::arch::asm!("/* {} */", in(reg) to, options(nostack, preserves_flags)) };
    bytes
}
