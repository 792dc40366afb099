//! A launch that can be run forwards and backwards.
//!
//! A [`Replay`] is always between two steps of a launch. A step is one instruction of one warp, in
//! the order of [`Emulator::check`]: the emulator's own, or that of a seed. So [`Finding::step`]
//! and [`Finding::seed`](crate::Finding::seed) name a position that a replay can seek to. Nothing
//! is recorded: an earlier position is recomputed from the nearest
//! [checkpoint](Replay::set_budget).
//!
//! ```
//! # use ptx_emulator::{Emulator, LaunchConfig, Limits, Module, replay::Replay};
//! # let ptx = ".version 7.0\n.target sm_80\n.address_size 64
//! # .visible .entry add_one(.param .u64 counter) {
//! #     .reg .b64 %rd<2>; .reg .b32 %r<2>;
//! #     ld.param.u64 %rd1, [counter];
//! #     atom.global.add.u32 %r1, [%rd1], 1;
//! #     ret;
//! # }";
//! let emulator = Emulator::new(Limits::default());
//! let module = emulator.load(&Module::parse(ptx)?)?;
//! let counter = emulator.alloc(4)?;
//! emulator.write(counter, &[0; 4])?;
//! let config = LaunchConfig { grid: [1, 1, 1], block: [32, 1, 1], dynamic_shared_bytes: 0 };
//! let mut replay = Replay::new(emulator, module, "add_one", config, &[&counter.to_le_bytes()], None)?;
//!
//! let mut word = [0; 4];
//! replay.seek(u64::MAX); // the end
//! replay.read(counter, &mut word)?;
//! assert_eq!(word, [32, 0, 0, 0]);
//! while replay.back() {}
//! replay.read(counter, &mut word)?;
//! assert_eq!(word, [0, 0, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Differences from a plain launch: there is one worker, shared arrays have gaps between them as
//! under `check`, and the output of `printf` is kept ([`Replay::printed`]). A PTX instruction that
//! the emulator runs as several is several steps, and lanes that arrive at a warp-level instruction
//! before its other members take a step of their own.
//!
//! This module uses no threads, files or clock: it works on `wasm32-unknown-unknown`.
//!
//! [`Emulator::check`]: crate::Emulator::check
//! [`Finding::step`]: crate::Finding::step

mod arrays;
mod checkpoint;
mod image;
mod instruction;
mod plan;
mod printed;
mod search;
mod state;
mod watch;

pub use arrays::Array;
pub use instruction::Instruction;
pub use search::{Direction, Word};
pub use state::{Call, Group, Location, Register, Status, WarpState};
pub use watch::{Accesses, Event, LaneAccess, Touch};

use crate::emulator::Emulator;
use crate::error::{InvalidLaunch, MemoryError};
use crate::exec::{Machine, Observer};
use crate::fault::Fault;
use crate::launch::{LaunchConfig, Statistics};
use crate::loaded::LoadedModule;
use crate::memory::Table;
use checkpoint::Checkpoints;
use plan::Plan;
use watch::{Nothing, Recorder};

/// A launch, between two of its steps.
pub struct Replay {
    plan: Plan,
    table: Table,
    machine: Machine,
    /// Steps before this moment.
    at: u64,
    /// Steps of the whole launch, once it has run to its end.
    len: Option<u64>,
    /// The fault that ends it, and the steps up to there.
    fault: Option<Box<Fault>>,
    /// The last instruction, and its accesses.
    done: Option<(Instruction, Vec<Touch>)>,
    checkpoints: Checkpoints,
}

impl Replay {
    /// A launch before its first step. The replay takes over the emulator with all its memory;
    /// `args` are those of [`Emulator::launch`].
    ///
    /// # Errors
    /// When the launch is refused.
    pub fn new(
        emulator: Emulator,
        module: LoadedModule,
        kernel: &str,
        config: LaunchConfig,
        args: &[&[u8]],
        seed: Option<u64>,
    ) -> Result<Self, InvalidLaunch> {
        let (plan, table) = Plan::new(emulator, module, kernel, config, args, seed)?;
        let machine = Machine::new(&plan.request(&table));
        let mut replay = Self {
            plan,
            table,
            machine,
            at: 0,
            len: None,
            fault: None,
            done: None,
            checkpoints: Checkpoints::default(),
        };
        replay.advance(0, &mut Nothing);
        replay.checkpoints.offer(0, &replay.machine, &replay.table);
        Ok(replay)
    }

    /// Sets the memory for checkpoints, in bytes; the default is 256 MiB. With less, going back
    /// recomputes more.
    pub fn set_budget(&mut self, bytes: u64) {
        self.checkpoints.set_budget(bytes);
    }

    /// Steps before this moment.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Steps of the whole launch. The first call runs it to its end, and returns to this moment.
    pub fn count(&mut self) -> u64 {
        if self.len.is_none() {
            let at = self.at;
            self.seek(u64::MAX);
            self.seek(at);
        }
        self.len.unwrap_or(self.at)
    }

    /// Whether no step is left.
    pub fn has_ended(&self) -> bool {
        self.machine.has_ended()
    }

    /// The fault that ends the launch, once it has run to its end. The last step is the one at
    /// fault.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// What ran before this moment.
    pub fn statistics(&self) -> Statistics {
        self.machine.statistics()
    }

    /// Goes to the moment after `step` steps, or to the end if there are fewer. Returns the moment.
    pub fn seek(&mut self, step: u64) -> u64 {
        let step = step.min(self.len.unwrap_or(u64::MAX));
        if step != self.at {
            self.go(step.saturating_sub(1));
            // It may have ended before.
            let step = if self.machine.has_ended() {
                self.at
            } else {
                step
            };
            self.land(step);
        }
        self.at
    }

    /// Goes one step forwards; false at the end.
    pub fn step(&mut self) -> bool {
        if self.machine.has_ended() {
            return false;
        }
        self.record();
        self.keep();
        true
    }

    /// Goes one step back; false at the beginning.
    pub fn back(&mut self) -> bool {
        let moves = self.at > 0;
        if moves {
            self.seek(self.at - 1);
        }
        moves
    }

    /// The instruction that the next step executes; none at the end.
    pub fn next(&self) -> Option<Instruction> {
        Instruction::next(&self.machine, &self.plan)
    }

    /// The last instruction, and the memory that it accessed; `None` before the first step.
    pub fn done(&self) -> Option<(&Instruction, &[Touch])> {
        let done = self.done.as_ref();
        done.map(|(instruction, touched)| (instruction, touched.as_slice()))
    }

    /// Copies bytes of global or constant memory as they are now.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when they are not all inside one allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        self.table.read(address, bytes)
    }

    /// What the kernel printed with `printf` before this moment.
    pub fn printed(&self) -> String {
        self.plan.printed.before(self.at)
    }

    /// The module of the launched kernel.
    pub fn module(&self) -> &crate::module::Module {
        self.plan.module.module()
    }

    /// The shape of the launch.
    pub fn config(&self) -> LaunchConfig {
        self.plan.config
    }

    /// Goes to a moment, and records what the last step before it does.
    fn land(&mut self, step: u64) {
        self.go(step.saturating_sub(1));
        if step > 0 {
            self.record();
        }
    }

    /// Goes to a moment, or to the end if that comes first.
    fn go(&mut self, step: u64) {
        self.rewind(step);
        self.run_to(step, &mut Nothing);
    }

    /// Runs one step and records it.
    fn record(&mut self) {
        let Some(next) = self.next() else {
            return;
        };
        let mut recorder = Recorder::new(&self.machine);
        self.advance(1, &mut recorder);
        self.done = Some((next, recorder.finish(&self.machine, &self.table)));
    }

    /// Goes to a checkpoint before the moment, unless this one is nearer.
    fn rewind(&mut self, step: u64) {
        let nearest = self.checkpoints.nearest(step);
        if step >= self.at && nearest.is_none_or(|at| at <= self.at) {
            return;
        }
        if let Some((at, machine)) = self.checkpoints.restore(step, &self.table) {
            (self.at, self.machine) = (at, machine);
            self.done = None;
        }
    }

    /// Runs forwards to the moment, with checkpoints on the way.
    fn run_to(&mut self, step: u64, observer: &mut dyn Observer) {
        while self.at < step && !self.machine.has_ended() {
            let count = (step - self.at).min(self.checkpoints.stride());
            self.advance(count, observer);
            self.done = None;
            self.keep();
        }
    }

    fn keep(&mut self) {
        if !self.machine.has_ended() {
            self.checkpoints.offer(self.at, &self.machine, &self.table);
        }
    }

    fn advance(&mut self, count: u64, observer: &mut dyn Observer) {
        self.plan.printed.begin(self.at);
        let left = self
            .machine
            .run(&self.plan.request(&self.table), observer, count);
        self.at += count - left;
        if self.machine.has_ended() {
            self.len = Some(self.at);
            self.fault = self.machine.fault();
        }
    }
}
