//! Outputs of which a launch leaves elements unwritten: a grid that is too small, a guard that is
//! too strict.
//!
//! An output is memory that a parameter points to, that was not written before the launch, and that
//! the launch writes and never reads. Memory that the host has written is not an output: there,
//! leaving elements alone is meaningful. Nor is memory beyond a length that a parameter states: all
//! elements up to the length that follows the address are written, and none after it.

use crate::decode::op::Op;
use crate::exec::{Region, Request, Seen};
use crate::fault::{Access, Space};
use crate::memory::Defined;
use crate::sanitize::finding::{Finding, Rule, Severity, Target};
use crate::sanitize::{Actor, Context, Ledger, parameters};
use std::collections::HashMap;
use std::ops::Range;

/// Ranges of elements that a message names; the others are counted.
const SHOWN: usize = 3;

/// The allocations that may be outputs, by their address.
pub(super) struct Outputs {
    allocations: HashMap<u64, Output>,
}

struct Output {
    size: u64,
    pointers: Vec<Pointer>,
    is_read: bool,
    last: Option<Write>,
    /// Bytes of the smallest element written.
    element: u32,
}

/// A parameter that points into the allocation.
struct Pointer {
    /// Its number among the PTX's parameters.
    index: usize,
    offset: u64,
    /// The number that follows it among the parameters: often the length.
    following: Option<u64>,
}

/// The last write to an allocation.
struct Write {
    actor: Actor,
    offset: u64,
    size: u32,
    steps: u64,
}

impl Outputs {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let kernel = request.kernel;
        let number = |index: usize| {
            let slot = kernel.slots.get(index)?;
            let bytes = request.params.get(slot.offset as usize..)?;
            bytes
                .first_chunk()
                .filter(|_| slot.size == 8)
                .map(|bytes| u64::from_le_bytes(*bytes))
        };
        let mut allocations: HashMap<u64, Output> = HashMap::new();
        for index in 0..kernel.slots.len() {
            let pointed = number(index).and_then(|address| {
                let allocation = &request.table.allocations()[request.table.find(address, 1)?];
                Some((allocation, address - allocation.base))
            });
            let Some((allocation, offset)) = pointed.filter(|(allocation, _)| {
                allocation.base != request.table.heap_base() && allocation.defined().is_empty()
            }) else {
                continue;
            };
            let output = allocations.entry(allocation.base).or_insert(Output {
                size: allocation.size,
                pointers: Vec::new(),
                is_read: false,
                last: None,
                element: u32::MAX,
            });
            if output.pointers.iter().all(|known| known.offset != offset) {
                let following = number(index + 1);
                output.pointers.push(Pointer {
                    index,
                    offset,
                    following,
                });
            }
        }
        Self { allocations }
    }

    /// An access to memory that was not wholly initialised at launch.
    pub(super) fn access(&mut self, context: &Context<'_>, steps: u64, pc: u32, seen: &Seen<'_>) {
        let Region::Global(allocation) = seen.region else {
            return;
        };
        let Some(output) = self.allocations.get_mut(&allocation.base) else {
            return;
        };
        if seen.access != Access::Write {
            output.is_read = true;
            return;
        }
        let element = match &context.program.code[pc as usize].op {
            Op::Store(transfer) => u32::from(transfer.size),
            _ => seen.size,
        };
        let lane = 31 - (seen.lanes | 1).leading_zeros() as usize;
        output.element = output.element.min(element);
        output.last = Some(Write {
            actor: context.actor(pc, lane),
            offset: seen.offsets[lane],
            size: seen.size,
            steps,
        });
    }

    /// Reports what the launch has left unwritten; `written` says what is initialised.
    pub(super) fn report(
        &self,
        context: &Context<'_>,
        ledger: &mut Ledger,
        written: &HashMap<u64, Defined>,
    ) {
        let mut outputs: Vec<_> = self.allocations.iter().collect();
        outputs.sort_unstable_by_key(|(base, _)| **base);
        for (base, output) in outputs {
            let (Some(last), Some(defined)) = (&output.last, written.get(base)) else {
                continue;
            };
            if output.is_read {
                continue;
            }
            for pointer in &output.pointers {
                let later = output.pointers.iter().map(|other| other.offset);
                let end = later.filter(|&offset| offset > pointer.offset).min();
                let bytes = pointer.offset..end.unwrap_or(output.size);
                let Some(left) = Left::of(defined, bytes, output.element, pointer.following) else {
                    continue;
                };
                ledger.steps = last.steps;
                let key = (Rule::UnwrittenOutput, pointer.index as u32, 0);
                ledger.report_once(key, || finding(context, *base, pointer, last, &left));
            }
        }
    }
}

/// What is unwritten of an output, in elements.
#[derive(Default)]
struct Left {
    total: u64,
    unwritten: u64,
    /// The first ranges, and the number of all.
    ranges: Vec<Range<u64>>,
    count: usize,
}

impl Left {
    /// `None` if all of it is written, nothing, or all within the length that a parameter states.
    fn of(defined: &Defined, bytes: Range<u64>, element: u32, stated: Option<u64>) -> Option<Self> {
        let size = u64::from(element.max(1));
        let total = (bytes.end - bytes.start) / size;
        let mut left = Self {
            total,
            ..Self::default()
        };
        let start = bytes.start;
        let mut open = 0..0;
        for gap in defined.gaps(bytes) {
            let first = (gap.start - start) / size;
            let end = (gap.end - start).div_ceil(size).min(total);
            if first > open.end {
                left.add(std::mem::replace(&mut open, first..end));
            } else {
                open.end = end;
            }
        }
        left.add(open);
        let first = left.ranges.first()?;
        let is_rest = left.count == 1 && first.end == total && stated == Some(first.start);
        (left.unwritten < total && !is_rest).then_some(left)
    }

    fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.unwritten += range.end - range.start;
        self.count += 1;
        if self.count <= SHOWN {
            self.ranges.push(range);
        }
    }

    /// "48 to 49, 98 to 99, 148 to 149 and 29 further ranges".
    fn text(&self) -> String {
        let ranges = self
            .ranges
            .iter()
            .map(|range| match range.end - range.start {
                1 => range.start.to_string(),
                _ => format!("{} to {}", range.start, range.end - 1),
            });
        let mut text = ranges.collect::<Vec<_>>().join(", ");
        match self.count - self.ranges.len() {
            0 => {}
            1 => text += " and 1 further range",
            more => text += &format!(" and {more} further ranges"),
        }
        text
    }
}

fn finding(
    context: &Context<'_>,
    base: u64,
    pointer: &Pointer,
    last: &Write,
    left: &Left,
) -> Finding {
    let name = name(context, pointer.index);
    let target = Target {
        access: Access::Write,
        space: Space::Global,
        address: base + last.offset,
        size: last.size,
        value: None,
    };
    let what = format!("the last write of {} bytes to it", last.size);
    let (unwritten, total) = (left.unwritten, left.total);
    Finding {
        rule: Rule::UnwrittenOutput,
        severity: Severity::Information,
        message: format!(
            "no thread wrote {unwritten} of {total} elements of {name}: {}",
            left.text()
        ),
        site: context.site(last.actor, what, Some(target)),
        others: Vec::new(),
        hint: Some(
            "the grid may be too small, or a guard too strict; if the rest is meant to stay, give the output values before the launch"
                .to_owned(),
        ),
        count: 1,
        seed: None,
        step: 0,
    }
}

/// "output `c`", or "parameter 5".
fn name(context: &Context<'_>, index: usize) -> String {
    match parameters::rust(context.program, context.kernel).get(index) {
        Some(parameter) => format!("output `{}`", parameter.name),
        None => format!("parameter {}", index + 1),
    }
}
