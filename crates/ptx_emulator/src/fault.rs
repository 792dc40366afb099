pub(crate) use crate::access::{Access, Nearest, Space};
use crate::source::{SourceLocation, other_frames};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mistake of the running program, with its exact location.
///
/// `Display` gives a complete report of a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The kind of mistake.
    pub kind: FaultKind,
    /// The kernel that was launched.
    pub kernel: String,
    /// The line of the PTX text, from 1; 0 if the fault belongs to no instruction.
    pub ptx_line: u32,
    /// The source line, if the PTX has a line table: the innermost frame in user code.
    pub source: Option<SourceLocation>,
    /// Every inlined frame at this instruction, innermost first.
    pub inlined: Vec<SourceLocation>,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The first faulty thread, as an index in the block.
    pub thread: [u32; 3],
    /// Number of threads in its warp with the same fault at that instruction, itself included.
    pub threads: u32,
}

/// What a [`Fault`] is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access that is not entirely inside one allocation or memory space.
    #[error("out of bounds: {access} of {size} bytes at {address:#x} in {space} memory, {}{}", near(.nearest), if *.misaligned { "; misaligned too" } else { "" })]
    OutOfBounds {
        /// The space the address belongs to.
        space: Space,
        /// Read, write or atomic.
        access: Access,
        /// The address; in the shared, local and param spaces, an offset.
        address: u64,
        /// Its size in bytes.
        size: u32,
        /// The closest allocation of that space.
        nearest: Option<Nearest>,
        /// Whether the address is also misaligned.
        misaligned: bool,
    },
    /// An address that is not a multiple of the access's size.
    #[error(
        "misaligned: {access} of {size} bytes at {address:#x} in {space} memory; the address must be a multiple of {size}"
    )]
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
    /// A write to read-only memory.
    #[error("write to read-only {space} memory at {address:#x}")]
    ReadOnly {
        /// The space the address belongs to.
        space: Space,
        /// The address.
        address: u64,
    },
    /// An access outside a surface by an instruction that traps there.
    #[error("outside of the surface: {access} of {size} bytes at {} {}, row {}, slice {}, layer {} of {surface}", if *.in_bytes { "byte" } else { "texel" }, .place[0], .place[1], .place[2], .place[3])]
    OutsideSurface {
        /// Read, write or atomic.
        access: Access,
        /// Its size in bytes.
        size: u32,
        /// x, y, z and the layer.
        place: [i64; 4],
        /// Whether x is in bytes instead of texels.
        in_bytes: bool,
        /// The surface.
        surface: String,
    },
    /// A block-wide barrier that some threads do not reach, or reach at another instruction.
    #[error("divergent barrier: threads wait at the barrier at {waiting}{}", each(.others, |(what, place)| format!(", but {what} at {place}")))]
    DivergentBarrier {
        /// Where threads wait.
        waiting: Place,
        /// What the other threads did, and where.
        others: Vec<(String, Place)>,
    },
    /// A warp-level instruction (`shfl.sync`, `vote.sync`, …) whose member mask does not match the
    /// threads that execute it.
    #[error(
        "`{form}` with member mask {members:#010x} executed by lanes {active:#010x}: {problem}"
    )]
    WarpSync {
        /// The instruction.
        form: String,
        /// The member mask.
        members: u32,
        /// The lanes that execute the instruction.
        active: u32,
        /// The mismatch.
        problem: String,
    },
    /// No thread of the block can continue.
    #[error("deadlock: no thread of the block can go on{}", each(.waiting, waits))]
    Deadlock {
        /// Number of threads waiting at each place.
        waiting: Vec<(u32, Place)>,
    },
    /// The `trap` instruction.
    #[error("trap instruction")]
    Trap,
    /// The `brkpt` instruction.
    #[error("breakpoint instruction")]
    Breakpoint,
    /// A failed assertion (a call of `__assertfail`), or a panic in Rust.
    #[error("assertion failed: {message}, at {file}:{line}{}", each((!.function.is_empty()).then_some(.function), |name| format!(" in {name}")))]
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
    /// An instruction or system function that the emulator does not support; not a mistake of the
    /// program.
    #[error("unsupported by the emulator (not an error of the program): {form}")]
    Unsupported {
        /// What it was.
        form: String,
    },
    /// An indirect call of something that is not a function of the module, or has another
    /// signature.
    #[error("call of {address:#x}: {reason}")]
    BadCall {
        /// The address that was called.
        address: u64,
        /// Why the call is invalid.
        reason: &'static str,
    },
    /// An index past the end of a `brx.idx` table.
    #[error("branch index {index} is past the end of a table of {targets} targets")]
    BranchIndex {
        /// The index that was used.
        index: u32,
        /// The table's length.
        targets: u32,
    },
    /// Calls are nested too deeply for the stack.
    #[error("stack overflow: {depth} nested calls pass the limit of {limit}")]
    StackOverflow {
        /// Number of active calls.
        depth: u32,
        /// The limit that was exceeded, in words.
        limit: String,
    },
    /// An operand that PTX does not allow, such as a barrier's number or thread count.
    #[error("invalid operand: {problem}")]
    InvalidOperand {
        /// What is wrong.
        problem: String,
    },
    /// The launch reached its instruction limit.
    #[error("step limit: the launch executed {limit} warp instructions without ending{}", each(.inside, |inside| format!("; it is in the loop {inside}")))]
    StepLimit {
        /// [`Limits::warp_instructions`](crate::Limits::warp_instructions).
        limit: u64,
        /// The loop that was running, if any.
        inside: Option<Loop>,
    },
    /// Every thread that has not exited waits or is in a loop, and none writes anything that
    /// another one reads.
    #[error("endless loop: nothing that the launch's threads read can change{}{}", each(.inside, |inside| format!("; the thread is in the loop {inside}")), each(.waiting, waits))]
    EndlessLoop {
        /// The loop of the reported thread.
        inside: Option<Loop>,
        /// Number of threads waiting at each place.
        waiting: Vec<(u32, Place)>,
    },
}

/// A loop of a program, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The file and the first and last source line, if known.
    pub source: Option<(String, u32, u32)>,
    /// The first and last line of its PTX text.
    pub ptx_lines: (u32, u32),
    /// Its first instruction.
    pub head: Place,
    /// Number of iterations by a warp, including those of inner loops.
    pub rounds: u64,
    /// Whether it contains other loops.
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

fn near(nearest: &Option<Nearest>) -> String {
    match nearest {
        Some(nearest) => nearest.to_string(),
        None => "which holds no allocation".to_owned(),
    }
}

fn each<T>(all: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    all.into_iter().map(text).collect()
}

fn waits((threads, place): &(u32, Place)) -> String {
    format!("; {threads} threads wait at {place}")
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
