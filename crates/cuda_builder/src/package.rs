//! cargo's information about the crate to build and its dependencies.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::CudaBuilder;
use crate::advice::{self, Versions};
use crate::arch::TARGET;
use crate::error::CudaBuilderError;
use crate::tools::Toolchain;

/// This package's names: its own, and that of the package with rust-cuda's name.
const OWN_NAMES: [&str; 2] = ["blockwise_builder", "cuda_builder"];

/// The crate to build.
pub(crate) struct Package {
    pub(crate) folder: PathBuf,
    /// The crate's name in its library's file name.
    pub(crate) library: String,
    /// cargo's target folder for this architecture.
    pub(crate) target_folder: PathBuf,
    /// Folder for fetched tools, shared by every build of the workspace.
    pub(crate) tools_folder: PathBuf,
}

impl Package {
    pub(crate) fn find(
        builder: &CudaBuilder,
        toolchain: &Toolchain,
    ) -> Result<Self, CudaBuilderError> {
        let no_crate = |reason: String| CudaBuilderError::NoCrate {
            path: builder.path.clone(),
            reason,
        };
        let folder = builder
            .path
            .canonicalize()
            .map_err(|error| no_crate(error.to_string()))?;
        let manifest = folder.join("Cargo.toml");
        if !manifest.is_file() {
            let reason = if folder.is_file() {
                "it is a file; give the folder that the crate's Cargo.toml lies in"
            } else {
                "it holds no Cargo.toml"
            };
            return Err(no_crate(reason.to_owned()));
        }
        let output = toolchain
            .command()
            .args([
                "metadata",
                "--no-deps",
                "--format-version=1",
                "--manifest-path",
            ])
            .arg(&manifest)
            .output()
            .map_err(|source| CudaBuilderError::Start {
                tool: toolchain.cargo.clone(),
                source,
            })?;
        if !output.status.success() {
            return Err(no_crate(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            ));
        }
        let metadata: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| no_crate(error.to_string()))?;
        let package = elements(&metadata["packages"])
            .find(|package| {
                package["manifest_path"].as_str().is_some_and(|path| {
                    Path::new(path).canonicalize().ok() == manifest.canonicalize().ok()
                })
            })
            .ok_or_else(|| no_crate("it is a workspace without a package of its own".to_owned()))?;
        let library = library_of(package)
            .and_then(|target| target["name"].as_str())
            .ok_or_else(|| no_crate("it has no library target (src/lib.rs)".to_owned()))?;
        // A build script runs while the outer cargo holds the locks of its target folder's
        // profiles: use a separate folder.
        let target_folder = std::env::var_os("OUT_DIR").map_or_else(
            || PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")),
            |out| target_folder_of(Path::new(&out)),
        );
        Ok(Package {
            folder,
            library: library.replace('-', "_"),
            tools_folder: target_folder.join("tools"),
            // One per architecture: cargo runs one build at a time per folder.
            target_folder: target_folder
                .join("cuda-builder")
                .join(builder.arch.target_cpu()),
        })
    }
}

/// The target folder of a build script's `OUT_DIR`, so that `core` is compiled once for all crates,
/// profiles and features. The `OUT_DIR` itself if cargo's layout is unknown.
fn target_folder_of(out: &Path) -> PathBuf {
    let name = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let triple = std::env::var("TARGET").unwrap_or_default();
    target_folder(out, &name, &triple).map_or(out.to_owned(), Path::to_owned)
}

fn target_folder<'a>(out: &'a Path, package: &str, triple: &str) -> Option<&'a Path> {
    let above = |levels: usize| out.ancestors().nth(levels);
    let is = |levels, name: &str| above(levels).and_then(Path::file_name) == Some(OsStr::new(name));
    // `<target>/<profile>/build/<package>/<hash>/out` (cargo's newer layout) or
    // `<target>/<profile>/build/<package>-<hash>/out`.
    let build = if is(3, "build") && is(2, package) {
        3
    } else if is(2, "build") {
        2
    } else {
        return None;
    };
    // With `--target`, a folder with its name is above the profile.
    let folder = above(build + if is(build + 2, triple) { 3 } else { 2 })?;
    (!folder.as_os_str().is_empty()).then_some(folder)
}

/// The crate's dependencies, as far as cargo can resolve them; if it cannot, the build reports why.
#[derive(Default)]
pub(crate) struct Graph {
    /// The root files of the libraries that are compiled for the device.
    pub(crate) libraries: Vec<PathBuf>,
    /// The `links` names of packages whose build script embeds their own kernels. It has nothing to
    /// do for the device, so cargo is given its output, and neither compiles nor runs the script.
    pub(crate) embedding: Vec<String>,
    /// The manifests of local packages, and other files that determine versions and features.
    pub(crate) manifests: Vec<PathBuf>,
    /// Whether a dependency is also built as a library for other languages.
    pub(crate) has_linked_dependency: bool,
    /// Folders of local packages that only build scripts use.
    pub(crate) host_only: Vec<PathBuf>,
    /// Of each crate, for messages.
    pub(crate) versions: Versions,
    /// Folders of all local packages, and whether each is compiled for the device.
    folders: Vec<(PathBuf, bool)>,
}

impl Graph {
    pub(crate) fn read(builder: &CudaBuilder, toolchain: &Toolchain, package: &Package) -> Self {
        let manifest = package.folder.join("Cargo.toml");
        let metadata = || -> Option<Value> {
            let output = toolchain
                .command()
                .args(["metadata", "--format-version=1", "--filter-platform"])
                .arg(TARGET)
                .arg("--manifest-path")
                .arg(&manifest)
                .args(features(&builder.build_args))
                .output();
            serde_json::from_slice(&output.ok()?.stdout).ok()
        };
        let metadata = metadata().or_else(|| {
            // Debian 12's cargo cannot fetch from Git: its libgit2 is too old for it. The one that
            // runs this program has fetched what is in its own workspace, and can fetch the rest.
            let mut outer = Command::new(std::env::var_os("CARGO")?);
            outer.args(["fetch", "--quiet", "--manifest-path"]);
            let fetched = outer.arg(&manifest).output().ok()?;
            metadata().filter(|_| fetched.status.success())
        });
        metadata.as_ref().map(Self::of).unwrap_or_default()
    }

    fn of(metadata: &Value) -> Self {
        let is_macro = |package: &Value| {
            let kinds = elements(&package["targets"]).flat_map(|target| elements(&target["kind"]));
            kinds.into_iter().any(|kind| kind == "proc-macro")
        };
        let macros: Vec<_> = (elements(&metadata["packages"]).filter(|package| is_macro(package)))
            .filter_map(|package| package["id"].as_str())
            .collect();
        let needed = |stops: &[&str]| needed(&metadata["resolve"], stops);
        let (needed, on_device) = (needed(&[]), needed(&macros));
        let mut graph = Self::default();
        if let Some(root) = metadata["workspace_root"].as_str().map(Path::new) {
            graph.manifests = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
        }
        for package in elements(&metadata["packages"]) {
            if let (Some(name), Some(version)) =
                (package["name"].as_str(), package["version"].as_str())
            {
                let versions = graph.versions.entry(name.to_owned()).or_default();
                versions.push(version.to_owned());
                versions.sort_by_key(|version| advice::order(version));
            }
            let is_in = |packages: &BTreeSet<&str>| {
                package["id"]
                    .as_str()
                    .is_some_and(|id| packages.contains(id))
            };
            let (is_needed, is_on_device) = (is_in(&needed), is_in(&on_device));
            let library = library_of(package).and_then(|target| target["src_path"].as_str());
            let library = library.filter(|_| is_on_device);
            graph.libraries.extend(library.map(PathBuf::from));
            let embeds = elements(&package["dependencies"]).any(|dependency| {
                let name = dependency["name"].as_str().unwrap_or_default();
                OWN_NAMES.contains(&name) && dependency["kind"] == "build"
            });
            let links = package["links"].as_str().filter(|_| embeds);
            graph.embedding.extend(links.map(str::to_owned));
            let is_local = package["source"].is_null();
            let manifest = package["manifest_path"].as_str().map(PathBuf::from);
            let is_root = package["id"] == metadata["resolve"]["root"];
            graph.has_linked_dependency |= is_on_device && !is_root && is_linked(package);
            if let Some(manifest) = manifest.filter(|_| is_local) {
                let folder = manifest.parent().map(Path::to_owned);
                graph
                    .folders
                    .extend(folder.clone().map(|folder| (folder, is_on_device)));
                if is_needed {
                    graph.manifests.push(manifest);
                } else {
                    graph.host_only.extend(folder);
                }
            }
        }
        let (host_only, manifests) = (&mut graph.host_only, &graph.manifests);
        // One package's folder may contain another's.
        host_only.retain(|folder| {
            !manifests
                .iter()
                .any(|manifest| manifest.starts_with(folder))
        });
        graph
    }

    /// Whether the file belongs to a local package that is compiled for the device.
    pub(crate) fn is_on_device(&self, file: &Path) -> bool {
        let holds = |(folder, _): &&(PathBuf, bool)| file.starts_with(folder);
        let innermost = self.folders.iter().filter(holds);
        let innermost = innermost.max_by_key(|(folder, _)| folder.components().count());
        innermost.is_some_and(|&(_, is_on_device)| is_on_device)
    }
}

/// The packages that the root's library depends on, not counting dependencies of build scripts and
/// tests. Excludes `stops` and what only they need.
fn needed<'m>(resolve: &'m Value, stops: &[&str]) -> BTreeSet<&'m str> {
    let mut needed = BTreeSet::new();
    let mut next: Vec<&str> = resolve["root"].as_str().into_iter().collect();
    while let Some(id) = next.pop() {
        if stops.contains(&id) || !needed.insert(id) {
            continue;
        }
        let node = elements(&resolve["nodes"]).find(|node| node["id"] == id);
        let dependencies = elements(node.map_or(&Value::Null, |node| &node["deps"]));
        let normal = dependencies.filter(|dependency| {
            elements(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
        });
        next.extend(normal.filter_map(|dependency| dependency["pkg"].as_str()));
    }
    needed
}

/// The feature-selecting arguments among cargo's.
fn features(arguments: &[String]) -> Vec<&str> {
    let mut chosen = Vec::new();
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next().filter(|argument| *argument != "--") {
        match argument {
            "--features" | "-F" => {
                chosen.push(argument);
                chosen.extend(arguments.next());
            }
            "--no-default-features" | "--all-features" | "--offline" | "--locked" | "--frozen" => {
                chosen.push(argument);
            }
            _ if argument.starts_with("--features=") || argument.starts_with("-F") => {
                chosen.push(argument);
            }
            _ => {}
        }
    }
    chosen
}

/// Library types for other languages.
const LINKED: [&str; 3] = ["cdylib", "dylib", "staticlib"];

fn library_of(package: &Value) -> Option<&Value> {
    elements(&package["targets"]).find(|target| {
        elements(&target["kind"])
            .filter_map(Value::as_str)
            .any(|kind| ["lib", "rlib"].contains(&kind) || LINKED.contains(&kind))
    })
}

fn is_linked(package: &Value) -> bool {
    let library = library_of(package).unwrap_or(&Value::Null);
    (elements(&library["kind"]).filter_map(Value::as_str)).any(|kind| LINKED.contains(&kind))
}

fn elements(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

/// Whether a build script that runs for the device builds its own package, as in a script that says
/// `CudaBuilder::new(".")`: that build would run the script again, and so on.
pub(crate) fn builds_itself(path: &Path, target_arch: &str, manifest_folder: &str) -> bool {
    let place = |path: &Path| path.canonicalize().ok();
    target_arch == "nvptx64"
        && place(path).is_some_and(|it| Some(it) == place(Path::new(manifest_folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_folder(out: &str, expected: Option<&str>) {
        let found = target_folder(Path::new(out), "mine", "x86_64-unknown-linux-gnu");
        assert_eq!(found, expected.map(Path::new), "{out}");
    }

    #[test]
    fn a_build_scripts_target_folder_is_found_in_every_layout() {
        check_folder("/t/debug/build/mine-0a1b/out", Some("/t"));
        check_folder("/t/debug/build/mine/0a1b/out", Some("/t"));
        check_folder("/build/release/build/mine-0a1b/out", Some("/build"));
        check_folder(
            "/t/x86_64-unknown-linux-gnu/debug/build/mine-0a1b/out",
            Some("/t"),
        );
        check_folder(
            "/t/x86_64-unknown-linux-gnu/debug/build/mine/0a1b/out",
            Some("/t"),
        );
        check_folder("/somewhere/else/out", None);
        check_folder("out", None);
    }

    #[test]
    fn arguments_for_features_are_picked_out() {
        let arguments = [
            "--features",
            "a b",
            "-Fc",
            "--timings",
            "--offline",
            "--",
            "--features=d",
        ];
        let arguments = arguments.map(str::to_owned);
        assert_eq!(
            features(&arguments),
            ["--features", "a b", "-Fc", "--offline"]
        );
    }

    #[test]
    fn what_only_build_scripts_use_is_the_hosts() {
        let metadata = serde_json::json!({
            "workspace_root": "/w",
            "packages": [
                {"id": "k", "source": null, "manifest_path": "/w/k/Cargo.toml", "links": "k_kernels",
                 "dependencies": [{"name": "cuda_builder", "kind": "build"}],
                 "targets": [{"kind": ["bin"], "src_path": "/w/k/main.rs"}, {"kind": ["lib"], "src_path": "/w/k/lib.rs"}]},
                {"id": "std", "source": null, "manifest_path": "/w/std/Cargo.toml", "links": "zlib", "dependencies": [], "targets": []},
                {"id": "macros", "source": null, "manifest_path": "/w/k/macros/Cargo.toml", "dependencies": [],
                 "targets": [{"kind": ["proc-macro"], "src_path": "/w/k/macros/lib.rs"}]},
                {"id": "builder", "source": null, "manifest_path": "/w/builder/Cargo.toml", "dependencies": [],
                 "targets": [{"kind": ["lib"], "src_path": "/w/builder/lib.rs"}]},
                {"id": "serde", "source": "registry", "manifest_path": "/r/serde/Cargo.toml", "dependencies": [], "targets": []},
            ],
            "resolve": {"root": "k", "nodes": [
                {"id": "k", "deps": [
                    {"pkg": "std", "dep_kinds": [{"kind": null}, {"kind": "dev"}]},
                    {"pkg": "macros", "dep_kinds": [{"kind": null}]},
                    {"pkg": "builder", "dep_kinds": [{"kind": "build"}]},
                ]},
                {"id": "std", "deps": [{"pkg": "k", "dep_kinds": [{"kind": null}]}]},
                {"id": "builder", "deps": [{"pkg": "serde", "dep_kinds": [{"kind": null}]}]},
            ]},
        });
        let graph = Graph::of(&metadata);
        assert_eq!(graph.libraries, [Path::new("/w/k/lib.rs")]);
        assert_eq!(graph.embedding, ["k_kernels"]);
        let manifests = [
            "/w/Cargo.toml",
            "/w/Cargo.lock",
            "/w/k/Cargo.toml",
            "/w/std/Cargo.toml",
            "/w/k/macros/Cargo.toml",
        ];
        assert_eq!(graph.manifests, manifests.map(Path::new));
        assert_eq!(graph.host_only, [Path::new("/w/builder")]);
        let files = [
            "k/a/b.rs",
            "std/lib.rs",
            "k/macros/lib.rs",
            "builder/lib.rs",
            "c.rs",
        ];
        let on_device = files.map(|file| graph.is_on_device(&Path::new("/w").join(file)));
        assert_eq!(on_device, [true, true, false, false, false]);
    }

    #[test]
    fn only_a_device_builds_script_builds_itself() {
        let own = env!("CARGO_MANIFEST_DIR");
        assert!(builds_itself(Path::new("."), "nvptx64", own));
        assert!(builds_itself(Path::new("./."), "nvptx64", own));
        assert!(!builds_itself(Path::new("."), "x86_64", own));
        assert!(!builds_itself(Path::new("src"), "nvptx64", own));
        assert!(!builds_itself(Path::new("absent"), "nvptx64", "absent"));
    }
}
