pub(crate) use crate::access::{Access, Nearest, Space};
use crate::source::{SourceLocation, other_frames};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mistake of the running program: what, and exactly where.
///
/// Its `Display` is the whole report in a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel that was launched.
    pub kernel: String,
    /// The line of the PTX text, from 1; 0 when the fault belongs to no instruction.
    pub ptx_line: u32,
    /// The source line, when the PTX has a line table: the innermost frame that is user code.
    pub source: Option<SourceLocation>,
    /// Every frame that the compiler inlined at this place, innermost first.
    pub inlined: Vec<SourceLocation>,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in the block: the first one at fault.
    pub thread: [u32; 3],
    /// How many threads of its warp made the same mistake in that instruction, itself included.
    pub threads: u32,
}

/// What a [`Fault`] is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access that is not inside one allocation or memory space.
    OutOfBounds {
        /// The space the address belongs to.
        space: Space,
        /// Read, write or atomic.
        access: Access,
        /// The address of the access: an offset in the shared, local and param spaces.
        address: u64,
        /// Its size in bytes.
        size: u32,
        /// The closest allocation of that space.
        nearest: Option<Nearest>,
        /// Whether the address is no multiple of what the access needs either.
        misaligned: bool,
    },
    /// An address that is not a multiple of the access's size.
    Misaligned {
        /// The space the address belongs to.
        space: Space,
        /// Read, write or atomic.
        access: Access,
        /// The address.
        address: u64,
        /// Its size in bytes, and so the alignment it needs.
        size: u32,
    },
    /// A write to memory that the program may only read.
    ReadOnly {
        /// The space the address belongs to.
        space: Space,
        /// The address.
        address: u64,
    },
    /// An access outside of a surface by an instruction that must not make one.
    OutsideSurface {
        /// Read, write or atomic.
        access: Access,
        /// Its size in bytes.
        size: u32,
        /// x, y, z and the layer.
        place: [i64; 4],
        /// Whether x counts bytes, not texels.
        in_bytes: bool,
        /// The surface.
        surface: String,
    },
    /// A block-wide barrier that some threads do not reach, or that they reach elsewhere.
    DivergentBarrier {
        /// Where threads wait.
        waiting: Place,
        /// What the other threads did, and where.
        others: Vec<(String, Place)>,
    },
    /// A warp-level instruction (`shfl.sync`, `vote.sync`, …) whose member mask does not fit the threads that execute it.
    WarpSync {
        /// The instruction.
        form: String,
        /// The member mask.
        members: u32,
        /// The lanes that execute the instruction.
        active: u32,
        /// What is wrong with them.
        problem: String,
    },
    /// No thread of the block can go on.
    Deadlock {
        /// How many threads wait where.
        waiting: Vec<(u32, Place)>,
    },
    /// The `trap` instruction.
    Trap,
    /// The `brkpt` instruction.
    Breakpoint,
    /// A failed assertion, which is a call of `__assertfail`, or a panic in Rust.
    Assert {
        /// What was asserted, or the panic's message.
        message: String,
        /// The source file that the call names.
        file: String,
        /// The line that the call names.
        line: u32,
        /// The function that the call names.
        function: String,
    },
    /// An instruction or system function that the emulator does not have: not the program's mistake.
    Unsupported {
        /// What it was.
        form: String,
    },
    /// An integer division or remainder by zero, which PTX leaves undefined.
    DivisionByZero,
    /// A call through a pointer that is not a function of the module, or is one of another signature.
    BadCall {
        /// The pointer.
        address: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An index past the end of a `brx.idx` table.
    BranchIndex {
        /// The index.
        index: u32,
        /// The table's length.
        targets: u32,
    },
    /// Calls nested too deep, or too much local memory for them.
    StackOverflow {
        /// How many calls are active.
        depth: u32,
        /// The limit that was passed, in words.
        limit: String,
    },
    /// An operand that PTX does not allow, such as the number or the thread count of a barrier.
    InvalidOperand {
        /// What is wrong.
        problem: String,
    },
    /// The launch executed as many instructions as it was allowed.
    StepLimit {
        /// [`Limits::warp_instructions`](crate::Limits::warp_instructions).
        limit: u64,
        /// The loop that was running, when one was.
        inside: Option<Loop>,
    },
    /// Every thread of the launch that has not ended waits or goes round a loop, and none writes what another one reads.
    EndlessLoop {
        /// The loop of the thread that is named.
        inside: Option<Loop>,
        /// How many threads wait where.
        waiting: Vec<(u32, Place)>,
    },
}

/// A loop of a program, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The file and the first and last line of its source, when known.
    pub source: Option<(String, u32, u32)>,
    /// The first and last line of its PTX text.
    pub ptx_lines: (u32, u32),
    /// Its first instruction.
    pub head: Place,
    /// How often a warp has gone round it, loops inside it included.
    pub rounds: u64,
    /// There are loops inside it.
    pub nested: bool,
}

/// A place in the program, for reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The source line, when known.
    pub source: Option<SourceLocation>,
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |first: u32, last: u32| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let (first, last) = self.ptx_lines;
        let ptx = format!(
            "PTX line{} {}",
            if first == last { "" } else { "s" },
            lines(first, last)
        );
        match &self.source {
            Some((file, first, last)) => write!(f, "{file}:{} ({ptx})", lines(*first, *last))?,
            None => f.write_str(&ptx)?,
        }
        let inner = if self.nested {
            " of it and the loops inside"
        } else {
            ""
        };
        write!(f, ", {} rounds{inner}", self.rounds)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source} (PTX line {})", self.ptx_line),
            None => write!(f, "PTX line {}", self.ptx_line),
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds {
                space,
                access,
                address,
                size,
                nearest,
                misaligned,
            } => {
                write!(
                    f,
                    "out of bounds: {access} of {size} bytes at {address:#x} in {space} memory"
                )?;
                match nearest {
                    Some(nearest) => write!(f, ", {nearest}")?,
                    None => write!(f, ", which holds no allocation")?,
                }
                if *misaligned {
                    write!(f, "; misaligned too")?;
                }
                Ok(())
            }
            FaultKind::Misaligned {
                space,
                access,
                address,
                size,
            } => write!(
                f,
                "misaligned: {access} of {size} bytes at {address:#x} in {space} memory; the address must be a multiple of {size}"
            ),
            FaultKind::ReadOnly { space, address } => {
                write!(f, "write to read-only {space} memory at {address:#x}")
            }
            FaultKind::OutsideSurface {
                access,
                size,
                place: [x, y, z, layer],
                in_bytes,
                surface,
            } => {
                let unit = if *in_bytes { "byte" } else { "texel" };
                write!(
                    f,
                    "outside of the surface: {access} of {size} bytes at {unit} {x}, row {y}, slice {z}, layer {layer} of {surface}"
                )
            }
            FaultKind::DivergentBarrier { waiting, others } => {
                write!(
                    f,
                    "divergent barrier: threads wait at the barrier at {waiting}"
                )?;
                others
                    .iter()
                    .try_for_each(|(what, place)| write!(f, ", but {what} at {place}"))
            }
            FaultKind::WarpSync {
                form,
                members,
                active,
                problem,
            } => {
                write!(
                    f,
                    "`{form}` with member mask {members:#010x} executed by lanes {active:#010x}: {problem}"
                )
            }
            FaultKind::Deadlock { waiting } => {
                write!(f, "deadlock: no thread of the block can go on")?;
                waiting.iter().try_for_each(|(threads, place)| {
                    write!(f, "; {threads} threads wait at {place}")
                })
            }
            FaultKind::Trap => write!(f, "trap instruction"),
            FaultKind::Breakpoint => write!(f, "breakpoint instruction"),
            FaultKind::Assert {
                message,
                file,
                line,
                function,
            } => {
                write!(f, "assertion failed: {message}, at {file}:{line}")?;
                if function.is_empty() {
                    Ok(())
                } else {
                    write!(f, " in {function}")
                }
            }
            FaultKind::Unsupported { form } => {
                write!(
                    f,
                    "unsupported by the emulator (not an error of the program): {form}"
                )
            }
            FaultKind::DivisionByZero => write!(f, "integer division by zero"),
            FaultKind::BadCall { address, reason } => write!(f, "call of {address:#x}: {reason}"),
            FaultKind::BranchIndex { index, targets } => {
                write!(
                    f,
                    "branch index {index} is past the end of a table of {targets} targets"
                )
            }
            FaultKind::StackOverflow { depth, limit } => {
                write!(
                    f,
                    "stack overflow: {depth} nested calls pass the limit of {limit}"
                )
            }
            FaultKind::InvalidOperand { problem } => write!(f, "invalid operand: {problem}"),
            FaultKind::EndlessLoop { inside, waiting } => {
                write!(
                    f,
                    "endless loop: nothing that the launch's threads read can change"
                )?;
                if let Some(inside) = inside {
                    write!(f, "; the thread is in the loop {inside}")?;
                }
                waiting.iter().try_for_each(|(threads, place)| {
                    write!(f, "; {threads} threads wait at {place}")
                })
            }
            FaultKind::StepLimit { limit, inside } => {
                write!(
                    f,
                    "step limit: the launch executed {limit} warp instructions without ending"
                )?;
                match inside {
                    Some(inside) => write!(f, "; it is in the loop {inside}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        writeln!(f, "{}", self.kind)?;
        write!(
            f,
            "  in kernel `{}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})",
            self.kernel
        )?;
        if self.threads > 1 {
            write!(f, " and {} more of its warp", self.threads - 1)?;
        }
        match &self.source {
            Some(source) => write!(f, "\n  at {source} (PTX line {})", self.ptx_line)?,
            None if self.ptx_line > 0 => write!(f, "\n  at PTX line {}", self.ptx_line)?,
            None => {}
        }
        let others = other_frames(&self.inlined, self.source.as_ref());
        others
            .iter()
            .try_for_each(|frame| write!(f, "\n    {frame}"))?;
        Ok(())
    }
}

impl std::error::Error for Fault {}
