//! The LLVM stage: link the bitcode, transform the IR, optimise it, print PTX.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::Bitcode;
use crate::error::{CudaBuilderError, io_error};
use crate::ir::module::Module;
use crate::ir::{self, Stage, calls, public};
use crate::labels;
use crate::nvvm;
use crate::output::Folder;
use crate::parameters;
use crate::scope;
use crate::tools::{Toolchain, libdevice};
use crate::uniformity::{Reports, Suspects};
use crate::{CudaBuilder, EmitOption, NvvmArch};

/// Compiles the archives to the folder's PTX file.
pub(crate) fn emit_ptx(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<(), CudaBuilderError> {
    use CudaBuilderError::{GenericSharedAccess, Undefined};
    match emit(builder, toolchain, bitcode, folder) {
        // Source lines were removed before the optimiser: with them the error has its line.
        Err(error @ (GenericSharedAccess { .. } | Undefined { .. })) if !builder.keeps_lines() => {
            let lines = builder.clone().generate_line_info(true);
            Err(emit(&lines, toolchain, bitcode, folder)
                .err()
                .unwrap_or(error))
        }
        result => result,
    }
}

fn emit(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<(), CudaBuilderError> {
    let linked = link(builder, toolchain, bitcode, folder)?;
    let mut module = Module::parse(&linked)?;
    ir::rewrite(Stage::Crates, &mut module, builder)?;
    let whole = link_libdevice(toolchain, bitcode, folder, &module)?;
    if let Some(whole) = &whole {
        module = Module::parse(whole)?;
    }
    let passes = passes(builder, &public(&module));
    ir::rewrite(Stage::Program, &mut module, builder)?;
    let suspects = Suspects::of(&module)?;
    ir::rewrite(Stage::Checked, &mut module, builder)?;
    // In parallel, because each uses only one core.
    let (optimised, reports) = std::thread::scope(|scope| {
        let reports = scope.spawn(|| check(suspects, builder, toolchain, folder));
        let optimised = optimise(builder, toolchain, folder, module, &passes);
        let reports = reports
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (optimised, reports)
    });
    refuse(reports?, folder)?;
    let optimised = optimised?;
    let mut module = Module::parse(&optimised)?;
    nvvm::check(&module, &nvvm::launch_parameters(bitcode.device_sources())?)?;
    ir::rewrite(Stage::Optimised, &mut module, builder)?;
    write(&folder.optimised_ir(), &module.to_string())?;

    print(builder, toolchain, folder, ptx_version(builder.arch))?;
    if let Some(version) = parameters::version(&read(&folder.ptx())?)? {
        print(builder, toolchain, folder, Some(version))?;
    }
    let mut ptx = read(&folder.ptx())?;
    if builder.keeps_lines() {
        ptx = labels::drop_unused(&ptx);
    }
    if builder.arch.has_orders() {
        ptx = scope::complete(&ptx);
    }
    write(&folder.ptx(), &ptx)?;
    if builder.emit == Some(EmitOption::Bitcode) {
        run(Command::new(&toolchain.opt)
            .arg("-passes=")
            .arg(folder.optimised_ir())
            .arg("-o")
            .arg(folder.file("bc")))?;
    }
    if !builder.keeps_ir() {
        for file in [folder.lowered_ir(), folder.optimised_ir()] {
            std::fs::remove_file(&file).map_err(io_error("remove", file))?;
        }
    }
    Ok(())
}

/// Prints the optimised module as PTX.
fn print(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    folder: &Folder,
    version: Option<&str>,
) -> Result<(), CudaBuilderError> {
    run(Command::new(&toolchain.llc)
        .arg(format!("-mcpu={}", builder.arch))
        .arg(if builder.nvvm_opts { "-O3" } else { "-O1" })
        .args(version)
        .arg(format!(
            "-nvptx-prec-divf32={}",
            if builder.fast_div { 0 } else { 2 }
        ))
        .arg(format!(
            "-nvptx-prec-sqrtf32={}",
            u8::from(!builder.fast_sqrt)
        ))
        .arg(folder.optimised_ir())
        .arg("-o")
        .arg(folder.ptx()))
}

/// Looks for barriers that threads may miss.
fn check(
    suspects: Suspects,
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    folder: &Folder,
) -> Result<Reports, CudaBuilderError> {
    let [copy, readable] = ["copy.ll", "readable.ll"].map(|part| folder.file(part));
    suspects.check(|text, passes, settings| {
        write(&copy, text)?;
        run(Command::new(&toolchain.opt)
            .arg(format!("-mcpu={}", builder.arch))
            .arg(format!("-passes={passes}"))
            .args(settings)
            .arg("-S")
            .arg(&copy)
            .arg("-o")
            .arg(&readable))?;
        take(std::slice::from_ref(&copy), &readable)
    })
}

/// Fails for findings in safe kernels; those in other kernels are recorded as warnings.
fn refuse(reports: Reports, folder: &Folder) -> Result<(), CudaBuilderError> {
    if !reports.errors.is_empty() {
        return Err(CudaBuilderError::Divergence {
            reports: reports.errors,
        });
    }
    write(&folder.warnings(), &reports.warnings.join("\n"))
}

/// Runs LLVM's optimiser; again, while inlining more functions would reveal that a pointer is
/// shared.
fn optimise(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    folder: &Folder,
    mut program: Module<'_>,
    passes: &str,
) -> Result<String, CudaBuilderError> {
    let mut inlined = BTreeSet::new();
    loop {
        write(&folder.lowered_ir(), &program.to_string())?;
        run(Command::new(&toolchain.opt)
            .arg(format!("-mcpu={}", builder.arch))
            .arg(format!("-passes={passes}"))
            .args(libdevice_settings(builder))
            .args((!builder.keeps_lines()).then_some("--strip-debug"))
            .arg("-S")
            .arg(folder.lowered_ir())
            .arg("-o")
            .arg(folder.optimised_ir()))?;
        let optimised = read(&folder.optimised_ir())?;
        let in_the_way = &ir::in_the_way(&Module::parse(&optimised)?)? - &inlined;
        if in_the_way.is_empty() {
            return Ok(optimised);
        }
        ir::inline_always(&mut program, &in_the_way)?;
        inlined.extend(in_the_way);
    }
}

/// LLVM prints the oldest PTX version that an architecture needs. `cuda_std` uses features of 7.0,
/// on older architectures too.
fn ptx_version(arch: NvvmArch) -> Option<&'static str> {
    (arch < NvvmArch::Compute80).then_some("-mattr=+ptx70")
}

/// One module from all archives, as text, with what kernels and public names reach. For a
/// dependency such as glam that is almost nothing, and every later step has less to process.
fn link(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<String, CudaBuilderError> {
    let [crates, linked, used] =
        ["crates.bc", "linked.ll", "used.ll"].map(|part| folder.file(part));
    link_archives(toolchain, &bitcode.crates, &crates)?;
    run(Command::new(&toolchain.llvm_link)
        .args(["--only-needed", "-S"])
        .arg(&crates)
        .arg(library(toolchain, bitcode)?)
        .arg("-o")
        .arg(&linked))?;
    let text = read(&linked)?;
    let module = Module::outline(&text)?;
    let kernels: BTreeSet<_> = calls::kernels(&module).collect();
    if kernels.is_empty() {
        return Err(CudaBuilderError::NoKernels {
            path: bitcode.crate_folder.clone(),
        });
    }
    let only: BTreeSet<_> = builder.only.iter().map(String::as_str).collect();
    if let Some(kernel) = only.difference(&kernels).next() {
        return Err(CudaBuilderError::NoSuchKernel {
            path: bitcode.crate_folder.clone(),
            kernel: (*kernel).to_owned(),
        });
    }
    let mut kept = public(&module);
    kept.retain(|name| {
        let name = name.as_str();
        only.is_empty() || only.contains(name) || !kernels.contains(name)
    });
    run(Command::new(&toolchain.opt)
        .arg(format!("-passes={},globaldce", internalize(&kept)))
        .arg("-S")
        .arg(&linked)
        .arg("-o")
        .arg(&used))?;
    take(&[crates, linked], &used)
}

/// Links whole archives to one file. They also contain rustc's metadata.
fn link_archives(
    toolchain: &Toolchain,
    archives: &[PathBuf],
    to: &Path,
) -> Result<(), CudaBuilderError> {
    run(Command::new(&toolchain.llvm_link)
        .arg("--ignore-non-bitcode")
        .args(archives)
        .arg("-o")
        .arg(to))
}

/// core, alloc and compiler_builtins as one module, made by the target folder's first build. LLVM
/// reads of one module only the functions that it links; archives it reads whole.
fn library(toolchain: &Toolchain, bitcode: &Bitcode) -> Result<PathBuf, CudaBuilderError> {
    let mut hasher = DefaultHasher::new();
    // The sysroot's folder identifies its contents.
    (bitcode.sysroot.flag(), toolchain.to_string()).hash(&mut hasher);
    let name = format!("library-{:016x}.bc", hasher.finish());
    let path = bitcode.target_folder.join(name);
    if !path.is_file() {
        // Another build may make it at the same time: the file appears whole.
        let folder = &bitcode.target_folder;
        let made = tempfile::NamedTempFile::new_in(folder).map_err(io_error("write in", folder))?;
        link_archives(toolchain, &bitcode.sysroot.libraries, made.path())?;
        (made.persist(&path)).map_err(|error| io_error("write", &path)(error.error))?;
    }
    Ok(path)
}

/// The module linked with the libdevice functions that it calls. `None` if it calls none: then the
/// library need not exist. Calls that no kernel reaches have been removed with their functions.
fn link_libdevice(
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
    module: &Module<'_>,
) -> Result<Option<String>, CudaBuilderError> {
    if !calls::uses(module, &public(module), "__nv_") {
        return Ok(None);
    }
    let library = libdevice::find_or_fetch(&bitcode.tools_folder)?;
    let (calling, linked) = (folder.file("calling.ll"), folder.file("linked.ll"));
    write(&calling, &module.to_string())?;
    run(Command::new(&toolchain.llvm_link)
        .args(["--only-needed", "--internalize", "-S"])
        .arg(&calling)
        .arg(&library)
        .arg("-o")
        .arg(&linked))?;
    take(&[calling], &linked).map(Some)
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

/// Reads the output of a tool, and deletes it together with the tool's inputs.
fn take(inputs: &[PathBuf], output: &Path) -> Result<String, CudaBuilderError> {
    let text = read(output)?;
    for file in inputs.iter().map(PathBuf::as_path).chain([output]) {
        std::fs::remove_file(file).map_err(io_error("remove", file))?;
    }
    Ok(text)
}

/// The pass that makes all other symbols internal, so that unused ones can be removed.
fn internalize(public: &[String]) -> String {
    let kept: Vec<_> = public
        .iter()
        .map(|name| format!("preserve-gv={name}"))
        .collect();
    format!("internalize<{}>", kept.join(";"))
}

fn passes(builder: &CudaBuilder, public: &[String]) -> String {
    let level = if builder.nvvm_opts { "O3" } else { "O1" };
    format!(
        "{},default<{level}>,infer-address-spaces",
        internalize(public)
    )
}

/// Runs a tool; its standard error becomes part of the error.
fn run(command: &mut Command) -> Result<(), CudaBuilderError> {
    let output = command.output().map_err(|source| CudaBuilderError::Start {
        tool: command.get_program().into(),
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::Llvm {
        tool: command.get_program().to_string_lossy().into_owned(),
        status: output.status.to_string(),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

pub(crate) fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io_error("read", path))
}

fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io_error("write", path))
}
