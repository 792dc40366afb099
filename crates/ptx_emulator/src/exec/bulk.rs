//! `cp.async.bulk` and `cp.reduce.async.bulk`: copies at issue.

use super::atomics;
use super::frame::{Frame, Row64, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use crate::decode::op::{CopyBulk, Row};
use crate::fault::{Access, FaultKind};
use crate::memory::{BLOCK_BITS, SHARED_WINDOW};

/// Sizes and addresses are multiples of this; observers see the copy in pieces of this size.
const PIECE: u32 = 16;

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &CopyBulk,
    frame: &Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let (to, from) = (frame.addresses(op.to.1), frame.addresses(op.from.1));
    for lane in lanes(mask) {
        let size = frame.r32(op.size)[lane];
        if !size.is_multiple_of(PIECE) {
            let problem =
                format!("cp.async.bulk of {size} bytes; it must be a multiple of {PIECE}");
            return Err(raise(lane, FaultKind::InvalidOperand { problem }));
        }
        if size == 0 {
            continue;
        }
        for to in targets(&to, op.blocks, frame, lane) {
            piecewise(op, (&to, &from, size), frame, memory, lane, pc, observer)?;
        }
    }
    Ok(())
}

/// Destination addresses of this lane's copy in the shared memory of each block.
pub(super) fn targets(
    to: &Row64,
    blocks: Option<Row>,
    frame: &Frame<'_>,
    lane: usize,
) -> Vec<Row64> {
    let Some(blocks) = blocks else {
        return vec![*to];
    };
    let blocks = frame.r32(blocks)[lane] & 0xffff;
    let own = (1 << BLOCK_BITS) - 1;
    let of_block = |block: usize| {
        let window = SHARED_WINDOW + ((block as u64 + 1) << BLOCK_BITS);
        to.map(|address| window + (address.wrapping_sub(SHARED_WINDOW) & own))
    };
    lanes(blocks).map(of_block).collect()
}

fn piecewise<O: Observer + ?Sized>(
    op: &CopyBulk,
    (to, from, size): (&Row64, &Row64, u32),
    frame: &Frame<'_>,
    memory: &mut Memory<'_>,
    lane: usize,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let access = match op.reduces {
        None => Access::Write,
        Some(_) => Access::Atomic,
    };
    let (read, write) = ((op.from.0, Access::Read), (op.to.0, access));
    let source = memory.stretch(read, from, (size, PIECE), lane, pc)?;
    let source_start = memory.offsets[lane];
    let target = memory.stretch(write, to, (size, PIECE), lane, pc)?;
    let target_start = memory.offsets[lane];
    let (kind, element) = match op.reduces {
        None => (None, 8),
        Some((kind, element)) => (Some(kind), element),
    };
    for at in (0..u64::from(size)).step_by(PIECE as usize) {
        memory.offsets[lane] = source_start + at;
        let seen = Seen::new(source, memory.offsets, PIECE, Access::Read);
        observer.access(pc, &seen, frame, memory);
        memory.offsets[lane] = target_start + at;
        let seen = Seen::new(target, memory.offsets, PIECE, access);
        observer.access(pc, &seen, frame, memory);
        for at in (at..at + u64::from(PIECE)).step_by(element.into()) {
            let value = memory.peek(source.region, source_start + at, element.into());
            memory.update(
                target.region,
                target_start + at,
                element,
                |old| match kind {
                    None => value,
                    Some(kind) => atomics::change((kind, element), old, [value, 0], false),
                },
            );
        }
    }
    Ok(())
}
