//! Where a project finds Blockwise: in a Git repository at one commit, in a registry, or in a
//! checkout on this machine.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use clap::Args;
use toml_edit::{DocumentMut, InlineTable};

use crate::Error;
use crate::address::without_secret;

/// The crates that a project's manifests refer to.
const CRATES: [&str; 4] = ["blockwise", "cuda_builder", "cuda_std", "find_cuda_helper"];

/// The repository that this program was installed from, as git noted it. Without a clone of cargo's,
/// the one that the packages name.
const URL: Option<&str> = option_env!("BLOCKWISE_GIT_URL");
const COMMIT: Option<&str> = option_env!("BLOCKWISE_GIT_COMMIT");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Whether this program was built from a registry's package.
pub const IS_PACKAGED: bool = option_env!("BLOCKWISE_PACKAGED").is_some();
/// Of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Those of the repository that this program was built from.
const LOCK_FILE: &str = include_str!(concat!(env!("OUT_DIR"), "/Cargo.lock"));
const TOOLCHAIN: &str = include_str!(concat!(env!("OUT_DIR"), "/rust-toolchain.toml"));

/// The commit that this program was built from, as far as it is known: not in a checkout, where the
/// sources may be others.
pub fn commit() -> Option<&'static str> {
    COMMIT.or(option_env!("BLOCKWISE_COMMIT"))
}

/// The repository and the commit that this program was installed from, if it was by `cargo install
/// --git`.
pub fn installed_from() -> Option<(String, &'static str)> {
    let (noted, commit) = URL.zip(COMMIT)?;
    let program = std::env::current_exe().ok();
    let asked_for = program.and_then(|program| {
        let list = program.ancestors().nth(2)?.join(".crates.toml");
        recorded(&fs::read_to_string(list).ok()?, commit)
    });
    Some((asked_for.unwrap_or_else(|| noted.to_owned()), commit))
}

/// The address as `cargo install` was given it, of the list that it keeps of what it has installed.
/// Git's note of it, all that a build script sees, differs where cargo fetches by the program `git`
/// (`net.git-fetch-with-cli`): no user, no `.git` at the end, and the settings' `insteadOf` applied.
fn recorded(list: &str, commit: &str) -> Option<String> {
    let list: DocumentMut = list.parse().ok()?;
    let entries = list.get("v1")?.as_table_like()?;
    let mut entries = entries.iter();
    entries.find_map(|(package, _)| {
        let (name, source) = package.split_once(" (git+")?;
        let (url, installed) = source.strip_suffix(')')?.rsplit_once('#')?;
        if !name.starts_with("blockwise_cli ") || installed != commit {
            return None;
        }
        let url = match url.rsplit_once('?') {
            Some((url, at)) if is_reference(at) => url,
            _ => url,
        };
        Some(without_secret(url))
    })
}

/// Whether this part of a package's address says what is taken of the repository.
fn is_reference(at: &str) -> bool {
    let key = at.split('=').next().unwrap_or_default();
    ["branch", "rev", "tag"].contains(&key)
}

/// Which Blockwise a project uses: the one that this program came from, unless something is given.
#[derive(Args, Clone, Debug, Default)]
pub struct Given {
    /// Take Blockwise from this Git repository, in place of the one that this program was installed
    /// from. Cargo.lock keeps the commit
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    pub git: Option<String>,
    /// Take it at this branch's newest commit
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["path", "rev", "tag"])]
    pub branch: Option<String>,
    /// Take it at this tag
    #[arg(long, value_name = "TAG", conflicts_with_all = ["path", "rev"])]
    pub tag: Option<String>,
    /// Take it at this commit
    #[arg(long, value_name = "COMMIT", conflicts_with = "path")]
    pub rev: Option<String>,
    /// Take it from this checkout: the project then builds on this machine only
    #[arg(long, value_name = "CHECKOUT")]
    pub path: Option<PathBuf>,
}

/// Where a project finds Blockwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A repository, and in it `branch`, `tag` or `rev` with its value, or the newest commit.
    Git {
        url: String,
        at: Option<(&'static str, String)>,
    },
    /// The registry from which this program's package came: crates.io, or what stands in for it.
    Registry,
    /// The absolute path of a checkout.
    Checkout(String),
}

impl Source {
    /// The given one, or the one that this program was installed or built from.
    pub(crate) fn find(given: &Given) -> Result<Self, Error> {
        let mut at = [
            ("branch", &given.branch),
            ("tag", &given.tag),
            ("rev", &given.rev),
        ]
        .into_iter();
        let at = at.find_map(|(key, value)| Some((key, value.clone()?)));
        if let Some(folder) = &given.path {
            return Self::checkout(folder, "is no checkout of Blockwise");
        }
        if let Some(url) = &given.git {
            return Self::git(url, at);
        }
        if let Some((url, commit)) = installed_from() {
            return Self::git(&url, at.or(Some(("rev", commit.to_owned()))));
        }
        if IS_PACKAGED && at.is_none() {
            return Ok(Self::Registry);
        }
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let built_from = built_from.unwrap_or(Path::new(""));
        match (&at, missing(built_from)) {
            (None, None) => Self::checkout(built_from, ""),
            _ if !REPOSITORY.is_empty() => Self::git(REPOSITORY, at),
            (Some((key, _)), _) => Err(Error::new(format!(
                "`--{key}` of which repository? This program was installed from none"
            ))
            .with_hint(format!("name it: `--git URL --{key} …`"))),
            (None, Some(_)) => {
                Self::checkout(built_from, "is gone, from which this program was built")
            }
        }
    }

    fn git(url: &str, at: Option<(&'static str, String)>) -> Result<Self, Error> {
        // As cargo reads it.
        let url = &url.trim().replace(' ', "%20");
        let address = |hint: &str| {
            Err(
                Error::new(format!("`{url}` is no address that cargo can fetch from"))
                    .with_hint(hint),
            )
        };
        if !url.contains("://") {
            return address(match url.split_once(':') {
                Some((user, _)) if user.contains('@') => {
                    "cargo wants `ssh://git@HOST/PATH` in place of `git@HOST:PATH`"
                }
                _ => "it begins with https://, ssh:// or file://; for a folder there is `--path`",
            });
        }
        let values = [
            Some(url.as_str()),
            at.as_ref().map(|(_, value)| value.as_str()),
        ];
        if values.into_iter().flatten().any(|text| !is_quotable(text)) {
            return address("without quotes and backslashes");
        }
        let url = url.clone();
        Ok(Self::Git { url, at })
    }

    fn checkout(folder: &Path, problem: &str) -> Result<Self, Error> {
        if let Some(missing) = missing(folder) {
            return Err(Error::new(format!(
                "{} {problem}: {} is not there",
                folder.display(),
                missing.display()
            ))
            .with_hint(
                "name a repository, `--git URL`, or the folder of a checkout, `--path CHECKOUT`",
            ));
        }
        let path = folder
            .canonicalize()
            .map_err(|error| Error::io("cannot find", folder, error))?;
        match path.to_str() {
            Some(text) if is_quotable(&text.replace(' ', "")) => {
                Ok(Self::Checkout(text.to_owned()))
            }
            _ => Err(Error::new(format!(
                "{} cannot be written into a manifest",
                path.display()
            ))
            .with_hint("move the checkout to a folder without quotes and backslashes in its path")),
        }
    }

    /// The entries of a dependency on one of its crates.
    pub(crate) fn dependency(&self, name: &str) -> InlineTable {
        let mut table = InlineTable::new();
        for (key, value) in self.entries(name) {
            table.insert(key, value.into());
        }
        table
    }

    fn entries(&self, name: &str) -> Vec<(&'static str, String)> {
        // The package's own name; code uses the library's, which is rust-cuda's.
        let package = name.strip_prefix("cuda_");
        let package = package.map(|part| ("package", format!("blockwise_{part}")));
        let mut entries: Vec<_> = package.into_iter().collect();
        match self {
            Self::Git { url, at } => {
                entries.push(("git", url.clone()));
                entries.extend(at.clone());
            }
            Self::Registry => entries.push(("version", VERSION.to_owned())),
            Self::Checkout(path) => entries.push(("path", format!("{path}/crates/{name}"))),
        }
        entries
    }

    /// Whether manifests replace `find_cuda_helper`; otherwise there are the files of `stub`.
    pub(crate) fn has_patch(&self) -> bool {
        *self != Self::Registry
    }

    /// A template's text with this source in place of `CHECKOUT`.
    pub(crate) fn fill(&self, template: &str) -> String {
        let mut text = template.to_owned();
        for name in CRATES {
            let entries = self.entries(name).into_iter();
            let entries: Vec<_> = entries
                .map(|(key, value)| format!("{key} = \"{value}\""))
                .collect();
            let place = format!("path = \"CHECKOUT/crates/{name}\"");
            text = text.replace(&place, &entries.join(", "));
        }
        match self {
            Self::Git { url, .. } => with_links_to(url, &text),
            Self::Registry => with_links_to("https://docs.rs/blockwise", &text),
            Self::Checkout(path) => text.replace("CHECKOUT", path),
        }
    }

    /// The repository's lock file: the versions that Blockwise is tested with. Cargo removes from it
    /// what a project does not need.
    pub(crate) fn lock_file(&self) -> String {
        self.file("Cargo.lock", LOCK_FILE)
    }

    /// The repository's rust-toolchain.toml. A package has no such file, and what it says.
    pub(crate) fn toolchain(&self) -> String {
        match self {
            Self::Registry => cuda_tools::tested::rust_toolchain(),
            _ => self.file("rust-toolchain.toml", TOOLCHAIN),
        }
    }

    fn file(&self, name: &str, embedded: &str) -> String {
        match self {
            Self::Git { .. } | Self::Registry => embedded.to_owned(),
            // A checkout may lack them; then cargo chooses.
            Self::Checkout(path) => {
                fs::read_to_string(Path::new(path).join(name)).unwrap_or_default()
            }
        }
    }

    /// The file that lists the projects which use it, if there is a place for one.
    pub(crate) fn projects(&self) -> Option<PathBuf> {
        match self {
            Self::Checkout(path) => Some(Path::new(path).join("target/projects")),
            Self::Registry => Some(cuda_tools::cache::folder()?.join("projects").join(VERSION)),
            Self::Git { url, at } => {
                let mut hasher = DefaultHasher::new();
                (url, at).hash(&mut hasher);
                let name = format!("{:016x}", hasher.finish());
                Some(cuda_tools::cache::folder()?.join("projects").join(name))
            }
        }
    }

    /// The checkout's folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Git { .. } | Self::Registry => None,
            Self::Checkout(path) => Some(Path::new(path)),
        }
    }

    /// For the user: what a project uses, and what follows from it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Git { .. } | Self::Registry => format!("it uses {self}"),
            Self::Checkout(path) => format!(
                "it uses the checkout {path} and builds on this machine only; `--git URL` names a \
                 repository instead"
            ),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Git { url, at: None } => f.write_str(url),
            Self::Git {
                url,
                at: Some((key, value)),
            } => write!(f, "{url} at {key} {value}"),
            Self::Registry => write!(f, "the registry's packages, version {VERSION}"),
            Self::Checkout(path) => f.write_str(path),
        }
    }
}

/// A text whose links into the checkout lead to this address: how a host shows files is its own matter.
fn with_links_to(url: &str, text: &str) -> String {
    let mut parts = text.split("(CHECKOUT/");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(')').unwrap_or(("", part));
        filled += &format!("({url}){rest}");
    }
    filled
}

/// A file that is in every checkout and not in this folder.
fn missing(folder: &Path) -> Option<PathBuf> {
    let manifests = CRATES.map(|name| folder.join("crates").join(name).join("Cargo.toml"));
    manifests.into_iter().find(|manifest| !manifest.is_file())
}

/// It is inserted between quotes, in TOML.
fn is_quotable(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\\');
    !text.is_empty() && !text.contains(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(url: &str) -> Given {
        Given {
            git: Some(url.to_owned()),
            ..Given::default()
        }
    }

    #[test]
    fn a_repository_is_named_with_its_commit_or_tag_and_no_path() {
        let url = "https://example.org/blockwise.git";
        let template = include_str!("../template/manifest.toml");
        for (given, expected) in [
            (git(url), format!("git = \"{url}\"")),
            (
                Given {
                    branch: Some("a/b".to_owned()),
                    ..git(url)
                },
                format!("git = \"{url}\", branch = \"a/b\""),
            ),
            (
                git("ssh://git@example.org/a b"),
                "git = \"ssh://git@example.org/a%20b\"".to_owned(),
            ),
            (
                Given {
                    tag: Some("v1".to_owned()),
                    ..git(url)
                },
                format!("git = \"{url}\", tag = \"v1\""),
            ),
            (
                Given {
                    rev: Some("0123abc".to_owned()),
                    ..git(url)
                },
                format!("git = \"{url}\", rev = \"0123abc\""),
            ),
        ] {
            let source = Source::find(&given).unwrap();
            let text = source.fill(template);
            assert_eq!(text.matches(&expected).count(), CRATES.len(), "{text}");
            assert!(
                !text.contains("path =") && !text.contains("CHECKOUT"),
                "{text}"
            );
            assert!(source.dependency("blockwise").to_string().contains("git ="));
            assert!(source.describe().contains("example.org/"));
            assert!(source.lock_file().contains("[[package]]"));
        }
    }

    #[test]
    fn a_registry_has_packages_of_other_names_than_their_libraries() {
        let source = Source::Registry;
        let manifest = source.fill(include_str!("../template/manifest.toml"));
        let manifest = crate::manifest::without_patch(&manifest).unwrap();
        for line in [
            "cuda_std = { package = \"blockwise_std\", version = \"VERSION\", default-features = false }\n",
            "blockwise = { version = \"VERSION\", features = [\"cuda\", \"emulator\"] }\n",
            "cuda_builder = { package = \"blockwise_builder\", version = \"VERSION\" }\n",
        ] {
            let line = line.replace("VERSION", VERSION);
            assert!(manifest.contains(&line), "{manifest}");
        }
        for left in ["patch", "find_cuda_helper", "cust", "path", "CHECKOUT"] {
            assert!(!manifest.contains(left), "{left}\n{manifest}");
        }
        assert!(!source.has_patch() && source.folder().is_none());
        // What a checkout has in its file.
        let pinned = |text: String| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_owned).collect()
        };
        let checkout = Source::find(&Given::default()).unwrap();
        assert_eq!(pinned(source.toolchain()), pinned(checkout.toolchain()));
    }

    #[test]
    fn a_checkout_builds_on_this_machine_only_and_says_so() {
        let source = Source::find(&Given::default()).unwrap();
        assert!(matches!(&source, Source::Checkout(path) if Path::new(path).is_absolute()));
        assert!(source.describe().contains("on this machine only"));
    }

    #[test]
    fn what_cargo_cannot_fetch_from_is_refused_with_what_it_can() {
        for (url, hint) in [
            ("git@example.org:a/b.git", "ssh://git@HOST/PATH"),
            ("../blockwise", "`--path`"),
            ("", "`--path`"),
            ("https://example.org/a\"b", "without quotes"),
            ("https://example.org/a\\b", "without quotes"),
        ] {
            let error = Source::find(&git(url)).unwrap_err();
            assert!(error.hint().unwrap().contains(hint), "{url}: {error:?}");
        }
        let tag = Given {
            tag: Some("v1".to_owned()),
            ..Given::default()
        };
        let error = Source::find(&tag).unwrap_err();
        assert!(error.hint().unwrap().contains("--git URL --tag"), "{error}");
    }

    #[test]
    fn the_address_is_the_one_that_cargo_was_given() {
        let commit = "2f840e3c0c1ecd9099d223fd84d160c2156c329f";
        let list = |package: &str, url: &str| {
            format!(
                "[v1]\n\"other 1.0.0 (git+https://a.b/other#{commit})\" = [\"other\"]\n\"{package} 0.1.0 ({url})\" = [\"blockwise\"]\n"
            )
        };
        for (url, expected) in [
            ("git+ssh://git@a.b/c.git#", "ssh://git@a.b/c.git"),
            ("git+ssh://git:secret@a.b:22/c#", "ssh://git@a.b:22/c"),
            (
                "git+https://me:secret@a.b/c.git?branch=x/y#",
                "https://a.b/c.git",
            ),
            ("git+https://a.b/c?rev=2f84#", "https://a.b/c"),
            ("git+https://a.b/c?d=e#", "https://a.b/c?d=e"),
            ("git+https://a.b/c?d=e&f=g?tag=v1#", "https://a.b/c?d=e&f=g"),
            (
                "git+file:///a%20of%20b/%C3%9F#",
                "file:///a%20of%20b/%C3%9F",
            ),
        ] {
            let list = list("blockwise_cli", &format!("{url}{commit}"));
            assert_eq!(recorded(&list, commit).as_deref(), Some(expected), "{list}");
            // Another was installed since, by the side.
            assert_eq!(recorded(&list, "0123"), None);
        }
        for (package, url) in [
            ("blockwise_cli", "registry+https://a.b/index"),
            ("blockwise_cli", "path+file:///a/b"),
            ("my_blockwise_cli", &format!("git+https://a.b/c#{commit}")),
        ] {
            assert_eq!(
                recorded(&list(package, url), commit),
                None,
                "{package} {url}"
            );
        }
        assert_eq!(recorded("no list", commit), None);
    }
}
