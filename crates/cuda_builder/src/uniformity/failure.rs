//! Allocations whose failure ends the thread.
//!
//! Which threads an allocation fails in is arbitrary, so the code after a failure would have to be
//! divergent. Nearly always it leads to a panic, but only after the error has been returned through
//! several functions, whose paths success shares. This module follows the values on these paths
//! that are constants, as errors are.

use std::collections::{BTreeSet, HashMap};

use super::graph::{dominators, leading_to};
use super::program::Program;
use super::step::{Action, Step};
use crate::ir::module::{Function, Opcode, local, value};

/// Removes the edges that are taken only after a failed allocation and that only lead to panics.
/// These allocations are then marked: every thread that continues has one.
pub(super) fn leave_out<'m>(
    function: &'m Function<'m>,
    blocks: &mut [Vec<Step<'m>>],
    program: &Program<'m>,
    successors: &mut [Vec<usize>],
) {
    let allocates = |step: &Step<'_>| matches!(step.action, Action::Allocate { .. });
    if !blocks.iter().flatten().any(allocates) {
        return;
    }
    let mut certain = Vec::new();
    let paths = Paths::of(function, blocks, program, successors);
    for block in 0..blocks.len() {
        if let Some((at, failed)) = paths.asks_for_success(block)
            && paths.only_panics(block, at, failed)
        {
            certain.push((block, at, failed));
        }
    }
    for (block, at, failed) in certain {
        successors[block].retain(|&next| next != failed);
        blocks[block][at].action = Action::Allocate { may_fail: false };
    }
}

/// The constants that a value may be; `None`: any value.
type Constants = Option<BTreeSet<i128>>;
/// A value with more constants may be anything.
const MOST_CONSTANTS: usize = 8;

struct Paths<'p, 'm> {
    function: &'m Function<'m>,
    blocks: &'p [Vec<Step<'m>>],
    program: &'p Program<'m>,
    successors: &'p [Vec<usize>],
    /// Immediate dominators.
    dominators: Vec<usize>,
    /// The possible values in general.
    always: HashMap<&'m str, Constants>,
}

impl<'p, 'm> Paths<'p, 'm> {
    fn of(
        function: &'m Function<'m>,
        blocks: &'p [Vec<Step<'m>>],
        program: &'p Program<'m>,
        successors: &'p [Vec<usize>],
    ) -> Self {
        let mut paths = Paths {
            function,
            blocks,
            program,
            successors,
            dominators: dominators(successors),
            always: HashMap::new(),
        };
        let mut always = HashMap::new();
        let everywhere = |_: usize, _: usize| true;
        while (0..blocks.len()).fold(false, |changed, block| {
            paths.visit(block, 0, &mut always, everywhere) | changed
        }) {}
        paths.always = always;
        paths
    }

    /// The allocation at the end of a block whose branch tests for failure: its step, and the block
    /// executed on failure.
    fn asks_for_success(&self, block: usize) -> Option<(usize, usize)> {
        let steps = &self.blocks[block];
        let [_, _] = self.successors[block][..] else {
            return None;
        };
        let defined = |name: &str| {
            let is_it = |step: &Step<'_>| step.instruction.result() == Some(name);
            steps.iter().position(is_it)
        };
        let branch = steps.last()?.instruction;
        let condition = branch.pieces().next().map(value).and_then(local)?;
        let question = steps[defined(condition)?].instruction;
        let mut pieces = question.pieces();
        let (asked, null) = (pieces.next()?, pieces.next()?);
        let equal = asked.trim_start().starts_with("eq ");
        let is_question = question.opcode() == Opcode::ICmp
            && matches!(null, "null" | "0")
            && (equal || asked.trim_start().starts_with("ne "));
        let mut at = defined(local(value(asked))?)?;
        if steps[at].instruction.opcode() == Opcode::PtrToInt {
            at = defined(local(value(steps[at].instruction.operands()))?)?;
        }
        let is_allocation = matches!(steps[at].action, Action::Allocate { .. });
        let failed = self.successors[block][usize::from(!equal)];
        (is_question && is_allocation).then_some((at, failed))
    }

    /// Whether a thread whose allocation (step `at` of a block) failed, and that continues at
    /// `failed`, can only panic, without waiting for others.
    fn only_panics(&self, block: usize, at: usize, failed: usize) -> bool {
        let mut known = HashMap::new();
        let allocation = self.blocks[block][at].instruction.result();
        known.extend(allocation.map(|name| (name, Some(BTreeSet::from([0])))));
        // The values that the block computes from it.
        self.visit(block, at + 1, &mut known, |_, _| false);
        let mut taken = vec![Vec::new(); self.blocks.len()];
        taken[block].push(failed);
        let mut reached = BTreeSet::from([failed]);
        loop {
            let mut changed = false;
            for one in reached.clone() {
                // Back at this block, the values would be those of another iteration.
                if self.goes_on(one) || self.dominates(one, block) {
                    return false;
                }
                let is_taken = |from: usize, to: usize| taken[from].contains(&to);
                changed |= self.visit(one, 0, &mut known, is_taken);
                for next in self.ways(one, &known) {
                    if !taken[one].contains(&next) {
                        taken[one].push(next);
                        reached.insert(next);
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        // An endless loop is not a panic.
        let ends = (0..self.blocks.len()).filter(|&one| self.ends_in(one, Opcode::Unreachable));
        let panics = leading_to(ends, &taken);
        reached.iter().all(|&one| panics[one])
    }

    fn dominates(&self, block: usize, other: usize) -> bool {
        let mut at = other;
        while at != block && at != self.dominators[at] {
            at = self.dominators[at];
        }
        at == block
    }

    fn goes_on(&self, block: usize) -> bool {
        let mut steps = self.blocks[block].iter();
        self.ends_in(block, Opcode::Ret) || steps.any(|step| step.waits(self.program))
    }

    fn ends_in(&self, block: usize, opcode: Opcode) -> bool {
        let terminator = self.function.blocks[block].terminator();
        terminator.is_some_and(|terminator| terminator.opcode() == opcode)
    }

    /// The successors that a block may have, given the known values.
    fn ways(&self, block: usize, known: &HashMap<&str, Constants>) -> Vec<usize> {
        let next = &self.successors[block];
        let condition = (self.blocks[block].last())
            .filter(|step| step.instruction.opcode() == Opcode::Br && next.len() == 2)
            .and_then(|step| self.operand(step.instruction.pieces().next()?, known));
        match condition {
            Some(condition) => {
                let way = |&is_true: &i128| next[usize::from(is_true == 0)];
                condition.iter().map(way).collect()
            }
            None => next.clone(),
        }
    }

    /// Computes a block's values from a step on; returns whether more values became possible.
    fn visit(
        &self,
        block: usize,
        from: usize,
        known: &mut HashMap<&'m str, Constants>,
        is_taken: impl Fn(usize, usize) -> bool,
    ) -> bool {
        let mut changed = false;
        for step in &self.blocks[block][from..] {
            let Some(result) = step.instruction.result() else {
                continue;
            };
            let new = match &step.action {
                Action::Phi(incoming) => {
                    let arriving = incoming.iter().filter(|(from, _)| is_taken(*from, block));
                    let values = arriving.map(|(_, text)| self.operand(text, known));
                    values.fold(Some(BTreeSet::new()), either)
                }
                _ => self.computed(step, known),
            };
            let old = known.get(result).cloned().unwrap_or(Some(BTreeSet::new()));
            let whole = either(old.clone(), new);
            changed |= whole != old || !known.contains_key(result);
            known.insert(result, whole);
        }
        changed
    }

    fn computed(&self, step: &Step<'m>, known: &HashMap<&str, Constants>) -> Constants {
        let instruction = step.instruction;
        let pieces: Vec<_> = instruction.pieces().collect();
        let operand = |at: usize| self.operand(pieces.get(at)?, known);
        let pairs = |of: fn(i128, i128) -> i128| {
            let (one, other) = (operand(0)?, operand(1)?);
            let all = one
                .iter()
                .flat_map(|&one| other.iter().map(move |&other| (one, other)));
            Some(all.map(|(one, other)| of(one, other)).collect())
        };
        match instruction.opcode() {
            Opcode::ICmp => match pieces.first()?.trim_start().split(' ').next()? {
                "eq" => pairs(|one, other| i128::from(one == other)),
                "ne" => pairs(|one, other| i128::from(one != other)),
                _ => Some(BTreeSet::from([0, 1])),
            },
            Opcode::Select => {
                let mut chosen = Some(BTreeSet::new());
                for condition in operand(0)? {
                    chosen = either(chosen, operand(if condition != 0 { 1 } else { 2 }));
                }
                chosen
            }
            Opcode::PtrToInt | Opcode::IntToPtr => operand(0),
            Opcode::Trunc if pieces.first()?.ends_with(" to i1") => {
                Some(operand(0)?.into_iter().map(|number| number & 1).collect())
            }
            Opcode::ZExt if pieces.first()?.contains("i1 ") => operand(0),
            Opcode::Call => {
                let call = instruction.call().ok()??;
                let is_hint = call.function()?.starts_with("llvm.expect.");
                let first = call.arguments().next().filter(|_| is_hint)?;
                self.operand(first, known)
            }
            _ => None,
        }
    }

    /// The possible values of an operand: since the failure, or in general.
    fn operand(&self, text: &str, known: &HashMap<&str, Constants>) -> Constants {
        let text = value(text);
        let Some(name) = local(text) else {
            return match text {
                "null" | "false" => Some(BTreeSet::from([0])),
                "true" => Some(BTreeSet::from([1])),
                // Any value is possible.
                "undef" | "poison" => Some(BTreeSet::new()),
                number => Some(BTreeSet::from([number.parse().ok()?])),
            };
        };
        match known.get(name) {
            Some(known) => known.clone(),
            None => self.always.get(name).cloned().unwrap_or(None),
        }
    }
}

/// The union of both.
fn either(one: Constants, other: Constants) -> Constants {
    let mut all = one?;
    all.extend(other?);
    (all.len() <= MOST_CONSTANTS).then_some(all)
}
