//! Transfer functions: the fact that follows from an instruction's operands.

use super::analysis::Analysis;
use super::body::{Action, Argument, Body, Step};
use super::lanes::{self, Spread, Term};
use super::level::{Fact, Level, Origin};
use super::waits::{Answer, Lanes, Operand, Wait};
use crate::error::CudaBuilderError;
use crate::ir::module::{Instruction, Opcode};

impl<'m> Analysis<'_, 'm> {
    /// The fact of a step's result.
    pub(super) fn fact(&self, result: usize, step: &Step<'m>) -> Result<Fact, CudaBuilderError> {
        let level = self.level_of(&step.reads);
        let opaque = |level| match may_hold_pointers(step.instruction) {
            true => Fact::pointer(level, Origin::Unknown),
            false => Fact::number(level),
        };
        Ok(match &step.action {
            Action::Opcode => self.opcode(result, step, level),
            Action::Phi(_) => Fact::pointer(level, self.origin_of(step)),
            Action::Pure => opaque(self.addresses(step)),
            Action::Known(known) => Fact {
                spread: lanes::of_register(step.instruction.globals().next()),
                ..opaque(*known)
            },
            Action::Wait(waits, arguments) => {
                let answers = waits.iter().map(|wait| self.answer(wait, arguments));
                opaque(answers.max().unwrap_or(Level::Divergent))
            }
            Action::Call(name) => {
                let returned = self.program.returned(name, |function| {
                    let body = Body::of(function, self.program)?;
                    Ok(Analysis::of(&body, self.program, false)?.returned())
                })?;
                opaque(returned.max(self.addresses(step)))
            }
            Action::Write(_) => Fact::unknown(),
        })
    }

    fn opcode(&self, result: usize, step: &Step<'_>, level: Level) -> Fact {
        use Opcode::{Alloca, AtomicRmw, CmpXchg, Freeze, ICmp, IntToPtr, Load, Sub, Trunc, ZExt};
        match step.instruction.opcode() {
            Alloca => Fact::pointer(Level::Block, Origin::Stack(result)),
            // `freeze` may turn an undefined value into a different number in each thread.
            AtomicRmw | CmpXchg | Freeze => Fact::unknown(),
            Load => self.load(step),
            IntToPtr => Fact::pointer(level, Origin::Unknown),
            opcode if keeps_origin(opcode) => Fact::pointer(level, self.origin_of(step)),
            ICmp | Sub if self.compares_offsets(step) => Fact::number(level),
            ZExt | Trunc => Fact {
                spread: match step.reads[..] {
                    [value] => self.facts[value].spread,
                    _ => Spread::Any,
                },
                ..Fact::number(self.addresses(step))
            },
            _ if self.trusts_shape => self.by_lanes(step),
            _ => Fact::number(self.addresses(step)),
        }
    }

    /// A number that may be warp-uniform although its operands are not.
    fn by_lanes(&self, step: &Step<'_>) -> Fact {
        let level = self.addresses(step);
        let facts: Vec<_> = step.reads.iter().map(|&value| self.facts[value]).collect();
        let Some(terms) = Term::pair(step.instruction, &facts) else {
            return Fact::number(level);
        };
        let is_shared = level == Level::Divergent && lanes::is_shared(step.instruction, terms);
        Fact {
            spread: lanes::spread(step.instruction.opcode(), terms),
            ..Fact::number(if is_shared { Level::Warp } else { level })
        }
    }

    fn load(&self, step: &Step<'_>) -> Fact {
        let text = step.instruction.operands().trim_start();
        if text.starts_with("volatile ") || text.starts_with("atomic ") {
            return Fact::unknown();
        }
        let pointer = Fact::pointer(self.level_of(&step.reads), self.origin_of(step));
        let content = self.content(pointer);
        match may_hold_pointers(step.instruction) {
            true => content,
            false => Fact::number(content.level),
        }
    }

    /// Whether an instruction compares or subtracts two addresses in one variable of the thread,
    /// wherever that is; a comparison with null counts too.
    pub(super) fn compares_offsets(&self, step: &Step<'_>) -> bool {
        match step.reads[..] {
            [one, other] => {
                let (one, other) = (self.facts[one].origin, self.facts[other].origin);
                matches!(one, Origin::Stack(_)) && one == other
            }
            [_] => {
                let constant = step.instruction.pieces().last();
                step.instruction.opcode() == Opcode::ICmp && matches!(constant, Some("0" | "null"))
            }
            _ => false,
        }
    }

    /// What the pointers that a step reads point to.
    fn origin_of(&self, step: &Step<'_>) -> Origin {
        let origins = step.reads.iter().map(|&value| self.facts[value].origin);
        origins.fold(step.constants, Origin::or)
    }

    /// The level of what depends on everything that a step reads, addresses included.
    pub(super) fn addresses(&self, step: &Step<'_>) -> Level {
        let levels = step.reads.iter().map(|&value| self.facts[value].address());
        let constant = Fact::pointer(Level::Block, step.constants).address();
        levels.fold(constant, Ord::max)
    }

    /// The level of a wait's result.
    fn answer(&self, wait: &Wait, arguments: &[Argument<'_>]) -> Level {
        let of_operand = |operand| match operand {
            Operand::Constant(_) => Level::Block,
            Operand::Argument(at) => match arguments.get(at).map(|argument| argument.value) {
                Some(value) => self.level_of(value.as_slice()),
                None => Level::Divergent,
            },
            Operand::Computed => Level::Divergent,
        };
        match (wait.result, wait.lanes) {
            (Answer::Own, _) => Level::Divergent,
            (Answer::Block, _) => Level::Block,
            (Answer::Lanes, Lanes::All) => Level::Warp,
            (Answer::Lanes, Lanes::Given(mask)) => of_operand(mask).max(Level::Warp),
            (Answer::Broadcast { lane, range }, lanes) => {
                let from_any = constant(range, arguments) == Some(31);
                match from_any && names_all_lanes(lanes, arguments) {
                    true => of_operand(lane).max(Level::Warp),
                    false => Level::Divergent,
                }
            }
        }
    }
}

/// Whether a warp operation waits for all lanes.
pub(super) fn names_all_lanes(lanes: Lanes, arguments: &[Argument<'_>]) -> bool {
    match lanes {
        Lanes::All => true,
        Lanes::Given(mask) => constant(mask, arguments) == Some(u32::MAX),
    }
}

/// The constant value of an operand.
fn constant(operand: Operand, arguments: &[Argument<'_>]) -> Option<u32> {
    match operand {
        Operand::Constant(number) => Some(number),
        Operand::Argument(at) => {
            let number = arguments.get(at)?.text.parse::<i64>().ok()?;
            Some(number as u32)
        }
        Operand::Computed => None,
    }
}

/// Whether the result points to what the operands point to.
pub(super) fn keeps_origin(opcode: Opcode) -> bool {
    use Opcode::{
        AddrSpaceCast, BitCast, ExtractElement, ExtractValue, GetElementPtr, InsertElement,
        InsertValue, Phi, PtrToAddr, PtrToInt, Select, ShuffleVector,
    };
    matches!(
        opcode,
        AddrSpaceCast
            | BitCast
            | ExtractElement
            | ExtractValue
            | GetElementPtr
            | InsertElement
            | InsertValue
            | Phi
            | PtrToAddr
            | PtrToInt
            | Select
            | ShuffleVector
    )
}

/// Whether the result of a load or call may contain pointers. A named type may contain any.
fn may_hold_pointers(instruction: &Instruction<'_>) -> bool {
    let holds = |ty: &str| ty.contains("ptr") || ty.contains('%');
    match instruction.call() {
        Ok(Some(call)) => holds(call.result),
        _ => instruction.pieces().next().is_none_or(holds),
    }
}
