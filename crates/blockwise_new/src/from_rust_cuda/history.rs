//! Whether git can undo a change.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// The repository that the folder is in.
pub(super) fn repository(folder: &Path) -> Option<PathBuf> {
    let output = git(folder, ["rev-parse", "--show-toplevel"])?;
    Some(PathBuf::from(output.trim_end_matches(['\r', '\n'])))
}

/// Refuses if the files are not in git exactly as they are. A lock file that git ignores is
/// excepted: the next build would change it anyway.
pub(super) fn refuse_unsaved(folder: &Path, files: &[&Path]) -> Result<(), Error> {
    let hint = "the diff that is printed without `--apply` is also what `patch -p1` reads";
    if repository(folder).is_none() {
        let message = format!(
            "{} is not in a git repository, so nothing could undo the changes",
            folder.display()
        );
        return Err(Error::new(message).with_hint(format!(
            "`git init`, `git add` and `git commit` it first; {hint}"
        )));
    }
    let status = |files: &[&Path]| {
        let arguments = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--ignored",
            "--",
        ];
        // Git follows no links, writing does.
        let files = files.iter().map(|file| {
            let real = file.canonicalize();
            real.unwrap_or_else(|_| file.to_path_buf()).into_os_string()
        });
        let arguments = arguments.map(OsString::from).into_iter();
        git(folder, arguments.chain(files))
    };
    let is_saved = |file: &Path| {
        let is_lock = file.file_name() == Some(OsStr::new("Cargo.lock"));
        status(&[file])
            .is_some_and(|status| status.is_empty() || (is_lock && status.starts_with("!!")))
    };
    if status(files).is_some_and(|status| status.is_empty()) {
        return Ok(());
    }
    let unsaved = files.iter().filter(|file| !is_saved(file));
    let unsaved: Vec<_> = unsaved.map(|file| file.display().to_string()).collect();
    if unsaved.is_empty() {
        return Ok(());
    }
    let message = format!(
        "git could not undo the changes; not committed: {}",
        unsaved.join(", ")
    );
    Err(Error::new(message).with_hint(format!("commit or stash them first; {hint}")))
}

/// What git prints; `None` if it fails or is not installed.
fn git(folder: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Option<String> {
    let mut git = Command::new("git");
    // Set by hooks, they would choose another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    let output = git.arg("-C").arg(folder).args(arguments).output().ok()?;
    (output.status.success()).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
