use super::class::InstructionClass;
use super::collect::{Collector, Tally};
use super::counters::Counters;
use super::footprint::Footprint;
use crate::decode::Program;
use crate::emulator::LaunchConfig;
use crate::fault::Place;

/// What a launch did, instruction by instruction.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The kernel.
    pub kernel: String,
    /// The launch's shape.
    pub config: LaunchConfig,
    /// Shared memory of a block, static and dynamic, in bytes.
    pub shared_bytes: u64,
    /// The instructions that were executed, in the order of the program.
    pub instructions: Vec<InstructionProfile>,
    /// The device memory that was touched.
    pub footprint: Footprint,
}

/// What one PTX instruction did.
#[derive(Clone, Debug)]
pub struct InstructionProfile {
    /// Where it stands.
    pub place: Place,
    /// What kind of instruction it is.
    pub class: InstructionClass,
    /// Its counts.
    pub counters: Counters,
}

/// What the instructions of one line did.
#[derive(Clone, Debug)]
pub struct LineProfile {
    /// The file of the source; `None` for instructions without a source line, whose line is the PTX text's.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// Their counts.
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
        let executed = (0..).zip(&tallies).zip(&program.kinds);
        let instructions = executed.filter_map(|((pc, tally), kind)| {
            let kind = kind.filter(|_| tally.warps > 0)?;
            let mut counters = counters(kind.class, tally);
            counters.flops[kind.precision as usize] = u64::from(kind.flops) * tally.lanes;
            Some(InstructionProfile {
                place: program.place(pc),
                class: kind.class,
                counters,
            })
        });
        Self {
            kernel: kernel.to_owned(),
            config,
            shared_bytes,
            instructions: instructions.collect(),
            footprint,
        }
    }

    /// The whole launch.
    pub fn total(&self) -> Counters {
        let mut total = Counters::default();
        for instruction in &self.instructions {
            total += &instruction.counters;
        }
        total
    }

    /// By source line, in the order of files and lines; lines of the PTX text come first.
    pub fn lines(&self) -> Vec<LineProfile> {
        let mut lines: Vec<LineProfile> = Vec::new();
        for instruction in &self.instructions {
            let place = &instruction.place;
            let (file, line) = match &place.source {
                Some(source) => (Some(&source.file), source.line),
                None => (None, place.ptx_line),
            };
            let at = lines
                .binary_search_by(|known| (known.file.as_ref(), known.line).cmp(&(file, line)));
            let at = at.unwrap_or_else(|at| {
                let counters = Counters::default();
                lines.insert(
                    at,
                    LineProfile {
                        file: file.cloned(),
                        line,
                        counters,
                    },
                );
                at
            });
            lines[at].counters += &instruction.counters;
        }
        lines
    }
}

/// A tally under the names of what the instruction is.
fn counters(class: InstructionClass, tally: &Tally) -> Counters {
    let mut counters = Counters {
        warp_instructions: tally.warps,
        lane_instructions: tally.lanes,
        divergent_branches: tally.divergent,
        local_requests: tally.local_requests,
        ..Counters::default()
    };
    counters.by_class[class as usize] = tally.warps;
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
