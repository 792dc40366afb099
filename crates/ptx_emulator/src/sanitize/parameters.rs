//! Names addresses of global memory by the parameter that leads there, and the element.

use crate::decode::Entry;
use crate::decode::Program;
use crate::exec::Request;
use crate::signature::{RustParameter, SIGNATURE_SUFFIX, record_text, rust_parameters};
use std::ops::Range;

/// The parameters that are addresses, in their order.
pub(crate) struct Parameters(Vec<Pointer>);

struct Pointer {
    /// Its number among the PTX's parameters.
    index: usize,
    address: u64,
    allocation: Range<u64>,
}

impl Parameters {
    pub(crate) fn new(request: &Request<'_>) -> Self {
        let slots = request.kernel.slots.iter().enumerate();
        let words = slots.flat_map(|(index, slot)| {
            // A struct may hold several.
            let places = (slot.offset..slot.offset + slot.size).step_by(8);
            places.map(move |at| (index, at))
        });
        let pointers = words.filter_map(|(index, at)| {
            let bytes = request.params.get(at as usize..)?.first_chunk()?;
            let address = u64::from_le_bytes(*bytes);
            let found = &request.table.allocations()[request.table.find(address, 1)?];
            Some(Pointer {
                index,
                address,
                allocation: found.base..found.base + found.size,
            })
        });
        Self(pointers.collect())
    }

    /// "element 5 of `out`": the parameter that is nearest before the address in its allocation, or
    /// in an allocation that ends there.
    pub(crate) fn element(
        &self,
        program: &Program,
        kernel: &Entry,
        address: u64,
        size: u32,
    ) -> Option<String> {
        let leads = |pointer: &&Pointer| {
            pointer.address <= address && pointer.allocation.contains(&address)
        };
        let pointers = self.0.iter().filter(leads);
        let pointer =
            pointers.max_by_key(|pointer| (pointer.address, usize::MAX - pointer.index))?;
        Some(self.name_element(program, kernel, pointer, address, size))
    }

    /// The same for an address outside of an allocation, by the allocation's address.
    pub(crate) fn outside(
        &self,
        program: &Program,
        kernel: &Entry,
        (base, address, size): (u64, u64, u32),
    ) -> Option<String> {
        let mut pointers = self.0.iter();
        let pointer = pointers.find(|pointer| pointer.allocation.start == base)?;
        Some(self.name_element(program, kernel, pointer, address, size))
    }

    fn name_element(
        &self,
        program: &Program,
        kernel: &Entry,
        pointer: &Pointer,
        address: u64,
        size: u32,
    ) -> String {
        let (name, element) = name(program, kernel, pointer.index);
        let size = i128::from(element.unwrap_or(size).max(1));
        let bytes = i128::from(address) - i128::from(pointer.address);
        let length = i128::from(pointer.allocation.end - pointer.address) / size;
        match bytes % size {
            0 if (0..length).contains(&(bytes / size)) => {
                format!("element {} of {name}", bytes / size)
            }
            0 => format!("element {} of {name}, which has {length}", bytes / size),
            _ => format!("byte {bytes} of {name}"),
        }
    }
}

/// A parameter's name, and the bytes of its elements if its Rust type says so.
fn name(program: &Program, kernel: &Entry, index: usize) -> (String, Option<u32>) {
    let rust = rust(program, kernel);
    if let Some(parameter) = rust.get(index) {
        let bytes = parameter.element.as_deref().and_then(bytes_of);
        return (format!("`{}`", parameter.name), bytes);
    }
    let name = kernel.params().get(index).map_or("", |param| &param.name);
    // Compilers of other languages only count.
    let counted = format!("_{index}");
    match name {
        "" => (format!("parameter {}", index + 1), None),
        _ if name.ends_with(&counted) => (format!("parameter {}", index + 1), None),
        _ => (format!("`{name}`"), None),
    }
}

/// The kernel's Rust parameters, if the PTX has their record.
pub(crate) fn rust(program: &Program, kernel: &Entry) -> Vec<RustParameter> {
    let rust = record(program, kernel).map_or(Vec::new(), |record| rust_parameters(&record));
    match rust.len() == kernel.params().len() {
        true => rust,
        false => Vec::new(),
    }
}

/// The kernel's record, if the PTX has one.
pub(crate) fn record(program: &Program, kernel: &Entry) -> Option<String> {
    let name = format!("{}{SIGNATURE_SUFFIX}", kernel.name());
    let mut variables = program.variables.iter();
    let record = variables.find(|variable| variable.name == name)?;
    record_text(&record.bytes)
}

fn bytes_of(ty: &str) -> Option<u32> {
    Some(match ty {
        "u8" | "i8" | "bool" => 1,
        "u16" | "i16" | "f16" | "bf16" => 2,
        "u32" | "i32" | "f32" | "char" => 4,
        "u64" | "i64" | "f64" | "usize" | "isize" => 8,
        _ => return None,
    })
}
