//! A function in the form that the analysis uses: numbered values and blocks, and each
//! instruction as a [`Step`].

use std::collections::HashMap;

use super::failure;
use super::graph::{Graph, leading_to};
use super::layout::{self, Type};
use super::level::{Level, Reason};
use super::program::Program;
use super::step::{Access, AccessKind, Action, Operand, Step};
use super::targets::Targets;
use super::waits;
use crate::error::CudaBuilderError;
use crate::ir::markers;
use crate::ir::module::{
    Block, Callee, Function, Instruction, Opcode, globals, local, typed, unexpected, value,
};

/// A function's values, blocks and control flow.
pub(super) struct Body<'m> {
    pub(super) graph: Graph,
    pub(super) blocks: Vec<Vec<Step<'m>>>,
    /// The parameters, which are the first values.
    pub(super) parameters: Vec<&'m str>,
    /// For each value, the blocks that read it. A phi reads in its own block, a `ret` at the exit.
    pub(super) readers: Vec<Vec<usize>>,
    /// The values that each block defines.
    pub(super) made: Vec<Vec<usize>>,
    /// The block and the step of each value; `None` for parameters.
    definitions: Vec<Option<(usize, usize)>>,
}

impl<'m> Body<'m> {
    pub(super) fn of(
        function: &'m Function<'m>,
        program: &Program<'m>,
    ) -> Result<Self, CudaBuilderError> {
        let mut reader = Reader::new(function, program);
        let mut blocks = Vec::with_capacity(function.blocks.len());
        for (number, block) in function.blocks.iter().enumerate() {
            blocks.push(reader.block(number, block)?);
        }
        let mut successors = Vec::with_capacity(blocks.len());
        for block in &function.blocks {
            let next: Result<Vec<_>, _> = block
                .successors()
                .map(|label| reader.block_named(label))
                .collect();
            successors.push(next?);
        }
        failure::leave_out(function, &mut blocks, program, &mut successors);
        leave_out_panics(function, &blocks, program, &mut successors);
        let mut definitions = vec![None; reader.readers.len()];
        for (block, steps) in blocks.iter().enumerate() {
            for (at, step) in steps.iter().enumerate() {
                if let Some(result) = step.result {
                    definitions[result] = Some((block, at));
                }
            }
        }
        Ok(Body {
            definitions,
            graph: Graph::new(successors),
            parameters: function.head.parameters().collect(),
            readers: reader.readers,
            made: reader.made,
            blocks,
        })
    }

    /// The step that defines a value; `None` for parameters.
    pub(super) fn definition(&self, value: usize) -> Option<&Step<'m>> {
        let (block, at) = self.definitions[value]?;
        Some(&self.blocks[block][at])
    }
}

/// Removes blocks from which threads reach only `unreachable`, without waiting: a thread that
/// panics exits, and no thread waits for it.
fn leave_out_panics(
    function: &Function<'_>,
    blocks: &[Vec<Step<'_>>],
    program: &Program<'_>,
    successors: &mut [Vec<usize>],
) {
    let ends_in = |block: usize, opcode| {
        let terminator = function.blocks[block].terminator();
        terminator.map(Instruction::opcode) == Some(opcode)
    };
    let panics = (0..blocks.len()).filter(|&block| ends_in(block, Opcode::Unreachable));
    let may_panic = leading_to(panics, successors);
    // An endless loop is not a panic.
    let goes_on = |&block: &usize| {
        let waits = blocks[block].iter().any(|step| step.waits(program));
        waits || ends_in(block, Opcode::Ret) || !may_panic[block]
    };
    let stays = leading_to((0..blocks.len()).filter(goes_on), successors);
    for next in successors {
        next.retain(|&block| stays[block]);
    }
}

/// Numbers values and blocks.
struct Reader<'m, 'p> {
    function: &'m Function<'m>,
    program: &'p Program<'m>,
    numbers: HashMap<&'m str, usize>,
    labels: HashMap<&'m str, usize>,
    readers: Vec<Vec<usize>>,
    made: Vec<Vec<usize>>,
}

impl<'m, 'p> Reader<'m, 'p> {
    fn new(function: &'m Function<'m>, program: &'p Program<'m>) -> Self {
        let labels = function.blocks.iter().enumerate();
        let mut numbers = HashMap::new();
        let mut made = vec![Vec::new(); function.blocks.len()];
        let parameters = function.head.parameters();
        for (number, parameter) in parameters.enumerate() {
            numbers.extend(local(value(parameter)).map(|name| (name, number)));
        }
        for (block, made) in function.blocks.iter().zip(&mut made) {
            for name in block.instructions.iter().filter_map(Instruction::result) {
                made.push(numbers.len());
                numbers.insert(name, numbers.len());
            }
        }
        Reader {
            labels: labels.map(|(at, block)| (&*block.label, at)).collect(),
            readers: vec![Vec::new(); numbers.len()],
            function,
            program,
            numbers,
            made,
        }
    }

    /// The effect of an intrinsic that does not wait.
    fn intrinsic(&self, name: &'m str) -> Action<'m> {
        match name.strip_prefix("llvm.nvvm.read.ptx.sreg.") {
            Some(register) => Action::Known(register_level(register), Reason::Thread),
            None if self.program.is_pure(name) => Action::Compute,
            None => Action::Known(Level::Divergent, Reason::Outside(name)),
        }
    }

    fn block_named(&self, label: &str) -> Result<usize, CudaBuilderError> {
        let block = self.labels.get(label).copied();
        block.ok_or_else(|| unexpected("a block that is not there", label))
    }

    fn block(
        &mut self,
        number: usize,
        block: &'m Block<'m>,
    ) -> Result<Vec<Step<'m>>, CudaBuilderError> {
        let mut steps = Vec::new();
        for instruction in &block.instructions {
            let is_lifetime = instruction.operands().contains("@llvm.lifetime.");
            if is_lifetime || instruction.opcode() == Opcode::DebugRecord {
                continue;
            }
            let step = self.step(instruction)?;
            self.note_readers(number, &step);
            steps.push(step);
        }
        Ok(steps)
    }

    fn step(&self, instruction: &'m Instruction<'m>) -> Result<Step<'m>, CudaBuilderError> {
        let number = |name: &str| {
            let number = self.numbers.get(name).copied();
            number.ok_or_else(|| unexpected("a value that is not there", instruction.text()))
        };
        let reads: Result<Vec<_>, _> = instruction.locals().map(number).collect();
        Ok(Step {
            instruction,
            result: instruction.result().map(number).transpose()?,
            reads: reads?,
            constants: self.constants(instruction)?,
            action: self.action(instruction)?,
        })
    }

    fn action(&self, instruction: &'m Instruction<'m>) -> Result<Action<'m>, CudaBuilderError> {
        use Opcode::{
            AddrSpaceCast, Alloca, AtomicRmw, BitCast, Br, CmpXchg, ExtractElement, ExtractValue,
            Fence, Freeze, GetElementPtr, ICmp, IndirectBr, InsertElement, InsertValue, IntToPtr,
            Load, Phi, PtrToAddr, PtrToInt, Ret, Select, ShuffleVector, Store, Sub, Switch,
            Unreachable,
        };
        let mut pieces = instruction.pieces();
        Ok(match instruction.opcode() {
            Alloca => Action::Variable,
            Load => Action::Load(access(pieces.next().unwrap_or_default())),
            Store => {
                let (stored, pointer) = (pieces.next(), pieces.next());
                let bytes = stored.and_then(|stored| Type::parse(typed(stored).0).stored());
                let operand = |text: Option<&'m str>| self.operand(text.unwrap_or_default());
                Action::Store(operand(stored), operand(pointer), bytes)
            }
            AtomicRmw | CmpXchg => Action::Atomic,
            // `freeze` may turn an undefined value into a different number in each thread.
            Freeze => Action::Known(Level::Divergent, Reason::Undefined),
            GetElementPtr => Action::Move(layout::moved(instruction)),
            ExtractValue => Action::Take {
                may_be_pointer: layout::extracts_pointers(instruction),
            },
            InsertValue => {
                let (ty, text) = typed(pieces.nth(1).unwrap_or_default());
                Action::Put(self.number(text), !Type::parse(ty).is_number())
            }
            Select => Action::Select(pieces.next().and_then(|piece| self.number(value(piece)))),
            Phi => {
                let incoming = instruction.incoming()?;
                let pair = incoming
                    .into_iter()
                    .map(|incoming| Ok((self.block_named(incoming.block)?, incoming.value)));
                Action::Phi(pair.collect::<Result<_, CudaBuilderError>>()?)
            }
            AddrSpaceCast | BitCast | ExtractElement | InsertElement | IntToPtr | PtrToAddr
            | PtrToInt | ShuffleVector => Action::Keep,
            ICmp => Action::Compare,
            Sub => Action::Subtract,
            Opcode::Call => self.call(instruction)?,
            Ret => Action::Return,
            Br | Switch | IndirectBr | Unreachable | Fence => Action::Control,
            _ => Action::Compute,
        })
    }

    fn operand(&self, text: &'m str) -> Operand<'m> {
        let value = value(text);
        Operand {
            text: value,
            value: self.number(value),
            constant: self.addressed(value),
        }
    }

    /// What the symbols in a text point to.
    fn addressed(&self, text: &'m str) -> Targets<'m> {
        let mut targets = Targets::default();
        for symbol in globals(text) {
            targets.add(&self.program.target(symbol));
        }
        targets
    }

    /// The number of a value, if the text is just a value.
    fn number(&self, text: &str) -> Option<usize> {
        local(text).and_then(|name| self.numbers.get(name).copied())
    }

    /// The targets of the constant addresses among an instruction's operands.
    fn constants(&self, instruction: &'m Instruction<'m>) -> Result<Targets<'m>, CudaBuilderError> {
        if !instruction.operands().contains('@') {
            return Ok(Targets::default());
        }
        let callee = instruction.call()?.and_then(|call| call.function());
        let mut targets = Targets::default();
        for symbol in instruction.globals().skip(usize::from(callee.is_some())) {
            targets.add(&self.program.target(symbol));
        }
        Ok(targets)
    }

    fn call(&self, instruction: &'m Instruction<'m>) -> Result<Action<'m>, CudaBuilderError> {
        let Some(call) = instruction.call()? else {
            return Ok(Action::Control);
        };
        let operands = || call.arguments().map(|text| self.operand(text)).collect();
        let waiting = |waits| Action::Wait(waits, operands());
        Ok(match call.callee {
            Callee::Direct(name) if name.starts_with("llvm.") => {
                let is_convergent = self.program.is_convergent(name);
                match waits::of_intrinsic(name, is_convergent) {
                    Some(wait) => waiting(vec![wait]),
                    None if name.starts_with("llvm.mem") => {
                        let operands: Vec<Operand<'m>> = operands();
                        let [to, from, len, ..] = &operands[..] else {
                            return Err(unexpected("a copy of another form", instruction.text()));
                        };
                        let bytes = len.text.parse().ok();
                        match name.starts_with("llvm.memset.") {
                            true => Action::Store(from.clone(), to.clone(), bytes),
                            false => Action::Copy(to.clone(), from.clone(), bytes),
                        }
                    }
                    None => self.intrinsic(name),
                }
            }
            Callee::Direct(markers::OF_BLOCK) => Action::Known(Level::Block, Reason::Thread),
            Callee::Direct(markers::OF_WARP) => Action::Known(Level::Warp, Reason::Thread),
            // A build setting.
            Callee::Direct("__nvvm_reflect") => Action::Known(Level::Block, Reason::Thread),
            Callee::Direct("malloc") => Action::Allocate { may_fail: true },
            Callee::Direct("free") => Action::Control,
            Callee::Direct(name) => Action::Call(name, operands()),
            Callee::Assembly {
                template,
                constraints,
            } => {
                let waits = waits::of_assembly(template, constraints);
                if !waits.is_empty() {
                    waiting(waits)
                } else if waits::is_pure_assembly(instruction.operands(), template, constraints) {
                    Action::Compute
                } else {
                    Action::Known(Level::Divergent, Reason::Assembly)
                }
            }
            Callee::Indirect(name) => match self.numbers.get(name).copied() {
                Some(callee) => Action::Indirect(callee, operands()),
                None => Action::Known(Level::Divergent, Reason::Pointer),
            },
            Callee::Constant => Action::Known(Level::Divergent, Reason::Pointer),
        })
    }

    fn note_readers(&mut self, block: usize, step: &Step<'_>) {
        let reader = match step.instruction.opcode() {
            Opcode::Ret => self.function.blocks.len(),
            _ => block,
        };
        for &value in &step.reads {
            self.readers[value].push(reader);
        }
    }
}

/// The read of a `load`, from its type and what precedes it: `volatile i32`.
fn access(text: &str) -> Access {
    let (kind, ty) = match text.split_once(' ') {
        Some(("volatile", ty)) => (AccessKind::Volatile, ty),
        Some(("atomic", ty)) => (AccessKind::Atomic, ty),
        _ => (AccessKind::Plain, text),
    };
    let ty = Type::parse(ty);
    let is_aggregate = kind == AccessKind::Plain && ty.is_aggregate();
    Access {
        bytes: ty.stored(),
        is_number: ty.is_number(),
        kind: if is_aggregate {
            AccessKind::Aggregate
        } else {
            kind
        },
    }
}

/// Which threads read the same value from a special register.
fn register_level(register: &str) -> Level {
    // `cluster.ctaid` and similar are the block's position in its cluster.
    const OF_THE_BLOCK: [&str; 8] = [
        "ctaid",
        "ntid",
        "nctaid",
        "cluster",
        "clusterid",
        "nclusterid",
        "gridid",
        "warpsize",
    ];
    let kind = register.split('.').next().unwrap_or_default();
    match OF_THE_BLOCK.contains(&kind) {
        true => Level::Block,
        false => Level::Divergent,
    }
}
