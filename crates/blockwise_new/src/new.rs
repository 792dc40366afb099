//! `blockwise new`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::checkout::Checkout;
use crate::workspace::Workspace;
use crate::{
    BUILD_SCRIPT, Error, KERNELS, Outcome, TESTS, create, exercises, filled, manifest,
    missing_tools, name, reuse,
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
    (
        ".github/workflows/ci.yml",
        include_str!("../template/.github/workflows/ci.yml"),
    ),
];

/// The manifest entry of the example's bench.
const BENCH: &str = "[[bench]]\nname = \"smooth\"\nharness = false\n\n";

/// Files of the checkout that a project copies: the compiler and the versions that Blockwise is
/// tested with. Cargo removes from the lock file what the project does not need.
const COPIED: [&str; 2] = ["rust-toolchain.toml", "Cargo.lock"];

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
    /// that the second project builds in seconds
    #[arg(long)]
    pub member: bool,
    /// The Blockwise checkout that the project uses; the one that this program was built from, when
    /// it is not given
    #[arg(long, value_name = "CHECKOUT")]
    pub source: Option<PathBuf>,
}

impl New {
    /// Creates the project.
    ///
    /// # Errors
    /// A folder that is not empty, a name that no package can have, no checkout, or a file that
    /// cannot be written.
    pub fn run(&self) -> Result<Outcome, Error> {
        let folder = std::path::absolute(&self.folder)
            .map_err(|error| Error::io("cannot find", &self.folder, error))?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name_of(&folder)?,
        };
        name::check(&name).map_err(|reason| {
            Error::new(format!("`{name}` cannot be the package's name: {reason}"))
                .with_hint("give another one: `--name NAME`")
        })?;
        let checkout = Checkout::find(self.source.as_deref())?;
        refuse_contents(&folder)?;
        let workspace = match self.member {
            true => Some(Workspace::around(&folder, &checkout)?),
            false => None,
        };
        let mut files = Vec::new();
        for (file, template) in COMMON.iter().chain(self.own_files()) {
            let mut text = filled(template, &name, &checkout);
            if self.exercises {
                text = text.replace(BENCH, "");
            }
            if *file == MANIFEST && self.member {
                text = manifest::of_member(&text).map_err(Error::new)?;
            }
            files.push(folder.join(file));
            create(&folder.join(file), &text)?;
        }
        let copied = if self.member { &[][..] } else { &COPIED };
        for file in copied {
            // A checkout may lack them; then cargo chooses.
            if let Ok(text) = fs::read_to_string(Path::new(checkout.path()).join(file)) {
                files.push(folder.join(file));
                create(&folder.join(file), &text)?;
            }
        }
        if let Some(workspace) = workspace {
            files.push(workspace.write()?);
        }
        // A workspace already shares what is compiled.
        let earlier = match self.member {
            true => None,
            false => reuse::dependencies(Path::new(checkout.path()), &folder),
        };
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
        text += &format!("\n\n  cd {shown}\n  ");
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
            blockwise: checkout.path().into(),
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
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) if folder.join(MANIFEST).is_file() => {
            Err(Error::new(format!("{shown} is a project already"))
                .with_hint(format!("`blockwise init {shown}` adds a kernel to it")))
        }
        Ok(false) => Err(Error::new(format!("{shown} is not empty"))
            .with_hint("name a folder that does not exist yet")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("cannot read", folder, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left() {
        let checkout = Checkout::find(None).unwrap();
        let files = [COMMON, EXAMPLE, exercises::FILES].concat();
        for (file, template) in files {
            let text = filled(template, "wave-tool", &checkout);
            for left in ["my-project", "my_project", "CHECKOUT"] {
                assert!(!text.contains(left), "{file}: {left}");
            }
        }
        let manifest = filled(COMMON[0].1, "wave-tool", &checkout);
        assert!(
            manifest.contains("links = \"wave_tool_kernels\"") && manifest.contains(BENCH),
            "{manifest}"
        );
    }
}
