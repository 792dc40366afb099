//! Builds a Rust crate to PTX with the stock compiler.
//!
//! The names are those of rust-cuda's crate `cuda_builder`; the way is another one: rustc's own `nvptx64-nvidia-cuda` target
//! makes LLVM bitcode, LLVM's tools link, optimise and print it. No rustc backend, no nightly, no linker.
//!
//! In a `build.rs`:
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
mod compile;
mod error;
mod ir;
mod llvm;
mod output;
pub mod tools;

use std::path::{Path, PathBuf};

pub use arch::{NvvmArch, UnknownArch};
use compile::Bitcode;
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

/// A build of one crate to one PTX file: set what differs from the defaults, then [`build`](Self::build).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct CudaBuilder {
    path: PathBuf,
    release: bool,
    arch: NvvmArch,
    ptx_file_copy_path: Option<PathBuf>,
    final_module_path: Option<PathBuf>,
    generate_line_info: bool,
    fma_contraction: bool,
    ftz: bool,
    fast_div: bool,
    fast_sqrt: bool,
    emit_llvm_ir: bool,
    debug: DebugInfo,
    build_args: Vec<String>,
}

impl CudaBuilder {
    /// A build of the crate in the folder `path_to_crate_root`, relative to the working folder (in a `build.rs`, the folder of
    /// the package that it belongs to).
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        CudaBuilder {
            path: path_to_crate_root.as_ref().to_owned(),
            release: true,
            arch: NvvmArch::default(),
            ptx_file_copy_path: None,
            final_module_path: None,
            generate_line_info: true,
            fma_contraction: true,
            ftz: false,
            fast_div: false,
            fast_sqrt: false,
            emit_llvm_ir: false,
            debug: DebugInfo::None,
            build_args: Vec::new(),
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

    /// Whether to keep the linked and the optimised LLVM IR as `.ll` files beside the PTX. Default: no.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit_llvm_ir = emit_llvm_ir;
        self
    }

    /// More arguments for `cargo rustc`: features (`--features=…`), `--offline`, and, behind `--`, rustc's own.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Builds, and returns the path of the PTX file.
    ///
    /// In a build script it also tells cargo which files to watch. When neither sources nor options nor tools changed since
    /// the last call, every file stays as it is.
    ///
    /// # Errors
    /// [`CudaBuilderError`]: a tool is missing; the crate does not compile; it holds no kernel; a shared variable is accessed
    /// through the generic space or a barrier was duplicated; a file cannot be written.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        let toolchain = Toolchain::find()?;
        let bitcode = Bitcode::compile(&self, &toolchain)?;
        if std::env::var_os("OUT_DIR").is_some() {
            bitcode.tell_cargo_what_to_watch();
        }
        let folder = Folder::new(&bitcode, self.arch)?;
        let fingerprint = output::fingerprint(&self, &toolchain, &bitcode)?;
        if !folder.is_fresh(&fingerprint) {
            folder.begin()?;
            llvm::emit_ptx(&self, &toolchain, &bitcode, &folder)?;
            folder.finish(&fingerprint)?;
        }
        if let Some(path) = &self.final_module_path {
            output::copy_if_different(&folder.optimised_ir(), path)?;
        }
        if let Some(path) = &self.ptx_file_copy_path {
            output::copy_if_different(&folder.ptx(), path)?;
        }
        Ok(folder.ptx())
    }

    /// Whether line positions are to reach the PTX.
    fn keeps_lines(&self) -> bool {
        self.generate_line_info || self.debug != DebugInfo::None
    }

    /// Whether `.ll` files stay beside the PTX.
    fn keeps_ir(&self) -> bool {
        self.emit_llvm_ir || self.final_module_path.is_some()
    }
}
