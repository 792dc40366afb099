//! Atomics on a word that stand for an access to a part of it.
//!
//! PTX has no 8-bit atomics: compilers change a byte by a compare-and-swap, `and`, `or` or `xor` on
//! the word around it. Such an operation counts as an access to that byte. The byte is known if the
//! word's address is computed, as every compiler does, by clearing the last two bits of the byte's.
//! Otherwise the operation counts as an access to the bytes that its operands can change, and in
//! programs without narrow accesses to the whole word.

use super::op::{AtomicKind, AtomicOp, Cell, IntOp, Op, PartOfWord, Row, TRUE};
use super::program::{Function, Program, Value};
use crate::fault::Space;
use std::collections::HashMap;

/// Marks these atomics in a decoded program.
pub(super) fn mark(program: &mut Program) {
    let candidates = |op: &Op| matches!(op, Op::Atomic(op) if may_mean_a_part(op));
    if !program.code.iter().any(|inst| candidates(&inst.op)) {
        return;
    }
    let has_narrow = program.code.iter().any(|inst| is_narrow(&inst.op));
    for function in &program.functions {
        let Some(start) = function.start else {
            continue;
        };
        let range = start as usize..function.end as usize;
        if !program.code[range.clone()]
            .iter()
            .any(|inst| candidates(&inst.op))
        {
            continue;
        }
        let writers = writers(program, range.clone());
        for pc in range {
            let Op::Atomic(op) = &program.code[pc].op else {
                continue;
            };
            if !may_mean_a_part(op) {
                continue;
            }
            let part = match byte(program, function, &writers, op) {
                Some(row) => PartOfWord::Byte(row),
                None if has_narrow => PartOfWord::Changed,
                None => PartOfWord::Whole,
            };
            if let Op::Atomic(op) = &mut program.code[pc].op {
                op.part = part;
            }
        }
    }
}

fn may_mean_a_part(op: &AtomicOp) -> bool {
    use AtomicKind::{And, CompareAndSwap, Or, Xor};
    op.size == 4 && matches!(op.kind, And | Or | Xor | CompareAndSwap)
}

/// Whether an instruction accesses less than a word of memory that threads share.
fn is_narrow(op: &Op) -> bool {
    match op {
        Op::Load(t) | Op::Store(t) => {
            t.size < 4 && matches!(t.space, Space::Global | Space::Shared | Space::Generic)
        }
        _ => false,
    }
}

/// For each register that one instruction of a function writes, that instruction; `None` for those
/// that several do.
fn writers(program: &Program, range: std::ops::Range<usize>) -> HashMap<Cell, Option<usize>> {
    let mut writers = HashMap::new();
    for pc in range {
        program.code[pc].op.writes(|cell| {
            let entry = writers.entry(cell).or_insert(Some(pc));
            if *entry != Some(pc) {
                *entry = None;
            }
        });
    }
    writers
}

/// The row of the address that the word's address is computed from.
fn byte(
    program: &Program,
    function: &Function,
    writers: &HashMap<Cell, Option<usize>>,
    op: &AtomicOp,
) -> Option<Row> {
    if op.address.offset != 0 {
        return None;
    }
    let writer = &program.code[(*writers.get(&op.address.into())?)?];
    if writer.guard != TRUE {
        return None;
    }
    let (wide, [a, b], constants, mask) = match writer.op {
        Op::Int64 {
            op: IntOp::And,
            a,
            b,
            ..
        } => (true, [a, b], &function.constants64, !3),
        Op::Int32 {
            op: IntOp::And,
            a,
            b,
            ..
        } => (false, [a, b], &function.constants32, u64::from(!3_u32)),
        _ => return None,
    };
    let is_mask = |row: Row| {
        let mut constants = constants.iter();
        constants.any(|&(constant, value)| constant == row && is(value, mask, wide))
    };
    let from = match (is_mask(a), is_mask(b)) {
        (false, true) => a,
        (true, false) => b,
        _ => return None,
    };
    let cell = if wide {
        Cell::R64(from)
    } else {
        Cell::R32(from)
    };
    // A register that is written again may hold another address by then.
    (writers.get(&cell) != Some(&None)).then_some(from)
}

fn is(value: Value, mask: u64, wide: bool) -> bool {
    match value {
        Value::Bits(bits) if wide => bits == mask,
        Value::Bits(bits) => bits as u32 == mask as u32,
        _ => false,
    }
}
