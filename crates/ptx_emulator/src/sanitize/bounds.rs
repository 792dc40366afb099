//! memcheck within shared memory and within a function's local memory. To the interpreter each is
//! one range; only this detector knows the gaps between variables.

use super::context::address;
use super::finding::{Finding, Rule, Severity, Target};
use super::{Context, Ledger, Variables};
use crate::exec::{Region, Request, Row64, Seen, lanes};
use crate::fault::Space;
use std::ops::Range;

/// The variables' ranges, and the one that each instruction accessed last.
pub(crate) struct Bounds {
    shared: Vec<Range<u64>>,
    /// There are gaps between or after variables.
    has_gaps: bool,
    recent: Vec<u32>,
}

impl Bounds {
    pub(crate) fn new(request: &Request<'_>, variables: &Variables<'_>) -> Self {
        let shared = variables.shared();
        Self {
            recent: vec![0; request.program.code.len()],
            has_gaps: match shared.as_slice() {
                [] => false,
                [only] => *only != (0..request.shared_bytes),
                _ => true,
            },
            shared,
        }
    }

    /// The gaps of shared memory.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Range<u64>> {
        let pairs = self.shared.windows(2);
        pairs.map(|pair| pair[0].end..pair[1].start.max(pair[0].end))
    }

    /// Checks an access that the interpreter found inside its region; returns the lanes outside
    /// every variable.
    #[inline(always)]
    pub(crate) fn access(
        &mut self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        pc: u32,
        seen: &Seen<'_>,
    ) -> u32 {
        let outside = match seen.region {
            // The interpreter detects accesses outside a single variable.
            Region::Shared if self.has_gaps => {
                let recent = &self.shared[self.recent[pc as usize] as usize];
                if all_inside(recent, seen.offsets, seen.size) {
                    return 0;
                }
                self.search(pc, seen)
            }
            Region::Local => local(context, seen),
            _ => 0,
        };
        if outside != 0 {
            report(context, ledger, pc, seen, outside);
        }
        outside
    }

    /// The lanes outside every variable.
    #[inline(never)]
    fn search(&mut self, pc: u32, seen: &Seen<'_>) -> u32 {
        let mut outside = 0;
        for lane in lanes(seen.lanes) {
            let (start, end) = (
                seen.offsets[lane],
                seen.offsets[lane] + u64::from(seen.size),
            );
            // Dynamic arrays may overlap: one variable that holds the access is enough.
            let holds = |place: &Range<u64>| place.start <= start && end <= place.end;
            match self.shared.iter().position(holds) {
                Some(at) => self.recent[pc as usize] = at as u32,
                None => outside |= 1 << lane,
            }
        }
        outside
    }
}

/// Whether the accesses of all lanes are inside one variable. Inactive lanes have the offsets of
/// active ones.
#[inline(always)]
fn all_inside(place: &Range<u64>, offsets: &Row64, size: u32) -> bool {
    let Some(last) = (place.end - place.start).checked_sub(size.into()) else {
        return false;
    };
    let mut outside = 0;
    for &offset in offsets {
        let within = offset.wrapping_sub(place.start);
        outside |= within | last.wrapping_sub(within);
    }
    // Offsets are small: the highest bit is set only before the start or after the end.
    outside >> 63 == 0
}

/// The lanes that touch a gap beside an array of the running function, or of a caller, whose arrays
/// it may have been given.
fn local(context: &Context<'_>, seen: &Seen<'_>) -> u32 {
    if !context.frames.matter() {
        return 0;
    }
    let touches = |&lane: &usize| {
        let offset = seen.offsets[lane];
        let base = context.frames.holding(&context.turn, lane, offset);
        context.is_outside(base, Space::Local, offset, seen.size)
    };
    let touching = lanes(seen.lanes).filter(touches);
    touching.fold(0, |lanes, lane| lanes | 1 << lane)
}

#[cold]
fn report(context: &Context<'_>, ledger: &mut Ledger, pc: u32, seen: &Seen<'_>, outside: u32) {
    for lane in lanes(outside) {
        let ((space, address), access, size) = (address(seen, lane), seen.access, seen.size);
        // Reported under the same key as a fault of that instruction.
        let key = (Rule::OutOfBounds, 0, context.program.place(pc).ptx_line);
        ledger.report(key, || {
            let target = Target {
                access,
                space,
                address,
                size,
                value: None,
            };
            let base = context.frames.holding(&context.turn, lane, address);
            let message = context.outside(base, (space, access), address, size);
            let what = format!("{access} of {size} bytes");
            Finding {
                rule: Rule::OutOfBounds,
                severity: Severity::Error,
                message: message.unwrap_or_default(),
                site: context.site(context.actor(pc, lane), what, Some(target)),
                others: Vec::new(),
                hint: Some(super::fault::bounds_hint(space, address, size, None, &[])),
                count: 1,
                seed: None,
                step: 0,
            }
        });
    }
}
