//! The module around the functions: which of them wait, what declarations promise, what globals
//! contain.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::level::{Level, Origin};
use super::waits;
use crate::error::CudaBuilderError;
use crate::ir::module::{Callee, Function, Global, Head, Module, has};
use crate::ir::waiting::leading_to;

/// Module-wide information for the analysis of one function.
pub(super) struct Program<'m> {
    functions: HashMap<&'m str, &'m Function<'m>>,
    convergent: HashSet<&'m str>,
    pure: HashSet<&'m str>,
    steady: HashSet<&'m str>,
    waiting: HashSet<&'m str>,
    /// Levels of the functions' results for block-uniform arguments; `None` while being computed.
    returned: RefCell<HashMap<&'m str, Option<Level>>>,
}

impl<'m> Program<'m> {
    pub(super) fn of(module: &'m Module<'m>) -> Result<Self, CudaBuilderError> {
        let is_steady = |global: &&Global<'_>| {
            let spaces = ["addrspace(3)", "addrspace(4)"];
            global.keyword() == "constant"
                || spaces.iter().any(|space| global.linkage().contains(space))
        };
        let functions = module
            .functions()
            .map(|function| (function.name(), function));
        Ok(Program {
            functions: functions.collect(),
            pure: declared(module, |list| list.contains("memory(none)")),
            steady: module
                .globals()
                .filter(is_steady)
                .map(|global| global.name())
                .collect(),
            waiting: waiting(module)?,
            convergent: convergent(module),
            returned: RefCell::default(),
        })
    }

    /// Whether the module's function of this name leads to a wait.
    pub(super) fn waits(&self, function: &str) -> bool {
        self.waiting.contains(function)
    }

    pub(super) fn is_convergent(&self, declaration: &str) -> bool {
        self.convergent.contains(declaration)
    }

    /// What the address of a global points to.
    pub(super) fn origin(&self, global: &str) -> Origin {
        match self.steady.contains(global) {
            true => Origin::Steady,
            false => Origin::Unknown,
        }
    }

    /// Whether a declared function depends on its arguments only.
    pub(super) fn is_pure(&self, declaration: &str) -> bool {
        self.pure.contains(declaration)
    }

    /// The level of a function's result if all threads of the block call it with the same
    /// arguments. `analyse` computes it, once for each function.
    pub(super) fn returned(
        &self,
        name: &'m str,
        analyse: impl FnOnce(&'m Function<'m>) -> Result<Level, CudaBuilderError>,
    ) -> Result<Level, CudaBuilderError> {
        let Some(function) = self.functions.get(name) else {
            return Ok(Level::Divergent);
        };
        if let Some(known) = self.returned.borrow().get(name) {
            return Ok(known.unwrap_or(Level::Divergent));
        }
        self.returned.borrow_mut().insert(name, None);
        let level = analyse(function)?;
        self.returned.borrow_mut().insert(name, Some(level));
        Ok(level)
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
