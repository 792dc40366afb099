//! What a thread's own variables hold, where LLVM left them in memory.
//!
//! A variable's content is one fact: that of everything that is ever stored in it. A store in a
//! region of a branch that parts threads makes it at least of the branch's level; one to a place, or
//! of a length, that threads do not have in common makes it of that level. A variable whose address
//! may be known elsewhere holds anything.

use super::analysis::Analysis;
use super::body::{Action, Step};
use super::level::{Fact, Level, Origin};
use super::transfer::keeps_origin;
use crate::ir::module::Opcode;

/// Memory that is written.
#[derive(Clone, Copy)]
pub(super) enum Written {
    /// By `store`: the value, if it is no constant, and the pointer, if it is none.
    Value(Option<usize>, Option<usize>),
    /// By `llvm.memcpy` and its kin: from where, and where to.
    Copy(Option<usize>, Option<usize>),
}

impl Analysis<'_, '_> {
    /// Takes notice of what a step does to variables. Whether anything is new.
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

    /// What is read from a place of which this is known.
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
                // Of all operands: the place and, of `llvm.memset` and its kin, the length.
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

    /// Notes that a variable may hold a value.
    fn hold(&mut self, variable: usize, value: Fact) -> bool {
        let old = self.contents[variable];
        let new = Fact::pointer(old.level.max(value.level), old.origin.or(value.origin));
        self.contents[variable] = new;
        // A pointer that is mixed with others is one that nobody follows.
        let mut changed = new != old;
        if new.origin == Origin::Unknown {
            changed |= self.escape(old.origin);
            changed |= self.escape(value.origin);
        }
        changed
    }

    /// Notes that an address is known where nobody looks.
    fn escape(&mut self, origin: Origin) -> bool {
        match origin {
            Origin::Stack(variable) if self.contents[variable] != Fact::unknown() => {
                self.hold(variable, Fact::unknown());
                true
            }
            _ => false,
        }
    }

    /// Lets the addresses escape that a step gives away.
    fn note_escapes(&mut self, step: &Step<'_>) -> bool {
        let keeps = match (&step.action, step.instruction.opcode()) {
            (Action::Opcode | Action::Phi(_), opcode) if keeps_origin(opcode) => {
                // What may lead to two places is followed no further.
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
