//! The interface that a runtime implements, and the description of a kernel that it gets.

use super::{Argument, KernelsFile, Memory, Refusal, Shape};

/// An entry point of a kernel crate, as known to the compiled program.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the PTX.
    pub name: &'static str,
    /// Its signature, such as `a: f32, x: &[f32], y: &mut [f32]`.
    pub signature: &'static str,
    /// All that the host's build saw of the kernel, the signature first:
    /// [`RECORD_SUFFIX`](super::RECORD_SUFFIX).
    pub record: &'static str,
    /// Where the kernel is: `src/lib.rs:12`.
    pub place: &'static str,
    /// The block that the kernel is written for; 0 along an axis where the launch decides.
    pub block: [u32; 3],
    /// The bytes of each parameter of the PTX; a slice is two of 8.
    pub parameter_bytes: &'static [usize],
    /// The PTX embedded by the crate's build script. `None` if it has none: then a module must be
    /// loaded.
    pub kernels: Option<&'static Kernels>,
}

/// A crate's PTX, embedded when it was built.
#[derive(Debug)]
pub struct Kernels {
    /// The crate's name.
    pub package: &'static str,
    /// One file per architecture, in the order of the build script.
    pub files: &'static [KernelsFile],
}

/// The kernels with which a crate was built: `embedded_kernels!` implements it for
/// `crate::EmbeddedKernels`.
///
/// A launch is safe because the PTX was built from the source of the very handle that launches it.
/// So only that macro may determine a crate's PTX, and `#[kernel]` rejects another crate's type:
/// its empty `impl crate::EmbeddedKernels {}` is then an error.
///
/// # Safety
/// [`KERNELS`](Self::KERNELS) was built from the source of the crate that implements it.
pub unsafe trait Embedded {
    /// The PTX.
    const KERNELS: &'static Kernels;
}

/// A kernel's handle with the type and constant arguments of one of its entry points.
///
/// # Safety
/// Only `#[kernel]` implements it: a launch passes what the signature of its entry point says.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one of the kernel's instances",
    note = "add it to `#[kernel(instances(..))]`: each instance is one entry point of the PTX"
)]
pub unsafe trait Instance {
    /// The entry point.
    const ENTRY: &'static Entry;
}

/// A device, or a module loaded into one, that kernels can be launched on.
///
/// # Safety
/// [`function`](Self::function) finds an entry point whose parameters have the entry's sizes, in
/// PTX that does what the kernel says; [`Function::launch`] keeps every memory alive, and its uses
/// in order, until the kernel has ended.
pub unsafe trait Target {
    /// A function of the device, ready to be launched.
    type Function: Function<Stream = Self::Stream, Error = Self::Error>;
    /// A queue of the device.
    type Stream;
    /// The error type.
    type Error;

    /// Finds an entry point and compares its record with the program's.
    ///
    /// # Errors
    /// If there is none, or its record differs.
    fn function(&self, entry: &'static Entry) -> Result<Self::Function, Self::Error>;
}

/// A function of a device.
pub trait Function: Clone {
    /// A queue of the device.
    type Stream;
    /// The error type.
    type Error: From<Refusal>;

    /// Starts it.
    ///
    /// # Errors
    /// If the device refuses the launch, or reports an error during a synchronous one.
    ///
    /// # Safety
    /// `arguments` match the entry point's parameters, and `memory` has all memory that they point
    /// to.
    unsafe fn launch(
        &self,
        stream: Option<&Self::Stream>,
        shape: Shape,
        arguments: &[Argument<'_>],
        memory: &[Memory<'_>],
    ) -> Result<(), Self::Error>;

    /// Suggests a number of threads per block, for kernels that accept any, and of blocks that fill
    /// the device.
    ///
    /// # Errors
    /// If the device cannot suggest one.
    fn suggested_block(&self, shared_bytes: u32) -> Result<u32, Self::Error>;
}
