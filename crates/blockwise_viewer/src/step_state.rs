//! Memory and accesses at one step.

use ptx_emulator::metrics::{bank_passes, sectors};
use ptx_emulator::replay::{Replay, Touch};
use ptx_emulator::{Access as AccessKind, Space};
use serde::Serialize;
use std::fmt::Write;

/// A step that was just executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepState {
    /// Its accesses to memory.
    pub accesses: Vec<Access>,
    /// The registers of the first lane that executed it, after the step: names and hexadecimal
    /// values.
    pub registers: Vec<(String, String)>,
    /// That lane's number.
    pub lane: u32,
    /// What the kernel has printed so far.
    pub printed: String,
}

/// An access of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The state space.
    pub space: Space,
    /// Read, write or atomic.
    pub kind: AccessKind,
    /// Bytes per lane.
    pub size: u32,
    /// For each active lane: its number, its address, and the bytes after the step in hexadecimal.
    pub lanes: Vec<(u32, u64, String)>,
    /// The wavefronts of a shared-memory access: bank, word, and the lanes that receive it.
    pub passes: Vec<Vec<(u32, u64, u32)>>,
    /// The sectors of a global-memory access: address, and one bit per byte used.
    pub sectors: Vec<(u64, u32)>,
    /// The number of sectors as the hardware counts them; atomics may need one twice.
    pub touched: u32,
    /// The minimum number of sectors.
    pub needed: u32,
}

impl StepState {
    /// For the step that led to the replay's current position.
    pub(crate) fn of(replay: &Replay) -> Self {
        let Some((instruction, touches)) = replay.done() else {
            return Self {
                accesses: Vec::new(),
                registers: Vec::new(),
                lane: 0,
                printed: String::new(),
            };
        };
        let lane = (instruction.lanes | instruction.active).trailing_zeros() & 31;
        let registers = replay.registers(instruction.block, instruction.warp, lane, 0);
        Self {
            accesses: merged(touches).iter().map(Access::of).collect(),
            registers: registers
                .into_iter()
                .map(|register| (register.name, format!("{:#x}", register.value)))
                .collect(),
            lane,
            printed: replay.printed(),
        }
    }
}

/// Merges lanes that are reported one by one into one access.
fn merged(touches: &[Touch]) -> Vec<Touch> {
    let mut all: Vec<Touch> = Vec::new();
    for touch in touches {
        let same = |known: &&mut Touch| {
            let kind = |touch: &Touch| (touch.space, touch.access, touch.block);
            let new = |lane: u32| known.lanes.iter().all(|known| known.lane != lane);
            kind(known) == kind(touch) && touch.lanes.iter().all(|lane| new(lane.lane))
        };
        match all.iter_mut().find(same) {
            Some(known) => known.lanes.extend(touch.lanes.iter().cloned()),
            None => all.push(touch.clone()),
        }
    }
    all
}

impl Access {
    fn of(touch: &Touch) -> Self {
        let mut addresses = [0; 32];
        let mut active = 0;
        let mut size = 0;
        for lane in &touch.lanes {
            addresses[lane.lane as usize & 31] = lane.address;
            active |= 1 << (lane.lane & 31);
            size = size.max(lane.after.len() as u32);
        }
        let hexadecimal = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                // Writing to a string does not fail.
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        let lanes = touch.lanes.iter();
        let mut access = Self {
            space: touch.space,
            kind: touch.access,
            size,
            lanes: lanes
                .map(|lane| (lane.lane, lane.address, hexadecimal(&lane.after)))
                .collect(),
            passes: Vec::new(),
            sectors: Vec::new(),
            touched: 0,
            needed: 0,
        };
        match touch.space {
            Space::Shared => {
                access.passes = bank_passes(&addresses, active, size, touch.access)
                    .into_iter()
                    .map(|pass| {
                        let served = pass.into_iter();
                        let served = served.map(|served| (served.bank, served.word, served.lanes));
                        served.collect()
                    })
                    .collect();
            }
            Space::Global => {
                let cost = sectors(&addresses, active, size, touch.access);
                (access.touched, access.needed) = (cost.touched, cost.needed);
                access.sectors = used(touch);
            }
            _ => {}
        }
        access
    }
}

/// The sectors that the lanes touch, and the bytes used in each.
fn used(touch: &Touch) -> Vec<(u64, u32)> {
    let mut all = std::collections::BTreeMap::new();
    for lane in &touch.lanes {
        for address in (lane.address..).take(lane.after.len()) {
            *all.entry(address / 32 * 32).or_default() |= 1_u32 << (address % 32);
        }
    }
    all.into_iter().collect()
}
