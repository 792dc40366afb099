//! core and alloc for the device: compiled once per toolchain, architecture and set of flags, and
//! shared by all workspaces of a user.
//!
//! rustc has no prebuilt ones for this target, and compiling them dominates a first build. They are
//! in the user's cache folder, laid out for rustc's `--sysroot`; if that cannot be written, in the
//! workspace's target folder. Their manifests are our own ([`manifests`]): cargo's `-Zbuild-std` asks
//! the registry for packages of std that are not compiled here, which fails offline and in a vendored
//! workspace. If several builds need the same sysroot, one builds it and the others
//! wait. An incomplete or damaged one is built again.

mod manifests;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::CudaBuilder;
use crate::arch::TARGET;
use crate::cargo;
use crate::error::{CudaBuilderError, io_error};
use crate::files::lock;
use crate::messages::errors_of;
use crate::package::Package;
use crate::tools::Toolchain;

/// The folder of a target's libraries in a sysroot.
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

    /// Finds the sysroot in the cache, or builds it.
    ///
    /// # Errors
    /// If it cannot be compiled or written.
    pub(crate) fn find_or_build(
        builder: &CudaBuilder,
        toolchain: &Toolchain,
        package: &Package,
    ) -> Result<Self, CudaBuilderError> {
        let name = name(builder, toolchain);
        let own = package.tools_folder.join("sysroots");
        let users = cuda_tools::cache::folder().map(|cache| cache.join("sysroots"));
        let caches: Vec<_> = users.into_iter().chain([own]).collect();
        Self::in_one_of(&caches, &name, |folder| build(builder, toolchain, folder))
    }

    /// Finds it in one of the folders, or builds it in the first writable one.
    fn in_one_of(
        caches: &[PathBuf],
        name: &str,
        build: impl Fn(&Path) -> Result<(), CudaBuilderError>,
    ) -> Result<Self, CudaBuilderError> {
        let mut refused = None;
        for cache in caches {
            let folder = cache.join(name);
            if let Some(found) = Self::at(&folder) {
                return Ok(found);
            }
            match lock(cache, name) {
                Ok(_lock) => return Self::make(&folder, build),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| no_libraries(Path::new(name))))
    }

    /// Builds it, unless the previous holder of the lock has done so.
    fn make(
        folder: &Path,
        build: impl Fn(&Path) -> Result<(), CudaBuilderError>,
    ) -> Result<Self, CudaBuilderError> {
        if let Some(found) = Self::at(folder) {
            return Ok(found);
        }
        // A fixed name, so that the remains of a killed build are removed here.
        let mut made = folder.as_os_str().to_owned();
        made.push(".unfinished");
        let made = PathBuf::from(made);
        for old in [folder, &made] {
            remove(old)?;
        }
        let built = build(&made).and_then(|()| write_list(&made));
        if let Err(error) = built {
            // Report the first error.
            let _ = remove(&made);
            return Err(error);
        }
        fs::rename(&made, folder).map_err(io_error("create", folder))?;
        Self::at(folder).ok_or_else(|| no_libraries(folder))
    }

    /// A complete sysroot, as recorded by its list.
    fn at(folder: &Path) -> Option<Self> {
        let libraries = archives_in(folder).ok()?;
        let written = fs::read_to_string(folder.join(LIST)).ok()?;
        let is_whole = !libraries.is_empty() && list(&libraries).is_ok_and(|list| list == written);
        is_whole.then(|| Self {
            folder: folder.to_owned(),
            libraries,
        })
    }
}

/// The file that lists a complete sysroot's contents.
const LIST: &str = "libraries";

/// The libraries of a sysroot, sorted.
fn archives_in(sysroot: &Path) -> Result<Vec<PathBuf>, CudaBuilderError> {
    let folder = libraries_in(sysroot);
    let entries = fs::read_dir(&folder).map_err(io_error("read", folder))?;
    let mut archives: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    archives.sort();
    Ok(archives)
}

/// One line per library, with a hash of its contents.
fn list(libraries: &[PathBuf]) -> Result<String, CudaBuilderError> {
    let lines = libraries.iter().map(|library| {
        let mut hasher = DefaultHasher::new();
        (fs::read(library).map_err(io_error("read", library))?).hash(&mut hasher);
        let name = library.file_name().unwrap_or_default().display();
        Ok(format!("{:016x} {name}\n", hasher.finish()))
    });
    lines.collect()
}

fn write_list(folder: &Path) -> Result<(), CudaBuilderError> {
    let file = folder.join(LIST);
    fs::write(&file, list(&archives_in(folder)?)?).map_err(io_error("write", file))
}

fn remove(folder: &Path) -> Result<(), CudaBuilderError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_error("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

fn no_libraries(folder: &Path) -> CudaBuilderError {
    CudaBuilderError::Compile {
        path: folder.to_owned(),
        target: TARGET,
        message: "cargo reported no libraries of core and alloc".to_owned(),
    }
}

/// Incremented when a change of this file changes a sysroot's contents.
const FORMAT: u32 = 2;

/// A name derived from everything that determines the libraries' contents.
fn name(builder: &CudaBuilder, toolchain: &Toolchain) -> String {
    let mut hasher = DefaultHasher::new();
    FORMAT.hash(&mut hasher);
    toolchain.rustc.hash(&mut hasher);
    // Distinguishes compilers of the same version, such as nightlies.
    if let Ok(metadata) = fs::metadata(&toolchain.rustc) {
        (metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    }
    cargo::flags(builder).hash(&mut hasher);
    cargo::profile(builder).hash(&mut hasher);
    let (version, arch) = (toolchain.rustc_version, builder.arch.target_cpu());
    format!("{version}-{arch}-{:016x}", hasher.finish())
}

/// Compiles the libraries into a sysroot at `folder`.
fn build(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    folder: &Path,
) -> Result<(), CudaBuilderError> {
    fs::create_dir_all(folder).map_err(io_error("create", folder))?;
    // A separate folder, which is deleted with all of cargo's files.
    let work = tempfile::tempdir_in(folder).map_err(io_error("write in", folder))?;
    let manifest = manifests::write(toolchain, work.path())?;
    let mut flags = cargo::flags(builder);
    // What `-Zbuild-std` adds: the libraries' own features are not the user's.
    flags.push("-Zforce-unstable-if-unmarked".to_owned());
    let mut command = cargo::cargo(builder, toolchain, &flags);
    cargo::without_unstable_tables(&mut command);
    let (profile, checks) = (cargo::profile(builder).0, (!builder.release).to_string());
    command
        // The sysroot is shared, so a project's profile settings must not affect it.
        .env(format!("CARGO_PROFILE_{profile}_DEBUG_ASSERTIONS"), &checks)
        .env(format!("CARGO_PROFILE_{profile}_OVERFLOW_CHECKS"), &checks)
        // Nothing comes from a registry, and no project's settings apply.
        .current_dir(work.path())
        .args(["--offline", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(work.path().join("target"));
    let (succeeded, messages, diagnostics) = cargo::run(&mut command, &toolchain.cargo)?;
    if !succeeded {
        return Err(CudaBuilderError::Compile {
            path: manifest,
            target: builder.arch.target_cpu(),
            message: errors_of(&diagnostics),
        });
    }
    let libraries = libraries_in(folder);
    fs::create_dir_all(&libraries).map_err(io_error("create", &libraries))?;
    let own = std::ffi::OsStr::new("libneeds_core.rlib");
    for archive in cargo::archives(&messages) {
        let Some(name) = archive.file_name().filter(|&name| name != own) else {
            continue;
        };
        let to = libraries.join(name);
        fs::rename(&archive, &to).map_err(io_error("move", &archive))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Finds or builds `name` in the caches; returns its path, and whether it was built.
    fn find(caches: &[PathBuf]) -> (PathBuf, bool) {
        let made = Cell::new(false);
        let sysroot = Sysroot::in_one_of(caches, "1.0.0-sm_80-0", |folder| {
            made.set(true);
            write_libraries(folder)
        });
        let sysroot = sysroot.unwrap();
        assert_eq!(sysroot.libraries.len(), 2);
        (sysroot.folder, made.get())
    }

    fn write_libraries(folder: &Path) -> Result<(), CudaBuilderError> {
        let libraries = libraries_in(folder);
        fs::create_dir_all(&libraries).unwrap();
        for name in ["libcore.rlib", "liballoc.rlib"] {
            fs::write(libraries.join(name), "contents").unwrap();
        }
        Ok(())
    }

    #[test]
    fn it_is_made_once_and_again_when_anything_is_missing_or_damaged() {
        let cache = tempfile::tempdir().unwrap();
        let caches = [cache.path().to_owned()];
        let (folder, made) = find(&caches);
        assert!(made && !find(&caches).1);
        let core = libraries_in(&folder).join("libcore.rlib");
        let damages: [&dyn Fn(); 6] = [
            &|| fs::write(&core, "conte").unwrap(),
            &|| fs::write(&core, "damaged!").unwrap(),
            &|| fs::remove_file(&core).unwrap(),
            &|| fs::remove_dir_all(libraries_in(&folder)).unwrap(),
            &|| fs::remove_file(folder.join(LIST)).unwrap(),
            // A build that was killed.
            &|| fs::rename(&folder, cache.path().join("1.0.0-sm_80-0.unfinished")).unwrap(),
        ];
        for (at, damage) in damages.iter().enumerate() {
            damage();
            assert!(find(&caches).1, "damage {at}");
            assert!(!find(&caches).1, "damage {at}");
        }
        // The sysroot and its lock; nothing else remains.
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_read_and_else_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        fs::write(&first, "no folder").unwrap();
        let caches = [first.clone(), second.clone()];
        assert_eq!(find(&caches), (second.join("1.0.0-sm_80-0"), true));
        // An existing sysroot needs no lock.
        fs::remove_file(second.join("1.0.0-sm_80-0.lock")).unwrap();
        fs::create_dir(second.join("1.0.0-sm_80-0.lock")).unwrap();
        assert!(!find(&caches).1);
        let none = Sysroot::in_one_of(std::slice::from_ref(&first), "name", write_libraries);
        assert!(none.is_err_and(|error| error.to_string().contains(&*first.to_string_lossy())));
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let caches = [cache.path().to_owned()];
        let failed = Sysroot::in_one_of(&caches, "1.0.0-sm_80-0", |folder| {
            write_libraries(folder)?;
            Err(io_error("write", folder)(
                std::io::ErrorKind::StorageFull.into(),
            ))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "the lock");
        assert!(find(&caches).1);
    }

    #[test]
    fn builds_at_the_same_time_make_one_of_each() {
        let cache = tempfile::tempdir().unwrap();
        let find = |arch: &str| {
            let made = Cell::new(0);
            let name = format!("1.0.0-{arch}-0");
            let sysroot = Sysroot::in_one_of(&[cache.path().to_owned()], &name, |folder| {
                made.set(1);
                write_libraries(folder)?;
                // No other process writes there.
                fs::write(libraries_in(folder).join("libcore.rlib"), &name).unwrap();
                std::thread::yield_now();
                write_list(folder)
            });
            let core = libraries_in(&sysroot.unwrap().folder).join("libcore.rlib");
            assert_eq!(fs::read_to_string(core).unwrap(), name);
            made.get()
        };
        let made: usize = std::thread::scope(|scope| {
            let archs = ["sm_80", "sm_90"].iter().cycle().take(8);
            let threads: Vec<_> = archs.map(|arch| scope.spawn(|| find(arch))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(made, 2);
    }
}
