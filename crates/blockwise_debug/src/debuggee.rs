//! The launch that a session debugs, and the user's position in it.

use crate::Loaded;
use crate::breaks::Breaks;
use crate::element::{Element, Evaluated};
use crate::expression::Scope;
use crate::lane::{LaneId, first_lane, identity, thread_index};
use crate::lines::Lines;
use crate::names::Names;
use ptx_emulator::replay::Replay;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a variables reference refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Container {
    /// The values that the last step read and wrote.
    Step,
    Registers(LaneId, usize),
    Parameters,
    /// The shared arrays of a block.
    Shared(u64),
    Global,
    /// An array by its number, and the block whose shared memory it is in.
    Array(usize, u64),
}

/// A launch, a step of it, and a lane.
pub(crate) struct Debuggee {
    pub(crate) replay: Replay,
    pub(crate) names: Names,
    pub(crate) lines: Lines,
    pub(crate) breaks: Breaks,
    pub(crate) focus: LaneId,
    /// What variables references refer to, until the next stop.
    pub(crate) containers: Vec<Container>,
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
            sources,
        } = loaded;
        let kernel = replay.next().map(|next| replay.location(next.pc).function);
        let names = Names::of(&replay, &kernel.unwrap_or_default(), &types);
        let lines = Lines::of(&replay, &sources, ptx, just_my_code);
        let mut debuggee = Self {
            replay,
            names,
            lines,
            breaks: Breaks::default(),
            focus: LaneId::default(),
            containers: Vec::new(),
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

    /// Whether a name has a meaning somewhere in the kernel.
    pub(crate) fn knows(&self, name: &str) -> bool {
        name.starts_with('%')
            || name == "step"
            || identity(&self.replay, self.focus, name).is_some()
            || self.names.array(name).is_some()
            || self.names.parameters.iter().any(|known| known.name == name)
    }

    /// The current meaning of names for a lane.
    pub(crate) fn scope(&self, lane: LaneId) -> Here<'_> {
        Here {
            debuggee: self,
            lane,
        }
    }

    /// "block (1, 0, 0), thread (37, 0, 0)".
    pub(crate) fn describe(&self, at: LaneId) -> String {
        let [x, y, z] = self.replay.block_index(at.block);
        let [tx, ty, tz] = thread_index(self.replay.config(), at);
        format!("block ({x}, {y}, {z}), thread ({tx}, {ty}, {tz})")
    }
}

/// Names as a lane sees them at the current step.
pub(crate) struct Here<'a> {
    debuggee: &'a Debuggee,
    lane: LaneId,
}

impl Scope for Here<'_> {
    fn value(&self, name: &str, index: Option<i128>) -> Option<Evaluated> {
        let Debuggee { replay, names, .. } = self.debuggee;
        if let Some(index) = index {
            let array = names.array(name)?;
            let bytes = array.read(replay, self.lane.block, u64::try_from(index).ok()?)?;
            return Some(array.element.value(&bytes));
        }
        if let Some(value) = identity(replay, self.lane, name) {
            return Some(value);
        }
        if name == "step" {
            return Some(Evaluated::Integer(replay.at().into()));
        }
        if let Some(parameter) = names.parameters.iter().find(|known| known.name == name) {
            let size = parameter.bytes.len() as u32;
            let element = parameter.element.filter(|element| element.size() == size);
            let element = element.unwrap_or(Element::Unsigned(size));
            return Some(element.value(&parameter.bytes));
        }
        let LaneId { block, warp, lane } = self.lane;
        let registers = replay.registers(block, warp, lane, 0);
        let register = registers.into_iter().find(|register| register.name == name);
        register.map(|register| Evaluated::Integer(register.value.into()))
    }
}
