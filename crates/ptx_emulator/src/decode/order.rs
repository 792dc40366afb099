//! The order of a function's basic blocks.
//!
//! A diverged warp runs its lanes at the lowest instruction first, so that lanes reconverge as
//! early as possible. That requires each block to follow all its predecessors, with loops
//! contiguous. Compilers emit this order, except that LLVM sometimes puts a loop's last block
//! before its body; such functions are sorted here.

use super::class::Kind;
use super::op::{Inst, Op, TRUE};
use crate::positions::Position;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashSet};

/// Functions with more blocks, or deeper nesting, are left unsorted: no compiler emits them, and
/// sorting takes time.
const MOST_BLOCKS: usize = 1 << 12;
const DEEPEST: usize = 32;

/// A function's code as three parallel lists.
pub(super) struct Code<'a> {
    pub(super) insts: &'a mut Vec<Inst>,
    pub(super) lines: &'a mut Vec<(u32, Position)>,
    pub(super) kinds: &'a mut Vec<Option<Kind>>,
}

/// The blocks, numbered in textual order.
struct Graph {
    /// The first instruction of each block, and the end of the last.
    starts: Vec<usize>,
    successors: Vec<Vec<usize>>,
    /// Back edges to loop headers.
    back: HashSet<(usize, usize)>,
}

/// Sorts the blocks if one precedes a predecessor that is not on a back edge. `start` is the number
/// of the function's first instruction, to which branch targets are relative.
pub(super) fn arrange(code: Code<'_>, start: u32) {
    let Some(mut graph) = Graph::new(code.insts, start) else {
        return;
    };
    let reached = graph.reached();
    let mut order = Vec::new();
    if graph.sort(&reached, 0, &mut order).is_none() {
        return;
    }
    let misplaced = |from: usize, to: &usize| *to <= from && !graph.back.contains(&(from, *to));
    let mut edges = reached.iter();
    if !edges.any(|&from| graph.successors[from].iter().any(|to| misplaced(from, to))) {
        return;
    }
    let others = (0..graph.successors.len()).filter(|block| reached.binary_search(block).is_err());
    order.extend(others);
    graph.write(&order, code, start);
}

/// Whether a thread at one instruction may get to another one without an instruction for which
/// `stops` holds. What is called is not looked into: `stops` decides on calls too.
pub(crate) fn leads(code: &[Inst], from: u32, to: u32, stops: impl Fn(&Op) -> bool) -> bool {
    let next = |pc: u32| {
        let inst = &code[pc as usize];
        let fallen = falls_through(inst).then_some(pc + 1);
        targets(inst).iter().copied().chain(fallen)
    };
    let (mut seen, mut pending) = (HashSet::new(), vec![from]);
    while let Some(pc) = pending.pop() {
        for next in next(pc) {
            if next == to {
                return true;
            }
            let goes_on = (code.get(next as usize)).is_some_and(|inst| !stops(&inst.op));
            if goes_on && seen.insert(next) {
                pending.push(next);
            }
        }
    }
    false
}

/// Whether control may continue with the next instruction.
fn falls_through(inst: &Inst) -> bool {
    let ends = matches!(
        inst.op,
        Op::Branch { .. } | Op::BranchIndex { .. } | Op::Return | Op::Exit | Op::Trap
    );
    !ends || inst.guard != TRUE
}

fn targets(inst: &Inst) -> &[u32] {
    match &inst.op {
        Op::Branch { target } => std::slice::from_ref(target),
        Op::BranchIndex { targets, .. } => targets,
        _ => &[],
    }
}

impl Graph {
    fn new(insts: &[Inst], start: u32) -> Option<Self> {
        let at = |target: u32| (target - start) as usize;
        let mut starts = BTreeSet::from([0, insts.len()]);
        for (pc, inst) in insts.iter().enumerate() {
            if !targets(inst).is_empty() || !falls_through(inst) {
                starts.insert(pc + 1);
                starts.extend(targets(inst).iter().map(|&target| at(target)));
            }
        }
        let starts: Vec<usize> = starts.into_iter().collect();
        if starts.len() > MOST_BLOCKS {
            return None;
        }
        let last = starts.len() - 1;
        let block_at = |pc: usize| starts.binary_search(&pc).ok().filter(|&block| block < last);
        let successors = starts.windows(2).map(|ends| {
            let end = &insts[ends[1] - 1];
            let jumps = targets(end)
                .iter()
                .filter_map(|&target| block_at(at(target)));
            let next = falls_through(end).then(|| block_at(ends[1])).flatten();
            let all: BTreeSet<usize> = jumps.chain(next).collect();
            all.into_iter().collect()
        });
        Some(Self {
            successors: successors.collect(),
            starts,
            back: HashSet::new(),
        })
    }

    /// The blocks reachable from the first one, itself included.
    fn reached(&self) -> Vec<usize> {
        let mut reached = BTreeSet::from([0]);
        let mut pending = vec![0];
        while let Some(block) = pending.pop() {
            let new = self.successors[block].iter();
            pending.extend(new.filter(|&&next| reached.insert(next)));
        }
        reached.into_iter().collect()
    }

    /// Appends blocks to the order: each after its predecessors, and among candidates the first in
    /// the text. A loop is sorted recursively, without its back edges. `None` if loops are nested
    /// too deeply.
    fn sort(&mut self, blocks: &[usize], depth: usize, order: &mut Vec<usize>) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let component = self.components(blocks);
        let number = |block: usize| blocks.binary_search(&block).ok().map(|at| component[at]);
        let count = component.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![Vec::new(); count];
        for (&block, &component) in blocks.iter().zip(&component) {
            members[component].push(block);
        }
        // Edges between components, counted at their targets.
        let mut next = vec![Vec::new(); count];
        let mut missing = vec![0; count];
        // Loop blocks with an edge from outside; the function itself is entered at block 0.
        let mut entered: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for &from in blocks {
            for &to in &self.successors[from] {
                let (Some(a), Some(b)) = (number(from), number(to)) else {
                    continue;
                };
                if a != b && !self.back.contains(&(from, to)) {
                    next[a].push(b);
                    missing[b] += 1;
                    entered[b].insert(to);
                }
            }
        }
        let first = |component: usize| Reverse((members[component][0], component));
        let free = (0..count).filter(|&component| missing[component] == 0);
        let mut ready: BinaryHeap<_> = free.map(first).collect();
        while let Some(Reverse((lowest, component))) = ready.pop() {
            let head = match lowest {
                0 => 0,
                _ => entered[component].first().copied().unwrap_or(lowest),
            };
            let inside = &members[component];
            for &from in inside {
                if self.successors[from].contains(&head) {
                    self.back.insert((from, head));
                }
            }
            match inside.as_slice() {
                [only] => order.push(*only),
                _ => self.sort(inside, depth + 1, order)?,
            }
            for &after in &next[component] {
                missing[after] -= 1;
                if missing[after] == 0 {
                    ready.push(first(after));
                }
            }
        }
        Some(())
    }

    /// For each of some blocks, the number of its strongly connected component among them, ignoring
    /// back edges (Kosaraju's method).
    fn components(&self, blocks: &[usize]) -> Vec<usize> {
        let count = blocks.len();
        let (mut forward, mut backward) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (from, &block) in blocks.iter().enumerate() {
            let nexts = self.successors[block].iter();
            for to in nexts.filter(|&&to| !self.back.contains(&(block, to))) {
                if let Ok(to) = blocks.binary_search(to) {
                    forward[from].push(to);
                    backward[to].push(from);
                }
            }
        }
        let mut finished = Vec::new();
        let mut seen = vec![false; count];
        for root in 0..count {
            visit(&forward, root, &mut seen, &mut finished);
        }
        let mut component = vec![0; count];
        let mut seen = vec![false; count];
        let mut number = 0;
        for &root in finished.iter().rev() {
            let mut members = Vec::new();
            visit(&backward, root, &mut seen, &mut members);
            if !members.is_empty() {
                members
                    .into_iter()
                    .for_each(|member| component[member] = number);
                number += 1;
            }
        }
        component
    }

    /// Writes the code in an order of blocks. A block that fell through to its old successor
    /// branches there.
    fn write(&self, order: &[usize], code: Code<'_>, start: u32) {
        let mut insts: Vec<_> = std::mem::take(code.insts).into_iter().map(Some).collect();
        let lines = std::mem::take(code.lines);
        let mut kinds = std::mem::take(code.kinds);
        let mut moved = vec![0; self.starts.len()];
        for (at, &block) in order.iter().enumerate() {
            moved[block] = code.insts.len() as u32 + start;
            let pcs = self.starts[block]..self.starts[block + 1];
            for pc in pcs.clone() {
                code.insts.extend(insts[pc].take());
                code.lines.push(lines[pc]);
                code.kinds.push(kinds[pc].take());
            }
            let goes_on = code.insts.last().is_some_and(falls_through);
            if goes_on && order.get(at + 1) != Some(&(block + 1)) {
                let target = self.starts[block + 1] as u32 + start;
                code.insts.push(Inst {
                    guard: TRUE,
                    op: Op::Branch { target },
                });
                code.lines.push(lines[pcs.end - 1]);
                code.kinds.push(None);
            }
        }
        let place = |target: &mut u32| {
            if let Ok(block) = self.starts.binary_search(&((*target - start) as usize)) {
                *target = moved[block];
            }
        };
        for inst in code.insts {
            match &mut inst.op {
                Op::Branch { target } => place(target),
                Op::BranchIndex { targets, .. } => targets.iter_mut().for_each(place),
                _ => {}
            }
        }
    }
}

/// Adds all nodes reachable from a node and not yet seen, in postorder.
fn visit(edges: &[Vec<usize>], root: usize, seen: &mut [bool], finished: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    let mut path = vec![(root, 0)];
    while let Some((node, next)) = path.last_mut() {
        match edges[*node].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, 0));
                }
            }
            None => {
                finished.push(*node);
                path.pop();
            }
        }
    }
}
