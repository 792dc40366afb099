//! Builds a Rust crate to PTX with the stock compiler.
//!
//! The API is that of rust-cuda's `cuda_builder`; the implementation is different: rustc's own
//! `nvptx64-nvidia-cuda` target produces LLVM bitcode, and LLVM's tools link, optimise and print
//! it. No rustc backend, no nightly, no linker.
//!
//! A crate that launches its own kernels embeds their PTX with one line in its build script, see
//! [`Embed`]:
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
//! [`tools`] finds the installed programs; its errors name the command that installs missing ones.

mod advice;
mod arch;
mod cargo;
mod chains;
mod compact;
mod compile;
mod early;
mod embed;
mod error;
mod failure;
mod files;
mod guards;
mod habits;
mod ir;
mod labels;
mod llvm;
mod messages;
mod nvvm;
mod obsolete;
mod output;
mod package;
mod parameters;
mod pieces;
mod ptx;
mod records;
mod rust_code;
mod scope;
mod spaces;
mod sysroot;
mod uniformity;
mod warnings;
mod wrapper;

use std::path::{Path, PathBuf};

pub use arch::{NvvmArch, UnknownArch};
use compile::Bitcode;
pub use cuda_tools as tools;
use cuda_tools::Toolchain;
pub use embed::{Embed, embed};
pub use error::CudaBuilderError;
use output::Folder;

/// Debug information in addition to the line table of [`CudaBuilder::generate_line_info`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// None.
    #[default]
    None,
    /// Source lines: the same as [`CudaBuilder::generate_line_info`]; no effect on speed.
    LineTables,
    /// Types and variables for cuda-gdb. The driver then compiles the PTX without optimisation.
    Full,
    /// Like [`Full`](Self::Full), and every variable is kept in memory: for `blockwise debug`.
    ///
    /// Nothing is optimised, and shared memory is accessed through generic addresses: a GPU would
    /// be slow. The barrier check is left to ordinary builds.
    Locals,
}

/// Files to keep in addition to the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitOption {
    /// The linked and the optimised module as text: `.lowered.ll` and `.ll`.
    LlvmIr,
    /// The optimised module as bitcode: `.bc`.
    Bitcode,
}

/// A build of one crate to one PTX file: set options, then [`build`](Self::build).
///
/// Each field is documented at the method of the same name (`ptx_file_copy_path`:
/// [`copy_to`](Self::copy_to)).
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
    /// See [`CudaBuilder::only`].
    pub only: Vec<String>,
    /// See [`CudaBuilder::overflow_checks`].
    pub overflow_checks: bool,
    /// See [`CudaBuilder::build_args`].
    pub build_args: Vec<String>,
    /// See [`CudaBuilder::final_module_path`].
    pub final_module_path: Option<PathBuf>,
}

impl CudaBuilder {
    /// Creates a build of the crate in the folder `path_to_crate_root`, relative to the working
    /// directory (in a `build.rs`, the folder of its package).
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
            only: Vec::new(),
            overflow_checks: false,
            build_args: Vec::new(),
            final_module_path: None,
        }
    }

    /// The GPU architecture to build for. Default: [`NvvmArch::Compute80`].
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Whether to optimise fully (default), or lightly with overflow checks and debug assertions.
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Whether LLVM optimises fully (default, also set by [`release`](Self::release)) or only as
    /// far as shared memory requires.
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.nvvm_opts = nvvm_opts;
        self
    }

    /// 32-bit PTX. `true` makes [`build`](Self::build) fail: rustc and CUDA no longer support it.
    pub fn nvptx_32(mut self, nvptx_32: bool) -> Self {
        self.nvptx_32 = nvptx_32;
        self
    }

    /// Code for the ray-tracing library OptiX. `true` makes [`build`](Self::build) fail: its
    /// functions are not available.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Whether functions of the crate `libm` become libdevice's, which are optimised for GPUs
    /// (default). Last digits may differ.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Whether immutable statics without pointers move to constant memory while there is room (64
    /// KiB in all). Default: no; `#[address_space(constant)]` places individual ones.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Where to copy the finished PTX. The file is replaced atomically, and not touched if its
    /// contents are the same.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Where to write the optimised LLVM IR from which the PTX is printed, as text.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Whether the PTX has source lines (`.loc`, default). Instructions and registers are the same
    /// either way.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Debug information in addition to source lines. Default: [`DebugInfo::None`].
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether `a * b + c` may be contracted to one `fma` (default, as in nvcc).
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

    /// Whether to keep the linked and the optimised LLVM IR as `.ll` files next to the PTX.
    /// Default: no.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Whether to keep the optimised LLVM bitcode as a `.bc` file next to the PTX. Default: no.
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Whether to refuse `unsafe` kernels with a barrier that some threads of the block may miss,
    /// or a full-warp shuffle or vote that some lanes may miss. Default: they are warnings. In safe
    /// kernels they are always errors. `#[kernel(allow_divergence = "reason")]` on an `unsafe`
    /// kernel states that the check is mistaken there.
    pub fn deny_divergence(mut self, deny_divergence: bool) -> Self {
        self.deny_divergence = deny_divergence;
        self
    }

    /// Whether integer overflow panics in optimised kernels, too, at the cost of a comparison and a
    /// branch for each operation. Default: no, integers wrap.
    pub fn overflow_checks(mut self, overflow_checks: bool) -> Self {
        self.overflow_checks = overflow_checks;
        self
    }

    /// Builds these kernels alone, by their names in the PTX. LLVM's share of the time shrinks
    /// accordingly. Default: all of the crate and its dependencies.
    pub fn only(mut self, kernels: &[impl AsRef<str>]) -> Self {
        self.only
            .extend(kernels.iter().map(|kernel| kernel.as_ref().to_owned()));
        self
    }

    /// Extra arguments for `cargo rustc`: features (`--features=…`), `--offline`, and rustc's own
    /// after `--`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Builds the PTX and returns its path: that of the copy if [`copy_to`](Self::copy_to) is set.
    ///
    /// In a build script it also tells cargo which files to watch. If sources, options and tools
    /// have not changed since the last call, no file is touched.
    ///
    /// # Errors
    /// [`CudaBuilderError`]: an option is refused; a tool is missing; the crate does not compile or
    /// has no kernel; a shared variable is accessed through the generic space; a barrier was
    /// duplicated or may be missed by some threads; a file cannot be written.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        self.build_then(|folder| match &self.ptx_file_copy_path {
            Some(path) => {
                files::copy_if_different(&folder.ptx(), path)?;
                Ok(path.clone())
            }
            None => Ok(folder.ptx()),
        })
    }

    /// Builds the PTX, and returns the text instead of a copy.
    fn build_text(&self) -> Result<String, CudaBuilderError> {
        self.build_then(|folder| llvm::read(&folder.ptx()))
    }

    /// Builds the PTX, and reads it before another build of the crate may replace it.
    fn build_then<R>(
        &self,
        read: impl FnOnce(&Folder) -> Result<R, CudaBuilderError>,
    ) -> Result<R, CudaBuilderError> {
        self.refuse_what_has_no_meaning()?;
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let manifest = variable("CARGO_MANIFEST_DIR");
        if package::builds_itself(&self.path, &variable("CARGO_CFG_TARGET_ARCH"), &manifest) {
            return Err(CudaBuilderError::NoCrate {
                path: self.path.clone(),
                reason: "its own build script builds it for the device, which runs the script again: \
                         with `links = \"NAME_kernels\"` in its [package] and `cuda_builder::embed()` \
                         in the script, that build passes over the script"
                    .to_owned(),
            });
        }
        let toolchain = Toolchain::find()?;
        self.build_with(&toolchain, read)
            .map_err(|error| error.with_tools(&toolchain))
    }

    fn build_with<R>(
        &self,
        toolchain: &Toolchain,
        read: impl FnOnce(&Folder) -> Result<R, CudaBuilderError>,
    ) -> Result<R, CudaBuilderError> {
        let bitcode = Bitcode::compile(self, toolchain)?;
        if std::env::var_os("OUT_DIR").is_some() {
            bitcode.tell_cargo_what_to_watch();
        }
        let folder = Folder::new(&bitcode)?;
        let fingerprint = output::fingerprint(self, toolchain, &bitcode)?;
        if !folder.is_fresh(&fingerprint) {
            folder.begin()?;
            llvm::emit_ptx(self, toolchain, &bitcode, &folder)?;
            folder.finish(&fingerprint)?;
        }
        let warnings = llvm::read(&folder.warnings())?;
        if self.deny_divergence && !warnings.is_empty() {
            let reports = warnings.lines().map(str::to_owned).collect();
            return Err(CudaBuilderError::Divergence { reports });
        }
        warnings::show(&warnings);
        if let Some(path) = &self.final_module_path {
            files::copy_if_different(&folder.optimised_ir(), path)?;
        }
        read(&folder)
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

    /// Whether the PTX needs source lines.
    fn keeps_lines(&self) -> bool {
        self.generate_line_info || self.debug != DebugInfo::None
    }

    /// Whether every variable is kept in memory.
    fn keeps_locals(&self) -> bool {
        self.debug == DebugInfo::Locals
    }

    /// Whether `.ll` files are kept.
    fn keeps_ir(&self) -> bool {
        self.emit == Some(EmitOption::LlvmIr) || self.final_module_path.is_some()
    }
}

/// Runs any text through the IR parser and all passes, for the fuzz target.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn fuzz_ir(text: &str) {
    ir::digest(text);
}
