use super::arguments::{Argument, Placed};
use crate::emulator::Emulator;
use crate::error::{InvalidLaunch, MemoryError, ParseError};
use crate::launch::LaunchConfig;
use crate::limits::Limits;
use crate::module::Module;
use crate::report::{self, Sources, Style};
use crate::sanitize::{CheckOptions, CheckReport};
use bytemuck::Pod;
use std::fmt;
use std::path::Path;

/// Extents of a grid or block: one, two or three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents([u32; 3]);

impl From<u32> for Extents {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Extents {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Extents {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Extents {
    fn from(extents: [u32; 3]) -> Self {
        Self(extents)
    }
}

/// A launch to check; see the [module](super) for an example.
pub struct Launch<'a> {
    ptx: String,
    module: Module,
    kernel: Option<String>,
    config: LaunchConfig,
    arguments: Vec<Argument<'a>>,
    limits: Limits,
    options: CheckOptions,
}

/// Why a launch could not be checked: nothing ran.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The text is not PTX that the emulator runs.
    #[error(transparent)]
    Ptx(#[from] ParseError),
    /// No kernel was named, and there is more than one.
    #[error("name the kernel to launch; the PTX has: {}", .available.join(", "))]
    WhichKernel {
        /// The kernels available.
        available: Vec<String>,
    },
    /// The arguments do not fit into the device's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The launch does not match the kernel.
    #[error(transparent)]
    Launch(#[from] InvalidLaunch),
}

impl<'a> Launch<'a> {
    /// Starts from a PTX text: one block of one thread, all detectors, the default thread order.
    ///
    /// # Errors
    /// [`Refused::Ptx`].
    pub fn of(ptx: &str) -> Result<Self, Refused> {
        Ok(Self::of_module(ptx, &Module::parse(ptx)?))
    }

    /// The same from a text and what it was parsed to: for many launches of one text.
    pub fn of_module(ptx: &str, module: &Module) -> Self {
        Self {
            ptx: ptx.to_owned(),
            module: module.clone(),
            kernel: None,
            config: LaunchConfig {
                grid: [1; 3],
                block: [1; 3],
                dynamic_shared_bytes: 0,
            },
            arguments: Vec::new(),
            limits: Limits::default(),
            options: CheckOptions::default(),
        }
    }

    /// Names the kernel; optional if the PTX has only one.
    #[must_use]
    pub fn kernel(mut self, name: &str) -> Self {
        self.kernel = Some(name.to_owned());
        self
    }

    /// Sets the grid.
    #[must_use]
    pub fn grid(mut self, blocks: impl Into<Extents>) -> Self {
        self.config.grid = blocks.into().0;
        self
    }

    /// Sets the block.
    #[must_use]
    pub fn block(mut self, threads: impl Into<Extents>) -> Self {
        self.config.block = threads.into().0;
        self
    }

    /// Sets the size of dynamic shared memory in bytes.
    #[must_use]
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.config.dynamic_shared_bytes = bytes;
        self
    }

    /// Passes a plain value: a number, or a struct passed by value. A kernel's `usize` is `u64`
    /// here.
    #[must_use]
    pub fn value<T: Pod>(self, value: T) -> Self {
        let bytes = bytemuck::bytes_of(&value).to_vec();
        self.argument(Argument::Value(bytes))
    }

    /// Passes the address of a copy, for `*const T`.
    #[must_use]
    pub fn input<T: Pod>(self, values: &'a [T]) -> Self {
        self.argument(Argument::Input(bytemuck::cast_slice(values)))
    }

    /// Passes the address of uninitialised memory, for `*mut T`. Afterwards `values` has what the
    /// kernel wrote, and zero where it wrote nothing.
    #[must_use]
    pub fn output<T: Pod>(self, values: &'a mut [T]) -> Self {
        self.argument(Argument::Output(bytemuck::cast_slice_mut(values)))
    }

    /// Passes the address of a copy, which is read back, for `*mut T`.
    #[must_use]
    pub fn inout<T: Pod>(self, values: &'a mut [T]) -> Self {
        self.argument(Argument::InOut(bytemuck::cast_slice_mut(values)))
    }

    /// Passes [`input`](Self::input) and the length, for `&[T]`.
    #[must_use]
    pub fn slice<T: Pod>(self, values: &'a [T]) -> Self {
        let len = values.len() as u64;
        self.input(values).value(len)
    }

    /// Passes [`inout`](Self::inout) and the length, for `&mut [T]`.
    #[must_use]
    pub fn slice_mut<T: Pod>(self, values: &'a mut [T]) -> Self {
        let len = values.len() as u64;
        self.inout(values).value(len)
    }

    /// Also runs this many other thread orders.
    #[must_use]
    pub fn schedules(mut self, schedules: u32) -> Self {
        self.options.schedules = schedules;
        self
    }

    /// Sets what to check.
    #[must_use]
    pub fn options(mut self, options: CheckOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the device's limits, for example on instructions and memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs the kernel under the detectors and copies the outputs back, even after a fault.
    ///
    /// # Errors
    /// If the launch was refused and nothing ran. The kernel's mistakes are in the report.
    pub fn check(mut self) -> Result<Checked, Refused> {
        let kernel = self.chosen()?;
        let emulator = Emulator::new(self.limits);
        let module = emulator.load(&self.module)?;
        let placed: Result<Vec<Placed>, _> = self
            .arguments
            .iter()
            .map(|argument| argument.place(&emulator))
            .collect();
        let placed = placed?;
        let bytes: Vec<&[u8]> = placed.iter().map(|placed| &placed.bytes[..]).collect();
        let report = emulator.check(&module, &kernel, self.config, &bytes, &self.options)?;
        for (argument, placed) in self.arguments.iter_mut().zip(&placed) {
            argument.fetch(&emulator, placed)?;
        }
        Ok(Checked {
            report,
            ptx: self.ptx,
        })
    }

    fn argument(mut self, argument: Argument<'a>) -> Self {
        self.arguments.push(argument);
        self
    }

    fn chosen(&self) -> Result<String, Refused> {
        let names = || self.module.entries().map(|entry| entry.name().to_owned());
        match &self.kernel {
            Some(name) => Ok(name.clone()),
            None => match &names().collect::<Vec<_>>()[..] {
                [only] => Ok(only.clone()),
                several => Err(Refused::WhichKernel {
                    available: several.to_vec(),
                }),
            },
        }
    }
}

/// A checked launch. `Display` is the complete report.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The findings.
    pub report: CheckReport,
    ptx: String,
}

impl Checked {
    /// Fails the test if there is any finding.
    ///
    /// # Panics
    /// With the report as its message.
    #[track_caller]
    pub fn assert_clean(&self) {
        if !self.report.is_clean() {
            panic!("the kernel is not clean\n{self}");
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = Sources::new().with_ptx(Path::new("PTX"), &self.ptx);
        let checks = std::slice::from_ref(&self.report);
        f.write_str(&report::text(checks, &sources, Style::Plain))
    }
}
