//! Which bytes of a block's shared memory a thread has written: the emulator begins with zeros, a
//! GPU with anything.

use ptx_emulator::replay::{Accesses, Event, Replay};
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
    /// Finds out what threads have written to a block's shared memory before the replay's moment.
    pub(crate) fn look(&mut self, replay: &mut Replay, block: u64) {
        let at = replay.at();
        if self.block != block {
            *self = Self {
                block,
                ..Self::default()
            };
        }
        let from = self.until;
        if at <= from || at - from > MOST_STEPS {
            return;
        }
        replay.scan(from..at, &mut |step, event| {
            if let Event::Access(_, accesses) = event {
                self.note(step, accesses);
            }
        });
        self.until = at;
        // With what the last step did.
        replay.seek(at - 1);
        replay.step();
    }

    /// Whether it is known that no thread has written any of these bytes of shared memory before
    /// this moment.
    pub(crate) fn lacks(&self, at: u64, block: u64, address: u64, size: u32) -> bool {
        let mut bytes = address..address + u64::from(size);
        self.block == block
            && at <= self.until
            && bytes.all(|byte| {
                let first = self.first.get(byte as usize);
                first.is_none_or(|first| *first >= at)
            })
    }

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
