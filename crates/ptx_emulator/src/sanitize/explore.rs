//! Schedule exploration: repeats a launch from the same memory in other thread orders and compares
//! the results.

use super::{CheckOptions, CheckReport, Ledger, Sanitizer, Suspects, Written, differs};
use crate::exec::{self, Outcome, Request};
use crate::fault::FaultKind;
use crate::launch::{Output, Statistics};
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
                differs::report(&request, &before, &after, &mut ledger);
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

/// Runs the launch with detectors. Races that may be harmless are examined in further runs from the
/// memory `before`; afterwards memory is as the first run left it.
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
