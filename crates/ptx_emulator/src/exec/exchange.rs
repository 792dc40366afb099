//! Shuffles, votes, matches and reductions between the lanes of a warp.

use super::frame::{Frame, Row32, lanes};
use super::observe::Stray;
use super::raise::{Checked, raise};
use crate::decode::op::{Op, Reduce, Row, ShuffleMode, WarpKind, WarpOp};
use crate::fault::FaultKind;
use std::hint::black_box;

/// The union of the executing lanes' member masks.
#[inline(always)]
pub(super) fn needed(members: &Row32, mask: u32) -> u32 {
    // Otherwise the compiler expands the mask over lanes ahead of every instruction.
    let mask = black_box(mask);
    let mut needed = 0;
    for (lane, &member) in members.iter().enumerate() {
        needed |= if mask & (1 << lane) != 0 { member } else { 0 };
    }
    needed
}

/// The lanes of `mask` that must wait: a live member of their mask does not execute the instruction
/// with them and with the same member mask.
#[inline(always)]
pub(crate) fn incomplete(members: &Row32, mask: u32, live: u32) -> u32 {
    let first = members[(mask.trailing_zeros() & 31) as usize];
    if *members == [first; 32] {
        return if first & live & !mask == 0 { 0 } else { mask };
    }
    incomplete_groups(members, mask, live)
}

#[inline(never)]
fn incomplete_groups(members: &Row32, mask: u32, live: u32) -> u32 {
    let mut missing = 0;
    groups(members, mask, |group| {
        let named = members[group.trailing_zeros() as usize];
        if named & live & !group != 0 {
            missing |= group;
        }
    });
    missing
}

/// Whether the instruction will be executed again, once all lanes that it needs have arrived.
pub(crate) fn waits(op: &Op, mask: u32, frame: &Frame<'_>) -> bool {
    let waits = |members| incomplete(frame.r32(members), mask, !frame.dead) != 0;
    match *op {
        Op::WarpBarrier { members } => waits(members),
        Op::Warp(ref op) => waits(op.members),
        Op::Matrix(_) => mask != 0 && mask != !frame.dead,
        _ => false,
    }
}

/// Calls `each` once per member mask, with the lanes of `mask` that have it.
pub(crate) fn groups(members: &Row32, mask: u32, mut each: impl FnMut(u32)) {
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let group = lanes(rest)
            .filter(|&lane| members[lane] == members[first])
            .fold(0, |group, lane| group | 1 << lane);
        rest &= !group;
        each(group);
    }
}

/// Executes the instruction for the lanes of `mask`, which include every live member. `stray` is
/// called for lanes whose result PTX leaves undefined.
#[inline(never)]
pub(super) fn execute(
    op: &WarpOp,
    frame: &mut Frame<'_>,
    mask: u32,
    mut stray: impl FnMut(Stray),
) -> Checked<()> {
    if let WarpKind::ActiveMask { d } = op.kind {
        frame.set32(d, &[mask; 32], mask);
        return Ok(());
    }
    // Lanes with different member masks form separate groups.
    let members = *frame.r32(op.members);
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let group = lanes(rest)
            .filter(|&lane| members[lane] == members[first])
            .fold(0, |group, lane| group | 1 << lane);
        rest &= !group;
        members_only(&op.form, &members, group)?;
        self::group(op, frame, members[first], group, &mut stray);
    }
    Ok(())
}

/// Checks that lanes are members of the mask that they execute with.
pub(super) fn members_only(form: &str, members: &Row32, mask: u32) -> Checked<()> {
    let mut outside = 0;
    for (lane, &members) in members.iter().enumerate() {
        outside |= (!members >> lane & 1) << lane;
    }
    match lanes(outside & mask).next() {
        None => Ok(()),
        Some(lane) => {
            let problem = format!("lane {lane} executes it without being a member");
            Err(fault(form, members[lane], mask, lane, problem))
        }
    }
}

#[cold]
fn fault(
    form: &str,
    members: u32,
    active: u32,
    lane: usize,
    problem: String,
) -> Box<super::raise::Raised> {
    raise(
        lane,
        FaultKind::WarpSync {
            form: form.to_owned(),
            members,
            active,
            problem,
        },
    )
}

/// Executes the instruction for the lanes of one member mask.
fn group(
    op: &WarpOp,
    frame: &mut Frame<'_>,
    members: u32,
    group: u32,
    stray: &mut impl FnMut(Stray),
) {
    match op.kind {
        WarpKind::Shuffle {
            mode,
            d,
            p,
            a,
            b,
            c,
        } => {
            let values = *frame.r32(a);
            let (sources, valid) = shuffle_sources(mode, frame.r32(b), frame.r32(c));
            let mut result = values;
            let mut outside = 0;
            for lane in 0..32 {
                let source = sources[lane] & 31;
                result[lane] = values[source as usize];
                outside |= (!group >> source & 1) << lane;
            }
            // They get the other lane's register contents, as on a GPU.
            if let Some(lane) = lanes(outside & group).next() {
                stray(Stray {
                    lanes: outside & group,
                    source: sources[lane],
                    members,
                    active: group,
                });
            }
            frame.set32(d, &result, group);
            if let Some(p) = p {
                frame.set_predicate(p, valid, group);
            }
        }
        WarpKind::VoteAll { d, p } => {
            let all = p.lanes(frame.predicates) & group == group;
            frame.set_predicate(d, spread(all), group);
        }
        WarpKind::VoteAny { d, p } => {
            let any = p.lanes(frame.predicates) & group != 0;
            frame.set_predicate(d, spread(any), group);
        }
        WarpKind::VoteUniform { d, p } => {
            let lanes = p.lanes(frame.predicates) & group;
            frame.set_predicate(d, spread(lanes == 0 || lanes == group), group);
        }
        WarpKind::Ballot { d, p } => {
            let lanes = p.lanes(frame.predicates) & group;
            frame.set32(d, &[lanes; 32], group);
        }
        WarpKind::MatchAny { d, a } => {
            for lane in lanes(group) {
                let value = frame.get(a, lane);
                let equal = lanes(group).filter(|&other| frame.get(a, other) == value);
                let equal = equal.fold(0, |equal, other| equal | 1 << other);
                frame.put(crate::decode::op::Reg::R32(d), lane, equal);
            }
        }
        WarpKind::MatchAll { d, p, a } => {
            let first = group.trailing_zeros() as usize;
            let equal = lanes(group).all(|lane| frame.get(a, lane) == frame.get(a, first));
            frame.set32(d, &[if equal { group } else { 0 }; 32], group);
            if let Some(p) = p {
                frame.set_predicate(p, spread(equal), group);
            }
        }
        WarpKind::Reduce { op, d, a } => {
            let result = reduce(op, frame, a, group);
            frame.set32(d, &[result; 32], group);
        }
        WarpKind::Elect { d, p } => {
            let leader = group & group.wrapping_neg();
            if let Some(d) = d {
                frame.set32(d, &[leader.trailing_zeros(); 32], group);
            }
            frame.set_predicate(p, leader, group);
        }
        WarpKind::ActiveMask { .. } => {}
    }
}

fn spread(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// The source lane of each lane, and the lanes whose source is inside their segment; the others
/// read their own value.
pub(crate) fn shuffle_sources(mode: ShuffleMode, b: &Row32, c: &Row32) -> (Row32, u32) {
    #[inline(always)]
    fn each(mode: ShuffleMode, b: &Row32, c: &Row32) -> (Row32, u32) {
        let (mut sources, mut valid) = ([0; 32], 0);
        for lane in 0..32 {
            let (source, inside) = shuffle_source(mode, lane as u32, b[lane], c[lane]);
            sources[lane] = if inside { source } else { lane as u32 };
            valid |= u32::from(inside) << lane;
        }
        (sources, valid)
    }
    // A separate loop for each mode, so that each is vectorised.
    match mode {
        ShuffleMode::Up => each(ShuffleMode::Up, b, c),
        ShuffleMode::Down => each(ShuffleMode::Down, b, c),
        ShuffleMode::Butterfly => each(ShuffleMode::Butterfly, b, c),
        ShuffleMode::Index => each(ShuffleMode::Index, b, c),
    }
}

/// The source lane, and whether it is inside the segment that `c` describes.
#[inline(always)]
fn shuffle_source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 31;
    let clamp = c & 31;
    let segment = (c >> 8) & 31;
    let highest = (lane & segment) | (clamp & !segment & 31);
    let lowest = lane & segment;
    match mode {
        ShuffleMode::Up => {
            let source = lane as i32 - b as i32;
            (source as u32 & 31, source >= highest as i32)
        }
        ShuffleMode::Down => (lane.wrapping_add(b) & 31, lane + b <= highest),
        ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= highest),
        ShuffleMode::Index => {
            let source = lowest | (b & !segment & 31);
            (source, source <= highest)
        }
    }
}

fn reduce(op: Reduce, frame: &Frame<'_>, a: Row, group: u32) -> u32 {
    let values = frame.r32(a);
    let combine = |x: u32, y: u32| match op {
        Reduce::Add => x.wrapping_add(y),
        Reduce::MinUnsigned => x.min(y),
        Reduce::MaxUnsigned => x.max(y),
        Reduce::MinSigned => (x as i32).min(y as i32) as u32,
        Reduce::MaxSigned => (x as i32).max(y as i32) as u32,
        Reduce::And => x & y,
        Reduce::Or => x | y,
        Reduce::Xor => x ^ y,
    };
    lanes(group)
        .map(|lane| values[lane])
        .reduce(combine)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_stay_in_their_segment() {
        // Segments of 8 lanes: c = ((32 - 8) << 8) | 7 for down, | 0 for up.
        assert_eq!(shuffle_source(ShuffleMode::Down, 5, 2, 0x1807), (7, true));
        assert!(!shuffle_source(ShuffleMode::Down, 6, 2, 0x1807).1);
        assert_eq!(shuffle_source(ShuffleMode::Up, 10, 2, 0x1800), (8, true));
        assert!(!shuffle_source(ShuffleMode::Up, 9, 2, 0x1800).1);
        assert_eq!(
            shuffle_source(ShuffleMode::Butterfly, 12, 3, 0x1f),
            (15, true)
        );
        assert_eq!(
            shuffle_source(ShuffleMode::Index, 19, 5, 0x181f),
            (21, true)
        );
        assert!(!shuffle_source(ShuffleMode::Down, 31, 31, 31).1);
    }
}
