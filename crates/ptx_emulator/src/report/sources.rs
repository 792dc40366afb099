use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Larger files are not shown: they are generated.
const LARGEST: u64 = 4 << 20;

/// Where a report's source lines are read from.
///
/// A line table may name files relative to the compiler's working directory. They are searched for
/// in the working directory and its ancestors, then in the PTX file's folder and its ancestors, so
/// reports made in a crate's folder or a `target` folder find the files of the workspace. If a file
/// or line is not found, the PTX line is shown instead.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    working: PathBuf,
    /// What paths are shown relative to, if it is not the working directory.
    root: Option<PathBuf>,
    ptx: Option<Ptx>,
}

#[derive(Clone, Debug)]
struct Ptx {
    path: PathBuf,
    text: String,
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
            root: None,
            ptx: None,
        }
    }

    /// Shows paths relative to this folder instead, such as the repository's.
    #[must_use]
    pub fn relative_to(mut self, root: &Path) -> Self {
        self.root = Some(root.to_owned());
        self
    }

    /// Adds the checked PTX. `path` is its file, or a name for a text without one.
    #[must_use]
    pub fn with_ptx(mut self, path: &Path, text: &str) -> Self {
        self.ptx = Some(Ptx {
            path: path.to_owned(),
            text: text.to_owned(),
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
    pub(super) fn find(&self, file: &str) -> Option<PathBuf> {
        let file = Path::new(file);
        let ptx = self.ptx.as_ref().and_then(|ptx| ptx.path.parent());
        let ptx = ptx.map(|folder| self.working.join(folder));
        let folders = self.working.ancestors();
        let folders = folders.chain(ptx.iter().flat_map(|folder| folder.ancestors()));
        // Joining an absolute path leaves it unchanged.
        folders.map(|folder| folder.join(file)).find(|path| {
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

    /// The path relative to the folder of [`relative_to`](Self::relative_to) or else the working
    /// directory, if it is below it.
    pub(super) fn below(&self, path: &Path) -> Option<PathBuf> {
        let path = self.absolute(path);
        let below = path
            .strip_prefix(self.root.as_ref().unwrap_or(&self.working))
            .ok()?;
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        below.components().all(plain).then(|| below.to_owned())
    }
}
