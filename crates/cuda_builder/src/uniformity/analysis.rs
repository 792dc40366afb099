//! Computes the levels of a function's values and branches, by the rules in the module's header.

use std::collections::{BTreeMap, HashSet};

use super::body::{Action, Body};
use super::graph::Region;
use super::level::{Fact, Level, Origin};
use super::program::Program;
use crate::error::CudaBuilderError;
use crate::ir::module::Instruction;

/// The facts about a function that all threads of the block call with the same arguments.
pub(super) struct Analysis<'b, 'm> {
    pub(super) body: &'b Body<'m>,
    pub(super) program: &'b Program<'m>,
    /// Whether the block is assumed to have one dimension and whole warps.
    pub(super) trusts_shape: bool,
    pub(super) facts: Vec<Fact>,
    /// Contents of the variable created by each `alloca`.
    pub(super) contents: Vec<Fact>,
    /// For each block, the level of the branches that control whether a thread reaches it.
    pub(super) decided: Vec<Level>,
    /// Minimum level of each value due to control flow.
    floors: Vec<Level>,
    /// The same for the return value.
    exit_floor: Level,
    /// The divergent branches, with their regions.
    partings: BTreeMap<usize, (Level, Region)>,
}

impl<'b, 'm> Analysis<'b, 'm> {
    pub(super) fn of(
        body: &'b Body<'m>,
        program: &'b Program<'m>,
        trusts_shape: bool,
    ) -> Result<Self, CudaBuilderError> {
        let values = body.readers.len();
        let mut facts = vec![Fact::number(Level::Block); values];
        for (fact, &origin) in facts.iter_mut().zip(&body.parameters) {
            *fact = Fact::pointer(Level::Block, origin);
        }
        let mut analysis = Analysis {
            body,
            program,
            trusts_shape,
            facts,
            contents: vec![Fact::number(Level::Block); values],
            decided: vec![Level::Block; body.blocks.len()],
            floors: vec![Level::Block; values],
            exit_floor: Level::Block,
            partings: BTreeMap::new(),
        };
        let order = body.graph.order();
        while analysis.sweep(&order)? || analysis.part(&order) {}
        Ok(analysis)
    }

    /// The divergent branches that may precede a block, with their levels, in the order of the
    /// kernel's blocks.
    pub(super) fn partings_before(
        &self,
        block: usize,
    ) -> impl Iterator<Item = (Level, &'m Instruction<'m>)> {
        let order = self.body.graph.order().into_iter();
        order.filter_map(move |branch| {
            let (level, region) = self.partings.get(&branch)?;
            let step = self.body.blocks[branch].last()?;
            region.inside[block].then_some((*level, step.instruction))
        })
    }

    /// The level of the return value.
    pub(super) fn returned(&self) -> Level {
        let returns = self.body.graph.predecessors(self.body.graph.exit());
        let levels = returns.iter().flat_map(|&block| {
            let reads = self.body.blocks[block].last().map(|step| &step.reads);
            let values = reads.into_iter().flatten();
            values.map(|&value| match self.facts[value].origin {
                // The level of a pointer says nothing about its target.
                Origin::Nothing => self.facts[value].level,
                _ => Level::Divergent,
            })
        });
        levels.fold(self.exit_floor, Ord::max)
    }

    /// Recomputes all facts once; returns whether any changed.
    fn sweep(&mut self, order: &[usize]) -> Result<bool, CudaBuilderError> {
        let body = self.body;
        let mut changed = false;
        for &block in order {
            for step in &body.blocks[block] {
                if let Some(result) = step.result {
                    let mut new = self.fact(result, step)?;
                    new.level = new.level.max(self.floors[result]);
                    changed |= new != self.facts[result];
                    self.facts[result] = new;
                }
                changed |= self.note_memory(block, step);
            }
        }
        Ok(changed)
    }

    /// Raises everything controlled by divergent branches; returns whether there are new ones.
    fn part(&mut self, order: &[usize]) -> bool {
        let mut changed = false;
        for &block in order {
            let Some(branch) = self.body.blocks[block].last() else {
                continue;
            };
            if !self.body.graph.branches(block) {
                continue;
            }
            // A `switch` may be on an address.
            let level = self.addresses(branch);
            let known = self.partings.get(&block).map(|(known, _)| *known);
            if level > known.unwrap_or(Level::Block) {
                let region = self.body.graph.region(block);
                self.raise(block, level, &region);
                self.partings.insert(block, (level, region));
                changed = true;
            }
        }
        changed
    }

    /// Raises the values that leave a branch's region, and those selected at its join, to the
    /// branch's level.
    fn raise(&mut self, branch: usize, level: Level, region: &Region) {
        let body = self.body;
        for (block, made) in body.made.iter().enumerate() {
            if !region.inside[block] {
                continue;
            }
            self.decided[block] = level.max(self.decided[block]);
            for &value in made {
                if body.readers[value]
                    .iter()
                    .any(|&reader| !region.inside[reader])
                {
                    self.floors[value] = level.max(self.floors[value]);
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
                self.exit_floor = level.max(self.exit_floor);
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
                self.floors[result] = level.max(self.floors[result]);
            }
        }
    }

    pub(super) fn level_of(&self, values: &[usize]) -> Level {
        let levels = values.iter().map(|&value| self.facts[value].level);
        levels.max().unwrap_or(Level::Block)
    }
}
