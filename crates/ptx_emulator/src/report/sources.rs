use crate::source::is_library;
use std::collections::HashMap;
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
    /// What paths are shown relative to, if it is not the working directory.
    root: Option<PathBuf>,
    ptx: Option<Ptx>,
}

#[derive(Clone, Debug)]
struct Ptx {
    path: PathBuf,
    text: String,
    files: Files,
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
            files: Files::of(text),
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
        let whole = self.ptx.iter().flat_map(|ptx| ptx.files.whole(file));
        let ptx = self.ptx.as_ref().and_then(|ptx| ptx.path.parent());
        let ptx = ptx.map(|folder| self.working.join(folder));
        let folders = self.working.ancestors();
        let folders = folders.chain(ptx.iter().flat_map(|folder| folder.ancestors()));
        // Joining an absolute path leaves it unchanged.
        let below = folders.map(|folder| folder.join(file));
        whole.map(PathBuf::from).chain(below).find(|path| {
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

/// The files of a PTX text: the absolute paths of `.file`, and the names in the comments of `.loc`.
#[derive(Clone, Debug, Default)]
struct Files {
    paths: Vec<String>,
    /// Which path a name stands for, where a `.loc` has both.
    named: HashMap<String, String>,
}

impl Files {
    fn of(ptx: &str) -> Self {
        let directives = |word: &'static str| {
            let starts_line = move |at: usize| {
                let before = ptx[..at].trim_end_matches([' ', '\t']);
                before.is_empty() || before.ends_with('\n')
            };
            let found = ptx
                .match_indices(word)
                .filter(move |&(at, _)| starts_line(at));
            found.filter_map(move |(at, _)| ptx[at + word.len()..].lines().next())
        };
        let files = directives(".file").filter_map(|line| {
            let (number, rest) = line.split_once('"')?;
            Some((number.trim(), rest.split('"').next()?))
        });
        let numbered: HashMap<&str, &str> = files
            .filter(|(_, path)| Path::new(path).is_absolute())
            .collect();
        let mut named: HashMap<String, String> = HashMap::new();
        for line in directives(".loc") {
            let Some((place, comment)) = line.split_once("//") else {
                continue;
            };
            let number = place.split_whitespace().next().unwrap_or_default();
            // `// a.rs:1:2 @[ b.rs:3:4 ]`, or `// 3=a.rs:1:2 @ b.rs:3:4`
            let innermost = comment.split(" @").next().unwrap_or_default().trim();
            let innermost = innermost
                .split_once('=')
                .map_or(innermost, |(_, place)| place);
            let name = innermost.rsplitn(3, ':').nth(2).unwrap_or_default();
            if let Some(path) = numbered.get(number).filter(|_| !named.contains_key(name))
                && Path::new(path).ends_with(name)
            {
                named.insert(name.to_owned(), (*path).to_owned());
            }
        }
        let mut paths: Vec<String> = numbered.into_values().map(str::to_owned).collect();
        // Names such as `src/lib.rs` are the user's, where both have one.
        paths.sort_by_key(|path| (is_library(path), path.clone()));
        Self { paths, named }
    }

    /// The paths that a name may stand for.
    fn whole<'a>(&'a self, file: &'a Path) -> impl Iterator<Item = &'a String> {
        let known = file.to_str().and_then(|name| self.named.get(name));
        let others = self
            .paths
            .iter()
            .filter(move |path| Path::new(path).ends_with(file));
        known.into_iter().chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_file_is_found_by_the_ptxs_own_table() {
        let folder = std::env::temp_dir().join(format!("sources-{}", std::process::id()));
        let path = |name: &str| folder.join(name).display().to_string();
        let names = [
            "cuda_std/src/lib.rs",
            "zebra/src/lib.rs",
            "ape/src/lib.rs",
            "ape/src/b.rs",
        ];
        let mut ptx = String::from("\tret; // .file 9 \"/nowhere/src/a.rs\"\n.file 8 \"c.rs\"\n");
        for (name, number) in names.into_iter().zip(1..) {
            std::fs::create_dir_all(folder.join(name).parent().expect("a folder")).expect("made");
            std::fs::write(folder.join(name), name).expect("a file");
            ptx += &format!("\t.file\t{number} {:?}\n", path(name));
        }
        let sources = |locs: &str| {
            let ptx = format!("{ptx}{locs}");
            Sources::in_folder(Path::new("/nowhere")).with_ptx(Path::new("k"), &ptx)
        };
        let bare = sources("");
        assert_eq!(bare.text("src/b.rs").as_deref(), Some("ape/src/b.rs"));
        assert_eq!(bare.text(&path(names[1])).as_deref(), Some(names[1]));
        for other in ["c/b.rs", "c.rs", "a.rs", "s.rs", "/nowhere/src/a.rs"] {
            assert_eq!(bare.find(other), None, "{other}");
        }
        // Of files with the same name, the user's; and the one that the table itself names so.
        assert_eq!(bare.text("src/lib.rs").as_deref(), Some("ape/src/lib.rs"));
        for locs in [
            "\t.loc\t2 7 3 // src/lib.rs:7:3 @[ b.rs:1:1 ]\n",
            "\t.loc\t4 7 3 // 1=src/b.rs:7:3 @ 2=src/lib.rs:9:1\n.loc 2 9 1 // 2=src/lib.rs:9:1\n",
        ] {
            let text = sources(locs).text("src/lib.rs");
            assert_eq!(text.as_deref(), Some("zebra/src/lib.rs"), "{locs}");
        }
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
