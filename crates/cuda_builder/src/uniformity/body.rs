//! A function in the form that the analysis uses: numbered values and blocks, and each
//! instruction's effect on levels.

use std::collections::HashMap;

use super::graph::{Graph, leading_to};
use super::level::{Level, Origin};
use super::program::Program;
use super::waits::{self, Wait};
use crate::error::CudaBuilderError;
use crate::ir::markers;
use crate::ir::module::{Block, Callee, Function, Instruction, Opcode, local, unexpected, value};

/// A function's values, blocks and control flow.
pub(super) struct Body<'m> {
    pub(super) graph: Graph,
    pub(super) blocks: Vec<Vec<Step<'m>>>,
    /// The parameters, which are the first values.
    pub(super) parameters: Vec<Origin>,
    /// For each value, the blocks that read it. A phi reads in its own block, a `ret` at the exit.
    pub(super) readers: Vec<Vec<usize>>,
    /// The values that each block defines.
    pub(super) made: Vec<Vec<usize>>,
}

/// An instruction.
pub(super) struct Step<'m> {
    pub(super) instruction: &'m Instruction<'m>,
    pub(super) result: Option<usize>,
    /// The values that it reads, in order.
    pub(super) reads: Vec<usize>,
    /// What the constant addresses among its operands point to.
    pub(super) constants: Origin,
    pub(super) action: Action<'m>,
}

/// An instruction's effect, if it is more than its opcode's.
pub(super) enum Action<'m> {
    /// Given by the opcode.
    Opcode,
    /// The incoming values, and the block of each.
    Phi(Vec<(usize, &'m str)>),
    /// A result of this level, for any operands.
    Known(Level),
    /// A function of its operands only.
    Pure,
    /// Waits for other threads.
    Wait(Vec<Wait>, Vec<Argument<'m>>),
    /// Writes memory.
    Write(Written),
    /// Calls a function of the module.
    Call(&'m str),
}

/// A write to memory.
#[derive(Clone, Copy)]
pub(super) enum Written {
    /// By `store`: the value, if it is not a constant, and the pointer, if it is not one.
    Value(Option<usize>, Option<usize>),
    /// By `llvm.memcpy` and similar: source and destination.
    Copy(Option<usize>, Option<usize>),
}

/// An argument of a call.
pub(super) struct Argument<'m> {
    /// As written, without its type: `%3`, `-1`.
    pub(super) text: &'m str,
    /// Its number, if it is a value of the function.
    pub(super) value: Option<usize>,
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
        leave_out_panics(function, &blocks, program, &mut successors);
        let origin = |parameter: &str| match parameter.as_bytes().first() {
            // A `byval` parameter is in the thread's own memory.
            Some(b'p') if function.is_kernel() && !parameter.contains(" byval(") => Origin::Steady,
            Some(b'p' | b'{' | b'[' | b'<' | b'%') => Origin::Unknown,
            _ => Origin::Nothing,
        };
        Ok(Body {
            graph: Graph::new(successors),
            parameters: function.head.parameters().map(origin).collect(),
            readers: reader.readers,
            made: reader.made,
            blocks,
        })
    }
}

/// Removes blocks from which threads only reach `unreachable` without waiting: a thread that panics
/// exits, and no thread waits for it.
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

impl Step<'_> {
    /// Whether it waits for other threads, or calls a function that may.
    pub(super) fn waits(&self, program: &Program<'_>) -> bool {
        match &self.action {
            Action::Wait(..) => true,
            Action::Call(name) => program.waits(name),
            _ => false,
        }
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
            made[0].push(number);
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
    fn intrinsic(&self, name: &str) -> Action<'m> {
        match name.strip_prefix("llvm.nvvm.read.ptx.sreg.") {
            Some(register) => Action::Known(register_level(register)),
            None if self.program.is_pure(name) => Action::Pure,
            None => Action::Known(Level::Divergent),
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
            action: match instruction.opcode() {
                Opcode::Store => {
                    let mut pieces = instruction.pieces().map(|piece| self.number(value(piece)));
                    let (stored, pointer) = (pieces.next(), pieces.next());
                    Action::Write(Written::Value(stored.flatten(), pointer.flatten()))
                }
                Opcode::Phi => {
                    let incoming = instruction.incoming()?;
                    let pair = incoming
                        .into_iter()
                        .map(|incoming| Ok((self.block_named(incoming.block)?, incoming.value)));
                    Action::Phi(pair.collect::<Result<_, CudaBuilderError>>()?)
                }
                Opcode::Call => self.call(instruction)?,
                _ => Action::Opcode,
            },
        })
    }

    /// The number of a value, if the text is just a value.
    fn number(&self, text: &str) -> Option<usize> {
        local(text).and_then(|name| self.numbers.get(name).copied())
    }

    /// What the addresses among an instruction's operands point to, other than values of the
    /// function.
    fn constants(&self, instruction: &Instruction<'_>) -> Result<Origin, CudaBuilderError> {
        if instruction.operands().contains("inttoptr") {
            return Ok(Origin::Unknown);
        }
        if !instruction.operands().contains('@') {
            return Ok(Origin::Nothing);
        }
        let callee = instruction.call()?.and_then(|call| call.function());
        let globals = instruction.globals().skip(usize::from(callee.is_some()));
        let origins = globals.map(|global| self.program.origin(global));
        Ok(origins.fold(Origin::Nothing, Origin::or))
    }

    fn call(&self, instruction: &'m Instruction<'m>) -> Result<Action<'m>, CudaBuilderError> {
        let Some(call) = instruction.call()? else {
            return Ok(Action::Opcode);
        };
        let argument = |text| {
            let text = value(text);
            Argument {
                text,
                value: self.number(text),
            }
        };
        let waiting = |waits| Action::Wait(waits, call.arguments().map(argument).collect());
        Ok(match call.callee {
            Callee::Direct(name) if name.starts_with("llvm.") => {
                let is_convergent = self.program.is_convergent(name);
                match waits::of_intrinsic(name, is_convergent) {
                    Some(wait) => waiting(vec![wait]),
                    None if name.starts_with("llvm.mem") => {
                        // `memset` has a value in the position of an address.
                        let mut arguments = call.arguments().map(|text| self.number(value(text)));
                        let (to, from) = (arguments.next(), arguments.next());
                        Action::Write(match name.starts_with("llvm.memset.") {
                            true => Written::Value(from.flatten(), to.flatten()),
                            false => Written::Copy(from.flatten(), to.flatten()),
                        })
                    }
                    None => self.intrinsic(name),
                }
            }
            Callee::Direct(markers::OF_BLOCK) => Action::Known(Level::Block),
            Callee::Direct(markers::OF_WARP) => Action::Known(Level::Warp),
            // A build setting.
            Callee::Direct("__nvvm_reflect") => Action::Known(Level::Block),
            Callee::Direct(name) => Action::Call(name),
            Callee::Assembly {
                template,
                constraints,
            } => {
                let waits = waits::of_assembly(template, constraints);
                if !waits.is_empty() {
                    waiting(waits)
                } else if waits::is_pure_assembly(instruction.operands(), template, constraints) {
                    Action::Pure
                } else {
                    Action::Known(Level::Divergent)
                }
            }
            Callee::Indirect(_) | Callee::Constant => Action::Known(Level::Divergent),
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
