//! The launch that a session debugs, and the user's position in it.

use crate::Loaded;
use crate::breaks::Breaks;
use crate::dwarf::{Bytes, Dwarf, Type};
use crate::expression::{Part, Place};
use crate::lane::{LaneId, StackFrame, first_lane, identity, thread_index};
use crate::lines::Lines;
use crate::names::Names;
use crate::written::Written;
use ptx_emulator::replay::Replay;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a variables reference refers to.
#[derive(Clone, Debug)]
pub(crate) enum Container {
    Locals(StackFrame),
    /// The parts of a value: its expression, its type and its bytes.
    Value(String, Type, Bytes),
    /// The values that the last step read and wrote.
    Step,
    Registers(LaneId, usize),
    Parameters,
    /// The shared arrays of a block.
    Shared(u64),
    Global,
    /// An array by its number, the block whose shared memory it is in, and the indices of a row.
    Array(usize, u64, Vec<u64>),
}

/// A launch, a step of it, and a lane.
pub(crate) struct Debuggee {
    pub(crate) replay: Replay,
    pub(crate) names: Names,
    pub(crate) lines: Lines,
    /// The variables of the source, or why there are none.
    pub(crate) dwarf: Result<Dwarf, String>,
    pub(crate) breaks: Breaks,
    pub(crate) focus: LaneId,
    /// The innermost frames of the lane in focus that are not entered yet: it is at the beginning of
    /// code that is inlined into the line that is shown.
    pub(crate) ahead: usize,
    /// What variables references refer to, until the next stop.
    pub(crate) containers: Vec<Container>,
    /// The bytes in them.
    pub(crate) held: usize,
    pub(crate) written: Written,
    /// Bytes of the kernel's output that the client has received.
    pub(crate) shown: usize,
    /// Set while a pause request is waiting.
    pub(crate) interrupt: Arc<AtomicBool>,
}

impl Debuggee {
    pub(crate) fn new(loaded: Loaded, just_my_code: bool, interrupt: Arc<AtomicBool>) -> Self {
        let Loaded {
            replay,
            types,
            ptx,
            text,
            sources,
        } = loaded;
        let kernel = replay.next().map(|next| replay.location(next.pc).function);
        let none = "the PTX has no variables of the source: a build with debug information has \
            (\"build\": \"debug\" in the launch configuration)";
        let dwarf = Dwarf::read(&text).and_then(|dwarf| dwarf.ok_or_else(|| none.to_owned()));
        let described = dwarf.as_ref().ok();
        let names = Names::of(&replay, &kernel.unwrap_or_default(), &types, described);
        let lines = Lines::of(&replay, &sources, ptx, just_my_code);
        let mut debuggee = Self {
            replay,
            names,
            lines,
            dwarf,
            breaks: Breaks::default(),
            focus: LaneId::default(),
            ahead: 0,
            containers: Vec::new(),
            held: 0,
            written: Written::default(),
            shown: 0,
            interrupt,
        };
        debuggee.look_at_next();
        debuggee
    }

    /// Selects the first lane of the next instruction, or of the last one if there is no next.
    pub(crate) fn look_at_next(&mut self) {
        let done = self.replay.done().map(|(instruction, _)| *instruction);
        if let Some(at) = self.replay.next().or(done) {
            self.focus = first_lane(&at);
            // The launch begins in the kernel, also where its first instruction is inlined code's.
            if self.replay.at() == 0 {
                let frames = self.lines.frames(at.pc).iter();
                self.ahead = frames
                    .rev()
                    .skip_while(|frame| frame.library)
                    .skip(1)
                    .count();
            }
        }
    }

    /// A lane's position: its instruction, and the enclosing call instructions, innermost first.
    /// `None` once it has ended.
    pub(crate) fn stands(&self, at: LaneId) -> Option<(u32, Vec<u32>)> {
        let warps = self.replay.warps(at.block);
        let warp = warps.get(at.warp as usize)?;
        let holds = |lanes: u32| lanes >> at.lane & 1 == 1;
        let group = warp.groups.iter().find(|group| holds(group.lanes))?;
        Some((group.pc, group.calls.iter().map(|call| call.pc).collect()))
    }

    /// How many of an instruction's frames are left out of a lane's stack, from the innermost.
    pub(crate) fn ahead_of(&self, lane: LaneId, pc: u32) -> usize {
        let most = self.lines.frames(pc).len().saturating_sub(1);
        match lane == self.focus {
            true => self.ahead.min(most),
            false => 0,
        }
    }

    /// Whether a name has a meaning somewhere in the kernel.
    pub(crate) fn knows(&self, place: &Place) -> bool {
        let dotted = place.parts.iter().map(|part| match part {
            Part::Field(field) => format!(".{field}"),
            Part::Len => ".len()".to_owned(),
            Part::Index(_) => String::new(),
        });
        let dotted: String = std::iter::once(place.name.clone()).chain(dotted).collect();
        let is_parameter = |name: &str| self.names.parameters.iter().any(|it| it.name == name);
        let is_local = |name: &str| self.dwarf.as_ref().is_ok_and(|dwarf| dwarf.has(name));
        place.name.starts_with('%')
            || dotted == "step"
            || identity(&self.replay, self.focus, &dotted).is_some()
            || self
                .names
                .arrays
                .iter()
                .any(|named| named.name == place.name)
            || is_parameter(&dotted)
            || is_local(&place.name)
    }

    /// "block (1, 0, 0), thread (37, 0, 0)".
    pub(crate) fn describe(&self, at: LaneId) -> String {
        let [x, y, z] = self.replay.block_index(at.block);
        let [tx, ty, tz] = thread_index(self.replay.config(), at);
        format!("block ({x}, {y}, {z}), thread ({tx}, {ty}, {tz})")
    }
}
