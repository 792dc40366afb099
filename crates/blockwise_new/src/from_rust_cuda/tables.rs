//! What becomes of a manifest's dependencies.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, InlineTable, Item, TableLike, value};

use super::entry::{self, CUST, Entry, From, OURS};
use super::notes::Notes;
use super::project::{RUST_CUDA, each_table};
use super::sources::Source;
use crate::manifest;
use crate::source::Source as Ours;

/// Crates of rust-cuda that link libraries of the CUDA toolkit or OptiX.
const TOOLKIT: [&str; 6] = [
    "blastoff",
    "cudnn",
    "cudnn-sys",
    "optix",
    "optix-sys",
    "ptx_compiler",
];

/// Where a dependency stands.
pub(super) struct Place<'a> {
    pub(super) ours: &'a Ours,
    /// The manifest, as the user reads it.
    pub(super) shown: String,
    /// What the workspace's dependencies were, without those that have moved already.
    pub(super) inherited: &'a BTreeMap<String, Entry>,
    /// A dependency that needs the main branch's `cust`, and so a CUDA toolkit.
    pub(super) toolkit: Option<String>,
    /// Of the package.
    pub(super) sources: Vec<&'a Source>,
    /// The requirement for glam that the package has.
    pub(super) glam: Option<String>,
}

/// The dependencies of a workspace's members, by their names in the code.
pub(super) fn of_workspace(root: &DocumentMut) -> BTreeMap<String, Entry> {
    let workspace = root.get("workspace");
    let table = workspace.and_then(|table| table.get("dependencies")?.as_table_like());
    let entries = table.into_iter().flat_map(|table| table.iter());
    (entries.filter(|(key, item)| !has_moved(key, item)))
        .map(|(key, item)| (key.to_owned(), Entry::read(key, item)))
        .collect()
}

/// Whether a dependency is already ours.
fn has_moved(key: &str, item: &Item) -> bool {
    OURS.contains(&Entry::read(key, item).package.as_str())
}

/// All dependencies of a manifest, by their names in the code.
pub(super) fn entries(document: &DocumentMut) -> Vec<(String, Item)> {
    let mut found = Vec::new();
    each_table(&mut document.clone(), &mut |table| {
        found.extend(
            table
                .iter()
                .map(|(key, item)| (key.to_owned(), item.clone())),
        );
    });
    found
}

/// A dependency that only builds with a CUDA toolkit and with the `cust` beside it.
pub(super) fn needs_toolkit(document: &DocumentMut) -> Option<String> {
    let is_one =
        |(key, item): &(String, Item)| TOOLKIT.contains(&Entry::read(key, item).package.as_str());
    entries(document)
        .into_iter()
        .find(is_one)
        .map(|(key, _)| key)
}

/// Changes the dependencies of a manifest.
pub(super) fn change(document: &mut DocumentMut, place: &Place<'_>, notes: &mut Notes) {
    let features = document
        .get("features")
        .map(Item::to_string)
        .unwrap_or_default();
    each_table(document, &mut |table| {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            let Some(item) = table.get_mut(&key) else {
                continue;
            };
            let package = place
                .entry(&key, item)
                .map(|entry| entry.package)
                .unwrap_or_default();
            // The compiler backend and its bindings: nothing here compiles or calls them.
            if matches!(package.as_str(), "rustc_codegen_nvvm" | "nvvm") {
                if place.names(&package) || features.contains(&key) {
                    notes.todo(place.shown.clone(), format!("`{key}` does not exist here and needs LLVM to build: remove it and what uses it"));
                } else {
                    table.remove(&key);
                }
                continue;
            }
            place.change(&key, item, notes);
        }
    });
}

impl Place<'_> {
    /// The dependency, or the workspace's of this name. `None` if it has moved already.
    fn entry(&self, key: &str, item: &Item) -> Option<Entry> {
        let entry = Entry::read(key, item);
        match entry.from {
            From::Workspace => self.inherited.get(key).cloned(),
            _ => (!has_moved(key, item)).then_some(entry),
        }
    }

    fn names(&self, word: &str) -> bool {
        self.sources.iter().any(|source| source.names(word))
    }

    fn change(&self, key: &str, item: &mut Item, notes: &mut Notes) {
        let Some(entry) = self.entry(key, item) else {
            return;
        };
        let is_inherited = item.get("workspace").is_some();
        let package = entry.package.as_str();
        let is_foreign = !is_inherited && !entry.is_published();
        let mut move_to = |item: &mut Item, source: InlineTable| {
            if !is_inherited {
                entry::set(key, item, source);
            }
            for feature in entry::remove_features(package, item) {
                notes.todo(self.shown.clone(), format!("`{package}` has no feature `{feature}` here, so it is removed; what it switched on may be missing"));
            }
        };
        match package {
            "cuda_std" => {
                move_to(item, entry::ours(self.ours, package));
                entry::keep_defaults(item);
                if !is_inherited {
                    self.choose_vectors(&entry, item, notes);
                }
            }
            "cuda_std_macros" | "cuda_builder" => move_to(item, entry::ours(self.ours, package)),
            "cust" | "cust_raw" | "cust_core" if is_foreign && self.keeps_cust() => {
                let (reason, advice) = match &self.toolkit {
                    Some(name) => (format!("`{name}`"), format!("leave out `{name}`")),
                    None => (
                        "`cust_raw::driver_sys` and the like in the sources".to_owned(),
                        "leave these modules' names out, the functions are at the root of `cust_raw` 0.11.3".to_owned(),
                    ),
                };
                notes.todo(
                    self.shown.clone(),
                    format!("`{key}` stays rust-cuda's because of {reason}, and builds with a CUDA toolkit and libclang; to build without, {advice} and call this again"),
                );
            }
            "cust" => {
                if let From::Registry(version) = &entry.from
                    && entry::series(version).is_some_and(|series| series != (0, 3))
                {
                    notes.todo(self.shown.clone(), format!("cust {version} has another interface than 0.3, which is the one supported: bring the host's code to `cust = \"0.3\"` first"));
                    return;
                }
                let has_vectors = item.get("features").is_some_and(|list| list.to_string().contains("impl_glam"));
                move_to(item, entry::ours(self.ours, CUST));
                let glam = self.glam.as_deref().filter(|glam| entry::series(glam) != Some((0, 20)));
                if let Some(glam) = glam.filter(|_| has_vectors || is_foreign) {
                    notes.todo(self.shown.clone(), format!("cust 0.3.2 copies the vectors of glam 0.20 only, and this package has glam {glam}: copy arrays (`to_array`) or structs of numbers"));
                }
                for name in ["memcpy_2d_htod", "memcpy_2d_dtoh", "cuda_malloc_pitched"] {
                    if self.names(name) {
                        notes.todo(self.shown.clone(), format!("`{name}` is in cust's main branch only; `cust` here is 0.3.2"));
                    }
                }
            }
            "cust_raw" if is_foreign => {
                if let Some(table) = item.as_table_like_mut() {
                    table.remove("features");
                }
                move_to(item, entry::published("0.11.3"));
            }
            "cust_core" if is_foreign => move_to(item, entry::published("0.1.1")),
            "cust_derive" if is_foreign => move_to(item, entry::published("0.2")),
            "find_cuda_helper" if is_foreign => move_to(item, entry::published("0.2")),
            "gpu_rand" if matches!(entry.from, From::Path(_)) => {
                move_to(item, entry::published("0.1"));
                notes.known(self.shown.clone(), "`gpu_rand` is that of crates.io: a copy in a folder would bring its own `cuda_std`");
            }
            "optix" | "optix_device" | "optix-sys" => notes.todo(
                self.shown.clone(),
                format!("`{package}` needs OptiX, which is not supported: leave it, and the kernels for it, out of this build"),
            ),
            "blastoff" | "cudnn" | "cudnn-sys" | "ptx_compiler" => notes.todo(
                self.shown.clone(),
                format!("`{package}` links libraries of the CUDA toolkit and stays as it is: with the toolkit it may build; without, leave it out"),
            ),
            _ => {
                if let Some(pinned) = entry::unpin(&entry, item) {
                    notes.known(self.shown.clone(), format!("`{key}` was pinned to {pinned}, too old for what Blockwise needs: this or a newer one now"));
                    notes.known(self.shown.clone(), "other pins (`=`) were for rust-cuda's compiler: leave out those for which cargo says `failed to select a version`, and what does not compile");
                }
            }
        }
    }

    /// Whether the host's code needs the main branch's `cust`, `cust_raw` and `cust_core`.
    fn keeps_cust(&self) -> bool {
        self.toolkit.is_some() || self.sources.iter().any(|source| source.names_raw_modules())
    }

    /// `thread::index_2d()` and its like return vek's vectors in the published versions and glam's
    /// in the main branch.
    fn choose_vectors(&self, entry: &Entry, item: &mut Item, notes: &mut Notes) {
        let uses_vectors = self.sources.iter().any(|source| source.names_vectors());
        // In the main branch `cuda_std::vek` is there beside glam's vectors.
        let may_be_old = entry.is_published() || (uses_vectors && self.glam.is_none());
        let uses_vek = (may_be_old && self.names("vek")) || (entry.is_published() && uses_vectors);
        if uses_vek {
            entry::add_feature(item, "vek_indices");
            return;
        }
        let Some(glam) = &self.glam else {
            return;
        };
        let series = entry::series(glam);
        if series.is_some_and(|series| ((0, 22)..(0, 33)).contains(&series)) {
            entry::add_feature(item, "glam_0_22");
        }
        if uses_vectors {
            let text = match series.is_some_and(|series| series < (0, 22)) {
                true => format!(
                    "glam {glam} is too old for the vectors of `cuda_std::thread`: 0.22 or newer"
                ),
                false => format!(
                    "glam {glam} and the one of `cuda_std` must be one version; where the build finds two, it prints the `cargo update` that leaves one"
                ),
            };
            notes.known(self.shown.clone(), text);
        }
    }
}

/// Gives a root manifest the patches that it needs and removes those for crates that are gone.
/// `members` are its packages' names.
pub(super) fn patch(
    root: &mut DocumentMut,
    needed: &[(String, &str)],
    members: &[&str],
    ours: &Ours,
) -> Result<(), String> {
    let is_gone =
        |name: &str| (RUST_CUDA.contains(&name) || name == "nvvm") && !members.contains(&name);
    if let Some(sources) = root.get_mut("patch").and_then(Item::as_table_like_mut) {
        for (_, source) in sources.iter_mut() {
            remove(source.as_table_like_mut(), |key, item| {
                let package = Entry::read(key, item).package;
                let is_ours =
                    entry::stand_in(ours, &package).is_some_and(|ours| entry::is_set(item, &ours));
                is_gone(&package) && !is_ours
            });
        }
        remove(Some(sources), |_, source| is_empty(source));
    }
    if root.get("patch").is_some_and(is_empty) {
        root.remove("patch");
    }
    for (source, name) in needed {
        let quoted = format!("\"{source}\"");
        let key = if source.contains(':') {
            &quoted
        } else {
            source
        };
        let Some(stand_in) = entry::stand_in(ours, name) else {
            continue;
        };
        let table = manifest::table(root, &["patch", key])?;
        if !table.contains_key(name) {
            table.insert(name, value(stand_in));
        }
    }
    let profiles = root.get_mut("profile").and_then(Item::as_table_like_mut);
    for (_, profile) in profiles
        .into_iter()
        .flat_map(|profiles| profiles.iter_mut())
    {
        let Some(profile) = profile.as_table_like_mut() else {
            continue;
        };
        let packages = profile.get_mut("package").and_then(Item::as_table_like_mut);
        remove(packages, |name, _| {
            is_gone(name) && !matches!(name, "cust" | "cust_raw" | "gpu_rand")
        });
        if profile.get("package").is_some_and(is_empty) {
            profile.remove("package");
        }
    }
    Ok(())
}

fn remove(table: Option<&mut dyn TableLike>, is_gone: impl Fn(&str, &Item) -> bool) {
    let Some(table) = table else {
        return;
    };
    let keys: Vec<String> = (table.iter().filter(|(key, item)| is_gone(key, item)))
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in keys {
        table.remove(&key);
    }
}

fn is_empty(item: &Item) -> bool {
    item.as_table_like().is_some_and(|table| table.is_empty())
}
