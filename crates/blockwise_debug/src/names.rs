//! What the debugger calls parameters and arrays: by the kernel's Rust signature, which its PTX carries.

use crate::element::Element;
use ptx_emulator::Space;
use ptx_emulator::replay::{Array, Replay};
use std::collections::HashMap;

/// The section of the PTX that names a kernel's parameters.
const SIGNATURE: &str = "__signature";

/// An array with a name and a type.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) array: Array,
}

/// A parameter of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) element: Option<Element>,
    pub(crate) bytes: Vec<u8>,
}

/// All names of a launch.
pub(crate) struct Names {
    pub(crate) arrays: Vec<Named>,
    pub(crate) parameters: Vec<Parameter>,
}

impl Names {
    /// `types` are those that the user gave, by name.
    pub(crate) fn of(replay: &Replay, kernel: &str, types: &HashMap<String, Element>) -> Self {
        let arrays = replay.arrays();
        let rust = signature(replay, &arrays, kernel);
        let raw = replay.parameters();
        // A parameter of the PTX that is not in the signature keeps its name.
        let fits = rust.len() == raw.len();
        let of_rust = |at: usize| rust.get(at).filter(|_| fits);
        let parameters = raw.iter().enumerate().map(|(at, (name, bytes))| Parameter {
            name: of_rust(at).map_or_else(|| name.clone(), |(rust, _)| rust.clone()),
            element: of_rust(at).and_then(|&(_, element)| element),
            bytes: bytes.clone(),
        });
        let parameters: Vec<Parameter> = parameters.collect();
        let mut elements: Vec<Element> = parameters
            .iter()
            .filter_map(|known| known.element)
            .collect();
        elements.dedup();
        let usual = match elements[..] {
            [only] => only,
            _ => Element::Unsigned(4),
        };
        let mut known: HashMap<String, u32> = HashMap::new();
        let shown = arrays
            .into_iter()
            .filter(|array| !array.name.ends_with(SIGNATURE));
        let named = shown.map(|array| {
            let at = raw.iter().position(|(name, _)| *name == array.name);
            let parameter = at.map(|at| &parameters[at]);
            let mut name = parameter.map_or_else(|| array.name.clone(), |known| known.name.clone());
            let count = known.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                name += &format!("_{count}");
            }
            let element = types.get(&name).copied();
            let element = element.or_else(|| parameter.and_then(|known| known.element));
            Named {
                name,
                element: element.unwrap_or(usual),
                array,
            }
        });
        Self {
            arrays: named.collect(),
            parameters,
        }
    }

    pub(crate) fn array(&self, name: &str) -> Option<&Named> {
        self.arrays.iter().find(|named| named.name == name)
    }
}

impl Named {
    pub(crate) fn is_shared(&self) -> bool {
        self.array.space == Space::Shared
    }

    /// Its elements.
    pub(crate) fn len(&self) -> u64 {
        self.array.size / u64::from(self.element.size())
    }

    /// An element's bytes, in the shared memory of a block where the array is there.
    pub(crate) fn read(&self, replay: &Replay, block: u64, index: u64) -> Option<Vec<u8>> {
        let size = u64::from(self.element.size());
        let mut bytes = vec![0; size as usize];
        if index >= self.len() {
            return None;
        }
        let address = self.array.address + index * size;
        let read = match self.is_shared() {
            true => replay.read_shared(block, address, &mut bytes),
            false => replay.read(address, &mut bytes).is_ok(),
        };
        read.then_some(bytes)
    }
}

/// The kernel's Rust parameters as those of the PTX: a slice is two, its address and its length.
fn signature(replay: &Replay, arrays: &[Array], kernel: &str) -> Vec<(String, Option<Element>)> {
    let record = format!("{kernel}{SIGNATURE}");
    let Some(record) = arrays.iter().find(|array| array.name == record) else {
        return Vec::new();
    };
    let mut bytes = vec![0; usize::try_from(record.size).unwrap_or(0)];
    if replay.read(record.address, &mut bytes).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut parameters = Vec::new();
    for parameter in split(&text) {
        let Some((name, ty)) = parameter.split_once(": ") else {
            continue;
        };
        let name = name.trim().to_owned();
        let element = |ty: &str| ty.trim_end_matches(']').parse().ok();
        if let Some((_, inner)) = ty.split_once('[') {
            let length = format!("{name}.len()");
            parameters.push((name, element(inner)));
            parameters.push((length, Some(Element::Unsigned(8))));
        } else {
            let inner = ty.rsplit(' ').next().unwrap_or(ty);
            parameters.push((name, element(inner)));
        }
    }
    // Lengths are no elements.
    for (name, element) in &mut parameters {
        if name.ends_with(".len()") {
            *element = None;
        }
    }
    parameters
}

/// Splits at the commas outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}
