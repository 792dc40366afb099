//! The licences of what a program contains, as one text.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::ARCH;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::workspace;

/// How the names of licence files begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The beginning of the page: what no manifest states.
const HEAD: &str =
    "The command contains the Rust standard library (MIT OR Apache-2.0), glyphs of Noto Sans Mono
(SIL Open Font License 1.1), and these packages:

";

/// A third-party package.
struct Package {
    name: String,
    version: String,
    licence: String,
    authors: String,
    /// The licence texts in its folder.
    texts: Vec<String>,
}

/// The licences of the packages that the library or program of `package` is compiled from, each
/// text once, with the packages that have it.
pub(crate) fn of(package: &str) -> Result<String> {
    let metadata = metadata()?;
    let packages = needed(&metadata, package)?;
    ensure!(!packages.is_empty(), "{package} needs nothing?");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut page = HEAD.to_owned();
    for package in &packages {
        let Package {
            name,
            version,
            licence,
            ..
        } = package;
        let _ = writeln!(page, "{name} {version}: {licence}");
        for text in package.texts()? {
            texts
                .entry(text)
                .or_default()
                .push(format!("{name} {version}"));
        }
    }
    for (text, packages) in texts {
        let line = "=".repeat(80);
        let _ = write!(
            page,
            "\n{line}\n{}\n{line}\n\n{}\n",
            packages.join(", "),
            text.trim_end()
        );
    }
    Ok(page)
}

impl Package {
    /// Its own licence texts, or the standard text of its licence if it has none.
    fn texts(&self) -> Result<Vec<String>> {
        if !self.texts.is_empty() {
            return Ok(self.texts.clone());
        }
        let own = |name: &str| {
            let file = workspace::root().join(name);
            fs::read_to_string(&file).with_context(|| format!("{}", file.display()))
        };
        let words: Vec<_> = self.licence.split([' ', '/', '(', ')']).collect();
        if words.contains(&"Apache-2.0") {
            return Ok(vec![own("LICENSE-APACHE")?]);
        }
        if words.contains(&"MIT") {
            let text = own("LICENSE-MIT")?;
            let ours = text.lines().find(|line| line.starts_with("Copyright"));
            let theirs = format!("Copyright (c) {}", self.authors);
            return Ok(vec![text.replace(ours.context("no copyright")?, &theirs)]);
        }
        bail!(
            "{} {} ({}) has no file with its licence: put the text where licences.rs finds it",
            self.name,
            self.version,
            self.licence
        )
    }
}

fn metadata() -> Result<Value> {
    let output = workspace::cargo()
        .args(["metadata", "--locked", "--format-version=1"])
        .args(["--filter-platform", &format!("{}-unknown-linux-gnu", ARCH)])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", output.status);
    serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")
}

/// The third-party packages that `package` is compiled from, sorted by name.
fn needed(metadata: &Value, package: &str) -> Result<Vec<Package>> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let nodes = list(&metadata["resolve"]["nodes"]);
    let root = packages.iter().find(|it| it["name"] == package);
    let root = root.with_context(|| format!("no package {package}"))?;
    let mut seen = BTreeSet::new();
    let mut next = vec![root["id"].clone()];
    while let Some(id) = next.pop() {
        if !seen.insert(id.to_string()) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id);
        let dependencies = list(&node.context("a package is not resolved")?["deps"]);
        let normal = dependencies.into_iter().filter(|dependency| {
            let kinds = list(&dependency["dep_kinds"]);
            kinds.iter().any(|kind| kind["kind"].is_null())
        });
        next.extend(normal.map(|dependency| dependency["pkg"].clone()));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut others = Vec::new();
    for it in &packages {
        if it["source"].is_null() || !seen.contains(&it["id"].to_string()) {
            continue;
        }
        let authors: Vec<_> = list(&it["authors"]).iter().map(text).collect();
        let folder = text(&it["manifest_path"]);
        let folder = Path::new(&folder).parent().unwrap_or(Path::new(""));
        others.push(Package {
            name: text(&it["name"]),
            version: text(&it["version"]),
            licence: text(&it["license"]),
            authors: authors.join(", "),
            texts: texts(folder)?,
        });
    }
    others.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(others)
}

/// The licence texts in a package's folder.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is_one = |file: &&PathBuf| {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        file.is_file() && NAMES.iter().any(|start| name.starts_with(start))
    };
    let read =
        |file: &PathBuf| fs::read_to_string(file).with_context(|| format!("{}", file.display()));
    files.iter().filter(is_one).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_of_the_command_has_its_licence_and_each_text_is_there_once() {
        let page = of("blockwise_cli").unwrap();
        let (list, texts) = page.split_once("\n\n=").unwrap();
        let packages: Vec<_> = list.lines().skip(3).collect();
        for name in ["clap ", "cust ", "csv ", "half "] {
            assert!(
                packages.iter().any(|line| line.starts_with(name)),
                "{name}\n{list}"
            );
        }
        // Tests and build scripts are not in the program.
        for name in ["proptest ", "criterion ", "trybuild "] {
            assert!(!list.contains(name), "{name}");
        }
        let line = "=".repeat(80);
        let lines: Vec<_> = texts.lines().collect();
        let frames = lines.windows(2).filter(|pair| pair[1].ends_with(&line));
        let heads: Vec<_> = frames.map(|pair| format!(", {},", pair[0])).collect();
        for package in packages {
            let (name, licence) = package.split_once(": ").unwrap();
            let has = heads
                .iter()
                .any(|head| head.contains(&format!(", {name},")));
            assert!(!licence.is_empty() && has, "{package}\n{heads:#?}");
        }
    }

    #[test]
    fn a_package_without_its_licences_text_gets_the_usual_one_or_is_an_error() {
        let package = |licence: &str| Package {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            authors: "A. Author".to_owned(),
            texts: Vec::new(),
        };
        let texts = package("MIT OR Apache-2.0").texts().unwrap();
        assert!(texts[0].contains("Apache License"));
        let texts = package("MIT").texts().unwrap();
        assert!(texts[0].contains("Copyright (c) A. Author\n") && texts[0].contains("Permission"));
        let error = package("GPL-3.0").texts().unwrap_err().to_string();
        assert!(error.contains("a 1.0.0 (GPL-3.0) has no file"), "{error}");
    }
}
