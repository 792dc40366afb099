//! Files that other processes may read or write at the same time.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::error::{CudaBuilderError, io_error};

/// Locks out other builds of the crate, in this and other processes, until the file is dropped: all
/// combinations of features and options share one library name.
pub(crate) fn lock(target_folder: &Path, library: &str) -> Result<fs::File, CudaBuilderError> {
    fs::create_dir_all(target_folder).map_err(io_error("create", target_folder))?;
    let path = target_folder.join(format!("{library}.lock"));
    let lock = fs::File::create(&path).map_err(io_error("create", &path))?;
    lock.lock().map_err(io_error("lock", path))?;
    Ok(lock)
}

/// Copies a file, unless the destination already has its contents.
pub(crate) fn copy_if_different(from: &Path, to: &Path) -> Result<(), CudaBuilderError> {
    let bytes = fs::read(from).map_err(io_error("read", from))?;
    write_if_different(to, &bytes)
}

/// Writes a file unless it already has these contents, so that its modification time is meaningful.
pub(crate) fn write_if_different(path: &Path, bytes: &[u8]) -> Result<(), CudaBuilderError> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
    }
    replace(path, bytes)
}

/// Replaces a file atomically: readers see either the old or the new contents.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CudaBuilderError> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = new_file_in(folder).map_err(io_error("write in", folder))?;
    file.write_all(bytes)
        .map_err(io_error("write", file.path()))?;
    file.persist(path)
        .map_err(|error| io_error("write", path)(error.error))?;
    Ok(())
}

/// A temporary file with the permissions of an ordinary new file.
fn new_file_in(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
