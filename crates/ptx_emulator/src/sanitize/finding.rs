use crate::emulator::Statistics;
use crate::fault::{Access, Place, Space};
use crate::source::SourceLocation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mistake that a check found: what, where, and what would help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What sort of mistake it is.
    pub rule: Rule,
    /// Whether the result is wrong or undefined, or only not sure to be right.
    pub severity: Severity,
    /// The mistake in one line, without places.
    pub message: String,
    /// The access or instruction that shows the mistake.
    pub site: Site,
    /// Other places that belong to it: for a race the earlier access, for a divergent barrier where the rest waits.
    pub others: Vec<Site>,
    /// What would put it right.
    pub hint: Option<String>,
    /// How often it happened between these places; `site` and `others` show the first time.
    pub count: u64,
    /// The seed of the schedule that showed it; `None` is the emulator's own order.
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
    /// Every frame that the compiler inlined there, innermost first.
    pub inlined: Vec<SourceLocation>,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in the block; `None` where `what` speaks of several.
    pub thread: Option<[u32; 3]>,
    /// How many barriers of the whole block had been completed before.
    pub epoch: u32,
    /// The memory accessed, when the site is an access.
    pub target: Option<Target>,
}

impl Site {
    /// The place in the source and every frame that was inlined there, when the program has its lines.
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
    /// The address: an offset in the shared and local spaces.
    #[serde(with = "hexadecimal")]
    pub address: u64,
    /// Bytes.
    pub size: u32,
    /// What was written, or stood there when it was read, where that is known: the low bytes of the access.
    #[serde(with = "hexadecimal::optional")]
    pub value: Option<u64>,
}

/// How bad a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Undefined by PTX's rules, and the same whatever happens: threads that write the same value.
    Information,
    /// Right on the machines of today, but not by PTX's rules: a race within a warp. Or a result that depends on the order
    /// of the threads, which may be meant.
    Warning,
    /// Wrong or undefined.
    Error,
}

/// The detector that a [`Rule`] belongs to, named as compute-sanitizer names its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Races.
    Racecheck,
    /// Accesses outside of memory.
    Memcheck,
    /// Values that nobody wrote.
    Initcheck,
    /// Barriers.
    Synccheck,
    /// Results that depend on the order in which threads run.
    Schedule,
    /// The program stopped by itself, or did something else that has no result.
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
        /// What sort of mistake a [`Finding`] is.
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

            /// A name for programs that read reports; it stays the same in later versions.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$rule => $name,)* }
            }

            /// What the rule says, in one sentence.
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
        "The result depends on the order in which threads run.";
    Trap = Program, "program-trap",
        "The program stopped itself.";
    Assert = Program, "program-assert",
        "An assertion failed, or Rust code panicked.";
    Undefined = Program, "program-undefined",
        "The program did something that PTX leaves undefined.";
    Unsupported = Program, "program-unsupported",
        "The program needs something that the emulator does not have; this is not its mistake.";
}

/// What to look for in a check. Bad accesses and bad barriers are always looked for: they end the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Races on shared and global memory.
    pub race: bool,
    /// Bytes of global memory that a launch may touch before its races there are no longer looked for, counted in pages of
    /// 4 KiB; a byte takes up to 13 bytes of the host's memory. [`CheckReport::notices`] says when it was too little.
    pub race_bytes: u64,
    /// Uses of values that nobody wrote.
    pub init: bool,
    /// How many further schedules to try, each with a seed of its own.
    pub schedules: u32,
    /// The first schedule's seed; the others count up from it.
    pub seed: u64,
    /// Different findings to keep, at most; of more than that, the worst.
    pub max_findings: usize,
    /// What is only for information otherwise is an error.
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

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The kernel that was launched.
    pub kernel: String,
    /// The findings, one for each rule and pair of places, the worst first.
    pub findings: Vec<Finding>,
    /// Findings that did not fit into [`CheckOptions::max_findings`].
    pub dropped: u64,
    /// What was not looked for, and why, in sentences.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Schedules that ran, the emulator's own included.
    pub schedules: u32,
    /// What the launch in the emulator's own order did; up to the fault, when it had one.
    pub statistics: Statistics,
}

impl CheckReport {
    /// Whether there is no error and no warning.
    pub fn is_clean(&self) -> bool {
        self.passes(Severity::Warning)
    }

    /// Whether nothing was found that has this severity or a worse one.
    pub fn passes(&self, least: Severity) -> bool {
        // What was dropped is not worse than what was kept, unless nothing was to be kept.
        let unknown = self.dropped > 0 && self.findings.is_empty();
        !unknown && self.findings.iter().all(|finding| finding.severity < least)
    }

    /// How many findings have that severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of).count()
    }
}

/// Numbers of 64 bits in JSON: as text, for readers whose numbers are doubles.
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
