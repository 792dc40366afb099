//! Events, and what is ordered by them.
//!
//! When a thread hands its past on, with a release, at a barrier of some threads, or with a write after a fence, that is an
//! event. Events stand in chains in which each knows the one before, so that knowledge is one number for each chain. A place in
//! memory where threads release and acquire in turn has a chain of its own, however many threads take part: that keeps
//! knowledge short.

use super::knowledge::{CLASSES, Knowledge, Point, Shared, union};
use super::shadow::Record;
use crate::exec::lanes;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Events of one warp that are kept, at most; older ones count as known to all.
const MOST_EVENTS: usize = 1 << 12;
/// The same when all warps together have more than so many.
const MANY: usize = 1 << 23;
const FEW_EVENTS: usize = 1 << 8;
/// Events of a lane that may stand before one that all its later ones know: pasts that were handed on late. With 8, the
/// [model](super::model) finds accesses that are ordered and taken for a race.
const STRAYS: u8 = 64;

/// All events of a launch.
pub(super) struct Chains {
    /// The last event of each chain, and whether the chain is that of a place in memory. The first ones are for knowledge that
    /// does not tell chains apart.
    tails: Vec<(u32, bool)>,
    stamp: u32,
    /// What each warp handed on, by its number in the launch.
    logs: HashMap<u32, Log>,
    logged: usize,
    /// Somebody's knowledge does not tell chains apart.
    is_coarse: bool,
    has_forgotten: bool,
}

#[derive(Default)]
struct Log {
    /// In the order of their times.
    events: Vec<Event>,
    /// Those that tell of earlier times were forgotten.
    since: u32,
}

#[derive(Clone, Copy)]
struct Event {
    cover: Cover,
    point: Point,
}

/// What lanes of a warp did up to a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    /// The warp's number in the launch.
    pub(super) warp: u32,
    pub(super) lanes: u32,
    pub(super) time: u32,
}

/// What some lanes did and had heard: an event as soon as anybody is told of it.
pub(super) struct Past {
    knows: Shared,
    covers: Vec<Cover>,
    told: OnceLock<Arc<Knowledge>>,
}

impl Default for Chains {
    fn default() -> Self {
        Self {
            tails: vec![(0, true); CLASSES],
            stamp: 0,
            logs: HashMap::new(),
            logged: 0,
            is_coarse: false,
            has_forgotten: false,
        }
    }
}

impl Chains {
    /// What was not looked at as closely as it should be.
    pub(super) fn limit(&self) -> Option<String> {
        let why = if self.is_coarse {
            "more than a thousand threads release or fence without hearing of each other"
        } else if self.has_forgotten {
            "there are millions of release operations, of which the oldest count as known to all threads"
        } else {
            return None;
        };
        Some(format!(
            "{why}: races that they might have ordered can be missed"
        ))
    }

    /// Adds an event to a chain whose last one `known` holds.
    fn add(&mut self, known: &mut Knowledge, warp: u32) -> Point {
        let chain = match known {
            Knowledge::Precise(points) => {
                let is_last =
                    |point: &&Point| self.tails[point.chain as usize] == (point.stamp, false);
                let known = points.iter().find(is_last).map(|point| point.chain);
                known.unwrap_or_else(|| self.begin(false))
            }
            Knowledge::Coarse(_) => warp % CLASSES as u32,
        };
        self.extend(chain, known)
    }

    /// The same for an event in the chain of a place in memory, if it knows the last one there.
    fn add_at(&mut self, known: &mut Knowledge, warp: u32, place: Place<'_>) -> Point {
        let chain = match *place.chain {
            _ if known.is_coarse() => None,
            None => Some(self.begin(true)),
            Some(chain) => {
                let (stamp, _) = self.tails[chain as usize];
                let knows = place
                    .knows
                    .as_ref()
                    .is_some_and(|knows| knows.knows(Point { chain, stamp }));
                knows.then_some(chain)
            }
        };
        match chain {
            Some(chain) => {
                *place.chain = Some(chain);
                self.extend(chain, known)
            }
            None => self.add(known, warp),
        }
    }

    fn begin(&mut self, is_place: bool) -> u32 {
        self.tails.push((0, is_place));
        self.tails.len() as u32 - 1
    }

    fn extend(&mut self, chain: u32, known: &mut Knowledge) -> Point {
        self.stamp += 1;
        let stamp = self.stamp;
        self.tails[chain as usize].0 = stamp;
        let point = Point { chain, stamp };
        known.add(point);
        self.is_coarse |= known.is_coarse();
        point
    }

    fn log(&mut self, event: Event) {
        let log = self.logs.entry(event.cover.warp).or_default();
        let at = log
            .events
            .partition_point(|known| known.cover.time <= event.cover.time);
        log.events.insert(at, event);
        self.logged += 1;
        let most = if self.logged < MANY {
            MOST_EVENTS
        } else {
            FEW_EVENTS
        };
        if log.events.len() > most {
            let mut old = log.events.drain(..most / 2);
            self.logged -= old.len();
            log.since = old.next_back().map_or(0, |event| event.cover.time + 1);
            self.has_forgotten = true;
        }
    }

    /// Those of an access's lanes of which somebody has not heard.
    pub(super) fn unknown(&self, knows: &Shared, record: &Record, mut rest: u32) -> u32 {
        let (Some(knows), Some(log)) = (knows, self.logs.get(&record.warp)) else {
            return rest;
        };
        if record.time < log.since {
            return 0;
        }
        let first = log
            .events
            .partition_point(|event| event.cover.time < record.time);
        // All later events of a lane know of one of its first.
        let mut strays = [STRAYS; 32];
        let mut tried = rest;
        for event in &log.events[first..] {
            let here = event.cover.lanes & tried;
            if here == 0 {
                continue;
            }
            if knows.knows(event.point) {
                rest &= !here;
                tried &= !here;
            } else {
                for lane in lanes(here) {
                    strays[lane] -= 1;
                    tried &= !(u32::from(strays[lane] == 0) << lane);
                }
            }
            if tried == 0 {
                break;
            }
        }
        rest
    }

    /// Somebody has heard of more.
    pub(super) fn hears(&mut self, knows: &Shared) {
        self.is_coarse |= knows.as_ref().is_some_and(|knows| knows.is_coarse());
    }
}

/// A place in memory where a thread hands its past on, and what the thread knows when it does.
pub(super) struct Place<'a> {
    pub(super) chain: &'a mut Option<u32>,
    pub(super) knows: &'a Shared,
}

impl Past {
    pub(super) fn new(knows: Shared, covers: Vec<Cover>) -> Self {
        Self {
            knows,
            covers,
            told: OnceLock::new(),
        }
    }

    /// What somebody knows who is told of it.
    pub(super) fn tell(&self, chains: &mut Chains) -> Arc<Knowledge> {
        self.tell_by(chains, |chains, known, warp| chains.add(known, warp))
    }

    /// The same, told by a place in memory.
    pub(super) fn tell_at(&self, chains: &mut Chains, place: Place<'_>) -> Arc<Knowledge> {
        self.tell_by(chains, |chains, known, warp| {
            chains.add_at(known, warp, place)
        })
    }

    fn tell_by(
        &self,
        chains: &mut Chains,
        add: impl FnOnce(&mut Chains, &mut Knowledge, u32) -> Point,
    ) -> Arc<Knowledge> {
        let told = self.told.get_or_init(|| {
            let mut known = self.knows.as_deref().cloned().unwrap_or_default();
            let warp = self.covers.first().map_or(0, |cover| cover.warp);
            let point = add(chains, &mut known, warp);
            for &cover in &self.covers {
                chains.log(Event { cover, point });
            }
            Arc::new(known)
        });
        told.clone()
    }

    /// What those know whose past it is.
    pub(super) fn known(&self) -> Shared {
        self.told.get().cloned().or_else(|| self.knows.clone())
    }

    /// All of them as one.
    pub(super) fn union<'a>(
        pasts: impl IntoIterator<Item = &'a Option<Arc<Past>>>,
    ) -> Option<Arc<Past>> {
        let mut distinct: Vec<&Arc<Past>> = pasts.into_iter().flatten().collect();
        distinct.sort_unstable_by_key(|past| Arc::as_ptr(past));
        distinct.dedup_by_key(|past| Arc::as_ptr(past));
        if let [] | [_] = distinct.as_slice() {
            return distinct.first().map(|&past| past.clone());
        }
        let knows: Vec<Shared> = distinct.iter().map(|past| past.known()).collect();
        let untold = distinct.iter().filter(|past| past.told.get().is_none());
        let mut covers: Vec<Cover> = untold
            .flat_map(|past| past.covers.iter().copied())
            .collect();
        // Of each lane the last time is enough.
        covers.sort_unstable_by_key(|cover| (cover.warp, std::cmp::Reverse(cover.time)));
        let mut seen = (0, 0);
        covers.retain_mut(|cover| {
            if seen.0 != cover.warp {
                seen = (cover.warp, 0);
            }
            cover.lanes &= !seen.1;
            seen.1 |= cover.lanes;
            cover.lanes != 0
        });
        let past = Past::new(union(&knows), covers);
        if past.covers.is_empty() {
            // All were told, and who knows them needs no event more.
            let known = past.knows.clone().unwrap_or_default();
            past.told.get_or_init(|| known);
        }
        Some(Arc::new(past))
    }
}
