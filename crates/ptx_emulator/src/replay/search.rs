//! Searches through the steps of a launch, forwards and backwards.

use super::Replay;
use super::watch::{Accesses, Event, Scanner};
use crate::exec::Request;
use crate::fault::{Access, Space};
use crate::launch::Output;
use crate::sanitize::{self, CheckOptions, CheckReport};
use std::ops::Range;
use std::sync::Mutex;

/// The direction of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the end.
    Forwards,
    /// To the beginning.
    Backwards,
}

/// Bytes of memory that blocks or the lanes of a warp share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// The block whose shared memory it is; `None` is global memory.
    pub block: Option<u64>,
    /// The first byte; an offset in shared memory.
    pub address: u64,
    /// Bytes.
    pub size: u32,
}

impl Word {
    /// The first lane whose access touches one of the bytes.
    pub fn touched_by(&self, accesses: &Accesses<'_>) -> Option<u32> {
        let same = match self.block {
            Some(block) => accesses.space == Space::Shared && accesses.block == block,
            None => accesses.space == Space::Global,
        };
        let touches = |&lane: &u32| {
            let start = accesses.addresses[lane as usize];
            accesses.lanes >> lane & 1 == 1
                && start < self.address.saturating_add(self.size.into())
                && self.address < start.saturating_add(accesses.size.into())
        };
        same.then(|| (0..32).find(touches)).flatten()
    }

    /// The same, for accesses that write.
    pub fn written_by(&self, accesses: &Accesses<'_>) -> Option<u32> {
        let writes = accesses.access != Access::Read;
        writes.then(|| self.touched_by(accesses)).flatten()
    }
}

impl Replay {
    /// Runs these steps and calls `visit` with each event and its step. The replay is then after
    /// the last one.
    pub fn scan(&mut self, steps: Range<u64>, visit: &mut (dyn FnMut(u64, &Event<'_>) + Send)) {
        self.go(steps.start);
        self.scan_on(steps.end, visit);
    }

    /// Goes to the nearest step with an event for which `matches` holds, so that this step is the
    /// next one. Without such a step it goes to the end or the beginning, and returns `None`.
    ///
    /// Backwards, the search begins with the last step before this moment; forwards, with the step
    /// after the next one, so that a second search finds another step.
    pub fn find(
        &mut self,
        direction: Direction,
        matches: &mut (dyn FnMut(u64, &Event<'_>) -> bool + Send),
    ) -> Option<u64> {
        let mut found = None;
        match direction {
            Direction::Forwards => {
                let first = self.at + 1;
                while found.is_none() && !self.machine.has_ended() {
                    let end = self.at + self.checkpoints.stride();
                    self.scan_on(end, &mut |step, event| {
                        if found.is_none() && step >= first && matches(step, event) {
                            found = Some(step);
                        }
                    });
                }
            }
            Direction::Backwards => {
                let mut end = self.at;
                while found.is_none() && end > 0 {
                    let start = self.checkpoints.nearest(end - 1).unwrap_or(0);
                    self.scan(start..end, &mut |step, event| {
                        if matches(step, event) {
                            found = Some(step);
                        }
                    });
                    end = start;
                }
            }
        }
        let none = match direction {
            Direction::Forwards => self.at,
            Direction::Backwards => 0,
        };
        self.land(found.unwrap_or(none));
        found
    }

    /// The last step before this moment that wrote one of these bytes. The replay stays at this
    /// moment.
    pub fn last_write(&mut self, word: Word) -> Option<u64> {
        let at = self.at;
        let writes = &mut |_, event: &Event<'_>| match event {
            Event::Access(_, accesses) => word.written_by(accesses).is_some(),
            _ => false,
        };
        let found = self.find(Direction::Backwards, writes);
        self.seek(at);
        found
    }

    /// What a check finds in this order of threads. Each finding's [`step`](crate::Finding::step)
    /// is one of this replay, which stays at this moment.
    pub fn check(&mut self, options: &CheckOptions) -> CheckReport {
        let at = self.at;
        let silent: Output = Mutex::new(Box::new(|_| {}));
        let options = CheckOptions {
            schedules: 0,
            ..options.clone()
        };
        self.go(0);
        let request = Request {
            output: &silent,
            ..self.plan.request(&self.table)
        };
        let (report, _) = sanitize::check(&request, &options);
        // The memory is that of the launch's end.
        if let Some((beginning, machine)) = self.checkpoints.restore(0, &self.table) {
            (self.at, self.machine) = (beginning, machine);
        }
        self.land(at);
        report
    }

    fn scan_on(&mut self, end: u64, visit: &mut (dyn FnMut(u64, &Event<'_>) + Send)) {
        let mut scanner = Scanner::new(&self.machine, self.at, visit);
        // The scanner borrows nothing from the replay: it knows blocks by number.
        self.run_to(end, &mut scanner);
    }
}
