//! Events and their order.
//!
//! An event is created when a thread publishes its past: by a release, at a barrier of some
//! threads, or by a write after a fence. Events form chains in which each knows its predecessor, so
//! that a vector clock needs one number per chain. A location where threads alternately release and
//! acquire has one chain of its own, however many threads participate, which keeps vector clocks
//! short.

use super::cover::{Cover, Window};
use super::record::Record;
use super::vector_clock::{CLASSES, Point, Shared, VectorClock, union};
use crate::exec::lanes;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Maximum number of events kept per warp; older ones count as known to all.
const MOST_EVENTS: usize = 1 << 12;
/// The same once all warps together have more than `MANY` events.
const MANY: usize = 1 << 23;
const FEW_EVENTS: usize = 1 << 8;
/// Maximum number of a lane's events that may precede an event known to all its later ones: pasts
/// that were published late. With 8, the [model](super::model) finds ordered accesses that are
/// reported as races.
const STRAYS: u8 = 64;

/// All events of a launch.
pub(super) struct Chains {
    /// The last event of each chain, and whether the chain is that of a location. The first chains
    /// are reserved for coarse vector clocks, which do not distinguish chains.
    tails: Vec<(u32, bool)>,
    stamp: u32,
    /// The events of each warp, by its number in the launch.
    logs: HashMap<u32, Log>,
    logged: usize,
    /// Some vector clock is coarse.
    is_coarse: bool,
    has_forgotten: bool,
    /// The last time of each lane.
    unprotected: HashMap<(u32, u32), Unprotected>,
}

/// What locks did not protect, for block and device scope, and the atomic that took them.
type Unprotected = ([Option<Window>; 2], u32);

#[derive(Default)]
struct Log {
    /// In order of their times.
    events: Vec<Event>,
    /// Events with earlier times have been dropped.
    since: u32,
}

#[derive(Clone, Copy)]
struct Event {
    cover: Cover,
    point: Point,
}

/// The accesses and vector clocks of some lanes; becomes an event once another thread learns of it.
pub(super) struct Past {
    knows: Shared,
    covers: Vec<Cover>,
    published: OnceLock<Arc<VectorClock>>,
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
            unprotected: HashMap::new(),
        }
    }
}

impl Chains {
    /// What was tracked less precisely than necessary.
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

    /// Appends an event to a chain whose last event `known` contains.
    fn add(&mut self, known: &mut VectorClock, warp: u32) -> Point {
        let chain = match known {
            VectorClock::Precise(points) => {
                let is_last =
                    |point: &&Point| self.tails[point.chain as usize] == (point.stamp, false);
                let known = points.iter().find(is_last).map(|point| point.chain);
                known.unwrap_or_else(|| self.begin(false))
            }
            VectorClock::Coarse(_) => warp % CLASSES as u32,
        };
        self.extend(chain, known)
    }

    /// The same for the chain of a location, if `known` contains its last event.
    fn add_at(&mut self, known: &mut VectorClock, warp: u32, place: Place<'_>) -> Point {
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

    fn extend(&mut self, chain: u32, known: &mut VectorClock) -> Point {
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

    /// The lanes of an access that a vector clock does not cover.
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
        // All later events of a lane know one of its first.
        let mut strays = [STRAYS; 32];
        let mut tried = rest;
        for event in &log.events[first..] {
            let here = event.cover.lanes & tried;
            if here == 0 || record.time <= event.cover.since {
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

    /// Whether a vector clock has an event of a lane that came before an access.
    pub(super) fn knows_before(&self, knows: &Shared, record: &Record, lane: usize) -> bool {
        let (Some(knows), Some(log)) = (knows, self.logs.get(&record.warp)) else {
            return false;
        };
        let mut events = log.events.iter();
        events.any(|event| {
            let cover = event.cover;
            cover.time < record.time && cover.lanes >> lane & 1 != 0 && knows.knows(event.point)
        })
    }

    /// A lane of a warp opens a lock that did not protect all that it did.
    pub(super) fn note_unprotected(
        &mut self,
        who: (u32, u32),
        windows: [Option<Window>; 2],
        pc: u32,
    ) {
        if windows.iter().any(Option::is_some) {
            self.unprotected.insert(who, (windows, pc));
        }
    }

    /// The atomic that took the lock which did not protect an access.
    pub(super) fn taken_without_acquire(&self, record: &Record, lane: usize) -> Option<u32> {
        let (windows, pc) = self.unprotected.get(&(record.warp, 1 << lane))?;
        let mut windows = windows.iter().flatten();
        windows
            .any(|window| window.holds(record.time))
            .then_some(*pc)
    }

    /// A thread's vector clock has grown.
    pub(super) fn note_precision(&mut self, knows: &Shared) {
        self.is_coarse |= knows.as_ref().is_some_and(|knows| knows.is_coarse());
    }
}

/// A location to which a thread releases its past, and what the thread knows at that point.
pub(super) struct Place<'a> {
    pub(super) chain: &'a mut Option<u32>,
    pub(super) knows: &'a Shared,
}

impl Past {
    pub(super) fn new(knows: Shared, covers: Vec<Cover>) -> Self {
        Self {
            knows,
            covers,
            published: OnceLock::new(),
        }
    }

    /// This past without what a lock did not protect.
    pub(super) fn without(&self, window: Window, who: (u32, u32)) -> Self {
        let covers = self.covers.iter();
        let left = covers.flat_map(|&cover| window.cut(who, cover));
        Self::new(self.knows.clone(), left.flatten().collect())
    }

    /// The vector clock of a thread that learns of this past.
    pub(super) fn publish(&self, chains: &mut Chains) -> Arc<VectorClock> {
        self.tell_by(chains, |chains, known, warp| chains.add(known, warp))
    }

    /// The same, learned through a location.
    pub(super) fn publish_at(&self, chains: &mut Chains, place: Place<'_>) -> Arc<VectorClock> {
        self.tell_by(chains, |chains, known, warp| {
            chains.add_at(known, warp, place)
        })
    }

    fn tell_by(
        &self,
        chains: &mut Chains,
        add: impl FnOnce(&mut Chains, &mut VectorClock, u32) -> Point,
    ) -> Arc<VectorClock> {
        let published = self.published.get_or_init(|| {
            let mut known = self.knows.as_deref().cloned().unwrap_or_default();
            let warp = self.covers.first().map_or(0, |cover| cover.warp);
            let point = add(chains, &mut known, warp);
            for &cover in &self.covers {
                chains.log(Event { cover, point });
            }
            Arc::new(known)
        });
        published.clone()
    }

    /// The vector clocks of the lanes whose past this is.
    pub(super) fn known(&self) -> Shared {
        self.published.get().cloned().or_else(|| self.knows.clone())
    }

    /// The union of several pasts.
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
        let unpublished = distinct
            .iter()
            .filter(|past| past.published.get().is_none());
        let mut covers: Vec<Cover> = unpublished
            .flat_map(|past| past.covers.iter().copied())
            .collect();
        // Only the latest time of each lane matters.
        covers.sort_unstable_by_key(|cover| (cover.warp, std::cmp::Reverse(cover.time)));
        let mut seen = (0, 0);
        covers.retain_mut(|cover| {
            if seen.0 != cover.warp {
                seen = (cover.warp, 0);
            }
            cover.lanes &= !seen.1;
            if cover.since == 0 {
                seen.1 |= cover.lanes;
            }
            cover.lanes != 0
        });
        let past = Past::new(union(&knows), covers);
        if past.covers.is_empty() {
            // All have been published already, so no new event is needed.
            let known = past.knows.clone().unwrap_or_default();
            past.published.get_or_init(|| known);
        }
        Some(Arc::new(past))
    }
}
