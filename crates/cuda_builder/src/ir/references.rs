//! The symbols that a function or a global variable mentions.

use std::collections::{HashMap, HashSet};

use super::module::Module;

/// For each symbol that the module defines, the symbols that it mentions.
pub(crate) struct References<'m> {
    mentioned: HashMap<&'m str, Vec<&'m str>>,
}

impl<'m> References<'m> {
    pub(crate) fn of(module: &'m Module<'m>) -> Self {
        let globals = module.globals();
        let globals = globals.map(|global| (global.name(), global.globals().collect()));
        let functions = module.functions().map(|function| {
            let instructions = function.instructions();
            let mentioned = instructions.flat_map(|instruction| instruction.globals());
            (function.name(), mentioned.collect())
        });
        References {
            mentioned: globals.chain(functions).collect(),
        }
    }

    /// Everything that these symbols mention, directly or indirectly, including themselves.
    pub(crate) fn reached(&self, from: impl IntoIterator<Item = &'m str>) -> HashSet<&'m str> {
        let mut reached = HashSet::new();
        let mut waiting: Vec<_> = from.into_iter().collect();
        while let Some(symbol) = waiting.pop() {
            if reached.insert(symbol) {
                waiting.extend(self.mentioned.get(symbol).into_iter().flatten());
            }
        }
        reached
    }
}
