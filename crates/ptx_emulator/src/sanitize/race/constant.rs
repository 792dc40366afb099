//! Reads through the non-coherent path (`ld.global.nc`, `ldu`, `tex`) of memory that the kernel
//! writes.
//!
//! PTX requires such memory not to change during the launch: no barrier makes a write visible to
//! these reads, and the compiler may move them across writes, even those of their own thread. So a
//! read and a write of the same byte anywhere in the launch are a finding, in either order.

use super::uses::reads_constant;
use crate::exec::{Region, Seen, lanes};
use crate::fault::{Access, Space};
use crate::sanitize::language::words;
use crate::sanitize::{Actor, Context, Finding, Ledger, Rule, Severity, Target};
use std::collections::HashMap;

const PAGE_BYTES: u64 = 4096;
const WORDS: usize = PAGE_BYTES as usize / 4;

/// What was read this way, and what was written, by word of global memory.
pub(super) struct Constant {
    pages: HashMap<u64, Box<[Word; WORDS]>>,
    /// Pages that can still be created.
    room: u64,
    pub(super) is_cut: bool,
}

#[derive(Clone, Copy, Default)]
struct Word {
    read: Mark,
    written: Mark,
}

/// The last access to a word, and the bytes accessed by any.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The instruction in the low 28 bits; above them, one bit per byte accessed.
    pc: u32,
    /// The thread's number in the launch.
    thread: u32,
}

const BYTES_AT: u32 = 28;

impl Mark {
    fn bytes(self) -> u32 {
        self.pc >> BYTES_AT
    }

    fn add(&mut self, bytes: u32, pc: u32, thread: u32) {
        *self = Self {
            pc: (self.bytes() | bytes) << BYTES_AT | pc,
            thread,
        };
    }
}

impl Constant {
    pub(super) fn new(pages: u64) -> Self {
        Self {
            pages: HashMap::new(),
            room: pages,
            is_cut: false,
        }
    }

    /// An access to global memory.
    pub(super) fn access(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
    ) {
        let Region::Global(allocation) = seen.region else {
            return;
        };
        let reads = reads_constant(&context.program.code[pc as usize].op);
        if seen.access == Access::Read && !reads {
            return;
        }
        let threads = context.config.block.iter().product::<u32>();
        let first = (context.slot().number as u32).wrapping_mul(threads) + 32 * context.turn.warp;
        let mut recent: Option<(u64, &mut [Word; WORDS])> = None;
        for lane in lanes(seen.lanes) {
            let start = allocation.base + seen.offsets[lane];
            let end = start + u64::from(seen.size);
            let mut at = start;
            while at < end {
                let next = end.min(at - at % 4 + 4);
                let number = at / PAGE_BYTES;
                if recent.as_ref().is_none_or(|(known, _)| *known != number) {
                    recent =
                        page(&mut self.pages, &mut self.room, number).map(|page| (number, page));
                }
                let Some((_, page)) = &mut recent else {
                    self.is_cut = true;
                    return;
                };
                let bytes = (0xf << (at % 4)) & (0xf >> (4 - (next - at) - at % 4));
                let word = &mut page[(at % PAGE_BYTES / 4) as usize];
                let (own, other) = match reads {
                    true => (&mut word.read, word.written),
                    false => (&mut word.written, word.read),
                };
                let thread = first + lane as u32;
                own.add(bytes, pc, thread);
                if other.bytes() & bytes != 0 {
                    let hazard = Hazard {
                        at,
                        pc,
                        lane,
                        other,
                    };
                    report(context, ledger, seen, &hazard, (reads, thread));
                }
                at = next;
            }
        }
    }
}

fn page<'a>(
    pages: &'a mut HashMap<u64, Box<[Word; WORDS]>>,
    room: &mut u64,
    number: u64,
) -> Option<&'a mut [Word; WORDS]> {
    if !pages.contains_key(&number) {
        *room = room.checked_sub(1)?;
    }
    let page = pages.entry(number);
    Some(page.or_insert_with(|| Box::new([Word::default(); WORDS])))
}

struct Hazard {
    at: u64,
    pc: u32,
    lane: usize,
    other: Mark,
}

fn report(
    context: &Context<'_>,
    ledger: &mut Ledger,
    seen: &Seen<'_>,
    hazard: &Hazard,
    (reads, thread): (bool, u32),
) {
    let (here, there) = (hazard.pc, hazard.other.pc & !(u32::MAX << BYTES_AT));
    let same = hazard.other.thread == thread;
    // A thread that only reads before it writes gets the value on current hardware, as long as the
    // compiler keeps the order.
    let severity = match same && !reads {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let [read, write] = if reads { [here, there] } else { [there, here] };
    ledger.report_worst((Rule::NonCoherent, read, write), severity, || {
        let threads = context.config.block.iter().product::<u32>();
        let other = Actor {
            pc: there,
            block: u64::from(hazard.other.thread / threads),
            thread: hazard.other.thread % threads,
            epoch: 0,
        };
        let what = |reads: bool| match reads {
            true => "read through the non-coherent path",
            false => "write",
        };
        let target = |reads: bool| Target {
            access: if reads { Access::Read } else { Access::Write },
            space: Space::Global,
            address: hazard.at,
            size: seen.size.min(8),
            value: None,
        };
        let site = |actor, reads, earlier: &str| {
            let what = format!("{earlier}{}", what(reads));
            context.site(actor, what, Some(target(reads)))
        };
        let whose = if same { "its own thread" } else { "another thread" };
        let place = context.program.place(read);
        Finding {
            rule: Rule::NonCoherent,
            severity,
            message: match reads {
                true => format!("global memory is read through the non-coherent path after a write of {whose} in the same launch: the value may be an old one"),
                false => format!("global memory that {whose} has read through the non-coherent path is written in the same launch: the read may get either value"),
            },
            hint: Some(format!(
                "memory that is read this way must stay as it is for the whole launch, and no barrier helps: {}",
                words(&place).coherent_read
            )),
            site: site(context.actor(here, hazard.lane), reads, ""),
            others: vec![site(other, !reads, "earlier ")],
            count: 1,
            seed: None,
            step: 0,
        }
    });
}
