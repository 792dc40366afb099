//! core and alloc for the device: compiled once for a toolchain, an architecture and a set of flags, and shared by all workspaces of a
//! user.
//!
//! rustc has no prebuilt ones for this target, and they take most of the time of a first build. They lie in the user's cache folder, in
//! the form that rustc's `--sysroot` wants. Several builds may ask for the same one at once: one makes it, the others wait.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::CudaBuilder;
use crate::compile::{self, TARGET};
use crate::error::{CudaBuilderError, io_error};
use crate::output::lock;
use crate::package::Package;
use crate::tools::Toolchain;

/// Where the libraries of a target lie in a sysroot.
fn libraries_in(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

/// core, alloc and compiler_builtins as bitcode.
pub(crate) struct Sysroot {
    folder: PathBuf,
    /// The archives, sorted.
    pub(crate) libraries: Vec<PathBuf>,
}

impl Sysroot {
    /// The flag that makes rustc use it.
    pub(crate) fn flag(&self) -> String {
        format!("--sysroot={}", self.folder.display())
    }

    /// Finds it in the cache, or makes it.
    ///
    /// # Errors
    /// When it cannot be compiled, or the cache cannot be written.
    pub(crate) fn find_or_build(
        builder: &CudaBuilder,
        toolchain: &Toolchain,
        package: &Package,
    ) -> Result<Self, CudaBuilderError> {
        let cache = cache(package);
        let name = name(builder, toolchain);
        let folder = cache.join(&name);
        if let Some(found) = Self::at(&folder) {
            return Ok(found);
        }
        let _lock = lock(&cache, &name)?;
        if let Some(found) = Self::at(&folder) {
            return Ok(found);
        }
        let made = tempfile::Builder::new().prefix(".").tempdir_in(&cache);
        let made = made.map_err(io_error("write in", &cache))?;
        build(builder, toolchain, package, made.path())?;
        fs::rename(made.path(), &folder).map_err(io_error("create", &folder))?;
        Self::at(&folder).ok_or_else(|| CudaBuilderError::Compile {
            path: folder,
            target: builder.arch.target_cpu(),
            message: "cargo reported no libraries of core and alloc".to_owned(),
        })
    }

    /// A whole one: they appear by a rename.
    fn at(folder: &Path) -> Option<Self> {
        let entries = fs::read_dir(libraries_in(folder)).ok()?;
        let mut libraries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        libraries.sort();
        (!libraries.is_empty()).then(|| Self {
            folder: folder.to_owned(),
            libraries,
        })
    }
}

/// The user's cache folder, or one in the target folder where there is none that can be written.
fn cache(package: &Package) -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let user = match cfg!(windows) {
        true => variable("LOCALAPPDATA"),
        false => variable("XDG_CACHE_HOME")
            .or_else(|| std::env::home_dir().map(|home| home.join(".cache"))),
    };
    let shared = user.map(|user| user.join("blockwise/sysroots"));
    (shared.filter(|folder| fs::create_dir_all(folder).is_ok()))
        .unwrap_or_else(|| package.tools_folder.join("sysroots"))
}

/// A name for everything that decides the libraries' contents.
fn name(builder: &CudaBuilder, toolchain: &Toolchain) -> String {
    let mut hasher = DefaultHasher::new();
    toolchain.rustc.hash(&mut hasher);
    // Another compiler of the same version, as after an update of a nightly.
    if let Ok(metadata) = fs::metadata(&toolchain.rustc) {
        (metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    }
    compile::flags(builder).hash(&mut hasher);
    compile::profile(builder).hash(&mut hasher);
    let (version, arch) = (toolchain.rustc_version, builder.arch.target_cpu());
    format!("{version}-{arch}-{:016x}", hasher.finish())
}

/// Compiles the libraries into a sysroot at `folder`.
fn build(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    package: &Package,
    folder: &Path,
) -> Result<(), CudaBuilderError> {
    const MANIFEST: &str = "[package]\nname = \"needs_core\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n";
    // Apart, to be removed with all that cargo leaves.
    let work = tempfile::tempdir_in(folder).map_err(io_error("write in", folder))?;
    let manifest = work.path().join("Cargo.toml");
    for (path, text) in [(&manifest, MANIFEST), (&work.path().join("lib.rs"), "")] {
        fs::write(path, text).map_err(io_error("write", path))?;
    }
    let mut command = compile::cargo(builder, toolchain, &compile::flags(builder));
    command
        // The settings of the user's project say which registry to ask.
        .current_dir(&package.folder)
        .arg("-Zbuild-std=core,alloc")
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(work.path().join("target"));
    let (succeeded, messages, diagnostics) = compile::run(&mut command, &toolchain.cargo)?;
    if !succeeded {
        return Err(CudaBuilderError::Compile {
            path: manifest,
            target: builder.arch.target_cpu(),
            message: diagnostics,
        });
    }
    let libraries = libraries_in(folder);
    fs::create_dir_all(&libraries).map_err(io_error("create", &libraries))?;
    let own = std::ffi::OsStr::new("libneeds_core.rlib");
    for archive in compile::archives(&messages) {
        let Some(name) = archive.file_name().filter(|&name| name != own) else {
            continue;
        };
        let to = libraries.join(name);
        fs::rename(&archive, &to).map_err(io_error("move", &archive))?;
    }
    Ok(())
}
