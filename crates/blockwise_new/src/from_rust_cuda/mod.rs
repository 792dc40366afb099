//! `blockwise init --from-rust-cuda`: a project that was written for rust-cuda uses Blockwise.
//!
//! Manifests, lock files and the choice of the compiler change; Rust sources, build scripts among
//! them, never do. What cannot be moved is listed with what to do. Nothing is written without
//! `--apply`, and then only what git can undo.

mod diff;
mod entry;
mod history;
mod lock;
mod notes;
mod project;
mod sources;
mod tables;
mod toolchain;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use toml_edit::{DocumentMut, Item, Value};

use crate::source::Source;
use crate::write::{Changes, as_before};
use crate::{Error, Outcome, manifest, missing_tools, quoted, stub};
use entry::{CUST, Entry, From as Origin, OURS};
use notes::Notes;
use project::{Project, RUST_CUDA};
use tables::Place;
use toolchain::Toolchain;

/// Options for a project that was written for rust-cuda.
#[derive(Args, Clone, Debug, Default)]
pub struct FromRustCuda {
    /// Show how a project that was written for rust-cuda moves here, as a diff: its manifests
    /// change, its sources do not
    #[arg(long)]
    pub from_rust_cuda: bool,
    /// Write what `--from-rust-cuda` shows; all of it must be committed, so that git can undo it
    #[arg(long, requires = "from_rust_cuda")]
    pub apply: bool,
}

impl FromRustCuda {
    pub(crate) fn run(&self, folder: &Path, source: &Source) -> Result<Outcome, Error> {
        let project = Project::read(folder)?;
        let plan = Plan::of(&project, source)?;
        let shown = folder.display();
        let mut text = if plan.changed.is_empty() {
            format!("{shown}: nothing to change")
        } else if self.apply {
            plan.write(&project)?;
            let shown = |is_new| {
                let changes = plan.changed.iter().filter(|change| change.is_new == is_new);
                let paths =
                    changes.map(|change| format!(" {}", quoted(&project.shown(&change.path))));
                paths.collect::<String>()
            };
            let (changed, created) = (shown(false), shown(true));
            let there = match std::env::current_dir().and_then(fs::canonicalize) {
                Ok(here) if here == project.folder => String::new(),
                _ => format!(" -C {}", quoted(&project.folder.display().to_string())),
            };
            let built: Vec<_> = plan
                .builds
                .iter()
                .map(|(folder, command)| match folder == &project.folder {
                    true => format!("cargo {command}"),
                    false => {
                        let folder = quoted(&project.shown(folder));
                        format!("(cd {folder} && cargo {command})")
                    }
                })
                .collect();
            let built = built.join("\n          ");
            let mut text = format!(
                "changed:{changed}{created}\n\nto build: {built}\nto undo:  git{there} restore{changed}"
            );
            if !created.is_empty() {
                text += &format!(" && git{there} clean -f --{created}");
            }
            text
        } else {
            plan.diff(&project)
        };
        text += &plan.notes.text();
        if !plan.changed.is_empty() && !self.apply {
            text += &format!(
                "\n\nnothing is written yet; to write it:\n  blockwise init --from-rust-cuda --apply {}",
                quoted(&shown.to_string())
            );
        }
        if !plan.changed.is_empty() && self.apply {
            text += &format!("\n\n{}", source.describe());
            text.extend(missing_tools());
        }
        let name = project
            .manifests
            .get(&project.folder)
            .and_then(|manifest| manifest.name());
        let name = name.or_else(|| project.folder.file_name()?.to_str());
        Ok(Outcome {
            text,
            package: name.unwrap_or_default().to_owned(),
            blockwise: source.to_string(),
            files: plan.changed.into_iter().map(|change| change.path).collect(),
            folder: project.folder,
        })
    }
}

/// A file's new contents.
struct Change {
    path: PathBuf,
    old: String,
    new: String,
    is_new: bool,
}

struct Plan {
    changed: Vec<Change>,
    notes: Notes,
    /// The folders of what builds kernels, each with cargo's command. A compiler is chosen by the
    /// folder that cargo runs in.
    builds: BTreeMap<PathBuf, &'static str>,
}

impl Plan {
    fn of(project: &Project, source: &Source) -> Result<Self, Error> {
        let mut plan = Plan {
            changed: Vec::new(),
            notes: Notes::default(),
            builds: BTreeMap::new(),
        };
        let touched: BTreeSet<&Path> = (project.manifests.iter())
            .filter(|(folder, _)| uses_rust_cuda(project, folder))
            .map(|(folder, _)| folder.as_path())
            .collect();
        if touched.is_empty() {
            let message = format!(
                "{}: no manifest names a crate of rust-cuda",
                project.folder.display()
            );
            return Err(Error::new(message).with_hint(
                "`blockwise init` without `--from-rust-cuda` adds a kernel to any project",
            ));
        }
        let mut documents: BTreeMap<&Path, DocumentMut> = BTreeMap::new();
        let mut patches = Vec::new();
        let roots: BTreeSet<PathBuf> = (project.manifests.keys())
            .map(|folder| project.root_of(folder))
            .collect();
        for root in &roots {
            let needed = plan.change_root(project, root, source, &mut documents)?;
            patches.push(needed);
        }
        for (folder, document) in documents {
            let manifest = &project.manifests[folder];
            // The unchanged document decides: printing one may change its line ends.
            if document.to_string() != manifest.document.to_string() {
                plan.change(
                    folder.join("Cargo.toml"),
                    &manifest.text,
                    document.to_string(),
                );
            }
        }
        for path in &project.toolchains {
            plan.change_toolchain(project, path)?;
        }
        for (root, needed) in roots.iter().zip(patches) {
            plan.change_lock(project, root, &needed)?;
        }
        plan.describe(project, &touched);
        Ok(plan)
    }

    /// The manifests of one workspace, or of a package without one.
    fn change_root<'a>(
        &mut self,
        project: &'a Project,
        root: &Path,
        source: &Source,
        documents: &mut BTreeMap<&'a Path, DocumentMut>,
    ) -> Result<Vec<Patch>, Error> {
        let inherited = tables::of_workspace(&project.manifests[root].document);
        let own = project
            .manifests
            .keys()
            .filter(|folder| project.root_of(folder) == root);
        let own: Vec<&Path> = own.map(PathBuf::as_path).collect();
        for folder in &own {
            let manifest = &project.manifests[*folder];
            // The workspace's dependencies are those of all members.
            let is_workspace = *folder == root && manifest.is_workspace();
            let scope = if is_workspace {
                own.as_slice()
            } else {
                std::slice::from_ref(folder)
            };
            let documents_in_scope = || {
                scope
                    .iter()
                    .map(|folder| &project.manifests[*folder].document)
            };
            let sources = scope.iter().flat_map(|folder| project.sources_of(folder));
            let place = Place {
                ours: source,
                shown: project.shown(&folder.join("Cargo.toml")),
                inherited: &inherited,
                toolkit: documents_in_scope().find_map(tables::needs_toolkit),
                sources: sources.map(|(_, source)| source).collect(),
                glam: documents_in_scope()
                    .find_map(|document| requirement(document, &inherited, "glam")),
            };
            let mut document = manifest.document.clone();
            tables::change(&mut document, &place, &mut self.notes);
            documents.insert(folder, document);
        }
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let needed = needed_patches(project, root, documents, &lock);
        let members: Vec<_> = own
            .iter()
            .filter_map(|folder| project.manifests[*folder].name())
            .collect();
        if let Some(document) = documents.get_mut(root) {
            tables::patch(document, &needed, &members, source).map_err(|problem| {
                Error::new(format!("{}: {problem}", root.join("Cargo.toml").display()))
            })?;
        }
        for (from, name) in &needed {
            if *name == "find_cuda_helper" && !source.has_patch() {
                for file in stub::files(root)? {
                    let old = fs::read_to_string(&file.path).unwrap_or_default();
                    self.changed.push(Change {
                        path: file.path,
                        old,
                        new: file.text,
                        is_new: !file.is_there,
                    });
                }
            } else if entry::stand_in(source, name).is_none() {
                let manifest = project.shown(&root.join("Cargo.toml"));
                self.notes.todo(manifest, format!("a crate from {from} needs `{name}`, and no registry has one in its place: `--git URL` or `--path CHECKOUT` names where there is one"));
            } else if matches!(source, Source::Checkout(_))
                && let Some(copy) = project.copies.iter().find(|copy| {
                    let inner = copy.strip_prefix(root).ok().and_then(Path::to_str);
                    let document = &project.manifests[root].document;
                    inner.is_some_and(|inner| {
                        Path::new(inner).ends_with(name) && manifest::names(document, inner)
                    })
                })
            {
                // A lock file tells folders apart by name and version only.
                let (shown, copy) = (root.join("Cargo.toml"), project.shown(copy));
                self.notes.todo(project.shown(&shown), format!("cargo takes only one folder with a `{name}` of this version: leave {copy} out of the workspace, or take Blockwise by `--git URL`"));
            }
        }
        Ok(needed)
    }

    /// A lock file of a changed workspace forgets the crates that patches replace.
    fn change_lock(
        &mut self,
        project: &Project,
        root: &Path,
        needed: &[Patch],
    ) -> Result<(), Error> {
        let is_changed = project.built_with(root).iter().any(|folder| {
            let manifest = folder.join("Cargo.toml");
            self.changed.iter().any(|change| change.path == manifest)
        });
        let path = root.join("Cargo.lock");
        if !is_changed || !path.is_file() {
            return Ok(());
        }
        let old =
            fs::read_to_string(&path).map_err(|error| Error::io("cannot read", &path, error))?;
        // Cargo itself drops what nothing needs any more. It would keep to versions that patches
        // replace, and to one that is too old for the driver's loader.
        let mut names: Vec<_> = needed.iter().map(|(_, name)| *name).collect();
        let is_old =
            |package: lock::Locked<'_>| package.name == "cust_raw" && package.version != "0.11.3";
        if names.contains(&"find_cuda_helper") && lock::packages(&old).any(is_old) {
            names.push("cust_raw");
        }
        let new = lock::without(&old, &names);
        let shown = project.shown(&path);
        self.notes.known(shown, "the next `cargo build` replaces rust-cuda's crates in it and keeps all other versions; until then `--locked` fails");
        if new != old {
            self.change(path, &old, new);
        }
        Ok(())
    }

    fn change_toolchain(&mut self, project: &Project, path: &Path) -> Result<(), Error> {
        let shown = project.shown(path);
        let text =
            fs::read_to_string(path).map_err(|error| Error::io("cannot read", path, error))?;
        let oldest = cuda_tools::OLDEST_RUSTC;
        let needs_nightly = project
            .sources
            .values()
            .any(|source| source.needs_nightly());
        match toolchain::moved(&text, needs_nightly)
            .map_err(|problem| Error::new(format!("{}: {problem}", path.display())))?
        {
            Toolchain::Changed(new) => {
                self.notes.known(shown, format!("rust-cuda's compiler is replaced: the host needs Rust {oldest} or newer, and kernels no nightly; crates of the lock file that are too old for it: `cargo update`"));
                self.change(path.to_owned(), &text, new);
            }
            Toolchain::Stays(name) => {
                let about = format!("{name} stays, it is new enough (Rust {oldest})");
                self.notes.known(shown, about);
            }
            Toolchain::Unknown(name) => {
                self.notes.todo(
                    shown,
                    format!("{name}: check that it is Rust {oldest} or newer"),
                );
            }
        }
        Ok(())
    }

    /// What the user has to know about the files that do not change.
    fn describe(&mut self, project: &Project, touched: &BTreeSet<&Path>) {
        let mut scripts = Vec::new();
        for (file, source) in &project.sources {
            let package = project.package_of(file);
            let named = package.and_then(|package| {
                project.manifests[package]
                    .document
                    .get("package")?
                    .get("build")?
                    .as_str()
            });
            let is_script = package.is_some_and(|package| sources::is_script(file, package, named));
            if is_script || source.names("CudaBuilder") {
                scripts.push((file, source));
            }
        }
        for (file, source) in &scripts {
            let Some(package) = project.package_of(file) else {
                continue;
            };
            if source.names("CudaBuilder") && touched.contains(package) {
                let is_program = file.starts_with(package.join("src"));
                let (folder, command) = match is_program {
                    true => (package.to_owned(), "run"),
                    false => (project.root_of(package), "build"),
                };
                self.builds.insert(folder, command);
            }
        }
        if self.builds.is_empty() {
            let roots = touched.iter().map(|package| project.root_of(package));
            self.builds.extend(roots.map(|root| (root, "build")));
        }
        let texts: Vec<_> = scripts.iter().map(|(_, source)| *source).collect();
        for package in touched {
            for (file, source) in project.sources_of(package) {
                source.look_for_obstacles(&project.shown(file), &texts, &mut self.notes);
            }
        }
        for (file, source) in scripts {
            source.describe_script(&project.shown(file), &mut self.notes);
        }
        for path in &project.configs {
            describe_config(path, &project.shown(path), &mut self.notes);
        }
        if let [first, rest @ ..] = project.copies.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            self.notes.known(
                project.shown(first) + &more,
                "a copy of rust-cuda; nothing uses it any more unless a line above says so",
            );
        }
    }

    fn change(&mut self, path: PathBuf, old: &str, new: String) {
        let new = as_before(old, new);
        self.changed.push(Change {
            path,
            old: old.to_owned(),
            new,
            is_new: false,
        });
    }

    fn diff(&self, project: &Project) -> String {
        let files = self.changed.iter().map(|change| {
            let shown = project.shown(&change.path);
            let old = (!change.is_new).then_some(change.old.as_str());
            diff::unified(&shown, old, &change.new)
        });
        files.collect::<String>().trim_end().to_owned()
    }

    /// Writes all files or none.
    fn write(&self, project: &Project) -> Result<(), Error> {
        let paths: Vec<_> = self
            .changed
            .iter()
            .map(|change| change.path.as_path())
            .collect();
        history::refuse_unsaved(&project.folder, &paths)?;
        let mut changes = Changes::new();
        for Change {
            path, new, is_new, ..
        } in &self.changed
        {
            match is_new {
                true => changes.create(path, new)?,
                false => changes.replace(path, new)?,
            }
        }
        changes.finish()
    }
}

/// Whether a package's dependencies name a crate of rust-cuda or what replaces it.
fn uses_rust_cuda(project: &Project, folder: &Path) -> bool {
    let is_one = |(key, item): &(String, Item)| {
        let package = Entry::read(key, item).package;
        OURS.contains(&package.as_str())
            || RUST_CUDA.contains(&package.as_str())
            || RUST_CUDA.contains(&key.as_str())
    };
    tables::entries(&project.manifests[folder].document)
        .iter()
        .any(is_one)
}

/// The requirement that a manifest has for a package, its own or its workspace's.
fn requirement(
    document: &DocumentMut,
    inherited: &BTreeMap<String, Entry>,
    name: &str,
) -> Option<String> {
    tables::entries(document).iter().find_map(|(key, item)| {
        let mut entry = Entry::read(key, item);
        if entry.from == Origin::Workspace {
            entry = inherited.get(key)?.clone();
        }
        match entry.from {
            Origin::Registry(version) if entry.package == name => Some(version),
            _ => None,
        }
    })
}

/// The source that a patch is for, and the package.
type Patch = (String, &'static str);

/// The patches that a root manifest needs.
fn needed_patches(
    project: &Project,
    root: &Path,
    documents: &BTreeMap<&Path, DocumentMut>,
    lock: &str,
) -> Vec<Patch> {
    const REGISTRY: &str = "crates-io";
    let mut needed = Vec::new();
    let mut add = |source: String, name| {
        if !needed.contains(&(source.clone(), name)) {
            needed.push((source, name));
        }
    };
    for folder in project.built_with(root) {
        // Members of another workspace may not have been changed yet.
        let document = documents
            .get(folder)
            .unwrap_or(&project.manifests[folder].document);
        for (key, item) in tables::entries(document) {
            let entry = Entry::read(&key, &item);
            match (entry.package.as_str(), entry.from) {
                // Its build script would look for a CUDA toolkit.
                (CUST, _) => add(REGISTRY.to_owned(), "find_cuda_helper"),
                ("gpu_rand", Origin::Registry(_)) => add(REGISTRY.to_owned(), "cuda_std"),
                ("gpu_rand", Origin::Git(url)) => add(url, "cuda_std"),
                _ => {}
            }
        }
    }
    // Other crates that need cuda_std.
    let replaced = lock::packages(lock)
        .find(|package| package.name == "cuda_std")
        .and_then(|package| package.source);
    let is_needed = lock::packages(lock).any(|package| {
        package.source.is_some() && package.needs("cuda_std") && !RUST_CUDA.contains(&package.name)
    });
    if let Some(source) = replaced.filter(|_| is_needed) {
        let url = source
            .strip_prefix("git+")
            .and_then(|url| url.split(['?', '#']).next());
        add(url.unwrap_or(REGISTRY).to_owned(), "cuda_std");
    }
    needed
}

/// Settings that rust-cuda needs and that mean nothing here.
fn describe_config(path: &Path, shown: &str, notes: &mut Notes) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let Ok(document) = text.parse::<DocumentMut>() else {
        return;
    };
    let variables = document.get("env").and_then(Item::as_table_like);
    for (name, _) in variables.into_iter().flat_map(|table| table.iter()) {
        if ["LLVM_", "CUDA_", "OPTIX_", "RUST_CUDA_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            notes.known(
                shown.to_owned(),
                format!("`{name}` has no effect here and may go"),
            );
        }
    }
    if document
        .get("unstable")
        .and_then(|table| table.get("build-std"))
        .is_some()
    {
        notes.known(
            shown.to_owned(),
            "`build-std` has no effect on kernels: the builder compiles `core` itself",
        );
    }
    let flags = document
        .get("build")
        .and_then(|table| table.get("rustflags"))
        .map(Item::to_string);
    if flags.is_some_and(|flags| flags.contains("codegen-backend")) {
        notes.todo(
            shown.to_owned(),
            "remove `-Zcodegen-backend` from `rustflags`: the stock compiler builds kernels",
        );
    }
    let target = document
        .get("build")
        .and_then(|table| table.get("target"))
        .and_then(Item::as_value);
    let is_device = |value: &Value| value.to_string().contains("nvptx64");
    if target.is_some_and(is_device) {
        notes.todo(
            shown.to_owned(),
            "remove the target `nvptx64-nvidia-cuda`: the builder chooses it for the kernels alone",
        );
    }
}
