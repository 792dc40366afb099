//! Loop tracking: the backward branches that warps take, for reports and for
//! [proofs](super::deadlock).

use super::split::Split;
use crate::decode::Program;
use crate::decode::op::Op;
use crate::fault::Loop;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Number of loops distinguished per warp; further ones are merged.
const MOST: usize = 8;

/// The loops that a warp has been in, in the current counting period and in the one before.
#[derive(Clone, Default)]
pub(super) struct Loops {
    earlier: Vec<Rounds>,
    now: Vec<Rounds>,
}

/// Backward branches within one range of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rounds {
    pub(super) body: RangeInclusive<u32>,
    /// Depth of the active calls around it.
    pub(super) depth: usize,
    pub(super) count: u64,
}

impl Loops {
    /// Starts a new counting period.
    pub(super) fn turn_over(&mut self) {
        for rounds in &mut self.now {
            let before = self.earlier.iter().filter(|known| known.meets(rounds));
            rounds.count += before.map(|known| known.count).sum::<u64>();
        }
        self.earlier = std::mem::take(&mut self.now);
    }

    pub(super) fn add(&mut self, rounds: Rounds) {
        add(&mut self.now, rounds);
    }

    /// The loops since the last [`turn_over`](Self::turn_over).
    pub(super) fn recent(&self) -> &[Rounds] {
        &self.now
    }

    /// The outermost loop with the most iterations, in both periods.
    pub(super) fn main(&self) -> Option<Rounds> {
        let mut all = self.earlier.clone();
        self.now
            .iter()
            .for_each(|rounds| add(&mut all, rounds.clone()));
        all.into_iter()
            .min_by_key(|rounds| (rounds.depth, std::cmp::Reverse(rounds.count)))
    }
}

/// Adds to a loop that shares code with this one, or as a new one.
fn add(all: &mut Vec<Rounds>, mut new: Rounds) {
    while let Some(at) = all.iter().position(|known| known.meets(&new)) {
        new = new.joined(all.swap_remove(at));
    }
    if all.len() == MOST {
        new = new.joined(all.swap_remove(MOST - 1));
    }
    all.push(new);
}

impl Rounds {
    fn meets(&self, other: &Self) -> bool {
        let (a, b) = (&self.body, &other.body);
        self.depth == other.depth && a.start() <= b.end() && b.start() <= a.end()
    }

    fn joined(self, other: Self) -> Self {
        let (a, b) = (&self.body, &other.body);
        Self {
            body: *a.start().min(b.start())..=*a.end().max(b.end()),
            depth: self.depth.min(other.depth),
            count: self.count + other.count,
        }
    }

    /// Whether some lanes are in the loop.
    pub(super) fn holds(&self, split: &Split) -> bool {
        split.stack.len() == self.depth && self.body.contains(&split.pc)
    }

    /// The loop as reports describe it.
    pub(super) fn describe(&self, program: &Program) -> Loop {
        let cycle = cycle(program, &self.body);
        let mut files: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
        let (mut first, mut last) = (u32::MAX, 0);
        let mut branches = 0;
        for &pc in &cycle {
            let place = program.place(pc);
            (first, last) = (first.min(place.ptx_line), last.max(place.ptx_line));
            branches += u32::from(targets(program, pc).any(|target| target <= pc));
            if let Some(source) = place.source.filter(|source| source.line > 0) {
                let known = files.entry(source.file).or_insert((0, u32::MAX, 0));
                *known = (
                    known.0 + 1,
                    known.1.min(source.line),
                    known.2.max(source.line),
                );
            }
        }
        let file = files.into_iter().max_by_key(|(_, (count, ..))| *count);
        Loop {
            source: file.map(|(file, (_, first, last))| (file, first, last)),
            ptx_lines: (first, last),
            head: program.place(*self.body.start()),
            rounds: self.count,
            nested: branches > 1,
        }
    }
}

/// The possible branch targets of an instruction.
fn targets(program: &Program, pc: u32) -> impl Iterator<Item = u32> {
    let targets = match &program.code[pc as usize].op {
        Op::Branch { target } => std::slice::from_ref(target),
        Op::BranchIndex { targets, .. } => targets,
        _ => &[],
    };
    targets.iter().copied()
}

/// The instructions in a range of code that are on a path from its first instruction back to it;
/// all of them if there is none.
fn cycle(program: &Program, body: &RangeInclusive<u32>) -> Vec<u32> {
    let next = |pc: u32| {
        let inst = &program.code[pc as usize];
        let ends = matches!(
            inst.op,
            Op::Branch { .. } | Op::BranchIndex { .. } | Op::Return | Op::Exit | Op::Trap
        );
        let falls = !ends || inst.guard != crate::decode::op::TRUE;
        let through = falls.then_some(pc + 1);
        targets(program, pc)
            .chain(through)
            .filter(|to| body.contains(to))
    };
    let head = *body.start();
    let ahead = reached(head, body, |pc| next(pc).collect());
    let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for &pc in &ahead {
        next(pc).for_each(|to| before.entry(to).or_default().push(pc));
    }
    if !before.contains_key(&head) {
        return body.clone().collect();
    }
    reached(head, body, |pc| {
        before.get(&pc).cloned().unwrap_or_default()
    })
}

/// The instructions reachable from `start` by `next`, in order.
fn reached(start: u32, body: &RangeInclusive<u32>, next: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let mut seen = vec![false; (body.end() - body.start() + 1) as usize];
    let at = |pc: u32| (pc - body.start()) as usize;
    let mut pending = vec![start];
    while let Some(pc) = pending.pop() {
        if !std::mem::replace(&mut seen[at(pc)], true) {
            pending.extend(next(pc));
        }
    }
    body.clone().filter(|&pc| seen[at(pc)]).collect()
}
