use crate::error::MemoryError;
use crate::memory::Table;
use crate::module::Module;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A [`Module`] whose variables are placed in an emulator's memory. Dropping it frees them.
pub struct LoadedModule {
    pub(crate) memory: Arc<Mutex<Table>>,
    pub(crate) module: Module,
    /// Address of each variable, by its number.
    pub(crate) addresses: HashMap<u32, u64>,
}

impl LoadedModule {
    /// The module that was loaded.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Binds a `.texref` or `.surfref` of the module to a handle of its emulator, for later
    /// launches.
    ///
    /// # Errors
    /// [`MemoryError::NoReference`].
    pub fn bind(&mut self, name: &str, handle: u64) -> Result<(), MemoryError> {
        let index = self.references().find(|&(_, known)| known == name);
        let index = index.map(|(index, _)| index);
        let index = index.ok_or_else(|| MemoryError::NoReference {
            name: name.to_owned(),
            available: self.references().map(|(_, name)| name.to_owned()).collect(),
        })?;
        self.addresses.insert(index, handle);
        Ok(())
    }

    /// The texture and surface references of the module.
    fn references(&self) -> impl Iterator<Item = (u32, &str)> {
        let variables = (0..).zip(&self.module.program.variables);
        let references = variables.filter(|(_, variable)| variable.is_reference);
        references.map(|(index, variable)| (index, variable.name.as_str()))
    }

    /// The address and size of a `.global` or `.const` variable.
    pub fn symbol(&self, name: &str) -> Option<(u64, u64)> {
        let variables = &self.module.program.variables;
        let index = variables
            .iter()
            .position(|variable| variable.name == name && !variable.is_reference)?;
        let address = self.addresses.get(&u32::try_from(index).ok()?)?;
        Some((*address, variables[index].size))
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        let mut table = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for &address in self.addresses.values() {
            // These addresses come from `load`; freeing fails only if the host has already freed
            // one.
            let _ = table.free(address);
        }
    }
}
