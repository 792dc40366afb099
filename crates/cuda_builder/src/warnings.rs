//! What a build says though it succeeds.

use std::collections::HashSet;
use std::sync::Mutex;

/// Shows warnings, one a line: in a build script through cargo, else on standard error. Each once,
/// however many architectures have it.
pub(crate) fn show(warnings: &str) {
    static SHOWN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut shown = SHOWN
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let shown = shown.get_or_insert_default();
    for warning in warnings.lines() {
        if shown.insert(warning.to_owned()) {
            match std::env::var_os("OUT_DIR") {
                Some(_) => println!("cargo::warning={warning}"),
                None => eprintln!("warning: {warning}"),
            }
        }
    }
}
