//! `cargo xtask package`: the packages that a release uploads, and a project that has nothing else.
//!
//! Packs every package that may be published, unpacks them beside what they need from crates.io, and
//! tells cargo to take that folder for crates.io. There it installs the command, lets it make a
//! project, and runs the project's tests: whatever a package lacks shows as it would for a user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{setup, workspace};

/// The command's package, which needs all others.
const COMMAND: &str = "blockwise_cli";

/// Settings of the registry's users, for cargo in every folder below this one. Two packages are
/// optimised, as in the workspace: the command's build has kernels to compile, and tests run them.
const CONFIG: &str = "[source.crates-io]\nreplace-with = \"packages\"\n\
    [source.packages]\ndirectory = \"registry\"\n\
    [net]\noffline = true\n\
    [profile.dev]\ndebug = false\n\
    [profile.dev.package.blockwise_builder]\nopt-level = 1\n\
    [profile.dev.package.ptx_emulator]\nopt-level = 2\ncodegen-units = 16\n";

/// A package of this workspace.
struct Package {
    name: String,
    version: String,
}

impl Package {
    /// Its folder in the registry, and the stem of its file.
    fn stem(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

pub(crate) fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    let target = workspace::target()?;
    // Cargo never takes what is below `target/package` for members of a workspace above it.
    let place = target.join("package");
    let packages = published(&metadata()?);
    let (registry, home) = (place.join("registry"), place.join("installed"));
    for folder in [&registry, &home, &place.join("demo")] {
        remove(folder)?;
    }

    say!("== {} packages", packages.len());
    pack(&packages)?;
    fs::create_dir_all(&registry)?;
    for package in &packages {
        let file = place.join(package.stem()).with_added_extension("crate");
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&file).arg("-C").arg(&registry);
        workspace::check(&mut tar)?;
    }
    vendor(&place, &packages)?;
    write(&place.join(".cargo/config.toml"), CONFIG)?;

    say!("== the command, from its package");
    let build = place.join("build");
    let install = |features: &[&str]| {
        let mut cargo = user(&place, &build);
        // For `install`, cargo reads the settings of no folder.
        cargo.arg("--config").arg(place.join(".cargo/config.toml"));
        cargo.args(["install", COMMAND, "--debug", "--force", "--root"]);
        cargo.arg(&home).args(features);
        cargo
    };
    workspace::check(&mut install(&[]))?;

    say!("== a project of it");
    let program = home.join("bin/blockwise");
    workspace::check(
        Command::new(program)
            .args(["new", "demo"])
            .current_dir(&place),
    )?;
    tests_pass(&mut user(&place.join("demo"), &build))?;

    say!("== the command with its tools");
    let toolkit = place.join("demo/.cargo/no-cuda-toolkit");
    let mut whole = install(&["--features", "tools"]);
    workspace::check(whole.env("CUDA_LIBRARY_PATH", toolkit))?;
    let program = home.join("bin/blockwise");
    workspace::check(Command::new(program).args(["demo", "shared", "--device", "emulator"]))?;
    say!("the packages are in {}", place.display());
    Ok(ExitCode::SUCCESS)
}

/// Runs the project's tests, and sees them run.
fn tests_pass(cargo: &mut Command) -> Result<()> {
    let output = cargo.arg("test").stderr(Stdio::inherit()).output();
    let output = output.context("cannot run cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    say!("{}", text.trim_end());
    ensure!(output.status.success(), "its tests fail: {}", output.status);
    let ran = "test smooth_is_right_and_clean ... ok";
    ensure!(text.contains(ran), "its tests do not contain `{ran}`");
    Ok(())
}

/// Cargo as a user of the registry has it: without this program's variables.
fn user(folder: &Path, build: &Path) -> Command {
    let mut command = workspace::cargo();
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CUDA_") {
            command.env_remove(&*name);
        }
    }
    command.current_dir(folder).env("CARGO_TARGET_DIR", build);
    command
}

fn metadata() -> Result<Value> {
    let output = workspace::cargo()
        .args(["metadata", "--no-deps", "--locked", "--format-version=1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", output.status);
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
}

/// The packages whose manifests do not say `publish = false`.
fn published(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published = packages.filter(|package| package["publish"].is_null());
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        version: text(&package["version"]),
    };
    published.map(package).collect()
}

/// Packs them together: each finds the others, though no registry has them yet.
fn pack(packages: &[Package]) -> Result<()> {
    let mut cargo = workspace::cargo();
    // The last step builds them.
    cargo.args([
        "package",
        "--quiet",
        "--no-verify",
        "--allow-dirty",
        "--locked",
    ]);
    for package in packages {
        cargo.args(["--package", &package.name]);
    }
    workspace::check(&mut cargo)
}

/// Copies into the registry what the packages need from crates.io, in the versions of this
/// workspace's lock file, and makes packages of a registry of ours.
fn vendor(place: &Path, packages: &[Package]) -> Result<()> {
    let folder = place.join("vendor");
    let mut manifest =
        "[package]\nname = \"vendor\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n"
            .to_owned();
    for Package { name, version } in packages {
        // Everything that users may ask for.
        let features = if name == COMMAND { "\"tools\"" } else { "" };
        manifest += &format!("{name} = {{ version = \"={version}\", features = [{features}] }}\n");
    }
    manifest += "[patch.crates-io]\n";
    for package in packages {
        manifest += &format!(
            "{} = {{ path = \"../registry/{}\" }}\n",
            package.name,
            package.stem()
        );
    }
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    let lock = workspace::root().join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).with_context(|| format!("{}", lock.display()))?;
    // These settings are for users; cargo is to ask crates.io here.
    remove(&place.join(".cargo"))?;
    let mut cargo = workspace::cargo();
    cargo.args([
        "vendor",
        "--quiet",
        "--versioned-dirs",
        "--no-delete",
        "../registry",
    ]);
    workspace::check(cargo.current_dir(&folder).stdout(Stdio::null()))?;
    for package in packages {
        // Lock files inside packages have it.
        let file = place.join(package.stem()).with_added_extension("crate");
        let output = Command::new("sha256sum").arg(&file).output()?;
        let sum = String::from_utf8_lossy(&output.stdout);
        let sum = sum.split(' ').next().filter(|sum| sum.len() == 64);
        let sum = sum.with_context(|| format!("no checksum of {}", file.display()))?;
        let folder = place.join("registry").join(package.stem());
        let text = json!({ "files": {}, "package": sum }).to_string();
        write(&folder.join(".cargo-checksum.json"), &text)?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<()> {
    let written = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(file, text));
    written.with_context(|| format!("{}", file.display()))
}

/// Removes a folder, if it is there.
fn remove(folder: &PathBuf) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            bail!("{}: {error}", folder.display())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A published package needs nothing that is not, and says which version it needs: without, cargo
    /// would pack none of them.
    #[test]
    fn what_is_published_needs_published_packages_by_their_versions() {
        let metadata = metadata().unwrap();
        let versions: BTreeMap<_, _> = (published(&metadata).into_iter())
            .map(|package| (package.name, package.version))
            .collect();
        let expected = [
            "blockwise",
            "blockwise_builder",
            "blockwise_cli",
            "blockwise_std",
        ];
        assert!(
            expected.iter().all(|name| versions.contains_key(*name)),
            "{versions:?}"
        );
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            if !versions.contains_key(name) {
                continue;
            }
            for needed in package["dependencies"].as_array().unwrap() {
                let other = needed["name"].as_str().unwrap();
                // Cargo leaves out a dev-dependency without a version.
                let is_left_out = needed["kind"] == "dev" && needed["req"] == "*";
                if needed["path"].is_null() || is_left_out {
                    continue;
                }
                let version = versions.get(other);
                let version = version
                    .unwrap_or_else(|| panic!("{name} needs {other}, which is not published"));
                assert_eq!(needed["req"], format!("^{version}"), "{name} needs {other}");
            }
            for key in ["description", "license", "rust_version"] {
                assert!(package[key].is_string(), "{name} has no {key}");
            }
        }
    }

    /// Cargo leaves out of a package what is in a folder with a manifest of its own, and what is
    /// outside of it.
    #[test]
    fn included_files_are_in_the_package() {
        let metadata = metadata().unwrap();
        let names: Vec<_> = published(&metadata)
            .into_iter()
            .map(|package| package.name)
            .collect();
        let mut count = 0;
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            if !names.iter().any(|published| published == name) {
                continue;
            }
            let folder = Path::new(package["manifest_path"].as_str().unwrap())
                .parent()
                .unwrap();
            for source in sources(&folder.join("src")) {
                let text = fs::read_to_string(&source).unwrap();
                // What unit tests include is for this repository.
                let text = text.split("#[cfg(test)]").next().unwrap();
                for included in included(text) {
                    let file = source.parent().unwrap().join(included);
                    let file = file.canonicalize().unwrap_or(file);
                    let shown = format!("{}: {included}", source.display());
                    let inside = file.strip_prefix(folder);
                    let inside = inside.unwrap_or_else(|_| panic!("{shown} is outside of {name}"));
                    let between = inside
                        .ancestors()
                        .skip(1)
                        .filter(|parent| *parent != Path::new(""));
                    for parent in between {
                        let manifest = folder.join(parent).join("Cargo.toml");
                        assert!(
                            !manifest.exists(),
                            "{shown} is in another package: {}",
                            manifest.display()
                        );
                    }
                    count += 1;
                }
            }
        }
        assert!(count > 20, "{count}");
        assert_eq!(
            included("a!(include_str!(\"../b\"), include_bytes!( \"c\"))"),
            ["../b", "c"]
        );
    }

    /// The files that a source includes by their names.
    fn included(text: &str) -> Vec<&str> {
        let words = ["include_str!(", "include_bytes!(", "include!("];
        let calls = words.iter().flat_map(|word| text.split(word).skip(1));
        let names = calls.filter_map(|rest| rest.trim_start().strip_prefix('"'));
        names.filter_map(|rest| rest.split('"').next()).collect()
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let inner = folders.iter().flat_map(|folder| sources(folder));
        let files = files
            .into_iter()
            .filter(|file| file.extension().is_some_and(|it| it == "rs"));
        files.chain(inner).collect()
    }
}
