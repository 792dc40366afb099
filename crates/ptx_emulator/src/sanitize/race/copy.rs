//! Asynchronous copies (`cp.async`): until its thread has waited for a copy, no thread may access
//! the bytes it writes or write the bytes it reads. The wait turns both into ordinary accesses of
//! the thread, made at the wait.

/// Maximum copies in flight per thread; further ones count as completed at issue.
const MOST: usize = 4096;

/// The copies of a thread.
#[derive(Clone, Default)]
pub(super) struct Copies {
    in_flight: Vec<Copy>,
    /// Number of committed groups.
    groups: u32,
}

/// One side of a copy: its source or its destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    group: u32,
    /// Base of the allocation that it reads; `None` for the shared memory that it writes.
    pub(super) source: Option<u64>,
    pub(super) offset: u64,
    pub(super) size: u32,
    pub(super) pc: u32,
    /// The warp's time at which it began.
    pub(super) time: u32,
}

impl Copies {
    /// Starts a copy; returns whether there is space to track it.
    pub(super) fn begin(
        &mut self,
        source: Option<u64>,
        (offset, size): (u64, u32),
        (pc, time): (u32, u32),
    ) -> bool {
        let room = self.in_flight.len() < MOST;
        if room {
            let group = self.groups;
            self.in_flight.push(Copy {
                group,
                source,
                offset,
                size,
                pc,
                time,
            });
        }
        room
    }

    /// The copies not yet waited for.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = Copy> {
        self.in_flight.iter().copied()
    }

    pub(super) fn commit(&mut self) {
        self.groups += 1;
    }

    /// Removes and returns the copies that are complete once at most `groups` groups are in flight;
    /// without a number, all of them.
    pub(super) fn wait(&mut self, groups: Option<u32>) -> Vec<Copy> {
        let done = groups.map_or(u32::MAX, |groups| self.groups.saturating_sub(groups));
        let complete = self.in_flight.extract_if(.., |copy| copy.group < done);
        complete.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_leaves_the_last_groups() {
        let mut copies = Copies::default();
        for offset in 0..3 {
            assert!(copies.begin(None, (offset, 4), (0, 1)));
            copies.commit();
        }
        assert!(copies.begin(None, (3, 4), (0, 1)));
        let mut done = |groups| {
            let done = copies.wait(groups).into_iter();
            done.map(|copy| copy.offset).collect::<Vec<_>>()
        };
        assert_eq!(done(Some(1)), [0, 1]);
        assert_eq!(done(Some(1)), [0; 0]);
        assert_eq!(done(Some(0)), [2]);
        assert_eq!(done(None), [3]);
    }
}
