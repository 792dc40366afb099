//! A worker: runs blocks until none is left. Its state can be cloned between any two instructions.

use super::activity::Activity;
use super::block::{Block, LoopPlace, Worker};
use super::launch::{Launch, RESIDENT};
use super::observe::Observer;
use super::raise::Raised;
use super::schedule::Schedule;
use super::team::{Team, TeamSlice};
use crate::fault::{Fault, FaultKind, Place};
use crate::launch::Statistics;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What the workers share while they run blocks.
pub(super) struct Progress {
    next: AtomicU64,
    teams: u64,
    steps: AtomicU64,
    /// The first team with a fault, by position: those after it need not run.
    faulty: AtomicU64,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

/// A worker's state between turns.
#[derive(Clone)]
pub(super) struct Shift {
    pub(super) statistics: Statistics,
    pub(super) resident: VecDeque<Team>,
    idle: Vec<Team>,
    made: usize,
    room: usize,
    /// Turns since a block ended.
    turns: usize,
    /// The first resident team was in the middle of its turn when the launch paused.
    paused: bool,
    hints: Vec<u32>,
    schedule: Option<Schedule>,
    activity: Activity,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// There are blocks left.
    Goes,
    /// The launch pauses before an instruction.
    Paused,
    /// No block is left, or they will never end.
    Ended,
}

impl Shift {
    pub(super) fn new(launch: &Launch<'_>, progress: &Progress) -> Self {
        Self {
            statistics: Statistics::default(),
            resident: VecDeque::new(),
            idle: Vec::new(),
            made: 0,
            // Blocks that wait for the whole grid end together or not at all.
            room: match launch.cooperative {
                true => launch.most_resident,
                false => RESIDENT,
            },
            turns: 0,
            paused: false,
            hints: vec![0; launch.program.code.len()],
            schedule: launch.seed.map(|seed| Schedule::new(seed, progress.teams)),
            activity: Activity::default(),
        }
    }

    /// Runs one team for its share of instructions, or until `budget` is used up.
    pub(super) fn turn<O: Observer + ?Sized>(
        &mut self,
        launch: &Launch<'_>,
        progress: &Progress,
        observer: &mut O,
        budget: &mut u64,
    ) -> Turned {
        let mut worker = Worker {
            hints: &mut self.hints,
            observer: &mut *observer,
            schedule: &mut self.schedule,
            activity: &mut self.activity,
            budget,
        };
        let mut share = launch.slice;
        if !std::mem::take(&mut self.paused) {
            if self.turns > self.resident.len() {
                let more = self.room + self.room / 4;
                self.room = launch.most_resident.min(more).max(self.room);
                self.turns = 0;
            }
            if self.resident.len() < self.room {
                let position = progress.next.fetch_add(1, Relaxed);
                if position < progress.teams && position < progress.faulty.load(Relaxed) {
                    let mut team = self.idle.pop().unwrap_or_else(|| {
                        self.made += 1;
                        Team::new(launch, self.made - 1)
                    });
                    team.start(launch, position, &mut worker);
                    self.resident.push_front(team);
                }
            }
            if let Some(schedule) = &mut *worker.schedule
                && !self.resident.is_empty()
            {
                self.resident.swap(0, schedule.pick(self.resident.len()));
                share = schedule.block_stretch();
            }
        }
        let Some(mut team) = self.resident.pop_front() else {
            return Turned::Ended;
        };
        if team.position > progress.faulty.load(Relaxed) {
            return Turned::Goes;
        }
        let before = self.statistics.warp_instructions;
        let left = launch
            .limits
            .warp_instructions
            .saturating_sub(progress.steps.load(Relaxed));
        let slice = team.run(launch, &mut worker, &mut self.statistics, left.min(share));
        let steps = self.statistics.warp_instructions - before;
        let steps = progress.steps.fetch_add(steps, Relaxed) + steps;
        match slice {
            TeamSlice::Paused => {
                self.resident.push_front(team);
                self.paused = true;
                return Turned::Paused;
            }
            TeamSlice::Fault(rank, (warp, raised_at)) => {
                observer.faults();
                let block = &team.blocks[rank];
                let fault = fault(launch, block, warp, raised_at.pc, *raised_at.raised);
                progress.report(team.position, fault);
            }
            TeamSlice::Unfinished => {
                self.turns += 1;
                self.resident.push_back(team);
                let all_begun = progress.next.load(Relaxed) >= progress.teams;
                let mut blocks = self.resident.iter().rev().flat_map(|team| &team.blocks);
                // Nothing is known of another worker's blocks.
                if launch.alone
                    && all_begun
                    && blocks.all(|block| block.is_still(&self.activity))
                    && let Some((position, fault)) = endless(launch, &self.resident)
                {
                    progress.report(position, fault);
                    return Turned::Ended;
                }
                if steps > launch.limits.warp_instructions
                    && let Some(team) = self.resident.pop_back()
                {
                    progress.report(team.position, step_limit(launch, &team));
                }
            }
            TeamSlice::Finished => {
                self.turns = 0;
                self.activity.disturb();
                // Blocks may be short each, but too many.
                let is_last = progress.next.load(Relaxed) >= progress.teams;
                if steps > launch.limits.warp_instructions && !is_last {
                    progress.report(team.position, step_limit(launch, &team));
                }
                self.statistics.blocks += u64::from(launch.cluster_blocks());
                self.idle.push(team);
            }
        }
        Turned::Goes
    }
}

impl Progress {
    pub(super) fn new(teams: u64) -> Self {
        Self {
            next: AtomicU64::new(0),
            teams,
            steps: AtomicU64::new(0),
            faulty: AtomicU64::new(u64::MAX),
            fault: Mutex::new(None),
        }
    }

    /// The fault that ended the launch, so far.
    pub(super) fn fault(&self) -> Option<Box<Fault>> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map(|(_, fault)| fault.clone())
    }

    pub(super) fn into_fault(self) -> Option<Box<Fault>> {
        let fault = self.fault.into_inner();
        let fault = fault.unwrap_or_else(PoisonError::into_inner);
        fault.map(|(_, fault)| fault)
    }

    /// Keeps the fault of the lowest team, so that the answer does not depend on the order of the
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

/// The fault if none of these blocks will ever end, with the position of the block that it is
/// reported for; `None` if all have ended.
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

/// Where a block loops, or its first instruction.
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
    fault(launch, block, at.warp, at.pc, Raised { kind, lane, lanes })
}

fn fault(launch: &Launch<'_>, block: &Block, warp: usize, pc: u32, raised: Raised) -> Box<Fault> {
    let program = launch.program;
    let Place { ptx_line, source } = program.place(pc);
    Box::new(Fault {
        kind: raised.kind,
        kernel: program.functions[launch.entry as usize].name.clone(),
        ptx_line,
        source,
        inlined: program.inlined(pc),
        block: block.index,
        thread: launch.thread(warp, raised.lane),
        threads: raised.lanes.count_ones(),
    })
}

/// For a launch with one worker.
impl Clone for Progress {
    fn clone(&self) -> Self {
        let copy = |number: &AtomicU64| AtomicU64::new(number.load(Relaxed));
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            next: copy(&self.next),
            teams: self.teams,
            steps: copy(&self.steps),
            faulty: copy(&self.faulty),
            fault: Mutex::new(fault.clone()),
        }
    }
}
