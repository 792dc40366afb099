use crate::fault::{Access, Place, Space};
use crate::launch::Statistics;
use crate::source::SourceLocation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mistake found by a check: what it is, where, and how to fix it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of mistake.
    pub rule: Rule,
    /// Whether the result is wrong, or only possibly wrong.
    pub severity: Severity,
    /// The mistake in one line, without locations.
    pub message: String,
    /// The access or instruction at which it was detected.
    pub site: Site,
    /// Related sites: the earlier access of a race; for a divergent barrier, where the other
    /// threads wait.
    pub others: Vec<Site>,
    /// A suggested fix.
    pub hint: Option<String>,
    /// Number of occurrences between these sites; `site` and `others` show the first one.
    pub count: u64,
    /// Seed of the schedule in which it was found; `None` for the default order.
    pub seed: Option<u64>,
    /// The step of that order in which it happened first, for a [`Replay`](crate::replay::Replay).
    pub step: u64,
}

/// One end of a [`Finding`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// What happened there, as a clause: "write of 4 bytes, value 0x2a".
    pub what: String,
    /// The PTX line and the user's source line.
    pub place: Place,
    /// Every inlined frame, innermost first.
    pub inlined: Vec<SourceLocation>,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in the block; `None` if `what` is about several.
    pub thread: Option<[u32; 3]>,
    /// Number of block-wide barriers completed earlier.
    pub epoch: u32,
    /// The memory accessed, if the site is an access.
    pub target: Option<Target>,
}

impl Site {
    /// The source location and every inlined frame, if the program has line information.
    pub(super) fn source_frames(&self) -> Option<Vec<SourceLocation>> {
        let source = self.place.source.clone()?;
        Some(
            std::iter::once(source)
                .chain(self.inlined.clone())
                .collect(),
        )
    }
}

/// The memory of a [`Site`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Read, write or atomic.
    pub access: Access,
    /// The state space.
    pub space: Space,
    /// The address; in the shared and local spaces, an offset.
    #[serde(with = "hexadecimal")]
    pub address: u64,
    /// Size in bytes.
    pub size: u32,
    /// The value written or read, if known: the low bytes of the access.
    #[serde(with = "hexadecimal::optional")]
    pub value: Option<u64>,
}

/// The severity of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth a look: undefined by PTX's rules, but without effect (threads write the same value, or
    /// what one reads reaches no store); an order that NVIDIA's own headers rely on; a sum that is
    /// rounded in the order of the threads; an output that stays partly unwritten.
    Information,
    /// Correct on current hardware, but not by PTX's rules: a race within a warp. Or a result that
    /// depends on the thread order by more than rounding, which may be intended.
    Warning,
    /// Wrong or undefined.
    Error,
}

/// The detector that a [`Rule`] belongs to, named as compute-sanitizer names its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Races.
    Racecheck,
    /// Invalid accesses.
    Memcheck,
    /// Uses of uninitialised values.
    Initcheck,
    /// Barrier misuse.
    Synccheck,
    /// Results that depend on the thread order.
    Schedule,
    /// The program stopped itself, or did something without a defined result.
    Program,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Information => "information",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tool::Racecheck => "racecheck",
            Tool::Memcheck => "memcheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
            Tool::Schedule => "schedule",
            Tool::Program => "program",
        })
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $tool:ident, $name:literal, $description:literal;)*) => {
        /// The kind of a [`Finding`].
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $description] $(#[$doc])* #[serde(rename = $name)] $rule,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$rule),*];

            /// A stable name for programs that read reports.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// The rule in one sentence.
            pub fn description(self) -> &'static str {
                match self { $(Rule::$rule => $description,)* }
            }

            /// The detector that it belongs to.
            pub fn tool(self) -> Tool {
                match self { $(Rule::$rule => Tool::$tool,)* }
            }
        }
    };
}

rules! {
    ReadAfterWrite = Racecheck, "race-read-after-write",
        "A thread reads what another one wrote, with nothing that orders the two.";
    WriteAfterRead = Racecheck, "race-write-after-read",
        "A thread overwrites what another one read, with nothing that orders the two.";
    WriteAfterWrite = Racecheck, "race-write-after-write",
        "Two threads write the same bytes, with nothing that orders them.";
    AsyncCopy = Racecheck, "race-async-copy",
        "Memory of an asynchronous copy is used before the copy was waited for.";
    NonCoherent = Racecheck, "race-non-coherent",
        "Memory that the kernel writes is read through the path for what stays as it is.";
    OutOfBounds = Memcheck, "memory-out-of-bounds",
        "An access is not inside one allocation or memory space.";
    Misaligned = Memcheck, "memory-misaligned",
        "An address is not a multiple of the size of its access.";
    ReadOnly = Memcheck, "memory-read-only",
        "A write to memory that may only be read.";
    UninitialisedMemory = Initcheck, "init-memory",
        "The program uses a value that it read from memory to which nobody had written.";
    UninitialisedRegister = Initcheck, "init-register",
        "The program uses a register to which it had not written.";
    UnwrittenOutput = Initcheck, "init-output",
        "A launch writes some elements of an output, and leaves others as nobody wrote them.";
    DivergentBarrier = Synccheck, "sync-divergent-barrier",
        "Threads of a block do not all come to the same barrier.";
    InvalidMembers = Synccheck, "sync-invalid-members",
        "The member mask of a warp-level instruction does not fit the threads that execute it.";
    Deadlock = Synccheck, "sync-deadlock",
        "No thread of a block can go on.";
    InvalidOperand = Synccheck, "sync-invalid-operand",
        "An operand that PTX does not allow, such as the thread count of a barrier.";
    StepLimit = Synccheck, "sync-step-limit",
        "The launch executed as many instructions as it was allowed: probably a loop without an end.";
    EndlessLoop = Synccheck, "sync-endless-loop",
        "Every thread waits or goes round a loop, and nothing that the loops read can change.";
    OrderDependent = Schedule, "schedule-result",
        "The result depends on the order in which threads run; for information if only rounding does.";
    Trap = Program, "program-trap",
        "The program stopped itself.";
    Assert = Program, "program-assert",
        "An assertion failed, or Rust code panicked.";
    Undefined = Program, "program-undefined",
        "The program did something that PTX leaves undefined.";
    Unsupported = Program, "program-unsupported",
        "The program needs something that the emulator does not have; this is not its mistake.";
}

/// What a check looks for. Invalid accesses and barriers are always detected: they end the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Races on shared and global memory.
    pub race: bool,
    /// Limit for the global memory in which races are tracked, in bytes and counted in pages of 4
    /// KiB; a byte needs up to 13 bytes of host memory. Memory beyond it is not checked, and
    /// [`CheckReport::notices`] says so.
    pub race_bytes: u64,
    /// Uses of uninitialised values; outputs that stay partly unwritten.
    pub init: bool,
    /// Number of further schedules, each with its own seed.
    pub schedules: u32,
    /// Seed of the first schedule; the others count up from it.
    pub seed: u64,
    /// Maximum number of findings to keep: the most severe ones.
    pub max_findings: usize,
    /// Reports informational findings as errors.
    pub strict: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            race: true,
            race_bytes: 256 << 20,
            init: true,
            schedules: 0,
            seed: 0,
            max_findings: 100,
            strict: false,
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The kernel that was launched.
    pub kernel: String,
    /// The findings, one per rule and pair of places, most severe first.
    pub findings: Vec<Finding>,
    /// Number of findings beyond [`CheckOptions::max_findings`].
    pub dropped: u64,
    /// What was not checked, and why, as sentences.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Number of schedules run, including the default one.
    pub schedules: u32,
    /// Counts of the launch in the default order, up to its fault if it had one.
    pub statistics: Statistics,
}

impl CheckReport {
    /// Whether there is no error and no warning.
    pub fn is_clean(&self) -> bool {
        self.passes(Severity::Warning)
    }

    /// Whether there is no finding of this severity or worse.
    pub fn passes(&self, least: Severity) -> bool {
        // Dropped findings are at most as severe as kept ones, unless none were kept.
        let unknown = self.dropped > 0 && self.findings.is_empty();
        !unknown && self.findings.iter().all(|finding| finding.severity < least)
    }

    /// Number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of).count()
    }
}

/// 64-bit numbers in JSON, as strings, because many readers use doubles.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:#x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        parse(&String::deserialize(from)?)
    }

    fn parse<E: de::Error>(text: &str) -> Result<u64, E> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        u64::from_str_radix(digits, 16).map_err(E::custom)
    }

    pub(super) mod optional {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<u64>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            value.map(|value| format!("{value:#x}")).serialize(to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<u64>, D::Error> {
            let text = Option::<String>::deserialize(from)?;
            text.map(|text| super::parse(&text)).transpose()
        }
    }
}
