//! The files of a project that moves.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::history;
use super::sources::Source;
use crate::Error;

/// Packages of rust-cuda. A copy of them inside the project stays as it is.
pub(super) const RUST_CUDA: [&str; 17] = [
    "blastoff",
    "cuda_builder",
    "cuda_std",
    "cuda_std_macros",
    "cudnn",
    "cudnn-sys",
    "cust",
    "cust_core",
    "cust_derive",
    "cust_raw",
    "find_cuda_helper",
    "gpu_rand",
    "optix",
    "optix_device",
    "optix-sys",
    "rustc_codegen_nvvm",
    "rustc_codegen_nvvm_macros",
];

/// The keys of tables with dependencies.
const DEPENDENCIES: [&str; 5] = [
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "dev_dependencies",
    "build_dependencies",
];

/// A manifest.
pub(super) struct Manifest {
    pub(super) text: String,
    pub(super) document: DocumentMut,
}

impl Manifest {
    pub(super) fn name(&self) -> Option<&str> {
        self.document.get("package")?.get("name")?.as_str()
    }

    pub(super) fn is_workspace(&self) -> bool {
        self.document.contains_key("workspace")
    }

    /// Whether the workspace that this is the root of leaves out a folder inside it.
    fn leaves_out(&self, inner: &Path) -> bool {
        let listed = |key: &str| -> Vec<&str> {
            let workspace = self.document.get("workspace");
            let list = workspace.and_then(|table| table.get(key)?.as_array());
            list.into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect()
        };
        let is_out = (listed("exclude").iter())
            .any(|folder| inner.starts_with(folder.trim_start_matches("./")));
        is_out
            && !listed("members")
                .iter()
                .any(|member| Path::new(member) == inner)
    }

    /// The folders that dependencies and members outside it are in, as written.
    fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut document = self.document.clone();
        each_table(&mut document, &mut |table| {
            let inner = table
                .iter()
                .filter_map(|(_, item)| item.get("path")?.as_str());
            paths.extend(inner.map(str::to_owned));
        });
        let workspace = self.document.get("workspace");
        let members = workspace.and_then(|table| table.get("members")?.as_array());
        let members = members.into_iter().flatten().filter_map(Value::as_str);
        paths.extend(members.map(|member| member.trim_end_matches("/*").to_owned()));
        paths
    }
}

/// Calls a function for each table of dependencies: of the package, of its targets and of the
/// workspace.
pub(super) fn each_table(document: &mut DocumentMut, visit: &mut dyn FnMut(&mut dyn TableLike)) {
    fn inside(table: Option<&mut Item>, visit: &mut dyn FnMut(&mut dyn TableLike)) {
        let Some(table) = table.and_then(Item::as_table_like_mut) else {
            return;
        };
        for key in DEPENDENCIES {
            if let Some(table) = table.get_mut(key).and_then(Item::as_table_like_mut) {
                visit(table);
            }
        }
    }
    inside(Some(document.as_item_mut()), visit);
    inside(document.get_mut("workspace"), visit);
    let targets = document.get_mut("target").and_then(Item::as_table_like_mut);
    for (_, target) in targets.into_iter().flat_map(|targets| targets.iter_mut()) {
        inside(Some(target), visit);
    }
}

/// A project, with its whole workspace and what it builds from beside it.
pub(super) struct Project {
    /// Paths are shown relative to it.
    pub(super) folder: PathBuf,
    /// By the folder that each is in.
    pub(super) manifests: BTreeMap<PathBuf, Manifest>,
    /// By file.
    pub(super) sources: BTreeMap<PathBuf, Source>,
    /// `rust-toolchain` files.
    pub(super) toolchains: Vec<PathBuf>,
    /// Cargo's configuration files.
    pub(super) configs: Vec<PathBuf>,
    /// Copies of rust-cuda.
    pub(super) copies: Vec<PathBuf>,
}

impl Project {
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let folder =
            fs::canonicalize(folder).map_err(|error| Error::io("cannot read", folder, error))?;
        if !folder.is_dir() {
            return Err(Error::new(format!("{} is no folder", folder.display()))
                .with_hint("name the folder of the project"));
        }
        let repository = history::repository(&folder).and_then(|path| path.canonicalize().ok());
        let root = workspace_around(&folder, repository.as_deref())?;
        let mut project = Self {
            folder: root.clone(),
            manifests: BTreeMap::new(),
            sources: BTreeMap::new(),
            toolchains: Vec::new(),
            configs: Vec::new(),
            copies: Vec::new(),
        };
        let mut walked = Vec::new();
        let mut next = Some(root.clone());
        while let Some(folder) = next {
            project.walk(&folder, true)?;
            walked.push(folder);
            let mut beside = project.beside();
            beside.retain(|path| {
                repository
                    .as_ref()
                    .is_some_and(|repository| path.starts_with(repository))
            });
            next = (beside.into_iter())
                .find(|path| !walked.iter().any(|walked| path.starts_with(walked)));
        }
        for above in root.ancestors().skip(1) {
            if repository
                .as_ref()
                .is_some_and(|repository| above.starts_with(repository))
            {
                project.add_settings(above);
            }
        }
        Ok(project)
    }

    fn walk(&mut self, folder: &Path, is_start: bool) -> Result<(), Error> {
        let failed = |error| Error::io("cannot read", folder, error);
        if !is_start && folder.join(".git").exists() {
            if folder.join("crates/cuda_std").exists() {
                self.copies.push(folder.to_owned());
            }
            return Ok(());
        }
        if let Some(manifest) = read_manifest(folder)? {
            let is_copy = manifest
                .name()
                .is_some_and(|name| RUST_CUDA.contains(&name));
            if is_copy && !is_start {
                self.copies.push(folder.to_owned());
                return Ok(());
            }
            self.manifests.insert(folder.to_owned(), manifest);
        }
        self.add_settings(folder);
        let mut entries = fs::read_dir(folder)
            .map_err(failed)?
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                let is_vendored = path.join(".cargo-checksum.json").exists();
                if !name.starts_with('.')
                    && name != "target"
                    && name != "node_modules"
                    && !is_vendored
                {
                    self.walk(&path, false)?;
                }
            } else if path.extension() == Some(OsStr::new("rs")) {
                // One that is not UTF-8 is none of the compiler's either.
                if let Ok(text) = fs::read_to_string(&path) {
                    self.sources.insert(path, Source::new(text));
                }
            }
        }
        Ok(())
    }

    fn add_settings(&mut self, folder: &Path) {
        let is_file = |names: [&str; 2]| {
            names
                .map(|name| folder.join(name))
                .into_iter()
                .find(|path| path.is_file())
        };
        // Where there are both, the first is used.
        self.toolchains
            .extend(is_file(["rust-toolchain", "rust-toolchain.toml"]));
        self.configs
            .extend(is_file([".cargo/config", ".cargo/config.toml"]));
    }

    /// Folders that manifests and build scripts name.
    fn beside(&self) -> Vec<PathBuf> {
        let named = self.manifests.iter().flat_map(|(folder, manifest)| {
            manifest
                .paths()
                .into_iter()
                .map(move |path| folder.join(path))
        });
        let built = self.sources.iter().flat_map(|(file, source)| {
            let folder = self.package_of(file).unwrap_or(Path::new(""));
            source
                .kernel_crates()
                .into_iter()
                .map(move |path| folder.join(path))
        });
        named
            .chain(built)
            .filter_map(|path| path.canonicalize().ok())
            .filter(|path| path.is_dir())
            .collect()
    }

    /// The folder of the package that a file belongs to.
    pub(super) fn package_of(&self, file: &Path) -> Option<&Path> {
        let owner = file
            .ancestors()
            .skip(1)
            .find_map(|folder| self.manifests.get_key_value(folder));
        owner.map(|(folder, _)| folder.as_path())
    }

    /// The folder of the root manifest that holds for a package.
    pub(super) fn root_of(&self, package: &Path) -> PathBuf {
        let root = package.ancestors().find(|folder| {
            self.manifests.get(*folder).is_some_and(|manifest| {
                let inner = package.strip_prefix(folder).unwrap_or(package);
                manifest.is_workspace() && (*folder == package || !manifest.leaves_out(inner))
            })
        });
        root.unwrap_or(package).to_owned()
    }

    /// The packages that are built with those of a root manifest: its members, and what they
    /// need by path.
    pub(super) fn built_with(&self, root: &Path) -> Vec<&Path> {
        let mut found: Vec<&Path> = (self.manifests.keys())
            .map(PathBuf::as_path)
            .filter(|package| self.root_of(package) == root)
            .collect();
        let mut at = 0;
        while let Some(&package) = found.get(at) {
            at += 1;
            for path in self.manifests[package].paths() {
                let needed = package.join(path).canonicalize().ok();
                let needed =
                    needed.and_then(|path| Some(self.manifests.get_key_value(&path)?.0.as_path()));
                if let Some(needed) = needed.filter(|needed| !found.contains(needed)) {
                    found.push(needed);
                }
            }
        }
        found
    }

    /// The sources of a package.
    pub(super) fn sources_of<'a>(
        &'a self,
        package: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a Source)> {
        let own = self
            .sources
            .range(package.to_owned()..)
            .take_while(move |(file, _)| file.starts_with(package));
        own.map(|(file, source)| (file.as_path(), source))
            .filter(move |(file, _)| self.package_of(file) == Some(package))
    }

    /// A path as the user reads it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let mut above = PathBuf::new();
        for folder in self.folder.ancestors() {
            if let Ok(inner) = path.strip_prefix(folder) {
                return above.join(inner).display().to_string();
            }
            above.push("..");
        }
        path.display().to_string()
    }
}

/// The root of the workspace that a folder is in, or the folder itself.
fn workspace_around(folder: &Path, repository: Option<&Path>) -> Result<PathBuf, Error> {
    if read_manifest(folder)?.is_some_and(|manifest| manifest.is_workspace()) {
        return Ok(folder.to_owned());
    }
    for above in folder.ancestors().skip(1) {
        if !repository.is_some_and(|repository| above.starts_with(repository)) {
            break;
        }
        if let Some(manifest) = read_manifest(above)?.filter(Manifest::is_workspace) {
            let inner = folder.strip_prefix(above).unwrap_or(folder);
            return Ok(if manifest.leaves_out(inner) {
                folder
            } else {
                above
            }
            .to_owned());
        }
    }
    Ok(folder.to_owned())
}

/// A folder's manifest. One that cannot be parsed matters only if it names what moves: it may be a
/// template.
fn read_manifest(folder: &Path) -> Result<Option<Manifest>, Error> {
    let path = folder.join("Cargo.toml");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("cannot read", &path, error)),
    };
    match text.parse() {
        Ok(document) => Ok(Some(Manifest { text, document })),
        Err(_) if !RUST_CUDA.iter().any(|name| text.contains(name)) => Ok(None),
        Err(error) => Err(Error::toml(&path, &text, &error)),
    }
}
