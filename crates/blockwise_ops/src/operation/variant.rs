//! The ways to do an operation, as data.

use std::any::Any;
use std::fmt;
use std::num::NonZeroU32;

use blockwise::{Device, DeviceProperties, Stream, Type};

use super::entry::{Kernel, Operands, Takes};
use super::{Asked, Expected, Hold, On, Operation, Problem};
use crate::limits::{self, blocks_for};
use crate::{LaunchError, LaunchPlan};

/// A way to do an operation: its kernels, and how it is launched.
pub struct Variant {
    /// Its name among the operation's.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Who can ask for it.
    pub tier: Tier,
    /// Its kernels: one for each type or width of element, and instance.
    pub kernels: &'static [Kernel],
    /// Chooses the kernel, grid and block; says why if it cannot.
    pub plan: fn(&Task<'_>) -> Result<Plan, LaunchError>,
    /// Bytes of memory of its own, zeros before the first launch.
    pub memory: fn(&Task<'_>) -> usize,
    /// Of a variant that is more than one launch: prepares it.
    pub hold: Option<Hold>,
    /// Other instances and limits that a search for faster ones tries, with a few words each.
    pub tweaks: fn(&Task<'_>) -> Vec<(Options, String)>,
    /// Nanoseconds of a launch by its model; `None` where it is not to be chosen.
    pub model: Option<fn(&Task<'_>) -> Option<f64>>,
    /// For a variant whose error is not that of a sum: the error of each requested output beyond
    /// the reference's tolerance.
    pub error: Option<fn(&Asked<'_>) -> Vec<f64>>,
    /// Whether it is meant for a problem: tables and profiles omit it for others.
    pub worth: fn(&Problem) -> bool,
    /// Whether it is emulated only when asked for by name, because it takes long.
    pub on_request: bool,
    /// Whether a variant with [`hold`](Self::hold) is a single launch without memory for a task.
    pub alone: fn(&Task<'_>) -> bool,
    /// A further value that its family's functions use.
    pub traits: Option<&'static (dyn Any + Send + Sync)>,
}

/// Who can ask for a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The library chooses it, or a caller can sensibly ask for it.
    Product,
    /// A tutorial document describes it.
    Document,
    /// It teaches, or shows what a change costs, and is of a crate that the operations do not know:
    /// only the benchmark, profiler, trace and detectors run it.
    Ladder {
        /// The operations that it is a way to do, none of which lists it.
        of: &'static [&'static Operation],
    },
    /// Internal: the launcher uses it where it fits, and no option names it.
    Step,
}

impl Variant {
    /// A [`Tier::Product`] variant without memory of its own.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        kernels: &'static [Kernel],
        plan: fn(&Task<'_>) -> Result<Plan, LaunchError>,
    ) -> Self {
        Self {
            name,
            about,
            tier: Tier::Product,
            kernels,
            plan,
            memory: |_| 0,
            hold: None,
            tweaks: |_| Vec::new(),
            model: None,
            error: None,
            worth: |_| true,
            on_request: false,
            alone: |_| false,
            traits: None,
        }
    }

    /// The same for others.
    #[must_use]
    pub const fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// The same with memory of its own.
    #[must_use]
    pub const fn memory(mut self, memory: fn(&Task<'_>) -> usize) -> Self {
        self.memory = memory;
        self
    }

    /// The same as more than one launch.
    #[must_use]
    pub const fn held(mut self, hold: Hold) -> Self {
        self.hold = Some(hold);
        self
    }

    /// The same with what a search tries.
    #[must_use]
    pub const fn tuned(mut self, tweaks: fn(&Task<'_>) -> Vec<(Options, String)>) -> Self {
        self.tweaks = tweaks;
        self
    }

    /// The same with a model of its time.
    #[must_use]
    pub const fn modelled(mut self, model: fn(&Task<'_>) -> Option<f64>) -> Self {
        self.model = Some(model);
        self
    }

    /// The same with an error of its own.
    #[must_use]
    pub const fn off_by(mut self, error: fn(&Asked<'_>) -> Vec<f64>) -> Self {
        self.error = Some(error);
        self
    }

    /// The same, worth timing at some problems only.
    #[must_use]
    pub const fn worth(mut self, worth: fn(&Problem) -> bool) -> Self {
        self.worth = worth;
        self
    }

    /// The same, emulated on request only.
    #[must_use]
    pub const fn on_request(mut self) -> Self {
        self.on_request = true;
        self
    }

    /// The same as a single launch, where nothing may be allocated.
    #[must_use]
    pub const fn alone(mut self, alone: fn(&Task<'_>) -> bool) -> Self {
        self.alone = alone;
        self
    }

    /// The same with a value for its family's functions: see [`trait_of`](Self::trait_of).
    #[must_use]
    pub const fn with(mut self, traits: &'static (dyn Any + Send + Sync)) -> Self {
        self.traits = Some(traits);
        self
    }

    /// The value for its family's functions, if it is of this type.
    pub fn trait_of<T: Any>(&self) -> Option<&'static T> {
        self.traits?.downcast_ref()
    }

    /// Whether it is a variant of an operation.
    pub fn is_of(&self, operation: &Operation) -> bool {
        let listed = || operation.variants.contains(&self);
        match self.tier {
            Tier::Ladder { of } => of.contains(&operation),
            Tier::Product | Tier::Document | Tier::Step => listed(),
        }
    }

    /// Nanoseconds of a launch by its model; `None` if it has none or is not to be chosen.
    pub fn nanoseconds(&'static self, task: &Task<'_>) -> Option<f64> {
        let model = self.model.filter(|_| self.takes(task.problem.ty))?;
        model(&task.of(self))
    }

    /// The elements that it has kernels for, in words: "i64, f32", or "elements of 4, 8 bytes".
    pub fn known(&self) -> String {
        self.known_where(|_| true)
    }

    /// The same of some of its kernels.
    fn known_where(&self, some: impl Fn(&Kernel) -> bool) -> String {
        let mut known: Vec<String> = Vec::new();
        let mut by_width = false;
        for kernel in self.kernels.iter().filter(|kernel| some(kernel)) {
            let one = match kernel.takes {
                Takes::Type(ty) => ty.to_string(),
                Takes::Width(bytes) => {
                    by_width = true;
                    bytes.to_string()
                }
            };
            if !known.contains(&one) {
                known.push(one);
            }
        }
        match by_width {
            true => format!("elements of {} bytes", known.join(", ")),
            false => known.join(", "),
        }
    }

    /// Whether there is a kernel for elements of a type.
    pub fn takes(&self, ty: Type) -> bool {
        self.kernels.iter().any(|kernel| kernel.takes.has(ty))
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl PartialEq for Variant {
    /// Each is itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Variant {}

impl Operation {
    /// The expected outputs of a variant: the reference, with the variant's own error added.
    ///
    /// # Errors
    /// Those of the [reference](Self::reference).
    pub fn expected(&self, variant: &Variant, asked: Asked<'_>) -> Result<Expected, LaunchError> {
        let more = variant.error.map(|error| error(&asked));
        let mut expected = (self.reference)(asked)?;
        if let (Some(more), Expected::Near(near)) = (more, &mut expected) {
            for (near, more) in near.iter_mut().zip(more) {
                near.tolerance += more;
            }
        }
        Ok(expected)
    }
}

/// How to launch an operation. The default chooses by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The variant. `None` takes the one that is fastest for the problem.
    pub kernel: Option<&'static Variant>,
    /// Threads of a block, where the variant leaves them open.
    pub threads: Option<u32>,
    /// Blocks along each dimension of the grid, at most.
    pub grid_cap: Option<u32>,
    /// Which of the variant's instances, where it has several. `None` chooses.
    pub instance: Option<u8>,
    /// What the variant counts: tiles of a warp, slices, windows of a batch. `None` chooses.
    pub count: Option<NonZeroU32>,
    /// Of a product whose inner extent is in slices, the first rows in which it is in one. `None`
    /// chooses, or takes none if the slices are [counted](Self::count).
    pub whole: Option<usize>,
    /// Whether it is for a single call: a choice then counts the time to prepare it.
    pub once: bool,
}

impl Options {
    /// With this variant.
    pub const fn of(kernel: &'static Variant) -> Self {
        Self {
            kernel: Some(kernel),
            threads: None,
            grid_cap: None,
            instance: None,
            count: None,
            whole: None,
            once: false,
        }
    }
}

/// All that determines a plan.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The caller's options.
    pub options: &'a Options,
    /// The device.
    pub device: &'a DeviceProperties,
    /// Whether every operand begins at a multiple of 16 bytes.
    pub aligned: bool,
    /// Whether only the totals of a part are wanted, without an output.
    pub totals: bool,
    /// The variant.
    pub variant: &'static Variant,
}

/// A launch, and the kernel that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The launch as plain data.
    pub launch: LaunchPlan,
    /// The kernel.
    pub kernel: &'static Kernel,
}

impl Plan {
    /// Starts the launch.
    pub(crate) fn start(
        &self,
        (device, stream): (&Device, Option<&Stream>),
        operands: Operands<'_>,
    ) -> Result<(), LaunchError> {
        let on = On::new(device, stream, &self.launch);
        Ok((self.kernel.launch)(on, operands)?)
    }
}

impl<'a> Task<'a> {
    /// A task whose operands begin at whole packs.
    pub fn new(
        variant: &'static Variant,
        problem: &'a Problem,
        options: &'a Options,
        device: &'a DeviceProperties,
    ) -> Self {
        Self {
            problem,
            options,
            device,
            aligned: true,
            totals: false,
            variant,
        }
    }

    /// The same for another variant.
    pub fn of(self, variant: &'static Variant) -> Self {
        Self { variant, ..self }
    }

    /// Whether the operands begin at whole packs of 16 bytes, and these extents are whole packs.
    pub(crate) fn in_packs(&self, extents: &[usize]) -> bool {
        let lanes = kernels::pack::BYTES / self.problem.ty.bytes();
        self.aligned && extents.iter().all(|extent| extent % lanes == 0)
    }

    /// The variant's kernel for the problem's type.
    ///
    /// # Errors
    /// When it has none.
    pub fn kernel(&self, [code, instance]: [u8; 2]) -> Result<&'static Kernel, LaunchError> {
        let ty = self.problem.ty;
        let mut kernels = self.variant.kernels.iter();
        let fits = |kernel: &&Kernel| [kernel.code, kernel.instance] == [code, instance];
        let kernel = kernels.find(|kernel| fits(kernel) && kernel.takes.has(ty));
        kernel.ok_or_else(|| match self.variant.kernels {
            [first, others @ ..] if others.iter().all(|other| other.takes == first.takes) => {
                match first.takes {
                    Takes::Type(only) if only != ty => LaunchError::UnsupportedType {
                        kernel: self.variant.name,
                        supported: only.name(),
                        given: ty.name(),
                    },
                    _ => self.no_instance(code),
                }
            }
            _ => self.no_instance(code),
        })
    }

    fn no_instance(&self, code: u8) -> LaunchError {
        LaunchError::NoInstance {
            kernel: self.variant.name,
            given: self.problem.ty,
            known: self.variant.known_where(|kernel| kernel.code == code),
        }
    }

    /// A plan with this many one-dimensional blocks, or with fewer if the cap or the device require
    /// it.
    ///
    /// # Errors
    /// As for [`plan_1d`](Self::plan_1d).
    pub fn plan_blocks(
        &self,
        which: [u8; 2],
        blocks: usize,
        threads: u32,
        shared_bytes: u64,
    ) -> Result<Plan, LaunchError> {
        let kernel = self.kernel(which)?;
        let blocks = blocks_for(blocks, 1, self.options.grid_cap, self.device.max_grid[0]);
        let name = kernel.entry.name;
        let launch = limits::plan_1d(name, blocks, threads, shared_bytes, self.device)?;
        Ok(Plan { launch, kernel })
    }

    /// The same with this many layers of blocks along y and z: one for each row of a matrix,
    /// whatever the cap.
    ///
    /// # Errors
    /// As for [`plan_1d`](Self::plan_1d), and more layers than a grid has.
    pub fn plan_layers(
        &self,
        which: [u8; 2],
        blocks: usize,
        layers: usize,
        threads: u32,
        shared_bytes: u64,
    ) -> Result<Plan, LaunchError> {
        let mut plan = self.plan_blocks(which, blocks, threads, shared_bytes)?;
        let [_, y, z] = self.device.max_grid.map(|most| most as usize);
        let along_z = layers.div_ceil(y.max(1)).max(1);
        let along_y = layers.div_ceil(along_z).max(1);
        // One more than there may be is refused.
        let counted = [(along_y, y), (along_z, z)];
        let [y, z] = counted.map(|(layers, most)| layers.min(most.saturating_add(1)) as u32);
        plan.launch.grid = [plan.launch.grid[0], y, z];
        limits::check(&plan.launch, self.device)?;
        Ok(plan)
    }

    /// A plan of one-dimensional blocks that cover `items`.
    ///
    /// # Errors
    /// A type without a kernel, and limits that are broken.
    pub fn plan_1d(
        &self,
        which: [u8; 2],
        items: usize,
        threads: u32,
        shared_bytes: u64,
    ) -> Result<Plan, LaunchError> {
        let kernel = self.kernel(which)?;
        let blocks = blocks_for(
            items,
            threads,
            self.options.grid_cap,
            self.device.max_grid[0],
        );
        let name = kernel.entry.name;
        let launch = limits::plan_1d(name, blocks, threads, shared_bytes, self.device)?;
        Ok(Plan { launch, kernel })
    }

    /// A plan of blocks for tiles that cover a matrix.
    ///
    /// # Errors
    /// As for [`plan_1d`](Self::plan_1d).
    pub fn plan_2d(
        &self,
        which: [u8; 2],
        extents: [usize; 2],
        tile: [u32; 2],
        block: [u32; 2],
    ) -> Result<Plan, LaunchError> {
        let kernel = self.kernel(which)?;
        let grid = [0, 1].map(|axis| {
            let limit = self.device.max_grid[axis];
            blocks_for(extents[axis], tile[axis], self.options.grid_cap, limit)
        });
        let launch = limits::plan_2d(kernel.entry.name, grid, block, self.device)?;
        Ok(Plan { launch, kernel })
    }

    /// The block's threads, for a kernel with a fixed number of them.
    ///
    /// # Errors
    /// When the caller asked for another number.
    pub fn fixed_block(&self, needed: u32) -> Result<u32, LaunchError> {
        match self.options.threads {
            Some(given) if given != needed => Err(LaunchError::FixedBlock {
                kernel: self.variant.name,
                needed,
                given,
            }),
            _ => Ok(needed),
        }
    }
}
