//! Source lines and the instructions that belong to them.

use ptx_emulator::SourceLocation;
use ptx_emulator::replay::{Location, Replay};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The source locations of a launch's instructions.
pub(crate) struct Lines {
    places: HashMap<u32, Location>,
    /// In code order.
    code: Vec<u32>,
    /// Shown where there is no source.
    ptx: String,
}

impl Lines {
    pub(crate) fn of(replay: &Replay, ptx: String) -> Self {
        let code: Vec<u32> = replay.instructions().collect();
        let places = code.iter().map(|&pc| (pc, replay.location(pc)));
        Self {
            places: places.collect(),
            code,
            ptx,
        }
    }

    /// The frames of an instruction, innermost first; its PTX line if it has no source.
    pub(crate) fn frames(&self, pc: u32) -> Vec<SourceLocation> {
        let Some(place) = self.places.get(&pc) else {
            return Vec::new();
        };
        let known = place.frames.iter().filter(|frame| frame.line > 0);
        let frames: Vec<SourceLocation> = known.cloned().collect();
        if !frames.is_empty() {
            return frames;
        }
        vec![SourceLocation {
            file: self.ptx.clone(),
            line: place.ptx_line,
            column: 0,
        }]
    }

    /// The PTX function that contains an instruction.
    pub(crate) fn function(&self, pc: u32) -> &str {
        self.places.get(&pc).map_or("", |place| &place.function)
    }

    /// The PTX line of an instruction.
    pub(crate) fn ptx_line(&self, pc: u32) -> u32 {
        self.places.get(&pc).map_or(0, |place| place.ptx_line)
    }

    /// How many innermost frames belong to libraries, not to the user's code.
    pub(crate) fn library_frames(&self, pc: u32) -> usize {
        let own = self.places.get(&pc).and_then(|place| place.source.as_ref());
        let frames = self.frames(pc);
        let at = own.and_then(|own| frames.iter().position(|frame| frame == own));
        at.unwrap_or(0)
    }

    /// The lines of an instruction, from the kernel's inwards to the innermost one that the user
    /// wrote.
    pub(crate) fn chain(&self, pc: u32) -> Vec<(String, u32)> {
        let inner = self.library_frames(pc);
        let frames = self.frames(pc).into_iter().skip(inner);
        let mut chain: Vec<(String, u32)> = frames.map(|frame| (frame.file, frame.line)).collect();
        chain.reverse();
        chain
    }

    /// Where a line breakpoint is: the line, or the next one with code, and the instructions that
    /// start it.
    pub(crate) fn resolve(&self, file: &str, line: u32) -> Option<(u32, HashSet<u32>)> {
        let is_ptx = same_file(file, &self.ptx);
        let lines_of = |pc: u32| -> Vec<u32> {
            if is_ptx {
                return vec![self.ptx_line(pc)];
            }
            let frames = self.frames(pc).into_iter();
            let here = frames.filter(|frame| same_file(file, &frame.file));
            here.map(|frame| frame.line).collect()
        };
        let known: BTreeSet<u32> = self.code.iter().flat_map(|&pc| lines_of(pc)).collect();
        let found = *known.range(line..).next()?;
        let mut heads = HashSet::new();
        let mut inside = false;
        for &pc in &self.code {
            let holds = lines_of(pc).contains(&found);
            if holds && !inside {
                heads.insert(pc);
            }
            inside = holds;
        }
        Some((found, heads))
    }
}

/// Whether a client's path is one in the line table, which may be relative to an unknown folder.
fn same_file(client: &str, table: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let path = path.replace('\\', "/");
        let parts = Path::new(&path).components();
        let parts = parts.filter_map(|part| match part {
            std::path::Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        });
        parts.collect()
    };
    let (client, table) = (parts(client), parts(table));
    !client.is_empty()
        && !table.is_empty()
        && (client.ends_with(&table) || table.ends_with(&client))
}
