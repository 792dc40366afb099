use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Larger files are not shown: they are generated.
const LARGEST: u64 = 4 << 20;

/// Where a report's source lines are read from.
///
/// A line table may name files relative to the compiler's working directory. The PTX then has their
/// whole paths elsewhere, in `.file`. Files that are not there are searched for in the working
/// directory and its ancestors, then in the PTX file's folder and its ancestors: a checkout may have
/// been moved. If a file or line is not found, the PTX line is shown instead.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    working: PathBuf,
    ptx: Option<Ptx>,
}

#[derive(Clone, Debug)]
struct Ptx {
    path: PathBuf,
    text: String,
    /// The paths of `.file`.
    files: Vec<String>,
}

impl Sources {
    /// For reports created in the process's working directory.
    pub fn new() -> Self {
        Self::in_folder(&std::env::current_dir().unwrap_or_default())
    }

    /// For reports created in this folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            working: folder.to_owned(),
            ptx: None,
        }
    }

    /// Adds the checked PTX. `path` is its file, or a name for a text without one.
    #[must_use]
    pub fn with_ptx(mut self, path: &Path, text: &str) -> Self {
        self.ptx = Some(Ptx {
            path: path.to_owned(),
            text: text.to_owned(),
            files: files(text),
        });
        self
    }

    /// The name and text of the PTX.
    pub(super) fn ptx(&self) -> Option<(String, &str)> {
        let ptx = self.ptx.as_ref()?;
        Some((self.shown(&ptx.path), &ptx.text))
    }

    /// The path of the PTX.
    pub(super) fn ptx_path(&self) -> Option<&Path> {
        Some(&self.ptx.as_ref()?.path)
    }

    /// The file that a line table names.
    pub fn find(&self, file: &str) -> Option<PathBuf> {
        let file = Path::new(file);
        let files = self.ptx.iter().flat_map(|ptx| &ptx.files);
        let whole = files.map(Path::new).filter(|path| path.ends_with(file));
        let ptx = self.ptx.as_ref().and_then(|ptx| ptx.path.parent());
        let ptx = ptx.map(|folder| self.working.join(folder));
        let folders = self.working.ancestors();
        let folders = folders.chain(ptx.iter().flat_map(|folder| folder.ancestors()));
        // Joining an absolute path leaves it unchanged.
        let below = folders.map(|folder| folder.join(file));
        whole.map(Path::to_owned).chain(below).find(|path| {
            // Not a device, pipe or file in /proc: reading one might never end.
            let metadata = path.metadata();
            metadata.is_ok_and(|data| data.is_file() && (1..=LARGEST).contains(&data.len()))
        })
    }

    /// The text of a file that a line table names, where it is found.
    pub fn text(&self, file: &str) -> Option<String> {
        Self::read(&self.find(file)?)
    }

    /// The text of a file that [`find`](Self::find) found; invalid UTF-8 is replaced.
    pub(super) fn read(path: &Path) -> Option<String> {
        let mut bytes = Vec::new();
        // The file may have grown since.
        let file = File::open(path).ok()?;
        file.take(LARGEST).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A path as reports show it: relative if it is below the working directory.
    pub(super) fn shown(&self, path: &Path) -> String {
        let path = self.below(path).unwrap_or_else(|| path.to_owned());
        path.display().to_string()
    }

    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.working.join(path)
    }

    /// The path relative to the working directory, if it is below it.
    pub(super) fn below(&self, path: &Path) -> Option<PathBuf> {
        let path = self.absolute(path);
        let below = path.strip_prefix(&self.working).ok()?;
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        below.components().all(plain).then(|| below.to_owned())
    }
}

/// The absolute paths of a PTX text's `.file` directives.
fn files(ptx: &str) -> Vec<String> {
    let starts_line = |at: usize| {
        let before = ptx[..at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    };
    let directives = ptx.match_indices(".file").filter(|&(at, _)| starts_line(at));
    let paths = directives.filter_map(|(at, _)| {
        let line = ptx[at..].lines().next()?;
        line.split('"').nth(1)
    });
    let whole = paths.filter(|path| Path::new(path).is_absolute());
    whole.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_file_is_found_by_the_ptxs_own_table() {
        let folder = std::env::temp_dir().join(format!("sources-{}", std::process::id()));
        let file = folder.join("kernels/src/a.rs");
        std::fs::create_dir_all(folder.join("kernels/src")).expect("a folder");
        std::fs::write(&file, "text").expect("a file");
        let ptx = format!(
            "\tret; // .file 3 \"/nowhere/src/a.rs\"\n\t.file\t1 {file:?}\n.file 2 \"b.rs\"\n"
        );
        let sources = Sources::in_folder(Path::new("/nowhere")).with_ptx(Path::new("k"), &ptx);
        assert_eq!(files(&ptx), [file.display().to_string()]);
        assert_eq!(sources.find("src/a.rs"), Some(file.clone()));
        assert_eq!(sources.text("src/a.rs").as_deref(), Some("text"));
        for other in ["c/a.rs", "b.rs", "a"] {
            assert_eq!(sources.find(other), None, "{other}");
        }
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
