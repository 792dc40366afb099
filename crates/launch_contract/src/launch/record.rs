//! The record of a signature: text assembled at compile time, from the same parts on both sides.

use core::marker::PhantomData;

use super::Plain;

/// Suffix of an entry point's name in the name of its record, a variable in the PTX.
///
/// The record is what the device's build saw of the kernel; the program has what the host's build
/// saw, and a runtime compares the two when the kernel is first used. So a difference caused by
/// `#[cfg]`, `cfg!` or a shadowed name is an error before anything starts. The record is text, with
/// a line for each subject:
///
/// ```text
/// record    = signature { "\n" line }
/// signature = the parameters with their types, without static arrays: x: &[f32], mut_y: Out<f32>
/// line      = "kernel" ("safe" | "unsafe") HASH     of the definition's words and those of `host`
///                                                   conditions, 16 hex digits
///           | "bounds" THREADS BLOCKS               max_threads and min_blocks
///           | "starts early"                        it waits for the launch before it by itself
///           | "type" NAME BYTES "/" ALIGNMENT       of a parameter's element or value, if not plain
///           | "array" NAME BYTES "/" ALIGNMENT      of a static shared array
///           | "map" NAME { " " WORD }               which elements of an output a thread has
///           | "implied" condition                   what the types ask of the launch's shape
///           | "require" condition                   in the order of the source
///           | "length" PARAMETER number             of a dynamic shared array
/// condition = "(host)"                              at the top and below "&&" there, nowhere else
///           | "(" ("&&" | "||") condition condition ")" | "(! " condition ")"
///           | "(" ("==" | "!=" | "<" | "<=" | ">" | ">=") number number ")"
///           | "(" ("==" | "!=") option option ")" | "(is_some " option ")"
///           | "(is_empty " PARAMETER ")" | "(is_aligned_to " PARAMETER number ")"
///           | "(is_multiple_of " number number ")"
/// option    = "(some " number ")"
///           | "(" ("checked_add" | "checked_sub" | "checked_mul") number number ")"
/// number    = LITERAL | "(const " STRING VALUE ")" | "(value " PARAMETER ")"
///           | "(" ("len" | "rows" | "cols") PARAMETER ")"
///           | "(" ("grid" | "block") ("x" | "y" | "z" | "*") ")" | "(shared_bytes)"
///           | "(" ("+" | "-" | "*" | "/" | "%" | "<<" | ">>") number number ")"
///           | "(as " TYPE number ")"
/// ```
///
/// PARAMETER counts those of the signature, from 0. STRING is the source's text, quoted as Rust
/// quotes it; VALUE is what the build evaluated: `256u32`, `-1i8`, `0x3f800000f32` (bits), `true`.
/// `*` is the product of all three extents. Arithmetic is exact: a launch for which an operation has
/// no result in its type is refused, as is one by zero; `as` converts as Rust does. Types of
/// elements are named by their layout, `Affine{gain:f32,bias:f32}`: without padding and in the order
/// of C, each field begins where the one before it ends.
///
/// A `host` condition calls something that the record cannot describe, such as a function of the
/// user's. The host checks it; neither the optimiser nor a proof may assume it.
pub const RECORD_SUFFIX: &str = "__signature";

/// The bytes of all parts.
pub const fn length(parts: &[&str]) -> usize {
    let (mut total, mut part) = (0, 0);
    while part < parts.len() {
        total += parts[part].len();
        part += 1;
    }
    total
}

/// All parts concatenated; `N` is their [`length`].
pub const fn join<const N: usize>(parts: &[&str]) -> [u8; N] {
    let (mut joined, mut at, mut part) = ([0; N], 0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut byte = 0;
        while byte < bytes.len() {
            joined[at] = bytes[byte];
            (at, byte) = (at + 1, byte + 1);
        }
        part += 1;
    }
    joined
}

/// Joined parts as text.
pub const fn text(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("the parts of a signature are text"),
    }
}

/// The name of a plain type, `None` for others: `NameOf::<T>::NAME`, for a concrete `T`.
///
/// A constant of the type itself takes precedence over a trait's.
#[doc(hidden)]
pub struct NameOf<T: ?Sized>(PhantomData<T>);

impl<T: Plain> NameOf<T> {
    /// The type's name.
    pub const NAME: Option<&'static str> = Some(T::NAME);
}

/// What [`NameOf`] falls back to.
#[doc(hidden)]
pub trait Unnamed {
    /// None.
    const NAME: Option<&'static str> = None;
}

impl<T: ?Sized> Unnamed for NameOf<T> {}

/// One of the three parts that represent a type: the first is the plain type's name; the others are
/// then empty.
#[doc(hidden)]
pub const fn otherwise(
    name: Option<&'static str>,
    first: bool,
    part: &'static str,
) -> &'static str {
    match name {
        Some(name) if first => name,
        Some(_) => "",
        None => part,
    }
}

/// A number's digits.
#[doc(hidden)]
pub struct Decimal<const N: usize>;

impl<const N: usize> Decimal<N> {
    const DIGITS: ([u8; 20], usize) = {
        let (mut digits, mut start, mut rest) = ([b'0'; 20], 20, N);
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break (digits, start);
            }
        }
    };
    /// As text.
    pub const TEXT: &'static str = text(Self::DIGITS.0.split_at(Self::DIGITS.1).1);
}

/// The sizes other than zeros, which have no parameter in PTX, and their number.
#[doc(hidden)]
pub const fn present<const N: usize>(sizes: &[usize]) -> ([usize; N], usize) {
    let (mut present, mut count, mut at) = ([0; N], 0, 0);
    while at < N {
        if sizes[at] > 0 {
            present[count] = sizes[at];
            count += 1;
        }
        at += 1;
    }
    (present, count)
}

/// The signature of a record.
#[doc(hidden)]
pub const fn first_line(record: &'static str) -> &'static str {
    let mut at = 0;
    while at < record.len() && record.as_bytes()[at] != b'\n' {
        at += 1;
    }
    record.split_at(at).0
}

/// The first `count` sizes.
#[doc(hidden)]
pub const fn first(sizes: &'static [usize], count: usize) -> &'static [usize] {
    sizes.split_at(count).0
}

/// The extents of a kernel's block, 0 where the launch decides.
#[doc(hidden)]
pub const fn block_of([x, y, z]: [usize; 3]) -> [u32; 3] {
    assert!(
        x <= 1024 && y <= 1024 && z <= 64 && at_least_1(x) * at_least_1(y) * at_least_1(z) <= 1024,
        "a block has at most 1024 threads, and 64 along z"
    );
    [x as u32, y as u32, z as u32]
}

const fn at_least_1(extent: usize) -> usize {
    if extent == 0 { 1 } else { extent }
}

/// The time of a launch: what a safe kernel's arguments borrow.
///
/// A type of its own, since `let launch = ()` would mean a constant `launch: ()` where the kernel's
/// crate has one, and a constant's borrow is `'static`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Scope(());

impl Scope {
    /// # Safety
    /// In an entry point, for whose time it lives.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

/// The slice of a safe kernel, for as long as the borrow of `launch`: an unconstrained lifetime
/// could be `'static`.
///
/// # Safety
/// As [`core::slice::from_raw_parts`].
#[doc(hidden)]
#[inline(always)]
pub unsafe fn borrowed<T>(launch: &Scope, first: *const T, len: usize) -> &[T] {
    let _ = launch;
    // SAFETY: the caller's promise. LLVM does not learn it from a slice.
    unsafe {
        core::hint::assert_unchecked(!first.is_null());
        core::slice::from_raw_parts(first, len)
    }
}
