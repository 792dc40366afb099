//! `blockwise new`: a project of one's own, with a kernel, its launch, a test and a bench.

mod checkout;
mod init;
mod items;
mod manifest;
mod name;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use cuda_builder::tools::Toolchain;
use serde_json::json;

use super::failure::Failure;
use super::report::Report;
use checkout::Checkout;
pub(super) use init::{Arguments as InitArguments, run as init};

#[derive(Args)]
pub(super) struct Arguments {
    /// The project's folder: a new or an empty one
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The package's name; the folder's, when it is not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The Blockwise checkout that the project uses; the one that this command was built from, when it is not given
    #[arg(long, value_name = "CHECKOUT")]
    source: Option<PathBuf>,
}

/// The project's files, with `my-project`, `my_project` and `CHECKOUT` for what differs.
const FILES: [(&str, &str); 13] = [
    ("Cargo.toml", include_str!("../../../template/Cargo.toml")),
    ("build.rs", BUILD_SCRIPT),
    ("src/lib.rs", include_str!("../../../template/src/lib.rs")),
    ("src/kernels.rs", KERNELS),
    ("src/main.rs", include_str!("../../../template/src/main.rs")),
    ("tests/kernels.rs", TESTS),
    (
        "benches/smooth.rs",
        include_str!("../../../template/benches/smooth.rs"),
    ),
    ("README.md", include_str!("../../../template/README.md")),
    (".gitignore", include_str!("../../../template/.gitignore")),
    (
        ".vscode/settings.json",
        include_str!("../../../template/.vscode/settings.json"),
    ),
    (
        ".github/workflows/ci.yml",
        include_str!("../../../template/.github/workflows/ci.yml"),
    ),
    // The compiler and the versions that Blockwise itself is tested with. Cargo drops what the project does not need.
    (
        "rust-toolchain.toml",
        include_str!("../../../../rust-toolchain.toml"),
    ),
    ("Cargo.lock", include_str!("../../../../Cargo.lock")),
];
const BUILD_SCRIPT: &str = include_str!("../../../template/build.rs");
const KERNELS: &str = include_str!("../../../template/src/kernels.rs");
const TESTS: &str = include_str!("../../../template/tests/kernels.rs");

pub(super) fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let folder = std::path::absolute(&arguments.folder)
        .map_err(|error| Failure::new(format!("{}: {error}", arguments.folder.display())))?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => name_of(&folder)?,
    };
    name::check(&name).map_err(|reason| {
        Failure::new(format!("`{name}` cannot be the package's name: {reason}"))
            .hint("give another one: `--name NAME`")
    })?;
    let checkout = Checkout::find(arguments.source.as_deref())?;
    refuse_contents(&folder)?;
    for (file, template) in FILES {
        create(&folder.join(file), &filled(template, &name, &checkout))?;
    }
    let shown = arguments.folder.display();
    let mut text = format!(
        "{shown}: package `{name}`, with a kernel, its test and its bench\n\n  cd {shown}\n  \
         cargo test     the kernel under the emulator's detectors, and on the GPU if there is one (the first build takes minutes)\n  \
         cargo run      on the GPU, else on the emulator\n  cargo bench    its times"
    );
    text.extend(missing_tools());
    let files: Vec<_> = FILES.iter().map(|(file, _)| file).collect();
    Ok(Report::new(
        text,
        json!({ "folder": folder, "package": name, "blockwise": checkout.path(), "files": files }),
    ))
}

fn name_of(folder: &Path) -> Result<String, Failure> {
    folder
        .file_name()
        .and_then(|name| name.to_str())
        .map(str::to_owned)
        .ok_or_else(|| {
            Failure::new(format!(
                "{} has no name that a package could have",
                folder.display()
            ))
            .hint("give one: `--name NAME`")
        })
}

/// Nothing is ever overwritten: the folder is new or empty.
fn refuse_contents(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) if folder.join("Cargo.toml").is_file() => {
            Err(Failure::new(format!("{shown} is a project already"))
                .hint(format!("`blockwise init {shown}` adds kernels to it")))
        }
        Ok(false) => Err(Failure::new(format!("{shown} is not empty"))
            .hint("name a folder that does not exist yet")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::new(format!("{shown}: {error}"))),
    }
}

/// A template with the names in their places.
fn filled(template: &str, name: &str, checkout: &Checkout) -> String {
    template
        .replace("my-project", name)
        .replace("my_project", &name::in_code(name))
        .replace("CHECKOUT", checkout.path())
}

/// Writes a file that is not there yet.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let result = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::File::create_new(path))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    result.map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// What the machine lacks to compile kernels, with the commands that install it.
fn missing_tools() -> Option<String> {
    let error = Toolchain::find().err()?;
    Some(format!("\n\nbefore the first build: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left() {
        let checkout = Checkout::find(None).unwrap();
        for (file, template) in FILES {
            let text = filled(template, "wave-tool", &checkout);
            for left in ["my-project", "my_project", "CHECKOUT"] {
                assert!(!text.contains(left), "{file}: {left}");
            }
        }
        let manifest = filled(FILES[0].1, "wave-tool", &checkout);
        assert!(
            manifest.contains("links = \"wave_tool_kernels\""),
            "{manifest}"
        );
    }
}
