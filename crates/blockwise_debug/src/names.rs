//! The debugger's names for parameters and arrays, from the kernel's Rust signature in the PTX.

use crate::dwarf::{Dwarf, Shape, Type};
use crate::element::Element;
use ptx_emulator::replay::{Array, Replay};
use ptx_emulator::{SIGNATURE_SUFFIX, Space, record_text, rust_parameters};
use std::collections::HashMap;

/// An array with a name and a type.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) element: Element,
    /// The lengths of its dimensions, outermost first.
    pub(crate) extents: Vec<u64>,
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
    pub(crate) fn of(
        replay: &Replay,
        kernel: &str,
        types: &HashMap<String, Element>,
        dwarf: Option<&Dwarf>,
    ) -> Self {
        let mut arrays = replay.arrays();
        let record = record(replay, &arrays, kernel);
        let rust = signature(&record);
        name_shared(&mut arrays, &record);
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
            let described = dwarf.and_then(|dwarf| table(dwarf, dwarf.type_of(&array.symbol)?));
            let element = element.or(described.as_ref().map(|(element, _)| *element));
            let element = element.unwrap_or(usual);
            let flat = vec![array.size / u64::from(element.size())];
            let extents = described.map_or(flat.clone(), |(_, extents)| extents);
            let elements = extents.iter().try_fold(1, |n: u64, &of| n.checked_mul(of));
            let is_whole = elements == Some(flat[0]) && !extents.is_empty();
            Named {
                name,
                element,
                extents: if is_whole { extents } else { flat },
                array,
            }
        });
        Self {
            arrays: named.collect(),
            parameters,
        }
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

    /// `[[f32; 33]; 32]`, from a dimension on.
    pub(crate) fn type_from(&self, dimension: usize) -> String {
        let inner = self.extents.iter().skip(dimension).rev();
        inner.fold(self.element.to_string(), |ty, extent| {
            format!("[{ty}; {extent}]")
        })
    }

    /// The number of the element at some indices: one for each dimension.
    pub(crate) fn element_at(&self, indices: &[i128]) -> Result<u64, String> {
        let flat = [self.len()];
        let extents = match indices.len() {
            1 if self.extents.len() < 2 => &flat[..],
            count if count == self.extents.len() => &self.extents,
            _ => return Err(format!("it is {}", self.type_from(0))),
        };
        let mut at = 0;
        for (&index, &extent) in indices.iter().zip(extents) {
            let index = u64::try_from(index).ok().filter(|&index| index < extent);
            let index = index.ok_or_else(|| format!("it is {}", self.type_from(0)))?;
            at = at * extent + index;
        }
        Ok(at)
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

/// The kernel's record in the PTX; empty if it has none.
fn record(replay: &Replay, arrays: &[Array], kernel: &str) -> String {
    let name = format!("{kernel}{SIGNATURE_SUFFIX}");
    let Some(record) = arrays.iter().find(|array| array.name == name) else {
        return String::new();
    };
    let mut bytes = vec![0; usize::try_from(record.size).unwrap_or(0)];
    let read = replay.read(record.address, &mut bytes);
    let text = read.ok().and_then(|()| record_text(&bytes));
    text.unwrap_or_default()
}

/// The kernel's Rust parameters as those of the PTX, with their types where known.
fn signature(record: &str) -> Vec<(String, Option<Element>)> {
    let parameters = rust_parameters(record).into_iter();
    let known = parameters.map(|parameter| {
        let element = parameter.element.and_then(|name| name.parse().ok());
        (parameter.name, element)
    });
    known.collect()
}

/// Gives the static shared arrays of a kernel the names of its parameters: in the PTX they have
/// none of their own. The record has them in the order of the source.
fn name_shared(arrays: &mut [Array], record: &str) {
    let lines = record
        .lines()
        .filter_map(|line| line.strip_prefix("array "));
    let known: Vec<(&str, u64)> = lines
        .filter_map(|line| {
            let (name, size) = line.split_once(' ')?;
            Some((name, size.split('/').next()?.parse().ok()?))
        })
        .collect();
    let is_unnamed = |array: &&mut Array| array.space == Space::Shared && array.name == "SHARED";
    let mut unnamed: Vec<&mut Array> = arrays.iter_mut().filter(is_unnamed).collect();
    // Of symbols that differ in their number only, the first has none.
    unnamed.sort_by_key(|array| (array.symbol.len(), array.symbol.clone()));
    let sizes = unnamed.iter().map(|array| array.size);
    if sizes.eq(known.iter().map(|&(_, size)| size)) {
        for (array, (name, _)) in unnamed.iter_mut().zip(known) {
            array.name = name.to_owned();
        }
        return;
    }
    // Some are not used, and missing: those of a size of their own are known all the same.
    for (name, size) in &known {
        let is_only = known.iter().filter(|(_, other)| other == size).count() == 1;
        let mut fit = unnamed.iter_mut().filter(|array| array.size == *size);
        if let (true, Some(array), None) = (is_only, fit.next(), fit.next()) {
            array.name = (*name).to_owned();
        }
    }
}

/// The element and the dimensions of an array, through wrappers with one field.
pub(crate) fn table(dwarf: &Dwarf, ty: Type) -> Option<(Element, Vec<u64>)> {
    let (mut ty, mut extents) = (ty, Vec::new());
    for _ in 0..16 {
        ty = match dwarf.shape(ty) {
            Shape::Number(element) => {
                // The memory of a parameter is an array of one.
                if extents.len() > 1 && extents[0] == 1 {
                    extents.remove(0);
                }
                return Some((element, extents));
            }
            Shape::Array(element, count) => {
                extents.push(count);
                element
            }
            Shape::Fields(fields) => {
                let mut fields = fields.into_iter().filter(|&(.., ty)| dwarf.size(ty) > 0);
                let (_, _, only) = fields.next()?;
                fields.next().is_none().then_some(only)?
            }
            _ => return None,
        };
    }
    None
}
