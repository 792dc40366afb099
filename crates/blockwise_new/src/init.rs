//! `blockwise init`: adds kernels to an existing project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use toml_edit::{DocumentMut, TomlError};

use crate::from_rust_cuda::FromRustCuda;
use crate::source::Source;
use crate::write::Changes;
use crate::{
    BUILD_SCRIPT, Error, Given, KERNELS, Outcome, TESTS, filled, items, manifest, missing_tools,
    stub,
};

/// Adds a kernel, its build and its test to a package that exists.
///
/// What the package's library holds becomes the host's, and so do its dependencies; nothing else
/// changes in its files.
#[derive(Args, Clone, Debug)]
pub struct Init {
    /// The folder of the package, which must have a library
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Which Blockwise it uses
    #[command(flatten)]
    pub source: Given,
    /// For a project that was written for rust-cuda
    #[command(flatten)]
    pub moving: FromRustCuda,
}

impl Init {
    /// Adds the kernel, completely or not at all.
    ///
    /// # Errors
    /// No package with a library, an existing build script or module `kernels`, no Blockwise to use, or a
    /// file that cannot be written.
    pub fn run(&self) -> Result<Outcome, Error> {
        let source = Source::find(&self.source)?;
        if self.moving.from_rust_cuda {
            return self.moving.run(&self.folder, &source);
        }
        let plan = Plan::of(&self.folder, &source)?;
        let mut changes = Changes::new();
        for (path, text) in &plan.created {
            changes.create(path, text)?;
        }
        for (path, text) in &plan.changed {
            changes.replace(path, text)?;
        }
        changes.finish()?;
        let mut text = plan.changes.join("\n");
        text += &format!("\n\n{}", source.describe());
        text += "\n\ncargo test     runs the new kernel under the emulator's detectors";
        text.extend(missing_tools());
        let files = plan.created.into_iter().chain(plan.changed);
        Ok(Outcome {
            text,
            folder: self.folder.clone(),
            package: plan.package,
            blockwise: source.to_string(),
            files: files.map(|(path, _)| path).collect(),
        })
    }
}

/// The planned changes; nothing is written before all of them are known.
struct Plan {
    /// The package's name.
    package: String,
    /// New contents of existing files.
    changed: Vec<(PathBuf, String)>,
    created: Vec<(PathBuf, String)>,
    /// For the user, one per line.
    changes: Vec<String>,
}

impl Plan {
    fn of(folder: &Path, source: &Source) -> Result<Self, Error> {
        let path = folder.join("Cargo.toml");
        let mut package = read(&path)?;
        let entry = |table: &str, key: &str| {
            let value = package.get(table)?.get(key)?.as_str()?;
            Some(value.to_owned())
        };
        let name = entry("package", "name");
        let name = name.ok_or_else(|| {
            Error::new(format!("{} is no package's manifest", path.display()))
                .with_hint("name the folder of the package that the kernels go into")
        })?;
        let library = folder.join(entry("lib", "path").unwrap_or("src/lib.rs".to_owned()));
        let crate_name = entry("lib", "name").unwrap_or(name.clone());
        refuse_build_script(folder, entry("package", "build"))?;
        let kernels = library.with_file_name("kernels.rs");
        let test = folder.join("tests/kernels.rs");
        for file in [&kernels, &kernels.with_extension("").join("mod.rs")] {
            if file.exists() {
                return Err(Error::new(format!("{} is there already", file.display()))
                    .with_hint("the example kernel would be in its place; move it"));
            }
        }

        if is_of_2015(&package) {
            return Err(
                Error::new(format!("{}: the package has edition 2015", path.display())).with_hint(
                    "kernels need 2018 or newer: `cargo fix --edition`, then `edition = \"2018\"`",
                ),
            );
        }
        let change = |document: &mut DocumentMut, edit: Edit, path: &Path| {
            edit(document, &name, source)
                .map_err(|problem| Error::new(format!("{}: {problem}", path.display())))
        };
        let mut plan = Plan {
            package: name.clone(),
            changed: Vec::new(),
            created: Vec::new(),
            changes: Vec::new(),
        };
        let root = workspace_root(&path)?;
        let mut changes = change(&mut package, manifest::add_kernels, &path)?;
        if same(&root, &path) {
            changes.extend(change(&mut package, add_to_root, &path)?);
        } else {
            let mut document = read(&root)?;
            let changes = change(&mut document, add_to_root, &root)?;
            plan.note(&root, &changes);
            plan.changed.push((root.clone(), document.to_string()));
        }
        plan.note(&path, &changes);
        plan.changed.push((path, package.to_string()));

        if !source.has_patch() {
            let root = root.parent().unwrap_or(folder);
            for file in stub::files(root)? {
                if file.is_there {
                    let change = "[env] CUDA_LIBRARY_PATH: GPUs are used without a CUDA toolkit";
                    plan.note(&file.path, &[change.to_owned()]);
                    plan.changed.push((file.path, file.text));
                } else {
                    plan.create(file.path, file.text);
                }
            }
        }
        plan.edit_library(&library)?;
        plan.create(folder.join("build.rs"), BUILD_SCRIPT.to_owned());
        plan.create(kernels, KERNELS.to_owned());
        if !test.exists() {
            plan.create(test, filled(TESTS, &crate_name, source));
        }
        Ok(plan)
    }

    fn edit_library(&mut self, path: &Path) -> Result<(), Error> {
        let text = fs::read_to_string(path).map_err(|error| {
            Error::io("cannot read", path, error)
                .with_hint("kernels belong to a library: the device's build has no `main`")
        })?;
        let Some((changed, host_only)) = items::with_kernels(&text) else {
            self.changes.push(format!(
                "{}: not changed, add by hand\n  #![cfg_attr(target_arch = \"nvptx64\", no_std)]\n  pub mod kernels;\n  \
                 cuda_std::embedded_kernels!();\n  and #[cfg(not(target_arch = \"nvptx64\"))] in front of every other item",
                path.display()
            ));
            return Ok(());
        };
        let mut changes = vec![
            "#![cfg_attr(target_arch = \"nvptx64\", no_std)]".to_owned(),
            "pub mod kernels;".to_owned(),
            "cuda_std::embedded_kernels!();".to_owned(),
        ];
        if host_only > 0 {
            changes.push(format!(
                "#[cfg(not(target_arch = \"nvptx64\"))] in front of what was there, {host_only} times: it is for the host"
            ));
        }
        self.note(path, &changes);
        self.changed.push((path.to_owned(), changed));
        Ok(())
    }

    fn create(&mut self, path: PathBuf, text: String) {
        self.changes.push(format!("{}: new", path.display()));
        self.created.push((path, text));
    }

    fn note(&mut self, path: &Path, changes: &[String]) {
        if !changes.is_empty() {
            let lines: String = changes
                .iter()
                .map(|change| format!("\n  {change}"))
                .collect();
            self.changes.push(format!("{}:{lines}", path.display()));
        }
    }
}

type Edit = fn(&mut DocumentMut, &str, &Source) -> Result<Vec<String>, String>;

fn add_to_root(
    document: &mut DocumentMut,
    _: &str,
    source: &Source,
) -> Result<Vec<String>, String> {
    manifest::add_to_root(document, source)
}

fn read(path: &Path) -> Result<DocumentMut, Error> {
    let text = fs::read_to_string(path).map_err(|error| {
        Error::io("cannot read", path, error).with_hint("`blockwise new DIR` makes a project")
    })?;
    (text.parse()).map_err(|error: TomlError| Error::toml(path, &text, &error))
}

/// Also without a word about it; a workspace's edition is not looked up.
fn is_of_2015(package: &DocumentMut) -> bool {
    let edition = package
        .get("package")
        .and_then(|table| table.get("edition"));
    edition.is_none_or(|edition| edition.as_str() == Some("2015"))
}

/// A program cannot merge one build script into another.
fn refuse_build_script(folder: &Path, named: Option<String>) -> Result<(), Error> {
    let script = folder.join(named.as_deref().unwrap_or("build.rs"));
    if named.is_none() && !script.exists() {
        return Ok(());
    }
    Err(Error::new(format!("{} is there already", script.display())).with_hint(
        "add to it `cuda_builder::embed().finish();`, to Cargo.toml `[build-dependencies] cuda_builder`, `[dependencies] cuda_std` and, \
         for the host, `blockwise`, to the library `cuda_std::embedded_kernels!();` as in a project that `blockwise new` makes. \
         `links` only if the script does nothing for the device",
    ))
}

/// The manifest of the package's workspace, or its own if it is in none.
fn workspace_root(manifest: &Path) -> Result<PathBuf, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "locate-project",
            "--workspace",
            "--message-format=plain",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .map_err(|error| Error::new(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let line = message.lines().next().unwrap_or_default();
        return Err(
            Error::new(line.trim_start_matches("error: ")).with_hint("`cargo metadata` says more")
        );
    }
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}

fn same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok() == other.canonicalize().ok()
}
