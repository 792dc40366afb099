//! The arguments of a launch by name.

use blockwise::{Buffer, Module};
use cuda_std::launch::{Argument, Memory, Plain, Read, Shape, Write};

/// The arguments of a launch, in the order of the kernel's parameters: for kernels that a test
/// names by a string. It borrows the buffers.
#[derive(Default)]
pub struct Arguments<'a> {
    /// The bytes of each.
    values: Vec<Vec<u8>>,
    memory: Vec<Memory<'a>>,
}

impl<'a> Arguments<'a> {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parameter `&[T]`: address and length in elements, two parameters of the PTX.
    #[must_use]
    pub fn slice<T: Plain>(self, buffer: &'a Buffer<T>) -> Self {
        let len = buffer.len() as u64;
        self.address(buffer).value(len)
    }

    /// A parameter `*const T`: memory that the kernel only reads.
    #[must_use]
    pub fn address<T: Plain>(self, buffer: &'a Buffer<T>) -> Self {
        self.reads(buffer).value(buffer.address().address)
    }

    /// A parameter `*mut T`.
    #[must_use]
    pub fn pointer<T: Plain>(self, buffer: &'a mut Buffer<T>) -> Self {
        let address = buffer.address().address;
        self.writes(buffer).value(address)
    }

    /// A parameter of a plain type. `usize` of a kernel is `u64` here.
    #[must_use]
    pub fn value<T: Plain>(self, value: T) -> Self {
        // SAFETY: a plain value has no padding, so each of its bytes has a value.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        self.by_value(bytes)
    }

    /// A parameter of any other type that is passed by value: the bytes of a `#[repr(C)]` struct,
    /// padding included.
    #[must_use]
    pub fn by_value(mut self, bytes: &[u8]) -> Self {
        self.values.push(bytes.to_owned());
        self
    }

    /// Memory that the kernel reads by an address in a [`value`](Self::value).
    #[must_use]
    pub fn reads<T: Plain>(mut self, buffer: &'a Buffer<T>) -> Self {
        self.memory.push(Read::<[T]>::pass(buffer));
        self
    }

    /// Memory that the kernel writes by an address in a [`value`](Self::value).
    #[must_use]
    pub fn writes<T: Plain>(mut self, buffer: &'a mut Buffer<T>) -> Self {
        self.memory.push(Write::<[T]>::pass(buffer));
        self
    }

    /// Starts a kernel with them.
    ///
    /// # Errors
    /// Those of [`Module::launch`].
    ///
    /// # Safety
    /// They must be what the kernel's parameters ask for, in number, order and type, and the kernel
    /// must keep within the buffers.
    pub unsafe fn launch(
        &self,
        module: &Module,
        kernel: &str,
        shape: Shape,
    ) -> blockwise::Result<()> {
        let values: Vec<_> = self
            .values
            .iter()
            .map(|value| Argument::of_bytes(value))
            .collect();
        // SAFETY: the caller's promise; `memory` names every buffer that was given.
        unsafe { module.launch(None, kernel, shape, &values, &self.memory) }
    }
}
