//! The compiler that a project asks rustup for.

use cuda_tools::{Origin, Toolchain, rustup};
use toml_edit::{DocumentMut, Item, Value};

/// The text of the project's rust-toolchain.toml, empty if it has none; and if it is not the
/// repository's, why.
///
/// Where another toolchain compiles for the device, Debian's packages say, rustup is not asked for
/// what it lacks: it may have no server, and then no cargo starts in the project's folder.
pub(crate) fn pin(repositorys: &str) -> (String, Option<String>) {
    let document: DocumentMut = repositorys.parse().unwrap_or_default();
    let table = document.get("toolchain");
    let channel = table
        .and_then(|table| table.get("channel"))
        .and_then(Item::as_str);
    let components = table
        .and_then(|table| table.get("components"))
        .and_then(Item::as_array);
    let components: Vec<_> = components
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(channel) = channel else {
        return (repositorys.to_owned(), None);
    };
    let others = || {
        let chosen = Toolchain::search().chosen().map(|chosen| chosen.origin);
        chosen.is_some_and(|origin| origin != Origin::Rustup)
    };
    match rustup::installed(channel) {
        // Without rustup nobody reads the file here.
        None => (repositorys.to_owned(), None),
        Some(Some(here)) if here.has(&components) => (repositorys.to_owned(), None),
        Some(_) if !others() => (repositorys.to_owned(), None),
        Some(Some(_)) => (
            format!("[toolchain]\nchannel = \"{channel}\"\n"),
            Some(format!(
                "rust-toolchain.toml names {channel} without its components, some of which rustup \
                 lacks here: another compiler is used for the device (`blockwise doctor`)"
            )),
        ),
        Some(None) => (
            String::new(),
            Some(format!(
                "no rust-toolchain.toml: rustup has no {channel} here, and another compiler is used \
                 for the device (`blockwise doctor`)"
            )),
        ),
    }
}
