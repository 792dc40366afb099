//! A launch as requested: everything that does not change while it runs.

use super::printed::Printed;
use crate::decode::Entry;
use crate::emulator::Emulator;
use crate::error::InvalidLaunch;
use crate::exec::{Addresses, Request};
use crate::launch::{LaunchConfig, Output};
use crate::limits::Limits;
use crate::loaded::LoadedModule;
use crate::memory::Table;
use crate::progress::Sink;
use std::sync::Mutex;

pub(super) struct Plan {
    pub(super) module: LoadedModule,
    limits: Limits,
    pub(super) printed: Printed,
    output: Output,
    progress: Sink,
    pub(super) kernel: Entry,
    pub(super) config: LaunchConfig,
    pub(super) params: Vec<u8>,
    /// The addresses of the shared variables.
    pub(super) shared: Vec<(u32, u64)>,
    pub(super) shared_bytes: u64,
    pub(super) dynamic_shared: u64,
    seed: Option<u64>,
}

impl Plan {
    /// Checks the launch. Also returns the memory that it begins with.
    pub(super) fn new(
        emulator: Emulator,
        module: LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
        seed: Option<u64>,
    ) -> Result<(Self, Table), InvalidLaunch> {
        let mut table = emulator.table_for(&module);
        let mut request = emulator.request(&module, &table, kernel, config, args)?;
        request.guard_shared();
        let Request {
            kernel,
            params,
            addresses,
            shared_bytes,
            dynamic_shared,
            stack_bytes,
            ..
        } = request;
        let (kernel, shared) = (kernel.clone(), addresses.shared);
        // The emulator is no longer used: what the module frees on drop is no longer in its table.
        let table = std::mem::replace(&mut *table, Table::new(0));
        let mut limits = emulator.limits().clone();
        limits.stack_bytes = stack_bytes;
        let printed = Printed::default();
        let plan = Self {
            module,
            limits,
            output: Mutex::new(printed.sink()),
            printed,
            progress: Sink::default(),
            kernel,
            config,
            params,
            shared,
            shared_bytes,
            dynamic_shared,
            seed,
        };
        Ok((plan, table))
    }

    pub(super) fn request<'a>(&'a self, table: &'a Table) -> Request<'a> {
        Request {
            program: &self.module.module.program,
            table,
            limits: &self.limits,
            stack_bytes: self.limits.stack_bytes,
            output: &self.output,
            progress: &self.progress,
            kernel: &self.kernel,
            config: self.config,
            params: self.params.clone(),
            addresses: Addresses {
                module: &self.module.addresses,
                shared: self.shared.clone(),
            },
            shared_bytes: self.shared_bytes,
            dynamic_shared: self.dynamic_shared,
            portable: false,
            seed: self.seed,
        }
    }

    pub(super) fn program(&self) -> &crate::decode::Program {
        &self.module.module.program
    }

    /// A block's index in the grid, by its number.
    pub(super) fn block_index(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.config.grid.map(u64::from);
        [number % x, number / x % y, number / x / y].map(|place| place as u32)
    }
}
