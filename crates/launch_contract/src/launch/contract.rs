//! A kernel's requirements on a launch, in addition to the types of its arguments.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{MatrixMemory, Memory, Shape};

/// A launch that violates its kernel's contract. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The violated rule, such as `x.len() == y.len()`.
    pub rule: &'static str,
    /// The actual values, such as `x.len() = 3, y.len() = 2, grid 1 x 1 x 1, block 32 x 1 x 1`.
    pub given: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel,
            rule,
            given,
        } = self;
        write!(
            f,
            "kernel `{kernel}` needs {rule}, but was launched with {given}"
        )
    }
}

impl core::error::Error for Refusal {}

/// The bytes of shared memory of a launch that computes them. No type implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the launch computes the bytes of this kernel's shared memory from `#[kernel(shared(..))]`",
    label = "leave `.shared_bytes(..)` out",
    note = "`#[kernel(shared(tile = block.threads() + 2))]` is the length of `tile: Shared<[f32]>` in elements; `.grid(..)` and \
            `.block(..)` are all that the launch needs"
)]
pub trait SharedBytes {}

/// The threads or blocks of a launch, by names that it does not have. No type implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a launch has `.grid(..)`, its blocks, and `.block(..)`, the threads of each: `.grid(64).block(256)`, `.grid((8, 8)).block((16, 16))`",
    label = "write `.grid(..)` or `.block(..)`",
    note = "`.covering(n)?` in their place chooses both for `n` threads; a kernel with `Block<256>` has its threads already"
)]
pub trait NamedExtents {}

/// What a launch dereferences to: methods that one expects from it, which editors do not offer since
/// they are hidden and in another crate.
#[doc(hidden)]
#[derive(Debug)]
pub struct Guesses;

impl Guesses {
    #[doc(hidden)]
    pub fn threads<D: NamedExtents, R>(&self, _: D) -> R {
        unreachable!()
    }

    #[doc(hidden)]
    pub fn blocks<D: NamedExtents, R>(&self, _: D) -> R {
        unreachable!()
    }
}

/// A call of the kernel with that handle. No type implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Handle}` is a kernel, which a launch starts: `{Handle}::on(&device)?.grid(1).block(256).launch(&x, &mut y)?;`",
    label = "no function of the host",
    note = "`launch` takes the kernel's parameters without blocks and shared arrays: buffers for slices and outputs, `&x` and `&mut y`, numbers as they are",
    note = "`.covering(n)?` in place of `.grid(..)` and `.block(..)` chooses both for `n` threads"
)]
pub trait Called<Handle> {}

/// A slice in a kernel's contract: its length and address.
///
/// Its methods take it by value: a method of the same name in a user's trait would take precedence
/// over one that takes a reference.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    address: u64,
    len: u64,
}

impl Extent {
    /// The slice of this memory.
    pub fn of(memory: &Memory<'_>) -> Self {
        let Memory { address, len, .. } = *memory;
        Self { address, len }
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty, reason = "there is one")]
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Whether the first element's address is a multiple of `bytes`. True for every number if there
    /// are no elements.
    pub fn is_aligned_to(self, bytes: usize) -> bool {
        self.is_empty() || self.address.is_multiple_of(bytes as u64)
    }
}

/// A matrix in a kernel's contract: its size.
#[derive(Clone, Copy, Debug)]
pub struct MatrixExtent {
    rows: usize,
    cols: usize,
}

impl MatrixExtent {
    /// The size of this matrix.
    pub fn of(matrix: &MatrixMemory<'_>) -> Self {
        let (rows, cols) = (matrix.rows, matrix.cols);
        Self { rows, cols }
    }

    /// The number of rows.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(self) -> usize {
        self.cols
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        // The launch has checked that memory has this many.
        self.rows * self.cols
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The values that a refused launch had: `x.len() = 3, n = 2, grid 1 x 1 x 1, block 32 x 1 x 1`.
#[doc(hidden)]
#[cold]
pub fn given(values: &[(&str, &dyn fmt::Debug)], shape: Shape) -> String {
    let Shape {
        grid,
        block,
        shared_bytes,
    } = shape;
    let mut given = String::new();
    for (name, value) in values {
        given += &format!("{name} = {value:?}, ");
    }
    given += &format!("grid {grid}, block {block}");
    if shared_bytes > 0 {
        given += &format!(", {shared_bytes} shared bytes");
    }
    given
}
