//! One module from all archives.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::part::internalize;
use super::tool::{read, run, take, write};
use crate::CudaBuilder;
use crate::compile::Bitcode;
use crate::error::{CudaBuilderError, io_error};
use crate::ir::module::Module;
use crate::ir::{calls, public};
use crate::output::Folder;
use cuda_tools::Toolchain;

/// One module from all archives, as text, with only what kernels and public names reach. For a
/// dependency such as glam that is almost nothing, so every later step has less to process.
pub(super) fn crates(
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
    // With their records.
    let is_left_out = |name: &str| {
        let kernel = name.strip_suffix("__signature").unwrap_or(name);
        kernels.contains(kernel) && !only.contains(kernel)
    };
    let mut kept = public(&module);
    kept.retain(|name| only.is_empty() || !is_left_out(name));
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

/// core, alloc and compiler_builtins as one module, created by the target folder's first build.
/// From a module LLVM reads only the functions that it links; archives it reads completely.
fn library(toolchain: &Toolchain, bitcode: &Bitcode) -> Result<PathBuf, CudaBuilderError> {
    let mut hasher = DefaultHasher::new();
    // The sysroot's folder identifies its contents.
    (bitcode.sysroot.flag(), toolchain.to_string()).hash(&mut hasher);
    let name = format!("library-{:016x}.bc", hasher.finish());
    let path = bitcode.target_folder.join(name);
    if !path.is_file() {
        // Another build may create it at the same time, so the file is renamed into place when
        // complete.
        let folder = &bitcode.target_folder;
        let made = tempfile::NamedTempFile::new_in(folder).map_err(io_error("write in", folder))?;
        link_archives(toolchain, &bitcode.sysroot.libraries, made.path())?;
        (made.persist(&path)).map_err(|error| io_error("write", &path)(error.error))?;
    }
    Ok(path)
}

/// The module linked with the libdevice functions that it calls. `None` if it calls none: then the
/// library need not exist. Calls that no kernel reaches have been removed with their functions.
pub(super) fn libdevice(
    toolchain: &Toolchain,
    bitcode: &Bitcode,
    folder: &Folder,
    module: &Module<'_>,
) -> Result<Option<String>, CudaBuilderError> {
    if !calls::uses(module, &public(module), "__nv_") {
        return Ok(None);
    }
    let library = cuda_tools::libdevice::find_or_fetch(&bitcode.tools_folder)?;
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
