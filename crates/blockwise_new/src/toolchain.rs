//! The compiler that a project asks rustup for.

use cuda_tools::{Origin, Toolchain, rustup};
use toml_edit::{DocumentMut, Item, Value};

/// What rustup has of the repository's toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rustup {
    /// Nothing reads the file here.
    Absent,
    Lacks,
    /// The channel, without some of its components.
    HasPart,
    HasAll,
}

/// The text of the project's rust-toolchain.toml, empty if it has none; and if it is not the
/// repository's, why.
///
/// Where another toolchain compiles for the device, Debian's packages say, rustup is not asked for
/// what it lacks: it may have no server, and then no cargo starts in the project's folder.
pub(crate) fn pin(repositorys: &str) -> (String, Option<String>) {
    let document: DocumentMut = repositorys.parse().unwrap_or_default();
    let entry = |key| document.get("toolchain").and_then(|table| table.get(key));
    let Some(channel) = entry("channel").and_then(Item::as_str) else {
        return (repositorys.to_owned(), None);
    };
    let components = entry("components").and_then(Item::as_array);
    let components: Vec<_> = components
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let rustup = match rustup::installed(channel) {
        None => Rustup::Absent,
        Some(None) => Rustup::Lacks,
        Some(Some(here)) if here.has(&components) => Rustup::HasAll,
        Some(Some(_)) => Rustup::HasPart,
    };
    let others = || {
        let chosen = Toolchain::search().chosen().map(|chosen| chosen.origin);
        chosen.is_some_and(|origin| origin != Origin::Rustup)
    };
    choose(repositorys, channel, rustup, others)
}

fn choose(
    repositorys: &str,
    channel: &str,
    rustup: Rustup,
    others: impl Fn() -> bool,
) -> (String, Option<String>) {
    let lacking = matches!(rustup, Rustup::Lacks | Rustup::HasPart);
    if !lacking || !others() {
        return (repositorys.to_owned(), None);
    }
    if rustup == Rustup::Lacks {
        let reason = format!(
            "no rust-toolchain.toml: rustup has no {channel} here, and another compiler is used for \
             the device (`blockwise doctor`)"
        );
        return (String::new(), Some(reason));
    }
    let reason = format!(
        "rust-toolchain.toml names {channel} without components, some of which rustup lacks here: \
         another compiler is used for the device (`blockwise doctor`)"
    );
    let text = format!("[toolchain]\nchannel = \"{channel}\"\n");
    (text, Some(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustup_is_not_asked_for_what_it_lacks_where_another_compiler_does() {
        let whole = "[toolchain]\nchannel = \"1.95.0\"\ncomponents = [\"rust-src\"]\n";
        let only = "[toolchain]\nchannel = \"1.95.0\"\n";
        for (rustup, others, expected) in [
            (Rustup::Absent, true, whole),
            (Rustup::HasAll, true, whole),
            (Rustup::Lacks, false, whole),
            (Rustup::HasPart, false, whole),
            (Rustup::Lacks, true, ""),
            (Rustup::HasPart, true, only),
        ] {
            let (text, reason) = choose(whole, "1.95.0", rustup, || others);
            assert_eq!(text, expected, "{rustup:?}, {others}");
            assert_eq!(reason.is_some(), expected != whole, "{reason:?}");
        }
        assert_eq!(pin(""), (String::new(), None));
    }
}
