//! Warnings of a successful build.

use std::collections::HashSet;
use std::sync::Mutex;

/// Prints warnings, one per line: in a build script through cargo, otherwise on standard error.
/// Each is printed once, for any number of architectures.
pub(crate) fn show(warnings: &str) {
    static SHOWN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut shown = SHOWN
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let shown = shown.get_or_insert_default();
    for warning in warnings.lines() {
        if shown.insert(warning.to_owned()) {
            match std::env::var_os("OUT_DIR") {
                Some(_) => println!("cargo:warning={warning}"),
                None => eprintln!("warning: {warning}"),
            }
        }
    }
}
