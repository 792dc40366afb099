//! Detectors: observers of a launch that find what a GPU hides.
//!
//! [`Sanitizer`] is the observer. It maintains the [`Context`], the context of the current turn,
//! and forwards events to the detectors that are enabled; their findings go into the [`Ledger`].
mod bounds;
mod context;
mod differs;
mod explore;
mod fault;
mod finding;
mod floats;
mod frames;
mod init;
mod language;
mod ledger;
mod members;
mod parameters;
mod race;
mod results;
mod unused;
mod variables;

pub(crate) use context::{Actor, Context, Slot};
pub(crate) use explore::{check, check_order};
pub use finding::{CheckOptions, CheckReport, Finding, Rule, Severity, Site, Target, Tool};
pub(crate) use ledger::Ledger;
pub(crate) use parameters::record;
pub(crate) use variables::{Variables, distance};

use crate::decode::Program;
use crate::exec::{Arrived, Complete, Frame, Left, Memory, Observer, Request, Seen, Stray, Turn};
use crate::fault::Fault;
use bounds::Bounds;
use init::Init;
pub(crate) use init::Written;
use race::Race;
use std::ops::Range;
use unused::Suspects;

/// Observes one launch.
pub(crate) struct Sanitizer<'a> {
    context: Context<'a>,
    bounds: Bounds,
    race: Option<Race>,
    init: Option<Init>,
    ledger: &'a mut Ledger,
    /// Steps up to the fault that ends the launch.
    faulted: Option<u64>,
}

impl<'a> Sanitizer<'a> {
    pub(crate) fn new(
        request: &Request<'a>,
        options: &CheckOptions,
        ledger: &'a mut Ledger,
        suspects: Suspects,
    ) -> Self {
        let context = Context::new(request);
        let bounds = Bounds::new(request, &context.variables);
        let preset = bounds.gaps().chain(context.variables.preset());
        ledger.steps = 0;
        Self {
            context,
            race: options.race.then(|| Race::new(request, options, suspects)),
            init: options.init.then(|| Init::new(request, preset)),
            bounds,
            ledger,
            faulted: None,
        }
    }

    /// What is initialised in global memory after the launch, if that was tracked, and the races
    /// that may be harmless.
    pub(crate) fn finish(self) -> (Option<Written>, Suspects) {
        let suspects = self.race.map(|race| race.suspects);
        (self.init.map(Init::finish), suspects.unwrap_or_default())
    }

    /// Adds notices for detectors that reached their limits.
    pub(crate) fn note_limits(&mut self) {
        let limits = self.race.iter().flat_map(Race::limits);
        limits.for_each(|text| self.ledger.notice(text));
    }

    /// Adds the findings of a launch that ended without a fault. What it leaves unwritten may
    /// follow from another error, which comes first.
    pub(crate) fn ended(&mut self) {
        if let Some(init) = self.init.as_ref().filter(|_| !self.ledger.has_errors()) {
            init.report_outputs(&self.context, self.ledger);
        }
    }

    /// Adds the fault that ended the launch.
    pub(crate) fn fault(&mut self, fault: &Fault, params: &[u8]) {
        self.ledger.steps = self.faulted.unwrap_or(self.ledger.steps);
        fault::report(fault, params, &self.context, self.ledger);
    }
}

impl Observer for Sanitizer<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        self.context.block(slot, number, index);
        if let Some(race) = &mut self.race {
            race.block(slot, number);
        }
        if let Some(init) = &mut self.init {
            init.block(slot);
        }
    }

    fn enters(&mut self, turn: &Turn, mask: u32) {
        self.context.frames.enters(turn, mask);
        if let Some(init) = &mut self.init {
            init.enters(&self.context, turn, mask);
        }
    }

    fn copies_local(&mut self, turn: &Turn, from: u32, to: u32, size: u32, mask: u32) {
        if let Some(init) = &mut self.init {
            init.copies_local(turn, from, to, size, mask);
        }
    }

    fn writes_local(&mut self, turn: &Turn, to: u32, size: u32, mask: u32) {
        if let Some(init) = &mut self.init {
            init.writes_local(turn, to, size, mask);
        }
    }

    fn turn(&mut self, turn: &Turn) {
        self.context.turn = *turn;
    }

    #[inline(always)]
    fn step(&mut self, _program: &Program, pc: u32, mask: u32, active: u32, frame: &Frame<'_>) {
        self.ledger.steps += 1;
        if let Some(race) = &mut self.race {
            race.step(&self.context, pc, mask, frame);
        }
        if let Some(init) = &mut self.init {
            init.step(&self.context, self.ledger, pc, (mask, active), frame);
        }
    }

    fn waits(&mut self, _pc: u32, _mask: u32) {
        self.ledger.steps += 1;
    }

    fn faults(&mut self) {
        self.faulted = Some(self.ledger.steps);
    }

    fn skip(&mut self, pc: u32, active: u32, frame: &Frame<'_>) {
        self.ledger.steps += 1;
        if let Some(init) = &mut self.init {
            init.step(&self.context, self.ledger, pc, (0, active), frame);
        }
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, frame: &Frame<'_>, memory: &Memory<'_>) {
        let context = &self.context;
        let ledger = &mut *self.ledger;
        let outside = self.bounds.access(context, ledger, pc, seen);
        let inside = Seen {
            lanes: seen.lanes & !outside,
            ..*seen
        };
        // The other detectors ignore out-of-bounds lanes.
        let seen = match outside {
            0 => seen,
            _ if inside.lanes == 0 => return,
            _ => &inside,
        };
        if let Some(race) = &mut self.race {
            race.access(context, ledger, pc, seen, frame, memory);
        }
        if let Some(init) = &mut self.init {
            init.access(context, ledger, pc, seen);
        }
    }

    fn takes(&mut self, heap: u64, chunk: Range<u64>) {
        if let Some(race) = &mut self.race {
            race.takes(heap, chunk.clone());
        }
        if let Some(init) = &mut self.init {
            init.takes(heap, chunk);
        }
    }

    fn warp_barrier(&mut self, slot: usize, warp: u32, mask: u32) {
        if let Some(race) = &mut self.race {
            race.warp_barrier(slot, warp, mask);
        }
    }

    fn leaves(&mut self, left: &Left) {
        members::report(left, &self.context, self.ledger);
    }

    fn stray(&mut self, pc: u32, stray: &Stray) {
        members::report_stray(pc, stray, &self.context, self.ledger);
    }

    fn divides_by_zero(&mut self, pc: u32, lanes: u32) {
        if let Some(init) = &mut self.init {
            init.divides_by_zero(&self.context, pc, lanes);
        }
    }

    fn arrives(&mut self, slot: usize, arrived: &Arrived) {
        if let Some(race) = &mut self.race {
            race.arrives(slot, arrived);
        }
    }

    fn cluster_barrier(&mut self, arrivals: &[(usize, Arrived)]) {
        if let Some(race) = &mut self.race {
            race.cluster_barrier(arrivals);
        }
    }

    fn barrier(&mut self, slot: usize, complete: &Complete<'_>) {
        if let Some(race) = &mut self.race {
            race.barrier(slot, complete);
        }
        if complete.whole {
            self.context.slots[slot].epoch += 1;
        }
    }
}
