//! Accesses by their times.

/// The accesses of a warp's lanes before a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    /// The warp's number in the launch.
    pub(super) warp: u32,
    pub(super) lanes: u32,
    pub(super) time: u32,
    /// Accesses up to this time are not among them.
    pub(super) since: u32,
}

/// What a thread does under a lock that does not protect it: accesses later than `from`, up to `to`.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Window {
    pub(super) fn holds(&self, time: u32) -> bool {
        self.from < time && time <= self.to
    }

    /// What is left of a cover without this window of some lanes.
    pub(super) fn cut(&self, (warp, lanes): (u32, u32), cover: Cover) -> [Option<Cover>; 3] {
        let inside = cover.lanes & lanes;
        if cover.warp != warp || inside == 0 || cover.time <= self.from {
            return [Some(cover), None, None];
        }
        let others = Cover {
            lanes: cover.lanes & !lanes,
            ..cover
        };
        let before = Cover {
            lanes: inside,
            time: self.from,
            ..cover
        };
        let after = Cover {
            lanes: inside,
            since: self.to,
            ..cover
        };
        [
            Some(others).filter(|cover| cover.lanes != 0),
            Some(before).filter(|cover| cover.since < cover.time),
            Some(after).filter(|cover| cover.since < cover.time),
        ]
    }
}
