//! Transfer functions: the effect of an instruction on its result and on memory.

use super::context::Context;
use super::fact::Fact;
use super::flow::Flow;
use super::lanes::{self, Spread, Term};
use super::level::{Level, Rank, Reason};
use super::memory::{Kind, Range};
use super::offset::Offset;
use super::origin;
use super::step::{Access, AccessKind, Action, Operand, Step};
use super::targets::Targets;
use super::waits::{self, Answer, Lanes, Wait};
use crate::error::CudaBuilderError;
use crate::ir::module::Opcode;

impl<'m> Flow<'_, 'm> {
    /// Executes a step; returns the fact of its result.
    pub(super) fn execute(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
    ) -> Result<Fact<'m>, CudaBuilderError> {
        let none = Fact::number(Rank::BLOCK);
        Ok(match &step.action {
            Action::Compute => self.compute(context, step),
            Action::Keep => self.keep(context, step),
            Action::Phi(_) => context.kept(step),
            Action::Move(bytes) => moved(context, step, *bytes),
            Action::Take { may_be_pointer } => taken(context.kept(step), *may_be_pointer),
            Action::Put(value, may_be_pointer) => self.put(context, step, *value, *may_be_pointer),
            Action::Select(condition) => {
                let mut fact = context.kept(step);
                if let Some(condition) = condition {
                    fact.rank.raise(context.address(step, *condition));
                }
                fact
            }
            Action::Compare | Action::Subtract if self.compares_offsets(context, step) => {
                Fact::number(context.kept(step).rank)
            }
            Action::Compare if self.asks_for_success(context, step) => {
                let cause = context.cause(step, Reason::Allocation);
                Fact::number(Rank::new(Level::Divergent, cause))
            }
            Action::Compare | Action::Subtract => self.compute(context, step),
            Action::Variable => self.create(context, block, step, Kind::Variable),
            &Action::Allocate { may_fail } => {
                self.create(context, block, step, Kind::Allocation { may_fail })
            }
            Action::Load(access) => self.load(context, step, *access),
            Action::Store(value, pointer, bytes) => {
                let mut value = context.operand(value);
                value.rank.raise(length(context, step, *bytes));
                self.write(context, block, step, pointer, Range::first(*bytes), value);
                none
            }
            Action::Copy(to, from, bytes) => {
                let from = context.operand(from);
                for (range, mut value) in self.contents(context, step, &from, *bytes) {
                    value.rank.raise(length(context, step, *bytes));
                    self.write(context, block, step, to, range, value);
                }
                none
            }
            Action::Atomic => {
                let cause = context.cause(step, Reason::Thread);
                self.let_escape(context, step);
                Fact::unknown(cause)
            }
            Action::Known(level, reason) => {
                self.let_escape(context, step);
                let rank = Rank::new(*level, context.cause(step, *reason));
                let targets = match reason {
                    Reason::Thread => context.targets(step).computed(),
                    _ => Targets::unknown(),
                };
                Fact {
                    spread: lanes::of_register(step.instruction.globals().next()),
                    ..Fact::pointer(rank, targets)
                }
            }
            Action::Wait(waits, arguments) => {
                self.let_escape(context, step);
                let answers = waits
                    .iter()
                    .map(|wait| answer(context, step, wait, arguments));
                let rank = answers.reduce(Rank::or).unwrap_or(Rank::BLOCK);
                Fact::pointer(rank, Targets::unknown())
            }
            Action::Call(name, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|one| context.operand(one)).collect();
                let control = context.control(block);
                self.call(context, block, step, name, &arguments, control)?
            }
            Action::Indirect(callee, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|one| context.operand(one)).collect();
                self.indirect(context, block, step, *callee, &arguments)?
            }
            Action::Return => {
                let returned = context.kept(step);
                self.changed |= context.returned.add(&returned);
                none
            }
            Action::Control => none,
        })
    }

    fn create(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
        kind: Kind,
    ) -> Fact<'m> {
        match self.object(context, block, step, kind) {
            Some(object) => Fact::pointer(Rank::BLOCK, Targets::object(object)),
            None => Fact::number(Rank::BLOCK),
        }
    }

    /// A number that depends on its operands' bits.
    fn compute(&self, context: &Context<'m>, step: &Step<'m>) -> Fact<'m> {
        let rank = context.addresses(step);
        let fact = Fact::pointer(rank, context.targets(step).computed());
        let spread = match (step.instruction.opcode(), &step.reads[..]) {
            (Opcode::ZExt | Opcode::Trunc, &[value]) => context.facts[value].spread,
            (Opcode::Call, _) => Spread::Any,
            _ if self.trusts_shape => return by_lanes(context, step, fact),
            _ => Spread::Any,
        };
        Fact { spread, ..fact }
    }

    fn keep(&self, context: &Context<'m>, step: &Step<'m>) -> Fact<'m> {
        let mut fact = context.kept(step);
        let opcode = step.instruction.opcode();
        let is_whole = match opcode {
            Opcode::AddrSpaceCast | Opcode::IntToPtr => true,
            Opcode::PtrToInt | Opcode::PtrToAddr => step.is_whole_address(),
            _ => false,
        };
        if !is_whole {
            fact.targets = fact.targets.in_parts();
        }
        fact
    }

    /// Numbers in an aggregate are not treated as addresses: those that are leave the analysis.
    fn put(
        &mut self,
        context: &Context<'m>,
        step: &Step<'m>,
        value: Option<usize>,
        may_be_pointer: bool,
    ) -> Fact<'m> {
        let mut fact = context.kept(step);
        if let Some(value) = value
            && !may_be_pointer
        {
            fact.rank.raise(context.address(step, value));
            let targets = context.facts[value].targets.clone();
            self.escape(&targets, context.cause(step, Reason::Escape));
        }
        fact
    }

    /// Whether the result of a comparison or subtraction depends only on two offsets, wherever
    /// their memory is:
    ///
    /// - for two addresses in one variable of the thread, or in an allocation made once;
    /// - for two addresses moved from [one address](origin);
    /// - for an address and null;
    /// - for a test whether two addresses are equal, except allocations: two variables are equally
    ///   far apart in all threads, but an allocation may reuse freed memory.
    fn compares_offsets(&self, context: &Context<'m>, step: &Step<'m>) -> bool {
        let targets = |value: usize| &context.facts[value].targets;
        match step.reads[..] {
            [one, other] => {
                let is_to_come = |value| targets(value).is_empty() && !self.is_settled;
                // No conclusion from a difference that a later result may explain.
                if is_to_come(one) != is_to_come(other) {
                    return true;
                }
                let is_allocated = |value: usize| {
                    let mut objects = targets(value).objects().iter();
                    objects.any(|(object, _)| self.memory.kind(*object) != Kind::Variable)
                };
                let object = targets(one).only_object();
                let is_one = object.is_some_and(|object| self.is_one_place(object));
                let is_same = is_one && object == targets(other).only_object();
                let is_known =
                    |value: usize| !targets(value).is_empty() && targets(value).is_whole();
                let origin = |value| origin::of(&context.body, value);
                let is_moved = origin(one) == origin(other);
                match Question::of(step) {
                    Question::Distance => is_same || is_moved,
                    Question::Order => is_same || (is_moved && is_known(one) && is_known(other)),
                    Question::Equality if is_allocated(one) || is_allocated(other) => {
                        is_same || is_moved
                    }
                    Question::Equality => is_same || is_moved || (is_known(one) && is_known(other)),
                }
            }
            [one] => {
                let is_part = targets(one).is_own() && !targets(one).is_whole();
                compares_with_null(step) && !is_part && !self.asks_for_success(context, step)
            }
            _ => false,
        }
    }

    /// Whether an instruction compares an allocation with null: it may fail in some threads only.
    fn asks_for_success(&self, context: &Context<'m>, step: &Step<'m>) -> bool {
        let targets = context.targets(step);
        let mut objects = targets.objects().iter();
        let may_fail = Kind::Allocation { may_fail: true };
        compares_with_null(step) && objects.any(|(object, _)| self.memory.kind(*object) == may_fail)
    }

    /// Records that the addresses that a step reads escape.
    fn let_escape(&mut self, context: &Context<'m>, step: &Step<'m>) {
        let targets = context.targets(step);
        self.escape(&targets, context.cause(step, Reason::Escape));
    }

    fn load(&mut self, context: &Context<'m>, step: &Step<'m>, access: Access) -> Fact<'m> {
        match access.kind {
            AccessKind::Volatile => return Fact::unknown(context.cause(step, Reason::Volatile)),
            AccessKind::Atomic => return Fact::unknown(context.cause(step, Reason::Thread)),
            AccessKind::Plain | AccessKind::Aggregate => {}
        }
        let pointer = context.kept(step);
        let mut read = Fact::number(pointer.rank);
        for (_, part) in self.contents(context, step, &pointer, access.bytes) {
            read.add(&part);
        }
        // Such memory never contains pointers as numbers.
        if access.is_number && pointer.targets == Targets::steady() {
            read.targets = Targets::default();
        }
        let range = |offset| Range {
            offset,
            len: access.bytes,
        };
        let mut objects = pointer.targets.objects().iter();
        let is_part = |&(object, offset)| !self.memory.is_one_address(object, range(offset));
        if access.is_number && objects.any(is_part) {
            read.targets = read.targets.in_parts();
        }
        // Its numbers may be addresses.
        if access.kind == AccessKind::Aggregate && read.targets.is_own() {
            let cause = context.cause(step, Reason::Escape);
            self.escape(&read.targets, cause);
            return Fact::unknown(cause);
        }
        read
    }

    /// The possible contents of that many bytes at an address, each with its offset there.
    fn contents(
        &self,
        context: &Context<'m>,
        step: &Step<'m>,
        pointer: &Fact<'m>,
        len: Option<u64>,
    ) -> Vec<(Range, Fact<'m>)> {
        let mut parts = Vec::new();
        for &(object, offset) in pointer.targets.objects() {
            parts.extend(self.memory.copied(object, Range { offset, len }));
        }
        let everywhere = Range::first(len);
        for symbol in pointer.targets.symbols() {
            let content = self.program.content(symbol);
            parts.push((everywhere, Fact::pointer(Rank::BLOCK, content)));
        }
        if pointer.targets.steady {
            let content = Fact::pointer(Rank::BLOCK, Targets::unknown());
            parts.push((everywhere, content));
        }
        if self.leads_astray(&pointer.targets) {
            let cause = context.cause(step, Reason::Memory);
            parts.push((everywhere, Fact::unknown(cause)));
        }
        for (_, fact) in &mut parts {
            fact.rank.raise(pointer.rank);
        }
        parts
    }

    /// Whether an address may point to memory that is not followed.
    fn leads_astray(&self, targets: &Targets<'m>) -> bool {
        targets.unknown || (targets.is_empty() && self.is_settled)
    }

    /// Stores a value in a range that starts at a pointer.
    fn write(
        &mut self,
        context: &Context<'m>,
        block: usize,
        step: &Step<'m>,
        pointer: &Operand<'m>,
        range: Range,
        mut value: Fact<'m>,
    ) {
        let to = context.operand(pointer);
        value.rank = value.rank.or(to.rank).or(context.control(block));
        for &(object, offset) in to.targets.objects() {
            let range = Range {
                offset: offset.plus(range.offset),
                ..range
            };
            self.changed |= self.memory.write(object, range, &value);
        }
        let is_elsewhere = to.targets.steady || !to.targets.symbols().is_empty();
        if is_elsewhere || self.leads_astray(&to.targets) {
            self.escape(&value.targets, context.cause(step, Reason::Escape));
        }
    }

    /// The result of a call through a pointer.
    fn indirect(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
        callee: usize,
        arguments: &[Fact<'m>],
    ) -> Result<Fact<'m>, CudaBuilderError> {
        let Fact { rank, targets, .. } = context.facts[callee].clone();
        let control = context.control(block).or(rank);
        let mut result = Fact::number(rank);
        let functions = self.program.callable(targets.symbols(), arguments.len());
        for function in functions.collect::<Vec<_>>() {
            let returned = self.call(context, block, step, function, arguments, control)?;
            result.add(&returned);
        }
        if targets.steady || targets.is_own() || self.leads_astray(&targets) {
            let cause = context.cause(step, Reason::Pointer);
            result.add(&self.lost_call(arguments, cause));
        }
        Ok(result)
    }
}

/// The fact of a pointer moved by an offset.
fn moved<'m>(context: &Context<'m>, step: &Step<'m>, bytes: Offset) -> Fact<'m> {
    let base = step.base();
    let indices = &step.reads[usize::from(base.is_some())..];
    let mut fact = match base {
        Some(base) => context.facts[base].clone(),
        None => Fact::number(Rank::BLOCK),
    };
    fact.spread = Spread::Any;
    fact.targets.add(&step.constants);
    fact.targets = fact.targets.moved(bytes);
    // Past the end of the address space the order is different.
    if !origin::stays_inside(&context.body, step) {
        fact.targets = fact.targets.in_parts();
    }
    for &index in indices {
        fact.rank.raise(context.address(step, index));
        // An address may be computed from null.
        let targets = &context.facts[index].targets;
        if targets.is_own() {
            fact.targets.add(&targets.clone().computed());
        }
    }
    fact
}

fn compares_with_null(step: &Step<'_>) -> bool {
    let constant = step.instruction.pieces().last();
    step.instruction.opcode() == Opcode::ICmp && matches!(constant, Some("0" | "null"))
}

/// How two values are compared.
enum Question {
    Distance,
    Order,
    Equality,
}

impl Question {
    fn of(step: &Step<'_>) -> Self {
        let operands = step.instruction.operands().trim_start();
        match step.instruction.opcode() {
            Opcode::ICmp if matches!(operands.split(' ').next(), Some("eq" | "ne")) => {
                Question::Equality
            }
            Opcode::ICmp => Question::Order,
            _ => Question::Distance,
        }
    }
}

/// The rank of the length of a copy or a `llvm.memset`: threads may write different lengths.
fn length<'m>(context: &Context<'m>, step: &Step<'m>, bytes: Option<u64>) -> Rank<'m> {
    match (step.instruction.opcode(), bytes, step.reads.last()) {
        (Opcode::Call, None, Some(&len)) => context.address(step, len),
        _ => Rank::BLOCK,
    }
}

/// The fact of a value taken from an aggregate.
fn taken(aggregate: Fact<'_>, may_be_pointer: bool) -> Fact<'_> {
    if may_be_pointer {
        return aggregate;
    }
    let targets = match aggregate.targets.is_empty() {
        true => Targets::default(),
        false => Targets::unknown(),
    };
    Fact::pointer(aggregate.rank, targets)
}

/// A number that may be warp-uniform although its operands are not.
fn by_lanes<'m>(context: &Context<'m>, step: &Step<'m>, fact: Fact<'m>) -> Fact<'m> {
    let operands = step.reads.iter().map(|&value| &context.facts[value]);
    let operands: Vec<_> = operands
        .map(|fact| (fact.rank.level, fact.spread))
        .collect();
    let Some(terms) = Term::pair(step.instruction, &operands) else {
        return fact;
    };
    let mut fact = Fact {
        spread: lanes::spread(step.instruction.opcode(), terms),
        ..fact
    };
    if fact.rank.level == Level::Divergent && lanes::is_shared(step.instruction, terms) {
        fact.rank.level = Level::Warp;
    }
    fact
}

/// The rank of a wait's result.
fn answer<'m>(
    context: &Context<'m>,
    step: &Step<'m>,
    wait: &Wait,
    arguments: &[Operand<'m>],
) -> Rank<'m> {
    let cause = context.cause(step, Reason::Thread);
    let at_least = |level, rank: Rank<'m>| Rank::new(level, cause).or(rank);
    let of_operand = |operand| match operand {
        waits::Operand::Constant(_) => Rank::BLOCK,
        waits::Operand::Argument(at) => match arguments.get(at).map(|argument| argument.value) {
            Some(Some(value)) => context.address(step, value),
            Some(None) => Rank::BLOCK,
            None => Rank::new(Level::Divergent, cause),
        },
        waits::Operand::Computed => Rank::new(Level::Divergent, cause),
    };
    match (wait.result, wait.lanes) {
        (Answer::Own, _) => Rank::new(Level::Divergent, cause),
        (Answer::Block, _) => Rank::BLOCK,
        (Answer::Lanes, Lanes::All) => Rank::new(Level::Warp, cause),
        (Answer::Lanes, Lanes::Given(mask)) => at_least(Level::Warp, of_operand(mask)),
        (Answer::Broadcast { lane, range }, lanes) => {
            let from_any = constant(range, arguments) == Some(31);
            match from_any && names_all_lanes(lanes, arguments) {
                true => at_least(Level::Warp, of_operand(lane)),
                false => Rank::new(Level::Divergent, cause),
            }
        }
    }
}

/// Whether a warp operation waits for all lanes.
pub(super) fn names_all_lanes(lanes: Lanes, arguments: &[Operand<'_>]) -> bool {
    match lanes {
        Lanes::All => true,
        Lanes::Given(mask) => constant(mask, arguments) == Some(u32::MAX),
    }
}

/// The constant value of an operand.
fn constant(operand: waits::Operand, arguments: &[Operand<'_>]) -> Option<u32> {
    match operand {
        waits::Operand::Constant(number) => Some(number),
        waits::Operand::Argument(at) => {
            let number = arguments.get(at)?.text.parse::<i64>().ok()?;
            Some(number as u32)
        }
        waits::Operand::Computed => None,
    }
}
