//! Runs the launch forwards or backwards until something stops it.

use crate::breaks::LineBreak;
use crate::debuggee::Debuggee;
use crate::element::Evaluated;
use crate::expression::{Part, Scope, written};
use crate::lane::{LaneId, Stop, first_lane, identity, lane_at};
use ptx_emulator::CheckOptions;
use ptx_emulator::Finding;
use ptx_emulator::replay::{Direction, Event, Instruction, Replay};
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

/// The facts about a lane that need no registers.
struct Identity<'a>(&'a Replay, LaneId);

impl Scope for Identity<'_> {
    fn value(&self, name: &str, parts: &[Part<i128>]) -> Result<Evaluated, String> {
        let value = identity(self.0, self.1, &written(name, parts));
        value.ok_or_else(String::new)
    }
}

impl Debuggee {
    /// The findings of the launch, in the order of their steps.
    pub(crate) fn findings(&mut self) -> &[Finding] {
        let Self { replay, breaks, .. } = self;
        breaks.findings.get_or_insert_with(|| {
            let mut findings = replay.check(&CheckOptions::default()).findings;
            findings.sort_by_key(|finding| finding.step);
            findings
        })
    }

    /// Runs until something stops it, or to the end or the beginning.
    pub(crate) fn run(&mut self, direction: Direction) -> Stop {
        let tools = self.breaks.tools.clone();
        let mut steps: HashSet<u64> = HashSet::new();
        if !tools.is_empty() {
            let findings = self.findings().iter();
            let wanted = findings.filter(|finding| tools.contains(&finding.rule.tool()));
            steps.extend(wanted.map(|finding| finding.step));
        }
        loop {
            let interrupt = &self.interrupt;
            let heads: HashSet<u32> = self
                .breaks
                .lines
                .iter()
                .flat_map(|line| line.heads.iter().copied())
                .collect();
            let watches = &self.breaks.watches;
            let found = self.replay.find(direction, &mut |step, event| {
                interrupt.load(Relaxed)
                    || match event {
                        Event::Step(at) => {
                            (heads.contains(&at.pc) && !at.waits) || steps.contains(&step)
                        }
                        event => watches.iter().any(|watch| watch.meets(event).is_some()),
                    }
            });
            self.look_at_next();
            if self.interrupt.swap(false, Relaxed) {
                return Stop::new("pause", "paused");
            }
            let Some(step) = found else {
                return self.nothing_left(direction);
            };
            if let Some(stop) = self.reason(step, &steps) {
                return stop;
            }
        }
    }

    fn nothing_left(&self, direction: Direction) -> Stop {
        match (direction, self.replay.fault()) {
            (Direction::Backwards, _) => Stop::new("entry", "the beginning of the launch"),
            (Direction::Forwards, Some(fault)) => Stop::new("exception", fault.kind.to_string()),
            (Direction::Forwards, None) => Stop::new("pause", "the end of the launch"),
        }
    }

    /// Why the launch stops before a step, if it does. The replay then stays there, with the
    /// responsible lane selected.
    fn reason(&mut self, step: u64, wanted: &HashSet<u64>) -> Option<Stop> {
        let mut met: Vec<(i64, LaneId)> = Vec::new();
        if !self.breaks.watches.is_empty() {
            let watches = &self.breaks.watches;
            self.replay.scan(step..step + 1, &mut |_, event| {
                let hits = watches
                    .iter()
                    .filter_map(|watch| Some((watch.id, watch.meets(event)?)));
                met.extend(hits);
            });
            self.replay.seek(step);
        }
        if wanted.contains(&step)
            && let Some(finding) = self.findings().iter().find(|finding| finding.step == step)
        {
            let text = format!("{}: {}", finding.rule.name(), finding.message);
            let (block, thread) = (finding.site.block, finding.site.thread);
            if let Some(thread) = thread {
                self.focus = lane_at(self.replay.config(), block, thread);
            }
            return Some(Stop {
                breakpoints: met.into_iter().map(|(id, _)| id).collect(),
                ..Stop::new("exception", text)
            });
        }
        if let Some(&(_, lane)) = met.first() {
            self.focus = lane;
            return Some(Stop {
                reason: "data breakpoint",
                text: format!("the next step of {} accesses it", self.describe(lane)),
                breakpoints: met.into_iter().map(|(id, _)| id).collect(),
            });
        }
        let next = self.replay.next()?;
        let lines = self
            .breaks
            .lines
            .iter()
            .filter(|line| line.heads.contains(&next.pc));
        let hits: Vec<(i64, Hit)> = lines
            .filter_map(|line| Some((line.id, self.hit(line, &next)?)))
            .collect();
        let (first, Hit { lane, .. }) = hits.first()?;
        let line = self.breaks.lines.iter().find(|line| line.id == *first)?;
        self.ahead = self.lines.inside(next.pc, &line.file, line.line);
        self.focus = *lane;
        let lane = *lane;
        let unknown = hits.iter().find_map(|(_, hit)| hit.unknown.as_deref());
        let why = unknown.map_or(String::new(), |why| {
            format!("; the condition cannot be evaluated here: {why}")
        });
        Some(Stop {
            reason: "breakpoint",
            text: self.describe(lane) + &why,
            breakpoints: hits.into_iter().map(|(id, _)| id).collect(),
        })
    }

    /// The first lane of the next instruction for which the condition holds; where it holds for none,
    /// the first for which it cannot be evaluated, which may be the one that is looked for.
    fn hit(&self, line: &LineBreak, next: &Instruction) -> Option<Hit> {
        let Some(condition) = &line.condition else {
            return Some(Hit {
                lane: first_lane(next),
                unknown: None,
            });
        };
        let mut unknown = None;
        for lane in (0..32).filter(|lane| next.lanes >> lane & 1 == 1) {
            let lane = LaneId {
                lane,
                ..first_lane(next)
            };
            // Most conditions name threads only, and need no registers.
            let known = condition.holds(&Identity(&self.replay, lane));
            match known.or_else(|_| condition.holds(&self.scope_of(lane))) {
                Ok(true) => {
                    return Some(Hit {
                        lane,
                        unknown: None,
                    });
                }
                Ok(false) => {}
                Err(why) => {
                    unknown.get_or_insert((lane, why));
                }
            }
        }
        let (lane, why) = unknown?;
        Some(Hit {
            lane,
            unknown: Some(why),
        })
    }
}

/// A lane that is at a breakpoint, and why its condition cannot be evaluated, if so.
struct Hit {
    lane: LaneId,
    unknown: Option<String>,
}
