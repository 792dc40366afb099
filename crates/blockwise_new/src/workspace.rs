//! The workspace that a new project becomes a member of.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use crate::Error;
use crate::checkout::Checkout;
use crate::manifest;

/// A workspace's root manifest with the new member in it, not written yet.
pub(crate) struct Workspace {
    path: PathBuf,
    manifest: DocumentMut,
}

impl Workspace {
    /// The nearest workspace above the member's folder.
    pub(crate) fn around(member: &Path, checkout: &Checkout) -> Result<Self, Error> {
        for folder in member.ancestors().skip(1) {
            let path = folder.join("Cargo.toml");
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let wrong = |problem: String| Error::new(format!("{}: {problem}", path.display()));
            let mut manifest: DocumentMut = text
                .parse()
                .map_err(|error: toml_edit::TomlError| wrong(error.message().to_owned()))?;
            if !manifest.contains_key("workspace") {
                continue;
            }
            let parts: Option<Vec<&str>> = member
                .strip_prefix(folder)
                .ok()
                .and_then(|inner| inner.iter().map(|part| part.to_str()).collect());
            let parts = parts.ok_or_else(|| wrong("the member's path is not UTF-8".to_owned()))?;
            manifest::add_member(&mut manifest, &parts.join("/")).map_err(wrong)?;
            manifest::add_to_root(&mut manifest, checkout).map_err(wrong)?;
            return Ok(Self { path, manifest });
        }
        let message = format!("{} is in no workspace", member.display());
        Err(Error::new(message)
            .with_hint("write `[workspace]` into a Cargo.toml above it, or leave `--member` out"))
    }

    /// Writes the manifest; returns its path.
    pub(crate) fn write(self) -> Result<PathBuf, Error> {
        fs::write(&self.path, self.manifest.to_string())
            .map_err(|error| Error::io("cannot write", &self.path, error))?;
        Ok(self.path)
    }
}
