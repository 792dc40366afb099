//! Functions that the driver supplies on a GPU.

use super::trouble::{Trouble, trouble};
use crate::fault::FaultKind;

/// Longer strings are cut.
const MAX_TEXT: u64 = 4096;

/// Calls a function that the module only declares. None of them returns here.
#[cold]
pub(super) fn call(
    name: &str,
    arguments: &[u64],
    lane: usize,
    mut byte: impl FnMut(u64) -> Option<u8>,
) -> Box<Trouble> {
    let mut text = |address: u64| {
        let bytes: Vec<u8> = (0..MAX_TEXT)
            .map_while(|index| byte(address.checked_add(index)?).filter(|&byte| byte != 0))
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let kind = match (name, arguments) {
        ("__assertfail", &[message, file, line, function, _]) => FaultKind::Assert {
            message: text(message),
            file: text(file),
            line: line as u32,
            function: text(function),
        },
        _ => FaultKind::Unsupported {
            form: format!("call of `{name}`, which the module only declares"),
        },
    };
    trouble(lane, kind)
}
