//! Asynchronous copies (`cp.async`): until its thread has waited for a copy, nobody may use the bytes it writes, or
//! write the bytes it reads. The wait makes both an access of the thread like any other, made then.

/// Copies under way of one thread, at most; further ones count as done at once.
const MOST: usize = 4096;

/// The copies of a thread.
#[derive(Clone, Default)]
pub(super) struct Copies {
    under_way: Vec<Copy>,
    /// Groups that were committed.
    groups: u32,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    group: u32,
    /// The allocation that it reads, by its base; `None` is shared memory, which it writes.
    pub(super) source: Option<u64>,
    pub(super) offset: u64,
    pub(super) size: u32,
    pub(super) pc: u32,
}

impl Copies {
    /// A copy begins; whether there is room to follow it.
    pub(super) fn begin(&mut self, source: Option<u64>, offset: u64, size: u32, pc: u32) -> bool {
        let room = self.under_way.len() < MOST;
        if room {
            let group = self.groups;
            self.under_way.push(Copy {
                group,
                source,
                offset,
                size,
                pc,
            });
        }
        room
    }

    /// The copies that nobody has waited for.
    pub(super) fn under_way(&self) -> impl Iterator<Item = Copy> {
        self.under_way.iter().copied()
    }

    pub(super) fn commit(&mut self) {
        self.groups += 1;
    }

    /// Takes out what is complete once no more than the last `groups` groups are under way; without a number,
    /// everything.
    pub(super) fn wait(&mut self, groups: Option<u32>) -> Vec<Copy> {
        let done = groups.map_or(u32::MAX, |groups| self.groups.saturating_sub(groups));
        let complete = self.under_way.extract_if(.., |copy| copy.group < done);
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
            assert!(copies.begin(None, offset, 4, 0));
            copies.commit();
        }
        assert!(copies.begin(None, 3, 4, 0));
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
