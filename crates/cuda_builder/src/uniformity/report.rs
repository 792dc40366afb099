//! The texts of findings.

use crate::ir::module::{Instruction, Nodes};
use crate::ir::names::demangle;
use crate::ir::place;

/// A problem with a wait.
pub(super) enum Problem<'m> {
    /// Threads diverge at the branch, so only some of them reach the barrier.
    Barrier {
        barrier: &'m Instruction<'m>,
        branch: &'m Instruction<'m>,
    },
    /// Lanes diverge at the branch, so only some of those that the operation names reach it.
    WarpOperation {
        operation: &'m Instruction<'m>,
        name: String,
        branch: &'m Instruction<'m>,
    },
    /// The call leads to a wait in a function that could not be inlined.
    NotFollowed {
        call: &'m Instruction<'m>,
        function: &'m str,
    },
}

impl Problem<'_> {
    /// The report, for the author of the kernel.
    pub(super) fn describe(&self, kernel: &str, nodes: &Nodes<'_>) -> String {
        let place = |instruction| place(instruction, nodes);
        match self {
            Problem::Barrier { barrier, branch } => format!(
                "kernel `{kernel}`: not all threads of the block reach the barrier at {}: the branch at {} depends on the thread; \
                 move the barrier out of what the branch decides",
                place(barrier),
                place(branch)
            ),
            Problem::WarpOperation {
                operation,
                name,
                branch,
            } => format!(
                "kernel `{kernel}`: `{name}` at {} waits for lanes that do not reach it: the branch at {} depends on the lane; move \
                 the operation out of what the branch decides, or name in the mask only the lanes that take part",
                place(operation),
                place(branch)
            ),
            Problem::NotFollowed { call, function } => format!(
                "kernel `{kernel}`: whether all threads reach the barrier in `{}`, called at {}, cannot be checked: the function \
                 calls itself; use a loop",
                demangle(function),
                place(call)
            ),
        }
    }
}

/// The report of a function that waits and whose address is taken.
pub(super) fn address_taken(kernel: &str, function: &str) -> String {
    format!(
        "kernel `{kernel}`: the barrier in `{}` may be reached through a pointer (a trait object, a function pointer), and threads \
         may hold different ones; call it by name, through generics instead of `dyn`",
        demangle(function)
    )
}

/// Where an instruction is in the user's source.
fn place(instruction: &Instruction<'_>, nodes: &Nodes<'_>) -> String {
    place::of(instruction, nodes).unwrap_or_else(|| "an unknown line".to_owned())
}
