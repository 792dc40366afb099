//! Lock files.

/// What a lock file has of one package.
pub(super) struct Locked<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    /// Where it was fetched from; a local package has none.
    pub(super) source: Option<&'a str>,
    /// Names, some with a version.
    dependencies: Vec<&'a str>,
    text: &'a str,
}

impl Locked<'_> {
    pub(super) fn needs(&self, name: &str) -> bool {
        (self.dependencies.iter()).any(|other| other.split(' ').next() == Some(name))
    }
}

/// The packages of a lock file.
pub(super) fn packages(text: &str) -> impl Iterator<Item = Locked<'_>> {
    blocks(text).filter_map(|block| {
        let value = |key: &str| {
            let mut lines = block.lines();
            let line = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"'))
        };
        let listed = block.lines().filter(|line| line.starts_with(" \""));
        Some(Locked {
            name: value("name")?,
            version: value("version")?,
            source: value("source"),
            dependencies: listed
                .map(|line| line.trim_matches([' ', '"', ',']))
                .collect(),
            text: block,
        })
    })
}

/// The text without packages of these names that were fetched, and without patches of these names
/// that cargo noted as unused: it would keep to both. Cargo adds what is missing.
pub(super) fn without(text: &str, names: &[&str]) -> String {
    let is_dropped = |block: &str| {
        packages(block).any(|package| {
            let is_unused = package.text.starts_with("[[patch.unused]]");
            names.contains(&package.name) && (is_unused || package.source.is_some())
        })
    };
    let kept: String = blocks(text).filter(|block| !is_dropped(block)).collect();
    match kept.strip_suffix("\n\n") {
        Some(kept) if kept.len() < text.len() => format!("{kept}\n"),
        _ => kept,
    }
}

/// The pieces of the text, each from one `[[` at the start of a line to the next.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find("\n[[").map_or(rest.len(), |at| at + 1);
        let (block, after) = rest.split_at(end);
        rest = after;
        (!block.is_empty()).then_some(block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "# Written by cargo.\nversion = 4\n\n[[package]]\nname = \"cuda_std\"\nversion = \"0.2.2\"\nsource = \"registry+x\"\n\
        dependencies = [\n \"vek\",\n]\n\n[[package]]\nname = \"gpu_rand\"\nversion = \"0.1.1\"\nsource = \"registry+x\"\ndependencies = [\n \
        \"cuda_std 0.2.2\",\n]\n\n[[package]]\nname = \"mine\"\nversion = \"0.1.0\"\n\n[[patch.unused]]\nname = \"cuda_std\"\nversion = \"0.2.3\"\n";

    #[test]
    fn packages_are_dropped_by_name_unless_they_are_local() {
        let kept = without(LOCK, &["cuda_std", "mine"]);
        assert!(
            kept.starts_with(
                "# Written by cargo.\nversion = 4\n\n[[package]]\nname = \"gpu_rand\"\n"
            ),
            "{kept}"
        );
        assert!(
            kept.ends_with("name = \"mine\"\nversion = \"0.1.0\"\n"),
            "{kept}"
        );
        assert_eq!(without(LOCK, &["vek"]), LOCK);
        assert_eq!(without("", &["vek"]), "");
    }

    #[test]
    fn dependencies_are_read_with_and_without_a_version() {
        let needing: Vec<_> = packages(LOCK)
            .filter(|package| package.needs("cuda_std"))
            .collect();
        assert!(
            matches!(&needing[..], [one] if one.name == "gpu_rand" && one.source == Some("registry+x"))
        );
        assert!(packages(LOCK).any(|package| package.needs("vek")));
    }
}
