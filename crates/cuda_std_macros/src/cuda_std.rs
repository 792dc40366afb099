//! How the crate being compiled names cuda_std.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

/// The packages with the library `cuda_std`: `blockwise_std`, and the one with rust-cuda's name.
const OWN_NAMES: [&str; 2] = ["blockwise_std", "cuda_std"];

/// The path; `None` if the crate does not depend on cuda_std itself.
pub(crate) fn path() -> Option<TokenStream> {
    // cuda_std's own tests and examples.
    if std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == OWN_NAMES[0]) {
        return Some(quote! { ::cuda_std });
    }
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let name = dependency(&manifest, || workspace_of(&folder))?;
    let name = Ident::new(&name.replace('-', "_"), Span::call_site());
    Some(quote! { ::#name })
}

/// Whether the package's build script embedded its PTX in the crate root. A doc example is a crate
/// of its own and has none.
pub(crate) fn has_embedded_kernels() -> bool {
    std::env::var_os("CUDA_STD_KERNELS").is_some()
        && std::env::var_os("UNSTABLE_RUSTDOC_TEST_PATH").is_none()
}

/// The text of the workspace's manifest: the package's own or one in a folder above it.
fn workspace_of(folder: &Path) -> Option<String> {
    folder.ancestors().find_map(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        (manifest.lines())
            .any(|line| line.trim_start().starts_with("[workspace"))
            .then_some(manifest)
    })
}

/// The name under which the manifest lists cuda_std.
fn dependency(manifest: &str, workspace: impl FnOnce() -> Option<String>) -> Option<String> {
    let own = dependencies(manifest, &["dependencies", "dev-dependencies"]);
    let is_cuda_std = |dependency: &&Dependency| {
        let package = dependency.package.as_ref().unwrap_or(&dependency.name);
        OWN_NAMES.contains(&&**package)
    };
    // Without `package = ".."` code uses the library's name, which is not the package's.
    let in_code = |dependency: &Dependency| match dependency.package {
        Some(_) => dependency.name.clone(),
        None => "cuda_std".to_owned(),
    };
    if let Some(found) = own.iter().find(is_cuda_std) {
        return Some(in_code(found));
    }
    // The workspace's manifest may rename it.
    let inherited: Vec<_> = own
        .iter()
        .filter(|dependency| dependency.inherited)
        .collect();
    if inherited.is_empty() {
        return None;
    }
    let shared = workspace()?;
    let shared = dependencies(&shared, &["dependencies"]);
    let of_name = |name: &str| {
        let mut found = shared.iter().filter(is_cuda_std);
        found.find(|dependency| dependency.name == name)
    };
    let found = inherited.iter().find_map(|one| of_name(&one.name))?;
    Some(in_code(found))
}

#[derive(Debug, Default, PartialEq)]
struct Dependency {
    name: String,
    /// `package = ".."`.
    package: Option<String>,
    /// `workspace = true`.
    inherited: bool,
}

/// The dependencies in tables whose last or next to last word is one of `tables`, for the usual
/// forms of a manifest: `name = ".."`, `name = { .. }`, `name.key = ..` and `[dependencies.name]`.
fn dependencies(manifest: &str, tables: &[&str]) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut table: Vec<String> = Vec::new();
    for line in manifest.lines() {
        let line = without_comment(line).trim();
        if let Some(header) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            table = words(header, '.');
            continue;
        }
        let is_table = |word: Option<&String>| word.is_some_and(|word| tables.contains(&&**word));
        let inside = match &table[..] {
            [.., last] if is_table(Some(last)) => None,
            [.., before, name] if is_table(Some(before)) => Some(name.clone()),
            _ => continue,
        };
        let Some((key, value)) = split_once(line, '=') else {
            continue;
        };
        let mut key = words(key, '.').into_iter();
        let Some(name) = inside.or_else(|| key.next()) else {
            continue;
        };
        if !found.iter().any(|dependency| dependency.name == name) {
            let name = name.clone();
            found.push(Dependency {
                name,
                ..Dependency::default()
            });
        }
        let Some(dependency) = found.iter_mut().find(|dependency| dependency.name == name) else {
            continue;
        };
        let value = value.trim();
        match key.next() {
            Some(key) => dependency.set(&key, value),
            None => {
                let list = value
                    .strip_prefix('{')
                    .unwrap_or_default()
                    .trim_end_matches('}');
                for pair in words(list, ',') {
                    if let Some((key, value)) = split_once(&pair, '=') {
                        dependency.set(key.trim(), value.trim());
                    }
                }
            }
        }
    }
    found
}

impl Dependency {
    fn set(&mut self, key: &str, value: &str) {
        match key {
            "package" => self.package = Some(value.trim_matches(['"', '\'']).to_owned()),
            "workspace" => self.inherited = value == "true",
            _ => {}
        }
    }
}

/// The parts between separators outside strings and brackets; for a key, without quotes.
fn words(text: &str, separator: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some((word, after)) = split_once(rest, separator) {
        words.push(word.trim().trim_matches(['"', '\'']).to_owned());
        rest = after;
    }
    words.push(rest.trim().trim_matches(['"', '\'']).to_owned());
    words
}

/// Splits at the first separator outside strings and brackets.
fn split_once(text: &str, separator: char) -> Option<(&str, &str)> {
    let (mut quote, mut depth) = (None, 0_i32);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = (open != c).then_some(open),
            (None, '"' | '\'') => quote = Some(c),
            (None, _) if c == separator && depth == 0 => {
                return Some((&text[..at], &text[at + c.len_utf8()..]));
            }
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn without_comment(line: &str) -> &str {
    split_once(line, '#').map_or(line, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use super::dependency;

    #[track_caller]
    fn check(manifest: &str, expected: Option<&str>) {
        let workspace = || {
            Some("[workspace.dependencies]\ngpu = { package = \"cuda_std\", version = \"0.2\" }\ncuda_std = \"0.2\"".to_owned())
        };
        assert_eq!(dependency(manifest, workspace).as_deref(), expected);
    }

    #[test]
    fn a_dependency_is_found_in_every_usual_form() {
        check("[dependencies]\ncuda_std = \"0.2\"", Some("cuda_std"));
        check(
            "[dependencies]\ncuda_std.workspace = true",
            Some("cuda_std"),
        );
        check(
            "[dependencies]\n cuda_std = { path = \"..\" } # the device's",
            Some("cuda_std"),
        );
        check(
            "[dependencies.cuda_std]\nversion = \"0.2\"",
            Some("cuda_std"),
        );
        check("[dev-dependencies]\ncuda_std = \"0.2\"", Some("cuda_std"));
        check(
            "[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\ncuda_std = \"0.2\"",
            Some("cuda_std"),
        );
        check(
            "[target.x.dependencies.cuda_std]\nversion = \"0.2\"",
            Some("cuda_std"),
        );
    }

    #[test]
    fn a_renamed_dependency_is_found() {
        check(
            "[dependencies]\ndevice = { version = \"0.2\", package = \"cuda_std\" }",
            Some("device"),
        );
        check(
            "[dependencies]\nmy-gpu = { features = [\"a\", \"b\"], package = 'cuda_std' }",
            Some("my-gpu"),
        );
        check(
            "[dependencies.device]\npackage = \"cuda_std\"",
            Some("device"),
        );
        check(
            "[dependencies]\ndevice.package = \"cuda_std\"\ndevice.path = \"..\"",
            Some("device"),
        );
        check("[dependencies]\ngpu.workspace = true", Some("gpu"));
        check(
            "[dependencies]\nother = \"1\"\ngpu = { workspace = true }",
            Some("gpu"),
        );
    }

    #[test]
    fn the_published_package_is_found_by_its_librarys_name() {
        let workspace = "[workspace.dependencies]\nblockwise_std = \"0.1\"\ngpu = { package = \"blockwise_std\", version = \"0.1\" }";
        for (manifest, expected) in [
            ("blockwise_std = \"0.1\"", Some("cuda_std")),
            (
                "blockwise_std = { version = \"0.1\", features = [\"half\"] }",
                Some("cuda_std"),
            ),
            (
                "cuda_std = { package = \"blockwise_std\", version = \"0.1\" }",
                Some("cuda_std"),
            ),
            (
                "device = { package = \"blockwise_std\", path = \"..\" }",
                Some("device"),
            ),
            ("blockwise_std.workspace = true", Some("cuda_std")),
            ("gpu.workspace = true", Some("gpu")),
            ("blockwise_std = { package = \"another\" }", None),
            ("blockwise_std_macros = \"0.1\"", None),
        ] {
            let manifest = format!("[dependencies]\n{manifest}");
            let found = dependency(&manifest, || Some(workspace.to_owned()));
            assert_eq!(found.as_deref(), expected, "{manifest}");
        }
    }

    #[test]
    fn what_is_something_else_is_not_found() {
        check("[dependencies]\nserde = \"1\"", None);
        check("[dependencies]\nserde.workspace = true", None);
        check("[dependencies]\n# cuda_std = \"0.2\"", None);
        check("[build-dependencies]\ncuda_std = \"0.2\"", None);
        check("[package]\nname = \"cuda_std\"", None);
        check("[features]\ncuda_std = []", None);
        check("[dependencies]\ncuda_std = { package = \"another\" }", None);
        check(
            "[dependencies]\nserde = { version = \"1\", features = [\"cuda_std\"] }",
            None,
        );
    }
}
