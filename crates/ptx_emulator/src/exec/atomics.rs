//! Atomics and asynchronous copies, executed lane by lane in lane order.

use super::frame::{Frame, Row64, lanes};
use super::memory::{Memory, Part, Region};
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use crate::decode::op::{AtomicKind, AtomicOp, CopyAsync, PartOfWord};
use crate::fault::{Access, FaultKind, Space};
use std::sync::atomic::{Ordering, fence};

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &AtomicOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    if op.order.releases() {
        fence(Ordering::SeqCst);
    }
    let mut addresses = frame.addresses(op.address);
    let mut whole = mask;
    if op.part != PartOfWord::Whole {
        let parts = meant(op, frame, &addresses, mask);
        whole = parts.whole;
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address += u64::from(parts.at[lane]);
        }
        for (size, lanes) in (1..).zip(parts.lanes) {
            let mut rest = lanes;
            while rest != 0 {
                let kind = (op.space, Access::Atomic);
                let part = match size {
                    1 => memory.part(kind, &addresses, 1, rest, pc)?,
                    _ => {
                        let lane = rest.trailing_zeros() as usize;
                        memory.stretch(kind, &addresses, (size, 1), lane, pc)?
                    }
                };
                rest &= !part.lanes;
                let seen = Seen::new(part, memory.offsets, size, Access::Atomic);
                observer.access(pc, &seen, frame, memory);
                change_each(op, frame, memory, part)?;
            }
        }
    }
    let mut rest = whole;
    while rest != 0 {
        let part = memory.part(
            (op.space, Access::Atomic),
            &addresses,
            op.size.into(),
            rest,
            pc,
        )?;
        rest &= !part.lanes;
        observer.access(
            pc,
            &Seen::new(part, memory.offsets, op.size.into(), Access::Atomic),
            frame,
            memory,
        );
        change_each(op, frame, memory, part)?;
    }
    if op.order.acquires() {
        fence(Ordering::SeqCst);
    }
    Ok(())
}

/// Executes an operation for the lanes of a part, whose offsets may be inside the operand.
fn change_each(
    op: &AtomicOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    part: Part<'_>,
) -> Checked<()> {
    for lane in lanes(part.lanes) {
        // PTX has no atomics on local memory, not even through generic addresses.
        if matches!(part.region, Region::Local | Region::Param) {
            let form = "atomic on local memory".to_owned();
            return Err(raise(lane, FaultKind::Unsupported { form }));
        }
        let operand = frame.get(op.b, lane);
        let other = op.c.map_or(0, |c| frame.get(c, lane));
        // Float additions flush subnormals in global memory, but not in shared memory.
        let flush = matches!(part.region, Region::Global(_));
        let change = |old: u64| change((op.kind, op.size), old, [operand, other], flush);
        let offset = op.start(memory.offsets[lane]);
        let old = memory.update(part.region, offset, op.size, change);
        *memory.changed |= change(old) != old;
        if let Some(d) = op.d {
            frame.put(d, lane, old);
        }
    }
    Ok(())
}

/// The bytes of their word that the lanes' atomics count as an access to.
struct Meant {
    /// Lanes that access the whole word.
    whole: u32,
    /// Lanes that access one, two and three bytes.
    lanes: [u32; 3],
    /// Each lane's first byte in its word.
    at: [u8; 32],
}

fn meant(op: &AtomicOp, frame: &Frame<'_>, addresses: &Row64, mask: u32) -> Meant {
    let mut meant = Meant {
        whole: mask,
        lanes: [0; 3],
        at: [0; 32],
    };
    for lane in lanes(mask) {
        let operand = frame.get(op.b, lane) as u32;
        let other = op.c.map_or(0, |c| frame.get(c, lane)) as u32;
        let bits = match op.kind {
            AtomicKind::And => !operand,
            AtomicKind::CompareAndSwap => operand ^ other,
            _ => operand,
        };
        let word = addresses[lane];
        let changed = bits.trailing_zeros() / 8..(u32::BITS - bits.leading_zeros()).div_ceil(8);
        let bytes = match op.part {
            PartOfWord::Byte(row) => {
                let byte = match op.address.wide {
                    true => frame.r64(row)[lane],
                    false => u64::from(frame.r32(row)[lane]),
                };
                let at = (byte & 3) as u32;
                let is_inside = byte & !3 == word && (bits == 0 || changed.start >= at);
                is_inside.then(|| at..changed.end.max(at + 1))
            }
            _ => (bits != 0 && word.is_multiple_of(4)).then_some(changed),
        };
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() < 4) {
            meant.whole &= !(1 << lane);
            meant.lanes[bytes.len() - 1] |= 1 << lane;
            meant.at[lane] = bytes.start as u8;
        }
    }
    meant
}

/// The new value of `size` bytes of memory; the second operand is used by compare-and-swap.
pub(crate) fn change(
    (kind, size): (AtomicKind, u8),
    old: u64,
    [operand, other]: [u64; 2],
    flush: bool,
) -> u64 {
    let signed = |value: u64| {
        if size == 4 {
            i64::from(value as i32)
        } else {
            value as i64
        }
    };
    match kind {
        AtomicKind::And => old & operand,
        AtomicKind::Or => old | operand,
        AtomicKind::Xor => old ^ operand,
        AtomicKind::Exchange => operand,
        AtomicKind::CompareAndSwap => {
            if old == operand {
                other
            } else {
                old
            }
        }
        AtomicKind::Add => old.wrapping_add(operand),
        AtomicKind::Increment => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        AtomicKind::Decrement => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        AtomicKind::MinUnsigned => old.min(operand),
        AtomicKind::MaxUnsigned => old.max(operand),
        AtomicKind::MinSigned => signed(old).min(signed(operand)) as u64,
        AtomicKind::MaxSigned => signed(old).max(signed(operand)) as u64,
        AtomicKind::AddF32 => {
            let part = |bits: u64| {
                let value = f32::from_bits(bits as u32);
                if flush && value.is_subnormal() {
                    0.0_f32.copysign(value)
                } else {
                    value
                }
            };
            let sum = part(old) + part(operand);
            let sum = part(u64::from(sum.to_bits()));
            u64::from(if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            })
        }
        AtomicKind::AddHalf(ty) => ty.add(old, operand),
        AtomicKind::MinHalf(ty) => ty.min(old, operand),
        AtomicKind::MaxHalf(ty) => ty.max(old, operand),
        AtomicKind::AddF64 => {
            let sum = f64::from_bits(old) + f64::from_bits(operand);
            if sum.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                sum.to_bits()
            }
        }
    }
}

/// `cp.async`: copies at issue.
#[inline(never)]
pub(super) fn copy_async<O: Observer + ?Sized>(
    op: &CopyAsync,
    frame: &Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let (to, from) = (frame.addresses(op.to), frame.addresses(op.from));
    for lane in lanes(mask) {
        let only = 1 << lane;
        let wanted = op.source_size.map_or(op.size, |row| frame.r32(row)[lane]);
        if wanted > op.size {
            let problem = format!(
                "cp.async with a source of {wanted} bytes for a copy of {}",
                op.size
            );
            return Err(raise(lane, FaultKind::InvalidOperand { problem }));
        }
        let target = memory.part((Space::Shared, Access::Write), &to, op.size, only, pc)?;
        observer.access(
            pc,
            &Seen::new(target, memory.offsets, op.size, Access::Write),
            frame,
            memory,
        );
        let target_offset = memory.offsets[lane];
        let mut words = [0; 4];
        if wanted > 0 {
            // The source must be aligned to the size of the whole copy, but only the bytes read
            // must exist.
            let source = memory.stretch(
                (Space::Global, Access::Read),
                &from,
                (wanted, op.size),
                lane,
                pc,
            )?;
            observer.access(
                pc,
                &Seen::new(source, memory.offsets, wanted, Access::Read),
                frame,
                memory,
            );
            let whole = wanted as usize / 4;
            for (index, word) in words[..whole].iter_mut().enumerate() {
                *word = memory.load_global_word(&source, 4 * index as u64, lane);
            }
            for at in 4 * whole..wanted as usize {
                let byte = memory.load_byte(&source, at as u64, lane);
                words[whole] |= u32::from(byte) << (8 * (at % 4));
            }
        }
        for (index, &word) in words[..op.size as usize / 4].iter().enumerate() {
            memory.store_shared_word(target_offset + 4 * index as u64, word);
        }
    }
    Ok(())
}
