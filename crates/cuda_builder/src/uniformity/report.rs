//! The texts of findings.

use super::body::Body;
use super::level::Reason;
use super::step::Step;
use crate::ir::module::{Instruction, Nodes};
use crate::ir::names::demangle;
use crate::ir::place;

/// A problem with an instruction that waits.
pub(super) enum Problem<'m> {
    /// Threads diverge at a branch, so that only some of them reach the barrier.
    Barrier {
        barrier: &'m Instruction<'m>,
        parting: Parting<'m>,
    },
    /// Lanes diverge at a branch, so that only some of the named lanes reach the operation.
    WarpOperation {
        operation: &'m Instruction<'m>,
        name: String,
        parting: Parting<'m>,
    },
    /// The call leads to a wait in a function that could not be followed.
    NotFollowed {
        call: &'m Instruction<'m>,
        function: &'m str,
    },
}

/// A branch at which threads may diverge.
pub(super) struct Parting<'m> {
    pub(super) branch: &'m Instruction<'m>,
    /// The origin of its condition: the instruction, and the calls that lead to it, the kernel's
    /// own last.
    pub(super) reason: Option<Reason<'m>>,
    pub(super) chain: Vec<&'m Instruction<'m>>,
}

impl Problem<'_> {
    /// The report, for the author of the kernel.
    pub(super) fn describe(&self, kernel: &str, nodes: &Nodes<'_>) -> String {
        let place = |instruction| place(instruction, nodes);
        match self {
            Problem::Barrier { barrier, parting } => {
                let barrier = place(barrier);
                match parting.lost(nodes) {
                    None => format!(
                        "kernel `{kernel}`: not all threads of the block reach the barrier at {barrier}: the branch at {} depends on \
                         the thread; move the barrier out of what the branch decides: `if .. {{ before }} block.sync_threads(..); if .. {{ after }}`",
                        place(parting.branch)
                    ),
                    Some(lost) => format!(
                        "kernel `{kernel}`: whether all threads of the block reach the barrier at {barrier} cannot be shown: the \
                         branch at {} depends on {lost}; move the barrier out of what the branch decides",
                        place(parting.branch)
                    ),
                }
            }
            Problem::WarpOperation {
                operation,
                name,
                parting,
            } => {
                let operation = place(operation);
                match parting.lost(nodes) {
                    None => format!(
                        "kernel `{kernel}`: `{name}` at {operation} waits for lanes that do not reach it: the branch at {} depends \
                         on the lane; move the operation out of what the branch decides, or name in the mask only the lanes that \
                         take part",
                        place(parting.branch)
                    ),
                    Some(lost) => format!(
                        "kernel `{kernel}`: whether all lanes that `{name}` at {operation} waits for reach it cannot be shown: the \
                         branch at {} depends on {lost}; move the operation out of what the branch decides",
                        place(parting.branch)
                    ),
                }
            }
            Problem::NotFollowed { call, function } => format!(
                "kernel `{kernel}`: whether all threads reach the barrier in `{}`, called at {}, cannot be checked: the function \
                 calls itself; use a loop",
                demangle(function),
                place(call)
            ),
        }
    }
}

impl Parting<'_> {
    /// What the branch depends on, if that is not the thread but something that was not followed.
    fn lost(&self, nodes: &Nodes<'_>) -> Option<String> {
        let what = match self.reason? {
            Reason::Thread => return None,
            Reason::Address => "the address of a variable, taken",
            Reason::Memory => "memory that could not be followed, read",
            Reason::Escape => {
                "a variable whose address could not be followed from where it is passed on"
            }
            Reason::Pointer => "a call through a pointer that could not be followed",
            Reason::Outside(name) => {
                let place = self.place(nodes);
                return Some(format!(
                    "`{}`, whose code is not known, called at {place}",
                    demangle(name)
                ));
            }
            Reason::Assembly => "assembly that could not be followed",
            Reason::Volatile => "a volatile read",
            Reason::Undefined => "a value that may be undefined",
            Reason::Allocation => "whether an allocation succeeds, asked",
            Reason::Size => "a call that was not followed, for the kernel calls too much,",
        };
        Some(format!("{what} at {}", self.place(nodes)))
    }

    /// The innermost location in the user's code.
    fn place(&self, nodes: &Nodes<'_>) -> String {
        let of_user = |instruction: &&Instruction<'_>| {
            let frames = instruction.position().map(|node| nodes.frames(node));
            let mut frames = frames.into_iter().flatten();
            frames.any(|frame| !place::is_library(frame.function))
        };
        let mut chain = self.chain.iter().copied();
        let own = chain.find(of_user).or(self.chain.last().copied());
        own.map_or_else(
            || "an unknown line".to_owned(),
            |instruction| place(instruction, nodes),
        )
    }
}

/// The nearest instruction with a position: this one, or else the next one in its block, or the
/// last one before it.
pub(super) fn placed<'m>(
    body: &Body<'m>,
    instruction: &'m Instruction<'m>,
) -> Option<&'m Instruction<'m>> {
    let is_it = |step: &Step<'m>| std::ptr::eq(step.instruction, instruction);
    let block = body.blocks.iter().find(|steps| steps.iter().any(is_it))?;
    let at = block.iter().position(is_it)?;
    let (before, from) = block.split_at(at);
    let mut nearest = from.iter().chain(before.iter().rev());
    let found = nearest.find(|step| step.instruction.position().is_some())?;
    Some(found.instruction)
}

/// The report about a function that waits and whose address is taken.
pub(super) fn address_taken(kernel: &str, function: &str) -> String {
    format!(
        "kernel `{kernel}`: the barrier in `{}` may be reached through a pointer (a trait object, a function pointer), and threads \
         may hold different ones; call it by name, through generics instead of `dyn`",
        demangle(function)
    )
}

/// The location of an instruction in the user's source.
fn place(instruction: &Instruction<'_>, nodes: &Nodes<'_>) -> String {
    place::of(instruction, nodes).unwrap_or_else(|| "an unknown line".to_owned())
}
