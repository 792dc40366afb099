//! The contents of a thread's own variables that LLVM left in memory.
//!
//! A variable's content is one fact that covers everything ever stored in it. A store in the region
//! of a divergent branch raises it at least to the branch's level; one to an offset, or of a
//! length, that is not uniform, to that level. A variable whose address may be known elsewhere can
//! contain anything.

use super::analysis::Analysis;
use super::body::{Action, Step, Written};
use super::level::{Fact, Level, Origin};
use super::transfer::keeps_origin;
use crate::ir::module::Opcode;

impl Analysis<'_, '_> {
    /// Records a step's effect on variables; returns whether anything changed.
    pub(super) fn note_memory(&mut self, block: usize, step: &Step<'_>) -> bool {
        match step.action {
            Action::Write(Written::Value(value, pointer)) => {
                let value = match value {
                    Some(value) => self.facts[value],
                    None => Fact::pointer(Level::Block, step.constants),
                };
                self.write(block, step, pointer, value)
            }
            Action::Write(Written::Copy(from, pointer)) => {
                let copied = self.copied(from, step.constants);
                self.write(block, step, pointer, copied)
            }
            _ => self.note_escapes(step),
        }
    }

    /// The result of reading from an address with this fact.
    pub(super) fn content(&self, pointer: Fact) -> Fact {
        let content = match pointer.origin {
            Origin::Stack(variable) => self.contents[variable],
            // Nothing is known of the address yet, or it is null.
            Origin::Nothing => Fact::number(Level::Block),
            Origin::Steady => Fact::pointer(Level::Block, Origin::Unknown),
            Origin::Unknown => Fact::pointer(Level::Divergent, Origin::Unknown),
        };
        Fact::pointer(content.level.max(pointer.level), content.origin)
    }

    fn copied(&self, from: Option<usize>, constants: Origin) -> Fact {
        self.content(match from {
            Some(from) => self.facts[from],
            None => Fact::pointer(Level::Block, constants),
        })
    }

    fn write(
        &mut self,
        block: usize,
        step: &Step<'_>,
        pointer: Option<usize>,
        value: Fact,
    ) -> bool {
        let pointer = pointer.map(|pointer| self.facts[pointer]);
        match pointer {
            Some(Fact {
                origin: Origin::Stack(variable),
                ..
            }) => {
                // Includes the offset and, for `llvm.memset` and similar, the length.
                let operands = self.level_of(&step.reads);
                let level = value.level.max(operands).max(self.decided[block]);
                self.hold(variable, Fact::pointer(level, value.origin))
            }
            // Not known yet.
            Some(Fact {
                origin: Origin::Nothing,
                ..
            }) => false,
            _ => self.escape(value.origin),
        }
    }

    /// Records that a variable may contain a value.
    fn hold(&mut self, variable: usize, value: Fact) -> bool {
        let old = self.contents[variable];
        let new = Fact::pointer(old.level.max(value.level), old.origin.or(value.origin));
        self.contents[variable] = new;
        // A pointer mixed with others is not tracked.
        let mut changed = new != old;
        if new.origin == Origin::Unknown {
            changed |= self.escape(old.origin);
            changed |= self.escape(value.origin);
        }
        changed
    }

    /// Records that an address is known outside the analysis.
    fn escape(&mut self, origin: Origin) -> bool {
        match origin {
            Origin::Stack(variable) if self.contents[variable] != Fact::unknown() => {
                self.hold(variable, Fact::unknown());
                true
            }
            _ => false,
        }
    }

    /// Records the addresses that a step lets escape.
    fn note_escapes(&mut self, step: &Step<'_>) -> bool {
        let keeps = match (&step.action, step.instruction.opcode()) {
            (Action::Opcode | Action::Phi(_), opcode) if keeps_origin(opcode) => {
                // A pointer with two possible targets is not tracked.
                step.result
                    .is_some_and(|result| self.facts[result].origin != Origin::Unknown)
            }
            (Action::Opcode, Opcode::Load | Opcode::ICmp) => true,
            (Action::Opcode, Opcode::Sub) => self.compares_offsets(step),
            _ => false,
        };
        if keeps {
            return false;
        }
        let mut changed = false;
        for &value in &step.reads {
            changed |= self.escape(self.facts[value].origin);
        }
        changed
    }
}
