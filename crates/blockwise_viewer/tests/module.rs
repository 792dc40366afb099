//! Checks that the committed module was built from the sources in this checkout.

mod fingerprint;

use std::path::Path;

#[test]
fn the_recorded_module_is_of_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace");
    let sources = fingerprint::of(&root).expect("the sources");
    let recorded = include_str!("../viewer.fingerprint").trim();
    assert_eq!(
        recorded, sources,
        "the emulator or the viewer has changed: run `cargo xtask build-viewer`"
    );
}
