//! Edits manifests, preserving everything else: comments, blank lines, order.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value, value};

use crate::source::Source;

/// The manifest key of host-only dependencies.
const HOST: &str = "'cfg(not(target_arch = \"nvptx64\"))'";

/// The package in the place of what looks for a CUDA toolkit, and the feature that only it has:
/// cargo's error where a root manifest lacks the patch.
const STAND_IN: (&str, &str) = (
    "find_cuda_helper",
    "repeat-patch.crates-io-of-its-Cargo.toml-in-the-root-manifest",
);

/// Why a manifest cannot be changed.
type Obstacle = String;

/// Adds what a package with its own kernels needs. Returns the changes, one per line.
pub(crate) fn add_kernels(
    manifest: &mut DocumentMut,
    name: &str,
    source: &Source,
) -> Result<Vec<String>, Obstacle> {
    let mut changes = Vec::new();
    let package = table(manifest, &["package"])?;
    if !package.contains_key("links") {
        let links = format!("{}_kernels", crate::name::in_code(name));
        changes.push(format!(
            "[package] links = \"{links}\": by this name the device's build passes over build.rs"
        ));
        package.insert("links", value(links));
    }
    if package.get("build").and_then(Item::as_bool) == Some(false) {
        package.remove("build");
        changes.push("[package] build = false: gone, build.rs compiles the kernels".to_owned());
    }
    let moved = move_dependencies(manifest)?;
    if !moved.is_empty() {
        changes.push(format!(
            "[dependencies] is [target.{HOST}.dependencies] now ({}): a dependency of the device's build must need no `std`",
            moved.join(", ")
        ));
    }
    let mut std = source.dependency("cuda_std");
    std.insert("default-features", false.into());
    let mut runtime = source.dependency("blockwise");
    runtime.insert("features", Value::from_iter(["cuda", "emulator"]));
    let builder = source.dependency("cuda_builder");
    let host = ["target", HOST, "dependencies"];
    let mut added = vec![
        (&["dependencies"][..], "cuda_std", std),
        (&host, "blockwise", runtime),
        (&["build-dependencies"], "cuda_builder", builder),
    ];
    if source.has_patch() {
        let mut stand_in = InlineTable::from_iter([("version", "0.2")]);
        stand_in.insert("features", Value::from_iter([STAND_IN.1]));
        added.push((&["build-dependencies"], STAND_IN.0, stand_in));
    }
    for (path, name, dependency) in added {
        let table = table(manifest, path)?;
        if !table.contains_key(name) {
            table.insert(name, value(dependency));
            changes.push(format!("[{}] {name}", path.join(".")));
        }
    }
    Ok(changes)
}

/// Adds what only the root manifest of a workspace can contain.
pub(crate) fn add_to_root(
    root: &mut DocumentMut,
    source: &Source,
) -> Result<Vec<String>, Obstacle> {
    let mut changes = Vec::new();
    for (package, settings) in [
        (
            "ptx_emulator",
            &[("opt-level", 2), ("codegen-units", 16), ("debug", 0)][..],
        ),
        ("blockwise_builder", &[("opt-level", 1), ("debug", 0)]),
    ] {
        let path = ["profile", "dev", "package", package];
        let table = table(root, &path)?;
        if table.is_empty() {
            for (key, number) in settings {
                table.insert(key, value(*number));
            }
            changes.push(format!(
                "[{}]: optimised, so that tests are quick",
                path.join(".")
            ));
        }
    }
    if !source.has_patch() {
        return Ok(changes);
    }
    let patch = table(root, &["patch", "crates-io"])?;
    let name = STAND_IN.0;
    if !patch.contains_key(name) {
        patch.insert(name, value(source.dependency(name)));
        changes.push(format!(
            "[patch.crates-io] {name}: GPUs are used without a CUDA toolkit"
        ));
    }
    Ok(changes)
}

/// The template's manifest without what only the root manifest of a workspace can contain.
pub(crate) fn of_member(text: &str) -> Result<String, Obstacle> {
    let mut manifest: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    for table in ["workspace", "profile", "patch"] {
        manifest.remove(table);
    }
    Ok(manifest.to_string())
}

/// The template's manifest for a source without a patch.
pub(crate) fn without_patch(text: &str) -> Result<String, Obstacle> {
    let mut manifest: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    manifest.remove("patch");
    table(&mut manifest, &["build-dependencies"])?.remove(STAND_IN.0);
    Ok(manifest.to_string())
}

/// Adds a member by its path from the root, unless a pattern names it already.
pub(crate) fn add_member(root: &mut DocumentMut, path: &str) -> Result<(), Obstacle> {
    if names(root, path) {
        return Ok(());
    }
    add_to_list(root, "members", path)
}

/// Leaves out what is in this folder.
pub(crate) fn exclude(root: &mut DocumentMut, path: &str) -> Result<(), Obstacle> {
    add_to_list(root, "exclude", path)
}

fn add_to_list(root: &mut DocumentMut, name: &str, path: &str) -> Result<(), Obstacle> {
    let workspace = table(root, &["workspace"])?;
    let list = workspace.entry(name).or_insert(value(Array::new()));
    let list = list
        .as_array_mut()
        .ok_or_else(|| format!("`workspace.{name}` is no array"))?;
    list.push(path);
    Ok(())
}

/// Whether cargo takes the folder of this path from the root for a member, by a name or a pattern.
pub(crate) fn names(root: &DocumentMut, path: &str) -> bool {
    let list = |key| -> Vec<&str> {
        let list = root.get("workspace").and_then(|table| table.get(key));
        let list = list.and_then(Item::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(plain).collect()
    };
    let below = |folder: &&str| {
        let rest = path.strip_prefix(*folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let members = list("members");
    // As cargo has it: a member's name beats `exclude`, a pattern does not.
    if list("exclude").iter().any(below) && !members.iter().any(below) {
        return false;
    }
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::new()
    };
    let matches = |pattern: &&str| {
        *pattern == path
            || glob::Pattern::new(pattern).is_ok_and(|it| it.matches_with(path, options))
    };
    members.iter().any(matches)
}

/// `./tools/` is `tools`.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("./").unwrap_or(path)
}

/// Makes all dependencies host-only, together with their comments. Returns their names.
fn move_dependencies(manifest: &mut DocumentMut) -> Result<Vec<String>, Obstacle> {
    let names = |table: &dyn TableLike| -> Vec<String> {
        table.iter().map(|(name, _)| name.to_owned()).collect()
    };
    let own = |name: &String| name == "cuda_std";
    let old = manifest.get("dependencies").and_then(Item::as_table_like);
    let moved = old.map(names).unwrap_or_default();
    if moved.iter().all(own) {
        return Ok(Vec::new());
    }
    let Some(old) = manifest.remove("dependencies") else {
        return Ok(Vec::new());
    };
    let path = ["target", HOST];
    let parent = table_or_parent(manifest, &path, path.len() + 1)?;
    let entries = match parent.get_mut("dependencies") {
        None => {
            parent.insert("dependencies", old);
            return Ok(moved);
        }
        Some(entries) => entries,
    };
    let (Some(entries), Ok(old)) = (entries.as_table_like_mut(), old.into_table()) else {
        return Err(obstacle(&["target", HOST, "dependencies"]));
    };
    for (name, dependency) in old {
        entries.insert(&name, dependency);
    }
    Ok(moved)
}

/// The table at this path; created if necessary, with a blank line before it.
pub(crate) fn table<'a>(
    document: &'a mut DocumentMut,
    path: &[&str],
) -> Result<&'a mut dyn TableLike, Obstacle> {
    table_or_parent(document, path, path.len())
}

/// Like [`table`]; of newly created tables, those from this depth on have their own header.
fn table_or_parent<'a>(
    document: &'a mut DocumentMut,
    path: &[&str],
    headers: usize,
) -> Result<&'a mut dyn TableLike, Obstacle> {
    // Tables are written in the order of their positions, which count the headers. One without a
    // position follows its neighbour: the new `[dependencies]` follows the existing one.
    let end = document.to_string().lines().count();
    let position = isize::try_from(end)
        .ok()
        .filter(|_| path != ["dependencies"]);
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (at, name) in path.iter().enumerate() {
        let key: Key = name.parse().map_err(|_| obstacle(path))?;
        let item = table.entry_format(&key).or_insert_with(|| {
            let mut new = Table::new();
            new.set_implicit(at + 1 < headers);
            new.set_position(position);
            new.decor_mut().set_prefix("\n");
            Item::Table(new)
        });
        table = item.as_table_like_mut().ok_or_else(|| obstacle(path))?;
    }
    Ok(table)
}

fn obstacle(path: &[&str]) -> Obstacle {
    format!("`{}` is no table", path.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn edited(text: &str) -> (String, Vec<String>) {
        let mut manifest: DocumentMut = text.parse().unwrap();
        let source = Source::Checkout("…".to_owned());
        let mut changes = add_kernels(&mut manifest, "wave-tool", &source).unwrap();
        changes.extend(add_to_root(&mut manifest, &source).unwrap());
        let text = manifest.to_string();
        (text, changes)
    }

    #[test]
    fn comments_and_blank_lines_stay() {
        let (text, changes) = edited(
            "# A tool.\n[package]\nname = \"wave-tool\" # its name\n\n# Its version.\nversion = \"0.1.0\"\n\n\
             # What it uses.\n[dependencies]\n# For input.\nserde = \"1\" # any\n\n[dependencies.rand]\nversion = \"0.9\"\n\n\n\
             # Builds.\n[build-dependencies]\ncc = \"1\"\n\n[profile.dev.package.ptx_emulator]\nopt-level = 3\n\n# The end.\n",
        );
        assert_eq!(
            text,
            "# A tool.\n[package]\nname = \"wave-tool\" # its name\n\n# Its version.\nversion = \"0.1.0\"\nlinks = \"wave_tool_kernels\"\n\n\
             # What it uses.\n[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\n# For input.\nserde = \"1\" # any\n\
             blockwise = { path = \"…/crates/blockwise\", features = [\"cuda\", \"emulator\"] }\n\n\
             [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies.rand]\nversion = \"0.9\"\n\n\
             [dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\", default-features = false }\n\n\n\
             # Builds.\n[build-dependencies]\ncc = \"1\"\ncuda_builder = { package = \"blockwise_builder\", path = \"…/crates/cuda_builder\" }\n\
             find_cuda_helper = { version = \"0.2\", features = [\"repeat-patch.crates-io-of-its-Cargo.toml-in-the-root-manifest\"] }\n\n\
             [profile.dev.package.ptx_emulator]\nopt-level = 3\n\n[profile.dev.package.blockwise_builder]\nopt-level = 1\ndebug = 0\n\n\
             [patch.crates-io]\nfind_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\n\n# The end.\n"
        );
        assert_eq!(changes.len(), 8, "{changes:#?}");
        // The second call has nothing to do.
        assert_eq!(
            edited(&text.replace('…', "/checkout")).1,
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_member_is_named_once() {
        for (before, after) in [
            (
                "[workspace]\n",
                "[workspace]\nmembers = [\"tools/waves\"]\n",
            ),
            (
                "[workspace]\nmembers = [\"a\"] # mine\n",
                "[workspace]\nmembers = [\"a\", \"tools/waves\"] # mine\n",
            ),
        ] {
            let mut root: DocumentMut = before.parse().unwrap();
            for _ in 0..2 {
                add_member(&mut root, "tools/waves").unwrap();
                assert_eq!(root.to_string(), after);
            }
        }
        let pattern = "[workspace]\nmembers = [\"tools/*\"]\n";
        let mut root: DocumentMut = pattern.parse().unwrap();
        add_member(&mut root, "tools/waves").unwrap();
        assert_eq!(root.to_string(), pattern);
        add_member(&mut root, "waves").unwrap();
        assert!(root.to_string().contains("\"waves\""), "{root}");
        let mut odd: DocumentMut = "[workspace]\nmembers = 3\n".parse().unwrap();
        assert!(add_member(&mut odd, "a").is_err());
    }

    #[test]
    fn a_workspace_names_what_cargo_takes_for_its_members() {
        for (members, exclude, path, expected) in [
            (r#"["*"]"#, "[]", "demo", true),
            (r#"["*"]"#, "[]", "tools/demo", false),
            (r#"["tools/*"]"#, "[]", "tools/demo", true),
            (r#"["tools/*"]"#, "[]", "tools/deep/demo", false),
            (r#"["./tools/*/"]"#, "[]", "tools/demo", true),
            (r#"["**"]"#, "[]", "tools/deep/demo", true),
            (r#"["tools/d[ae]mo"]"#, "[]", "tools/demo", true),
            (r#"["tools/?emo"]"#, "[]", "tools/demo", true),
            (r#"["tools/[!d]*"]"#, "[]", "tools/demo", false),
            (r#"["*/demo"]"#, "[]", "tools/demo", true),
            (r#"["tools"]"#, "[]", "tools/demo", false),
            (r#"["tools/demo"]"#, "[]", "tools/demo", true),
            (r#"["tools/*"]"#, r#"["tools/demo"]"#, "tools/demo", false),
            (r#"["tools/*"]"#, r#"["./tools/"]"#, "tools/demo", false),
            (r#"["tools/*"]"#, r#"["tools/dem"]"#, "tools/demo", true),
            (r#"["tools/demo"]"#, r#"["tools"]"#, "tools/demo", true),
            (r#"["tools/["]"#, "[]", "tools/demo", false),
        ] {
            let text = format!("[workspace]\nmembers = {members}\nexclude = {exclude}\n");
            let root: DocumentMut = text.parse().unwrap();
            assert_eq!(names(&root, path), expected, "{text}{path}");
        }
        let none: DocumentMut = "[package]\nname = \"a\"\n".parse().unwrap();
        assert!(!names(&none, "demo"));
    }

    #[test]
    fn what_is_there_already_is_used() {
        let (text, changes) = edited(
            "[package]\nname = \"a\"\nversion = \"1.0.0\"\nlinks = \"mine\"\n[dependencies]\nlibc = \"1\"\n\
             [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\nlog = \"1\"\n[patch.crates-io]\nlog = { path = \"x\" }\n",
        );
        assert!(
            text.contains("links = \"mine\"") && !text.contains("wave_tool"),
            "{text}"
        );
        assert!(
            text.contains(".dependencies]\nlog = \"1\"\nlibc = \"1\"\nblockwise = "),
            "{text}"
        );
        assert!(
            text.contains("log = { path = \"x\" }\nfind_cuda_helper = "),
            "{text}"
        );
        assert!(
            changes.iter().any(|change| change.contains("(libc)")),
            "{changes:#?}"
        );
        let mut odd: DocumentMut = "package = 3".parse().unwrap();
        let source = Source::Checkout("…".to_owned());
        assert_eq!(
            add_kernels(&mut odd, "a", &source),
            Err("`package` is no table".to_owned())
        );
    }
}
