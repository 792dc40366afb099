//! Device memory and device addresses as launch arguments.

use core::any::Any;
use core::fmt;
use core::marker::PhantomData;

/// Device memory passed to a launch, borrowed for `'a`.
#[derive(Clone, Copy)]
pub struct Memory<'a> {
    /// The address of the first element.
    pub address: u64,
    /// The number of elements.
    pub len: u64,
    /// The runtime's own handle of the allocation, which keeps it alive.
    pub owner: &'a (dyn Any + Send + Sync),
    /// Whether the launch may write it.
    pub written: bool,
}

impl Memory<'static> {
    /// Fills the unused entries of an array.
    pub(super) const NONE: Self = Self {
        address: 0,
        len: 0,
        owner: &(),
        written: false,
    };
}

impl Memory<'_> {
    fn of_reference(self, written: bool) -> Self {
        // An empty buffer may have address 0, but a Rust reference is never null. This address is
        // aligned for every type.
        let address = if self.address == 0 {
            1 << 29
        } else {
            self.address
        };
        Self {
            address,
            written,
            ..self
        }
    }
}

/// Device memory passed as a matrix.
#[derive(Clone, Copy)]
pub struct MatrixMemory<'a> {
    /// The elements.
    pub memory: Memory<'a>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
}

impl MatrixMemory<'_> {
    /// Whether the memory has exactly one element per row and column.
    pub fn is_whole(&self) -> bool {
        let elements = (self.rows as u64).checked_mul(self.cols as u64);
        elements == Some(self.memory.len)
    }

    /// Whether a kernel can count rows and columns without overflow. A matrix without elements has
    /// at most 2³² of either: a loop over more rows, which have no columns, would hardly end.
    pub fn is_addressable(&self) -> bool {
        let most = match self.memory.len {
            0 => 1 << 32,
            _ => isize::MAX as u64,
        };
        self.rows.max(self.cols) as u64 <= most
    }
}

/// What can be passed for a kernel parameter `&P`.
///
/// # Safety
/// The memory holds `len` elements of `P`'s element type, initialised and aligned, for as long as
/// its owner lives.
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter `&{P}` cannot be given `{Self}`",
    label = "expected device memory for `&{P}`",
    note = "pass `&buffer` or `buffer.view(a..b)`, of the same element type",
    note = "of a vector or an array: `let buffer = device.upload(&values)?;`"
)]
pub unsafe trait Read<'a, P: ?Sized> {
    /// The memory.
    fn pass(self) -> Memory<'a>;
}

/// What can be passed for a kernel parameter `&mut P`.
///
/// # Safety
/// As for [`Read`], and nothing else accesses the memory during `'a`.
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter `&mut {P}` cannot be given `{Self}`",
    label = "expected mutable device memory for `&mut {P}`",
    note = "pass `&mut buffer` or `buffer.view_mut(a..b)`, of the same element type",
    note = "of a vector or an array: `let mut buffer = device.zeros::<f32>(n)?;`, and after the launch `buffer.to_vec()?`"
)]
pub unsafe trait Write<'a, P: ?Sized> {
    /// The memory.
    fn pass(self) -> Memory<'a>;
}

/// Two arrays in device memory, passed for one parameter.
#[derive(Clone, Copy)]
pub struct PairMemory<'a> {
    /// The elements.
    pub memory: Memory<'a>,
    /// Their count (`Append`), or their permutation (`Scatter`).
    pub second: Memory<'a>,
}

/// What can be passed as the permutation of a kernel parameter `Scatter<T>`.
///
/// # Safety
/// As for [`Read`] of `[u32]`. The numbers are 0 to `len − 1` in some order, and do not change
/// while any launch that received them, or a graph that recorded such a launch, can still run.
#[diagnostic::on_unimplemented(
    message = "a scatter needs a permutation that was checked, and `{Self}` is none",
    label = "expected a checked permutation",
    note = "check it once: `let order = Permutation::new(indices)?;`, then pass `&order`"
)]
pub unsafe trait Permutes<'a> {
    /// The memory.
    fn pass(self) -> Memory<'a>;
}

/// What can be passed for a parameter `*const T` of an `unsafe` kernel: readable memory, or a
/// [`DevicePointer`].
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter `*const {T}` cannot be given `{Self}`",
    note = "pass `&buffer`, `buffer.view(a..b)` or a `DevicePointer`"
)]
pub trait ReadPointer<'a, T> {
    /// The pointer that is passed.
    fn pass(self) -> Pointer<'a>;
}

/// What can be passed for a parameter `*mut T` of an `unsafe` kernel: writable memory, or a
/// [`DevicePointer`].
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter `*mut {T}` cannot be given `{Self}`",
    note = "pass `&mut buffer`, `buffer.view_mut(a..b)` or a `DevicePointer`"
)]
pub trait WritePointer<'a, T> {
    /// The pointer that is passed.
    fn pass(self) -> Pointer<'a>;
}

/// A raw device address, for `unsafe` kernels. A launch neither keeps the memory alive nor orders
/// accesses to it.
pub struct DevicePointer<T> {
    /// The address; 0 is null.
    pub address: u64,
    element: PhantomData<*const T>,
}

impl<T> DevicePointer<T> {
    /// The null pointer.
    pub const NULL: Self = Self::new(0);

    /// A pointer to the device address `address`.
    pub const fn new(address: u64) -> Self {
        Self {
            address,
            element: PhantomData,
        }
    }
}

impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePointer({:#x})", self.address)
    }
}

/// What is passed for a raw pointer.
#[derive(Clone, Copy)]
pub struct Pointer<'a> {
    /// The address.
    pub address: u64,
    /// The memory at the address; `None` for a [`DevicePointer`].
    pub memory: Option<Memory<'a>>,
}

impl<'a> From<Memory<'a>> for Pointer<'a> {
    fn from(memory: Memory<'a>) -> Self {
        Self {
            address: memory.address,
            memory: Some(memory),
        }
    }
}

impl<'a, T> ReadPointer<'a, T> for DevicePointer<T> {
    fn pass(self) -> Pointer<'a> {
        let address = self.address;
        Pointer {
            address,
            memory: None,
        }
    }
}

impl<'a, T> WritePointer<'a, T> for DevicePointer<T> {
    fn pass(self) -> Pointer<'a> {
        ReadPointer::pass(self)
    }
}

/// The memory of a parameter `&P`.
#[doc(hidden)]
pub fn read<'a, P: ?Sized>(memory: impl Read<'a, P>) -> Memory<'a> {
    memory.pass().of_reference(false)
}

/// The memory of a parameter `&mut P`.
#[doc(hidden)]
pub fn write<'a, P: ?Sized>(memory: impl Write<'a, P>) -> Memory<'a> {
    memory.pass().of_reference(true)
}

/// The memory of a parameter `Matrix<T>`, where `P` is `[T]`.
#[doc(hidden)]
pub fn read_matrix<'a, P: ?Sized>(
    (memory, rows, cols): (impl Read<'a, P>, usize, usize),
) -> MatrixMemory<'a> {
    let memory = read(memory);
    MatrixMemory { memory, rows, cols }
}

/// The memory of a parameter `OutMatrix<T, ..>`, where `P` is `[T]`.
#[doc(hidden)]
pub fn write_matrix<'a, P: ?Sized>(
    (memory, rows, cols): (impl Write<'a, P>, usize, usize),
) -> MatrixMemory<'a> {
    let memory = write(memory);
    MatrixMemory { memory, rows, cols }
}

/// The memory of a parameter `Append<T>`, where `P` is `[T]`.
#[doc(hidden)]
pub fn append<'a, P: ?Sized>(
    (memory, count): (impl Write<'a, P>, impl Write<'a, [u64]>),
) -> PairMemory<'a> {
    PairMemory {
        memory: write(memory),
        second: write(count),
    }
}

/// The memory of a parameter `Scatter<T>`, where `P` is `[T]`.
#[doc(hidden)]
pub fn scatter<'a, P: ?Sized>(
    (memory, permutation): (impl Write<'a, P>, impl Permutes<'a>),
) -> PairMemory<'a> {
    PairMemory {
        memory: write(memory),
        second: permutation.pass().of_reference(false),
    }
}

/// What is passed for a parameter `*const T`.
#[doc(hidden)]
pub fn read_pointer<'a, T>(pointer: impl ReadPointer<'a, T>) -> Pointer<'a> {
    pointer.pass().written(false)
}

/// What is passed for a parameter `*mut T`.
#[doc(hidden)]
pub fn write_pointer<'a, T>(pointer: impl WritePointer<'a, T>) -> Pointer<'a> {
    pointer.pass().written(true)
}

impl Pointer<'_> {
    fn written(self, written: bool) -> Self {
        let memory = self.memory.map(|memory| Memory { written, ..memory });
        Self { memory, ..self }
    }
}
