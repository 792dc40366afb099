//! What is reported, in words.

use crate::ir::module::{Frame, Instruction, Nodes};
use crate::ir::names::{demangle, home, is_in};

/// What is wrong with a wait.
pub(super) enum Problem<'m> {
    /// Threads part at the branch, and then only some of them reach the barrier.
    Barrier {
        barrier: &'m Instruction<'m>,
        branch: &'m Instruction<'m>,
    },
    /// Lanes part at the branch, and then only some of those that the operation names reach it.
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
    /// The report, for somebody who wrote the kernel.
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

/// Where an instruction comes from: the kernel's own line, then the lines of the user's functions
/// that lead to it from there.
fn place(instruction: &Instruction<'_>, nodes: &Nodes<'_>) -> String {
    let mut frames = instruction
        .position()
        .map_or_else(Vec::new, |node| nodes.frames(node));
    // Further out is what `#[kernel]` writes around the body.
    let body = frames
        .iter()
        .rposition(|frame| demangle(frame.function).ends_with("::kernel_body"));
    if let Some(body) = body {
        frames.truncate(body + 1);
    }
    let of_user = |frame: &&Frame<'_>| !is_library(frame.function);
    let users: Vec<_> = frames.iter().rev().filter(of_user).collect();
    // A kernel of a library's own has no line of the user's.
    let mut shown = if users.is_empty() {
        frames.iter().rev().collect()
    } else {
        users
    }
    .into_iter();
    let Some(first) = shown.next() else {
        return "an unknown line".to_owned();
    };
    let mut text = line(first);
    for frame in shown {
        text.push_str(&format!(
            ", in `{}` at {}",
            demangle(frame.function),
            line(frame)
        ));
    }
    text
}

fn line(frame: &Frame<'_>) -> String {
    format!("{}:{}:{}", frame.file, frame.line, frame.column)
}

/// Whether a function belongs to Rust's library or to `cuda_std`.
fn is_library(function: &str) -> bool {
    let home = home(function);
    let libraries = ["core", "alloc", "compiler_builtins", "cuda_std"];
    libraries.iter().any(|library| is_in(&home, library))
}
