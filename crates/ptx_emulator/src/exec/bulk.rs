//! `cp.async.bulk`: copies now.

use super::frame::{Frame, lanes};
use super::memory::Memory;
use super::observe::{Observer, Seen};
use super::trouble::{Checked, trouble};
use crate::decode::op::CopyBulk;
use crate::fault::{Access, FaultKind};

/// Sizes and addresses are multiples of it; observers see pieces of so many bytes.
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
            return Err(trouble(lane, FaultKind::InvalidOperand { problem }));
        }
        if size == 0 {
            continue;
        }
        let (whole, read, write) = (
            (size, PIECE),
            (op.from.0, Access::Read),
            (op.to.0, Access::Write),
        );
        let source = memory.stretch(read, &from, whole, lane, pc)?;
        let source_start = memory.offsets[lane];
        let target = memory.stretch(write, &to, whole, lane, pc)?;
        let target_start = memory.offsets[lane];
        for at in (0..u64::from(size)).step_by(PIECE as usize) {
            memory.offsets[lane] = source_start + at;
            let seen = Seen::new(source, memory.offsets, PIECE, Access::Read);
            observer.access(pc, &seen, frame, memory);
            memory.offsets[lane] = target_start + at;
            let seen = Seen::new(target, memory.offsets, PIECE, Access::Write);
            observer.access(pc, &seen, frame, memory);
            for half in [at, at + 8] {
                let value = memory.peek(source.region, source_start + half, 8);
                memory.update(target.region, target_start + half, 8, |_| value);
            }
        }
    }
    Ok(())
}
