//! `mbarrier` objects in shared memory.
//!
//! PTX leaves the layout of the 64 bits open. Here they hold, from the low end: the arrivals
//! pending in this phase, the arrivals expected per phase, the pending bytes of copies (biased,
//! because bytes may arrive before they are expected), the phase's parity, and a mark that tells an
//! object from other memory.

use super::bulk::targets;
use super::frame::{Frame, Row64, lanes};
use super::memory::{Memory, Region};
use super::observe::{Observer, Seen};
use super::raise::{Checked, raise};
use crate::decode::op::{COUNT_BITS, MbarrierKind, MbarrierOp, Reg, Row};
use crate::fault::{Access, FaultKind};
use std::sync::atomic::{Ordering, fence};

const COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTES_BITS: u32 = COUNT_BITS + 1;
const PARITY: u32 = 2 * COUNT_BITS + BYTES_BITS;
const MARK: u64 = 0b10 << 62;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Object {
    pending: u64,
    expected: u64,
    bytes: i64,
    parity: u64,
}

impl Object {
    fn unpack(word: u64) -> Option<Self> {
        (word >> 62 == MARK >> 62).then(|| Self {
            pending: word & COUNT,
            expected: word >> COUNT_BITS & COUNT,
            bytes: (word >> (2 * COUNT_BITS) & ((1 << BYTES_BITS) - 1)) as i64 - (1 << COUNT_BITS),
            parity: word >> PARITY & 1,
        })
    }

    fn pack(self) -> u64 {
        let bytes = (self.bytes + (1 << COUNT_BITS)) as u64;
        self.pending
            | self.expected << COUNT_BITS
            | bytes << (2 * COUNT_BITS)
            | self.parity << PARITY
            | MARK
    }

    fn add_bytes(self, bytes: i64) -> Result<Self, String> {
        let bytes = self.bytes + bytes;
        if bytes.unsigned_abs() < 1 << COUNT_BITS {
            Ok(Self { bytes, ..self })
        } else {
            Err(format!("{bytes} bytes to wait for; the limit is {COUNT}"))
        }
    }

    fn arrive(self, count: u64, drops: bool) -> Result<Self, String> {
        if count == 0 || count > self.pending {
            return Err(format!(
                "{count} arrivals where {} of {} are missing",
                self.pending, self.expected
            ));
        }
        let dropped = if drops { count } else { 0 };
        Ok(Self {
            pending: self.pending - count,
            expected: self.expected.saturating_sub(dropped),
            ..self
        })
    }

    /// Starts the next phase if the current one is complete.
    fn settle(self) -> Self {
        if self.pending > 0 || self.bytes != 0 {
            return self;
        }
        Self {
            pending: self.expected,
            parity: self.parity ^ 1,
            ..self
        }
    }
}

/// The phase parity in an object, or in the state that an arrival returned; `None` for other bits.
pub(crate) fn phase_of(word: u64) -> Option<u64> {
    Object::unpack(word).map(|object| object.parity)
}

#[inline(never)]
pub(super) fn execute<O: Observer + ?Sized>(
    op: &MbarrierOp,
    frame: &mut Frame<'_>,
    memory: &mut Memory<'_>,
    mask: u32,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    if op.order.releases() {
        fence(Ordering::SeqCst);
    }
    let addresses = frame.addresses(op.address);
    for lane in lanes(mask) {
        for addresses in targets(&addresses, op.blocks, frame, lane) {
            operate(op, &addresses, (frame, memory), lane, pc, observer)?;
        }
    }
    if op.order.acquires() {
        fence(Ordering::SeqCst);
    }
    Ok(())
}

/// Applies the operation to the object at a lane's address.
fn operate<O: Observer + ?Sized>(
    op: &MbarrierOp,
    addresses: &Row64,
    (frame, memory): (&mut Frame<'_>, &mut Memory<'_>),
    lane: usize,
    pc: u32,
    observer: &mut O,
) -> Checked<()> {
    let part = memory.part((op.space, Access::Atomic), addresses, 8, 1 << lane, pc)?;
    if !matches!(part.region, Region::Shared | Region::Peer(_)) {
        let form = "mbarrier in other than shared memory".to_owned();
        return Err(raise(lane, FaultKind::Unsupported { form }));
    }
    let seen = Seen::new(part, memory.offsets, 8, Access::Atomic);
    observer.access(pc, &seen, frame, memory);
    let offset = memory.offsets[lane];
    let word = memory.update(part.region, offset, 8, |word| word);
    let changed = change(&op.kind, word, lane, frame).map_err(|problem| {
        let problem = format!("mbarrier at {offset:#x}: {problem}");
        raise(lane, FaultKind::InvalidOperand { problem })
    })?;
    memory.update(part.region, offset, 8, |_| changed);
    Ok(())
}

/// Returns the object's new bits, and writes the operation's results to registers.
fn change(
    kind: &MbarrierKind,
    word: u64,
    lane: usize,
    frame: &mut Frame<'_>,
) -> Result<u64, String> {
    let number = |frame: &Frame<'_>, row: Row| u64::from(frame.r32(row)[lane]);
    if let MbarrierKind::Init { count } = *kind {
        let count = number(frame, count);
        if count == 0 || count > COUNT {
            return Err(format!("{count} arrivals; it must be 1 to {COUNT}"));
        }
        let (bytes, parity) = (0, 0);
        let object = Object {
            pending: count,
            expected: count,
            bytes,
            parity,
        };
        return Ok(object.pack());
    }
    let object = Object::unpack(word).ok_or("there is none: it was not initialised")?;
    Ok(match *kind {
        MbarrierKind::Init { .. } => word,
        MbarrierKind::Invalidate => 0,
        MbarrierKind::Expect { bytes } => object.add_bytes(number(frame, bytes) as i64)?.pack(),
        MbarrierKind::Complete { bytes } => {
            let bytes = number(frame, bytes) as i64;
            object.add_bytes(-bytes)?.settle().pack()
        }
        MbarrierKind::Arrive {
            state,
            count,
            bytes,
            drops,
            open,
        } => {
            let count = count.map_or(1, |row| number(frame, row));
            let bytes = bytes.map_or(0, |row| number(frame, row) as i64);
            let arrived = object.add_bytes(bytes)?.arrive(count, drops)?;
            let settled = arrived.settle();
            if open && settled.parity != object.parity {
                return Err("an arrival that must not end the phase ends it".to_owned());
            }
            if let Some(state) = state {
                frame.put(Reg::R64(state), lane, word);
            }
            settled.pack()
        }
        MbarrierKind::Test { p, state } => {
            let value = frame.get(state, lane);
            let parity = match state {
                Reg::R64(_) => {
                    Object::unpack(value)
                        .ok_or("the state is not one of an arrival")?
                        .parity
                }
                _ => value & 1,
            };
            let complete = if object.parity == parity {
                0
            } else {
                1 << lane
            };
            frame.set_predicate(p, complete, 1 << lane);
            word
        }
        // `cp.async` completes at issue, so the arrival is immediate. Without `.noinc` it only
        // cancels the arrival that the instruction itself adds.
        MbarrierKind::Copies { counted: true } => object.arrive(1, false)?.settle().pack(),
        MbarrierKind::Copies { counted: false } => word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_when_all_arrivals_and_bytes_are_there() {
        let object = Object {
            pending: 2,
            expected: 2,
            bytes: 0,
            parity: 0,
        };
        assert_eq!(Object::unpack(object.pack()), Some(object));
        let one = object
            .add_bytes(128)
            .and_then(|o| o.arrive(1, false))
            .map(Object::settle);
        let one = one.expect("one of two");
        assert_eq!((one.pending, one.parity), (1, 0));
        let two = one.arrive(1, true).map(Object::settle).expect("the second");
        assert_eq!((two.pending, two.parity, two.bytes), (0, 0, 128));
        assert!(two.arrive(1, false).is_err());
        let done = two.add_bytes(-128).map(Object::settle).expect("the copy");
        assert_eq!((done.pending, done.expected, done.parity), (1, 1, 1));
        assert_eq!(Object::unpack(0), None);
    }
}
