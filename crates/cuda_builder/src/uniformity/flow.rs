//! The analysis of a kernel with all functions that it calls.
//!
//! A function that is not inlined is analysed once for each chain of calls that leads to it, as if
//! it were inlined. A recursive call leads to the function's context in the chain, which then
//! combines the facts of all its calls. All contexts share the thread's memory. Beyond a number of
//! contexts, a kernel has a single one for each further function.

use std::collections::HashMap;
use std::rc::Rc;

use super::body::Body;
use super::context::Context;
use super::fact::Fact;
use super::level::{Cause, Rank, Reason};
use super::memory::{Kind, Memory, fresh};
use super::program::Program;
use super::report;
use super::step::Step;
use super::targets::{Object, Targets};
use crate::error::CudaBuilderError;
use crate::ir::module::Instruction;

/// The facts about a kernel and what it calls.
pub(super) struct Flow<'p, 'm> {
    pub(super) program: &'p Program<'m>,
    /// Whether the block is assumed to have one dimension and whole warps.
    pub(super) trusts_shape: bool,
    pub(super) memory: Memory<'m>,
    /// `None` while a context is being computed. The first is the kernel's.
    contexts: Vec<Option<Context<'m>>>,
    /// For each context, what called it, and whether that can happen several times.
    calls: Vec<Called>,
    /// The functions read so far.
    bodies: HashMap<&'m str, Rc<Body<'m>>>,
    /// The shared contexts of functions beyond [`MOST_CONTEXTS`].
    merged: HashMap<&'m str, usize>,
    /// The number of instructions in all contexts.
    steps: usize,
    /// No fact grows any more, so an address without targets will not get any.
    pub(super) is_settled: bool,
    pub(super) changed: bool,
}

/// How a context is entered.
struct Called {
    by: Option<usize>,
    repeats: bool,
}

/// Beyond this number, each function has a single context.
const MOST_CONTEXTS: usize = 128;
/// Beyond this number of instructions, no further calls are followed.
const MOST_STEPS: usize = 200_000;

impl<'p, 'm> Flow<'p, 'm> {
    pub(super) fn of(
        kernel: &'m str,
        program: &'p Program<'m>,
        trusts_shape: bool,
    ) -> Result<Self, CudaBuilderError> {
        let mut flow = Flow {
            program,
            trusts_shape,
            memory: Memory::default(),
            contexts: Vec::new(),
            calls: Vec::new(),
            bodies: HashMap::new(),
            merged: HashMap::new(),
            steps: 0,
            is_settled: false,
            changed: false,
        };
        if let Some(at) = flow.context(kernel, None, false)? {
            flow.pass_parameters(at);
        }
        loop {
            flow.changed = false;
            let mut at = 0;
            // The loop may append contexts.
            while at < flow.contexts.len() {
                flow.sweep(at)?;
                at += 1;
            }
            if !flow.changed {
                if flow.is_settled {
                    return Ok(flow);
                }
                flow.is_settled = true;
            }
        }
    }

    /// The kernel's context.
    pub(super) fn kernel(&self) -> Option<&Context<'m>> {
        self.contexts.first()?.as_ref()
    }

    /// The instruction of a cause, or the nearest one with a position, and the calls that lead to
    /// it, the kernel's own last.
    pub(super) fn chain(&self, cause: Cause<'m>) -> Vec<&'m Instruction<'m>> {
        let context = self.contexts[cause.context].as_ref();
        let placed = context.and_then(|context| report::placed(&context.body, cause.at));
        let (mut chain, mut at) = (vec![placed.unwrap_or(cause.at)], cause.context);
        while let Some((caller, call)) = self.contexts[at].as_ref().and_then(|one| one.caller) {
            chain.push(call);
            at = caller;
        }
        chain
    }

    /// The arguments of a launch, which are the same for all threads.
    fn pass_parameters(&mut self, at: usize) {
        let Some(context) = &mut self.contexts[at] else {
            return;
        };
        let body = Rc::clone(&context.body);
        for (fact, parameter) in context.facts.iter_mut().zip(&body.parameters) {
            fact.targets = match parameter.as_bytes().first() {
                // A copy that the thread owns.
                Some(b'p') if parameter.contains(" byval(") => {
                    let content = Fact::pointer(Rank::BLOCK, Targets::unknown());
                    Targets::object(self.memory.create(content, Kind::Variable, Some(at)))
                }
                Some(b'p') => Targets::steady(),
                Some(b'{' | b'[' | b'<' | b'%') => Targets::unknown(),
                _ => Targets::default(),
            };
        }
    }

    fn sweep(&mut self, at: usize) -> Result<(), CudaBuilderError> {
        let Some(mut context) = self.contexts[at].take() else {
            return Ok(());
        };
        let body = Rc::clone(&context.body);
        for block in body.graph.order() {
            for step in &body.blocks[block] {
                let fact = self.execute(&mut context, block, step)?;
                if let Some(result) = step.result {
                    self.changed |= context.learn(result, fact);
                }
            }
        }
        self.changed |= context.part();
        self.contexts[at] = Some(context);
        Ok(())
    }

    /// The variable or allocation that a step creates.
    pub(super) fn object(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
        kind: Kind,
    ) -> Option<Object> {
        let create = || {
            let home = (!context.body.graph.repeats(block)).then_some(context.at);
            self.memory.create(fresh(), kind, home)
        };
        Some(*context.objects.entry(step.result?).or_insert_with(create))
    }

    /// Whether everything that an object stands for is in one place: a variable, and what a thread
    /// allocates there at most once.
    pub(super) fn is_one_place(&self, object: Object) -> bool {
        if self.memory.kind(object) == Kind::Variable {
            return true;
        }
        let Some(mut at) = self.memory.home(object) else {
            return false;
        };
        while !self.calls[at].repeats {
            match self.calls[at].by {
                Some(caller) => at = caller,
                None => return true,
            }
        }
        false
    }

    pub(super) fn escape(&mut self, targets: &Targets<'m>, cause: Cause<'m>) {
        self.changed |= self.memory.escape(targets, cause);
    }

    /// The result of a call that is not followed.
    pub(super) fn lost_call(&mut self, arguments: &[Fact<'m>], cause: Cause<'m>) -> Fact<'m> {
        for argument in arguments {
            let cause = Cause {
                reason: Reason::Escape,
                ..cause
            };
            self.escape(&argument.targets, cause);
        }
        Fact::unknown(cause)
    }

    /// The result of a call. `control`: the rank of the branches that control it.
    pub(super) fn call(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
        name: &'m str,
        arguments: &[Fact<'m>],
        control: Rank<'m>,
    ) -> Result<Fact<'m>, CudaBuilderError> {
        let callee = match self.callee(context, block, step, name)? {
            Ok(callee) => callee,
            Err(reason) => return Ok(self.lost_call(arguments, context.cause(step, reason))),
        };
        let callee = match &mut self.contexts[callee] {
            Some(callee) => callee,
            // The call is recursive.
            None => context,
        };
        let mut changed = callee.entry.raise(control);
        for (parameter, argument) in callee.facts.iter_mut().zip(arguments) {
            changed |= parameter.add(argument);
        }
        self.changed |= changed;
        Ok(callee.returned.clone())
    }

    /// The context of a called function, or why there is none.
    fn callee(
        &mut self,
        context: &mut Context<'m>,
        block: usize,
        step: &Step<'m>,
        name: &'m str,
    ) -> Result<Result<usize, Reason<'m>>, CudaBuilderError> {
        let key = (std::ptr::from_ref(step.instruction), name);
        if let Some(&known) = context.callees.get(&key) {
            return Ok(Ok(known));
        }
        let found = if let Some(recursive) = self.in_the_chain(context, name) {
            self.repeat(context.at, recursive);
            Some(recursive)
        } else if let Some(&merged) = self.merged.get(name) {
            Some(merged)
        } else {
            let repeats = context.body.graph.repeats(block);
            self.context(name, Some((context.at, step.instruction)), repeats)?
        };
        let Some(found) = found else {
            return Ok(Err(match self.steps < MOST_STEPS {
                true => Reason::Outside(name),
                false => Reason::Size,
            }));
        };
        context.callees.insert(key, found);
        Ok(Ok(found))
    }

    /// Records that the contexts of a chain, from `last` to `first`, are entered again.
    fn repeat(&mut self, last: usize, first: usize) {
        let mut at = Some(last);
        while let Some(one) = at {
            self.changed |= !std::mem::replace(&mut self.calls[one].repeats, true);
            at = self.calls[one].by.filter(|_| one != first);
        }
    }

    /// The context of a function that leads to this one, or is this one.
    fn in_the_chain(&self, context: &Context<'m>, name: &str) -> Option<usize> {
        if context.name == name {
            return Some(context.at);
        }
        let mut caller = context.caller;
        while let Some((at, _)) = caller {
            let context = self.contexts[at].as_ref()?;
            if context.name == name {
                return Some(at);
            }
            caller = context.caller;
        }
        None
    }

    /// A new context of a function that the module defines.
    fn context(
        &mut self,
        name: &'m str,
        caller: Option<(usize, &'m Instruction<'m>)>,
        repeats: bool,
    ) -> Result<Option<usize>, CudaBuilderError> {
        if self.steps >= MOST_STEPS {
            return Ok(None);
        }
        let Some(body) = self.body(name)? else {
            return Ok(None);
        };
        self.steps += body.blocks.iter().map(Vec::len).sum::<usize>();
        let at = self.contexts.len();
        if at >= MOST_CONTEXTS {
            self.merged.insert(name, at);
        }
        self.calls.push(Called {
            by: caller.map(|(at, _)| at),
            repeats: repeats || at >= MOST_CONTEXTS,
        });
        self.contexts
            .push(Some(Context::new(at, name, body, caller)));
        self.changed = true;
        Ok(Some(at))
    }

    /// A function that the module defines.
    fn body(&mut self, name: &'m str) -> Result<Option<Rc<Body<'m>>>, CudaBuilderError> {
        if let Some(known) = self.bodies.get(name) {
            return Ok(Some(Rc::clone(known)));
        }
        let Some(function) = self.program.function(name) else {
            return Ok(None);
        };
        let body = Rc::new(Body::of(function, self.program)?);
        self.bodies.insert(name, Rc::clone(&body));
        Ok(Some(body))
    }
}
