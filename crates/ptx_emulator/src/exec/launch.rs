use super::block::{Block, LoopPlace, Worker};
use super::memory::MAX_SHARED_BYTES;
use super::observe::Observer;
use super::schedule::Schedule;
use super::standstill::Calm;
use super::team::{Team, TeamSlice};
use super::trouble::Trouble;
use crate::decode::op::{Op, Order, Row};
use crate::decode::{Program, Value};
use crate::emulator::{LaunchConfig, Output, Statistics};
use crate::fault::{Fault, FaultKind, Place, Space};
use crate::limits::Limits;
use crate::memory::{FUNCTION_BASE, Table};
use crate::progress::Sink;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Maximum number of unfinished blocks of one worker, unless a block may wait for one that has not
/// started.
const RESIDENT: usize = 16;
/// The same if blocks may wait for each other: the number that an H200 holds, within a limit on the
/// bytes of their registers and memory.
const MOST_RESIDENT: usize = 132 * 32;
const RESIDENT_BYTES: u64 = 128 << 20;
/// Warp instructions of a block before its worker switches to another block.
const SLICE: u64 = 4_000_000;
/// The same for programs whose blocks may wait for each other.
const WAITING_SLICE: u64 = 2_000;

/// A launch, already checked by the caller.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    pub(crate) program: &'a Program,
    pub(crate) table: &'a Table,
    pub(crate) limits: &'a Limits,
    pub(crate) output: &'a Output,
    pub(crate) progress: &'a Sink,
    /// The kernel's function.
    pub(crate) entry: u32,
    pub(crate) config: LaunchConfig,
    pub(crate) params: Vec<u8>,
    pub(crate) addresses: Addresses<'a>,
    /// End of a block's shared memory.
    pub(crate) shared_bytes: u64,
    /// Start of the dynamic part.
    pub(crate) dynamic_shared: u64,
    /// Do not use the host's vector extensions.
    pub(crate) portable: bool,
    /// Seed of the thread order; seeded launches run on one worker.
    pub(crate) seed: Option<u64>,
}

/// Addresses of the variables of a launch.
#[derive(Clone)]
pub(crate) struct Addresses<'a> {
    /// The module's variables, by index.
    pub(crate) module: &'a HashMap<u32, u64>,
    /// The kernel's shared variables, as offsets.
    pub(crate) shared: Vec<(u32, u64)>,
}

impl Addresses<'_> {
    fn get(&self, index: u32) -> Option<u64> {
        let mut shared = self.shared.iter();
        let shared = shared.find(|&&(known, _)| known == index);
        let shared = shared.map(|&(_, address)| address);
        shared.or_else(|| self.module.get(&index).copied())
    }
}

impl Request<'_> {
    /// Inserts gaps between the shared variables. Sizes visible to the program do not change.
    pub(crate) fn guard_shared(&mut self) {
        let room = MAX_SHARED_BYTES - self.shared_bytes;
        let layout = self.program.shared_layout(self.entry).spread(room);
        self.shared_bytes = match self.shared_bytes - self.dynamic_shared {
            // Nothing follows the last gap.
            0 => layout.fixed,
            dynamic => layout.dynamic + dynamic,
        };
        self.dynamic_shared = layout.dynamic.min(self.shared_bytes);
        self.addresses.shared = layout.variables;
    }

    /// The shared memory that a block has by program and launch, without gaps.
    fn own_shared_bytes(&self) -> u64 {
        let own = self.program.shared_layout(self.entry).dynamic;
        own + self.shared_bytes - self.dynamic_shared
    }
}

/// How a launch ended.
pub(crate) struct Outcome {
    /// What was executed, up to the fault if there was one.
    pub(crate) statistics: Statistics,
    pub(crate) fault: Option<Box<Fault>>,
}

/// A running launch.
pub(super) struct Launch<'a> {
    pub(super) program: &'a Program,
    pub(super) table: &'a Table,
    pub(super) limits: &'a Limits,
    /// Destination of `printf`; none if the launch only repeats another one in a different order.
    pub(super) output: Option<&'a Output>,
    pub(super) progress: &'a Sink,
    pub(super) entry: u32,
    pub(super) config: LaunchConfig,
    /// Extents of a cluster, in blocks.
    pub(super) cluster: [u32; 3],
    pub(super) threads: u32,
    /// End of a block's shared memory.
    pub(super) shared_bytes: u64,
    /// The shared-memory size that the program sees.
    pub(super) own_shared_bytes: u64,
    pub(super) params: Vec<u8>,
    /// Values of each function's constant rows.
    pub(super) constants: Vec<Constants>,
    /// There is only one worker, so nothing else accesses the memory.
    pub(super) alone: bool,
    pub(super) portable: bool,
    seed: Option<u64>,
    /// All blocks are resident at the same time.
    cooperative: bool,
    /// Maximum number of unfinished blocks of a worker.
    most_resident: usize,
    slice: u64,
}

impl Launch<'_> {
    pub(super) fn cluster_blocks(&self) -> u32 {
        self.program.functions[self.entry as usize].cluster_blocks()
    }

    /// The thread index of a lane of a warp.
    pub(super) fn thread(&self, warp: usize, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.config.block;
        let thread = 32 * warp as u32 + lane;
        [thread % x, thread / x % y, thread / x / y]
    }
}

#[derive(Default)]
pub(super) struct Constants {
    pub(super) w32: Vec<(Row, u32)>,
    pub(super) w64: Vec<(Row, u64)>,
}

/// State that the workers share while they run blocks.
struct Progress {
    next: AtomicU64,
    teams: u64,
    steps: AtomicU64,
    /// The lowest position of a team with a fault: later teams need not run.
    faulty: AtomicU64,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

/// Runs all blocks on a number of workers.
pub(crate) fn launch(request: Request<'_>, workers: usize) -> Outcome {
    let mut nobody = vec![(); workers];
    run(request, &mut nobody.iter_mut().collect::<Vec<_>>())
}

/// Runs all blocks, with one worker per observer.
pub(crate) fn watch(request: Request<'_>, observers: &mut [&mut dyn Observer]) -> Outcome {
    run(request, observers)
}

/// Runs all blocks, with one worker per observer.
///
/// Blocks start in order. A long-running block periodically yields to others. In a program that
/// reads what other blocks write, more blocks are started while none finishes, because blocks may
/// wait for each other, as in a cooperative launch.
fn run<O: Observer + ?Sized>(request: Request<'_>, observers: &mut [&mut O]) -> Outcome {
    let blocks: u64 = request
        .config
        .grid
        .iter()
        .map(|&extent| u64::from(extent))
        .product();
    let cluster = request.program.functions[request.entry as usize].cluster;
    let teams = cluster
        .iter()
        .fold(blocks, |blocks, &extent| blocks / u64::from(extent));
    let threads = request.config.block.iter().product();
    let workers = observers
        .len()
        .min(usize::try_from(teams).unwrap_or(usize::MAX));
    // Only for functions that can run: a module may have very many kernels.
    let mut constants = Vec::new();
    constants.resize_with(request.program.functions.len(), Constants::default);
    for index in request.program.reachable(request.entry) {
        let function = &request.program.functions[index as usize];
        constants[index as usize] = constants_of(function, &request);
    }
    let cooperative = request.program.is_cooperative(request.entry);
    let (most_resident, slice) = if cooperative {
        (MOST_RESIDENT, WAITING_SLICE)
    } else if waits_for_blocks(&request) || cluster != [1; 3] {
        (most_resident(&request, threads), WAITING_SLICE)
    } else {
        (RESIDENT, SLICE)
    };
    let launch = Launch {
        program: request.program,
        table: request.table,
        limits: request.limits,
        output: request.seed.is_none().then_some(request.output),
        progress: request.progress,
        entry: request.entry,
        config: request.config,
        cluster,
        threads,
        shared_bytes: request.shared_bytes,
        own_shared_bytes: request.own_shared_bytes(),
        params: request.params,
        constants,
        alone: workers == 1,
        portable: request.portable,
        seed: request.seed,
        cooperative,
        most_resident,
        slice,
    };
    let progress = Progress {
        next: AtomicU64::new(0),
        teams,
        steps: AtomicU64::new(0),
        faulty: AtomicU64::new(u64::MAX),
        fault: Mutex::new(None),
    };
    let total = Mutex::new(Statistics::default());
    if let [observer] = &mut observers[..workers] {
        work(&launch, &progress, &total, *observer);
    } else {
        rayon::scope(|scope| {
            for observer in &mut observers[..workers] {
                scope.spawn(|_| work(&launch, &progress, &total, *observer));
            }
        });
    }
    let fault = progress.fault.into_inner();
    Outcome {
        statistics: total.into_inner().unwrap_or_else(PoisonError::into_inner),
        fault: fault
            .unwrap_or_else(PoisonError::into_inner)
            .map(|(_, fault)| fault),
    }
}

/// Whether the program reads memory that other blocks may write, in a way that can depend on them.
fn waits_for_blocks(request: &Request<'_>) -> bool {
    let mut code = request.program.reachable_code(request.entry);
    code.any(|inst| match &inst.op {
        Op::Load(t) => t.order != Order::Weak && t.space != Space::Shared,
        Op::Atomic(atomic) => atomic.d.is_some() && atomic.space != Space::Shared,
        _ => false,
    })
}

fn most_resident(request: &Request<'_>, threads: u32) -> usize {
    let function = &request.program.functions[request.entry as usize];
    let rows = 4 * u64::from(function.rows.w32) + 8 * u64::from(function.rows.w64);
    let of_threads = u64::from(threads) * (rows + u64::from(function.local_bytes));
    let fit = RESIDENT_BYTES / (of_threads + request.shared_bytes).max(1);
    usize::try_from(fit).map_or(MOST_RESIDENT, |fit| fit.clamp(RESIDENT, MOST_RESIDENT))
}

fn constants_of(function: &crate::decode::Function, request: &Request<'_>) -> Constants {
    let value = |value: Value| match value {
        Value::Bits(bits) => bits,
        Value::Variable { index, offset } => request
            .addresses
            .get(index)
            .unwrap_or(0)
            .wrapping_add(offset as u64),
        Value::Function(index) => FUNCTION_BASE + 16 * u64::from(index),
        Value::Param {
            offset,
            size,
            signed,
        } => {
            let (offset, size) = (offset as usize, usize::from(size));
            let mut bytes = [0; 8];
            // Functions of other kernels have other parameters; their code does not run.
            if let Some(param) = request.params.get(offset..offset + size) {
                bytes[..size].copy_from_slice(param);
            }
            let bits = u64::from_le_bytes(bytes);
            let unused = 64 - 8 * size as u32;
            if signed {
                ((bits << unused) as i64 >> unused) as u64
            } else {
                bits
            }
        }
    };
    Constants {
        w32: function
            .constants32
            .iter()
            .map(|&(row, v)| (row, value(v) as u32))
            .collect(),
        w64: function
            .constants64
            .iter()
            .map(|&(row, v)| (row, value(v)))
            .collect(),
    }
}

/// A worker: runs blocks until none is left.
fn work<O: Observer + ?Sized>(
    launch: &Launch<'_>,
    progress: &Progress,
    total: &Mutex<Statistics>,
    observer: &mut O,
) {
    let mut hints = vec![0; launch.program.code.len()];
    let mut worker = Worker {
        hints: &mut hints,
        observer,
        schedule: launch.seed.map(|seed| Schedule::new(seed, progress.teams)),
        calm: Calm::default(),
    };
    let mut made = 0;
    let mut resident: VecDeque<Team> = VecDeque::new();
    let mut idle: Vec<Team> = Vec::new();
    let mut statistics = Statistics::default();
    // Blocks that wait for the whole grid finish together or not at all.
    let mut room = match launch.cooperative {
        true => launch.most_resident,
        false => RESIDENT,
    };
    // Turns since a block finished.
    let mut turns = 0;
    loop {
        if turns > resident.len() {
            room = launch.most_resident.min(room + room / 4).max(room);
            turns = 0;
        }
        if resident.len() < room {
            let position = progress.next.fetch_add(1, Relaxed);
            if position < progress.teams && position < progress.faulty.load(Relaxed) {
                let mut team = idle.pop().unwrap_or_else(|| {
                    made += 1;
                    Team::new(launch, made - 1)
                });
                team.start(launch, position, &mut worker);
                resident.push_front(team);
            }
        }
        let share = match &mut worker.schedule {
            Some(schedule) if !resident.is_empty() => {
                resident.swap(0, schedule.pick(resident.len()));
                schedule.block_stretch()
            }
            _ => launch.slice,
        };
        let Some(mut team) = resident.pop_front() else {
            break;
        };
        if team.position > progress.faulty.load(Relaxed) {
            continue;
        }
        let before = statistics.warp_instructions;
        let left = launch
            .limits
            .warp_instructions
            .saturating_sub(progress.steps.load(Relaxed));
        let slice = team.run(launch, &mut worker, &mut statistics, left.min(share));
        let steps = statistics.warp_instructions - before;
        let steps = progress.steps.fetch_add(steps, Relaxed) + steps;
        match slice {
            TeamSlice::Fault(rank, (warp, located)) => {
                let block = &team.blocks[rank];
                let fault = fault(launch, block, warp, located.pc, *located.trouble);
                progress.report(team.position, fault);
            }
            TeamSlice::Unfinished => {
                turns += 1;
                resident.push_back(team);
                let all_begun = progress.next.load(Relaxed) >= progress.teams;
                let mut blocks = resident.iter().rev().flat_map(|team| &team.blocks);
                // Blocks of other workers are not known here.
                if launch.alone
                    && all_begun
                    && blocks.all(|block| block.is_still(&worker.calm))
                    && let Some((position, fault)) = endless(launch, &resident)
                {
                    progress.report(position, fault);
                    break;
                }
                if steps > launch.limits.warp_instructions
                    && let Some(team) = resident.pop_back()
                {
                    progress.report(team.position, step_limit(launch, &team));
                }
            }
            TeamSlice::Finished => {
                turns = 0;
                worker.calm.disturb();
                // Blocks within their own limit may exceed the launch's in total.
                let is_last = progress.next.load(Relaxed) >= progress.teams;
                if steps > launch.limits.warp_instructions && !is_last {
                    progress.report(team.position, step_limit(launch, &team));
                }
                statistics.blocks += u64::from(launch.cluster_blocks());
                idle.push(team);
            }
        }
    }
    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
    total.blocks += statistics.blocks;
    total.warp_instructions += statistics.warp_instructions;
    total.lane_instructions += statistics.lane_instructions;
}

impl Progress {
    /// Keeps the fault of the lowest team, so that the result does not depend on the order of the
    /// workers.
    fn report(&self, team: u64, fault: Box<Fault>) {
        self.faulty.fetch_min(team, Relaxed);
        let mut slot = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_none_or(|&(known, _)| team < known) {
            *slot = Some((team, fault));
        }
    }
}

fn step_limit(launch: &Launch<'_>, team: &Team) -> Box<Fault> {
    let mut blocks = team.blocks.iter();
    let block = blocks.find(|block| !block.is_finished());
    let block = block.unwrap_or(&team.blocks[0]);
    let place = whereabouts(launch, block);
    let inside = place.rounds.as_ref();
    let kind = FaultKind::StepLimit {
        limit: launch.limits.warp_instructions,
        inside: inside.map(|rounds| rounds.describe(launch.program)),
    };
    at_loop(launch, block, &place, kind)
}

/// The fault if none of these blocks can ever finish, with the position of the block that shows it;
/// `None` if all have finished.
fn endless(launch: &Launch<'_>, resident: &VecDeque<Team>) -> Option<(u64, Box<Fault>)> {
    let blocks = || {
        let teams = resident.iter();
        let blocks = teams.flat_map(|team| team.blocks.iter().map(move |block| (team, block)));
        blocks.filter(|(_, block)| !block.is_finished())
    };
    let (team, block) = blocks().min_by_key(|(_, block)| block.number)?;
    let place = whereabouts(launch, block);
    let inside = place.rounds.as_ref();
    let warps = blocks().flat_map(|(_, block)| &block.warps);
    let splits = warps.flat_map(|warp| &warp.splits);
    let mut waiting: BTreeMap<u32, u32> = BTreeMap::new();
    for split in splits.filter(|split| !split.is_runnable()) {
        *waiting.entry(split.pc).or_default() += split.mask.count_ones();
    }
    let waiting = waiting.into_iter();
    let kind = FaultKind::EndlessLoop {
        inside: inside.map(|rounds| rounds.describe(launch.program)),
        waiting: waiting
            .map(|(pc, threads)| (threads, launch.program.place(pc)))
            .collect(),
    };
    let fault = at_loop(launch, block, &place, kind);
    Some((team.position, fault))
}

/// The loop that a block is in, or its first instruction.
fn whereabouts(launch: &Launch<'_>, block: &Block) -> LoopPlace {
    let function = &launch.program.functions[launch.entry as usize];
    block.loop_place().unwrap_or(LoopPlace {
        warp: 0,
        lane: 0,
        pc: function.start.unwrap_or(0),
        rounds: None,
    })
}

fn at_loop(launch: &Launch<'_>, block: &Block, at: &LoopPlace, kind: FaultKind) -> Box<Fault> {
    let (lane, lanes) = (at.lane, 1 << at.lane);
    fault(launch, block, at.warp, at.pc, Trouble { kind, lane, lanes })
}

fn fault(launch: &Launch<'_>, block: &Block, warp: usize, pc: u32, trouble: Trouble) -> Box<Fault> {
    let program = launch.program;
    let Place { ptx_line, source } = program.place(pc);
    Box::new(Fault {
        kind: trouble.kind,
        kernel: program.functions[launch.entry as usize].name.clone(),
        ptx_line,
        source,
        inlined: program.inlined(pc),
        block: block.index,
        thread: launch.thread(warp, trouble.lane),
        threads: trouble.lanes.count_ones(),
    })
}
