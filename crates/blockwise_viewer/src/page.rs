//! Assembles a page: one HTML file without any external reference.

use crate::document::Document;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use miniz_oxide::deflate::compress_to_vec;

/// This crate and the emulator as WebAssembly, compressed; `cargo xtask build-viewer` makes it.
const MODULE: &[u8] = include_bytes!("../viewer.wasm.gz");

/// The page's skeleton; names between `/*` and `*/` are replaced.
const FRAME: &str = include_str!("../web/page.html");
const STYLE: &str = include_str!("../web/page.css");

/// The scripts, in the order in which they use each other.
const SCRIPTS: &[&str] = &[
    include_str!("../web/engine.js"),
    include_str!("../web/colors.js"),
    include_str!("../web/timeline.js"),
    include_str!("../web/memory.js"),
    include_str!("../web/outputs.js"),
    include_str!("../web/access.js"),
    include_str!("../web/hero.js"),
    include_str!("../web/source.js"),
    include_str!("../web/play.js"),
    include_str!("../web/view.js"),
    include_str!("../web/main.js"),
];

/// The HTML of a document.
pub fn html(document: &Document) -> String {
    let data = serde_json::to_vec(document).unwrap_or_default();
    let data = BASE64_STANDARD.encode(compressed(&data));
    let title = document.title.replace('&', "&amp;").replace('<', "&lt;");
    let mut page = String::new();
    // Each mark occurs once in the skeleton.
    for part in FRAME.split("/*") {
        let (mark, rest) = part.split_once("*/").unwrap_or(("", part));
        match mark {
            "title" => page += &title,
            "css" => page += STYLE,
            "js" => SCRIPTS.iter().for_each(|script| page += script),
            "module" => page += &BASE64_STANDARD.encode(MODULE),
            "data" => page += &data,
            _ => {}
        }
        page += rest;
    }
    page
}

/// A file of gzip: browsers unpack it.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    // Of gzip's header: no name, no time, packed as well as can be, by whatever system.
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff".to_vec();
    file.extend(compress_to_vec(bytes, 9));
    file.extend(crc32fast::hash(bytes).to_le_bytes());
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}
