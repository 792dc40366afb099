//! The launches of a page on the emulator itself, without the page's code: what the page must show.

use crate::driver::{Browser, decode};
use blockwise_viewer::{Document, Launch, StoredFiles};
use kernel_arguments::Arguments;
use ptx_emulator::metrics::{bank_wavefronts, sectors};
use ptx_emulator::replay::{Event, Replay, Touch, Word};
use ptx_emulator::{Emulator, Limits, Module, Space};

/// What the open page holds.
pub(crate) fn document(browser: &Browser) -> Document {
    let text = browser.run("return document.getElementById('data').textContent");
    let bytes = decode(text.as_str().expect("base64"));
    // Between gzip's header and its sums.
    let json = &bytes[10..bytes.len() - 8];
    let json = miniz_oxide::inflate::decompress_to_vec(json).expect("packed text");
    serde_json::from_slice(&json).expect("a document")
}

/// A launch, and the steps of one of its blocks.
pub(crate) struct Run {
    replay: Replay,
    block: u64,
    pub(crate) steps: Vec<u64>,
}

impl Run {
    pub(crate) fn new(document: &Document, launch: &Launch, block: u64) -> Self {
        let module = Module::parse(&document.ptx[launch.ptx].text).expect("PTX");
        let limits = Limits {
            warp_instructions: launch.steps,
            workers: Some(1),
            ..Limits::default()
        };
        let emulator = Emulator::new(limits);
        let mut loaded = emulator.load(&module).expect("it loads");
        let kernel = module.entry(&launch.kernel).expect("the kernel");
        let files = StoredFiles(document.files.clone());
        let arguments =
            Arguments::bind(kernel, &launch.arguments, (&emulator, &mut loaded), &files);
        let arguments = arguments.unwrap_or_else(|problem| panic!("{}", problem.message));
        let (name, config) = (&launch.kernel, launch.config());
        let mut replay = Replay::new(
            emulator,
            loaded,
            name,
            config,
            &arguments.bytes(),
            launch.seed,
        )
        .expect("it is launched");
        let mut steps = Vec::new();
        replay.scan(0..u64::MAX, &mut |at, event| {
            if matches!(event, Event::Step(instruction) if instruction.block == block) {
                steps.push(at);
            }
        });
        Self {
            replay,
            block,
            steps,
        }
    }

    /// Makes a step of the block the last one.
    pub(crate) fn go(&mut self, step: usize) {
        self.replay.seek(self.steps[step] + 1);
    }

    /// The warp of the step.
    pub(crate) fn warp(&self) -> u32 {
        self.replay
            .done()
            .map_or(0, |(instruction, _)| instruction.warp)
    }

    /// The accesses of the step: for each, wavefronts or sectors taken and needed, as the page says
    /// it.
    pub(crate) fn costs(&self) -> Vec<String> {
        let touches = self.replay.done().map_or(&[][..], |(_, touches)| touches);
        let cost = |touch: &Touch| {
            let (mut addresses, mut active, mut size) = ([0; 32], 0, 0);
            for lane in &touch.lanes {
                addresses[lane.lane as usize] = lane.address;
                active |= 1 << lane.lane;
                size = lane.after.len() as u32;
            }
            let plural = |count: u32, one: &str| match count {
                1 => format!("1 {one}"),
                _ => format!("{count} {one}s"),
            };
            match touch.space {
                Space::Shared => {
                    let cost = bank_wavefronts(&addresses, active, size, touch.access);
                    let taken = plural(cost.taken, "wavefront");
                    Some(match cost.taken > cost.needed {
                        true => format!("bank conflict: {taken}, {} would do", cost.needed),
                        false => format!("no conflict: {taken}"),
                    })
                }
                Space::Global => {
                    let cost = sectors(&addresses, active, size, touch.access);
                    let touched = plural(cost.touched, "sector");
                    Some(format!("{touched}, {} would do", cost.needed))
                }
                _ => None,
            }
        };
        touches.iter().filter_map(cost).collect()
    }

    /// What the lanes of the step read or leave: lane, address and value, as the page says it.
    pub(crate) fn values(&self) -> Vec<String> {
        let touches = self.replay.done().map_or(&[][..], |(_, touches)| touches);
        let seen = |touch: &&Touch| matches!(touch.space, Space::Shared | Space::Global);
        let lanes = touches.iter().filter(seen).flat_map(|touch| &touch.lanes);
        let said = lanes.map(|lane| {
            let digits = lane.after.iter().rev().map(|byte| format!("{byte:02x}"));
            let digits: String = digits.collect();
            format!("lane {}: {:#x} = 0x{digits}", lane.lane, lane.address)
        });
        said.collect()
    }

    /// A word of the block's shared memory, and who wrote it last: the warp and the step of the
    /// block.
    pub(crate) fn word(&mut self, offset: u32) -> (u32, Option<(u32, usize)>) {
        let mut bytes = [0; 4];
        let there = self
            .replay
            .read_shared(self.block, offset.into(), &mut bytes);
        assert!(there, "the block runs");
        let word = Word {
            block: Some(self.block),
            address: offset.into(),
            size: 4,
        };
        let at = self.replay.at();
        let write = self.replay.last_write(word);
        let writer = write.map(|step| {
            self.replay.seek(step + 1);
            let place = self
                .steps
                .binary_search(&step)
                .expect("a step of the block");
            (self.warp(), place)
        });
        self.replay.seek(at);
        (u32::from_le_bytes(bytes), writer)
    }
}
