//! Race reports: both accesses, what they did to the bytes, and what would order them.

use super::copy::Copies;
use super::judge::Hazard;
use super::lane_access::LaneAccess;
use super::locks::Locks;
use super::uses::Uses;
use crate::decode::op::{AtomicOp, MatrixKind, Op, Order, Transfer};
use crate::exec::{Frame, Memory, Region, Seen, stored_element};
use crate::fault::{Access, Space};
use crate::sanitize::context::address;
use crate::sanitize::{Actor, Context, Finding, Ledger, Rule, Severity, Site, Suspects, Target};

/// Everything that a report needs, just before the access that completes the race.
pub(super) struct Report<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) seen: &'a Seen<'a>,
    pub(super) frame: &'a Frame<'a>,
    pub(super) memory: &'a Memory<'a>,
    pub(super) current: &'a LaneAccess<'a>,
    pub(super) hazard: Hazard,
    /// By thread of the block.
    pub(super) copies: &'a [Copies],
    pub(super) locks: &'a Locks,
    pub(super) uses: &'a Uses,
}

impl Report<'_> {
    pub(super) fn report(&self, ledger: &mut Ledger, suspects: &mut Suspects) {
        let earlier = self.hazard.earlier;
        let rule = match (earlier.writes(), self.current.writes) {
            _ if earlier.is_pending() => Rule::AsyncCopy,
            (true, true) => Rule::WriteAfterWrite,
            (true, false) => Rule::ReadAfterWrite,
            (false, _) => Rule::WriteAfterRead,
        };
        let severity = match self.severity(rule) {
            Severity::Error if self.is_harmless(rule, suspects) => Severity::Information,
            severity => severity,
        };
        let key = (rule, earlier.pc(), self.current.now.pc);
        ledger.report_worst(key, severity, || self.finding(rule, severity));
    }

    /// Current hardware executes the instructions of a warp in order.
    fn severity(&self, rule: Rule) -> Severity {
        match rule {
            Rule::AsyncCopy => Severity::Error,
            _ if self.hazard.heard => Severity::Information,
            Rule::WriteAfterWrite if self.is_same_value() => Severity::Information,
            _ if self.is_same_warp() && self.same_step().is_none() => Severity::Warning,
            _ if self.is_volatile() => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// Whether one of the two is a plain read of global memory whose value nobody uses.
    fn is_harmless(&self, rule: Rule, suspects: &mut Suspects) -> bool {
        let (here, there) = (self.current.now.pc, self.hazard.earlier.pc());
        let (read, write) = match rule {
            Rule::ReadAfterWrite => (here, there),
            Rule::WriteAfterRead => (there, here),
            _ => return false,
        };
        let is_plain = matches!(
            &self.context.program.code[read as usize].op,
            Op::Load(transfer) if transfer.order == Order::Weak
        );
        let is_global = matches!(self.seen.region, Region::Global(_));
        is_plain && is_global && suspects.is_harmless(read, write)
    }

    /// Whether only `volatile` keeps the two from being a data race in PTX's model.
    pub(super) fn is_volatile(&self) -> bool {
        self.current.both_strong(&self.hazard.earlier)
    }

    pub(super) fn is_same_warp(&self) -> bool {
        self.hazard.earlier.warp == self.current.now.warp
    }

    /// The earlier lane, if it makes its access in the same step.
    pub(super) fn same_step(&self) -> Option<usize> {
        let (earlier, lane) = (self.hazard.earlier, self.hazard.lane);
        let same = earlier.warp == self.current.now.warp
            && earlier.pc() == self.current.now.pc
            && lane < self.current.lane
            && self.seen.lanes & (1 << lane) != 0
            && self.seen.offsets[lane] <= self.hazard.at
            && self.hazard.at < self.seen.offsets[lane] + u64::from(self.seen.size);
        same.then_some(lane)
    }

    /// Whether both write the same values to the bytes that they share.
    fn is_same_value(&self) -> bool {
        let earlier = self.same_step();
        self.hazard.places().all(|at| {
            let old = match earlier {
                // Not in memory yet.
                Some(lane) => self.written_byte(lane, at),
                None => Some(self.memory.peek(self.seen.region, at, 1)),
            };
            old.is_some() && old == self.written_byte(self.current.lane, at)
        })
    }

    fn written_byte(&self, lane: usize, at: u64) -> Option<u64> {
        let (start, _, value) = self.written(lane, at)?;
        Some(value >> (8 * (at - start)) & 0xff)
    }

    /// The element that a lane writes at a byte: offset, size and value.
    fn written(&self, lane: usize, at: u64) -> Option<(u64, u32, u64)> {
        let offset = self.seen.offsets[lane];
        let index = |size: u8| at.checked_sub(offset).map(|from| from / u64::from(size));
        match &self.context.program.code[self.current.now.pc as usize].op {
            Op::Store(t) => {
                let index = index(t.size)?;
                let reg = t.reg(index as usize)?;
                let value = cut(self.frame.get(reg, lane), t.size.into());
                Some((offset + index * u64::from(t.size), t.size.into(), value))
            }
            Op::Matrix(op) => {
                let MatrixKind::StoreMatrix { transposed } = op.kind else {
                    return None;
                };
                // A lane has the address of a row of one of the matrices.
                let (matrix, row, column) = (lane / 8, lane % 8, index(2)?);
                let place = (row, column as usize);
                let value = stored_element(self.frame, *op.sources.get(matrix)?, transposed, place);
                Some((offset + 2 * column, 2, value))
            }
            _ => None,
        }
    }

    #[cold]
    fn finding(&self, rule: Rule, severity: Severity) -> Finding {
        let (space, _) = address(self.seen, self.current.lane);
        let same_thread = self.is_same_warp() && self.hazard.lane == self.current.lane;
        let whose = if same_thread {
            "of the same thread"
        } else if self.is_same_warp() {
            "of another lane of the same warp"
        } else if self.current.now.shares_block(&self.hazard.earlier) {
            "of another warp of the block"
        } else {
            "of another block"
        };
        let message = match (rule, self.hazard.earlier.writes()) {
            (Rule::AsyncCopy, true) => {
                let done = if self.current.writes {
                    "written"
                } else {
                    "read"
                };
                format!("{space} memory is {done} while an asynchronous copy {whose} writes it")
            }
            (Rule::AsyncCopy, false) => {
                format!("{space} memory is written while an asynchronous copy {whose} reads it")
            }
            (Rule::ReadAfterWrite, _) => {
                format!("{space} memory is read after a write {whose}, and nothing orders the two")
            }
            (Rule::WriteAfterRead, _) => {
                format!(
                    "{space} memory is written after a read {whose}, and nothing orders the two"
                )
            }
            _ if severity == Severity::Information && !self.hazard.heard => format!(
                "{space} memory is written after a write {whose} of the same value, and nothing orders the two"
            ),
            _ => format!(
                "{space} memory is written after a write {whose}, and nothing orders the two"
            ),
        };
        let message = match severity {
            _ if self.hazard.heard => {
                message
                    + " but an exchange of the warp after an acquire: a race by the letter of PTX, and no error"
            }
            _ if self.is_volatile() => message + ": `volatile` does not",
            Severity::Information if rule != Rule::WriteAfterWrite => {
                message + "; the value read has no effect"
            }
            _ => message,
        };
        let (here, there) = (self.here(space), self.there(space));
        Finding {
            rule,
            severity,
            message,
            hint: Some(self.hint(rule, severity, &there.place, &here.place)),
            site: here,
            others: vec![there],
            count: 1,
            seed: None,
            step: 0,
        }
    }

    fn here(&self, space: Space) -> Site {
        let (context, seen, pc) = (self.context, self.seen, self.current.now.pc);
        let (start, size) = element(context, pc, self.hazard.at);
        let old = self.memory.peek(seen.region, start, size);
        let (access, value, what) =
            match (seen.access, self.written(self.current.lane, self.hazard.at)) {
                (Access::Write, Some((_, _, value))) => {
                    let what = format!("write of {value:#x} over {old:#x}, {size} bytes");
                    (Access::Write, Some(value), what)
                }
                (Access::Write, None) => (
                    Access::Write,
                    None,
                    format!("write of {size} bytes over {old:#x}"),
                ),
                (access, _) => (
                    access,
                    Some(old),
                    format!("{access} of {old:#x}, {size} bytes"),
                ),
            };
        let target = Target {
            access,
            space,
            address: address_of(seen, start),
            size,
            value,
        };
        context.site(context.actor(pc, self.current.lane), what, Some(target))
    }

    /// The earlier access. Memory still holds what it wrote or read.
    fn there(&self, space: Space) -> Site {
        let (context, earlier) = (self.context, self.hazard.earlier);
        let pc = earlier.pc();
        let (start, size) = element(context, pc, self.hazard.at);
        let value = match self
            .same_step()
            .and_then(|lane| self.written(lane, self.hazard.at))
        {
            Some((_, _, value)) => value,
            None => self.memory.peek(self.seen.region, start, size),
        };
        let access = match context.program.code[pc as usize].op {
            Op::Atomic(_) => Access::Atomic,
            _ if earlier.writes() => Access::Write,
            _ => Access::Read,
        };
        let target = Target {
            access,
            space,
            address: address_of(self.seen, start),
            size,
            value: Some(value),
        };
        let warps = context.config.block.iter().product::<u32>().div_ceil(32);
        let actor = Actor {
            pc,
            block: u64::from(earlier.warp / warps),
            thread: 32 * (earlier.warp % warps) + self.hazard.lane as u32,
            epoch: context.slot().epoch,
        };
        let copy = matches!(context.program.code[pc as usize].op, Op::CopyAsync(_));
        let what = if copy {
            format!("earlier asynchronous copy, {access} of {size} bytes")
        } else {
            format!("earlier {access} of {value:#x}, {size} bytes")
        };
        context.site(actor, what, Some(target))
    }
}

/// The element of an instruction's access that contains a byte: offset and size.
fn element(context: &Context<'_>, pc: u32, at: u64) -> (u64, u32) {
    let size = match &context.program.code[pc as usize].op {
        Op::Load(Transfer { size, .. }) | Op::Store(Transfer { size, .. }) => u32::from(*size),
        Op::Atomic(atomic) => {
            let AtomicOp { size, .. } = **atomic;
            u32::from(size)
        }
        _ => 4,
    };
    (at - at % u64::from(size), size)
}

/// The address of an offset in the region of an access.
fn address_of(seen: &Seen<'_>, offset: u64) -> u64 {
    let (_, first) = address(seen, 0);
    first - seen.offsets[0] + offset
}

fn cut(value: u64, size: u32) -> u64 {
    value & (u64::MAX >> (64 - 8 * size))
}
