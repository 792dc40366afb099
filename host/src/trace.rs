//! Launches of this project's kernels, in the form in which a page of `blockwise trace` replays
//! them.

use blockwise::{Given, GivenLaunch, Type};
use blockwise_viewer::{Detectors, Document, Launch, StoredFile};

/// The number of instructions after which a page gives up on a launch.
const STEPS: u64 = 100_000_000;

/// Adds a launch to a document, of the PTX with this number and with the arrays that it was given.
pub fn add(document: &mut Document, name: &str, ptx: usize, given: &GivenLaunch, ty: Type) {
    // A type without a number type of its own is passed as a word of the same width.
    let number = match ty {
        Type::Bool => Type::U8,
        Type::F16 => Type::U16,
        ty => ty,
    };
    let mut arguments = Vec::new();
    let mut parameters = given.parameters.iter().peekable();
    while let Some(parameter) = parameters.next() {
        arguments.push(match parameter {
            Given::Bytes(bytes) => plain(bytes),
            Given::Memory { bytes, written } => {
                let whole = bytes.len().is_multiple_of(number.bytes());
                let ty = if whole { number } else { Type::U8 };
                let len = bytes.len() / ty.bytes();
                let is_slice = parameters
                    .next_if_eq(&&Given::Bytes((len as u64).to_le_bytes().to_vec()))
                    .is_some();
                let slice = if is_slice { "slice:" } else { "" };
                if *written {
                    let file = file_of(document, ty, len, bytes);
                    format!("{slice}{ty}[{len}]={file}")
                } else {
                    format!("{slice}{ty}[{len}]")
                }
            }
        });
    }
    document.launches.push(Launch {
        name: name.to_owned(),
        ptx,
        kernel: given.kernel.clone(),
        grid: given.config.grid,
        block: given.config.block,
        shared_bytes: given.config.dynamic_shared_bytes,
        arguments,
        seed: None,
        steps: STEPS,
        detectors: Detectors::default(),
    });
}

/// A number's bytes as an argument.
fn plain(bytes: &[u8]) -> String {
    match *bytes {
        [a] => format!("u8:{a}"),
        [a, b] => format!("u16:{}", u16::from_le_bytes([a, b])),
        _ => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes)) {
                (Ok(four), _) => format!("u32:{}", u32::from_le_bytes(four)),
                (_, Ok(eight)) => format!("u64:{}", u64::from_le_bytes(eight)),
                _ => format!("bytes:{digits}"),
            }
        }
    }
}

/// Stores an array, and returns its name. Launches with the same array share it.
fn file_of(document: &mut Document, ty: Type, len: usize, bytes: &[u8]) -> String {
    let name = format!("operand{}.npy", document.files.len());
    let file = StoredFile::new(name, ty, vec![len], bytes);
    let same = |known: &&StoredFile| (&known.ty, &known.base64) == (&file.ty, &file.base64);
    if let Some(known) = document.files.iter().find(same) {
        return known.name.clone();
    }
    let name = file.name.clone();
    document.files.push(file);
    name
}
