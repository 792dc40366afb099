//! The initial contents of a buffer or an image, and the file for its final contents.

use crate::buffer::Fill;
use std::path::PathBuf;

/// The text before `-> FILE`, and the file.
pub(crate) fn saved(text: &str) -> Result<(&str, Option<&str>), String> {
    match text.split_once("->") {
        Some((_, path)) if path.trim().is_empty() => Err("no file follows `->`".to_owned()),
        Some((text, path)) => Ok((text.trim(), Some(path.trim()))),
        None => Ok((text.trim(), None)),
    }
}

pub(crate) fn fill(text: &str) -> Result<Fill, String> {
    Ok(match text.trim() {
        "zeros" => Fill::Zeros,
        "iota" => Fill::Iota,
        text => match text.strip_prefix("random:") {
            Some(seed) => Fill::Random(seed.parse().map_err(|_| format!("`{seed}` is no seed"))?),
            None if text.contains('.') => Fill::File(PathBuf::from(text)),
            None => {
                return Err(format!(
                    "`{text}` is none of zeros, iota, random:SEED and a .npy or .csv file"
                ));
            }
        },
    })
}
