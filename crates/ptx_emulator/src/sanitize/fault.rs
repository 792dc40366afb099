//! Turns the fault that ended a launch into a finding.

use super::finding::{Finding, Rule, Severity, Site, Target};
use super::language::words;
use super::{Context, Ledger};
use crate::fault::{Fault, FaultKind, Loop, Nearest, Place, Space};

/// Adds the fault; `params` are the bytes of the kernel's parameters.
pub(crate) fn report(fault: &Fault, params: &[u8], context: &Context<'_>, ledger: &mut Ledger) {
    let also = also_wrong(&fault.kind, context);
    for kind in std::iter::once(&fault.kind).chain(&also) {
        report_kind(fault, kind, params, context, ledger);
    }
}

/// A second mistake of the same access.
fn also_wrong(kind: &FaultKind, context: &Context<'_>) -> Option<FaultKind> {
    match *kind {
        FaultKind::OutOfBounds {
            space,
            access,
            address,
            size,
            misaligned: true,
            ..
        } => Some(FaultKind::Misaligned {
            space,
            access,
            address,
            size,
        }),
        FaultKind::Misaligned {
            space,
            access,
            address,
            size,
        } if context.is_outside(context.turn.base, space, address, size) => {
            Some(FaultKind::OutOfBounds {
                space,
                access,
                address,
                size,
                nearest: None,
                misaligned: true,
            })
        }
        _ => None,
    }
}

fn report_kind(
    fault: &Fault,
    kind: &FaultKind,
    params: &[u8],
    context: &Context<'_>,
    ledger: &mut Ledger,
) {
    let (rule, target) = class(kind);
    let (key, times) = ((rule, 0, fault.ptx_line), fault.threads.into());
    let place = Place {
        ptx_line: fault.ptx_line,
        source: fault.source.clone(),
    };
    ledger.report_times(key, times, || Finding {
        rule,
        severity: Severity::Error,
        message: message(kind, context),
        hint: hint(kind, params, &place),
        site: Site {
            what: match target {
                Some(target) => format!("{} of {} bytes", target.access, target.size),
                None => "here".to_owned(),
            },
            place,
            inlined: fault.inlined.clone(),
            block: fault.block,
            thread: Some(fault.thread),
            epoch: epoch(fault, context),
            target,
        },
        others: others(fault),
        count: times,
        seed: None,
        step: 0,
    });
}

/// The fault in one line, naming the variable.
fn message(kind: &FaultKind, context: &Context<'_>) -> String {
    let text = kind.to_string();
    if let FaultKind::Misaligned {
        space: Space::Global,
        address,
        size,
        ..
    } = *kind
        && let Some(element) = context.element(address, size)
    {
        return format!("{text}: {element}");
    }
    let FaultKind::OutOfBounds {
        space,
        access,
        address,
        size,
        nearest,
        misaligned,
    } = *kind
    else {
        return text;
    };
    if let Some(text) = context.outside(context.turn.base, (space, access), address, size) {
        let too = if misaligned { TOO } else { "" };
        return text + too;
    }
    let Some(nearest) = nearest else { return text };
    if let Some(name) = context.variables.at(space, nearest.base) {
        return format!("{text}, which is {name}");
    }
    match context.element_outside(nearest.base, address, size) {
        Some(element) if space == Space::Global => {
            let (text, too) = match text.strip_suffix(TOO) {
                Some(text) => (text, TOO),
                None => (text.as_str(), ""),
            };
            format!("{text}: {element}{too}")
        }
        _ => text,
    }
}

fn class(kind: &FaultKind) -> (Rule, Option<Target>) {
    let rule = match *kind {
        FaultKind::OutOfBounds {
            space,
            access,
            address,
            size,
            ..
        }
        | FaultKind::Misaligned {
            space,
            access,
            address,
            size,
        } => {
            let target = Target {
                access,
                space,
                address,
                size,
                value: None,
            };
            let outside = matches!(kind, FaultKind::OutOfBounds { .. });
            let rule = if outside {
                Rule::OutOfBounds
            } else {
                Rule::Misaligned
            };
            return (rule, Some(target));
        }
        FaultKind::OutsideSurface { .. } => Rule::OutOfBounds,
        FaultKind::ReadOnly { .. } => Rule::ReadOnly,
        FaultKind::DivergentBarrier { .. } => Rule::DivergentBarrier,
        FaultKind::WarpSync { .. } => Rule::InvalidMembers,
        FaultKind::Deadlock { .. } => Rule::Deadlock,
        FaultKind::InvalidOperand { .. } => Rule::InvalidOperand,
        FaultKind::StepLimit { .. } => Rule::StepLimit,
        FaultKind::EndlessLoop { .. } => Rule::EndlessLoop,
        FaultKind::Trap | FaultKind::Breakpoint => Rule::Trap,
        FaultKind::Assert { .. } => Rule::Assert,
        FaultKind::Unsupported { .. } => Rule::Unsupported,
        FaultKind::BadCall { .. }
        | FaultKind::BranchIndex { .. }
        | FaultKind::StackOverflow { .. } => Rule::Undefined,
    };
    (rule, None)
}

/// Number of barriers that the faulty block had completed.
fn epoch(fault: &Fault, context: &Context<'_>) -> u32 {
    let block = |slot: &&super::Slot| slot.index == fault.block;
    context
        .slots
        .iter()
        .find(block)
        .map_or(0, |slot| slot.epoch)
}

/// Other places to report: where threads wait or diverged, and where the loop begins.
fn others(fault: &Fault) -> Vec<Site> {
    let site = |what: String, place: &Place| Site {
        what,
        place: place.clone(),
        inlined: Vec::new(),
        block: fault.block,
        thread: None,
        epoch: 0,
        target: None,
    };
    let waits = |waiting: &[(u32, Place)]| -> Vec<Site> {
        let waiting = waiting.iter();
        let waiting =
            waiting.map(|(threads, place)| site(format!("{threads} threads wait"), place));
        waiting.collect()
    };
    let begins = |inside: &Option<Loop>| -> Vec<Site> {
        let inside = inside.iter();
        let begins = inside.map(|inside| site("the loop begins".to_owned(), &inside.head));
        begins.collect()
    };
    match &fault.kind {
        FaultKind::DivergentBarrier { others, .. } => others
            .iter()
            .map(|(what, place)| site(what.clone(), place))
            .collect(),
        FaultKind::Deadlock { waiting } => waits(waiting),
        FaultKind::EndlessLoop { inside, waiting } => [begins(inside), waits(waiting)].concat(),
        FaultKind::StepLimit { inside, .. } => begins(inside),
        _ => Vec::new(),
    }
}

/// How to fix the fault, in the terms of the language that `place` was written in.
pub(super) fn hint(kind: &FaultKind, params: &[u8], place: &Place) -> Option<String> {
    let words = words(place);
    let text = match kind {
        FaultKind::OutOfBounds {
            space,
            address,
            size,
            nearest,
            ..
        } => return Some(bounds_hint(*space, *address, *size, *nearest, params)),
        FaultKind::Misaligned { .. } => {
            "the address must be a multiple of the whole access's size: check the base pointer and the index of the vector access"
        }
        FaultKind::ReadOnly { .. } => {
            "constant memory and parameters cannot be written by a kernel: write to a buffer, or to a variable in global memory"
        }
        FaultKind::DivergentBarrier { .. } => {
            "every thread of the block must reach the same barrier: move it out of the branch, and let threads without work skip the work, not the barrier"
        }
        FaultKind::WarpSync { .. } => {
            return Some(format!(
                "the member mask must name the lanes that execute the instruction: take it before the branch ({}), or move the instruction out of it",
                words.active_lanes
            ));
        }
        FaultKind::Deadlock { .. } => {
            "threads wait at barriers that too few others will reach: the thread count of a barrier must be that of the threads that come to it, and all of them must use the same barrier"
        }
        FaultKind::InvalidOperand { problem } if problem.starts_with("mbarrier") => {
            "one thread makes the object before any other uses it, and as many arrive in a phase as it was made for"
        }
        FaultKind::InvalidOperand { problem } if problem.contains("barrier") => {
            "a block has barriers 0 to 15; all threads that meet at one must give the same thread count, a multiple of 32, and no more may come"
        }
        FaultKind::EndlessLoop { .. } => {
            "the loop waits for a value that no thread writes any more: look whether the thread that should write it waits for this one, has ended, or holds a lock that it never opens"
        }
        FaultKind::StepLimit { inside, .. } => {
            let limit = words.step_limit;
            return Some(match inside {
                None => format!("launch fewer blocks, or allow more ({limit})"),
                Some(_) => format!(
                    "check the loop's condition; a longer program needs a higher limit ({limit})"
                ),
            });
        }
        FaultKind::Trap => {
            return Some(format!(
                "the program came to a place that it declares impossible: {}",
                words.failures
            ));
        }
        FaultKind::OutsideSurface { in_bytes: true, .. } => {
            "x counts bytes: the index of the texel times its size; threads past the edge must skip the access"
        }
        FaultKind::OutsideSurface { .. } => "threads past the edge must skip the access",
        FaultKind::BranchIndex { .. } => "test the index before the branch through a table",
        FaultKind::BadCall { .. } => {
            "the pointer must be the address of a function of this module with the same parameters"
        }
        FaultKind::StackOverflow { .. } => {
            return Some(format!(
                "the recursion is too deep or has no end; a deeper one needs a larger stack ({})",
                words.stack
            ));
        }
        FaultKind::Unsupported { form } if form.starts_with("call of") => {
            "the function is in another file: link the files into one before they become PTX, or let the compiler inline it"
        }
        FaultKind::InvalidOperand { .. }
        | FaultKind::Assert { .. }
        | FaultKind::Unsupported { .. }
        | FaultKind::Breakpoint => return None,
    };
    Some(text.to_owned())
}

pub(super) fn bounds_hint(
    space: Space,
    address: u64,
    size: u32,
    nearest: Option<Nearest>,
    params: &[u8],
) -> String {
    let text = match (space, nearest) {
        (Space::Global | Space::Const, Some(nearest)) if nearest.freed => {
            "the memory was freed before the launch: keep the buffer until the last launch that uses it has ended"
        }
        (Space::Generic, _) => {
            "the address lies in no memory at all: the pointer was computed from something else than an address"
        }
        _ if address < NULL_PAGE && matches!(space, Space::Global | Space::Const) => {
            "the address is that of a null pointer, or of an index without its base"
        }
        (Space::Global | Space::Const, Some(nearest)) if nearest.offset >= 0 => {
            let stated = stated_length(nearest, size, params);
            return format!(
                "the allocation ends after {} bytes{}: check the index against the buffer's length, and that the length given to the kernel is not larger than the buffer",
                nearest.size,
                stated.unwrap_or_default()
            );
        }
        (Space::Global | Space::Const, _) => {
            "the access lies before the allocation: look for an index that becomes negative"
        }
        (Space::Shared, _) => {
            "check the index against the shared array's length; a dynamic array has only the bytes that the launch gives it"
        }
        (Space::Local, _) => "check the index against the local array's length",
        (Space::Param, _) => "the access passes the end of the kernel's parameters",
    };
    text.to_owned()
}

/// Detects a slice that is longer than its allocation: among the kernel's parameters, a pointer
/// into the allocation followed by an element count that exceeds it.
fn stated_length(nearest: Nearest, size: u32, params: &[u8]) -> Option<String> {
    let words: Vec<u64> = params
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    words.windows(2).find_map(|pair| {
        let (start, length) = (pair[0].checked_sub(nearest.base)?, pair[1]);
        let bytes = length.checked_mul(size.into())?;
        let is_slice = start < nearest.size.max(1) && length <= MAX_LENGTH;
        (is_slice && bytes > nearest.size - start).then(|| {
            format!(
                ", but the parameters say that there are {length} elements, which are {bytes} bytes of {size} each"
            )
        })
    })
}

/// The end of a message about an access that is also misaligned.
const TOO: &str = "; misaligned too";
/// Addresses below this come from indexing a null pointer.
const NULL_PAGE: u64 = 1 << 16;
/// Larger than any buffer, so not a length.
const MAX_LENGTH: u64 = 1 << 36;
