use crate::decode::Function;
use crate::error::{InvalidLaunch, LaunchError, MemoryError};
use crate::launch::{LaunchConfig, Output, Statistics};
use crate::limits::Limits;
use crate::loaded::LoadedModule;
use crate::memory::{Kind, Table};
use crate::metrics::{Collector, Profile};
use crate::module::Module;
use crate::progress::{Progress, Sink};
use crate::sanitize::{self, CheckOptions, CheckReport};
use crate::texture::{Image, Sampling, Texture};
use crate::{check, exec, variables};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A device made of the host's cores: memory, and a way to run kernels on it.
///
/// All methods take `&self`; one launch runs at a time, and host accesses wait for it.
pub struct Emulator {
    limits: Limits,
    stack_bytes: AtomicU32,
    memory: Arc<Mutex<Table>>,
    output: Output,
    progress: Sink,
}

impl Emulator {
    /// Creates a device with empty memory.
    pub fn new(limits: Limits) -> Self {
        let memory = Arc::new(Mutex::new(Table::new(limits.memory_bytes)));
        let output: Output = Mutex::new(Box::new(|text| print!("{text}")));
        Self {
            stack_bytes: AtomicU32::new(limits.stack_bytes),
            limits,
            memory,
            output,
            progress: Sink::default(),
        }
    }

    /// Sets the destination of device code's `printf`; the default is standard output.
    ///
    /// `sink` is called once per `vprintf` call while the kernel runs, from any thread, but never
    /// concurrently. It must not use the emulator.
    pub fn set_output(&self, sink: impl FnMut(&str) + Send + 'static) {
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(sink);
    }

    /// Sets a listener for the progress of launches; the default is none.
    ///
    /// `listener` is called from any thread, but never concurrently: for a long-running block,
    /// about every 16,384 warp instructions. It must not use the emulator.
    pub fn set_progress(&self, listener: impl FnMut(Progress<'_>) + Send + 'static) {
        self.progress.set(Box::new(listener));
    }

    /// The limits that the emulator was created with.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The stack of one thread in later launches, in bytes.
    pub fn stack_bytes(&self) -> u32 {
        self.stack_bytes.load(Ordering::Relaxed)
    }

    /// Sets the stack of one thread in later launches, which bounds the depth of recursion.
    ///
    /// A call takes the called function's arrays, its parameters and results, and at least 16
    /// bytes. On a GPU it also takes the registers that the function saves: what does not fit here
    /// fits nowhere.
    pub fn set_stack_bytes(&self, bytes: u32) {
        self.stack_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Allocates `bytes` of zeroed device memory and returns its address. Zero bytes have an
    /// address too.
    ///
    /// A GPU does not zero memory: for [`check`](Self::check) these bytes are uninitialised until
    /// the host or a kernel writes them.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`].
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.table().alloc(bytes, Kind::Global)
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// [`MemoryError::InvalidFree`] unless the address is from [`alloc`](Self::alloc) and not yet
    /// freed.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.table().free(address)
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] if they do not fit into one allocation; then nothing is
    /// written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.table().write(address, bytes)
    }

    /// Copies bytes from the device.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] if they are not all inside one allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        self.table().read(address, bytes)
    }

    /// The contents of the allocation that begins at `address`, and whether all of it has been
    /// written; `None` if none begins there.
    pub fn allocation(&self, address: u64) -> Option<(Vec<u8>, bool)> {
        let table = self.table();
        let mut allocations = table.allocations().iter();
        let allocation = allocations.find(|allocation| allocation.base == address)?;
        let mut bytes = vec![0; usize::try_from(allocation.size).ok()?];
        allocation.read(0, &mut bytes);
        Some((bytes, allocation.defined().is_complete()))
    }

    /// Creates a texture on an image in device memory, and returns its handle.
    ///
    /// # Errors
    /// [`MemoryError::InvalidImage`], or [`MemoryError::OutOfBounds`] if the texels are not all
    /// inside one allocation.
    pub fn texture(&self, image: Image, sampling: Sampling) -> Result<u64, MemoryError> {
        let texture = Texture::new(image, sampling)?;
        let mut table = self.table();
        table.check_image(&texture.image)?;
        Ok(table.add_texture(texture))
    }

    /// Creates a surface on an image in device memory, and returns its handle.
    ///
    /// # Errors
    /// As [`texture`](Self::texture).
    pub fn surface(&self, image: Image) -> Result<u64, MemoryError> {
        image.check()?;
        let mut table = self.table();
        table.check_image(&image)?;
        Ok(table.add_surface(image))
    }

    /// Places a module's variables in device memory.
    ///
    /// # Errors
    /// If memory is exhausted, or an initial value names something without an address.
    pub fn load(&self, module: &Module) -> Result<LoadedModule, MemoryError> {
        // If dropped on an error, it frees the variables placed so far.
        let mut loaded = LoadedModule {
            memory: Arc::clone(&self.memory),
            module: module.clone(),
            addresses: HashMap::new(),
        };
        let functions = &module.program.functions;
        let allocates = |function: &Function| function.start.is_none() && function.name == "malloc";
        if functions.iter().any(allocates) {
            self.table().need_heap(self.limits.heap_bytes)?;
        }
        variables::place(module, &mut self.table(), &mut loaded.addresses)?;
        Ok(loaded)
    }

    /// Runs a kernel to completion.
    ///
    /// `args` has one byte string per parameter, in order, as for `cuLaunchKernel`.
    ///
    /// # Errors
    /// [`LaunchError::Invalid`] if nothing ran; [`LaunchError::Fault`] if the program failed.
    /// Writes before a fault remain. The emulator stays usable.
    pub fn launch(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
    ) -> Result<Statistics, LaunchError> {
        self.launch_on(module, kernel, config, args, false)
    }

    /// Like [`launch`](Self::launch), without the host's vector extensions; tests compare the two.
    ///
    /// # Errors
    /// As `launch`.
    #[doc(hidden)]
    pub fn launch_portable(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
    ) -> Result<Statistics, LaunchError> {
        self.launch_on(module, kernel, config, args, true)
    }

    fn launch_on(
        &self,
        loaded: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
        portable: bool,
    ) -> Result<Statistics, LaunchError> {
        let mut table = self.table_for(loaded);
        let mut request = self.request(loaded, &table, kernel, config, args)?;
        request.portable = portable;
        let outcome = exec::launch(request, self.workers());
        table.define_all();
        match outcome.fault {
            Some(fault) => Err(fault.into()),
            None => Ok(outcome.statistics),
        }
    }

    /// Runs a kernel under detectors for mistakes that a GPU hides: see [`CheckOptions`].
    ///
    /// Arguments and effects are those of [`launch`](Self::launch), in the emulator's default
    /// thread order; the blocks run on one core.
    ///
    /// # Errors
    /// If the launch was refused and nothing ran. The program's mistakes are in the report.
    pub fn check(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
        options: &CheckOptions,
    ) -> Result<CheckReport, InvalidLaunch> {
        let mut table = self.table_for(module);
        let mut request = self.request(module, &table, kernel, config, args)?;
        request.guard_shared();
        let (report, written) = sanitize::check(&request, options);
        match written {
            Some(written) => table.set_written(written),
            None => table.define_all(),
        }
        Ok(report)
    }

    /// Like [`check`](Self::check), in a single thread order: that of a seed, or the emulator's
    /// own.
    ///
    /// # Errors
    /// As `check`.
    pub fn check_order(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
        options: &CheckOptions,
        seed: Option<u64>,
    ) -> Result<CheckReport, InvalidLaunch> {
        let mut table = self.table_for(module);
        let mut request = self.request(module, &table, kernel, config, args)?;
        request.guard_shared();
        request.seed = seed;
        let (report, written) = sanitize::check_order(&request, options);
        match written {
            Some(written) => table.set_written(written),
            None => table.define_all(),
        }
        Ok(report)
    }

    /// Runs a kernel and counts what it does: see [`Profile`].
    ///
    /// Arguments and effects are those of [`launch`](Self::launch).
    ///
    /// # Errors
    /// As `launch`.
    pub fn profile(
        &self,
        module: &LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
    ) -> Result<Profile, LaunchError> {
        let mut table = self.table_for(module);
        let request = self.request(module, &table, kernel, config, args)?;
        let (program, shared_bytes) = (&module.module.program, request.shared_bytes);
        let blocks: u64 = config
            .grid
            .iter()
            .map(|&extent| u64::from(extent))
            .product();
        let workers = self
            .workers()
            .min(usize::try_from(blocks).unwrap_or(usize::MAX));
        let mut collectors: Vec<_> = (0..workers).map(|_| Collector::new(program)).collect();
        let mut observers: Vec<_> = collectors
            .iter_mut()
            .map(|collector| collector as &mut dyn exec::Observer)
            .collect();
        let outcome = exec::watch(request, &mut observers);
        table.define_all();
        match outcome.fault {
            Some(fault) => Err(fault.into()),
            None => Ok(Profile::new(
                kernel,
                config,
                shared_bytes,
                program,
                collectors,
            )),
        }
    }

    /// Everything that a launch needs, or why it is refused.
    pub(crate) fn request<'a>(
        &'a self,
        loaded: &'a LoadedModule,
        table: &'a Table,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
    ) -> Result<exec::Request<'a>, InvalidLaunch> {
        if !Arc::ptr_eq(&self.memory, &loaded.memory) {
            return Err(InvalidLaunch::ForeignModule);
        }
        let module = &loaded.module;
        let Some(entry) = module.entry(kernel) else {
            let available = module
                .entries()
                .map(|entry| entry.name().to_owned())
                .collect();
            return Err(InvalidLaunch::NoSuchKernel {
                name: kernel.to_owned(),
                available,
            });
        };
        if let Some(reason) = entry.unsupported() {
            return Err(InvalidLaunch::Unsupported {
                kernel: kernel.to_owned(),
                reason: reason.clone(),
            });
        }
        let program = &module.program;
        let function = &program.functions[entry.function as usize];
        check::shape(config, &self.limits, function)?;
        let params = check::arguments(entry, args)?;
        let layout = program.shared_layout(entry.function);
        let shared_bytes = check::shared(layout.dynamic, config, &self.limits)?;
        check::resources(entry, function, config, &self.limits)?;
        if program.is_cooperative(entry.function) {
            check::cooperative(entry, config, shared_bytes)?;
        }
        Ok(exec::Request {
            program,
            table,
            limits: &self.limits,
            stack_bytes: self.stack_bytes(),
            output: &self.output,
            progress: &self.progress,
            kernel: entry,
            config,
            params,
            addresses: exec::Addresses {
                module: &loaded.addresses,
                shared: layout.variables,
            },
            shared_bytes,
            dynamic_shared: layout.dynamic,
            portable: false,
            seed: None,
        })
    }

    fn workers(&self) -> usize {
        let workers = self.limits.workers;
        let threads = || std::thread::available_parallelism().map_or(1, Into::into);
        workers.unwrap_or_else(threads).max(1)
    }

    /// The memory for a launch of a module.
    pub(crate) fn table_for(&self, loaded: &LoadedModule) -> MutexGuard<'_, Table> {
        let mut table = self.table();
        let program = &loaded.module.program;
        let workspace = program.workspace.map(|index| {
            let size = program.variables[index as usize].size;
            (loaded.addresses.get(&index), vec![0; size as usize])
        });
        if let Some((Some(&address), zeros)) = workspace
            && Arc::ptr_eq(&self.memory, &loaded.memory)
        {
            // A launch that ended in a fault may have left it mid-barrier. This fails only if the
            // host has freed the variable.
            let _ = table.write(address, &zeros);
        }
        table
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
