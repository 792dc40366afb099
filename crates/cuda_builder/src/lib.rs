//! Builds a Rust crate to PTX with the stock compiler.
//!
//! The names are those of rust-cuda's crate `cuda_builder`; the way is another one: rustc's own `nvptx64-nvidia-cuda` target
//! makes LLVM bitcode, LLVM's tools link, optimise and print it. No rustc backend, no nightly, no linker.
//!
//! A crate that launches its own kernels embeds their PTX by one line in its build script, see [`Embed`]:
//!
//! ```no_run
//! cuda_builder::embed().finish();
//! ```
//!
//! Kernels of another crate:
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! fn main() {
//!     let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
//!     CudaBuilder::new("../kernels")
//!         .arch(NvvmArch::Compute80)
//!         .copy_to(out.join("kernels.ptx"))
//!         .build()
//!         .unwrap();
//! }
//! ```
//!
//! What has to be installed is found by [`tools`], and its errors name the command that installs what is missing.

mod arch;
mod compact;
mod compile;
mod embed;
mod error;
mod ir;
mod labels;
mod llvm;
mod nvvm;
mod obsolete;
mod output;
mod package;
mod rust_code;
mod sysroot;
pub mod tools;
mod uniformity;
mod warnings;
mod wrapper;

use std::path::{Path, PathBuf};

pub use arch::{NvvmArch, UnknownArch};
use compile::Bitcode;
pub use embed::{Embed, embed};
pub use error::CudaBuilderError;
use output::Folder;
use tools::Toolchain;

/// How much debug information goes into the PTX besides the line table of [`CudaBuilder::generate_line_info`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Source lines: the same as [`CudaBuilder::generate_line_info`], which costs no speed.
    LineTables,
    /// Types and variables for cuda-gdb. The driver then compiles the PTX without optimisation.
    Full,
}

/// What is kept beside the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitOption {
    /// The linked and the optimised module as text: `.lowered.ll` and `.ll`.
    LlvmIr,
    /// The optimised module as bitcode: `.bc`.
    Bitcode,
}

/// A build of one crate to one PTX file: set what differs from the defaults, then [`build`](Self::build).
///
/// Each field has a method of the same name (`ptx_file_copy_path`: [`copy_to`](Self::copy_to)) that says what it does.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct CudaBuilder {
    path: PathBuf,
    /// See [`CudaBuilder::release`].
    pub release: bool,
    /// See [`CudaBuilder::nvptx_32`].
    pub nvptx_32: bool,
    /// See [`CudaBuilder::copy_to`].
    pub ptx_file_copy_path: Option<PathBuf>,
    /// See [`CudaBuilder::generate_line_info`].
    pub generate_line_info: bool,
    /// See [`CudaBuilder::nvvm_opts`].
    pub nvvm_opts: bool,
    /// See [`CudaBuilder::arch`].
    pub arch: NvvmArch,
    /// See [`CudaBuilder::ftz`].
    pub ftz: bool,
    /// See [`CudaBuilder::fast_sqrt`].
    pub fast_sqrt: bool,
    /// See [`CudaBuilder::fast_div`].
    pub fast_div: bool,
    /// See [`CudaBuilder::fma_contraction`].
    pub fma_contraction: bool,
    /// See [`CudaBuilder::emit_llvm_ir`] and [`CudaBuilder::emit_llvm_bitcode`].
    pub emit: Option<EmitOption>,
    /// See [`CudaBuilder::optix`].
    pub optix: bool,
    /// See [`CudaBuilder::override_libm`].
    pub override_libm: bool,
    /// See [`CudaBuilder::use_constant_memory_space`].
    pub use_constant_memory_space: bool,
    /// See [`CudaBuilder::debug`].
    pub debug: DebugInfo,
    /// See [`CudaBuilder::deny_divergence`].
    pub deny_divergence: bool,
    /// See [`CudaBuilder::build_args`].
    pub build_args: Vec<String>,
    /// See [`CudaBuilder::final_module_path`].
    pub final_module_path: Option<PathBuf>,
}

impl CudaBuilder {
    /// A build of the crate in the folder `path_to_crate_root`, relative to the working folder (in a `build.rs`, the folder of
    /// the package that it belongs to).
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        CudaBuilder {
            path: path_to_crate_root.as_ref().to_owned(),
            release: true,
            nvptx_32: false,
            ptx_file_copy_path: None,
            generate_line_info: true,
            nvvm_opts: true,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            emit: None,
            optix: false,
            override_libm: true,
            use_constant_memory_space: false,
            debug: DebugInfo::None,
            deny_divergence: false,
            build_args: Vec::new(),
            final_module_path: None,
        }
    }

    /// The GPU generation to build for. Default: [`NvvmArch::Compute80`].
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Whether to optimise fully (default) or to keep overflow checks and debug assertions with little optimisation.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Whether LLVM optimises fully (default, and what [`release`](Self::release) sets) or only as far as shared memory needs.
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.nvvm_opts = nvvm_opts;
        self
    }

    /// 32-bit PTX. `true` makes [`build`](Self::build) fail: neither rustc nor CUDA has it any more.
    pub fn nvptx_32(mut self, nvptx_32: bool) -> Self {
        self.nvptx_32 = nvptx_32;
        self
    }

    /// Code for the ray tracing library OptiX. `true` makes [`build`](Self::build) fail: its functions have no meaning here.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Whether functions of the crate `libm` become libdevice's, which are made for the GPU (default). Their last digits differ.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Whether immutable statics without pointers go to constant memory, as long as there is room (64 KiB in all). Default: no;
    /// `#[address_space(constant)]` places single ones.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Where to copy the finished PTX. The file is replaced whole, and left alone when it already has these contents.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Where to put the optimised LLVM IR from which the PTX is printed, as text.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Whether the PTX says which source line each instruction comes from (`.loc`, default). Instructions and registers stay
    /// the same.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Debug information beyond lines. Default: [`DebugInfo::None`].
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether `a * b + c` may become one `fma` with one rounding (default, as in nvcc).
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Whether `f32` denormals are flushed to zero. Default: no.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Whether `f32` division may be approximate (2 ulp). Default: no.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Whether `f32` square roots may be approximate. Default: no.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Whether to keep the linked and the optimised LLVM IR as `.ll` files where the PTX is built. Default: no.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Whether to keep the optimised LLVM bitcode as a `.bc` file where the PTX is built. Default: no.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Whether `unsafe` kernels with a barrier that some threads of the block may miss, or a shuffle or vote of the whole warp that
    /// some lanes may miss, are refused. Default: they are warnings. In safe kernels they are errors always, and
    /// `#[kernel(allow_divergence = "reason")]` on an `unsafe` one says that the check is wrong there.
    pub fn deny_divergence(mut self, deny_divergence: bool) -> Self {
        self.deny_divergence = deny_divergence;
        self
    }

    /// More arguments for `cargo rustc`: features (`--features=…`), `--offline`, and, behind `--`, rustc's own.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Builds, and returns the path of the PTX file: of the copy, if [`copy_to`](Self::copy_to) asks for one.
    ///
    /// In a build script it also tells cargo which files to watch. When neither sources nor options nor tools changed since
    /// the last call, every file stays as it is.
    ///
    /// # Errors
    /// [`CudaBuilderError`]: an option is refused; a tool is missing; the crate does not compile; it holds no kernel; a shared variable is accessed
    /// through the generic space, a barrier was duplicated, or threads may miss one; a file cannot be written.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_with(str::to_owned)
    }

    /// As [`build`](Self::build); the copy holds no comments.
    fn build_compact(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_with(compact::compact)
    }

    fn build_with(self, copied: fn(&str) -> String) -> Result<PathBuf, CudaBuilderError> {
        self.refuse_what_has_no_meaning()?;
        let toolchain = Toolchain::find()?;
        let bitcode = Bitcode::compile(&self, &toolchain)?;
        if std::env::var_os("OUT_DIR").is_some() {
            bitcode.tell_cargo_what_to_watch();
        }
        let folder = Folder::new(&bitcode)?;
        let fingerprint = output::fingerprint(&self, &toolchain, &bitcode)?;
        if !folder.is_fresh(&fingerprint) {
            folder.begin()?;
            llvm::emit_ptx(&self, &toolchain, &bitcode, &folder)?;
            folder.finish(&fingerprint)?;
        }
        warnings::show(&llvm::read(&folder.warnings())?);
        if let Some(path) = &self.final_module_path {
            output::copy_if_different(&folder.optimised_ir(), path, str::to_owned)?;
        }
        match self.ptx_file_copy_path {
            Some(path) => output::copy_if_different(&folder.ptx(), &path, copied).map(|()| path),
            None => Ok(folder.ptx()),
        }
    }

    fn refuse_what_has_no_meaning(&self) -> Result<(), CudaBuilderError> {
        let refused = [
            (
                self.nvptx_32,
                "nvptx_32",
                "neither rustc nor CUDA has 32-bit PTX any more",
            ),
            (
                self.optix,
                "optix",
                "OptiX's functions have no meaning for this compiler and the emulator",
            ),
        ];
        match refused.into_iter().find(|(is_set, ..)| *is_set) {
            Some((_, option, reason)) => Err(CudaBuilderError::Refused { option, reason }),
            None => Ok(()),
        }
    }

    /// Whether line positions are to reach the PTX.
    fn keeps_lines(&self) -> bool {
        self.generate_line_info || self.debug != DebugInfo::None
    }

    /// Whether `.ll` files stay beside the PTX.
    fn keeps_ir(&self) -> bool {
        self.emit == Some(EmitOption::LlvmIr) || self.final_module_path.is_some()
    }
}

/// Any text through the parser of LLVM's IR and all passes, for the fuzz target.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn fuzz_ir(text: &str) {
    ir::digest(text);
}
