//! The last writer of each word of shared memory, from a list of a block's writes.

use ptx_emulator::replay::Accesses;
use std::ops::Range;

/// The unit in bytes that has one writer.
const WORD: u32 = 4;

/// Memory for snapshots; from a snapshot, writes are applied again.
const COPIES: usize = 16 << 20;
/// The fewest writes between two snapshots.
const STRIDE: usize = 1024;

/// Writes to shared memory, in order.
#[derive(Default)]
pub(crate) struct Writes {
    all: Vec<Write>,
    /// Offsets of writes whose lanes are not equally spaced.
    irregular: Vec<[u32; 32]>,
    /// The last writers before the first write, and after every `stride` further ones.
    copies: Vec<Writers>,
    stride: usize,
}

struct Write {
    /// The step in the block's timeline.
    step: u32,
    lanes: u32,
    size: u32,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    /// Offset of lane 0, and bytes between lanes.
    Row(u32, i32),
    /// Its index among the irregular ones.
    Irregular(u32),
}

/// The last writers after one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writers {
    /// For each word, the step that wrote it last; the largest number if none did.
    pub(crate) steps: Vec<u32>,
    /// The lane that wrote it.
    pub(crate) lanes: Vec<u8>,
}

impl Writes {
    pub(crate) fn add(&mut self, step: u32, seen: &Accesses<'_>) {
        let offsets = seen.addresses.map(|offset| offset as u32);
        let place = row(&offsets, seen.lanes).unwrap_or_else(|| {
            self.irregular.push(offsets);
            Place::Irregular(self.irregular.len() as u32 - 1)
        });
        self.all.push(Write {
            step,
            lanes: seen.lanes,
            size: seen.size,
            place,
        });
    }

    /// Prepares fast queries of the last writers of N words, at any step.
    pub(crate) fn index(&mut self, words: usize) {
        let bytes = words * (size_of::<u32>() + size_of::<u8>());
        let most = (COPIES / bytes.max(1)).max(1);
        self.stride = self.all.len().div_ceil(most).max(STRIDE);
        let mut writers = Writers {
            steps: vec![u32::MAX; words],
            lanes: vec![0; words],
        };
        self.copies = vec![writers.clone()];
        for (number, write) in self.all.iter().enumerate() {
            self.apply(write, &mut writers);
            if (number + 1).is_multiple_of(self.stride) {
                self.copies.push(writers.clone());
            }
        }
    }

    /// The last writer of each word after a step.
    pub(crate) fn last(&self, step: u32) -> Writers {
        let (copy, since) = self.since(step);
        let mut writers = self.copies.get(copy).cloned().unwrap_or_default();
        for write in &self.all[since] {
            self.apply(write, &mut writers);
        }
        writers
    }

    /// The nearest snapshot before the end of a step, and the writes from there.
    fn since(&self, step: u32) -> (usize, Range<usize>) {
        let count = self.all.partition_point(|write| write.step <= step);
        let copy = count / self.stride.max(1);
        (copy, copy * self.stride..count)
    }

    /// If several lanes write a word, the highest lane counts.
    fn apply(&self, write: &Write, writers: &mut Writers) {
        for lane in (0..32).filter(|lane| write.lanes >> lane & 1 == 1) {
            let offset = self.offset(write, lane);
            let last = (offset + write.size - 1) / WORD;
            for word in (offset / WORD) as usize..=last as usize {
                if let Some(step) = writers.steps.get_mut(word) {
                    *step = write.step;
                    writers.lanes[word] = lane as u8;
                }
            }
        }
    }

    fn offset(&self, write: &Write, lane: u32) -> u32 {
        match write.place {
            Place::Row(first, distance) => {
                first.wrapping_add_signed(distance.wrapping_mul(lane as i32))
            }
            Place::Irregular(number) => self.irregular[number as usize][lane as usize],
        }
    }
}

/// Lanes that are equally spaced.
fn row(offsets: &[u32; 32], lanes: u32) -> Option<Place> {
    let mut members = (0..32_i32).filter(|lane| lanes >> lane & 1 == 1);
    let first = members.next()?;
    let base = offsets[first as usize] as i32;
    let distance = match members.next() {
        Some(second) => {
            let (bytes, lanes) = (offsets[second as usize] as i32 - base, second - first);
            if bytes % lanes != 0 {
                return None;
            }
            bytes / lanes
        }
        None => 0,
    };
    let fits = |lane: i32| offsets[lane as usize] as i32 == base + distance * (lane - first);
    members
        .all(fits)
        .then_some(Place::Row((base - distance * first) as u32, distance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_emulator::{Access, Space};

    /// Writes of two lanes at irregular offsets, some of them past the end.
    fn some(count: u32) -> Writes {
        let mut writes = Writes::default();
        let mut number = 1_u32;
        for step in 0..count {
            let mut addresses = [0; 32];
            for lane in [3, 17, 31] {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                addresses[lane] = u64::from(number >> 20) * 4;
            }
            let seen = Accesses {
                space: Space::Shared,
                access: Access::Write,
                size: 8,
                block: 0,
                lanes: 1 << 3 | 1 << 17 | 1 << 31,
                addresses: &addresses,
            };
            writes.add(3 * step, &seen);
        }
        writes
    }

    #[test]
    fn the_writers_after_a_step_are_those_of_all_writes_before_it() {
        const WORDS: usize = 3000;
        let mut writes = some(2 * STRIDE as u32 + 5);
        writes.index(WORDS);
        assert_eq!(writes.copies.len(), 3);
        let mut expected = writes.copies[0].clone();
        let mut next = writes.all.iter().peekable();
        for step in 0..3 * (2 * STRIDE as u32 + 6) {
            while let Some(write) = next.next_if(|write| write.step <= step) {
                writes.apply(write, &mut expected);
            }
            if step % 61 == 0 || step % (3 * STRIDE as u32) < 7 {
                assert_eq!(writes.last(step), expected, "after step {step}");
            }
        }
    }

    #[test]
    fn a_step_in_either_direction_applies_few_writes() {
        let mut writes = some(20_000);
        writes.index(4096);
        // 20 KiB per snapshot: all of them fit.
        assert_eq!(writes.stride, STRIDE);
        for step in 0..3 * 20_000 {
            assert!(writes.since(step).1.len() < STRIDE, "step {step}");
        }
    }
}
