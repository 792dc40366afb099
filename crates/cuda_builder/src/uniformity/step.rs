//! An instruction in the form that the analysis uses: the values that it reads, and its effect.

use super::level::{Level, Reason};
use super::offset::Offset;
use super::program::Program;
use super::targets::Targets;
use super::waits::Wait;
use crate::ir::module::{Instruction, local, value};

/// An instruction.
pub(super) struct Step<'m> {
    pub(super) instruction: &'m Instruction<'m>,
    pub(super) result: Option<usize>,
    /// The values that it reads, in order.
    pub(super) reads: Vec<usize>,
    /// What the constant addresses among its operands point to.
    pub(super) constants: Targets<'m>,
    pub(super) action: Action<'m>,
}

/// An instruction's effect.
pub(super) enum Action<'m> {
    /// A number, computed from its operands.
    Compute,
    /// One of its operands, a part of one, or several combined: `bitcast`, `insertelement`.
    Keep,
    /// Moves a pointer by a number of bytes.
    Move(Offset),
    /// Takes a value out of an aggregate.
    Take { may_be_pointer: bool },
    /// Puts a value into an aggregate: its number, and whether it may be a pointer.
    Put(Option<usize>, bool),
    /// Chooses between its operands by a condition, if that is not constant.
    Select(Option<usize>),
    /// The incoming values, and the block of each.
    Phi(Vec<(usize, &'m str)>),
    /// Compares two values.
    Compare,
    /// Subtracts two numbers.
    Subtract,
    /// Creates a variable.
    Variable,
    /// Allocates memory. `may_fail`: threads may continue without it.
    Allocate { may_fail: bool },
    /// Reads memory.
    Load(Access),
    /// Writes a value, or bytes of it, to a pointer.
    Store(Operand<'m>, Operand<'m>, Option<u64>),
    /// Copies memory: destination, source, length.
    Copy(Operand<'m>, Operand<'m>, Option<u64>),
    /// Reads and writes memory that other threads may access.
    Atomic,
    /// A result with this level, whatever the operands.
    Known(Level, Reason<'m>),
    /// Waits for other threads.
    Wait(Vec<Wait>, Vec<Operand<'m>>),
    /// Calls a function by name.
    Call(&'m str, Vec<Operand<'m>>),
    /// Calls a function through a value.
    Indirect(usize, Vec<Operand<'m>>),
    /// Returns from the function.
    Return,
    /// A branch, or nothing.
    Control,
}

/// A read of memory.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) bytes: Option<u64>,
    /// Reads an integer or a float.
    pub(super) is_number: bool,
    pub(super) kind: AccessKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    Plain,
    Volatile,
    Atomic,
    /// Reads several values.
    Aggregate,
}

/// An operand of an instruction.
#[derive(Clone)]
pub(super) struct Operand<'m> {
    /// As written, without its type: `%3`, `-1`.
    pub(super) text: &'m str,
    /// Its number, if it is a value of the function.
    pub(super) value: Option<usize>,
    /// Its targets, if it is a constant.
    pub(super) constant: Targets<'m>,
}

impl Step<'_> {
    /// Whether it waits for other threads, or calls a function that may.
    pub(super) fn waits(&self, program: &Program<'_>) -> bool {
        match &self.action {
            Action::Wait(..) => true,
            Action::Call(name, _) => program.waits(name),
            _ => false,
        }
    }

    /// Whether a cast to an integer keeps all bits of an address.
    pub(super) fn is_whole_address(&self) -> bool {
        self.instruction.operands().ends_with(" i64")
    }

    /// The value that a pointer-moving instruction starts from. `None`: a constant.
    pub(super) fn base(&self) -> Option<usize> {
        let base = self.instruction.pieces().nth(1);
        let is_value = base.is_none_or(|base| local(value(base)).is_some());
        self.reads.first().copied().filter(|_| is_value)
    }
}
