//! Polling reads: reads in a loop that reads one location repeatedly and exits by its value.
//!
//! By PTX's rules a `volatile` access is strong and never races with another strong one. Programs
//! use it for flags, where that is intended, and for data, where nothing orders it. A flag is
//! recognised by the loop that polls it.

use crate::decode::op::{Address, Inst, Op, Order, TRUE, Transfer};
use crate::decode::{Cell, Program};
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// Longer loops do more than wait.
const LONGEST: u32 = 1 << 10;

/// The strong reads that poll.
pub(super) fn polls(program: &Program, kernel: u32) -> HashSet<u32> {
    let mut polls = HashSet::new();
    let branches = program.reachable_code(kernel);
    let loops = branches.filter_map(|(pc, inst)| match inst.op {
        Op::Branch { target } if target <= pc && pc - target < LONGEST => Some(target..=pc),
        _ => None,
    });
    for body in loops {
        let code = &program.code[*body.start() as usize..=*body.end() as usize];
        let reads = (*body.start()..).zip(code);
        let mut reads = reads
            .filter_map(|(pc, inst)| Some((pc, strong_read(inst)?)))
            .peekable();
        if reads.peek().is_none() {
            continue;
        }
        let waits = Loop::new(code, body.clone());
        let waiting = reads.filter(|(_, (address, results))| {
            waits.is_constant((*address).into()) && waits.ends_by(results)
        });
        polls.extend(waiting.map(|(pc, _)| pc));
    }
    polls
}

/// The address of a strong read, and the destination of its value.
fn strong_read(inst: &Inst) -> Option<(Address, Vec<Cell>)> {
    let address = match &inst.op {
        Op::Load(t) if t.order != Order::Weak => t.address,
        Op::Atomic(atomic) => atomic.address,
        _ => return None,
    };
    let mut results = Vec::new();
    inst.op.writes(|cell| results.push(cell));
    Some((address, results))
}

/// The instructions of a loop, from the target of a backward branch to the branch.
struct Loop<'a> {
    code: &'a [Inst],
    body: RangeInclusive<u32>,
    /// Number of instructions in it that write each register.
    writers: HashMap<Cell, u32>,
    /// Registers that every iteration writes with the same value.
    repeated: HashSet<Cell>,
}

impl<'a> Loop<'a> {
    fn new(code: &'a [Inst], body: RangeInclusive<u32>) -> Self {
        let mut writers = HashMap::new();
        for inst in code {
            inst.op
                .writes(|cell| *writers.entry(cell).or_default() += 1);
        }
        let mut this = Self {
            code,
            body,
            writers,
            repeated: HashSet::new(),
        };
        loop {
            let before = this.repeated.len();
            for inst in code {
                if this.repeats(inst) {
                    inst.op.writes(|cell| {
                        if this.writers[&cell] == 1 {
                            this.repeated.insert(cell);
                        }
                    });
                }
            }
            if this.repeated.len() == before {
                return this;
            }
        }
    }

    /// Whether a register is loop-invariant, as far as known.
    fn is_constant(&self, cell: Cell) -> bool {
        !self.writers.contains_key(&cell) || self.repeated.contains(&cell)
    }

    /// Whether an instruction does the same in every iteration.
    fn repeats(&self, inst: &Inst) -> bool {
        let mut same = inst.guard == TRUE;
        inst.op.reads(|cell| same &= self.is_constant(cell));
        same && match &inst.op {
            Op::Load(t) => t.order == Order::Weak && !self.stores_to(t),
            Op::Atomic(_) | Op::Clock { .. } | Op::Call(_) => false,
            Op::Texture(_) | Op::Surface(_) => false,
            Op::Warp(_) | Op::Matrix(_) | Op::Barrier(_) | Op::Mbarrier(_) => false,
            _ => true,
        }
    }

    /// Whether the loop stores to the location that it reads. A store through another register is
    /// assumed to be elsewhere: only unoptimised code keeps addresses in memory.
    fn stores_to(&self, load: &Transfer) -> bool {
        let meets = |store: &Transfer| {
            let [a, b] = [load, store].map(|t| {
                let start = i64::from(t.address.offset);
                start..start + i64::from(t.bytes())
            });
            Cell::from(store.address) == load.address.into() && a.start < b.end && b.start < a.end
        };
        let mut code = self.code.iter();
        code.any(|inst| matches!(&inst.op, Op::Store(store) if meets(store)))
    }

    /// Whether the loop's exit depends on these registers.
    fn ends_by(&self, results: &[Cell]) -> bool {
        let mut tainted: HashSet<Cell> = results.iter().copied().collect();
        let mut memory = false;
        loop {
            let before = (tainted.len(), memory);
            for inst in self.code {
                let mut reads = tainted.contains(&inst.guard.into());
                inst.op.reads(|cell| reads |= tainted.contains(&cell));
                match &inst.op {
                    Op::Store(t) if t.order == Order::Weak => memory |= reads,
                    Op::Load(t) if t.order == Order::Weak => reads |= memory,
                    _ => {}
                }
                if reads {
                    inst.op.writes(|cell| {
                        tainted.insert(cell);
                    });
                }
            }
            if before == (tainted.len(), memory) {
                break;
            }
        }
        let (start, end) = (*self.body.start(), *self.body.end());
        (start..).zip(self.code).any(|(pc, inst)| {
            let leaves = match &inst.op {
                Op::Branch { target } => pc == end || !(start..=end).contains(target),
                Op::Return | Op::Exit => true,
                _ => false,
            };
            leaves && inst.guard != TRUE && tainted.contains(&inst.guard.into())
        })
    }
}
