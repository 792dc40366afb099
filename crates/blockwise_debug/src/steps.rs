//! Steps of one lane by source lines, forwards and backwards.

use crate::debuggee::Debuggee;
use crate::lane::{LaneId, Stop};
use crate::lines::{Line, Lines};
use ptx_emulator::replay::{Direction, Event, Instruction};
use std::sync::atomic::Ordering::Relaxed;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    /// To the next instruction.
    Instruction,
    /// To the next line, over calls.
    Over,
    /// To the next line, into calls.
    In,
    /// Out of the call or inlined function.
    Out,
}

impl Debuggee {
    /// Lets a lane take a step; the others continue meanwhile.
    pub(crate) fn step(&mut self, lane: LaneId, stride: Stride) -> Stop {
        let Some((pc, calls)) = self.stands(lane) else {
            return Stop::new("step", "the lane has ended");
        };
        let ahead = self.ahead_of(lane, pc);
        if stride == Stride::In && ahead > 0 {
            self.ahead = ahead - 1;
            return Stop::new("step", self.describe(lane));
        }
        let start = self.shown_chain(lane, pc);
        let found = self.find(Direction::Forwards, lane, |lines, to| {
            ends(lines, [pc, to], &start, &calls, stride)
        });
        let deepest = match stride {
            Stride::Instruction => None,
            Stride::Over => Some(start.len()),
            Stride::In => Some(start.len() + 1),
            Stride::Out => Some(start.len().saturating_sub(1)),
        };
        let stop = self.arrive(lane, found);
        if let Some(deepest) = deepest.filter(|_| found.is_some()) {
            self.show(lane, pc, &start, deepest);
        }
        stop
    }

    /// The lines of an instruction that the client sees, outermost first.
    fn shown_chain(&self, lane: LaneId, pc: u32) -> Vec<Line> {
        let chain = self.lines.chain(pc);
        chain[..chain.len() - self.ahead_of(lane, pc).min(chain.len())].to_vec()
    }

    /// The part of an instruction's lines that a step shows, which began at `start`: to the first line
    /// that is another, and no deeper than the step goes.
    fn part<'c>(chain: &'c [Line], start: &[Line], deepest: usize) -> &'c [Line] {
        let pairs = chain.iter().zip(start);
        let common = pairs.take_while(|(one, other)| one == other).count();
        &chain[..chain.len().min(deepest.max(1)).min(common + 1)]
    }

    /// Leaves the frames that a step has not entered out of the stack.
    fn show(&mut self, lane: LaneId, from: u32, start: &[Line], deepest: usize) {
        let Some((pc, _)) = self.stands(lane) else {
            return;
        };
        let chain = self.lines.chain(pc);
        if !start.is_empty() && self.lines.function(pc) == self.lines.function(from) {
            self.ahead = chain.len() - Self::part(chain, start, deepest).len();
        }
    }

    /// Takes a lane back to the start of its line, or of the previous line.
    pub(crate) fn step_back(&mut self, lane: LaneId, stride: Stride) -> Stop {
        if stride == Stride::Instruction {
            let last = self.find(Direction::Backwards, lane, |_, _| true);
            return self.arrive(lane, last);
        }
        let Some((pc, _)) = self.stands(lane).or_else(|| self.last_of(lane)) else {
            let last = self.find(Direction::Backwards, lane, |_, _| true);
            return self.arrive(lane, last);
        };
        let inner = self.shown_chain(lane, pc);
        // Code inlined into the present line is no earlier line.
        let last = self.find(Direction::Backwards, lane, |lines, pc| {
            let chain = lines.chain(pc);
            lines.has_line(pc) && !(chain.len() > inner.len() && chain.starts_with(&inner))
        });
        let Some(before) = self.replay.next().filter(|_| last.is_some()) else {
            return self.arrive(lane, last);
        };
        let chain = self.lines.chain(before.pc);
        let is_here = self.lines.function(before.pc) == self.lines.function(pc);
        let target = match is_here && !inner.is_empty() {
            true => Self::part(chain, &inner, inner.len()).to_vec(),
            false => chain.to_vec(),
        };
        let of_line =
            |lines: &Lines, pc| lines.has_line(pc) && lines.chain(pc).starts_with(&target);
        let elsewhere = self.find(Direction::Backwards, lane, |lines, pc| {
            lines.has_line(pc) && !of_line(lines, pc)
        });
        let is_first = elsewhere.is_none()
            && (self.replay.next())
                .is_some_and(|next| executes(&next, lane) && of_line(&self.lines, next.pc));
        let found = match is_first {
            true => Some(0),
            false => self.find(Direction::Forwards, lane, of_line),
        };
        let stop = self.arrive(lane, found);
        if found.is_some() {
            self.show(lane, pc, &inner, inner.len());
        }
        stop
    }

    /// The position of the launch's last instruction, if the lane executed it.
    fn last_of(&self, lane: LaneId) -> Option<(u32, Vec<u32>)> {
        let (last, _) = self.replay.done()?;
        executes(last, lane).then(|| (last.pc, Vec::new()))
    }

    /// The nearest step of a lane at an instruction for which `matches` holds.
    fn find(
        &mut self,
        direction: Direction,
        lane: LaneId,
        matches: impl Fn(&Lines, u32) -> bool + Sync,
    ) -> Option<u64> {
        let (lines, interrupt) = (&self.lines, &self.interrupt);
        let found = self.replay.find(direction, &mut |_, event| match event {
            Event::Step(at) => {
                (executes(at, lane) && matches(lines, at.pc)) || interrupt.load(Relaxed)
            }
            _ => false,
        });
        found.filter(|_| !self.interrupt.load(Relaxed))
    }

    fn arrive(&mut self, lane: LaneId, found: Option<u64>) -> Stop {
        self.ahead = 0;
        if self.interrupt.swap(false, Relaxed) {
            self.look_at_next();
            return Stop::new("pause", "paused");
        }
        match found {
            Some(_) => {
                self.focus = lane;
                Stop::new("step", self.describe(lane))
            }
            None => {
                self.look_at_next();
                let end = if self.replay.at() == 0 {
                    "beginning"
                } else {
                    "end"
                };
                Stop::new("step", format!("the {end} of the launch"))
            }
        }
    }
}

/// Whether a step from `from`, whose lines the client sees as `start`, ends at `to`; `calls` are the
/// calls that it is in.
///
/// The chain of an instruction is its line and those that it is inlined into, outermost first:
/// inlined code has a longer chain, which begins with its caller's. A step does not end in the middle
/// of a line that `from` is inlined into: it goes on to the next one.
fn ends(
    lines: &Lines,
    [from, to]: [u32; 2],
    start: &[Line],
    calls: &[u32],
    stride: Stride,
) -> bool {
    if stride == Stride::Instruction {
        return true;
    }
    if !lines.has_line(to) {
        return false;
    }
    let (chain, function) = (lines.chain(to), lines.function(to));
    let here = function == lines.function(from);
    match stride {
        Stride::Over | Stride::Out if !here => {
            calls.iter().any(|&call| lines.function(call) == function)
        }
        _ if !here || start.is_empty() => true,
        Stride::Out => {
            let caller = &start[..start.len() - 1];
            let is_inside = chain.len() > caller.len() && chain.starts_with(caller);
            !caller.is_empty() && !is_inside
        }
        Stride::Over => !chain.starts_with(start) && !start.starts_with(chain),
        Stride::In | Stride::Instruction => !start.starts_with(chain),
    }
}

/// Whether the lane executes the instruction, rather than only waiting at it.
fn executes(at: &Instruction, lane: LaneId) -> bool {
    (at.block, at.warp) == (lane.block, lane.warp) && at.active >> lane.lane & 1 == 1 && !at.waits
}
