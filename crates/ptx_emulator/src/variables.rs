use crate::decode::{Program, Target};
use crate::error::MemoryError;
use crate::fault::Space;
use crate::memory::{Defined, FUNCTION_BASE, Kind, Table};
use crate::module::Module;
use std::collections::HashMap;

/// Allocates a module's `.global` and `.const` variables and writes their initial values.
///
/// `addresses` receives what was placed, also on an error.
pub(crate) fn place(
    module: &Module,
    table: &mut Table,
    addresses: &mut HashMap<u32, u64>,
) -> Result<(), MemoryError> {
    let program = &module.program;
    for function in &program.functions {
        let missing = function
            .uses
            .iter()
            .map(|&index| &program.variables[index as usize]);
        if let Some(variable) = missing
            .into_iter()
            .find(|variable| variable.is_extern && !variable.is_reference)
        {
            let (name, symbol) = (function.name.clone(), variable.name.clone());
            return Err(MemoryError::UnresolvedSymbol { name, symbol });
        }
    }
    let placed = |space: Space| matches!(space, Space::Global | Space::Const);
    for (index, variable) in program.variables.iter().enumerate() {
        if placed(variable.space) && !variable.is_extern && !variable.is_reference {
            let kind = if variable.space == Space::Const {
                Kind::Const
            } else {
                Kind::Global
            };
            let address = table.alloc(variable.size, kind)?;
            addresses.insert(index as u32, address);
            table.write(address, &variable.bytes)?;
            // Variables without an initial value are zero.
            table.define(address, |defined| *defined = Defined::everything());
        }
    }
    for (index, variable) in program.variables.iter().enumerate() {
        let Some(&base) = addresses.get(&(index as u32)) else {
            continue;
        };
        for init in &variable.addresses {
            let target = address_of(program, addresses, init.target).ok_or_else(|| {
                MemoryError::UnresolvedSymbol {
                    name: variable.name.clone(),
                    symbol: symbol(program, init.target),
                }
            })?;
            let mut value = target.wrapping_add(init.offset as u64);
            if let Some(mask) = init.mask {
                value = (value & mask) >> mask.trailing_zeros().min(63);
            }
            let size = usize::from(init.size).min(8);
            table.write(base + init.at, &value.to_le_bytes()[..size])?;
        }
    }
    Ok(())
}

fn address_of(program: &Program, addresses: &HashMap<u32, u64>, target: Target) -> Option<u64> {
    match target {
        Target::Variable(index) => addresses.get(&index).copied(),
        Target::Function(index) => program
            .functions
            .get(index as usize)
            .map(|_| FUNCTION_BASE + 16 * u64::from(index)),
    }
}

fn symbol(program: &Program, target: Target) -> String {
    match target {
        Target::Variable(index) => program.variables[index as usize].name.clone(),
        Target::Function(index) => program.functions[index as usize].name.clone(),
    }
}
