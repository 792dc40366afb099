//! Schedule exploration: repeats a launch from the same memory in other thread orders and compares
//! the results.

use super::finding::{Finding, Rule, Severity, Site, Target};
use super::{Actor, CheckOptions, CheckReport, Context, Ledger, Sanitizer, Suspects, Written};
use crate::decode::Program;
use crate::emulator::{Output, Statistics};
use crate::exec::{self, Frame, Memory, Observer, Outcome, Region, Request, Seen, Turn};
use crate::fault::{Access, FaultKind, Space};
use crate::memory::Image;
use crate::progress::Progress;
use std::sync::Mutex;

/// Runs the launch with detectors: in the default order, then in `options.schedules` others. Device
/// memory is left as the first run leaves it. Also returns what is initialised then, if that was
/// tracked.
pub(crate) fn check(
    request: &Request<'_>,
    options: &CheckOptions,
) -> (CheckReport, Option<Written>) {
    let before = request.table.image();
    let mut ledger = Ledger::new(options);
    let (own, written) = run(request, &before, options, &mut ledger);
    let mut schedules = 1;
    if options.schedules > 0 {
        let after = request.table.image();
        let mut endless = is_endless(&own);
        for index in 0..options.schedules {
            if endless {
                let tried = index + 1;
                ledger.notice(format!(
                    "only {tried} of {} orders of the threads were run: this one did not end",
                    options.schedules + 1
                ));
                break;
            }
            let seed = options.seed.wrapping_add(u64::from(index));
            let request = Request {
                seed: Some(seed),
                ..request.clone()
            };
            request.table.restore(&before);
            ledger.seed = Some(seed);
            request.progress.tell(Progress::Order(index + 1));
            let (outcome, _) = run(&request, &before, options, &mut ledger);
            // After a fault the memory is incomplete: there is nothing to compare.
            if own.fault.is_none() && outcome.fault.is_none() {
                let heap = request.table.heap_base();
                let address = request.table.image().first_difference(&after, heap);
                if let Some(address) = address {
                    report(&request, &before, address, &mut ledger);
                }
            }
            endless = is_endless(&outcome);
            schedules += 1;
        }
        request.table.restore(&after);
    }
    (
        reported(request, ledger, schedules, own.statistics),
        written,
    )
}

/// Runs the launch with detectors in the request's own order only.
pub(crate) fn check_order(
    request: &Request<'_>,
    options: &CheckOptions,
) -> (CheckReport, Option<Written>) {
    let mut ledger = Ledger::new(options);
    ledger.seed = request.seed;
    let before = request.table.image();
    let (outcome, written) = run(request, &before, options, &mut ledger);
    (reported(request, ledger, 1, outcome.statistics), written)
}

fn reported(
    request: &Request<'_>,
    ledger: Ledger,
    schedules: u32,
    statistics: Statistics,
) -> CheckReport {
    let function = &request.program.functions[request.kernel.function as usize];
    let notices = ledger.notices();
    let (findings, dropped) = ledger.finish();
    CheckReport {
        kernel: function.name.clone(),
        findings,
        dropped,
        notices,
        schedules,
        statistics,
    }
}

/// Whether another order would probably run equally long.
fn is_endless(outcome: &Outcome) -> bool {
    let kind = outcome.fault.as_ref().map(|fault| &fault.kind);
    matches!(
        kind,
        Some(FaultKind::StepLimit { .. } | FaultKind::EndlessLoop { .. })
    )
}

/// Runs the launch with detectors. Races that may be without effect are looked at in further runs
/// from the memory `before`; after the last one the memory is that after the first.
fn run(
    request: &Request<'_>,
    before: &Image,
    options: &CheckOptions,
    ledger: &mut Ledger,
) -> (Outcome, Option<Written>) {
    let mut first = ledger.clone();
    let (outcome, written, suspects) = run_once(request, options, &mut first, Suspects::default());
    if !suspects.is_empty() && outcome.fault.is_none() {
        let silent: Output = Mutex::new(Box::new(|_| {}));
        let again = Request {
            output: &silent,
            ..request.clone()
        };
        if let Some(suspects) = suspects.confirm(&again, before) {
            request.table.restore(before);
            let (outcome, written, _) = run_once(&again, options, ledger, suspects);
            return (outcome, written);
        }
    }
    *ledger = first;
    (outcome, written)
}

fn run_once(
    request: &Request<'_>,
    options: &CheckOptions,
    ledger: &mut Ledger,
    suspects: Suspects,
) -> (Outcome, Option<Written>, Suspects) {
    let mut sanitizer = Sanitizer::new(request, options, ledger, suspects);
    let outcome = exec::watch(request.clone(), &mut [&mut sanitizer]);
    match &outcome.fault {
        Some(fault) => sanitizer.fault(fault, &request.params),
        None => sanitizer.ended(),
    }
    sanitizer.note_limits();
    let (written, suspects) = sanitizer.finish();
    (outcome, written, suspects)
}

/// Reports a byte whose result depends on the order: both launches are repeated to find its last
/// writer.
fn report(request: &Request<'_>, before: &Image, address: u64, ledger: &mut Ledger) {
    let last_writer = |request: Request<'_>| {
        request.table.restore(before);
        let mut witness = Witness::new(&request, address);
        exec::watch(request.clone(), &mut [&mut witness]);
        let mut word = [0; 4];
        let start = address & !3;
        // The last word of an allocation may be incomplete.
        let whole = request.table.read(start, &mut word).is_ok();
        if !whole {
            let _ = request.table.read(address, &mut word[..1]);
        }
        let (address, size) = if whole { (start, 4) } else { (address, 1) };
        let value = u32::from_le_bytes(word);
        let step = witness.wrote;
        (witness.site(address, size, value), step)
    };
    let own = Request {
        seed: None,
        ..request.clone()
    };
    let ((here, step), (there, _)) = (last_writer(request.clone()), last_writer(own));
    ledger.steps = step;
    let key = (Rule::OrderDependent, there.1, here.1);
    ledger.report(key, || Finding {
        rule: Rule::OrderDependent,
        // Some programs intend this; other mistakes in this order are separate findings.
        severity: Severity::Warning,
        message: format!(
            "the result depends on the order of the threads: what lies at {address:#x} in global memory comes out differently"
        ),
        site: here.0,
        others: vec![there.0],
        hint: Some(
            "a barrier or an atomic is missing, or the order of atomic operations shows in the result (sums of floats, slots handed out by a counter); the seed replays this order"
                .to_owned(),
        ),
        count: 1,
        seed: None,
        step: 0,
    });
}

/// Records the last writer of a byte of global memory.
struct Witness<'a> {
    context: Context<'a>,
    address: u64,
    last: Option<Actor>,
    /// Steps that have begun, and up to that write.
    steps: u64,
    wrote: u64,
}

impl<'a> Witness<'a> {
    fn new(request: &Request<'a>, address: u64) -> Self {
        Self {
            context: Context::new(request),
            address,
            last: None,
            steps: 0,
            wrote: 0,
        }
    }

    /// The last write as a site, and its instruction.
    fn site(self, address: u64, size: u32, value: u32) -> (Site, u32) {
        let order = match self.last {
            Some(_) => format!("last write, which leaves {value:#x}"),
            None => format!("nobody writes it, which leaves {value:#x}"),
        };
        let start = self.context.program.functions.first();
        let actor = self.last.unwrap_or(Actor {
            pc: start.and_then(|function| function.start).unwrap_or(0),
            block: 0,
            thread: 0,
            epoch: 0,
        });
        let target = Target {
            access: Access::Write,
            space: Space::Global,
            address,
            size,
            value: Some(u64::from(value)),
        };
        (self.context.site(actor, order, Some(target)), actor.pc)
    }
}

impl Observer for Witness<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        self.context.block(slot, number, index);
    }

    fn turn(&mut self, turn: &Turn) {
        self.context.turn = *turn;
    }

    fn step(&mut self, _: &Program, _: u32, _: u32, _: u32, _: &Frame<'_>) {
        self.steps += 1;
    }

    fn skip(&mut self, _: u32, _: u32, _: &Frame<'_>) {
        self.steps += 1;
    }

    fn waits(&mut self, _: u32, _: u32) {
        self.steps += 1;
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, _: &Frame<'_>, _: &Memory<'_>) {
        let Region::Global(allocation) = seen.region else {
            return;
        };
        if seen.access == Access::Read {
            return;
        }
        let lane = exec::lanes(seen.lanes).filter(|&lane| {
            let start = allocation.base + seen.offsets[lane];
            (start..start + u64::from(seen.size)).contains(&self.address)
        });
        if let Some(lane) = lane.last() {
            self.last = Some(self.context.actor(pc, lane));
            self.wrote = self.steps;
        }
    }
}
