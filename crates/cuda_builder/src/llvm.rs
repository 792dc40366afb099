//! LLVM's part: link the bitcode, rewrite the IR, optimise it, print PTX.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::Bitcode;
use crate::error::{CudaBuilderError, io_error};
use crate::ir::{
    address_space, atomic, barrier, contract, convergent, extension, flush, formatting, functions,
    generic_access, grid_stride, inline, launch_bounds, libm, library_files, remainder, visible,
    wide,
};
use crate::labels;
use crate::nvvm;
use crate::output::Folder;
use crate::tools::{Toolchain, libdevice};
use crate::{CudaBuilder, EmitOption, NvvmArch};

/// Turns the archives into the folder's PTX file.
pub(crate) fn emit_ptx(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<(), CudaBuilderError> {
    let linked = link(toolchain, bitcode, folder)?;
    let mut linked = wide::lower(&remainder::lower(&linked));
    if builder.override_libm {
        linked = libm::forward(&linked);
    }
    if builder.fma_contraction {
        linked = contract::mark(&linked);
    }
    let linked = library_files::name(&link_libdevice(toolchain, bitcode, folder, linked)?);
    let public = public(&linked);
    barrier::check(&linked)?;
    let lowered = address_space::lower(&linked, builder.use_constant_memory_space)?;
    let lowered = launch_bounds::mark(&visible::unmark(&lowered));
    let lowered = atomic::order(&convergent::mark(&lowered));
    let mut lowered = inline::formatting_apart(&formatting::shrink(&lowered));
    if builder.ftz {
        lowered = flush::mark(&lowered);
    }
    let passes = passes(builder, &public);
    let optimised = optimise(builder, toolchain, folder, lowered, &passes)?;
    nvvm::check(&optimised, &nvvm::launch_parameters(&bitcode.sources())?)?;
    generic_access::check(&optimised)?;
    let guarded = extension::guard(&optimised);
    write(&folder.optimised_ir(), &grid_stride::hide(&guarded))?;

    run(Command::new(&toolchain.llc)
        .arg(format!("-mcpu={}", builder.arch))
        .arg(if builder.nvvm_opts { "-O3" } else { "-O1" })
        .args(ptx_version(builder.arch))
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
        .arg(folder.ptx()))?;
    if builder.keeps_lines() {
        write(&folder.ptx(), &labels::drop_unused(&read(&folder.ptx())?))?;
    }
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

/// Runs LLVM's optimiser; again, as long as there are functions whose inlining would tell it that a pointer is a shared one.
fn optimise(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    folder: &Folder,
    mut lowered: String,
    passes: &str,
) -> Result<String, CudaBuilderError> {
    let mut inlined = BTreeSet::new();
    loop {
        write(&folder.lowered_ir(), &lowered)?;
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
        let in_the_way = &generic_access::in_the_way(&optimised) - &inlined;
        if in_the_way.is_empty() {
            return Ok(optimised);
        }
        lowered = inline::always(&lowered, &in_the_way);
        inlined.extend(in_the_way);
    }
}

/// LLVM prints the oldest PTX version that an architecture needs. What `cuda_std` uses came with 7.0, on older ones too.
fn ptx_version(arch: NvvmArch) -> Option<&'static str> {
    (arch < NvvmArch::Compute80).then_some("-mattr=+ptx70")
}

/// One module from all archives, as text: what the kernels and the public names lead to. Of a dependency such as glam that is next to
/// nothing, and every later step has less to read.
fn link(
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
) -> Result<String, CudaBuilderError> {
    let [crates, linked, used] =
        ["crates.bc", "linked.ll", "used.ll"].map(|part| folder.file(part));
    // Archives hold rustc's metadata beside the bitcode.
    let llvm_link = || {
        let mut command = Command::new(&toolchain.llvm_link);
        command.arg("--ignore-non-bitcode");
        command
    };
    run(llvm_link().args(&bitcode.crates).arg("-o").arg(&crates))?;
    run(llvm_link()
        .args(["--only-needed", "-S"])
        .arg(&crates)
        // Twice, for each archive adds only what those before it need: core calls compiler_builtins' `memcmp`, and that core's panics.
        .args(&bitcode.sysroot.libraries)
        .args(&bitcode.sysroot.libraries)
        .arg("-o")
        .arg(&linked))?;
    let module = read(&linked)?;
    if functions::kernels(&module).next().is_none() {
        return Err(CudaBuilderError::NoKernels {
            path: bitcode.crate_folder.clone(),
        });
    }
    run(Command::new(&toolchain.opt)
        .arg(format!(
            "-passes={},globaldce",
            internalize(&public(&module))
        ))
        .arg("-S")
        .arg(&linked)
        .arg("-o")
        .arg(&used))?;
    take(&[crates, linked], &used)
}

/// Adds the functions of libdevice that the module calls. A module that calls none does not need the library to exist; calls that
/// no kernel reaches go away with the functions that hold them.
fn link_libdevice(
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
    module: String,
) -> Result<String, CudaBuilderError> {
    if !functions::uses(&module, &public(&module), "__nv_") {
        return Ok(module);
    }
    let library = libdevice::find_or_fetch(&bitcode.tools_folder)?;
    let (calling, linked) = (folder.file("calling.ll"), folder.file("linked.ll"));
    write(&calling, &module)?;
    run(Command::new(&toolchain.llvm_link)
        .args(["--only-needed", "--internalize", "-S"])
        .arg(&calling)
        .arg(&library)
        .arg("-o")
        .arg(&linked))?;
    take(&[calling], &linked)
}

/// What libdevice asks of its compiler by `__nvvm_reflect`; the architecture LLVM answers by itself. Whatever is not answered
/// counts as 0, which for square roots would mean approximate ones.
fn libdevice_settings(builder: &CudaBuilder) -> [String; 2] {
    [
        ("__CUDA_FTZ", builder.ftz),
        ("__CUDA_PREC_SQRT", !builder.fast_sqrt),
    ]
    .map(|(name, value)| format!("--nvvm-reflect-add={name}={}", u8::from(value)))
}

/// Reads the output of a tool, and removes it with the tool's inputs.
fn take(inputs: &[PathBuf], output: &Path) -> Result<String, CudaBuilderError> {
    let text = read(output)?;
    for file in inputs.iter().map(PathBuf::as_path).chain([output]) {
        std::fs::remove_file(file).map_err(io_error("remove", file))?;
    }
    Ok(text)
}

/// What must keep its name: kernels, which the host launches, constants with a public name, which it may set, and what is marked.
fn public(ir: &str) -> Vec<&str> {
    functions::kernels(ir)
        .chain(visible::names(ir))
        .chain(address_space::public_constants(ir))
        .collect()
}

/// The pass that makes everything else the module's own, so that what is not used may go.
fn internalize(public: &[&str]) -> String {
    let kept: Vec<_> = public
        .iter()
        .map(|name| format!("preserve-gv={name}"))
        .collect();
    format!("internalize<{}>", kept.join(";"))
}

fn passes(builder: &CudaBuilder, public: &[&str]) -> String {
    let level = if builder.nvvm_opts { "O3" } else { "O1" };
    format!(
        "{},default<{level}>,infer-address-spaces",
        internalize(public)
    )
}

/// Runs a tool; its standard error goes into the error.
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

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(io_error("read", path))
}

fn write(path: &Path, text: &str) -> Result<(), CudaBuilderError> {
    std::fs::write(path, text).map_err(io_error("write", path))
}
