//! The PTX that the tests run: of the crates `kernels` and `ladder` what their builds embedded, of the
//! others the files in `target/ptx`.

use std::path::{Path, PathBuf};

use blockwise::{Device, Module, PtxFile};
use cuda_std::launch::{Kernels, KernelsFile};

/// Environment variable with the one folder to look for PTX in.
pub const FOLDER_VARIABLE: &str = "BLOCKWISE_PTX_DIR";

/// Loads what [`file()`] found into a device.
///
/// # Errors
/// When the device refuses it.
pub fn load(file: &PtxFile, device: &Device) -> blockwise::Result<Module> {
    // SAFETY: the text is what the compiler made of the crate that this program was compiled with.
    unsafe { device.load_ptx(&file.text, &file.origin) }
}

/// Every PTX file of a crate, oldest architecture first, but for those whose instructions no other
/// one has, such as `sm_90a`.
///
/// # Panics
/// When there is none.
pub fn files(stem: &str) -> Vec<PtxFile> {
    let mut files = match stem {
        "kernels" => embedded(&kernels::KERNELS),
        "ladder" => embedded(&ladder::KERNELS),
        _ => found(stem, &folders()),
    };
    files.sort_by_key(|file| file.target);
    files
}

/// The newest PTX of a crate that a device of this compute capability can run.
///
/// # Panics
/// When there is none.
pub fn file(stem: &str, (major, minor): (u32, u32)) -> PtxFile {
    let fits = |file: &PtxFile| file.target <= major * 10 + minor;
    let newest = files(stem).into_iter().rfind(fits);
    newest
        .unwrap_or_else(|| panic!("all PTX of {stem} is for devices newer than sm_{major}{minor}"))
}

/// The files of all good kernels: the product's, and the steps of the ladder.
pub fn good() -> Vec<PtxFile> {
    ["kernels", "ladder"].into_iter().flat_map(files).collect()
}

fn embedded(kernels: &'static Kernels) -> Vec<PtxFile> {
    let of_family = |file: &&KernelsFile| !file.arch.ends_with('a');
    let read = |file: &KernelsFile| PtxFile {
        origin: format!("{}.{}.ptx", kernels.package, file.arch),
        ..PtxFile::of_file(kernels, file).unwrap_or_else(|error| panic!("{error}"))
    };
    let files = kernels.files.iter();
    files.filter(of_family).map(read).collect()
}

/// The files in the first folder that has any.
fn found(stem: &str, folders: &[PathBuf]) -> Vec<PtxFile> {
    let in_folder = |folder: &PathBuf| files_in(stem, folder);
    let files = folders
        .iter()
        .map(in_folder)
        .find(|files| !files.is_empty());
    files.unwrap_or_else(|| {
        panic!("no {stem}.sm_XX.ptx in any of {folders:?}; `cargo xtask test` builds it")
    })
}

fn files_in(stem: &str, folder: &Path) -> Vec<PtxFile> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("a file of the folder").path();
        is_of(stem, path.file_name()?.to_str()?)
            .then(|| PtxFile::read(&path).unwrap_or_else(|error| panic!("{error}")))
    };
    entries.filter_map(read).collect()
}

/// `device_api.sm_80.ptx` is one of `device_api`. A name like `sm_90a` is for one architecture
/// only: not wanted.
fn is_of(stem: &str, name: &str) -> bool {
    let target = name
        .strip_prefix(stem)
        .and_then(|rest| rest.strip_prefix(".sm_")?.strip_suffix(".ptx"));
    target.is_some_and(|target| target.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The folder that the environment names and no other; or else `ptx` near the running program
/// (`target/ptx` for a test in `target/debug/deps`), and then `target/ptx` in the working directory
/// or one above it.
fn folders() -> Vec<PathBuf> {
    match std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => vec![folder.into()],
        None => usual_folders(std::env::current_exe().ok(), std::env::current_dir().ok()),
    }
}

fn usual_folders(program: Option<PathBuf>, working: Option<PathBuf>) -> Vec<PathBuf> {
    let near_program = program
        .iter()
        .flat_map(|file| file.ancestors().skip(1).take(3))
        .map(|folder| folder.join("ptx"));
    let above = working
        .iter()
        .flat_map(|folder| folder.ancestors())
        .map(|folder| folder.join("target").join("ptx"));
    near_program.chain(above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_with_ptx_wins_and_architectures_of_their_own_are_skipped() {
        let root = std::env::temp_dir().join(format!("blockwise-ptx-{}", std::process::id()));
        let folder = |name: &str, files: &[&str]| {
            let folder = root.join(name);
            std::fs::create_dir_all(&folder).expect("a temporary folder");
            for file in files {
                let target = file.split('.').nth(1).unwrap_or_default();
                let text = format!(".version 8.0\n.target {target}\n");
                std::fs::write(folder.join(file), text).expect("a temporary file");
            }
            folder
        };
        let folders = [
            PathBuf::from("/absent"),
            folder("other", &["other.sm_90.ptx", "k.sm_90a.ptx", "k.txt"]),
            folder("first", &["k.sm_90.ptx", "k.sm_100.ptx", "k.sm_90a.ptx"]),
            folder("second", &["k.sm_80.ptx"]),
        ];
        let targets = |folders: &[PathBuf]| {
            let mut targets: Vec<_> = found("k", folders).iter().map(|file| file.target).collect();
            targets.sort_unstable();
            targets
        };
        assert_eq!(targets(&folders), [90, 100]);
        assert_eq!(targets(&folders[3..]), [80]);
        std::fs::remove_dir_all(&root).expect("the temporary folder");
    }

    #[test]
    fn folders_near_the_program_come_before_those_above_the_working_directory() {
        let folders = usual_folders(
            Some("/w/target/debug/deps/test".into()),
            Some("/w/sub".into()),
        );
        let expected = [
            "/w/target/debug/deps/ptx",
            "/w/target/debug/ptx",
            "/w/target/ptx",
            "/w/sub/target/ptx",
            "/w/target/ptx",
            "/target/ptx",
        ];
        assert_eq!(folders, expected.map(PathBuf::from));
    }
}
