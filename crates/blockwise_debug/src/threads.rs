//! The protocol's threads: warps, and the lanes of the warp in focus. Their stacks.

use crate::debuggee::Debuggee;
use crate::lane::{LaneId, StackFrame, thread_index};
use crate::lines::Frame;
use ptx_emulator::replay::{Status, WarpState};
use serde_json::{Value, json};
use std::path::Path;

/// The most warps that are listed.
const MOST: usize = 256;
/// Ids per warp: its own and 32 for its lanes.
const NUMBERS: u64 = 33;
/// Stack frames that have ids of their own.
const FRAMES: i64 = 256;

/// The id of a lane that is a thread of its own.
pub(crate) fn lane_number(debuggee: &Debuggee, at: LaneId) -> i64 {
    warp_number(debuggee, at) + 1 + i64::from(at.lane)
}

fn warp_number(debuggee: &Debuggee, at: LaneId) -> i64 {
    let warps = warps_of_block(debuggee);
    let number = (at.block * warps + u64::from(at.warp)) * NUMBERS;
    1 + i64::try_from(number).unwrap_or(0)
}

fn warps_of_block(debuggee: &Debuggee) -> u64 {
    let threads: u32 = debuggee.replay.config().block.iter().product();
    u64::from(threads.div_ceil(32))
}

/// The lane that a thread id refers to: for a warp, its first lane that still runs.
pub(crate) fn lane(debuggee: &Debuggee, number: i64) -> Option<LaneId> {
    let number = u64::try_from(number.checked_sub(1)?).ok()?;
    let (warp, lane) = (number / NUMBERS, number % NUMBERS);
    let warps = warps_of_block(debuggee);
    let at = LaneId {
        block: warp / warps,
        warp: (warp % warps) as u32,
        lane: (lane.max(1) - 1) as u32,
    };
    let [x, y, z] = debuggee.replay.config().grid.map(u64::from);
    if at.block >= x * y * z {
        return None;
    }
    let states = debuggee.replay.warps(at.block);
    let group = states
        .get(at.warp as usize)
        .and_then(|warp| warp.groups.first());
    match (lane, group) {
        (0, Some(group)) => Some(LaneId {
            lane: group.lanes.trailing_zeros() & 31,
            ..at
        }),
        _ => Some(at),
    }
}

/// The running warps and the lanes of the one in focus; and how many were left out.
pub(crate) fn list(debuggee: &Debuggee) -> Value {
    let replay = &debuggee.replay;
    let focus = debuggee.focus;
    let mut threads = Vec::new();
    let mut blocks = replay.running();
    // The one in focus is never left out.
    blocks.sort_by_key(|&block| (block != focus.block, block));
    let mut left = 0;
    for block in blocks {
        let [x, y, z] = replay.block_index(block);
        for warp in replay.warps(block).iter().filter(|warp| warp.live != 0) {
            let at = LaneId {
                block,
                warp: warp.warp,
                lane: 0,
            };
            if threads.len() >= MOST {
                left += 1;
                continue;
            }
            let name = format!("block ({x}, {y}, {z}) warp {}: {}", warp.warp, what(warp));
            threads.push(json!({ "id": warp_number(debuggee, at), "name": name }));
            if (block, warp.warp) != (focus.block, focus.warp) {
                continue;
            }
            for lane in (0..32).filter(|lane| warp.live >> lane & 1 == 1) {
                let at = LaneId { lane, ..at };
                let [x, y, z] = thread_index(replay.config(), at);
                let name = format!("  lane {lane}: thread ({x}, {y}, {z})");
                threads.push(json!({ "id": lane_number(debuggee, at), "name": name }));
            }
        }
    }
    if threads.is_empty() || debuggee.stands(focus).is_none() {
        let name = format!("{} has ended", debuggee.describe(focus));
        threads.insert(
            0,
            json!({ "id": lane_number(debuggee, focus), "name": name }),
        );
    }
    if left > 0 {
        threads.push(json!({ "id": 0, "name": format!("and {left} more warps") }));
    }
    json!({ "threads": threads })
}

/// What a warp is doing.
fn what(warp: &WarpState) -> String {
    let groups = warp.groups.iter().map(|group| {
        let lanes = group.lanes.count_ones();
        match group.status {
            Status::Next => format!("{lanes} lanes next"),
            Status::Ready => format!("{lanes} lanes ready"),
            Status::Barrier { id, threads: None } => format!("{lanes} lanes at barrier {id}"),
            Status::Barrier {
                id,
                threads: Some(count),
            } => {
                format!("{lanes} lanes at barrier {id} for {count} threads")
            }
            Status::Cluster => format!("{lanes} lanes at the cluster's barrier"),
            Status::Members => format!("{lanes} lanes wait for members"),
        }
    });
    groups.collect::<Vec<_>>().join(", ")
}

/// The frames of a thread, innermost first.
pub(crate) fn stack(debuggee: &Debuggee, number: i64, first: usize, count: usize) -> Option<Value> {
    let (pc, calls) = position(debuggee, lane(debuggee, number)?)?;
    let lines = &debuggee.lines;
    let mut frames = Vec::new();
    let ahead = debuggee.ahead_of(lane(debuggee, number)?, pc);
    for (call, pc) in std::iter::once(pc).chain(calls).enumerate() {
        let chain = lines.frames(pc);
        let outermost = chain.len().saturating_sub(1);
        let ahead = if call == 0 { ahead } else { 0 };
        for (inner, place) in chain.iter().enumerate().skip(ahead) {
            let name = match inner == outermost {
                true => lines.function(pc).to_owned(),
                false => inlined(debuggee, pc, place),
            };
            let id = number * FRAMES + (frames.len() as i64).min(FRAMES - 1);
            frames.push(frame(id, name, place, lines.ptx_line(pc)));
        }
    }
    let total = frames.len();
    let shown: Vec<Value> = frames.into_iter().skip(first).take(count).collect();
    Some(json!({ "stackFrames": shown, "totalFrames": total }))
}

/// The name of an inlined function, where there is debug information.
fn inlined(debuggee: &Debuggee, pc: u32, Frame { at, depth, .. }: &Frame) -> String {
    let (lines, dwarf) = (&debuggee.lines, debuggee.dwarf.as_ref().ok());
    let name = dwarf.and_then(|dwarf| dwarf.function(lines.ptx_line(pc), lines.table(pc), *depth));
    match name {
        Some(name) if name.starts_with("{closure") => "a closure".to_owned(),
        Some(name) => name.to_owned(),
        None => format!("inlined from {}", file_name(&at.file)),
    }
}

/// The frame of an id.
pub(crate) fn frame_of(debuggee: &Debuggee, frame: i64) -> Option<StackFrame> {
    let lane = lane(debuggee, frame.div_euclid(FRAMES))?;
    let mut left = usize::try_from(frame.rem_euclid(FRAMES)).ok()?;
    let (pc, calls) = position(debuggee, lane)?;
    for (call, pc) in std::iter::once(pc).chain(calls).enumerate() {
        let ahead = match call {
            0 => debuggee.ahead_of(lane, pc),
            _ => 0,
        };
        let frames = debuggee.lines.frames(pc).len() - ahead;
        if left < frames {
            let inner = left + ahead;
            return Some(StackFrame {
                lane,
                call,
                pc,
                inner,
            });
        }
        left -= frames;
    }
    None
}

/// The innermost frame of a lane.
pub(crate) fn top(debuggee: &Debuggee, lane: LaneId) -> Option<StackFrame> {
    let (pc, _) = position(debuggee, lane)?;
    Some(StackFrame {
        lane,
        call: 0,
        pc,
        inner: debuggee.ahead_of(lane, pc),
    })
}

/// A lane's position; after its end, the launch's.
fn position(debuggee: &Debuggee, lane: LaneId) -> Option<(u32, Vec<u32>)> {
    let done = debuggee.replay.done();
    let last = done.map(|(instruction, _)| (instruction.pc, Vec::new()));
    debuggee.stands(lane).or(last)
}

fn frame(id: i64, name: String, Frame { at, library, .. }: &Frame, ptx_line: u32) -> Value {
    let mut frame = json!({
        "id": id,
        "name": name,
        "line": at.line,
        "column": at.column,
        "source": { "name": file_name(&at.file), "path": at.file },
        "instructionPointerReference": format!("ptx:{ptx_line}"),
    });
    if *library {
        frame["presentationHint"] = "subtle".into();
        frame["source"]["presentationHint"] = "deemphasize".into();
    }
    frame
}

fn file_name(file: &str) -> String {
    let name = Path::new(file).file_name();
    name.map_or_else(
        || file.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
