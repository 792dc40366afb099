//! One dependency in a manifest.

use toml_edit::{Array, InlineTable, Item, Key, Value, value};

use crate::source::Source;

/// The keys that say where a dependency comes from.
const SOURCE: [&str; 10] = [
    "version",
    "path",
    "git",
    "branch",
    "tag",
    "rev",
    "registry",
    "registry-index",
    "base",
    "package",
];

/// The package in place of `cust`.
pub(super) const CUST: &str = "blockwise_cust";

/// What the packages in place of rust-cuda's are called.
pub(super) const OURS: [&str; 4] = [
    "blockwise_std",
    "blockwise_std_macros",
    "blockwise_builder",
    CUST,
];

/// Features of packages here; others are removed.
const FEATURES: [(&str, &[&str]); 3] = [
    (
        "cuda_std",
        &["glam", "glam_0_22", "half", "vek", "vek_indices"],
    ),
    (
        "cuda_builder",
        &["rustc_codegen_nvvm", "codegen-backend", "llvm19"],
    ),
    (
        "cust",
        &[
            "bytemuck",
            "impl_glam",
            "impl_half",
            "impl_mint",
            "impl_num_complex",
            "impl_vek",
        ],
    ),
];

/// Where a manifest says that a dependency comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum From {
    /// crates.io or another registry, with the requirement.
    Registry(String),
    /// A repository's URL.
    Git(String),
    Path(String),
    /// `[workspace.dependencies]`.
    Workspace,
}

/// A dependency's package and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) package: String,
    pub(super) from: From,
}

impl Entry {
    pub(super) fn read(key: &str, item: &Item) -> Self {
        let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
        let is_inherited = item.get("workspace").and_then(Item::as_bool) == Some(true);
        let from = if is_inherited {
            From::Workspace
        } else if let Some(url) = text("git") {
            From::Git(url)
        } else if let Some(path) = text("path") {
            From::Path(path)
        } else {
            let version = item.as_str().map(str::to_owned).or_else(|| text("version"));
            From::Registry(version.unwrap_or_default())
        };
        Self {
            package: text("package").unwrap_or_else(|| key.to_owned()),
            from,
        }
    }

    pub(super) fn is_published(&self) -> bool {
        matches!(self.from, From::Registry(_))
    }
}

/// The first two numbers of a requirement; `None` if it has none or is open.
pub(super) fn series(requirement: &str) -> Option<(u32, u32)> {
    let requirement = requirement.trim();
    if requirement.starts_with(['>', '<', '*']) {
        return None;
    }
    let mut numbers = requirement
        .trim_start_matches(['^', '=', '~', ' '])
        .split(['.', '-', ',']);
    let first = numbers.next()?.parse().ok()?;
    let second = numbers.next().map_or(Some(0), |number| number.parse().ok());
    Some((first, second.unwrap_or(0)))
}

/// Whether a dependency has this source already.
pub(super) fn is_set(item: &Item, source: &InlineTable) -> bool {
    let is_same = |(key, value): (&str, &Value)| {
        (item.get(key).and_then(Item::as_str)).is_some_and(|text| Some(text) == value.as_str())
    };
    !item.is_str() && source.iter().all(is_same)
}

/// The source of a package of ours.
pub(super) fn ours(source: &Source, name: &str) -> InlineTable {
    let from = source.dependency(name);
    if from.contains_key("package") {
        return from;
    }
    let mut table = InlineTable::from_iter([("package", Value::from(name))]);
    table.extend(from.iter().map(|(key, value)| (key, value.clone())));
    table
}

/// What a patch puts in the place of a package of rust-cuda: packages with their names, which no
/// registry has.
pub(super) fn stand_in(source: &Source, name: &str) -> Option<InlineTable> {
    match source {
        _ if name == "find_cuda_helper" => source.has_patch().then(|| source.dependency(name)),
        Source::Checkout(path) => {
            let path = format!("{path}/rust_cuda/{name}");
            Some(InlineTable::from_iter([("path", Value::from(path))]))
        }
        Source::Git { url, at } => {
            let mut table = InlineTable::from_iter([("git", Value::from(url))]);
            table.extend(at.as_ref().map(|(key, value)| (*key, Value::from(value))));
            Some(table)
        }
        Source::Registry => None,
    }
}

/// The oldest versions of other people's packages that the packages here build with, as far as old
/// projects pin older ones: rust-cuda's compiler took no newer.
const OLDEST: [(&str, &str); 7] = [
    ("libc", "0.2.168"),
    ("once_cell", "1.12.0"),
    ("proc-macro2", "1.0.91"),
    ("quote", "1.0.35"),
    ("serde", "1.0.220"),
    ("serde_derive", "1.0.220"),
    ("tempfile", "3.10.0"),
];

/// Turns a requirement of exactly one version into one of this or newer ones, if it is too old for
/// the packages here. Returns the version.
pub(super) fn unpin(entry: &Entry, item: &mut Item) -> Option<String> {
    let From::Registry(requirement) = &entry.from else {
        return None;
    };
    let pinned = requirement.trim().strip_prefix('=')?.trim().to_owned();
    let (_, oldest) = OLDEST.iter().find(|(name, _)| *name == entry.package)?;
    let is_too_old = series(&pinned)?.0 == series(oldest)?.0
        && cuda_tools::Version::parse(&pinned)? < cuda_tools::Version::parse(oldest)?;
    let text = match item {
        Item::Value(Value::String(_)) => item.as_value_mut(),
        _ => item
            .as_table_like_mut()
            .and_then(|table| table.get_mut("version")?.as_value_mut()),
    };
    let text = text.filter(|_| is_too_old)?;
    let decor = text.decor().clone();
    *text = pinned.as_str().into();
    *text.decor_mut() = decor;
    Some(pinned)
}

/// A version of a registry's package.
pub(super) fn published(version: &str) -> InlineTable {
    InlineTable::from_iter([("version", Value::from(version))])
}

/// Gives a dependency another source. Its features, its name in code and its comments stay.
pub(super) fn set(key: &str, item: &mut Item, source: InlineTable) {
    // A package keeps the name that the code has for it.
    let package = Entry::read(key, item).package;
    let mut source = source;
    let is_renamed = package != key && !source.contains_key("package");
    if is_renamed {
        source.insert("package", package.into());
    }
    match item {
        Item::Table(table) => {
            let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
            let mut rest = Vec::new();
            let mut comment = None;
            for key in keys {
                let Some((key, entry)) = table.remove_entry(&key) else {
                    continue;
                };
                if SOURCE.contains(&key.get()) {
                    // What is said of the old source is kept above the new one.
                    comment = comment.or_else(|| key.leaf_decor().prefix().cloned());
                } else {
                    rest.push((key, entry));
                }
            }
            for (key, entry) in &source {
                let mut key = Key::new(key);
                if let Some(comment) = comment.take() {
                    key.leaf_decor_mut().set_prefix(comment);
                }
                table.insert_formatted(&key, value(entry.clone()));
            }
            for (key, entry) in rest {
                table.insert_formatted(&key, entry);
            }
        }
        Item::Value(old) => {
            let rest = old.as_inline_table().cloned().unwrap_or_default();
            for (key, entry) in rest.iter().filter(|(key, _)| !SOURCE.contains(key)) {
                let mut entry = entry.clone();
                entry.decor_mut().clear();
                source.insert(key, entry);
            }
            let version = source.get("version").filter(|_| source.len() == 1).cloned();
            let mut new = version.unwrap_or_else(|| source.into());
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        _ => {}
    }
}

/// Removes features that the package here lacks; returns their names.
pub(super) fn remove_features(package: &str, item: &mut Item) -> Vec<String> {
    let known = FEATURES.iter().find(|(name, _)| *name == package);
    // `Item::get_mut` would leave an entry without a value.
    let list = item.as_table_like_mut();
    let list = list.and_then(|table| table.get_mut("features")?.as_array_mut());
    let (Some((_, known)), Some(list)) = (known, list) else {
        return Vec::new();
    };
    let is_known = |feature: &Value| {
        (feature.as_str()).is_none_or(|name| name == "default" || known.contains(&name))
    };
    let removed = (list.iter())
        .filter(|feature| !is_known(feature))
        .filter_map(Value::as_str);
    let removed: Vec<String> = removed.map(str::to_owned).collect();
    list.retain(is_known);
    if list.is_empty() && !removed.is_empty() {
        remove_key(item, "features");
    }
    removed
}

/// Adds a feature, unless it is there.
pub(super) fn add_feature(item: &mut Item, feature: &str) {
    let Some(table) = item.as_table_like_mut() else {
        return;
    };
    let is_new = !table.contains_key("features");
    let list = table.entry("features").or_insert(value(Array::new()));
    let list = list.as_array_mut();
    if let Some(list) =
        list.filter(|list| !list.iter().any(|other| other.as_str() == Some(feature)))
    {
        list.push(feature);
    }
    if is_new {
        tidy(item);
    }
}

/// rust-cuda's `cuda_std` has no default features, so `default-features = false` removed nothing.
pub(super) fn keep_defaults(item: &mut Item) {
    for key in ["default-features", "default_features"] {
        if item.get(key).and_then(Item::as_bool) == Some(false) {
            remove_key(item, key);
        }
    }
}

fn remove_key(item: &mut Item, key: &str) {
    if let Some(table) = item.as_table_like_mut() {
        table.remove(key);
    }
    tidy(item);
}

/// The last entry of an inline table has the space before its brace.
fn tidy(item: &mut Item) {
    if let Some(table) = item.as_inline_table_mut() {
        table.fmt();
    }
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[track_caller]
    fn changed(text: &str, change: impl Fn(&mut Item)) -> String {
        let mut document: DocumentMut = text.parse().unwrap();
        change(
            document
                .get_mut("dependencies")
                .unwrap()
                .get_mut("a")
                .unwrap(),
        );
        document.to_string()
    }

    #[test]
    fn a_source_is_replaced_and_all_else_stays() {
        let source = || InlineTable::from_iter([("path", Value::from("/x"))]);
        for (before, after) in [
            (
                "[dependencies]\na = \"0.2\" # why\nb = \"1\"\n",
                "[dependencies]\na = { path = \"/x\" } # why\nb = \"1\"\n",
            ),
            (
                "[dependencies]\na = { git = \"u\", rev = \"1\", features = [\"f\"], optional = true }\n",
                "[dependencies]\na = { path = \"/x\", features = [\"f\"], optional = true }\n",
            ),
            (
                "[dependencies.a]\n# Where.\ngit = \"u\"\nrev = \"1\"\noptional = true\n",
                "[dependencies.a]\n# Where.\npath = \"/x\"\noptional = true\n",
            ),
            (
                "[dependencies]\na.version = \"0.2\"\na.optional = true\n",
                "[dependencies]\na.path = \"/x\"\na.optional = true\n",
            ),
            (
                "[dependencies]\na = { package = \"cuda_std\", version = \"0.2\" }\n",
                "[dependencies]\na = { path = \"/x\", package = \"cuda_std\" }\n",
            ),
        ] {
            assert_eq!(changed(before, |item| set("a", item, source())), after);
            assert_eq!(
                changed(after, |item| assert!(is_set(item, &source()))),
                after
            );
        }
        assert_eq!(
            changed("[dependencies]\na = { path = \"../a\" }\n", |item| set(
                "a",
                item,
                published("0.1")
            )),
            "[dependencies]\na = \"0.1\"\n"
        );
    }

    #[test]
    fn features_are_removed_and_added() {
        let before = "[dependencies]\na = { path = \"x\", features = [\"impl_glam\", \"new\"] }\n";
        let after = changed(before, |item| {
            assert_eq!(remove_features("cust", item), ["new"])
        });
        assert_eq!(
            after,
            "[dependencies]\na = { path = \"x\", features = [\"impl_glam\"] }\n"
        );
        let before = "[dependencies]\na = { path = \"x\", features = [\"new\"] }\n";
        let after = changed(before, |item| drop(remove_features("cust", item)));
        assert_eq!(after, "[dependencies]\na = { path = \"x\" }\n");
        let after = changed(&after, |item| {
            assert!(remove_features("cuda_std", item).is_empty());
            add_feature(item, "vek_indices");
        });
        assert_eq!(
            after,
            "[dependencies]\na = { path = \"x\", features = [\"vek_indices\"] }\n"
        );
        assert_eq!(
            changed(&after, |item| add_feature(item, "vek_indices")),
            after
        );
        let after = changed("[dependencies]\na.workspace = true\n", |item| {
            add_feature(item, "f")
        });
        assert_eq!(
            after,
            "[dependencies]\na.workspace = true\na.features = [\"f\"]\n"
        );
        let after = changed(
            "[dependencies]\na = { path = \"x\", default-features = false }\n",
            keep_defaults,
        );
        assert_eq!(after, "[dependencies]\na = { path = \"x\" }\n");
    }

    #[test]
    fn a_requirement_names_a_series() {
        for (text, expected) in [
            ("0.30.1", Some((0, 30))),
            ("^0.3", Some((0, 3))),
            ("= 1", Some((1, 0))),
            ("0.2.0-rc.1", Some((0, 2))),
            (">=0.22", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(series(text), expected, "{text}");
        }
    }
}
