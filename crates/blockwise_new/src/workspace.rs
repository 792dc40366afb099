//! The workspace that a new project becomes a member of, and those that must leave it out.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use crate::source::Source;
use crate::write::Changes;
use crate::{Error, manifest};

const MANIFEST: &str = "Cargo.toml";

/// A workspace's root manifest with the new member in it, or leaving it out; not written yet.
pub(crate) struct Workspace {
    path: PathBuf,
    manifest: DocumentMut,
}

impl Workspace {
    /// The workspace that takes the folder for a member by a pattern, before anything is in it.
    pub(crate) fn naming(member: &Path, source: &Source) -> Result<Option<Self>, Error> {
        let names = |folder: &&Path| {
            let inner = inside(folder, member);
            inner.is_some_and(|inner| manifest::names(&root(folder), &inner))
        };
        let folder = member.ancestors().skip(1).find(names);
        folder
            .map(|folder| Self::with(folder, member, source))
            .transpose()
    }

    /// The workspaces that would take for a member what is none, and then build no more: a folder
    /// that is made on the way to the new one, or the new one itself, by a link among those of its
    /// path. `given` is that path, `is_joined` the workspace that has it for a member.
    pub(crate) fn leaving_out(
        given: &Path,
        is_joined: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Self>, Error> {
        let mut found: Vec<Self> = Vec::new();
        for folder in given.ancestors().skip(1) {
            if !folder.join(MANIFEST).is_file() || is_joined(&folder.join(MANIFEST)) {
                continue;
            }
            let mut manifest = root(folder);
            let added = leave_out(&mut manifest, folder, given, true);
            let path = folder.join(MANIFEST);
            if added.map_err(|problem| Error::new(format!("{}: {problem}", path.display())))? {
                found.push(Self { path, manifest });
            }
        }
        Ok(found)
    }

    /// The nearest workspace above the member's folder.
    pub(crate) fn around(member: &Path, source: &Source) -> Result<Self, Error> {
        let is_root = |folder: &&Path| {
            let text = fs::read_to_string(folder.join(MANIFEST)).unwrap_or_default();
            // One that cannot be read might be it: its error is said.
            let root: Option<DocumentMut> = text.parse().ok();
            root.is_none_or(|root| root.contains_key("workspace"))
        };
        let folder = member.ancestors().skip(1).find(is_root).ok_or_else(|| {
            Error::new(format!("{} is in no workspace", member.display())).with_hint(
                "write `[workspace]` into a Cargo.toml above it, or leave `--member` out",
            )
        })?;
        Self::with(folder, member, source)
    }

    fn with(folder: &Path, member: &Path, source: &Source) -> Result<Self, Error> {
        let path = folder.join(MANIFEST);
        let wrong = |problem: String| Error::new(format!("{}: {problem}", path.display()));
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let mut manifest: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| wrong(error.message().to_owned()))?;
        let inner = inside(folder, member);
        let inner = inner.ok_or_else(|| wrong("the member's path is not UTF-8".to_owned()))?;
        manifest::add_member(&mut manifest, &inner).map_err(wrong)?;
        leave_out(&mut manifest, folder, member, false).map_err(wrong)?;
        manifest::add_to_root(&mut manifest, source).map_err(wrong)?;
        Ok(Self { path, manifest })
    }

    /// The manifest's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the manifest to what is written.
    pub(crate) fn write(&self, changes: &mut Changes) -> Result<(), Error> {
        changes.replace(&self.path, &self.manifest.to_string())
    }
}

/// Excludes what the workspace would take for members on the way to a new folder, and the folder too
/// if it is none. Returns whether there is any.
fn leave_out(
    manifest: &mut DocumentMut,
    root: &Path,
    folder: &Path,
    and_itself: bool,
) -> Result<bool, String> {
    let on_the_way = folder.ancestors().skip(usize::from(!and_itself));
    let on_the_way = on_the_way.take_while(|it| *it != root && !it.exists());
    // The outer ones first, which cover the inner ones.
    let on_the_way: Vec<_> = on_the_way.filter_map(|it| inside(root, it)).collect();
    let mut is_changed = false;
    for path in on_the_way.iter().rev() {
        if manifest::names(manifest, path) {
            manifest::exclude(manifest, path)?;
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// The manifest in a folder; an empty one if there is none, or none that can be read.
fn root(folder: &Path) -> DocumentMut {
    let text = fs::read_to_string(folder.join(MANIFEST)).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// A member's path from the root, as manifests write it.
fn inside(root: &Path, member: &Path) -> Option<String> {
    let inner = member.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> = inner.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}
