//! A launch's instructions, with their PTX and source lines.

use ptx_emulator::SourceLocation;
use ptx_emulator::replay::Replay;
use serde::Serialize;

/// An instruction that may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// The instruction's number in steps.
    pub pc: u32,
    /// The line of the PTX, from 1.
    pub line: u32,
    /// The innermost frame that the user wrote.
    pub source: Option<SourceLocation>,
    /// Every frame that the compiler inlined there, innermost first.
    pub frames: Vec<SourceLocation>,
}

/// The kinds of PTX instructions that the timeline distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A barrier of a block or a warp.
    Barrier,
    /// An asynchronous copy, whose lanes are reported one by one.
    Copy,
    Other,
}

/// All instructions of a launch.
pub(crate) fn instructions(replay: &Replay) -> Vec<Instruction> {
    let of = |pc| {
        let location = replay.location(pc);
        Instruction {
            pc,
            line: location.ptx_line,
            source: location.source,
            frames: location.frames,
        }
    };
    replay.instructions().map(of).collect()
}

/// The kind of instruction in a PTX line.
pub(crate) fn sort(line: &str) -> Sort {
    let line = line.trim_start();
    // Without the guard, `@%p1` or `@!%p1`.
    let opcode = match line.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace).map_or("", |at| at.1),
        None => line,
    };
    let opcode = opcode.trim_start();
    let is = |names: &[&str]| names.iter().any(|name| opcode.starts_with(name));
    if is(&["bar.", "barrier."]) {
        Sort::Barrier
    } else if is(&["cp.async.ca", "cp.async.cg"]) {
        Sort::Copy
    } else {
        Sort::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_passed_over() {
        assert_eq!(sort("\tbar.sync \t0;"), Sort::Barrier);
        assert_eq!(sort("@!%p1 barrier.sync.aligned 0;"), Sort::Barrier);
        assert_eq!(
            sort(" @%p1\tcp.async.cg.shared.global [%r1], [%rd1], 16;"),
            Sort::Copy
        );
        assert_eq!(sort("cp.async.bulk.commit_group;"), Sort::Other);
        assert_eq!(sort("@%p1 bra $L__BB0_2;"), Sort::Other);
    }
}
