//! The meaning of names.

use super::op::Row;
use super::program::Variable;
use crate::error::ParseError;
use crate::fault::Space;
use std::collections::HashMap;

/// CUDA's `grid.sync` uses the second word of it.
pub(super) const WORKSPACE: &str = "the grid's workspace";
const WORKSPACE_BYTES: u64 = 8;
pub(super) const RESERVED_SHARED: &str = "the reserved shared memory";
pub(super) const RESERVED_SHARED_BYTES: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Predicate,
    B16,
    B32,
    B64,
    /// Two 64-bit rows, low half first.
    B128,
}

/// The meaning of a name inside a function.
#[derive(Clone, Copy)]
pub(super) enum Symbol {
    Register(Class, Row),
    /// In the frame's local memory: `.local` variables, and parameters of functions that are not
    /// kernels.
    Local {
        offset: u32,
        size: u32,
        is_param: bool,
    },
    KernelParam {
        offset: u32,
        size: u32,
    },
    Variable(u32),
    Function(u32),
}

/// Names visible to every function.
#[derive(Default)]
pub(super) struct ModuleNames<'a> {
    pub(super) names: HashMap<&'a str, Symbol>,
    pub(super) variables: Vec<Variable>,
    /// Variables that no module declares, by name.
    pub(super) system: HashMap<&'static str, u32>,
    /// Sizes of the return values and parameters of each function.
    pub(super) signatures: Vec<(Vec<u32>, Vec<u32>)>,
    /// Variables with an unsupported declaration, and the reason.
    pub(super) refused: HashMap<&'a str, ParseError>,
    /// Whether each function is a kernel.
    pub(super) are_entries: Vec<bool>,
}

impl<'a> ModuleNames<'a> {
    pub(super) fn lookup(&self, name: &str) -> Option<Symbol> {
        self.names.get(name).copied()
    }

    pub(super) fn space_of(&self, index: u32) -> Space {
        self.variables[index as usize].space
    }

    /// The variable that the blocks of a grid use to wait for each other.
    pub(super) fn workspace(&mut self) -> u32 {
        self.system_variable(WORKSPACE, Space::Global, WORKSPACE_BYTES)
    }

    /// The shared memory of a block that belongs to system software.
    pub(super) fn reserved_shared(&mut self) -> u32 {
        self.system_variable(RESERVED_SHARED, Space::Shared, RESERVED_SHARED_BYTES)
    }

    /// A variable that no module declares.
    fn system_variable(&mut self, name: &'static str, space: Space, size: u64) -> u32 {
        let next = self.variables.len() as u32;
        let index = *self.system.entry(name).or_insert(next);
        if index == next {
            self.variables.push(Variable {
                name: name.to_owned(),
                space,
                align: 16,
                size,
                dynamic: false,
                is_extern: false,
                is_reference: false,
                bytes: Vec::new(),
                addresses: Vec::new(),
            });
        }
        index
    }
}
