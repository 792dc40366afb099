//! The compiler wrapper that cargo runs, for crates that the compiler would reject unchanged.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::arch::TARGET;
use crate::error::{CudaBuilderError, io_error};

/// `TARGET` is substituted. `$0`'s folder has copies under the originals' paths.
///
/// A kernel crate's own crate types are overridden on cargo's command line. A dependency's cannot
/// be, and a `cdylib` needs a linker, which does not exist. So the script tells cargo, in the words
/// that it expects, that the target supports none, and does not request one from the compiler.
const SCRIPT: &str = r#"#!/bin/sh
copies="$(dirname "$0")/copies"
device= asks=
for argument do
    case "$argument" in
    TARGET | --target=TARGET) device=1 ;;
    --print=file-names) asks=1 ;;
    esac
done
before=
for argument do
    shift
    # A crate's first file is read from its copy, where there is one.
    case "$argument" in
    *.rs)
        case "$argument" in
        /*) from="$copies" to=/ original="$argument" ;;
        *) from="$copies$PWD" to= original="$PWD/$argument" ;;
        esac
        if [ -f "$copies$original" ] && [ ! -L "$copies$original" ]; then
            argument="$copies$original"
            set -- "$@" "--remap-path-prefix=$from=$to"
        fi
        ;;
    esac
    # The device's crates are libraries for Rust and nothing else.
    case "$device$before $argument" in
    "1--crate-type cdylib" | "1--crate-type dylib" | "1--crate-type staticlib")
        if [ "$asks" ]; then
            echo "warning: dropping unsupported crate type \`$argument\`" >&2
        fi
        ;;
    *" --crate-type") ;;
    *)
        if [ "$before" = --crate-type ]; then
            set -- "$@" --crate-type
        fi
        set -- "$@" "$argument"
        ;;
    esac
    before="$argument"
done
exec "$@"
"#;

/// The wrapper's folder in a target folder.
pub(crate) fn folder(target_folder: &Path) -> PathBuf {
    target_folder.join("wrapper")
}

/// Writes the script, unless it exists.
pub(crate) fn write(target_folder: &Path) -> Result<PathBuf, CudaBuilderError> {
    let (folder, script) = (folder(target_folder), SCRIPT.replace("TARGET", TARGET));
    let path = folder.join("rustc.sh");
    if fs::read_to_string(&path).is_ok_and(|old| old == script) {
        return Ok(path);
    }
    fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let mut file = (builder.tempfile_in(&folder)).map_err(io_error("write in", &folder))?;
    (file.write_all(script.as_bytes())).map_err(io_error("write", file.path()))?;
    // Closed first: a file open for writing cannot be executed.
    (file.into_temp_path().persist(&path))
        .map_err(|error| io_error("write", &path)(error.error))?;
    Ok(path)
}
