//! Which bytes of a block's shared memory a thread has written: the emulator begins with zeros, a
//! GPU with anything.

use crate::debuggee::Debuggee;
use ptx_emulator::replay::{Accesses, Event};
use ptx_emulator::{Access, Space};

/// The most steps to look through for one answer.
const MOST_STEPS: u64 = 1 << 22;
/// More than a block can have.
const MOST_BYTES: usize = 1 << 20;

/// The first write of each byte of one block's shared memory.
#[derive(Default)]
pub(crate) struct Written {
    block: u64,
    /// The step of it, of the bytes before the last one that was written.
    first: Vec<u64>,
    /// Steps that were looked through, from the launch's first one on.
    until: u64,
}

impl Written {
    fn note(&mut self, step: u64, accesses: &Accesses<'_>) {
        let is_there = accesses.space == Space::Shared && accesses.block == self.block;
        if !is_there || accesses.access == Access::Read {
            return;
        }
        for lane in (0..32).filter(|lane| accesses.lanes >> lane & 1 == 1) {
            let start = accesses.addresses[lane] as usize;
            let end = start.saturating_add(accesses.size as usize);
            if end > MOST_BYTES {
                continue;
            }
            if self.first.len() < end {
                self.first.resize(end, u64::MAX);
            }
            for first in &mut self.first[start..end] {
                *first = step.min(*first);
            }
        }
    }
}

impl Debuggee {
    /// Finds out what threads have written to a block's shared memory before this moment.
    pub(crate) fn look_for_writes(&mut self, block: u64) {
        let at = self.replay.at();
        if self.written.block != block {
            self.written = Written {
                block,
                ..Written::default()
            };
        }
        let (from, written) = (self.written.until, &mut self.written);
        if at <= from || at - from > MOST_STEPS {
            return;
        }
        self.replay.scan(from..at, &mut |step, event| {
            if let Event::Access(_, accesses) = event {
                written.note(step, accesses);
            }
        });
        written.until = at;
        // With what the last step did.
        self.replay.seek(at - 1);
        self.replay.step();
    }

    /// Whether it is known that no thread has written any of these bytes of shared memory before
    /// this moment.
    pub(crate) fn is_unwritten(&self, block: u64, address: u64, size: u32) -> bool {
        let Written { until, .. } = self.written;
        let at = self.replay.at();
        let mut bytes = address..address + u64::from(size);
        self.written.block == block
            && at <= until
            && bytes.all(|byte| {
                let first = self.written.first.get(byte as usize);
                first.is_none_or(|first| *first >= at)
            })
    }
}
