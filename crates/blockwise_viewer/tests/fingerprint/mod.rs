//! The fingerprint of the sources that the committed module was built from: `cargo xtask
//! build-viewer` writes it, a test compares it.

use std::io;
use std::path::{Path, PathBuf};

/// Everything of this workspace that goes into the module.
const SOURCES: [&str; 4] = [
    "crates/blockwise_viewer/src",
    "crates/kernel_arguments/src",
    "crates/launch_contract/src",
    "crates/ptx_emulator/src",
];

/// The fingerprint of the sources below the workspace's folder.
pub(crate) fn of(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for folder in SOURCES {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    // FNV-1a, 64 bits: it must show changes, not resist forgery.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes.iter().filter(|byte| **byte != b'\r') {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        add(name.to_string_lossy().replace('\\', "/").as_bytes());
        add(&std::fs::read(&file)?);
    }
    Ok(format!("{hash:016x}"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
