//! The fingerprint of the sources that the committed module was built from: `cargo xtask
//! build-viewer` writes it, a test compares it. Comments and line breaks are no part of it. They
//! change the module only in the line numbers of its panics.

use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

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
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        add(name.to_string_lossy().replace('\\', "/").as_bytes());
        let text = std::fs::read_to_string(&file)?;
        let code = code(&text).map_err(|error| {
            let error = format!("{}: {error}", file.display());
            io::Error::new(io::ErrorKind::InvalidData, error)
        })?;
        add(code.as_bytes());
    }
    Ok(format!("{hash:016x}"))
}

/// The tokens of a source file, without comments.
pub(crate) fn code(text: &str) -> Result<String, proc_macro2::LexError> {
    // Line breaks within strings are the file's own.
    let text = text.replace("\r\n", "\n");
    Ok(without_docs(text.parse()?).to_string())
}

/// The tokens without `#[doc = ..]` and `#![doc = ..]`, which documentation comments are.
fn without_docs(tokens: TokenStream) -> TokenStream {
    let mut rest = tokens.into_iter().peekable();
    let mut code = Vec::new();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Group(group) => {
                let inner = without_docs(group.stream());
                code.push(Group::new(group.delimiter(), inner).into());
            }
            TokenTree::Punct(sharp) if sharp.as_char() == '#' => {
                let inner = rest.next_if(
                    |next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'),
                );
                if rest.next_if(is_doc).is_none() {
                    code.push(sharp.into());
                    code.extend(inner);
                }
            }
            other => code.push(other),
        }
    }
    code.into_iter().collect()
}

/// Whether the token is `[doc = ..]`.
fn is_doc(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    let begins = [inside.next(), inside.next()].map(|token| token.map(|token| token.to_string()));
    group.delimiter() == Delimiter::Bracket
        && begins
            .iter()
            .map(Option::as_deref)
            .eq([Some("doc"), Some("=")])
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
