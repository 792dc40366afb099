//! `blockwise new`.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use clap::Args;

use crate::source::Source;
use crate::workspace::Workspace;
use crate::write::Changes;
use crate::{
    BUILD_SCRIPT, Error, Given, KERNELS, Outcome, TESTS, exercises, filled, manifest,
    missing_tools, name, quoted, reuse, stub, toolchain,
};

const MANIFEST: &str = "Cargo.toml";

/// Files of every project.
const COMMON: &[(&str, &str)] = &[
    (MANIFEST, include_str!("../template/manifest.toml")),
    ("build.rs", BUILD_SCRIPT),
    (".gitignore", include_str!("../template/.gitignore")),
    (
        ".vscode/settings.json",
        include_str!("../template/.vscode/settings.json"),
    ),
];

/// Files of a project with an example kernel.
const EXAMPLE: &[(&str, &str)] = &[
    ("src/lib.rs", include_str!("../template/src/lib.rs")),
    ("src/kernels.rs", KERNELS),
    ("src/main.rs", include_str!("../template/src/main.rs")),
    ("tests/kernels.rs", TESTS),
    (
        "benches/smooth.rs",
        include_str!("../template/benches/smooth.rs"),
    ),
    ("README.md", include_str!("../template/README.md")),
    (
        ".vscode/launch.json",
        include_str!("../template/.vscode/launch.json"),
    ),
    (
        ".vscode/extensions/blockwise/package.json",
        include_str!("../template/.vscode/extensions/blockwise/package.json"),
    ),
];

/// One of every project with a kernel that builds elsewhere.
const CI: (&str, &str) = (
    ".github/workflows/ci.yml",
    include_str!("../template/.github/workflows/ci.yml"),
);

/// The manifest entry of the example's bench.
const BENCH: &str = "[[bench]]\nname = \"smooth\"\nharness = false\n\n";

/// Makes a project in a folder that is new or empty.
#[derive(Args, Clone, Debug)]
pub struct New {
    /// The project's folder: a new or an empty one
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The package's name; the folder's, when it is not given
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write the book's exercises in place of an example kernel
    #[arg(long)]
    pub exercises: bool,
    /// Make it a member of the workspace that the folder is in: they share what is compiled, so
    /// that the second project builds in seconds. Where the workspace names its members by a pattern
    /// that the folder matches, it becomes one anyway
    #[arg(long)]
    pub member: bool,
    /// Which Blockwise it uses
    #[command(flatten)]
    pub source: Given,
}

impl New {
    /// Creates the project.
    ///
    /// # Errors
    /// A folder that is not empty, a name that no package can have, no Blockwise to use, or a file
    /// that cannot be written: then there is no project either.
    pub fn run(&self) -> Result<Outcome, Error> {
        let folder = plain(&self.folder)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&folder)?,
        };
        name::check(&name).map_err(|reason| {
            Error::new(format!("`{name}` cannot be the package's name: {reason}"))
                .with_hint("give another one: `--name NAME`")
        })?;
        let source = Source::find(&self.source)?;
        refuse_contents(&folder)?;
        let workspace = match self.member {
            true => Some(Workspace::around(&folder, &source)?),
            false => Workspace::naming(&folder, &source)?,
        };
        let is_joined = |manifest: &Path| {
            let joined = workspace.as_ref();
            joined.is_some_and(|it| Some(it.path()) == manifest.canonicalize().ok().as_deref())
        };
        let given = given(&self.folder);
        let mut apart = Workspace::leaving_out(&folder, is_joined)?;
        if let Some(given) = given.filter(|given| *given != folder) {
            apart.extend(Workspace::leaving_out(&given, is_joined)?);
        }
        let mut changes = Changes::of(&folder)?;
        let mut files = Vec::new();
        let mut create = |file: &str, text: &str| {
            files.push(folder.join(file));
            changes.create(&folder.join(file), text)
        };
        for (file, template) in COMMON.iter().chain(self.own_files()) {
            let mut text = filled(template, &name, &source);
            if self.exercises {
                text = text.replace(BENCH, "");
            }
            if *file == MANIFEST && workspace.is_some() {
                text = manifest::of_member(&text).map_err(Error::new)?;
            } else if *file == MANIFEST && !source.has_patch() {
                text = manifest::without_patch(&text).map_err(Error::new)?;
            }
            create(file, &text)?;
        }
        if !self.exercises && source.folder().is_none() {
            create(CI.0, &filled(CI.1, &name, &source))?;
        }
        let mut note = None;
        if workspace.is_none() {
            let (pin, reason) = toolchain::pin(&source.toolchain());
            note = reason;
            for (file, text) in [
                ("rust-toolchain.toml", pin),
                ("Cargo.lock", source.lock_file()),
            ] {
                if !text.is_empty() {
                    create(file, &text)?;
                }
            }
        }
        for workspace in workspace.iter().chain(&apart) {
            files.push(workspace.path().to_owned());
            workspace.write(&mut changes)?;
        }
        if !source.has_patch() {
            let root = workspace
                .as_ref()
                .and_then(|workspace| workspace.path().parent());
            for file in stub::files(root.unwrap_or(&folder))? {
                file.write(&mut changes)?;
                files.push(file.path);
            }
        }
        changes.finish()?;
        // A workspace already shares what is compiled.
        let list = source.projects().filter(|_| workspace.is_none());
        let earlier = list.and_then(|list| reuse::dependencies(&list, source.folder(), &folder));
        let takes = match &earlier {
            Some(earlier) => format!(
                "it has the dependencies that {} compiled",
                earlier.display()
            ),
            None => "the first build takes minutes".to_owned(),
        };
        let shown = self.folder.display();
        let mut text = format!("{shown}: package `{name}`, with ");
        text += if self.exercises {
            "the book's exercises and their tests"
        } else {
            "a kernel, its test and its bench"
        };
        text += &format!("\n{}", source.describe());
        if let Some(workspace) = &workspace {
            let root = workspace.path().display();
            text += &format!("\nit is a member of the workspace of {root}");
        }
        for workspace in &apart {
            let root = workspace.path().display();
            text +=
                &format!("\nthe workspace of {root} leaves it out, which its pattern would break");
        }
        text.extend(note.map(|note| format!("\n{note}")));
        let place = quoted(&shown.to_string());
        text += &format!("\n\n  cd {place}\n  ");
        text += &if self.exercises {
            format!(
                "cargo test --test e01_threads     the first one, under the emulator's detectors; {takes}\n  \
                 cargo test --no-fail-fast         all of them\n\nREADME.md lists them"
            )
        } else {
            format!(
                "cargo test     the kernel under the emulator's detectors, and on the GPU if there is one; {takes}\n  \
                 cargo run      on the GPU, else on the emulator\n  cargo bench    its times"
            )
        };
        text.extend(missing_tools());
        Ok(Outcome {
            text,
            folder,
            package: name,
            blockwise: source.to_string(),
            files,
        })
    }

    /// Files that only such a project has.
    fn own_files(&self) -> &'static [(&'static str, &'static str)] {
        if self.exercises {
            exercises::FILES
        } else {
            EXAMPLE
        }
    }
}

/// The absolute path without links and `..`, in which workspaces are looked for.
fn plain(folder: &Path) -> Result<PathBuf, Error> {
    let cannot_find = |error| Error::io("cannot find", folder, error);
    let absolute = std::path::absolute(folder).map_err(cannot_find)?;
    for there in absolute.ancestors() {
        if let (Ok(plain), Ok(rest)) = (there.canonicalize(), absolute.strip_prefix(there)) {
            // `..` of a folder that does not exist is nowhere.
            let rest = rest.components();
            let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
            if !rest.clone().all(|part| is_name(&part)) {
                break;
            }
            return Ok(match rest.as_path() {
                rest if rest.as_os_str().is_empty() => plain,
                rest => plain.join(rest),
            });
        }
    }
    Err(Error::new(format!(
        "{} is no place for a folder",
        folder.display()
    )))
}

/// The absolute path by the links that lead there, as the shell shows it; `None` if it has a `..`,
/// which means something else after a link.
fn given(folder: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let shown = std::env::var_os("PWD").map(PathBuf::from);
    let shown = shown.filter(|shown| shown.canonicalize().ok() == here.canonicalize().ok());
    let given: PathBuf = shown.unwrap_or(here).join(folder).components().collect();
    let has_dots = given.components().any(|part| part == Component::ParentDir);
    (given.is_absolute() && !has_dots).then_some(given)
}

fn name_of(folder: &Path) -> Result<String, Error> {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        Error::new(format!(
            "{} has no name that a package could have",
            folder.display()
        ))
        .with_hint("give one: `--name NAME`")
    })
}

/// Nothing is ever overwritten.
fn refuse_contents(folder: &Path) -> Result<(), Error> {
    let shown = folder.display();
    // A repository that has nothing yet is empty.
    let is_git = |entry: &io::Result<fs::DirEntry>| matches!(entry, Ok(entry) if entry.file_name() == ".git");
    match fs::read_dir(folder).map(|entries| entries.into_iter().all(|it| is_git(&it))) {
        Ok(true) => Ok(()),
        Ok(false) if folder.join(MANIFEST).is_file() => {
            Err(Error::new(format!("{shown} is a project already"))
                .with_hint(format!("`blockwise init {shown}` adds a kernel to it")))
        }
        Ok(false) => Err(Error::new(format!("{shown} is not empty"))
            .with_hint("name a folder that does not exist yet")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("cannot read", folder, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left() {
        let source = Source::Git {
            url: "https://example.org/blockwise".to_owned(),
            at: Some(("rev", "0123abc".to_owned())),
        };
        let files = [COMMON, EXAMPLE, exercises::FILES, &[CI]].concat();
        let checkout = Source::Checkout("/checkout".to_owned());
        for source in [&source, &checkout, &Source::Registry] {
            for (file, template) in &files {
                let text = filled(template, "wave-tool", source);
                for left in ["my-project", "my_project", "CHECKOUT"] {
                    assert!(!text.contains(left), "{file}: {left}");
                }
            }
        }
        let manifest = filled(COMMON[0].1, "wave-tool", &source);
        assert!(
            manifest.contains("links = \"wave_tool_kernels\"") && manifest.contains(BENCH),
            "{manifest}"
        );
    }
}
