//! From one group of kernels to PTX.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tool::{read, run, take, write};
use crate::chains::Chains;
use crate::error::CudaBuilderError;
use crate::ir::module::Module;
use crate::ir::{self, Stage};
use crate::uniformity::Suspects;
use crate::{
    CudaBuilder, NvvmArch, early, guards, labels, nvvm, parameters, records, scope, spaces,
};
use cuda_tools::{Toolchain, tested};

/// What all parts of a program are compiled with.
pub(super) struct Compiler<'a> {
    pub(super) builder: &'a CudaBuilder,
    pub(super) toolchain: &'a Toolchain,
    /// See [`nvvm::launch_parameters`].
    pub(super) launch_parameters: &'a [String],
}

/// A part's files.
pub(super) struct Files {
    pub(super) lowered: PathBuf,
    pub(super) optimised: PathBuf,
    ptx: PathBuf,
    copy: PathBuf,
    readable: PathBuf,
}

impl Files {
    pub(super) fn of(folder: &Path, part: usize) -> Self {
        let file = |name: &str| folder.join(format!("{part}.{name}"));
        Files {
            lowered: file("lowered.ll"),
            optimised: file("ll"),
            ptx: file("ptx"),
            copy: file("copy.ll"),
            readable: file("readable.ll"),
        }
    }
}

impl Compiler<'_> {
    /// Everything besides a part's IR that its PTX depends on.
    pub(super) fn settings(&self) -> String {
        let mut commands = vec![self.llc(None), self.opt("")];
        commands[1].args(libdevice_settings(self.builder));
        let builder = self.builder;
        format!(
            "{:?} {commands:?} {} {} {} {:?}",
            self.toolchain.llvm_version,
            builder.keeps_lines(),
            builder.arch,
            builder.nvvm_opts,
            self.launch_parameters
        )
    }

    /// Compiles a module, which defines the `public` symbols, to PTX of at least this version.
    pub(super) fn compile(
        &self,
        lowered: &str,
        public: &[&str],
        version: Option<&'static str>,
        files: &Files,
    ) -> Result<String, CudaBuilderError> {
        use CudaBuilderError::{GenericSharedAccess, Undefined};
        match self.compile_once(lowered, public, version, files) {
            // Source lines were removed before the optimiser; run it again with them, so that the
            // error has a line.
            Err(error @ (GenericSharedAccess { .. } | Undefined { .. }))
                if !self.builder.keeps_lines() =>
            {
                let builder = &self.builder.clone().generate_line_info(true);
                let with_lines = Compiler { builder, ..*self };
                let result = with_lines.compile_once(lowered, public, version, files);
                Err(result.err().unwrap_or(error))
            }
            result => result,
        }
    }

    fn compile_once(
        &self,
        lowered: &str,
        public: &[&str],
        version: Option<&'static str>,
        files: &Files,
    ) -> Result<String, CudaBuilderError> {
        let optimised = self.optimise(lowered, public, files)?;
        let mut module = Module::parse(&optimised)?;
        nvvm::check(&module, self.launch_parameters)?;
        ir::rewrite(Stage::Optimised, &mut module, self.builder)?;
        let chains = match self.lacks_chains() {
            true => Chains::name(&mut module),
            false => Chains::default(),
        };
        write(&files.optimised, &module.to_string())?;
        let oldest = version.or(oldest_version(self.builder.arch));
        run(&mut self.print(oldest, files))?;
        let mut ptx = read(&files.ptx)?;
        if let Some(version) = parameters::version(&ptx)? {
            run(&mut self.print(Some(version), files))?;
            ptx = read(&files.ptx)?;
        }
        if self.builder.keeps_lines() {
            ptx = labels::drop_unused(&chains.restore(&ptx));
        }
        if !self.builder.keeps_locals() {
            // The debugger's tables name parameters and labels, too.
            ptx = labels::with_short_names(&parameters::with_short_names(&ptx));
        }
        ptx = guards::name(&records::in_words(&ptx));
        if self.builder.arch.has_orders() {
            ptx = scope::complete(&ptx);
        }
        ptx = spaces::drop_needless(&ptx);
        early::check(&ptx)?;
        if self.builder.keeps_locals() {
            ptx.insert_str(0, KEPT);
        }
        Ok(ptx)
    }

    /// Whether llc's comments do not say where an inlined function was called.
    fn lacks_chains(&self) -> bool {
        self.builder.keeps_lines() && self.toolchain.llvm_version.major > tested::LLVM
    }

    /// Looks for barriers that threads may miss. Findings in safe kernels are an error; those in
    /// other kernels are the result, one per line.
    pub(super) fn check(
        &self,
        suspects: &Suspects,
        files: &Files,
    ) -> Result<String, CudaBuilderError> {
        let reports = suspects.check(|text, passes, settings| {
            write(&files.copy, text)?;
            run(self
                .opt(passes)
                .args(settings)
                .arg("-S")
                .arg(&files.copy)
                .arg("-o")
                .arg(&files.readable))?;
            take(std::slice::from_ref(&files.copy), &files.readable)
        })?;
        match reports.errors.is_empty() {
            true => Ok(reports.warnings.join("\n")),
            false => Err(CudaBuilderError::Divergence {
                reports: reports.errors,
            }),
        }
    }

    /// Runs LLVM's optimiser, and again as long as inlining more functions may show that a pointer
    /// is to shared memory.
    fn optimise(
        &self,
        lowered: &str,
        public: &[&str],
        files: &Files,
    ) -> Result<String, CudaBuilderError> {
        let keeps_locals = self.builder.keeps_locals();
        let passes = match (keeps_locals, self.builder.nvvm_opts) {
            (true, _) => "default<O0>,globaldce,instnamer",
            (false, true) => "default<O3>,infer-address-spaces",
            (false, false) => "default<O1>,infer-address-spaces",
        };
        let passes = format!("{},{passes}", internalize(public));
        let mut lowered = Cow::Borrowed(lowered);
        let mut inlined = BTreeSet::new();
        loop {
            write(&files.lowered, &lowered)?;
            run(self
                .opt(&passes)
                .args(libdevice_settings(self.builder))
                .args((!self.builder.keeps_lines()).then_some("--strip-debug"))
                .arg("-S")
                .arg(&files.lowered)
                .arg("-o")
                .arg(&files.optimised))?;
            let optimised = read(&files.optimised)?;
            if keeps_locals {
                return Ok(optimised);
            }
            let in_the_way = &ir::in_the_way(&Module::parse(&optimised)?)? - &inlined;
            if in_the_way.is_empty() {
                return Ok(optimised);
            }
            let mut module = Module::parse(&lowered)?;
            ir::inline_always(&mut module, &in_the_way)?;
            lowered = Cow::Owned(module.to_string());
            inlined.extend(in_the_way);
        }
    }

    fn opt(&self, passes: &str) -> Command {
        let mut command = Command::new(&self.toolchain.opt);
        command
            .arg(format!("-mcpu={}", self.builder.arch))
            .arg(format!("-passes={passes}"));
        command
    }

    /// Prints the optimised module.
    fn print(&self, version: Option<&str>, files: &Files) -> Command {
        let mut command = self.llc(version);
        command.arg(&files.optimised).arg("-o").arg(&files.ptx);
        command
    }

    fn llc(&self, version: Option<&str>) -> Command {
        let builder = self.builder;
        let mut command = Command::new(&self.toolchain.llc);
        command
            .arg(format!("-mcpu={}", builder.arch))
            .arg(match (builder.keeps_locals(), builder.nvvm_opts) {
                (true, _) => "-O0",
                (false, true) => "-O3",
                (false, false) => "-O1",
            })
            .args(version)
            .arg(format!(
                "-nvptx-prec-divf32={}",
                if builder.fast_div { 0 } else { 2 }
            ))
            .arg(format!(
                "-nvptx-prec-sqrtf32={}",
                u8::from(!builder.fast_sqrt)
            ));
        command
    }
}

/// The first line of PTX that is built for the debugger.
const KEPT: &str = "// Not optimised, and every variable is in memory: for `blockwise debug`.\n";

/// LLVM prints the oldest PTX version that an architecture needs. `cuda_std` uses features of 7.0,
/// on older architectures too.
fn oldest_version(arch: NvvmArch) -> Option<&'static str> {
    (arch < NvvmArch::Compute80).then_some("-mattr=+ptx70")
}

/// Settings that libdevice queries by `__nvvm_reflect`; LLVM itself answers for the architecture.
/// Unanswered queries count as 0, which would mean approximate square roots.
fn libdevice_settings(builder: &CudaBuilder) -> [String; 2] {
    [
        ("__CUDA_FTZ", builder.ftz),
        ("__CUDA_PREC_SQRT", !builder.fast_sqrt),
    ]
    .map(|(name, value)| format!("--nvvm-reflect-add={name}={}", u8::from(value)))
}

/// The pass that makes all other symbols internal, so that unused ones can be removed.
pub(super) fn internalize(public: &[impl AsRef<str>]) -> String {
    let kept: Vec<_> = public
        .iter()
        .map(|name| format!("preserve-gv={}", name.as_ref()))
        .collect();
    format!("internalize<{}>", kept.join(";"))
}
