//! The user's cache folder, where every project finds what was fetched or compiled once.

use std::path::PathBuf;

use crate::machine::{Host, Machine};

/// `~/.cache/blockwise`, or where this system keeps such folders; none without a home.
pub fn folder() -> Option<PathBuf> {
    folder_on(&Host)
}

/// Where `blockwise setup` puts NVIDIA's tools.
pub fn tools() -> Option<PathBuf> {
    tools_on(&Host)
}

pub(crate) fn tools_on(machine: &dyn Machine) -> Option<PathBuf> {
    Some(folder_on(machine)?.join("tools"))
}

fn folder_on(machine: &dyn Machine) -> Option<PathBuf> {
    let variable = |name| {
        let path = PathBuf::from(machine.variable(name)?);
        path.is_absolute().then_some(path)
    };
    let cache = match cfg!(windows) {
        true => variable("LOCALAPPDATA"),
        false => variable("XDG_CACHE_HOME").or_else(|| Some(machine.home()?.join(".cache"))),
    };
    Some(cache?.join("blockwise"))
}
