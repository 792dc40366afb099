//! The instructions of a launch: their lines in the PTX and in the source.

use ptx_emulator::SourceLocation;
use ptx_emulator::replay::Replay;
use serde::Serialize;

/// An instruction that may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// What steps name it by.
    pub pc: u32,
    /// The line of the PTX, from 1.
    pub line: u32,
    /// The frame that the user wrote.
    pub source: Option<SourceLocation>,
    /// Every frame that the compiler inlined there, innermost first.
    pub frames: Vec<SourceLocation>,
}

/// What a PTX instruction is, as far as the timeline asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A barrier of a block or a warp.
    Barrier,
    /// An asynchronous copy whose lanes come one by one.
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

/// What stands in a line of the PTX.
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
