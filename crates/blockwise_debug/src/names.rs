//! The debugger's names for parameters and arrays, from the kernel's Rust signature in the PTX.

use crate::element::Element;
use ptx_emulator::replay::{Array, Replay};
use ptx_emulator::{SIGNATURE_SUFFIX, Space, rust_parameters};
use std::collections::HashMap;

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
    /// `types` are the ones that the user specified, by name.
    pub(crate) fn of(replay: &Replay, kernel: &str, types: &HashMap<String, Element>) -> Self {
        let arrays = replay.arrays();
        let rust = signature(replay, &arrays, kernel);
        let raw = replay.parameters();
        // A PTX parameter that is not in the signature keeps its name.
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
        // Shared arrays usually have the slices' element type.
        let usual = match elements.next() {
            Some(first) if elements.all(|element| element == first) => first,
            _ => Element::Unsigned(4),
        };
        let mut known: HashMap<String, u32> = HashMap::new();
        let shown = arrays
            .into_iter()
            .filter(|array| !array.name.ends_with(SIGNATURE_SUFFIX));
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

    /// Number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.array.size / u64::from(self.element.size())
    }

    /// An element's bytes; for a shared array, in the given block.
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

/// The kernel's Rust parameters as those of the PTX, with their types where known.
fn signature(replay: &Replay, arrays: &[Array], kernel: &str) -> Vec<(String, Option<Element>)> {
    let record = format!("{kernel}{SIGNATURE_SUFFIX}");
    let Some(record) = arrays.iter().find(|array| array.name == record) else {
        return Vec::new();
    };
    let mut bytes = vec![0; usize::try_from(record.size).unwrap_or(0)];
    if replay.read(record.address, &mut bytes).is_err() {
        return Vec::new();
    }
    let parameters = rust_parameters(&String::from_utf8_lossy(&bytes));
    let known = parameters.into_iter().map(|parameter| {
        let element = parameter.element.and_then(|name| name.parse().ok());
        (parameter.name, element)
    });
    known.collect()
}
