//! Locks: an atomic that takes one orders nothing unless an acquire follows.
//!
//! The first thread to take a lock races with no one, even without an acquire, because no thread
//! held the lock before. In another run it is the second, and then nothing orders its accesses
//! after the first one's. So unlocking does not publish what a thread did between the atomic and
//! its acquire, nor what it does whether or not the atomic succeeds.
//!
//! A location counts as a lock for a thread that changes it by a compare-and-swap, an exchange or a
//! bitwise atomic whose result it reads, and later changes it back.

use super::cover::Window;
use super::ignored;
use super::vector_clock::Shared;
use crate::decode::op::{AtomicKind, AtomicOp, Op, TRUE};
use crate::decode::{Cell, Program};
use std::collections::{HashMap, HashSet};

/// Maximum number of locks tracked per thread; beyond it, the oldest is dropped.
pub(super) const MOST_HELD: usize = 32;
/// Maximum length of straight code in a critical section that is analysed.
const LONGEST: usize = 1 << 12;

/// The atomics that take locks.
#[derive(Default)]
pub(super) struct Locks {
    /// By instruction: the stores that follow whether or not the lock was taken.
    takes: HashMap<u32, HashSet<u32>>,
    /// Atomics whose result is not read: they reveal nothing about other threads.
    blind: HashSet<u32>,
    /// Whether the kernel may take a lock and open it.
    have_any: bool,
}

/// A location that a thread has changed by such an atomic and not yet changed back.
#[derive(Clone)]
pub(super) struct Hold {
    pub(super) address: u64,
    /// The instruction.
    pub(super) pc: u32,
    changed: Change,
    /// The warp's time at that instruction.
    taken: u32,
    /// The time of the acquire that followed: for block scope, then for device scope.
    acquired: [Option<u32>; 2],
    /// Whether the thread does the same even if it does not get the lock.
    is_open: bool,
    /// What was ordered before the thread's accesses when it took the lock.
    knew: Shared,
}

/// What a write does to an element.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub(super) old: u64,
    pub(super) new: u64,
}

impl Change {
    pub(super) fn bits(self) -> u64 {
        self.old ^ self.new
    }
}

impl Locks {
    /// Without messages a lock orders nothing, and is known to the hints only. Then an atomic whose
    /// result is not read has to open it: a loop of compare-and-swaps alone is arithmetic.
    pub(super) fn of(program: &Program, kernel: u32, messages: bool) -> Self {
        let atomics = program.reachable_code(kernel);
        let atomics = atomics.filter_map(|(pc, inst)| match &inst.op {
            Op::Atomic(op) => Some((pc, op)),
            _ => None,
        });
        let (mut taking, mut blind) = (HashSet::new(), HashSet::new());
        for (pc, op) in atomics {
            if !may_take(op) {
                continue;
            }
            let is_read =
                op.d.is_some_and(|d| ignored::is_read(program, pc + 1, d.into()));
            if !is_read {
                blind.insert(pc);
            }
            if is_read || op.kind == AtomicKind::CompareAndSwap {
                taking.insert(pc);
            }
        }
        let after = |&pc: &u32| (pc, anyway(program, pc, &taking));
        if !messages {
            return Self {
                have_any: !taking.is_empty() && !blind.is_empty(),
                ..Self::default()
            };
        }
        Self {
            takes: taking.iter().map(after).collect(),
            have_any: !taking.is_empty(),
            blind,
        }
    }

    pub(super) fn takes(&self, pc: u32) -> bool {
        self.takes.contains_key(&pc)
    }

    /// Whether the atomic may take a lock, and its result is not read.
    pub(super) fn is_blind(&self, pc: u32) -> bool {
        self.blind.contains(&pc)
    }

    pub(super) fn have_any(&self) -> bool {
        self.have_any
    }

    /// Whether some store does not depend on a lock that its thread may hold.
    pub(super) fn have_open(&self) -> bool {
        self.takes.values().any(|stores| !stores.is_empty())
    }
}

impl Hold {
    pub(super) fn new(
        locks: &Locks,
        (address, pc): (u64, u32),
        (changed, taken): (Change, u32),
        knew: Shared,
    ) -> Self {
        Self {
            address,
            pc,
            changed,
            taken,
            acquired: [None; 2],
            is_open: locks.is_blind(pc),
            knew,
        }
    }

    /// Whether a write unlocks: it changes the same bits back.
    pub(super) fn is_opened_by(&self, change: Change) -> bool {
        let bits = self.changed.bits();
        change.bits() == bits && (change.new ^ self.changed.old) & bits == 0
    }

    /// The thread acquires, at a time of its warp.
    pub(super) fn acquire(&mut self, wide: bool, time: u32) {
        let [narrow, device] = &mut self.acquired;
        narrow.get_or_insert(time);
        if wide {
            device.get_or_insert(time);
        }
    }

    /// The thread is about to store.
    pub(super) fn store(&mut self, locks: &Locks, pc: u32) {
        let stores = locks.takes.get(&self.pc);
        self.is_open |= stores.is_some_and(|stores| stores.contains(&pc));
    }

    /// What is ordered before the thread's accesses whether or not it got the lock, if it goes on in
    /// both cases.
    pub(super) fn knew_anyway(&self) -> Option<&Shared> {
        self.is_open.then_some(&self.knew)
    }

    /// What the lock does not protect, for threads of the block or of the device.
    pub(super) fn unprotected(&self, wide: bool) -> Option<Window> {
        let (from, whole) = (self.taken, u32::MAX);
        let to = match self.acquired[usize::from(wide)] {
            Some(time) if !self.is_open => time,
            _ => whole,
        };
        (to > from).then_some(Window { from, to })
    }
}

fn may_take(op: &AtomicOp) -> bool {
    use AtomicKind::{And, CompareAndSwap, Exchange, Or};
    matches!(op.kind, CompareAndSwap | Exchange | Or | And)
}

/// The stores that are executed whatever an atomic finds, before any that could take the lock after
/// all.
fn anyway(program: &Program, take: u32, taking: &HashSet<u32>) -> HashSet<u32> {
    let Op::Atomic(op) = &program.code[take as usize].op else {
        return HashSet::new();
    };
    let mut tainted: HashSet<Cell> = op.d.into_iter().map(Cell::from).collect();
    let (mut stores, mut pc) = (HashSet::new(), take + 1);
    for _ in 0..LONGEST {
        let Some(inst) = program.code.get(pc as usize) else {
            break;
        };
        let depends = tainted.contains(&inst.guard.into());
        if taking.contains(&pc) || ends(&inst.op) {
            break;
        }
        if let Op::Branch { target } = inst.op {
            if inst.guard == TRUE {
                pc = target;
                continue;
            }
            if depends {
                let [one, other] =
                    [target, pc + 1].map(|pc| straight(program, pc, (taking, &tainted)));
                stores.extend(one.intersection(&other));
            }
            break;
        }
        let mut reads = depends;
        inst.op.reads(|cell| reads |= tainted.contains(&cell));
        inst.op.writes(|cell| {
            match reads {
                true => tainted.insert(cell),
                false => inst.guard == TRUE && tainted.remove(&cell),
            };
        });
        if matches!(inst.op, Op::Store(_)) && !depends {
            stores.insert(pc);
        }
        pc += 1;
    }
    stores
}

/// The stores on the way from an instruction to the next choice or to an atomic that takes a lock.
fn straight(
    program: &Program,
    mut pc: u32,
    (taking, tainted): (&HashSet<u32>, &HashSet<Cell>),
) -> HashSet<u32> {
    let mut stores = HashSet::new();
    for _ in 0..LONGEST {
        let Some(inst) = program.code.get(pc as usize) else {
            break;
        };
        if taking.contains(&pc) || ends(&inst.op) {
            break;
        }
        match inst.op {
            Op::Branch { target } if inst.guard == TRUE => {
                pc = target;
                continue;
            }
            Op::Branch { .. } => break,
            Op::Store(_) if !tainted.contains(&inst.guard.into()) => {
                stores.insert(pc);
            }
            _ => {}
        }
        pc += 1;
    }
    stores
}

fn ends(op: &Op) -> bool {
    matches!(
        op,
        Op::Return | Op::Exit | Op::Trap | Op::Call(_) | Op::BranchIndex { .. }
    )
}
