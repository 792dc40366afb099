//! The syntax tree to instructions that run fast: names become row numbers, modifiers become enums.
mod atomic;
mod builder;
mod compare;
mod control;
mod convert;
mod effects;
mod float;
mod form;
mod half;
mod instruction;
mod integer;
mod lane;
mod memory;
mod module;
pub(crate) mod op;
mod program;
mod rounding;
mod warp;

pub(crate) use effects::Cell;
pub(crate) use instruction::is_other_opcode;
pub(crate) use module::{EntryInfo, decode};
pub(crate) use program::{Function, Program, Special, Target, Value};
