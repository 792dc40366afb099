//! Barriers of a block: which threads wait, which have yet to arrive, and diagnosis of those that
//! never complete.

use super::launch::Launch;
use super::observe::{Arrived, Complete, Observer};
use super::raise::raise;
use super::split::{Split, State, Waiting};
use super::warp::{Arrival, RaisedAt, Warp, WarpContext};
use crate::decode::op::{BarrierKind, Op};
use crate::fault::{FaultKind, Place};

/// A split waiting at a barrier, by warp and position in it.
#[derive(Clone, Copy)]
struct Waiter {
    warp: usize,
    split: usize,
    waiting: Waiting,
    /// Number of threads that it counts for: whole warps at aligned barriers.
    threads: u32,
}

/// A fault with its warp.
pub(super) type BlockFault = (usize, RaisedAt);

/// Releases threads whose barrier is complete; returns whether there were any.
///
/// `stuck` means that no warp can run, so an incomplete barrier will never complete.
pub(super) fn release<O: Observer + ?Sized>(
    warps: &mut [Warp],
    around: &mut WarpContext<'_, '_, O>,
    stuck: bool,
) -> Result<bool, BlockFault> {
    let launch = around.launch;
    let mut released = false;
    let splits = warps.iter().flat_map(|warp| &warp.splits);
    let waiting = splits.filter_map(|split| match split.state {
        State::Barrier(waiting) => Some(waiting.id),
        _ => None,
    });
    let announced = around.arrivals.iter().map(|arrival| arrival.id);
    let ids = waiting
        .chain(announced)
        .fold(0_u16, |ids, id| ids | 1 << id);
    for id in (0..16).filter(|id| ids & (1 << id) != 0) {
        let waiters = waiters(warps, launch, id)?;
        released |= match waiters.first().map(|waiter| waiter.waiting.count) {
            Some(None) => release_all(warps, &waiters, around)?,
            Some(Some(_)) => release_counted(warps, &waiters, id, around)?,
            None => {
                while release_counted(warps, &[], id, around)? {}
                false
            }
        };
    }
    let cluster = |split: &Split| split.state == State::Cluster;
    let may_go_on = || warps.iter().flat_map(|warp| &warp.splits).any(cluster);
    if !released && stuck && warps.iter().any(|warp| !warp.is_finished()) && !may_go_on() {
        return Err(stuck_fault(warps, launch));
    }
    Ok(released)
}

/// The splits waiting at a barrier, in order of arrival.
///
/// At an aligned barrier all lanes of a warp must have arrived, unless the warp can still run.
fn waiters(warps: &[Warp], launch: &Launch<'_>, id: u32) -> Result<Vec<Waiter>, BlockFault> {
    let mut waiters = Vec::new();
    for (warp_index, warp) in warps.iter().enumerate() {
        for (split_index, split) in warp.splits.iter().enumerate() {
            let State::Barrier(waiting) = split.state else {
                continue;
            };
            if waiting.id != id {
                continue;
            }
            let complete = split.mask == warp.live;
            if waiting.aligned && !complete {
                // Lanes waiting for members of their own warp give a better diagnosis.
                if warp.has_runnable() || warp.awaits_members() {
                    continue;
                }
                let elsewhere = warp.splits.iter().filter(|other| other.pc != split.pc);
                let others =
                    elsewhere.map(|other| (elsewhere_text(other), launch.program.place(other.pc)));
                return Err(divergent(warp_index, split, launch, others.collect()));
            }
            let threads = match waiting.count {
                Some(_) if waiting.aligned => 32,
                _ => split.mask.count_ones(),
            };
            waiters.push(Waiter {
                warp: warp_index,
                split: split_index,
                waiting,
                threads,
            });
        }
    }
    waiters.sort_by_key(|waiter| waiter.waiting.ticket);
    let mixed = waiters
        .iter()
        .find(|waiter| waiter.waiting.count != waiters[0].waiting.count);
    if let Some(waiter) = mixed {
        let split = &warps[waiter.warp].splits[waiter.split];
        let place = (waiter.warp, split.mask, split.pc);
        return Err(invalid(place, different_counts(id)));
    }
    Ok(waiters)
}

fn elsewhere_text(split: &Split) -> String {
    format!(
        "{} of the same warp wait",
        threads_text(split.mask.count_ones())
    )
}

fn threads_text(count: u32) -> String {
    if count == 1 {
        "1 thread".to_owned()
    } else {
        format!("{count} threads")
    }
}

/// A barrier of the whole block completes when every thread waits at the same instruction and none
/// has exited.
fn release_all<O: Observer + ?Sized>(
    warps: &mut [Warp],
    waiters: &[Waiter],
    around: &mut WarpContext<'_, '_, O>,
) -> Result<bool, BlockFault> {
    let launch = around.launch;
    let first = waiters[0];
    let split = &warps[first.warp].splits[first.split];
    let exits = warps.iter().flat_map(|warp| &warp.exits);
    let mut gone: Vec<(String, Place)> = Vec::new();
    for &(pc, mask) in exits {
        let place = launch.program.place(pc);
        let count = mask.count_ones();
        gone.push((format!("{} exited before", threads_text(count)), place));
    }
    if !gone.is_empty() {
        return Err(divergent(first.warp, split, launch, summed(gone)));
    }
    let waiting: u32 = waiters.iter().map(|waiter| waiter.threads).sum();
    if waiting < launch.threads {
        return Ok(false);
    }
    let pc = |waiter: &Waiter| warps[waiter.warp].splits[waiter.split].pc;
    if waiters.iter().any(|waiter| waiter.waiting.aligned)
        && waiters.iter().any(|waiter| pc(waiter) != pc(&first))
    {
        let others = waiters.iter().filter(|waiter| pc(waiter) != pc(&first));
        let others = others.map(|waiter| {
            (
                format!("{} wait at another one", threads_text(waiter.threads)),
                launch.program.place(pc(waiter)),
            )
        });
        return Err(divergent(
            first.warp,
            split,
            launch,
            summed(others.collect()),
        ));
    }
    go(warps, waiters, &[], true, around);
    Ok(true)
}

/// Sums entries that refer to the same place.
fn summed(entries: Vec<(String, Place)>) -> Vec<(String, Place)> {
    let mut summed: Vec<(u32, String, Place)> = Vec::new();
    for (text, place) in entries {
        let (count, rest) = text.split_once(' ').unwrap_or(("0", &text));
        let rest = rest.split_once(' ').map_or("", |(_, rest)| rest).to_owned();
        let count = count.parse().unwrap_or(0);
        match summed
            .iter_mut()
            .find(|(_, text, at)| *at == place && *text == rest)
        {
            Some((sum, ..)) => *sum += count,
            None => summed.push((count, rest, place)),
        }
    }
    summed
        .into_iter()
        .map(|(count, rest, place)| (format!("{} {rest}", threads_text(count)), place))
        .collect()
}

/// A barrier with a thread count: threads are released in order of arrival. It may complete with
/// arrivals only, and no waiter.
fn release_counted<O: Observer + ?Sized>(
    warps: &mut [Warp],
    waiters: &[Waiter],
    id: u32,
    around: &mut WarpContext<'_, '_, O>,
) -> Result<bool, BlockFault> {
    let announced = around.arrivals.iter().filter(|arrival| arrival.id == id);
    let first = match (waiters.first(), announced.clone().next()) {
        (Some(waiter), _) => {
            let split = &warps[waiter.warp].splits[waiter.split];
            Some((waiter.waiting.count, (waiter.warp, split.mask, split.pc)))
        }
        (None, Some(Arrival { who, count, pc, .. })) => {
            Some((Some(*count), (who.warp as usize, who.mask, *pc)))
        }
        (None, None) => None,
    };
    let Some((Some(count), place)) = first else {
        return Ok(false);
    };
    if announced.clone().any(|arrival| arrival.count != count) {
        return Err(invalid(place, different_counts(id)));
    }
    let mut tickets: Vec<(u64, u32, Option<Waiter>)> = waiters
        .iter()
        .map(|&waiter| (waiter.waiting.ticket, waiter.threads, Some(waiter)))
        .collect();
    tickets.extend(announced.map(|arrival| (arrival.who.ticket, arrival.threads, None)));
    tickets.sort_by_key(|&(ticket, ..)| ticket);
    let mut sum = 0;
    for (index, &(ticket, threads, _)) in tickets.iter().enumerate() {
        sum += threads;
        if sum > count {
            let problem =
                format!("{sum} threads arrive together at barrier {id}, which is for {count}");
            return Err(invalid(place, problem));
        }
        if sum == count {
            let group: Vec<Waiter> = tickets[..=index]
                .iter()
                .filter_map(|&(_, _, waiter)| waiter)
                .collect();
            let takes_part = |arrival: &Arrival| arrival.id == id && arrival.who.ticket <= ticket;
            let announced = around
                .arrivals
                .extract_if(.., |arrival| takes_part(arrival));
            let announced: Vec<Arrived> = announced.map(|arrival| arrival.who).collect();
            go(warps, &group, &announced, false, around);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Releases splits past their barrier, with the result of its reduction.
fn go<O: Observer + ?Sized>(
    warps: &mut [Warp],
    waiters: &[Waiter],
    announced: &[Arrived],
    whole: bool,
    around: &mut WarpContext<'_, '_, O>,
) {
    let launch = around.launch;
    let waited: Vec<Arrived> = waiters
        .iter()
        .map(|waiter| Arrived {
            warp: waiter.warp as u32,
            mask: warps[waiter.warp].splits[waiter.split].mask,
            ticket: waiter.waiting.ticket,
        })
        .collect();
    let complete = Complete {
        whole,
        waited: &waited,
        announced,
    };
    around.observer.barrier(around.slot, &complete);
    let kind = |split: &Split| match launch.program.code[split.pc as usize].op {
        Op::Barrier(ref barrier) => barrier.kind,
        _ => BarrierKind::Sync,
    };
    let (mut threads, mut held) = (0, 0);
    for waiter in waiters {
        let warp = &warps[waiter.warp];
        let split = &warp.splits[waiter.split];
        if let Some(lanes) = warp.reduced(split, kind(split)) {
            threads += split.mask.count_ones();
            held += lanes.count_ones();
        }
    }
    for waiter in waiters {
        let warp = &mut warps[waiter.warp];
        let split = &mut warp.splits[waiter.split];
        let kind = kind(split);
        split.pc += 1;
        split.state = State::Runnable;
        let who = (split.base, split.mask);
        warp.write_reduction(who, kind, threads, held);
    }
    // Lanes of a warp that waited in separate splits may now reconverge.
    for waiter in waiters {
        warps[waiter.warp].merge();
    }
}

fn divergent(
    warp: usize,
    split: &Split,
    launch: &Launch<'_>,
    others: Vec<(String, Place)>,
) -> BlockFault {
    let kind = FaultKind::DivergentBarrier {
        waiting: launch.program.place(split.pc),
        others,
    };
    (
        warp,
        RaisedAt {
            raised: raise(split.mask.trailing_zeros() as usize, kind),
            pc: split.pc,
        },
    )
}

/// The fault of a split waiting at a barrier that `others`, a number of threads at each place,
/// never reach.
pub(super) fn never_complete(
    warp: usize,
    split: &Split,
    launch: &Launch<'_>,
    others: Vec<(u32, Place)>,
) -> BlockFault {
    let others = others
        .into_iter()
        .map(|(count, place)| (format!("{} wait", threads_text(count)), place));
    divergent(warp, split, launch, summed(others.collect()))
}

fn different_counts(id: u32) -> String {
    format!("barrier {id} is used with different thread counts at the same time")
}

/// A fault of a warp's lanes at an instruction.
fn invalid((warp, mask, pc): (usize, u32, u32), problem: String) -> BlockFault {
    let lane = (mask.trailing_zeros() & 31) as usize;
    let raised = raise(lane, FaultKind::InvalidOperand { problem });
    (warp, RaisedAt { raised, pc })
}

/// Diagnoses a block in which nothing can run.
#[cold]
fn stuck_fault(warps: &[Warp], launch: &Launch<'_>) -> BlockFault {
    // Lanes waiting for members of their own warp give the best diagnosis.
    for (index, warp) in warps.iter().enumerate() {
        if let Some(split) = warp
            .splits
            .iter()
            .find(|split| split.state == State::Members)
        {
            return (index, members_fault(warp, split, launch));
        }
    }
    let full = warps.iter().enumerate().find_map(|(index, warp)| {
        let at =
            |split: &&Split| matches!(split.state, State::Barrier(Waiting { count: None, .. }));
        warp.splits.iter().find(at).map(|split| (index, split))
    });
    let places = warps.iter().flat_map(|warp| warp.waiting_places(launch));
    if let Some((index, split)) = full {
        let here = launch.program.place(split.pc);
        let others = places.filter(|(_, place)| *place != here);
        return never_complete(index, split, launch, others.collect());
    }
    let mut waiting: Vec<(u32, Place)> = Vec::new();
    for (count, place) in places {
        match waiting.iter_mut().find(|(_, known)| *known == place) {
            Some((sum, _)) => *sum += count,
            None => waiting.push((count, place)),
        }
    }
    let (index, split) = warps
        .iter()
        .enumerate()
        .find_map(|(index, warp)| warp.splits.first().map(|split| (index, split.clone())))
        .map_or((0, None), |(index, split)| (index, Some(split)));
    let lane = split
        .as_ref()
        .map_or(0, |split| split.mask.trailing_zeros() as usize);
    let pc = split.map_or(0, |split| split.pc);
    (
        index,
        RaisedAt {
            raised: raise(lane, FaultKind::Deadlock { waiting }),
            pc,
        },
    )
}

fn members_fault(warp: &Warp, split: &Split, launch: &Launch<'_>) -> RaisedAt {
    if let Op::Barrier(_) = launch.program.code[split.pc as usize].op {
        let problem = "`bar.arrive` by a part of a warp".to_owned();
        return invalid((0, split.mask, split.pc), problem).1;
    }
    if let Op::ClusterBarrier { .. } = launch.program.code[split.pc as usize].op {
        let problem = "`barrier.cluster` with `.aligned` by a part of a warp".to_owned();
        return invalid((0, split.mask, split.pc), problem).1;
    }
    let members = warp.members(launch, split);
    let form = match launch.program.code[split.pc as usize].op {
        Op::Warp(ref op) => op.form.clone(),
        Op::WarpBarrier { .. } => "bar.warp.sync".to_owned(),
        _ => "a matrix instruction".to_owned(),
    };
    let missing = members & !split.mask;
    let elsewhere: Vec<String> = warp
        .splits
        .iter()
        .filter(|other| other.mask & missing != 0)
        .map(|other| {
            format!(
                "lanes {:#010x} wait at {}",
                other.mask & missing,
                launch.program.place(other.pc)
            )
        })
        .collect();
    let problem = if elsewhere.is_empty() {
        "its lanes name different members, so each waits for others".to_owned()
    } else {
        format!("members never come: {}", elsewhere.join(", "))
    };
    let kind = FaultKind::WarpSync {
        form,
        members,
        active: split.mask,
        problem,
    };
    RaisedAt {
        raised: raise(split.mask.trailing_zeros() as usize, kind),
        pc: split.pc,
    }
}
