//! The state of the analysis of one function for one chain of calls: levels of its values and
//! branches, by the rules in the module's header.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::body::Body;
use super::fact::Fact;
use super::graph::Region;
use super::level::{Cause, Level, Rank, Reason};
use super::memory::fresh;
use super::step::{Action, Operand, Step};
use super::targets::{Object, Targets};
use crate::ir::module::Instruction;

/// A function with the chain of calls that leads to it.
pub(super) struct Context<'m> {
    /// Its number.
    pub(super) at: usize,
    pub(super) name: &'m str,
    pub(super) body: Rc<Body<'m>>,
    /// The context and the call through which it was first reached; `None` for the kernel.
    pub(super) caller: Option<(usize, &'m Instruction<'m>)>,
    /// The contexts of its calls, by the call's text and the function.
    pub(super) callees: HashMap<(*const Instruction<'m>, &'m str), usize>,
    /// The objects that it creates, by the value that is their address.
    pub(super) objects: HashMap<usize, Object>,
    pub(super) facts: Vec<Fact<'m>>,
    /// The rank of the branches that control its calls.
    pub(super) entry: Rank<'m>,
    pub(super) returned: Fact<'m>,
    /// For each block, the rank of the branches that control whether a thread reaches it.
    decided: Vec<Rank<'m>>,
    /// The minimum rank of each value due to control flow.
    floors: Vec<Rank<'m>>,
    /// The divergent branches, with their regions.
    partings: BTreeMap<usize, (Rank<'m>, Region)>,
}

impl<'m> Context<'m> {
    pub(super) fn new(
        at: usize,
        name: &'m str,
        body: Rc<Body<'m>>,
        caller: Option<(usize, &'m Instruction<'m>)>,
    ) -> Self {
        let values = body.readers.len();
        Context {
            at,
            name,
            caller,
            callees: HashMap::new(),
            objects: HashMap::new(),
            facts: vec![fresh(); values],
            entry: Rank::BLOCK,
            returned: fresh(),
            decided: vec![Rank::BLOCK; body.blocks.len()],
            floors: vec![Rank::BLOCK; values],
            partings: BTreeMap::new(),
            body,
        }
    }

    /// The rank of the branches that control whether a thread reaches a block.
    pub(super) fn control(&self, block: usize) -> Rank<'m> {
        self.entry.or(self.decided[block])
    }

    /// Adds a fact about a step's result; returns whether it was new.
    pub(super) fn learn(&mut self, result: usize, new: Fact<'m>) -> bool {
        let fact = &mut self.facts[result];
        fact.spread = new.spread;
        fact.add(&new) | fact.rank.raise(self.floors[result])
    }

    /// The divergent branches that may precede a block, with their ranks, in the order of the
    /// function's blocks.
    pub(super) fn partings_before(
        &self,
        block: usize,
    ) -> impl Iterator<Item = (Rank<'m>, &'m Instruction<'m>)> {
        let order = self.body.graph.order().into_iter();
        order.filter_map(move |branch| {
            let (rank, region) = self.partings.get(&branch)?;
            let step = self.body.blocks[branch].last()?;
            region.inside[block].then_some((*rank, step.instruction))
        })
    }

    /// Raises everything that divergent branches control; returns whether there are new ones.
    pub(super) fn part(&mut self) -> bool {
        let body = Rc::clone(&self.body);
        let mut changed = false;
        for block in body.graph.order() {
            let Some(branch) = body.blocks[block].last() else {
                continue;
            };
            if !body.graph.branches(block) {
                continue;
            }
            // A `switch` may test an address.
            let rank = self.addresses(branch);
            let known = self.partings.get(&block).map(|(known, _)| known.level);
            if rank.level > known.unwrap_or(Level::Block) {
                let region = body.graph.region(block);
                self.raise(&body, block, rank, &region);
                self.partings.insert(block, (rank, region));
                changed = true;
            }
        }
        changed
    }

    /// Raises the values that leave a branch's region, and those selected at its join, to the
    /// branch's rank.
    fn raise(&mut self, body: &Body<'m>, branch: usize, rank: Rank<'m>, region: &Region) {
        for (block, made) in body.made.iter().enumerate() {
            if !region.inside[block] {
                continue;
            }
            self.decided[block].raise(rank);
            for &value in made {
                let mut readers = body.readers[value].iter();
                if readers.any(|&reader| !region.inside[reader]) {
                    self.floors[value].raise(rank);
                }
            }
        }
        let arrives = |block: usize| block == branch || region.inside[block];
        if region.join == body.graph.exit() {
            let returns = body.graph.predecessors(region.join).iter();
            let results = returns
                .filter(|&&block| arrives(block))
                .filter_map(|&block| {
                    let step = body.blocks[block].last()?;
                    Some(step.instruction.operands())
                });
            if results.collect::<HashSet<_>>().len() > 1 {
                self.returned.rank.raise(rank);
            }
            return;
        }
        for step in &body.blocks[region.join] {
            let (Action::Phi(incoming), Some(result)) = (&step.action, step.result) else {
                break;
            };
            let arriving = incoming.iter().filter(|(block, _)| arrives(*block));
            let values: HashSet<_> = arriving.map(|(_, value)| value).collect();
            if values.len() > 1 {
                self.floors[result].raise(rank);
            }
        }
    }

    /// The fact about an operand.
    pub(super) fn operand(&self, operand: &Operand<'m>) -> Fact<'m> {
        match operand.value {
            Some(value) => self.facts[value].clone(),
            None => Fact::pointer(Rank::BLOCK, operand.constant.clone()),
        }
    }

    /// The fact of a result that equals one of the step's operands.
    pub(super) fn kept(&self, step: &Step<'m>) -> Fact<'m> {
        let mut kept = Fact::pointer(Rank::BLOCK, step.constants.clone());
        for &value in &step.reads {
            kept.add(&self.facts[value]);
        }
        kept
    }

    /// The targets of the values that a step reads.
    pub(super) fn targets(&self, step: &Step<'m>) -> Targets<'m> {
        self.kept(step).targets
    }

    /// The rank of what depends on everything that a step reads, addresses included.
    pub(super) fn addresses(&self, step: &Step<'m>) -> Rank<'m> {
        let ranks = step.reads.iter().map(|&value| self.address(step, value));
        ranks.fold(Rank::BLOCK, Rank::or)
    }

    /// The rank of what depends on a value's bits. The fact's own rank is that of the offset within
    /// its memory.
    pub(super) fn address(&self, step: &Step<'m>, value: usize) -> Rank<'m> {
        let fact = &self.facts[value];
        match fact.targets.is_own() {
            true => (fact.rank).or(Rank::new(
                Level::Divergent,
                self.cause(step, Reason::Address),
            )),
            false => fact.rank,
        }
    }

    pub(super) fn cause(&self, step: &Step<'m>, reason: Reason<'m>) -> Cause<'m> {
        Cause {
            at: step.instruction,
            context: self.at,
            reason,
        }
    }
}
