use super::collect::{Collector, Tally};
use super::counters::Counters;
use super::footprint::Footprint;
use crate::decode::Program;
use crate::decode::{InstructionClass, Kind};
use crate::launch::LaunchConfig;
use std::collections::HashMap;

/// The counts of a launch, by instruction.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The kernel's name.
    pub kernel: String,
    /// The launch's shape.
    pub config: LaunchConfig,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u64,
    /// The instructions executed, in program order; there may be very many.
    instructions: Vec<Executed>,
    /// The source files to which `Executed::file` refers.
    files: Vec<String>,
    /// The device memory touched.
    pub footprint: Footprint,
}

/// The counts of one PTX instruction.
#[derive(Clone, Debug)]
struct Executed {
    /// Index of its source file; `None` if the line is of the PTX text.
    file: Option<u32>,
    line: u32,
    kind: Kind,
    tally: Tally,
}

/// The counts of one line.
#[derive(Clone, Debug)]
pub struct LineProfile {
    /// The source file; `None` for instructions without a source line, whose line is that of the
    /// PTX text.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// The line's counts.
    pub counters: Counters,
}

impl Profile {
    pub(crate) fn new(
        kernel: &str,
        config: LaunchConfig,
        shared_bytes: u64,
        program: &Program,
        collectors: Vec<Collector<'_>>,
    ) -> Self {
        let (tallies, footprint) = Collector::merge(collectors);
        let mut files = Vec::new();
        let mut places = HashMap::new();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let executed = (0..).zip(tallies).zip(&program.kinds);
        let executed = executed.filter_map(|((pc, tally), &kind)| {
            let kind = kind.filter(|_| tally.warps > 0)?;
            let (ptx_line, position) = program.lines[pc];
            let place = places.entry(position).or_insert_with(|| {
                let source = program.positions.user(position)?;
                let number = numbers.entry(source.file).or_insert_with_key(|file| {
                    files.push(file.clone());
                    files.len() as u32 - 1
                });
                Some((*number, source.line))
            });
            let (file, line) = place.map_or((None, ptx_line), |(file, line)| (Some(file), line));
            Some(Executed {
                file,
                line,
                kind,
                tally,
            })
        });
        let instructions = executed.collect();
        Self {
            kernel: kernel.to_owned(),
            config,
            shared_bytes,
            instructions,
            files,
            footprint,
        }
    }

    /// The whole launch.
    pub fn total(&self) -> Counters {
        let mut total = Counters::default();
        for instruction in &self.instructions {
            total += &counters(instruction);
        }
        total
    }

    /// Whether any instruction has a source line.
    pub fn has_source_lines(&self) -> bool {
        self.instructions
            .iter()
            .any(|instruction| instruction.file.is_some())
    }

    /// Per source line, sorted by file and line; lines of the PTX text come first.
    pub fn lines(&self) -> impl Iterator<Item = LineProfile> {
        let place = |instruction: &Executed| {
            let file = instruction.file.map(|file| &self.files[file as usize]);
            (file, instruction.line)
        };
        let mut order: Vec<&Executed> = self.instructions.iter().collect();
        order.sort_by_key(|instruction| place(instruction));
        let mut order = order.into_iter().peekable();
        // One line at a time: there may be very many.
        std::iter::from_fn(move || {
            let first = order.next()?;
            let mut sum = counters(first);
            while let Some(next) = order.next_if(|next| place(next) == place(first)) {
                sum += &counters(next);
            }
            Some(LineProfile {
                file: place(first).0.cloned(),
                line: first.line,
                counters: sum,
            })
        })
    }
}

/// An instruction's tally as named counters.
fn counters(Executed { kind, tally, .. }: &Executed) -> Counters {
    let class = kind.class;
    let mut counters = Counters {
        warp_instructions: tally.warps,
        lane_instructions: tally.lanes,
        divergent_branches: tally.divergent,
        local_requests: tally.local_requests,
        ..Counters::default()
    };
    counters.by_class[class as usize] = tally.warps;
    counters.flops[kind.precision as usize] = u64::from(kind.flops) * tally.lanes;
    match class {
        InstructionClass::Barrier => counters.barriers = tally.warps,
        InstructionClass::Branch => counters.branches = tally.warps,
        InstructionClass::Store => {
            (counters.shared_stores, counters.global_stores) = (tally.shared, tally.global);
        }
        InstructionClass::Atomic => {
            (counters.shared_atomics, counters.global_atomics) = (tally.shared, tally.global);
        }
        InstructionClass::Copy => {
            (counters.shared_stores, counters.global_loads) = (tally.shared, tally.global);
        }
        _ => (counters.shared_loads, counters.global_loads) = (tally.shared, tally.global),
    }
    counters
}
