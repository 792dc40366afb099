//! Whether all threads reach every barrier together, and all lanes every operation of the warp:
//! checked before a kernel is built.
//!
//! A barrier that some threads of the block miss is undefined on a GPU: it hangs, or lets the
//! others pass too early. The same holds for a shuffle or a vote whose mask names lanes that do not
//! arrive. What is checked is a copy of the module ([`copy`]) that LLVM has only made readable:
//! functions are inlined and variables are values, but no control flow is merged, moved, doubled or
//! turned round. A kernel passes if no barrier depends on a branch on which threads of a block may
//! part, and no operation of the warp on one on which lanes of a warp may part.
//!
//! # Values
//!
//! Each value has a [level](level::Level): it is the same in all threads of a block, or of a warp,
//! or each thread has its own. "The same" means: at the same point of their ways, see below.
//! Parameters, constants, and sizes and positions of block and grid are the block's; the thread's
//! index, its lane, clocks, atomics and results of shuffles are the thread's own; votes and
//! reductions are their lanes', barriers that count the block's. What is computed has the level of
//! its operands. What an unknown function returns is the thread's own.
//!
//! A load has the level of its address if it reads *steady* memory: a kernel's parameters, what its
//! pointers lead to, constants, shared memory. In a safe kernel that is sound: inputs do not change
//! while the kernel runs; a thread reaches an output's elements at addresses of its own only; a
//! shared array that may be read is written by nobody until the next barrier, or by atomics. So
//! what two threads read at one address between the same two barriers is the same. In an `unsafe`
//! kernel nothing holds these promises, and a race may hide a divergent branch: the check is then a
//! lint, and the emulator is the judge.
//!
//! A thread's own variables that LLVM left in memory hold what is stored in them ([`stack`]). Any
//! other load, and every volatile or atomic one, is the thread's own.
//!
//! `__cuda_std_block_uniform` and `__cuda_std_warp_uniform` mark what a library knows and this
//! analysis cannot see: their result is of that level. In kernels that are not safe, the block is
//! taken to have one dimension and whole warps, so `tid.x / 32` is the warp's ([`lanes`]); a safe
//! kernel says it by the marker.
//!
//! # Control
//!
//! A branch *parts* threads if its condition is above the block's level. What it decides is its
//! [region](graph::Region): the blocks that are reached from it before its join, the immediate
//! post-dominator. Three rules follow from it:
//!
//! - a phi at the join is at least of the branch's level if two different values arrive from the
//!   region;
//! - a value made in the region and read outside of it, be it by a phi at the join, is at least of
//!   the branch's level;
//! - so is a variable that is stored to in the region.
//!
//! Blocks from which a thread can only panic are left out, unless it waits there: a thread that
//! panics ends, and nobody waits for it. A loop without an end has an edge to the exit, so that
//! every block has a post-dominator.
//!
//! # Why this is enough
//!
//! Take two threads of a block that do not panic, and lay their ways through the kernel side by
//! side, block after block. Claim: both pass the same blocks in the same order but for *detours*,
//! each of which lies in the region of a branch that parts threads; and between detours, what is
//! read and is of the block's level is the same in both.
//!
//! Both start at the entry with the same parameters. As long as they pass the same blocks, a value
//! of the block's level is computed from such values, so it stays the same. So do loads: from
//! steady memory, for both threads are between the same two barriers; from variables of the block's
//! level, for both made the same stores. Say they part, at a branch *b*. Its condition was not the
//! same, so it is above the block's level, and *b* parts threads. Until its join *p* each passes
//! only blocks of *b*'s region. The join post-dominates *b*, so a thread that ever leaves the
//! region arrives at *p*, and one that does not runs for ever without waiting. There the ways are
//! laid side by side again. What may be read from here on was made in the region, or is chosen at
//! *p*, or is in a variable that was stored to in the region: then the rules have put it above the
//! block's level, unless *p* chooses one and the same value from outside of the region. Or it was
//! made outside: then neither thread made it anew on its detour, and it is as it was at *b*.
//!
//! So if no barrier lies in the region of a branch that parts threads, none lies on a detour, and
//! all threads of the block pass the same barriers in the same order. For two threads of a warp the
//! same words hold with "the warp's level" in the place of "the block's", and operations of the
//! warp in the place of barriers. Inside of a region nothing is claimed: whatever threads do there
//! ends at *p*.
//!
//! A function that is not inlined is a computation: what it returns is of the level that this
//! analysis gives it for parameters of the block's level, or of its arguments' if that is higher.
//! If it waits, it is recursive, and refused. Functions that wait and whose address is taken are
//! refused too ([`address_taken`]).

mod address_taken;
mod analysis;
mod body;
mod copy;
mod graph;
mod lanes;
mod level;
mod program;
mod references;
mod report;
mod stack;
#[cfg(test)]
mod tests;
mod transfer;
mod waits;

use std::collections::HashSet;

use analysis::Analysis;
use body::{Action, Body};
use level::Level;
use program::Program;
use references::References;
use report::Problem;
use waits::{Scope, Wait};

use crate::error::CudaBuilderError;
use crate::ir::kernel_marks::UNIFORM;
use crate::ir::module::{Function, Module, Nodes};

/// What is to be done with what is found in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The kernel is safe: it is an error, and nothing is taken on trust.
    Refuse,
    /// The kernel is `unsafe`: it is a warning.
    Warn,
    /// The kernel says why it may.
    Allow,
}

/// What was found, one text for each place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reports {
    /// In safe kernels.
    pub(crate) errors: Vec<String>,
    /// In the others.
    pub(crate) warnings: Vec<String>,
}

/// A module's kernels that wait for other threads, ready to be checked.
pub(crate) struct Suspects {
    kernels: Vec<(String, Rule)>,
    /// The module in which they are analysed. None if there are none.
    copy: String,
    /// What is known without that.
    reports: Reports,
}

impl Suspects {
    /// Those of a module whose calls are marked convergent and that LLVM has not optimised yet.
    ///
    /// # Errors
    /// IR of a form that is not known.
    pub(crate) fn of(module: &Module<'_>) -> Result<Self, CudaBuilderError> {
        let waiting = program::waiting(module)?;
        let pointed_to = address_taken::functions(module, &waiting)?;
        let references = References::of(module);
        let mut reports = Reports::default();
        let mut kernels = Vec::new();
        for kernel in module.functions().filter(|function| function.is_kernel()) {
            let rule = rule(kernel);
            if rule == Rule::Allow {
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
            false => copy::text(module, &references.reached(names), &waiting)?,
        };
        let owned = kernels
            .into_iter()
            .map(|(name, rule)| (name.to_owned(), rule));
        Ok(Suspects {
            kernels: owned.collect(),
            copy,
            reports,
        })
    }

    /// Checks them. `optimise` runs LLVM's `opt` on a text, with passes and settings; without a
    /// kernel that waits it is not called.
    ///
    /// # Errors
    /// Those of `optimise`, and IR of a form that is not known.
    pub(crate) fn check(
        mut self,
        optimise: impl FnOnce(&str, &str, &[&str]) -> Result<String, CudaBuilderError>,
    ) -> Result<Reports, CudaBuilderError> {
        if !self.kernels.is_empty() {
            let names: Vec<_> = self.kernels.iter().map(|(name, _)| &**name).collect();
            let readable = optimise(&self.copy, &copy::passes(&names), &copy::SETTINGS)?;
            check_readable(&Module::parse(&readable)?, &self.kernels, &mut self.reports)?;
        }
        Ok(self.reports)
    }
}

/// Checks kernels of a module that is readable already.
fn check_readable(
    module: &Module<'_>,
    kernels: &[(String, Rule)],
    reports: &mut Reports,
) -> Result<(), CudaBuilderError> {
    let program = Program::of(module)?;
    let nodes = Nodes::of(module);
    for kernel in module.functions().filter(|function| function.is_kernel()) {
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

/// What is wrong in a kernel, in the order of its blocks.
fn problems<'m>(
    kernel: &'m Function<'m>,
    program: &Program<'m>,
    rule: Rule,
) -> Result<Vec<Problem<'m>>, CudaBuilderError> {
    let body = Body::of(kernel, program)?;
    let analysis = Analysis::of(&body, program, rule != Rule::Refuse)?;
    let mut problems = Vec::new();
    for block in body.graph.order() {
        for step in &body.blocks[block] {
            let instruction = step.instruction;
            match &step.action {
                Action::Call(function) if program.waits(function) => {
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
                        let mut partings = analysis.partings_before(block);
                        let (_, branch) = partings.find(|(level, _)| *level > bound)?;
                        Some((wait, branch))
                    });
                    problems.extend(problem.map(|(wait, branch)| match wait.scope {
                        Scope::Block => Problem::Barrier {
                            barrier: instruction,
                            branch,
                        },
                        Scope::Warp => Problem::WarpOperation {
                            operation: instruction,
                            name: wait.name.clone(),
                            branch,
                        },
                    }));
                }
                _ => {}
            }
        }
    }
    Ok(problems)
}

/// The level up to which branches may decide whether a thread waits; `None` if they may all. What
/// other masks than that of all lanes name is not known; in safe code they are a library's, for
/// warps that are not full.
fn bound(wait: &Wait, arguments: &[body::Argument<'_>], rule: Rule) -> Option<Level> {
    match wait.scope {
        Scope::Block => Some(Level::Block),
        Scope::Warp => {
            let is_checked =
                rule == Rule::Refuse || transfer::names_all_lanes(wait.lanes, arguments);
            is_checked.then_some(Level::Warp)
        }
    }
}

/// What the kernel's mark asks for.
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
