//! A fault that ended a launch, as a finding.

use super::finding::{Finding, Rule, Severity, Site, Target};
use super::{Ledger, Scene};
use crate::fault::{Fault, FaultKind, Place};

/// Counts the fault.
pub(crate) fn report(fault: &Fault, scene: &Scene<'_>, ledger: &mut Ledger) {
    let (rule, target) = class(&fault.kind);
    ledger.report((rule, 0, fault.ptx_line), || Finding {
        rule,
        severity: Severity::Error,
        message: fault.kind.to_string(),
        site: Site {
            what: match target {
                Some(target) => format!("{} of {} bytes", target.access, target.size),
                None => "here".to_owned(),
            },
            place: Place {
                ptx_line: fault.ptx_line,
                source: fault.source.clone(),
            },
            inlined: fault.inlined.clone(),
            block: fault.block,
            thread: fault.thread,
            epoch: epoch(fault, scene),
            target,
        },
        others: others(fault),
        hint: hint(&fault.kind),
        count: 1,
        seed: None,
    });
}

fn class(kind: &FaultKind) -> (Rule, Option<Target>) {
    let rule = match *kind {
        FaultKind::OutOfBounds {
            space,
            access,
            address,
            size,
            ..
        } => {
            let value = None;
            let target = Target {
                access,
                space,
                address,
                size,
                value,
            };
            return (Rule::OutOfBounds, Some(target));
        }
        FaultKind::Misaligned {
            space,
            access,
            address,
            size,
        } => {
            let value = None;
            let target = Target {
                access,
                space,
                address,
                size,
                value,
            };
            return (Rule::Misaligned, Some(target));
        }
        FaultKind::ReadOnly { .. } => Rule::ReadOnly,
        FaultKind::DivergentBarrier { .. } => Rule::DivergentBarrier,
        FaultKind::WarpSync { .. } => Rule::InvalidMembers,
        FaultKind::Deadlock { .. } => Rule::Deadlock,
        FaultKind::InvalidOperand { .. } => Rule::InvalidOperand,
        FaultKind::StepLimit { .. } => Rule::StepLimit,
        FaultKind::Trap | FaultKind::Breakpoint => Rule::Trap,
        FaultKind::Assert { .. } => Rule::Assert,
        FaultKind::Unsupported { .. } => Rule::Unsupported,
        FaultKind::DivisionByZero
        | FaultKind::BadCall { .. }
        | FaultKind::BranchIndex { .. }
        | FaultKind::StackOverflow { .. } => Rule::Undefined,
    };
    (rule, None)
}

/// The barriers that the faulty block had completed.
fn epoch(fault: &Fault, scene: &Scene<'_>) -> u32 {
    let block = |slot: &&super::Slot| slot.index == fault.block;
    scene.slots.iter().find(block).map_or(0, |slot| slot.epoch)
}

/// Where other threads were.
fn others(fault: &Fault) -> Vec<Site> {
    let site = |what: String, place: &Place| Site {
        what,
        place: place.clone(),
        inlined: Vec::new(),
        block: fault.block,
        thread: fault.thread,
        epoch: 0,
        target: None,
    };
    match &fault.kind {
        FaultKind::DivergentBarrier { others, .. } => others
            .iter()
            .map(|(what, place)| site(what.clone(), place))
            .collect(),
        FaultKind::Deadlock { waiting } => waiting
            .iter()
            .map(|(threads, place)| site(format!("{threads} threads wait"), place))
            .collect(),
        FaultKind::StepLimit {
            loop_head: Some(head),
            ..
        } => vec![site("the loop begins".to_owned(), head)],
        _ => Vec::new(),
    }
}

fn hint(kind: &FaultKind) -> Option<String> {
    let text = match kind {
        FaultKind::DivergentBarrier { .. } => {
            "every thread of the block must reach the same barrier: move it out of the branch, and let threads without work skip the work, not the barrier"
        }
        FaultKind::Misaligned { .. } => {
            "the address must be a multiple of the whole access's size: check the base pointer and the index of the vector access"
        }
        FaultKind::WarpSync { .. } => {
            "the member mask must name the lanes that execute the instruction: take it before the branch, or move the instruction out of it"
        }
        FaultKind::StepLimit { .. } => {
            "check the loop's condition; a longer program needs a larger Limits::warp_instructions"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
