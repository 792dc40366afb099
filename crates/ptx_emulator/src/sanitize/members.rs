//! Lanes named in the mask of a warp-level instruction that never execute it.
//!
//! PTX waits only for members that have not exited, so the instruction completes, but its effect
//! depends on when they exit; NVIDIA requires masks that name only participating lanes. A shuffle
//! that reads from an absent lane has an undefined result.

use super::finding::{Finding, Rule, Severity};
use super::language::words;
use super::{Context, Ledger};
use crate::decode::op::Op;
use crate::exec::{Left, Stray};
use crate::fault::FaultKind;

/// Counts lanes that exit while others wait for them, in the current turn's warp.
pub(super) fn report(left: &Left, context: &Context<'_>, ledger: &mut Ledger) {
    let key = (Rule::InvalidMembers, left.waiting_pc, left.pc);
    ledger.report(key, || {
        let site = |pc, mask: u32, what| {
            let lane = mask.trailing_zeros() & 31;
            context.site(context.actor(pc, lane as usize), what, None)
        };
        let form = match &context.program.code[left.waiting_pc as usize].op {
            Op::Warp(op) => &op.form,
            _ => "bar.warp.sync",
        };
        let active = words(&context.program.place(left.waiting_pc)).active_lanes;
        Finding {
            rule: Rule::InvalidMembers,
            severity: Severity::Warning,
            message: format!(
                "the member mask of `{form}` names lanes {:#010x}, which leave the kernel without coming to it",
                left.mask
            ),
            site: site(
                left.waiting_pc,
                left.waiting,
                format!("lanes {:#010x} wait", left.waiting),
            ),
            others: vec![site(left.pc, left.mask, "the others leave".to_owned())],
            hint: Some(format!(
                "the mask must name the lanes that execute the instruction, and no others: take it before the branch ({active}), or move the instruction out of it"
            )),
            count: 1,
            seed: None,
            step: 0,
        }
    });
}

/// Counts lanes that read from an absent lane, in the current turn's warp.
pub(super) fn report_stray(pc: u32, stray: &Stray, context: &Context<'_>, ledger: &mut Ledger) {
    let key = (Rule::InvalidMembers, pc, pc);
    ledger.report_times(key, stray.lanes.count_ones().into(), || {
        let lane = stray.lanes.trailing_zeros() & 31;
        let form = match &context.program.code[pc as usize].op {
            Op::Warp(op) => op.form.clone(),
            _ => String::new(),
        };
        let kind = FaultKind::WarpSync {
            form,
            members: stray.members,
            active: stray.active,
            problem: format!(
                "lane {lane} reads from lane {}, which does not take part",
                stray.source
            ),
        };
        let site = context.site(context.actor(pc, lane as usize), "here".to_owned(), None);
        Finding {
            rule: Rule::InvalidMembers,
            severity: Severity::Error,
            message: kind.to_string(),
            hint: super::fault::hint(&kind, &[], &site.place),
            site,
            others: Vec::new(),
            count: 1,
            seed: None,
            step: 0,
        }
    });
}
