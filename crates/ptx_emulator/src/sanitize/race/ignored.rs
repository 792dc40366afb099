//! Waits at barrier objects whose result is never used: in another run it could be false, so they
//! order nothing.

use crate::decode::op::{MbarrierKind, Op, TRUE};
use crate::decode::{Cell, Program};
use std::collections::HashSet;

/// The phase tests whose predicate is not read before it is overwritten.
pub(super) fn waits(program: &Program, kernel: u32) -> HashSet<u32> {
    let waits = program
        .reachable_code(kernel)
        .filter_map(|(pc, inst)| match &inst.op {
            Op::Mbarrier(op) => match op.kind {
                MbarrierKind::Test { p, .. } => Some((pc, Cell::Predicate(p))),
                _ => None,
            },
            _ => None,
        });
    waits
        .filter(|&(pc, answer)| !is_read(program, pc + 1, answer))
        .map(|(pc, _)| pc)
        .collect()
}

/// Whether the value of a register at an instruction may be read there or later.
pub(super) fn is_read(program: &Program, start: u32, register: Cell) -> bool {
    let mut seen = vec![false; program.code.len()];
    let mut pending = vec![start];
    while let Some(pc) = pending.pop() {
        let Some(inst) = program.code.get(pc as usize) else {
            continue;
        };
        if std::mem::replace(&mut seen[pc as usize], true) {
            continue;
        }
        let (mut reads, mut writes) = (Cell::from(inst.guard) == register, false);
        inst.op.reads(|cell| reads |= cell == register);
        if reads {
            return true;
        }
        let always = inst.guard == TRUE;
        inst.op.writes(|cell| writes |= cell == register);
        if writes && always {
            continue;
        }
        let (targets, ends): (&[u32], bool) = match &inst.op {
            Op::Branch { target } => (std::slice::from_ref(target), always),
            Op::BranchIndex { targets, .. } => (targets, always),
            Op::Return | Op::Exit | Op::Trap => (&[], always),
            _ => (&[], false),
        };
        let next = (!ends).then_some(pc + 1);
        pending.extend(targets.iter().copied().chain(next));
    }
    false
}
