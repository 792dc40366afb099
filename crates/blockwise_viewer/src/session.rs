//! One launch, with everything that the page shows of it.

use crate::code::{self, Instruction};
use crate::document::{Launch, StoredFiles};
use crate::outputs::Output;
use crate::spent::Spent;
use crate::step_state::StepState;
#[cfg(not(target_arch = "wasm32"))]
use crate::steps::{Step, Steps};
use crate::timeline::Timeline;
use kernel_arguments::{Arguments, Problem};
use ptx_emulator::replay::{Array, Replay};
use ptx_emulator::{Emulator, Entry, Finding, Limits, LoadedModule, Module, Space};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Memory for checkpoints.
const CHECKPOINTS: u64 = 128 << 20;

/// A launch: its findings, and a replay of it.
pub struct Session {
    ptx: String,
    code: Vec<Instruction>,
    replay: Replay,
    timeline: Timeline,
    block: u64,
    findings: Vec<Finding>,
    outputs: Vec<Output>,
    notices: Vec<String>,
    order: Order,
    profile: Option<Spent>,
}

/// The summary of a launch.
#[derive(Clone, Debug, Serialize)]
pub struct Summary<'a> {
    /// The blocks of the grid.
    pub blocks: u64,
    /// Steps of the launch.
    pub steps: u64,
    /// The findings, the worst first.
    pub findings: &'a [Finding],
    /// What was not checked.
    pub notices: &'a [String],
    /// The totals of the launch in this thread order.
    pub total: Spent,
    /// The totals that `blockwise profile` counts, in the emulator's own order; `None` if the
    /// launch faults there.
    pub profile: Option<Spent>,
    /// The fault that ended the launch.
    pub fault: Option<String>,
    /// The instructions that may run.
    pub code: &'a [Instruction],
    /// The totals of each instruction.
    pub spent: &'a BTreeMap<u32, Spent>,
    /// The shared arrays.
    pub arrays: Vec<Shared>,
    /// The outputs that the launch left partly unwritten.
    pub outputs: &'a [Output],
    /// The block that is shown.
    pub block: Block,
}

/// A shared array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// Its name.
    pub name: String,
    /// Its offset and size in bytes.
    pub start: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Bytes per row, if the accesses reveal rows.
    pub row_bytes: Option<u32>,
}

/// The block being shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Its number in the grid, x fastest.
    pub number: u64,
    /// Its index.
    pub index: [u32; 3],
    /// The number of its steps that did not fit.
    pub left_out: u64,
}

/// The order of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The emulator's own.
    Own,
    /// By a seed.
    Seed(u64),
}

impl Order {
    fn seed(self) -> Option<u64> {
        match self {
            Order::Own => None,
            Order::Seed(seed) => Some(seed),
        }
    }
}

impl Session {
    /// Runs a launch under all detectors and prepares it for viewing.
    ///
    /// # Errors
    /// When the PTX, the arguments or the launch are refused. The program's own mistakes are
    /// findings.
    pub fn open(launch: &Launch, ptx: &str, files: &StoredFiles) -> Result<Self, Problem> {
        Self::open_watched(launch, ptx, files, &|_| {})
    }

    /// The same. The launch runs on several emulators, one after the other: `watch` sees each
    /// before.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_watched(
        launch: &Launch,
        ptx: &str,
        files: &StoredFiles,
        watch: &dyn Fn(&Emulator),
    ) -> Result<Self, Problem> {
        let module = Module::parse(ptx).map_err(problem)?;
        let order = launch.seed.map_or(Order::Own, Order::Seed);
        let ready = |launch: &Launch| {
            let ready = Ready::new(launch, &module, files)?;
            watch(&ready.emulator);
            Ok::<_, Problem>(ready)
        };

        let at = ready(launch)?;
        let options = launch.detectors.options();
        let check = (at.emulator)
            .check_order(
                &at.loaded,
                &launch.kernel,
                launch.config(),
                &at.bytes(),
                &options,
                order.seed(),
            )
            .map_err(problem)?;

        let at = ready(launch)?;
        let profile = at
            .emulator
            .profile(&at.loaded, &launch.kernel, launch.config(), &at.bytes());
        let profile = profile.ok().map(|profile| {
            let total = profile.total();
            let (shared, global) = (total.shared(), total.global());
            Spent {
                steps: total.warp_instructions,
                shared_requests: shared.requests,
                wavefronts: shared.wavefronts,
                needed_wavefronts: shared.needed,
                global_requests: global.requests,
                sectors: global.sectors,
                needed_sectors: global.needed,
            }
        });

        let Ready {
            emulator,
            loaded,
            arguments,
        } = ready(launch)?;
        let (kernel, config) = (&launch.kernel, launch.config());
        let replay = Replay::new(
            emulator,
            loaded,
            kernel,
            config,
            &arguments.bytes(),
            order.seed(),
        );
        let mut replay = replay.map_err(problem)?;
        replay.set_budget(CHECKPOINTS);
        let code = code::instructions(&replay);
        let findings = check.findings;
        let outputs = Output::all(&mut replay, &findings);
        let block = findings.first().map_or(0, |finding| {
            let [x, y, z] = finding.site.block.map(u64::from);
            let [width, height, _] = launch.grid.map(u64::from);
            x + width * (y + height * z)
        });
        let mut session = Self {
            ptx: ptx.to_owned(),
            code,
            replay,
            timeline: Timeline::default(),
            block,
            findings,
            outputs,
            notices: check.notices,
            order,
            profile,
        };
        session.show(block);
        Ok(session)
    }

    /// The user's source files of the instructions, each once.
    pub fn files(&self) -> BTreeSet<&str> {
        let places = self.code.iter().filter_map(|code| code.source.as_ref());
        places.map(|place| place.file.as_str()).collect()
    }

    /// Switches to another block.
    pub fn show(&mut self, block: u64) {
        let arrays: Vec<_> = self.shared_arrays().iter().map(place).collect();
        self.block = block;
        self.timeline = Timeline::of(&mut self.replay, block, &self.code, &self.ptx, &arrays);
    }

    /// The launch's summary.
    pub fn summary(&mut self) -> Summary<'_> {
        let steps = self.replay.count();
        let config = self.replay.config();
        let arrays = self.shared_arrays().into_iter().map(|array| {
            let (start, size) = place(&array);
            Shared {
                name: array.name,
                start,
                size,
                row_bytes: self.timeline.row_bytes(start),
            }
        });
        Summary {
            blocks: config
                .grid
                .iter()
                .map(|&extent| u64::from(extent))
                .product(),
            steps,
            arrays: arrays.collect(),
            findings: &self.findings,
            notices: &self.notices,
            total: self.timeline.total(),
            profile: self.profile,
            fault: self.replay.fault().map(ToString::to_string),
            code: &self.code,
            spent: &self.timeline.spent,
            outputs: &self.outputs,
            block: Block {
                number: self.block,
                index: self.replay.block_index(self.block),
                left_out: self.timeline.left_out,
            },
        }
    }

    /// An output that the launch left partly unwritten, by its index in the summary.
    pub fn output(&self, number: usize) -> Option<&Output> {
        self.outputs.get(number)
    }

    /// The order of the threads.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The steps of the block.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Executes step `step` of the block, counted from 0, and shows what it did.
    pub fn go_to(&mut self, step: usize) -> StepState {
        let at = self.timeline.at.get(step).copied().unwrap_or_default();
        self.replay.seek(u64::from(at) + 1);
        StepState::of(&self.replay)
    }

    /// The block's shared memory where the last [`go_to`](Self::go_to) left it.
    pub fn memory(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.shared_bytes()];
        let read = |replay: &Replay, bytes: &mut [u8]| replay.read_shared(self.block, 0, bytes);
        if !read(&self.replay, &mut bytes) {
            // The step ended the block, and wrote nothing.
            self.replay.seek(self.replay.at().saturating_sub(1));
            read(&self.replay, &mut bytes);
        }
        bytes
    }

    /// For each word of shared memory, the block's step that wrote it last, and the lane. The
    /// largest number if none did.
    pub fn writers(&self, step: usize) -> (Vec<u32>, Vec<u8>) {
        let writers = self.timeline.writes.last(step as u32);
        (writers.steps, writers.lanes)
    }

    fn shared_bytes(&self) -> usize {
        let arrays = self.shared_arrays();
        let ends = arrays.iter().map(|array| array.address + array.size);
        ends.max().map_or(0, |end| end as usize)
    }

    fn shared_arrays(&self) -> Vec<Array> {
        let mut arrays = self.replay.arrays();
        arrays.retain(|array| array.space == Space::Shared);
        arrays
    }
}

/// The inputs of a trace for other viewers.
#[cfg(not(target_arch = "wasm32"))]
impl Session {
    /// The findings, the worst first.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The instructions that may run.
    pub(crate) fn code(&self) -> &[Instruction] {
        &self.code
    }

    /// The PTX.
    pub(crate) fn ptx(&self) -> &str {
        &self.ptx
    }

    /// The replay at its current step.
    pub(crate) fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Runs through the steps of all blocks.
    pub(crate) fn steps(&mut self, visit: &mut (dyn FnMut(Step) + Send)) {
        let mut steps = Steps::of(&self.code, &self.ptx);
        self.replay.scan(0..u64::MAX, &mut |at, event| {
            steps.take(at, event).into_iter().for_each(&mut *visit);
        });
        steps.finish().into_iter().for_each(visit);
    }
}

/// Offset and size of a shared array.
fn place(array: &Array) -> (u32, u32) {
    (array.address as u32, array.size as u32)
}

/// A device with the launch's memory as it is before the launch.
struct Ready {
    emulator: Emulator,
    loaded: LoadedModule,
    arguments: Arguments,
}

impl Ready {
    fn new(launch: &Launch, module: &Module, files: &StoredFiles) -> Result<Self, Problem> {
        let emulator = Emulator::new(Limits {
            warp_instructions: launch.steps,
            // One worker, so that printed text belongs to the step that printed it.
            workers: Some(1),
            ..Limits::default()
        });
        // The replay shows it at the step that prints it.
        emulator.set_output(|_| {});
        let mut loaded = emulator.load(module)?;
        let kernel = module.entry(&launch.kernel).ok_or_else(|| {
            let names: Vec<_> = module.entries().map(Entry::name).collect();
            Problem::new(format!("the PTX has no kernel `{}`", launch.kernel))
                .hint(format!("it has: {}", names.join(", ")))
        })?;
        let arguments =
            Arguments::bind(kernel, &launch.arguments, (&emulator, &mut loaded), files)?;
        Ok(Self {
            emulator,
            loaded,
            arguments,
        })
    }

    fn bytes(&self) -> Vec<&[u8]> {
        self.arguments.bytes()
    }
}

fn problem(error: impl std::fmt::Display) -> Problem {
    Problem::new(error.to_string())
}
