//! Memory that another thread order leaves with different contents, and who wrote it.
//!
//! Float sums depend on the order of the additions in their last bits: that is a note. So is a
//! store by the first or last thread to arrive, if an atomic only decides which thread that is.
//! Anything else is a warning.

use super::finding::{Finding, Rule, Severity, Site, Target};
use super::floats::{self, Float};
use super::{Actor, Context, Ledger, results};
use crate::decode::Program;
use crate::decode::op::{Op, Order};
use crate::exec::{self, Frame, Memory, Observer, Region, Request, Seen, Turn};
use crate::fault::{Access, Space};
use crate::memory::Image;
use std::collections::{HashMap, HashSet};

/// Maximum number of words whose writers are searched for.
const MOST: usize = 1 << 20;
/// How far apart two roundings of one value may be, in units in the last place.
const ULPS: u64 = 1 << 12;
const HALF_ULPS: u64 = 8;

/// Reports the words of global memory that differ between a request's order and the emulator's own:
/// both launches are repeated to find their last writers.
pub(super) fn report(request: &Request<'_>, before: &Image, after: &Image, ledger: &mut Ledger) {
    let heap = request.table.heap_base();
    let now = request.table.image();
    let words: Vec<u64> = now.differences(after, heap).take(MOST).collect();
    if words.is_empty() {
        return;
    }
    let floats = floats::writes(request.program);
    let own = Request {
        seed: None,
        ..request.clone()
    };
    let [here, there] = [request.clone(), own].map(|request| {
        request.table.restore(before);
        let mut witness = Witness::new(&request, &words, &floats);
        exec::watch(request.clone(), &mut [&mut witness]);
        let values = words.iter().map(|word| {
            let last = witness.words[word].as_ref();
            value(&request, last.map_or(*word, |last| last.element.0))
        });
        let values: Vec<u64> = values.collect();
        (witness, values)
    });
    let elected = elected(request.program, request.kernel.function);
    let why = |at: usize| {
        let [a, b] = [&here, &there].map(|(witness, values)| {
            let last = witness.words[&words[at]].as_ref()?;
            Some((last, values[at]))
        });
        match a.zip(b) {
            Some((a, b)) if rounded(a, b) => Why::Rounding,
            Some(((a, _), (b, _))) => {
                let same = a.actor.pc == b.actor.pc && elected.contains(&a.actor.pc);
                match same && a.alone && b.alone {
                    true => Why::Election,
                    false => Why::Order,
                }
            }
            None => Why::Order,
        }
    };
    let mut told = HashSet::new();
    for (at, &word) in words.iter().enumerate() {
        let why = why(at);
        if !told.insert(why) {
            continue;
        }
        let [here, there] = [&here, &there].map(|(witness, values)| witness.site(word, values[at]));
        ledger.steps = here.2;
        let key = (Rule::OrderDependent, there.1, here.1);
        ledger.report_worst(key, why.severity(), || finding(word, why, here.0, there.0));
    }
}

/// Why a word differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Why {
    Rounding,
    /// The first, or the last, thread to arrive writes.
    Election,
    Order,
}

impl Why {
    fn severity(self) -> Severity {
        match self {
            // Some programs intend this; other mistakes in this order are separate findings.
            Why::Order => Severity::Warning,
            Why::Rounding | Why::Election => Severity::Information,
        }
    }
}

/// The plain stores that an atomic may decide who executes, but whose address and value do not
/// depend on its result.
fn elected(program: &Program, kernel: u32) -> HashSet<u32> {
    let all = results::of(program, kernel);
    let chosen = all.iter().flat_map(|results| {
        let choices = results.code().filter(|(_, inst)| {
            let decides = matches!(inst.op, Op::Branch { .. } | Op::Return | Op::Exit);
            decides && results.decide(inst)
        });
        let first = choices.map(|(pc, _)| pc).min();
        results.code().filter(move |(pc, inst)| {
            let plain = matches!(&inst.op, Op::Store(t) if t.order == Order::Weak);
            let after = first.is_some_and(|first| *pc > first);
            plain && (after || results.decide(inst)) && !results.reach(&inst.op)
        })
    });
    chosen.map(|(pc, _)| pc).collect()
}

fn finding(address: u64, why: Why, here: Site, there: Site) -> Finding {
    let (message, hint) = match why {
        Why::Order => (
            format!(
                "the result depends on the order of the threads: what lies at {address:#x} in global memory comes out differently"
            ),
            "a barrier or an atomic is missing, or the order of atomic operations shows in the result (slots handed out by a counter); the seed replays this order",
        ),
        Why::Election => (
            format!(
                "the result depends on who comes first or last: what lies at {address:#x} in global memory is written by the thread that an atomic chooses"
            ),
            "the store is the same in every order, but its thread is another one; the seed replays this order",
        ),
        Why::Rounding => (
            format!(
                "the rounding of a sum depends on the order of the threads: what lies at {address:#x} in global memory differs in its last bits"
            ),
            "floats are added in the order in which threads come; for the same bits in every run, let one thread add, or add in a fixed order or as integers",
        ),
    };
    Finding {
        rule: Rule::OrderDependent,
        severity: why.severity(),
        message,
        site: here,
        others: vec![there],
        hint: Some(hint.to_owned()),
        count: 1,
        seed: None,
        step: 0,
    }
}

/// The eight bytes at an address, or fewer at the end of the allocation.
fn value(request: &Request<'_>, address: u64) -> u64 {
    let mut bytes = [0; 8];
    for size in [8, 4, 2, 1] {
        if request.table.read(address, &mut bytes[..size]).is_ok() {
            break;
        }
    }
    u64::from_le_bytes(bytes)
}

/// The last write to a word.
#[derive(Clone)]
struct Last {
    actor: Actor,
    /// It is the only one.
    alone: bool,
    /// Steps up to it.
    steps: u64,
    /// Where its element begins, or the word if that has several, and the bytes of one.
    element: (u64, u32),
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// An atomic added floats: how many since the last write of another kind, and the sum of their
    /// magnitudes.
    Sum {
        ty: Float,
        adds: f64,
        sizes: f64,
    },
    /// A result of float arithmetic.
    Float,
    Other,
}

/// Whether two values may be roundings of the same exact value.
fn rounded((a, x): (&Last, u64), (b, y): (&Last, u64)) -> bool {
    if a.element != b.element || matches!(a.what, What::Other) || matches!(b.what, What::Other) {
        return false;
    }
    let sums = [a.what, b.what].map(|what| match what {
        What::Sum { ty, adds, sizes } => Some((ty, adds, sizes)),
        _ => None,
    });
    let (_, size) = a.element;
    let parts = if size == 2 { 2 } else { 1 };
    if let [Some((ty, adds, sizes)), Some((_, more, others))] = sums {
        let each = ty.roundoff() * sizes.max(others) + ty.smallest();
        let parts = size.max(4) / ty.bytes();
        return (0..parts).all(|part| {
            let [x, y] = [x, y].map(|bits| ty.value(bits >> (8 * ty.bytes() * part % 64)));
            x.is_finite() && y.is_finite() && (x - y).abs() <= 2.0 * adds.max(more) * each
        });
    }
    let (bits, ulps) = match size {
        8 => (64, ULPS),
        4 => (32, ULPS),
        2 => (16, HALF_ULPS),
        _ => return false,
    };
    let is_normal = match size {
        8 => f64::from_bits(x).is_normal(),
        4 => f32::from_bits(x as u32).is_normal(),
        _ => true,
    };
    is_normal
        && (0..parts).all(|part| {
            let [x, y] = [x, y].map(|value| value >> (bits * part) & (u64::MAX >> (64 - bits)));
            close(x, y, bits - 1, ulps)
        })
}

/// Whether two floats of one sign are a few units in the last place apart.
fn close(x: u64, y: u64, sign: u32, ulps: u64) -> bool {
    (x ^ y) >> sign & 1 == 0 && x.abs_diff(y) <= ulps
}

/// Records the last writers of some words of global memory.
struct Witness<'a> {
    context: Context<'a>,
    floats: &'a HashSet<u32>,
    words: HashMap<u64, Option<Last>>,
    /// Steps that have begun.
    steps: u64,
}

impl<'a> Witness<'a> {
    fn new(request: &Request<'a>, words: &[u64], floats: &'a HashSet<u32>) -> Self {
        Self {
            context: Context::new(request),
            floats,
            words: words.iter().map(|&word| (word, None)).collect(),
            steps: 0,
        }
    }

    /// The last write to a word as a site, its instruction and its steps.
    fn site(&self, word: u64, value: u64) -> (Site, u32, u64) {
        let last = self.words.get(&word).and_then(Option::as_ref);
        let begin = last.map_or(word, |last| last.element.0);
        let value = value >> (8 * word.saturating_sub(begin)) & 0xffff_ffff;
        let what = match last {
            Some(_) => format!("last write, which leaves {value:#x}"),
            None => format!("nobody writes it, which leaves {value:#x}"),
        };
        let start = self.context.program.functions.first();
        let nobody = Actor {
            pc: start.and_then(|function| function.start).unwrap_or(0),
            block: 0,
            thread: 0,
            epoch: 0,
        };
        let (actor, steps) = last.map_or((nobody, 0), |last| (last.actor, last.steps));
        let target = Target {
            access: Access::Write,
            space: Space::Global,
            address: word,
            size: 4,
            value: Some(value),
        };
        (
            self.context.site(actor, what, Some(target)),
            actor.pc,
            steps,
        )
    }

    /// A lane writes bytes that begin at an address.
    fn write(
        &mut self,
        (pc, lane): (u32, usize),
        start: u64,
        size: u32,
        frame: &Frame<'_>,
        old: impl Fn(u64, u32) -> u64,
    ) {
        let op = &self.context.program.code[pc as usize].op;
        let element = match op {
            Op::Store(t) => t.size.into(),
            Op::Atomic(atomic) => atomic.size.into(),
            _ => size,
        };
        let first = start & !3;
        for word in (first..start + u64::from(size)).step_by(4) {
            let Some(last) = self.words.get_mut(&word) else {
                continue;
            };
            let at = word.max(start);
            let begin = at - (at - start) % u64::from(element);
            let added = match op {
                Op::Atomic(atomic) => Float::added(atomic.kind).map(|ty| (ty, atomic)),
                _ => None,
            };
            let what = match added {
                Some((ty, atomic)) => {
                    let bits = frame.get(atomic.b, lane);
                    let parts = element / ty.bytes();
                    let size = |bits: u64| {
                        let parts = (0..parts).map(|part| ty.value(bits >> (16 * part)).abs());
                        parts.fold(0.0, f64::max)
                    };
                    let (adds, sizes) = match last {
                        Some(Last {
                            what: What::Sum { adds, sizes, .. },
                            ..
                        }) => (*adds, *sizes),
                        _ => (0.0, size(old(begin, element))),
                    };
                    What::Sum {
                        ty,
                        adds: adds + 1.0,
                        sizes: sizes + size(bits),
                    }
                }
                _ if self.floats.contains(&pc) => What::Float,
                _ => What::Other,
            };
            let alone = last.is_none();
            *last = Some(Last {
                alone,
                actor: self.context.actor(pc, lane),
                steps: self.steps,
                element: (if element < 4 { word } else { begin }, element),
                what,
            });
        }
    }
}

impl Observer for Witness<'_> {
    fn as_dyn(&mut self) -> &mut dyn Observer {
        self
    }

    fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        self.context.block(slot, number, index);
    }

    fn turn(&mut self, turn: &Turn) {
        self.context.turn = *turn;
    }

    fn step(&mut self, _: &Program, _: u32, _: u32, _: u32, _: &Frame<'_>) {
        self.steps += 1;
    }

    fn skip(&mut self, _: u32, _: u32, _: &Frame<'_>) {
        self.steps += 1;
    }

    fn waits(&mut self, _: u32, _: u32) {
        self.steps += 1;
    }

    fn access(&mut self, pc: u32, seen: &Seen<'_>, frame: &Frame<'_>, memory: &Memory<'_>) {
        let Region::Global(allocation) = seen.region else {
            return;
        };
        if seen.access == Access::Read {
            return;
        }
        for lane in exec::lanes(seen.lanes) {
            let start = allocation.base + seen.offsets[lane];
            let old =
                |address: u64, size| memory.peek(seen.region, address - allocation.base, size);
            self.write((pc, lane), start, seen.size, frame, old);
        }
    }
}
