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

#[test]
fn comments_and_line_breaks_are_no_code() {
    let code = |text| fingerprint::code(text).expect("Rust");
    let plain = code("#[inline] fn f() -> &'static str { \"// a\" }");
    for same in [
        "//! A file.\n#[inline]\nfn f() -> &'static str {\r\n    \"// a\" // b\n}\n",
        "/// A function.\n#[inline] /* c /* d */ */ fn f() -> &'static str { //! Inside.\n \"// a\" }",
        "#![doc = \"A file.\"] #[inline] #[doc = r#\"f\"#] fn f() -> &'static str { \"// a\" }",
    ] {
        assert_eq!(code(same), plain, "{same}");
    }
    for other in [
        "fn f() -> &'static str { \"// a\" }",
        "#[inline] fn f() -> &'static str { \"//  a\" }",
        "#[inline] #[doc(hidden)] fn f() -> &'static str { \"// a\" }",
        "#![inline] fn f() -> &'static str { \"// a\" }",
    ] {
        assert_ne!(code(other), plain, "{other}");
    }
}
