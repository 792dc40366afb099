//! What the debugger calls parameters and arrays: by the kernel's Rust signature, which its PTX
//! carries.

use crate::element::Element;
use ptx_emulator::Space;
use ptx_emulator::replay::{Array, Replay};
use std::collections::HashMap;

/// After a kernel's name: the variable with its Rust parameters.
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
        let is_array = |name: &str| arrays.iter().any(|array| array.name == name);
        let pointers = raw
            .iter()
            .zip(&parameters)
            .filter(|((name, _), _)| is_array(name));
        let mut elements = pointers.filter_map(|(_, parameter)| parameter.element);
        // Shared arrays mostly hold what the slices do.
        let usual = match elements.next() {
            Some(first) if elements.all(|element| element == first) => first,
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
            let element = types.get(&name).or_else(|| types.get(&array.name)).copied();
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
    let parameters = split(&text).into_iter();
    let named = parameters.filter_map(|parameter| parameter.split_once(": "));
    named.flat_map(|(name, ty)| passed(name, ty)).collect()
}

/// What a Rust parameter is in PTX: an address, lengths, a number, or nothing.
fn passed(name: &str, ty: &str) -> Vec<(String, Option<Element>)> {
    let inner = match ty.split_once(['[', '<']) {
        Some((_, inner)) => inner.strip_suffix([']', '>']).unwrap_or(inner),
        None => ty.rsplit(' ').next().unwrap_or(ty),
    };
    let element: Option<Element> = inner.parse().ok();
    let also = |what: &str| (format!("{name}.{what}"), None);
    let address = || (name.to_owned(), element);
    let begins = |starts: &[&str]| starts.iter().any(|start| ty.starts_with(start));
    if begins(&["&mut Block<"]) || (begins(&["Shared<"]) && ty.contains(';')) {
        Vec::new()
    } else if begins(&["Shared<"]) {
        vec![also("len()")]
    } else if begins(&["&[", "&mut [", "*const [", "*mut [", "Out<", "Atomics<"]) {
        vec![address(), also("len()")]
    } else if begins(&["Matrix<", "OutMatrix<"]) {
        vec![address(), also("rows()"), also("cols()")]
    } else {
        vec![address()]
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(signature: &str) -> Vec<String> {
        let parameters = split(signature)
            .into_iter()
            .filter_map(|one| one.split_once(": "));
        let passed = parameters.flat_map(|(name, ty)| passed(name, ty));
        let shown = passed.map(|(name, element)| match element {
            Some(element) => format!("{name}: {element}"),
            None => name,
        });
        shown.collect()
    }

    #[test]
    fn a_rust_parameter_is_as_many_as_the_ptx_has() {
        let raw = "input: &[u32], output: *mut u32";
        assert_eq!(names(raw), ["input: u32", "input.len()", "output: u32"]);
        let safe = "block: &mut Block<32,8,1>, tile: Shared<[f32; 256]>, slots: Shared<[f64]>, a: Matrix<f32>, b: Out<i64>, n: usize";
        let expected = [
            "slots.len()",
            "a: f32",
            "a.rows()",
            "a.cols()",
            "b: i64",
            "b.len()",
            "n: u64",
        ];
        assert_eq!(names(safe), expected);
        assert!(names("").is_empty());
        assert_eq!(names("a: &[Pair<u8, u8>], b"), ["a", "a.len()"]);
    }
}
