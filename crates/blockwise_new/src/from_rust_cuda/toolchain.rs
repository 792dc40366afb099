//! The file by which a project chooses its compiler.

use cuda_tools::{OLDEST_RUSTC, RUSTUP_COMPONENTS, Version};
use toml_edit::{Array, DocumentMut, Value, value};

/// The first nightly that is newer than the oldest compiler that Blockwise builds with.
const OLDEST_NIGHTLY: &str = "2026-03-01";

/// What becomes of the file.
#[derive(Debug, PartialEq)]
pub(super) enum Toolchain {
    /// Its compiler is too old: the new text.
    Changed(String),
    /// Its compiler stays, named here.
    Stays(String),
    /// It names no compiler that could be compared: a path, or another toolchain.
    Unknown(String),
}

/// `rust-toolchain.toml`, or `rust-toolchain` with either the same or only a name in it. A nightly
/// stays only if it is new and the host's code needs one: kernels do not.
pub(super) fn moved(text: &str, needs_nightly: bool) -> Result<Toolchain, String> {
    let is_new = |channel: &str| {
        let is_new = is_new(channel)?;
        Some(is_new && (needs_nightly || !channel.starts_with("nightly")))
    };
    let name = text.trim();
    if !name.contains('\n') && !name.contains(['[', '=']) {
        return Ok(match is_new(name) {
            Some(true) => Toolchain::Stays(name.to_owned()),
            Some(false) => Toolchain::Changed(format!("{OLDEST_RUSTC}\n")),
            None => Toolchain::Unknown(name.to_owned()),
        });
    }
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let table = document
        .get_mut("toolchain")
        .and_then(|item| item.as_table_like_mut());
    let table = table.ok_or("it has no table `toolchain`")?;
    let Some(channel) = table.get("channel").and_then(|item| item.as_str()) else {
        return Ok(Toolchain::Unknown("a toolchain of its own".to_owned()));
    };
    match is_new(channel) {
        Some(true) => return Ok(Toolchain::Stays(channel.to_owned())),
        None => return Ok(Toolchain::Unknown(channel.to_owned())),
        Some(false) => {}
    }
    set(table.get_mut("channel"), OLDEST_RUSTC.to_string());
    let listed = table.get("components").and_then(|item| item.as_array());
    // `rustc-dev` compiles rust-cuda's backend, a download of hundreds of megabytes.
    let mut components: Vec<String> = (listed.into_iter().flatten())
        .filter_map(Value::as_str)
        .filter(|name| *name != "rustc-dev")
        .map(|name| name.trim_end_matches("-preview").to_owned())
        .collect();
    for needed in RUSTUP_COMPONENTS {
        if !components.iter().any(|name| name == needed) {
            components.push(needed.to_owned());
        }
    }
    table.insert("components", value(Array::from_iter(components)));
    Ok(Toolchain::Changed(document.to_string()))
}

/// Sets a value and keeps the comments around it.
fn set(item: Option<&mut toml_edit::Item>, text: String) {
    if let Some(old) = item.and_then(|item| item.as_value_mut()) {
        let decor = old.decor().clone();
        *old = text.into();
        *old.decor_mut() = decor;
    }
}

/// Whether the compiler is new enough; `None` if the name does not say.
fn is_new(channel: &str) -> Option<bool> {
    if let Some(rest) = channel.strip_prefix("nightly-") {
        let date = rest.get(..10)?;
        let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        return is_date.then_some(date >= OLDEST_NIGHTLY);
    }
    let of_today = |name: &str| {
        let rest = channel.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with("-x86") || rest.starts_with("-aarch")).then_some(true)
    };
    ["stable", "beta", "nightly"]
        .into_iter()
        .find_map(of_today)
        .or_else(|| {
            let version = Version::parse(channel)?;
            // `1.95` is the newest 1.95.
            let parts = channel.split('.').count();
            let oldest = (OLDEST_RUSTC.major, OLDEST_RUSTC.minor);
            Some(
                version >= OLDEST_RUSTC || (parts == 2 && (version.major, version.minor) == oldest),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_compared_by_date_or_number() {
        for (channel, expected) in [
            ("nightly-2021-12-04", Some(false)),
            ("nightly-2025-08-04-x86_64-unknown-linux-gnu", Some(false)),
            ("nightly-2026-04-02", Some(true)),
            ("nightly", Some(true)),
            ("stable", Some(true)),
            ("beta-2021-01-01", None),
            ("1.75.0", Some(false)),
            ("1.94", Some(false)),
            ("1.95", Some(true)),
            ("1.96.1", Some(true)),
            ("nightly-latest", None),
            ("my-compiler", None),
        ] {
            assert_eq!(is_new(channel), expected, "{channel}");
        }
    }

    #[test]
    fn an_old_one_is_replaced_and_all_else_stays() {
        let old = "# Ours.\n[toolchain]\nchannel = \"nightly-2021-12-04\" # rust-cuda's\n\
            components = [\"clippy\", \"rustc-dev\", \"llvm-tools-preview\"]\nprofile = \"minimal\"\n";
        let new = "# Ours.\n[toolchain]\nchannel = \"1.95.0\" # rust-cuda's\n\
            components = [\"clippy\", \"llvm-tools\", \"rust-src\"]\nprofile = \"minimal\"\n";
        assert_eq!(moved(old, false), Ok(Toolchain::Changed(new.to_owned())));
        assert_eq!(moved(new, false), Ok(Toolchain::Stays("1.95.0".to_owned())));
        assert_eq!(
            moved("nightly-2021-12-04\n", true),
            Ok(Toolchain::Changed("1.95.0\n".to_owned()))
        );
        assert_eq!(
            moved("[toolchain]\npath = \"x\"\n", false),
            Ok(Toolchain::Unknown("a toolchain of its own".to_owned()))
        );
        assert!(moved("[tools]\n", false).is_err());
        let new = "nightly-2026-04-02\n";
        assert_eq!(
            moved(new, true),
            Ok(Toolchain::Stays(new.trim().to_owned()))
        );
        assert_eq!(
            moved(new, false),
            Ok(Toolchain::Changed("1.95.0\n".to_owned()))
        );
    }
}
