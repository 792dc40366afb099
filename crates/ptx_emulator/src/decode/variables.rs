//! A module's variables and their initial values.

use super::names::{ModuleNames, Symbol};
use super::program::{AddressInit, Target, Variable};
use crate::error::ParseError;
use crate::fault::Space;
use crate::parse::{self, Initial, Tree};

/// Limit for a variable's initial value.
const MAX_INITIAL_BYTES: u64 = 64 << 20;

/// Module variables by name; an `.extern` declaration and the definition are one variable.
pub(super) fn declare_variables<'a>(
    names: &mut ModuleNames<'a>,
    tree: &Tree<'a>,
) -> Result<Vec<u32>, ParseError> {
    let mut indices = Vec::new();
    for variable in &tree.variables {
        let index = match names.lookup(variable.name) {
            Some(Symbol::Variable(index)) => {
                let known = &mut names.variables[index as usize];
                if known.space != variable.space || !(known.is_extern || variable.is_extern) {
                    let message = format!("`{}` is declared twice", variable.name);
                    return Err(ParseError::syntax(variable.line, message));
                }
                if !variable.is_extern {
                    (known.is_extern, known.size, known.align) =
                        (false, variable.size(), variable.align);
                }
                index
            }
            _ => {
                let index = names.add_variable(variable)?;
                names.names.insert(variable.name, Symbol::Variable(index));
                index
            }
        };
        indices.push(index);
    }
    Ok(indices)
}

impl<'a> ModuleNames<'a> {
    /// Adds a variable; initial values are filled in later, once every name is known.
    pub(super) fn add_variable(
        &mut self,
        variable: &parse::Variable<'a>,
    ) -> Result<u32, ParseError> {
        let index = self.variables.len() as u32;
        let dynamic = variable.space == Space::Shared && variable.count.is_none();
        if variable.count.is_none() && !dynamic && !variable.is_extern {
            return Err(ParseError::syntax(
                variable.line,
                format!("array `{}` has no size", variable.name),
            ));
        }
        if variable.size() > 1 << 40 {
            return Err(ParseError::limit(
                variable.line,
                format!("`{}` is larger than 1 TiB", variable.name),
            ));
        }
        if variable.space == Space::Shared && !variable.initial.is_empty() {
            return Err(ParseError::syntax(
                variable.line,
                "shared memory cannot have initial values",
            ));
        }
        self.variables.push(Variable {
            name: variable.name.to_owned(),
            space: variable.space,
            align: variable.align,
            size: variable.size(),
            dynamic,
            is_extern: variable.is_extern && variable.space != Space::Shared,
            is_reference: variable.is_reference,
            bytes: Vec::new(),
            addresses: Vec::new(),
        });
        Ok(index)
    }

    /// Fills in the initial value of a variable.
    pub(super) fn fill(
        &mut self,
        index: usize,
        variable: &parse::Variable<'a>,
    ) -> Result<(), ParseError> {
        let size = variable.element as usize;
        let Some(last) = variable.initial.last() else {
            return Ok(());
        };
        let length = (last.0 + 1).saturating_mul(size as u64);
        if length > MAX_INITIAL_BYTES {
            return Err(ParseError::limit(
                variable.line,
                "initial value of more than 64 MiB",
            ));
        }
        let mut bytes = vec![0; length as usize];
        let mut addresses = Vec::new();
        for (at, value) in &variable.initial {
            let at = *at as usize * size;
            match value {
                Initial::Bits(_) | Initial::Single(_) | Initial::Double(_) => {
                    let bits = match (value, size) {
                        (&Initial::Single(bits), 4) => u64::from(bits),
                        (&Initial::Double(value), 4) => u64::from((value as f32).to_bits()),
                        (&Initial::Double(value), 8) => value.to_bits(),
                        (&Initial::Bits(bits), _) => bits,
                        _ => {
                            let message =
                                format!("a float does not fit the elements of `{}`", variable.name);
                            return Err(ParseError::syntax(variable.line, message));
                        }
                    };
                    let count = size.min(8);
                    bytes[at..at + count].copy_from_slice(&bits.to_le_bytes()[..count]);
                }
                &Initial::Address {
                    symbol,
                    offset,
                    generic,
                    mask,
                } => {
                    if size > 8 || (size < 8 && mask.is_none()) {
                        let message =
                            format!("the address of `{symbol}` needs elements of 64 bits");
                        return Err(ParseError::syntax(variable.line, message));
                    }
                    let target = match self.lookup(symbol) {
                        Some(Symbol::Variable(index)) => Target::Variable(index),
                        Some(Symbol::Function(index)) => Target::Function(index),
                        _ => {
                            let refused = self.refused.get(symbol).cloned();
                            return Err(refused.unwrap_or_else(|| {
                                let message = format!("`{symbol}` is not declared");
                                ParseError::syntax(variable.line, message)
                            }));
                        }
                    };
                    if let Target::Variable(index) = target
                        && self.space_of(index) == Space::Shared
                    {
                        let form = format!(
                            "{} of a shared variable",
                            if generic { "generic()" } else { "address" }
                        );
                        return Err(ParseError::unsupported(variable.line, form));
                    }
                    addresses.push(AddressInit {
                        at: at as u64,
                        size: size as u8,
                        target,
                        offset,
                        mask,
                    });
                }
            }
        }
        let slot = &mut self.variables[index];
        slot.bytes = bytes;
        slot.addresses = addresses;
        Ok(())
    }
}
