//! Arrays by name: what the PTX declares, and the memory that parameters point to.

use super::Replay;
use crate::fault::Space;
use rustc_demangle::demangle;

/// A named range of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The name of the variable, without what the compiler adds, or of the parameter that points
    /// there.
    pub name: String,
    /// The name in the PTX.
    pub symbol: String,
    /// Shared, global or constant.
    pub space: Space,
    /// The first byte; an offset in shared memory.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

impl Replay {
    /// The arrays of shared memory, of the module, and of the kernel's parameters, by space and
    /// address.
    ///
    /// rustc's PTX declares only bytes and their alignment; the element type is unknown.
    pub fn arrays(&self) -> Vec<Array> {
        let program = self.plan.program();
        let placed = self.plan.module.addresses.iter();
        let placed = placed.map(|(&index, &address)| (index, address));
        let mut arrays: Vec<Array> = placed
            .chain(self.plan.shared.iter().copied())
            .filter_map(|(index, address)| {
                let variable = program.variables.get(index as usize)?;
                let size = match variable.dynamic {
                    true => self.plan.shared_bytes - self.plan.dynamic_shared,
                    false => variable.size,
                };
                (!variable.is_reference).then(|| Array {
                    name: short(&format!("{:#}", demangle(&variable.name))),
                    symbol: variable.name.clone(),
                    space: variable.space,
                    address,
                    size,
                })
            })
            .collect();
        let dynamic = self.plan.dynamic_shared..self.plan.shared_bytes;
        let named = |array: &Array| array.space == Space::Shared && array.address == dynamic.start;
        if !dynamic.is_empty() && !arrays.iter().any(named) {
            arrays.push(Array {
                name: "dynamic_shared".to_owned(),
                symbol: String::new(),
                space: Space::Shared,
                address: dynamic.start,
                size: dynamic.end - dynamic.start,
            });
        }
        for (name, bytes) in self.parameters() {
            let address = bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
            let mut allocations = self.table.allocations().iter();
            let Some(pointed) = allocations.find(|allocation| allocation.base == address) else {
                continue;
            };
            let space = Space::Global;
            let size = pointed.size;
            arrays.push(Array {
                symbol: name.clone(),
                name,
                space,
                address,
                size,
            });
        }
        arrays.retain(|array| array.size > 0);
        arrays.sort_by(|a, b| {
            (a.space as u8, a.address, &a.name).cmp(&(b.space as u8, b.address, &b.name))
        });
        arrays
    }

    /// The kernel's parameters: names in the PTX, and bytes.
    pub fn parameters(&self) -> Vec<(String, Vec<u8>)> {
        let kernel = &self.plan.kernel;
        let parameters = kernel.params().iter().zip(&kernel.slots);
        let parameters = parameters.map(|(param, slot)| {
            let bytes = self
                .plan
                .params
                .get(slot.offset as usize..(slot.offset + slot.size) as usize);
            (param.name.clone(), bytes.unwrap_or_default().to_vec())
        });
        parameters.collect()
    }
}

/// The last part of a path: `tile` of `kernels::transpose::tile`.
fn short(name: &str) -> String {
    name.rsplit("::").next().unwrap_or(name).to_owned()
}
