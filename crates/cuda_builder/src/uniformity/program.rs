//! The module around the functions: which of them wait, what declarations guarantee, what globals
//! contain.

use std::collections::{HashMap, HashSet};

use super::targets::Targets;
use super::waits;
use crate::error::CudaBuilderError;
use crate::ir::module::{Callee, Function, Global, Head, Module, has};
use crate::ir::waiting::leading_to;

/// Module-wide information for the analysis of one kernel.
pub(super) struct Program<'m> {
    functions: HashMap<&'m str, &'m Function<'m>>,
    declared: HashSet<&'m str>,
    convergent: HashSet<&'m str>,
    pure: HashSet<&'m str>,
    /// The target of each global's address.
    globals: HashMap<&'m str, Targets<'m>>,
    /// The symbols that a constant contains.
    mentioned: HashMap<&'m str, Vec<&'m str>>,
    waiting: HashSet<&'m str>,
}

impl<'m> Program<'m> {
    pub(super) fn of(module: &'m Module<'m>) -> Result<Self, CudaBuilderError> {
        let functions = module
            .functions()
            .map(|function| (function.name(), function));
        let mut mentioned = HashMap::new();
        let mut globals = HashMap::new();
        for global in module.globals() {
            globals.insert(global.name(), addressed(global));
            mentioned.insert(global.name(), global.globals().collect());
        }
        Ok(Program {
            functions: functions.collect(),
            declared: module.declarations().map(Head::name).collect(),
            pure: declared(module, |list| list.contains("memory(none)")),
            globals,
            mentioned,
            waiting: waiting(module)?,
            convergent: convergent(module),
        })
    }

    /// Whether the module's function of this name leads to a wait.
    pub(super) fn waits(&self, function: &str) -> bool {
        self.waiting.contains(function)
    }

    pub(super) fn is_convergent(&self, declaration: &str) -> bool {
        self.convergent.contains(declaration)
    }

    /// Whether a declared function depends on its arguments only.
    pub(super) fn is_pure(&self, declaration: &str) -> bool {
        self.pure.contains(declaration)
    }

    /// The target of the address of a global variable or function.
    pub(super) fn target(&self, symbol: &'m str) -> Targets<'m> {
        match self.globals.get(symbol) {
            Some(targets) => targets.clone(),
            None if self.is_function(symbol) => Targets::symbol(symbol),
            None => Targets::unknown(),
        }
    }

    fn is_function(&self, symbol: &str) -> bool {
        self.functions.contains_key(symbol) || self.declared.contains(symbol)
    }

    /// The addresses that a constant contains. A function contains none.
    pub(super) fn content(&self, symbol: &str) -> Targets<'m> {
        let mut targets = Targets::default();
        for mentioned in self.mentioned.get(symbol).into_iter().flatten() {
            targets.add(&self.target(mentioned));
        }
        targets
    }

    /// The functions among symbols that take this number of arguments.
    pub(super) fn callable<'s>(
        &self,
        symbols: &'s [&'m str],
        arguments: usize,
    ) -> impl Iterator<Item = &'m str> {
        symbols.iter().copied().filter(move |symbol| {
            let function = self.functions.get(symbol);
            let takes = function.map(|function| function.head.parameters().count());
            takes.is_none_or(|takes| takes == arguments) && self.is_function(symbol)
        })
    }

    /// A function of the module.
    pub(super) fn function(&self, name: &str) -> Option<&'m Function<'m>> {
        self.functions.get(name).copied()
    }
}

/// What the address of a global variable points to.
fn addressed<'m>(global: &'m Global<'m>) -> Targets<'m> {
    let is_in = |space: &str| global.linkage().contains(space);
    let is_constant = global.keyword() == "constant" && !is_in("addrspace(");
    // Tables of libdevice that are not declared constant. Safe code defines no such symbol.
    let is_table = global.name().starts_with("__cudart_");
    // The host may change what is in constant memory.
    if is_constant && global.globals().next().is_some() {
        Targets::symbol(global.name())
    } else if is_table
        || global.keyword() == "constant"
        || is_in("addrspace(3)")
        || is_in("addrspace(4)")
    {
        Targets::steady()
    } else {
        Targets::unknown()
    }
}

/// The functions that reach a wait through calls by name.
pub(super) fn waiting<'m>(module: &'m Module<'_>) -> Result<HashSet<&'m str>, CudaBuilderError> {
    let convergent = convergent(module);
    leading_to(module, |call| match call.callee {
        Callee::Direct(name) => waits::of_intrinsic(name, convergent.contains(name)).is_some(),
        Callee::Assembly {
            template,
            constraints,
        } => !waits::of_assembly(template, constraints).is_empty(),
        Callee::Indirect(_) | Callee::Constant => false,
    })
}

fn convergent<'m>(module: &'m Module<'m>) -> HashSet<&'m str> {
    declared(module, |list| has(list, "convergent"))
}

/// The declared functions whose attributes pass a test.
fn declared<'m>(module: &'m Module<'m>, test: fn(&str) -> bool) -> HashSet<&'m str> {
    let groups = module.groups();
    let passes = |head: &&Head<'_>| {
        let group = head.group().and_then(|number| groups.get(&number));
        test(head.attributes()) || group.is_some_and(|group| test(group.list()))
    };
    module
        .declarations()
        .filter(passes)
        .map(Head::name)
        .collect()
}
