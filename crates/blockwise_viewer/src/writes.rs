//! Who wrote a word of shared memory last: a list of all writes of a block.

use ptx_emulator::replay::Accesses;

/// Bytes of the unit that has one writer.
const WORD: u32 = 4;

/// Writes to shared memory, in order.
#[derive(Default)]
pub(crate) struct Writes {
    all: Vec<Write>,
    /// Offsets of those whose lanes keep no distance.
    irregular: Vec<[u32; 32]>,
}

struct Write {
    /// The step within the block's timeline.
    step: u32,
    lanes: u32,
    size: u32,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    /// Offset of lane 0, and bytes from lane to lane.
    Row(u32, i32),
    /// Its number among the irregular ones.
    Irregular(u32),
}

/// The last writers at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writers {
    /// For each word, the step that wrote it last; the largest number for nobody's.
    pub(crate) steps: Vec<u32>,
    /// The lane that did.
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

    /// The last writer of each of so many words after a step.
    pub(crate) fn last(&self, step: u32, words: usize) -> Writers {
        let mut writers = Writers {
            steps: vec![u32::MAX; words],
            lanes: vec![0; words],
        };
        let count = self.all.partition_point(|write| write.step <= step);
        let mut left = words;
        // The latest first, until every word has its writer.
        for write in self.all[..count].iter().rev() {
            if left == 0 {
                break;
            }
            for lane in (0..32).rev().filter(|lane| write.lanes >> lane & 1 == 1) {
                let offset = self.offset(write, lane);
                let last = (offset + write.size - 1) / WORD;
                for word in (offset / WORD) as usize..=last as usize {
                    if writers.steps.get(word) == Some(&u32::MAX) {
                        writers.steps[word] = write.step;
                        writers.lanes[word] = lane as u8;
                        left -= 1;
                    }
                }
            }
        }
        writers
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

/// Lanes that keep a distance from each other.
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
