//! The uniformity check: do all threads reach every barrier together, and all lanes every warp
//! operation? It runs before a kernel is built.
//!
//! A barrier that some threads of the block miss is undefined on a GPU: it hangs, or releases the
//! others too early. The same holds for a shuffle or vote whose mask names lanes that do not
//! arrive. The check analyses a copy of the module ([`copy`]) that LLVM has only simplified:
//! functions are inlined and variables are values, but no control flow is merged, moved, duplicated
//! or inverted. A kernel passes if no barrier depends on a branch at which threads of a block may
//! diverge, and no warp operation on one at which lanes of a warp may diverge.
//!
//! # Values
//!
//! Each value has a [level](level::Level): block-uniform, warp-uniform, or divergent. Uniform means
//! equal at the same point of the threads' executions (see below). Parameters, constants, and sizes
//! and positions of block and grid are block-uniform. The thread's index, its lane, clocks, atomics
//! and results of shuffles are divergent. Votes and reductions are uniform for their lanes, barrier
//! reductions for the block. A computed value has the highest level of its operands. The result of
//! an unknown function is divergent.
//!
//! A load has the level of its address if it reads *steady* memory: a kernel's parameters, what its
//! pointers point to, constants, shared memory. In a safe kernel this is sound. Inputs do not
//! change while the kernel runs. A thread accesses an output's elements only at its own addresses.
//! A shared array that may be read is not written until the next barrier, or only by atomics. So
//! what two threads read at one address between the same two barriers is equal. In an `unsafe`
//! kernel nothing guarantees this, and a race may hide a divergent branch: there the check is a
//! lint, and the emulator is authoritative.
//!
//! # Memory
//!
//! The thread's own memory is followed: variables that LLVM left in memory, and allocations
//! ([`memory`]). Each value carries the memory that it may point to ([`targets`]). So do integers,
//! because Rust moves a value by loading and storing integers. The level of an address covers the
//! choice of its object and the offset in it, not its bits: the same variable in two threads
//! corresponds, wherever it is. Whatever depends on an address's bits, or on parts of them, is
//! divergent.
//!
//! A load has the level of its address and of everything stored in that range of its targets. A
//! store changes all targets of its pointer. An address escapes where it is stored in memory that
//! is not followed or passed to code that is not followed: from then on its memory, and all memory
//! that can be reached from there, can contain anything. So a pointer that is not followed leads
//! only to escaped memory; a load through it is divergent. Every volatile or atomic load is
//! divergent too.
//!
//! `__cuda_std_block_uniform` and `__cuda_std_warp_uniform` mark values that a library knows to be
//! uniform and this analysis cannot prove: their results have that level. In `unsafe` kernels the
//! block is assumed to have one dimension and whole warps, so `tid.x / 32` is warp-uniform
//! ([`lanes`]); a safe kernel states this by the marker.
//!
//! # Control
//!
//! A branch is *divergent* if its condition is not block-uniform. It controls its
//! [region](graph::Region): the blocks reachable from it before its join, the immediate
//! post-dominator. Three rules follow:
//!
//! - a phi at the join has at least the branch's level if two different values arrive from the
//!   region;
//! - a value defined in the region and read outside of it, even by a phi at the join, has at least
//!   the branch's level;
//! - so has memory that is stored to in the region.
//!
//! Blocks from which a thread can only panic are omitted, unless it waits there: a panicking thread
//! exits, and no thread waits for it. An endless loop has an edge to the exit, so that every block
//! has a post-dominator.
//!
//! # Why this is enough
//!
//! Take two threads of a block that do not panic, and compare their executions block by block.
//! Claim: both pass the same blocks in the same order except for *detours*, each inside the region
//! of a divergent branch; and between detours every block-uniform value that is read is equal in
//! both.
//!
//! Both start at the entry with the same parameters. While they pass the same blocks, block-uniform
//! values are computed from equal values, so they stay equal. So do loads: from steady memory,
//! because both threads are between the same two barriers; from corresponding objects, because both
//! made the same stores to them. Suppose they diverge at a branch *b*. Its condition differed, so it
//! is not block-uniform, and *b* is divergent. Until the join *p* each passes only blocks of *b*'s
//! region. The join post-dominates *b*, so a thread that ever leaves the region arrives at *p*, and
//! one that does not runs forever without waiting. At *p* the comparison continues. A value read
//! from here on was defined in the region, or is selected at *p*, or is in memory that was stored to
//! in the region: then the rules have raised it above block-uniform, unless *p* selects
//! one and the same value from outside the region. Or it was defined outside: then neither thread
//! redefined it on its detour, and it is as it was at *b*.
//!
//! So if no barrier is in the region of a divergent branch, none is on a detour, and all threads of
//! the block pass the same barriers in the same order. For two threads of a warp the same argument
//! holds with "warp-uniform" for "block-uniform" and warp operations for barriers. Nothing is
//! claimed inside a region: whatever threads do there ends at *p*.
//!
//! A function that is not inlined is part of the execution too, once for each chain of calls that
//! leads to it ([`flow`]); recursive calls share what is known of them, and each object that one
//! instruction creates stands for all that it creates. A call through a pointer is one of all
//! functions that the pointer may name. If a function that is not inlined waits, it is recursive, and
//! refused. Functions that wait and whose address is taken are refused too ([`address_taken`]).
//!
//! A comparison of two addresses has the same result in all threads if both are moved from one
//! address ([`origin`]), or point into one variable, or into an allocation that is made once. A
//! test for equality also does if both point to variables that have not escaped: a function's
//! variables are equally far apart in all threads. The place of an allocation differs between
//! threads, because it may reuse freed memory. Whether it fails differs too, unless a failure ends
//! in a panic ([`failure`]).

mod address_taken;
mod body;
mod context;
mod copy;
mod fact;
mod failure;
mod flow;
mod graph;
mod lanes;
mod layout;
mod level;
mod memory;
mod offset;
mod origin;
mod program;
mod report;
mod step;
mod targets;
#[cfg(test)]
mod tests;
mod transfer;
mod waits;

pub(crate) use graph::dominators;
use std::collections::HashSet;

pub(crate) use layout::Type;

use flow::Flow;
use level::{Level, Rank};
use program::Program;
use report::{Parting, Problem};
use step::{Action, Operand};
use waits::{Scope, Wait};

use crate::error::CudaBuilderError;
use crate::ir::kernel_marks::UNIFORM;
use crate::ir::module::{Excerpts, Function, Module, Nodes};
use crate::ir::references::References;

/// The consequence of a finding in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The kernel is safe: findings are errors, and nothing is assumed.
    Refuse,
    /// The kernel is `unsafe`: findings are warnings.
    Warn,
    /// The kernel states why divergence is allowed.
    Allow,
}

/// The findings, one text per place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reports {
    /// In safe kernels.
    pub(crate) errors: Vec<String>,
    /// In other kernels.
    pub(crate) warnings: Vec<String>,
}

/// Kernels of a module that wait for other threads, ready to be checked.
pub(crate) struct Suspects {
    kernels: Vec<(String, Rule)>,
    /// The module in which they are analysed. Empty if there are none.
    copy: String,
    /// Findings that need no analysis.
    reports: Reports,
}

impl Suspects {
    /// The kernels of a module whose calls are marked convergent and that LLVM has not optimised
    /// yet, in the given groups.
    ///
    /// # Errors
    /// IR of an unknown form.
    pub(crate) fn of(
        module: &Module<'_>,
        groups: &[&[String]],
    ) -> Result<Vec<Self>, CudaBuilderError> {
        let waiting = program::waiting(module)?;
        let pointed_to = address_taken::functions(module, &waiting)?;
        let references = References::of(module);
        let excerpts = Excerpts::of(module);
        let suspects = |group: &&[String]| {
            let mut reports = Reports::default();
            let mut kernels = Vec::new();
            for kernel in module.functions() {
                let rule = rule(kernel);
                if rule == Rule::Allow || !group.iter().any(|name| name == kernel.name()) {
                    continue;
                }
                if !pointed_to.is_empty() {
                    let reached = references.reached([kernel.name()]);
                    let mut functions: Vec<_> = pointed_to.intersection(&reached).collect();
                    functions.sort_unstable();
                    for function in functions {
                        reports.add(rule, report::address_taken(kernel.name(), function));
                    }
                }
                if waiting.contains(kernel.name()) {
                    kernels.push((kernel.name(), rule));
                }
            }
            let names: Vec<_> = kernels.iter().map(|(name, _)| *name).collect();
            let copy = match names.is_empty() {
                true => String::new(),
                false => {
                    let reached = references.reached(names);
                    excerpts.complete(&copy::text(module, &reached, &waiting)?)
                }
            };
            let owned = kernels
                .into_iter()
                .map(|(name, rule)| (name.to_owned(), rule));
            Ok(Suspects {
                kernels: owned.collect(),
                copy,
                reports,
            })
        };
        groups.iter().map(suspects).collect()
    }

    /// The text to analyse.
    pub(crate) fn text(&self) -> &str {
        &self.copy
    }

    /// What else the findings depend on.
    pub(crate) fn key(&self) -> String {
        format!("{:?} {:?}", self.kernels, self.reports)
    }

    /// Checks them. `optimise` runs LLVM's `opt` on a text with passes and settings. It is not
    /// called if no kernel waits, and twice only for findings: source positions cost more than the
    /// analysis, and only the text of a finding needs them.
    ///
    /// # Errors
    /// Those of `optimise`, and IR of an unknown form.
    pub(crate) fn check(
        &self,
        mut optimise: impl FnMut(&str, &str, &[&str]) -> Result<String, CudaBuilderError>,
    ) -> Result<Reports, CudaBuilderError> {
        let mut reports = self.reports.clone();
        if self.kernels.is_empty() {
            return Ok(reports);
        }
        let names: Vec<_> = self.kernels.iter().map(|(name, _)| &**name).collect();
        let passes = copy::passes(&names);
        let mut check = |settings: &[&str], reports: &mut Reports| {
            let readable = optimise(&self.copy, &passes, settings)?;
            check_readable(&Module::parse(&readable)?, &self.kernels, reports)
        };
        let without_positions = [&copy::SETTINGS[..], &["--strip-debug"]].concat();
        let mut found = Reports::default();
        check(&without_positions, &mut found)?;
        if found != Reports::default() {
            check(&copy::SETTINGS, &mut reports)?;
        }
        Ok(reports)
    }
}

/// Checks kernels of a module that is already simplified.
fn check_readable(
    module: &Module<'_>,
    kernels: &[(String, Rule)],
    reports: &mut Reports,
) -> Result<(), CudaBuilderError> {
    let program = Program::of(module)?;
    let nodes = Nodes::of(module);
    for kernel in module.functions() {
        let Some((name, rule)) = kernels.iter().find(|(name, _)| name == kernel.name()) else {
            continue;
        };
        let mut seen = HashSet::new();
        for problem in problems(kernel, &program, *rule)? {
            let text = problem.describe(name, &nodes);
            // Copies of one wait, from inlining.
            if seen.insert(text.clone()) {
                reports.add(*rule, text);
            }
        }
    }
    Ok(())
}

/// The problems of a kernel, in the order of its blocks.
fn problems<'m>(
    kernel: &'m Function<'m>,
    program: &Program<'m>,
    rule: Rule,
) -> Result<Vec<Problem<'m>>, CudaBuilderError> {
    let flow = Flow::of(kernel.name(), program, rule != Rule::Refuse)?;
    let mut problems = Vec::new();
    let Some(context) = flow.kernel() else {
        return Ok(problems);
    };
    let parting = |(rank, branch): (Rank<'m>, _)| Parting {
        branch,
        reason: rank.cause.map(|cause| cause.reason),
        chain: (rank.cause).map_or_else(Vec::new, |cause| flow.chain(cause)),
    };
    for block in context.body.graph.order() {
        for step in &context.body.blocks[block] {
            let instruction = step.instruction;
            match &step.action {
                Action::Call(function, _) if program.waits(function) => {
                    problems.push(Problem::NotFollowed {
                        call: instruction,
                        function,
                    });
                }
                Action::Wait(waits, arguments) => {
                    let mut bounds = waits
                        .iter()
                        .filter_map(|wait| Some((wait, bound(wait, arguments, rule)?)));
                    let problem = bounds.find_map(|(wait, bound)| {
                        let mut partings = context.partings_before(block);
                        let first = partings.find(|(rank, _)| rank.level > bound)?;
                        Some((wait, parting(first)))
                    });
                    problems.extend(problem.map(|(wait, parting)| match wait.scope {
                        Scope::Block => Problem::Barrier {
                            barrier: instruction,
                            parting,
                        },
                        Scope::Warp => Problem::WarpOperation {
                            operation: instruction,
                            name: wait.name.clone(),
                            parting,
                        },
                    }));
                }
                _ => {}
            }
        }
    }
    Ok(problems)
}

/// The highest level of branches that may control a wait; `None` for any. For masks other than that
/// of all lanes it is unknown which lanes they name; in safe code they come from a library, for
/// incomplete warps.
fn bound(wait: &Wait, arguments: &[Operand<'_>], rule: Rule) -> Option<Level> {
    match wait.scope {
        Scope::Block => Some(Level::Block),
        Scope::Warp => {
            let is_checked =
                rule == Rule::Refuse || transfer::names_all_lanes(wait.lanes, arguments);
            is_checked.then_some(Level::Warp)
        }
    }
}

/// The rule that the kernel's mark selects.
fn rule(kernel: &Function<'_>) -> Rule {
    match kernel.head.attribute(UNIFORM) {
        Some("error") => Rule::Refuse,
        Some("allow") => Rule::Allow,
        _ => Rule::Warn,
    }
}

impl Reports {
    fn add(&mut self, rule: Rule, text: String) {
        match rule {
            Rule::Refuse => self.errors.push(text),
            Rule::Warn => self.warnings.push(text),
            Rule::Allow => {}
        }
    }
}
