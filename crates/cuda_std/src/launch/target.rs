//! What a runtime implements, and what it is told of a kernel.

use super::{Argument, Memory, Refusal, Shape};

/// An entry point of a kernel crate, as the program was compiled with it.
#[derive(Debug)]
pub struct Entry {
    /// Its name in the PTX.
    pub name: &'static str,
    /// Its signature, such as `a: f32, x: &[f32], y: &mut [f32]`.
    pub signature: &'static str,
    /// The threads of a block that the kernel is written for, 0 along an axis where the launch
    /// decides.
    pub block: [u32; 3],
    /// The bytes of each parameter of the PTX; a slice is two of 8.
    pub parameter_bytes: &'static [usize],
    /// The PTX that the crate's build script embedded. `None` when it has none: then a module must
    /// be loaded.
    pub kernels: Option<&'static Kernels>,
}

/// A crate's PTX, embedded when it was built.
#[derive(Debug)]
pub struct Kernels {
    /// The crate's name.
    pub package: &'static str,
    /// One text for each architecture, in the order of the build script.
    pub files: &'static [KernelsFile],
}

/// Embedded PTX for one architecture.
#[derive(Debug)]
pub struct KernelsFile {
    /// The architecture, such as `sm_80` or `sm_90a`.
    pub arch: &'static str,
    /// The PTX.
    pub text: &'static str,
}

/// The crate's own kernels as it was built with them: `embedded_kernels!` implements it for `crate::EmbeddedKernels`.
///
/// A launch is safe because the PTX comes from the source of the very handle that launches it. So only that macro may say which PTX
/// a crate's is, and `#[kernel]` takes no other crate's type: its empty `impl crate::EmbeddedKernels {}` is an error for one.
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
/// `#[kernel]` alone implements it: a launch passes what the signature of its entry point says.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one of the kernel's instances",
    note = "add it to `#[kernel(instances(..))]`: each instance is one entry point of the PTX"
)]
pub unsafe trait Instance {
    /// The entry point.
    const ENTRY: &'static Entry;
}

/// Where kernels can be launched: a device, or a module that was loaded into one.
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
    /// What can go wrong.
    type Error;

    /// Finds an entry point and compares its signature with the program's.
    ///
    /// # Errors
    /// When there is none, or it has another signature.
    fn function(&self, entry: &'static Entry) -> Result<Self::Function, Self::Error>;
}

/// A function of a device.
pub trait Function: Clone {
    /// A queue of the device.
    type Stream;
    /// What can go wrong.
    type Error: From<Refusal>;

    /// Starts it.
    ///
    /// # Errors
    /// When the device refuses the launch, before it or, where a launch ends at once, in it.
    ///
    /// # Safety
    /// `arguments` are what the entry point's parameters are, and `memory` names all memory that
    /// they lead to.
    unsafe fn launch(
        &self,
        stream: Option<&Self::Stream>,
        shape: Shape,
        arguments: &[Argument<'_>],
        memory: &[Memory<'_>],
    ) -> Result<(), Self::Error>;

    /// A good number of threads for a block, for blocks of any size, and of blocks to fill the
    /// device.
    ///
    /// # Errors
    /// When the device cannot say.
    fn suggested_block(&self, shared_bytes: u32) -> Result<u32, Self::Error>;
}
