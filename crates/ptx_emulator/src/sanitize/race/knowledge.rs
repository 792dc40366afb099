//! What a thread has heard of others beyond its own block's barriers: a vector clock that holds only what is in it.

use super::shadow::Record;
use std::ops::Range;
use std::sync::Arc;

/// Whose past is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Of the block whose first warp has that number.
    Block(u32),
    Warp(u32),
    Thread(u32, u8),
}

/// For each of them, in order, the time before which everything is ordered.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge(Vec<(Who, u32)>);

/// Knowledge that lanes share, or none.
pub(super) type Shared = Option<Arc<Knowledge>>;

impl Knowledge {
    pub(super) fn add_block(&mut self, first: u32, time: u32) {
        self.add(Who::Block(first), time);
    }

    pub(super) fn add_warp(&mut self, warp: u32, time: u32) {
        self.add(Who::Warp(warp), time);
    }

    pub(super) fn add_thread(&mut self, warp: u32, lane: usize, time: u32) {
        self.add(Who::Thread(warp, lane as u8), time);
    }

    fn add(&mut self, who: Who, time: u32) {
        match self.find(who) {
            Ok(at) => self.0[at].1 = time.max(self.0[at].1),
            Err(at) => self.0.insert(at, (who, time)),
        }
    }

    fn find(&self, who: Who) -> Result<usize, usize> {
        self.0.binary_search_by_key(&who, |&(known, _)| known)
    }

    /// The time for somebody; 0 when nothing is known.
    fn time(&self, who: Who) -> u32 {
        self.find(who).map_or(0, |at| self.0[at].1)
    }

    pub(super) fn add_all(&mut self, other: &Knowledge) {
        // A few entries find their places faster than a long list is written anew.
        if other.len() < 8 {
            return other.0.iter().for_each(|&(who, time)| self.add(who, time));
        }
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut all = Vec::with_capacity(self.len().max(other.len()));
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(&&(a, first)), Some(&&(b, second))) if a == b => {
                    theirs.next();
                    ours.next();
                    (a, first.max(second))
                }
                (Some(&&a), Some(&&b)) if a.0 < b.0 => {
                    ours.next();
                    a
                }
                (Some(&&a), None) => {
                    ours.next();
                    a
                }
                (_, Some(&&b)) => {
                    theirs.next();
                    b
                }
                (None, None) => break,
            };
            all.push(next);
        }
        self.0 = all;
    }

    /// Whether it says all that the other one does.
    fn holds(&self, other: &Knowledge) -> bool {
        let mut ours = self.0.iter();
        let held = |&(who, time): &(Who, u32)| {
            ours.find(|(known, _)| *known >= who)
                .is_some_and(|&(known, held)| known == who && held >= time)
        };
        self.len() >= other.len() && other.0.iter().all(held)
    }

    /// Those of an access's lanes whose part is not in it; `first` is the first warp of their block.
    pub(super) fn lacks(&self, record: &Record, lanes: u32, first: u32) -> u32 {
        let holds = |who| record.time < self.time(who);
        if holds(Who::Block(first)) || holds(Who::Warp(record.warp)) {
            return 0;
        }
        // The threads of a warp stand one behind the other.
        let (Ok(threads) | Err(threads)) = self.find(Who::Thread(record.warp, 0));
        let known = self.0[threads..]
            .iter()
            .map_while(|&(who, time)| match who {
                Who::Thread(warp, lane) if warp == record.warp => Some((lane, time)),
                _ => None,
            });
        known
            .filter(|&(_, time)| record.time < time)
            .fold(lanes, |lanes, (lane, _)| lanes & !(1 << lane))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets what it says about a block.
    pub(super) fn forget(&mut self, warps: &Range<u32>) {
        self.0.retain(|(who, _)| match who {
            Who::Block(warp) | Who::Warp(warp) | Who::Thread(warp, _) => !warps.contains(warp),
        });
    }

    /// Says the same with fewer entries, when it knows every thread of a block; `lanes` are those of a warp.
    pub(super) fn compress(&mut self, warps: &Range<u32>, lanes: impl Fn(u32) -> u32) {
        let mut earliest = u32::MAX;
        for warp in warps.clone() {
            let threads = |who| matches!(who, Who::Thread(of, _) if of == warp);
            let known = self.0.iter().filter(|&&(who, _)| threads(who));
            if known.clone().count() as u32 == lanes(warp).count_ones() {
                let time = known.map(|&(_, time)| time).min().unwrap_or(0);
                self.add_warp(warp, time);
            }
            earliest = earliest.min(self.time(Who::Warp(warp)));
        }
        if earliest > 0 {
            self.add_block(warps.start, earliest);
        }
        let block = self.time(Who::Block(warps.start));
        let known = self.clone();
        self.0.retain(|&(who, time)| match who {
            Who::Warp(warp) if warps.contains(&warp) => time > block,
            Who::Thread(warp, _) if warps.contains(&warp) => {
                time > block.max(known.time(Who::Warp(warp)))
            }
            _ => true,
        });
    }
}

/// All that several lanes know.
pub(super) fn union<'a>(parts: impl IntoIterator<Item = &'a Shared>) -> Shared {
    let mut distinct: Vec<&Arc<Knowledge>> = parts.into_iter().flatten().collect();
    distinct.sort_unstable_by_key(|part| Arc::as_ptr(part));
    distinct.dedup_by_key(|part| Arc::as_ptr(part));
    let (&first, rest) = distinct.split_first()?;
    let mut all = first.clone();
    for &part in rest {
        if part.holds(&all) {
            all = part.clone();
        } else if !all.holds(part) {
            Arc::make_mut(&mut all).add_all(part);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thread 0 of warp `n` up to time `n + 1`, for some numbers.
    fn of(numbers: impl IntoIterator<Item = u32>) -> Shared {
        let mut knowledge = Knowledge::default();
        for number in numbers {
            knowledge.add_thread(number, 0, number + 1);
        }
        Some(Arc::new(knowledge))
    }

    #[test]
    fn a_union_holds_both() {
        for (a, b) in [(0..20, 10..30), (0..3, 2..4), (5..6, 0..40), (0..0, 0..2)] {
            let both = union([&of(a.clone()), &of(b.clone())]).expect("it is not nothing");
            let numbers = a.start.min(b.start)..b.end.max(a.end);
            assert_eq!(both.0, of(numbers).expect("it is not nothing").0);
        }
        let mut later = Knowledge::default();
        later.add_thread(3, 0, 9);
        let later = union([&of(0..12), &Some(Arc::new(later))]).expect("it is not nothing");
        assert_eq!((later.len(), later.time(Who::Thread(3, 0))), (12, 9));
    }

    #[test]
    fn an_access_is_known_by_block_by_warp_or_by_thread() {
        let record = |warp| Record::new(5, warp, 0b1111, 0, true);
        let mut knowledge = Knowledge::default();
        for (warp, lane, time) in [(7, 3, 9), (8, 0, 6), (8, 1, 5), (8, 3, 6), (9, 2, 9)] {
            knowledge.add_thread(warp, lane, time);
        }
        assert_eq!(knowledge.lacks(&record(8), 0b1111, 8), 0b0110);
        assert_eq!(knowledge.lacks(&record(8), 0b0010, 8), 0b0010);
        assert_eq!(knowledge.lacks(&record(10), 0b1111, 8), 0b1111);
        knowledge.add_warp(8, 5);
        knowledge.add_block(8, 5);
        assert_eq!(knowledge.lacks(&record(8), 0b1111, 8), 0b0110);
        knowledge.add_warp(8, 6);
        assert_eq!(knowledge.lacks(&record(8), 0b1111, 8), 0);
        knowledge.add_block(8, 6);
        assert_eq!(knowledge.lacks(&record(10), 0b1111, 8), 0);
    }

    #[test]
    fn a_block_that_is_known_whole_takes_one_entry() {
        let mut knowledge = Knowledge::default();
        for warp in 4..6 {
            for lane in 0..32 {
                knowledge.add_thread(warp, lane, 7);
            }
        }
        knowledge.add_thread(5, 3, 9);
        knowledge.add_thread(6, 0, 2);
        knowledge.compress(&(4..6), |_| u32::MAX);
        let left = [
            (Who::Block(4), 7),
            (Who::Thread(5, 3), 9),
            (Who::Thread(6, 0), 2),
        ];
        assert_eq!(knowledge.0, left);
    }
}
