//! Members of a warp-level instruction that leave the kernel without coming to it.
//!
//! PTX waits only for members that have not exited, so the instruction goes on; but what it does then depends on when they
//! leave, and NVIDIA asks for masks that name those lanes only that take part.

use super::finding::{Finding, Rule, Severity};
use super::{Ledger, Scene};
use crate::decode::op::Op;
use crate::exec::Left;

/// Counts lanes that leave while others wait for them; it is the turn of their warp.
pub(super) fn report(left: &Left, scene: &Scene<'_>, ledger: &mut Ledger) {
    let key = (Rule::InvalidMembers, left.waiting_pc, left.pc);
    ledger.report(key, || {
        let site = |pc, mask: u32, what| {
            let lane = mask.trailing_zeros() & 31;
            scene.site(scene.actor(pc, lane as usize), what, None)
        };
        let form = match &scene.program.code[left.waiting_pc as usize].op {
            Op::Warp(op) => &op.form,
            _ => "bar.warp.sync",
        };
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
            hint: Some(
                "the mask must name the lanes that execute the instruction, and no others: take it with a ballot before the branch, or move the instruction out of it"
                    .to_owned(),
            ),
            count: 1,
            seed: None,
        }
    });
}
