//! Outputs that the launch left partly unwritten: the final value of each word, and which thread
//! wrote it.

use ptx_emulator::replay::{Array, Event, Replay};
use ptx_emulator::{Access, Finding, Rule, Space};
use serde::Serialize;

/// The most words of an output that are shown.
const MOST_WORDS: u64 = 1 << 20;

/// Marks a word that no thread wrote.
const NOBODY: u32 = u32::MAX;

/// An output with gaps, as the launch left it.
#[derive(Clone, Debug, Serialize)]
pub struct Output {
    /// The index of its finding.
    pub finding: usize,
    /// Its address.
    pub address: u64,
    /// The number of its bytes that are shown.
    pub size: u64,
    /// The number of its bytes that are not shown.
    pub left_out: u64,
    /// The pitch in bytes, if rows of threads write rows of it.
    pub row_bytes: Option<u32>,
    /// Its contents.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// For each word, the launch's step that wrote it last; the largest number if none did.
    #[serde(skip)]
    pub steps: Vec<u32>,
    /// The block that wrote it.
    #[serde(skip)]
    pub blocks: Vec<u32>,
    /// The thread, within the block, that wrote it.
    #[serde(skip)]
    pub threads: Vec<u16>,
}

impl Output {
    /// Runs the launch again for the findings about outputs with gaps.
    pub(crate) fn all(replay: &mut Replay, findings: &[Finding]) -> Vec<Self> {
        let arrays = replay.arrays();
        let mut outputs: Vec<Self> = findings
            .iter()
            .enumerate()
            .filter(|(_, finding)| finding.rule == Rule::UnwrittenOutput)
            .filter_map(|(number, finding)| {
                let address = finding.site.target?.address;
                let holds = |array: &&Array| {
                    array.space == Space::Global && address.wrapping_sub(array.address) < array.size
                };
                Some(Self::of(number, arrays.iter().find(holds)?))
            })
            .collect();
        if outputs.is_empty() {
            return outputs;
        }
        let width = replay.config().block[0];
        let mut corners = vec![[None; 2]; outputs.len()];
        replay.scan(0..u64::MAX, &mut |at, event| {
            let Event::Access(instruction, seen) = event else {
                return;
            };
            if seen.space != Space::Global || seen.access == Access::Read {
                return;
            }
            for lane in (0..32).filter(|lane| seen.lanes >> lane & 1 == 1) {
                let address = seen.addresses[lane as usize];
                let (block, thread) = (instruction.block, 32 * instruction.warp + lane);
                for (output, corners) in outputs.iter_mut().zip(&mut corners) {
                    let written = output.write(address, seen.size, at, (block, thread));
                    // The first threads of the first two rows of a block.
                    if written && block == 0 && (thread == 0 || thread == width) {
                        let corner = &mut corners[usize::from(thread != 0)];
                        *corner = corner.or(Some(address));
                    }
                }
            }
        });
        for (output, corners) in outputs.iter_mut().zip(corners) {
            output.row_bytes = match corners {
                [Some(first), Some(second)] if second > first => u32::try_from(second - first).ok(),
                _ => None,
            };
            output.bytes = vec![0; output.size as usize];
            // The array is one of the replay's, so it can be read.
            let _ = replay.read(output.address, &mut output.bytes);
        }
        outputs
    }

    fn of(finding: usize, array: &Array) -> Self {
        let size = array.size.min(4 * MOST_WORDS);
        let words = size.div_ceil(4) as usize;
        Self {
            finding,
            address: array.address,
            size,
            left_out: array.size - size,
            row_bytes: None,
            bytes: Vec::new(),
            steps: vec![NOBODY; words],
            blocks: vec![0; words],
            threads: vec![0; words],
        }
    }

    /// Records a write; returns whether it touches what is shown.
    fn write(&mut self, address: u64, size: u32, at: u64, (block, thread): (u64, u32)) -> bool {
        let Some(offset) = address.checked_sub(self.address) else {
            return false;
        };
        if offset >= self.size {
            return false;
        }
        let last = (offset + u64::from(size) - 1).min(self.size - 1) / 4;
        for word in (offset / 4) as usize..=last as usize {
            self.steps[word] = at as u32;
            self.blocks[word] = block as u32;
            self.threads[word] = thread as u16;
        }
        true
    }
}
