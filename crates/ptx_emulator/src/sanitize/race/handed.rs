//! Values that one lane acquires and hands to the others of its warp.
//!
//! A shuffle or a vote orders no memory. But current hardware executes a warp's loads after the
//! acquire of one of its lanes if they depend on what that lane found, and NVIDIA's own cooperative
//! groups rely on it: such a race between warps is only for information.

use crate::decode::op::{Op, Order, WarpKind};
use crate::decode::{Cell, Program};
use crate::fault::Space;
use std::collections::HashSet;

/// The exchanges of a warp whose operand depends on what an atomic or a strong read found.
pub(super) fn exchanges(program: &Program) -> HashSet<u32> {
    let mut memory = false;
    loop {
        let before = memory;
        let functions = program.functions.iter();
        let found = functions.flat_map(|function| {
            let start = function.start.unwrap_or(function.end);
            in_function(program, start..function.end, &mut memory)
        });
        let found: HashSet<u32> = found.collect();
        if memory == before {
            return found;
        }
    }
}

/// Those of a function; `memory` is whether local memory, which passes arguments and results too,
/// may hold such a value.
fn in_function(program: &Program, body: std::ops::Range<u32>, memory: &mut bool) -> Vec<u32> {
    let mut found: HashSet<Cell> = HashSet::new();
    let code = || body.clone().map(|pc| (pc, &program.code[pc as usize]));
    loop {
        let before = (found.len(), *memory);
        for (_, inst) in code() {
            let mut depends = found.contains(&inst.guard.into());
            inst.op.reads(|cell| depends |= found.contains(&cell));
            match &inst.op {
                Op::Atomic(_) => depends = true,
                Op::Load(t) if t.order != Order::Weak => depends = true,
                Op::Load(t) => {
                    depends = *memory && matches!(t.space, Space::Local | Space::Generic)
                }
                Op::Store(t) if matches!(t.space, Space::Local | Space::Generic) => {
                    *memory |= depends
                }
                _ => {}
            }
            if depends {
                inst.op.writes(|cell| {
                    found.insert(cell);
                });
            }
        }
        if before == (found.len(), *memory) {
            break;
        }
    }
    let hands = |(pc, inst): (u32, &crate::decode::op::Inst)| {
        let Op::Warp(op) = &inst.op else { return None };
        let mut depends = false;
        inst.op.reads(|cell| depends |= found.contains(&cell));
        let exchanges = !matches!(
            op.kind,
            WarpKind::ActiveMask { .. } | WarpKind::Elect { .. }
        );
        (depends && exchanges).then_some(pc)
    };
    code().filter_map(hands).collect()
}
